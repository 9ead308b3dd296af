"""FP8 in registers, by integers alone: the device functions that every kernel here is made of.

Codes are uint8 and rounding is bit arithmetic on float32. That runs the same on a T4, an A10, an H100 and under
Triton's interpreter; a native cast (`tl.float8e4nv`) does not compile below sm_89, and the interpreter's own FP8
casts are wrong (triton#8322). NATIVE takes the other path, `native.py`. A format comes in as four constants, see
`FormatBits`.

    float32   s eeeeeeee mmmmmmmmmmmmmmmmmmmmmmm
    E4M3FN    s     eeee mmm                      drop 20 bits, move the bias from 127 to 7
"""

from __future__ import annotations

from typing import NamedTuple

import triton
import triton.language as tl

from fp8lab.formats import FloatFormat
from fp8lab.kernels.arguments import kernel_format
from fp8lab.kernels.native import decode_native, encode_native

FLOAT32_BIAS = 127
FLOAT32_MANTISSA = 23


class FormatBits(NamedTuple):
    """What a kernel must know of an 8-bit format: compile-time constants."""

    MANTISSA: int  # mantissa bits
    BIAS: int
    MAX_CODE: int  # the code of the largest finite value: where saturation ends
    NAN_CODE: int

    @property
    def max_bits(self) -> int:
        """The largest finite value as float32 bits: MAX_CODE, widened."""
        shifted = self.MAX_CODE << (FLOAT32_MANTISSA - self.MANTISSA)
        return shifted + ((FLOAT32_BIAS - self.BIAS) << FLOAT32_MANTISSA)


def format_bits(fmt: FloatFormat) -> FormatBits:
    """The constants of `fmt`. ValueError for another format than E4M3FN and E5M2.

    >>> from fp8lab.formats import E4M3FN
    >>> format_bits(E4M3FN)
    FormatBits(MANTISSA=3, BIAS=7, MAX_CODE=126, NAN_CODE=127)
    """
    kernel_format(fmt)
    return FormatBits(fmt.mantissa_bits, fmt.bias, fmt.max_code, max(c for c in fmt.nan_codes if c < 0x80))


@triton.jit
def encode_bits(x, MANTISSA: tl.constexpr, BIAS: tl.constexpr, MAX_CODE: tl.constexpr, NAN_CODE: tl.constexpr):
    """float32 -> uint8 code: nearest, ties to even; what is too large, infinity too, saturates; NaN stays NaN."""
    DROP: tl.constexpr = 23 - MANTISSA
    MAX_BITS: tl.constexpr = (MAX_CODE << DROP) + ((127 - BIAS) << 23)
    MIN_NORMAL: tl.constexpr = (128 - BIAS) << 23
    ALIGN: tl.constexpr = (127 + 24 - MANTISSA - BIAS) << 23  # 2^23 times the smallest subnormal
    bits = x.to(tl.uint32, bitcast=True)
    sign = (bits >> 24) & 0x80
    magnitude = bits & 0x7FFFFFFF
    # normal: half an ulp less one, plus the bit that decides a tie, carries into the code when it must
    odd = (magnitude >> DROP) & 1
    normal = ((magnitude + ((1 << (DROP - 1)) - 1) + odd) >> DROP) - ((127 - BIAS) << MANTISSA)
    # subnormal: added to 2^23 ulps, the float32 adder itself rounds to a whole number of ulps, ties to even
    align = tl.full([1], ALIGN, tl.uint32).to(tl.float32, bitcast=True)
    subnormal = (magnitude.to(tl.float32, bitcast=True) + align).to(tl.uint32, bitcast=True) - ALIGN
    code = tl.where(magnitude < MIN_NORMAL, subnormal, normal)
    code = tl.where(magnitude >= MAX_BITS, MAX_CODE, code)
    code = tl.where(magnitude > 0x7F800000, NAN_CODE, code)
    return (code | sign).to(tl.uint8)


@triton.jit
def to_codes(
    x,
    MANTISSA: tl.constexpr,
    BIAS: tl.constexpr,
    MAX_CODE: tl.constexpr,
    NAN_CODE: tl.constexpr,
    NATIVE: tl.constexpr,
):
    """float32 -> uint8 code, on the path that NATIVE names: the same bytes for every number."""
    if NATIVE:
        return encode_native(x, MANTISSA)
    else:
        return encode_bits(x, MANTISSA, BIAS, MAX_CODE, NAN_CODE)


@triton.jit
def to_values(code, MANTISSA: tl.constexpr, BIAS: tl.constexpr, MAX_CODE: tl.constexpr, NATIVE: tl.constexpr):
    """uint8 code -> float32, on the path that NATIVE names."""
    if NATIVE:
        return decode_native(code, MANTISSA)
    else:
        return decode_bits(code, MANTISSA, BIAS, MAX_CODE)


