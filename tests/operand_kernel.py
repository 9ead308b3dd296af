"""What `fp8lab.kernels.attention.operand` makes of float32, in a kernel of its own. Importing this needs Triton."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from fp8lab.kernels.attention import operand
from fp8lab.kernels.bits import widen


@triton.jit
def operand_kernel(x_ptr, like_ptr, out_ptr, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + place, widen(operand(tl.load(x_ptr + place), like_ptr.dtype.element_ty)))


def operands(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """`x`, a multiple of 1024 numbers of float32, as they are multiplied with a query of `dtype`; in float32."""
    out = torch.empty_like(x)
    operand_kernel[(len(x) // 1024,)](x, x.new_empty(1, dtype=dtype), out, BLOCK=1024)
    return out
