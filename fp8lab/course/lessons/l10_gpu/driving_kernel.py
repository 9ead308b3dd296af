"""The kernel that applies a learner's device function to a row of numbers (10.8). Imports Triton."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def elementwise_kernel(x_ptr, codes_ptr, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    """codes = FUNCTION(x), one block per program."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(codes_ptr + place, FUNCTION(tl.load(x_ptr + place)))