@triton.jit
def decode_bits(code, MANTISSA: tl.constexpr, BIAS: tl.constexpr, MAX_CODE: tl.constexpr):
    """uint8 code -> float32, exactly. Above MAX_CODE there is only NaN, and E5M2's infinity at 0x7C.

    The fields go where float32 keeps its own: a number 2^(127 - BIAS) times too small, subnormal codes as float32
    subnormals; one multiplication by that power of two sets all of them right.
    """
    wide = code.to(tl.uint32)
    sign = (wide & 0x80) << 24
    magnitude = wide & 0x7F
    factor = tl.full([1], (254 - BIAS) << 23, tl.uint32).to(tl.float32, bitcast=True)
    value = (magnitude << (23 - MANTISSA)).to(tl.float32, bitcast=True) * factor
    bits = value.to(tl.uint32, bitcast=True)
    if MANTISSA == 2:
        bits = tl.where(magnitude == 0x7C, 0x7F800000, bits)
        bits = tl.where(magnitude > 0x7C, 0x7FC00000, bits)
    else:
        bits = tl.where(magnitude > MAX_CODE, 0x7FC00000, bits)
    return (bits | sign).to(tl.float32, bitcast=True)


@triton.jit
def widen(x):
    """Any float dtype -> float32, exactly. bfloat16 goes by bits, which are the upper half of float32's: the
    interpreter's own cast gets subnormals wrong."""
    if x.dtype == tl.bfloat16:
        return (x.to(tl.uint16, bitcast=True).to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    return x.to(tl.float32)


@triton.jit
def narrow(value, dtype: tl.constexpr):
    """float32 -> `dtype`, nearest, ties to even. bfloat16 goes by bits: the interpreter's own cast truncates."""
    if dtype == tl.bfloat16:
        bits = value.to(tl.uint32, bitcast=True)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        rounded = tl.where((bits & 0x7FFFFFFF) > 0x7F800000, 0x7FC0, rounded)
        return rounded.to(tl.uint16).to(tl.bfloat16, bitcast=True)
    return value.to(dtype)


@triton.jit
def group_absmax(x, axis: tl.constexpr):
    """The largest |x| along `axis`, by comparing bits as integers: NaN, whose bits are largest, is never lost on the
    way."""
    magnitude = (x.to(tl.uint32, bitcast=True) & 0x7FFFFFFF).to(tl.int32)
    return tl.max(magnitude, axis=axis).to(tl.float32, bitcast=True)


@triton.jit
def scale_of(absmax, QMAX: tl.constexpr, LARGEST: tl.constexpr, E8M0: tl.constexpr):
    """The scale of a group as `fp8lab.quantize` has it: absmax / qmax rounded to nearest, from 2^-126 to LARGEST; 1
    for a group of zeros, NaN for a group with NaN or infinity. E8M0 is rounded up to a power of two: nothing
    saturates."""
    scale = tl.math.div_rn(absmax, tl.full([1], QMAX, tl.float32))
    scale = tl.minimum(tl.maximum(scale, 1.1754943508222875e-38), LARGEST)
    if E8M0:
        bits = scale.to(tl.uint32, bitcast=True)
        scale = tl.minimum(((bits + 0x7FFFFF) & 0x7F800000).to(tl.float32, bitcast=True), LARGEST)
    scale = tl.where(absmax == 0.0, 1.0, scale)
    return tl.where(absmax < float("inf"), scale, float("nan"))


@triton.jit
def store_scale(pointer, scale, mask, E8M0: tl.constexpr):
    """float32 as it is; E8M0 as the exponent byte, which is 0xFF for NaN in both."""
    if E8M0:
        tl.store(pointer, ((scale.to(tl.uint32, bitcast=True) >> 23) & 0xFF).to(tl.uint8), mask=mask)
    else:
        tl.store(pointer, scale, mask=mask)


@triton.jit
def load_scale(pointer, mask, E8M0: tl.constexpr):
    """The scale as float32; 1 where the mask is off. E8M0's 0x00 is 2^-127, a float32 subnormal; 0xFF is NaN."""
    if E8M0:
        byte = tl.load(pointer, mask=mask, other=127).to(tl.uint32)
        bits = tl.where(byte == 0, 0x400000, byte << 23)
        scale = tl.where(byte == 0xFF, 0x7FC00000, bits).to(tl.float32, bitcast=True)
    else:
        scale = tl.load(pointer, mask=mask, other=1.0)
    return scale


# TRITON_INTERPRET is read when a kernel is decorated, not when it runs: what these were decorated as is what counts.
INTERPRETED = not isinstance(encode_bits, triton.JITFunction)
