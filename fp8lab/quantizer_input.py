"""What the quantizers take: a torch tensor of real numbers. Everything else is refused with what to do instead."""

from __future__ import annotations

import torch

from fp8lab.codec_arguments import FLOATS


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
