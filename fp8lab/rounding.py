"""Which code a real number becomes: the arithmetic of `encode`, without argument handling.

A positive number x between 2^e and 2^(e+1) is counted in steps of the format's spacing there, 2^(e - mantissa bits).
The whole steps, shifted by where the binade begins, *are* the code; what is left over decides about one code more:

    index = floor(x / spacing) + ((e - min exponent) << mantissa bits)        e not below the smallest normal exponent

Both functions below do this. `encode_exact` takes float64 (which holds float32, bfloat16 and float16 exactly), every
format and every rounding mode. `encode_nearest` takes float32, rounds to nearest even only, and is made of a dozen
operations that a compiler fuses into one loop. `torch_cast_is_exact` asks whether torch's own cast can stand in for it.

All of it rounds once. Going through float16 or float32 on the way rounds twice: 1.0625 + 2^-40 would become 38, not 39.
"""

from __future__ import annotations

from functools import cache

import torch

from fp8lab.float_format import FloatFormat
from fp8lab.formats import E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ

_TORCH_DTYPES = {
    E4M3FN: "float8_e4m3fn",
    E5M2: "float8_e5m2",
    E4M3FNUZ: "float8_e4m3fnuz",
    E5M2FNUZ: "float8_e5m2fnuz",
}
_FLOAT32_INF, _FLOAT32_NAN = 0x7F800000, 0x7FC00000
_LOW_BITS = 0x1FF  # room for every code, and for the one beyond the last


def overflow_code(fmt: FloatFormat, overflow: str) -> int | None:
    """What a positive number beyond the largest finite value becomes."""
    return {"saturate": fmt.max_code, "nan": fmt.nan_code, "inf": fmt.exponent_mask}[overflow]


