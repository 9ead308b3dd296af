"""MX and NVFP4: the two standard block formats, as instances of `quantize`.

                block   element                    scale of a block            scale of the tensor
    MXFP8        32     E4M3FN or E5M2             E8M0FNU                     -          OCP MX v1.0, table 1
    MXFP6        32     E3M2FN or E2M3FN           E8M0FNU                     -
    MXFP4        32     E2M1FN                     E8M0FNU                     -
    NVFP4        16     E2M1FN                     E4M3FN                      float32    absmax / (6 x 448)

OCP leaves the choice of the block's power of two to the implementation and shows one rule, 2^(floor(log2 absmax) -
emax), under which a value can clip by up to an eighth of an octave at the top (32 x 957 in E4M3FN gives 896). The
default here is the smallest power of two under which nothing clips (absmax / max_finite rounded up: NVIDIA's and
torchao's RCEIL); `rule="ocp"` is the other. Not here: MXINT8, whose grid is not symmetric, and the swizzled memory
layouts of the hardware.
"""

from __future__ import annotations

import torch

from fp8lab.formats import E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2, E8M0FNU, FloatFormat, get_format
from fp8lab.granularity import Group
from fp8lab.quantize import quantize
from fp8lab.quantized import QuantizedTensor

MX_BLOCK, NVFP4_BLOCK = 32, 16  # OCP MX v1.0, table 1; NVIDIA cuBLAS, 1-D block scaling
MX_ELEMENTS = (E4M3FN, E5M2, E3M2FN, E2M3FN, E2M1FN)


def mx(
    x: torch.Tensor, fmt: FloatFormat | str = E4M3FN, rule: str = "absmax", axis: int = -1, **options
) -> QuantizedTensor:
    """Blocks of 32 along `axis` with power-of-two scales. `rule` and `options` go to `quantize`. ValueError for other
    elements.

    >>> q = mx(torch.full((1, 32), 957.0), rule="ocp")
    >>> q.scales.item(), q.dequantize()[0, 0].item(), q.bits_per_value
    (2.0, 896.0, 8.25)
    """
    element = get_format(fmt)
    if element not in MX_ELEMENTS:
        raise ValueError(f"MX has no element format {element.name}: choose {', '.join(e.name for e in MX_ELEMENTS)}")
    return quantize(x, element, Group(MX_BLOCK, axis), rule, E8M0FNU, **options)


def nvfp4(x: torch.Tensor, tensor_scale: str | torch.Tensor = "absmax", axis: int = -1, **options) -> QuantizedTensor:
    """Blocks of 16 E2M1FN values with E4M3FN scales, under one float32 scale of the tensor.

    Block scales go down to 2^-9 (torchao stops at 2^-6, and so loses blocks 28,672 times smaller than the tensor's
    absmax).

    >>> q = nvfp4(torch.full((1, 16), 3.0))
    >>> q.dequantize().unique().tolist(), q.nbytes  # 8 + 1 + 4
    ([3.0], 13)
    """
    return quantize(x, E2M1FN, Group(NVFP4_BLOCK, axis), "absmax", E4M3FN, tensor_scale=tensor_scale, **options)
