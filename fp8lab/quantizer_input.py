"""What the quantizers take: a torch tensor of real numbers, and for the compiled loops a layout that they know.

Everything else is refused with what to do instead.
"""

from __future__ import annotations

import torch

from fp8lab.codec_arguments import FLOATS
from fp8lab.elements import ElementFormat
from fp8lab.formats import E4M3FN
from fp8lab.granularity import Granularity, axes_text
from fp8lab.scales import StorageFormat


def real_tensor(x: torch.Tensor, caller: str) -> torch.Tensor:
    """x without its gradient history. TypeError for lists and arrays, and for other dtypes than float16, bfloat16,
    float32 and float64: float8 tensors hold codes, integers are codes more often than values.

    >>> real_tensor([1.0, 2.0], "quantize")
    Traceback (most recent call last):
    ...
    TypeError: quantize takes a torch tensor, given a list: pass torch.as_tensor(x)
    """
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{caller} takes a torch tensor, given a {type(x).__name__}: pass torch.as_tensor(x)")
    if x.dtype not in FLOATS:
        hint = "pass x.float()"
        if "float8" in str(x.dtype) or "float4" in str(x.dtype):
            hint = "its bytes are codes already; pass x.float() for their values, or join them to their scales with "
            hint += "QuantizedTensor.from_parts(x.view(torch.uint8), scales, ...)"
        raise TypeError(f"{caller} takes float16, bfloat16, float32 or float64, given {x.dtype}: {hint}")
    return x.detach()


def refuse_uncompiled(
    fmt: ElementFormat,
    granularity: Granularity,
    blocks: tuple[int, ...],
    scale: str | torch.Tensor,
    storage: StorageFormat,
    tensor_scale: object,
) -> None:
    """ValueError that names the first thing for which there are no compiled loops, and what was given for it.

    >>> from fp8lab.granularity import Group
    >>> refuse_uncompiled(E4M3FN, Group(64), (1, 64), "mse", torch.float32, None)
    Traceback (most recent call last):
    ...
    ValueError: compiled=True needs scale='absmax', given scale='mse': leave compiled out
    """
    needs = given = ""
    if not (isinstance(scale, str) and scale == "absmax"):
        needs, given = "scale='absmax'", f"scale={scale!r}" if isinstance(scale, str) else "scales as a tensor"
    elif fmt.bits != 8:
        needs, given = "8-bit codes", f"{fmt.name}, which has {fmt.bits}"
    elif tensor_scale is not None:
        needs, given = "tensor_scale=None", f"tensor_scale={tensor_scale!r}"
    elif storage == E4M3FN:
        needs, given = "scales stored as float32, bfloat16 or E8M0FNU", "scale_format=E4M3FN"
    elif any(block != 1 for block in blocks[:-1]):
        needs, given = "scales along the last axis only", f"{granularity!r} on a tensor of {axes_text(len(blocks))}"
    if needs:
        raise ValueError(f"compiled=True needs {needs}, given {given}: leave compiled out")