def encode_exact(
    x: torch.Tensor, fmt: FloatFormat, overflow: str, rounding: str, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Codes (int64, the shape of x) of a float tensor that holds nothing the format cannot express."""
    x = x.double()
    size, nan = x.abs(), x.isnan()
    size = torch.where(nan, 0.0, size).clamp(max=4 * fmt.max_finite)  # infinity gets an exponent, as any overflow has
    exponent = ((size.view(torch.int64) >> 52) - 1023).clamp(min=fmt.min_exponent)
    steps = size * _power_of_two(fmt.mantissa_bits - exponent)  # exact: below 2^(mantissa bits + 1)
    whole = steps.floor()
    index = whole.long() + ((exponent - fmt.min_exponent) << fmt.mantissa_bits)
    if not fmt.has_zero:
        index -= 1  # code 0 is the smallest power, not zero
    index += _round_up(steps - whole, index, x, rounding, generator)
    index = index.clamp(min=0)
    code = torch.where(index > fmt.max_code, overflow_code(fmt, overflow), index)
    return _with_sign(code, torch.signbit(x).long() * fmt.sign_mask, nan, fmt)


def _power_of_two(exponent: torch.Tensor) -> torch.Tensor:
    return ((exponent + 1023) << 52).view(torch.float64)


def _round_up(part, index, x, rounding: str, generator) -> torch.Tensor:
    """True where the code moves one up in size; `part` in [0, 1) is what was cut off, in steps."""
    if rounding == "nearest_even":
        return (part > 0.5) | ((part == 0.5) & ((index & 1) == 1))
    if rounding == "nearest_away":
        return part >= 0.5
    if rounding == "toward_positive":
        return (part > 0) & (x > 0)
    if rounding == "stochastic":
        return torch.rand(part.shape, dtype=torch.float64, device=part.device, generator=generator) < part
    return torch.zeros_like(part, dtype=torch.bool)  # toward_zero


def _with_sign(code, sign, nan, fmt: FloatFormat) -> torch.Tensor:
    if fmt.special == "fnuz":  # no -0, one NaN
        return torch.where(nan, fmt.nan_code, torch.where(code == 0, 0, code | sign))
    if fmt.has_nan:
        code = torch.where(nan, fmt.nan_code, code)
    return code | sign if fmt.signed else code


def nearest_is_possible(fmt: FloatFormat) -> bool:
    """Whether `encode_nearest` works: the format has a zero, and float32 room around its range for the magic number."""
    largest = (fmt.max_code >> fmt.mantissa_bits) - fmt.bias
    return fmt.has_zero and fmt.min_exponent >= -126 and largest + 1 + 23 - fmt.mantissa_bits <= 127


def encode_nearest(x: torch.Tensor, fmt: FloatFormat, overflow: str) -> torch.Tensor:
    """Codes (int32, the shape of x) of a float32 tensor, to nearest even; nothing depends on the data: compilable.

    Adding 2^(e + 23 - mantissa bits) pushes the bits below the spacing out of float32: the addition itself rounds,
    once and to nearest even, and the low bits of the sum count the steps. `start` is what must be subtracted in the end
    (the code at which exponent 0 of float32 would begin), carried along modulo 2^9 so that it costs nothing.
    """
    shift = 23 - fmt.mantissa_bits
    bits = x.view(torch.int32)
    size = bits & 0x7FFFFFFF
    nan = size > _FLOAT32_INF
    rebias = (127 - fmt.bias) << 23  # the float32 bits of a normal code are (code << shift) + rebias
    last = ((fmt.max_code if overflow == "saturate" else fmt.max_code + 1) << shift) + rebias
    size = size.clamp(max=last)
    binade = size.clamp(min=(1 << 23) + rebias) & _FLOAT32_INF  # not below the smallest normal
    start = -(((1 << 23) + rebias) >> shift) & _LOW_BITS  # an even number of steps: it changes no tie
    magic = binade + (shift << 23) + start
    total = (size.view(torch.float32) + magic.view(torch.float32)).view(torch.int32)
    code = (total + (binade >> shift)) & _LOW_BITS
    if overflow != "saturate":
        code = torch.where(code > fmt.max_code, overflow_code(fmt, overflow), code)
    return _with_sign(code, (bits >> (32 - fmt.bits)) & fmt.sign_mask, nan, fmt)


def decode_bits(codes: torch.Tensor, fmt: FloatFormat) -> torch.Tensor:
    """float32 values of uint8 codes, by moving bits: the compilable twin of a table look-up, for every format.

    A normal code needs only its fields moved and its bias changed; a subnormal one is an integer times the smallest.
    (One multiplication by 2^(127 - bias) would do both, but fails where float32 subnormals are flushed to zero.)
    """
    code = codes.to(torch.int32)
    size = code & (fmt.exponent_mask | fmt.mantissa_mask)
    bits = (size << (23 - fmt.mantissa_bits)) + ((127 - fmt.bias) << 23)
    if fmt.has_zero:
        subnormal = (size.to(torch.float32) * fmt.min_subnormal).view(torch.int32)
        bits = torch.where(size <= fmt.mantissa_mask, subnormal, bits)
    elif fmt.min_exponent == -127:
        bits = torch.where(size == 0, 1 << 22, bits)  # a subnormal of float32
    if fmt.special == "fnuz":
        bits = torch.where(code == fmt.sign_mask, _FLOAT32_NAN, bits | ((code & fmt.sign_mask) << (32 - fmt.bits)))
        return bits.view(torch.float32)
    if fmt.has_inf:
        bits = torch.where(size == fmt.exponent_mask, _FLOAT32_INF, bits)
    if fmt.has_nan:
        bits = torch.where(size >= fmt.nan_codes[0], _FLOAT32_NAN, bits)
    if fmt.signed:
        bits = bits | ((code & fmt.sign_mask) << (32 - fmt.bits))
    return bits.view(torch.float32)


def torch_dtype(fmt: FloatFormat) -> torch.dtype | None:
    """torch's float8 type of the same format, None where this torch has none."""
    return getattr(torch, _TORCH_DTYPES.get(fmt, ""), None)


@cache
def torch_cast_is_exact(fmt: FloatFormat, device_type: str) -> bool:
    """Whether torch's clamp and cast of float32 give our bytes on this device: asked once, with 327,680 numbers.

    Asked and not assumed, because casts have changed between releases and differ between devices. The numbers are all
    bfloat16 ones, among them every tie of these formats, with their float32 neighbours, infinities and NaNs.
    """
    dtype = torch_dtype(fmt)
    if dtype is None or not nearest_is_possible(fmt):
        return False
    high = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32) << 16
    sample = torch.cat([high | low for low in (0, 1, 0x7FFF, 0x8000, 0xFFFF)]).view(torch.float32)
    try:
        cast = sample.to(device_type).clamp(-fmt.max_finite, fmt.max_finite).to(dtype).view(torch.uint8).cpu()
    except (RuntimeError, TypeError):  # a device without float8
        return False
    return torch.equal(cast, encode_nearest(sample, fmt, "saturate").to(torch.uint8))
