"""FP8 by the card's own instructions: the second path, for NVIDIA GPUs from sm_89 on (RTX 40, L4, H100).

`cvt.rn.satfinite.e4m3x2.f32` rounds two float32 numbers to nearest, ties to even, in one step; what is too large,
infinity too, becomes the largest finite value, -0 stays -0, NaN becomes 0x7F. That is `bits.encode_bits` for every
number that the kernels pass (a group with NaN or infinity is dealt with before its codes are stored).

Written as an instruction, because `x.to(tl.float8e4nv)` is not always that one: for sm_89 Triton 3.7.1 cuts
float32 to float16 first and rounds twice (1.0625001 becomes 0x38, not 0x39), although the instruction is there.
Reading is Triton's cast: through float16, which holds every FP8 value exactly. Below sm_89 neither compiles, and the
interpreter runs neither.
"""

from __future__ import annotations

import triton
import triton.language as tl

E4M3_PAIRS = tl.constexpr(
    "{ .reg .b16 low, high;"
    " cvt.rn.satfinite.e4m3x2.f32 low, $2, $1;"
    " cvt.rn.satfinite.e4m3x2.f32 high, $4, $3;"
    " mov.b32 $0, {low, high}; }"
)
E5M2_PAIRS = tl.constexpr(
    "{ .reg .b16 low, high;"
    " cvt.rn.satfinite.e5m2x2.f32 low, $2, $1;"
    " cvt.rn.satfinite.e5m2x2.f32 high, $4, $3;"
    " mov.b32 $0, {low, high}; }"
)
CODES_AT_ONCE = 4  # one 32-bit register: a tile holds a multiple of this


@triton.jit
def encode_native(x, MANTISSA: tl.constexpr):
    """float32 -> uint8 codes of E4M3FN (MANTISSA 3) or E5M2 (2): nearest even, saturating. A tile of 4 or more."""
    if MANTISSA == 3:
        codes = tl.inline_asm_elementwise(E4M3_PAIRS, "=r,f,f,f,f", [x], dtype=tl.float8e4nv, is_pure=True, pack=4)
    else:
        codes = tl.inline_asm_elementwise(E5M2_PAIRS, "=r,f,f,f,f", [x], dtype=tl.float8e5, is_pure=True, pack=4)
    return codes.to(tl.uint8, bitcast=True)


@triton.jit
def decode_native(code, MANTISSA: tl.constexpr):
    """uint8 code -> float32, exactly; the sign and the payload of a NaN are the card's."""
    if MANTISSA == 3:
        return code.to(tl.float8e4nv, bitcast=True).to(tl.float32)
    else:
        return code.to(tl.float8e5, bitcast=True).to(tl.float32)
