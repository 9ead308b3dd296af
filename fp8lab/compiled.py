"""Grouped quantization under torch.compile: the same codes and scales, written as arithmetic that vectorises.

A cast to float8 has no vector instruction on a CPU, and a table look-up is slow; what is fast is adding a float. For
|y| in the octave of 2^e, adding 2^(e + 23 - m) leaves no more than m bits after the point, so the addition itself
rounds to m mantissa bits, to nearest, ties to even; the integer it has counted to is the code's mantissa. Subnormals
are the octave of the smallest normal. This is exact for every float format here because float32 has more than twice
their bits.

A function is compiled once for each format and layout, and once more when the number of rows changes; after that it
serves any number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType

import torch

from fp8lab.elements import ElementFormat, IntegerFormat
from fp8lab.formats import E8M0FNU, FloatFormat
from fp8lab.scales import StorageFormat, exponent_up, largest_scale, store

FLOAT32_BIAS, FLOAT32_MANTISSA_BITS = 127, 23  # IEEE 754 binary32
FLOAT32_EXPONENT, FLOAT32_MAGNITUDE = 0x7F800000, 0x7FFFFFFF
REDUCED_WIDTH = 16  # one vector register of float32: below this the reduction is left to the compiler


def _float_bits(value: float) -> int:
    return int(torch.tensor(value, dtype=torch.float32).view(torch.int32))


def encode_bits(y: torch.Tensor, fmt: FloatFormat) -> torch.Tensor:
    """uint8 codes of finite float32 values: nearest, ties to even, saturating.

    >>> from fp8lab.formats import E4M3FN
    >>> encode_bits(torch.tensor([256.0, 300.0, 2.0**-10, 480.0, -0.0]), E4M3FN).tolist()
    [120, 121, 0, 126, 128]
    """
    m, shift = fmt.mantissa_bits, FLOAT32_MANTISSA_BITS - fmt.mantissa_bits
    lowest = FLOAT32_BIAS + 1 - fmt.bias  # biased float32 exponent of the smallest normal value
    bits = y.view(torch.int32)
    magnitude = (bits & FLOAT32_MAGNITUDE).clamp(max=_float_bits(fmt.max_finite))
    octave = (magnitude & FLOAT32_EXPONENT).clamp(min=lowest << FLOAT32_MANTISSA_BITS)
    rounder = octave + (shift << FLOAT32_MANTISSA_BITS)
    counted = (magnitude.view(torch.float32) + rounder.view(torch.float32)).view(torch.int32) - rounder
    code = (octave >> shift) - (lowest << m) + counted
    sign = (bits >> (32 - fmt.bits)) & fmt.sign_mask
    return (code | (sign if fmt.has_negative_zero else torch.where(code == 0, 0, sign))).to(torch.uint8)


def decode_bits(codes: torch.Tensor, fmt: FloatFormat) -> torch.Tensor:
    """float32 values of codes: fields moved to float32's places, the difference of the biases multiplied in.

    >>> from fp8lab.formats import E4M3FN
    >>> decode_bits(torch.tensor([0x78, 0x01, 0x7F], dtype=torch.uint8), E4M3FN).tolist()
    [256.0, 0.001953125, nan]
    """
    wide = codes.to(torch.int32)
    magnitude = wide & (fmt.sign_mask - 1)
    placed = ((wide & fmt.sign_mask) << (32 - fmt.bits)) | (magnitude << (FLOAT32_MANTISSA_BITS - fmt.mantissa_bits))
    values = placed.view(torch.float32) * 2.0 ** (FLOAT32_BIAS - fmt.bias)
    if fmt.has_inf:
        values = torch.where(
            magnitude == fmt.inf_codes[0], torch.copysign(torch.full_like(values, torch.inf), values), values
        )
    if fmt.nan_codes == (fmt.sign_mask,):  # FNUZ: where negative zero would be
        return torch.where(wide == fmt.sign_mask, torch.nan, values)
    if fmt.has_nan:
        values = torch.where(magnitude >= min(fmt.nan_codes), torch.nan, values)
    return values


def _absmax(x: torch.Tensor) -> torch.Tensor:
    """Largest |x| along the last axis: integer maxima of halves first (magnitudes order like integers, NaN on top)."""
    magnitude = x.view(torch.int32) & FLOAT32_MAGNITUDE
    while magnitude.shape[-1] > REDUCED_WIDTH and magnitude.shape[-1] % 2 == 0:
        half = magnitude.shape[-1] // 2
        magnitude = torch.maximum(magnitude[..., :half], magnitude[..., half:])
    return magnitude.view(torch.float32).amax(-1)


def _layout(*tensors: torch.Tensor) -> tuple:
    """What compiled code is made for: dtypes, devices, strides and all lengths but the number of rows."""
    return tuple((t.dtype, t.device, t.shape[1:], t.stride()) for t in tensors)


def _compiled(function: Callable) -> Callable:
    """torch.compile with a cache of its own: it counts compilations per code object, and stops at eight."""
    own = FunctionType(function.__code__.replace(), function.__globals__, closure=function.__closure__)
    return torch.compile(own, fullgraph=True)


def _bfloat16(scales: torch.Tensor, qmax: float) -> torch.Tensor:
    """Positive scales rounded to bfloat16, still float32: the compiler drops a cast there and back as if nothing
    rounded."""
    bits = scales.clamp(max=largest_scale(torch.bfloat16, qmax)).view(torch.int32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & ~0xFFFF).view(torch.float32)


@cache
def _quantize_for(fmt: ElementFormat, storage: StorageFormat, layout: tuple) -> Callable:
    qmax = float(fmt.max_finite)

    def grouped(x, codes, stored):
        values = x.to(torch.float32)
        absmax = _absmax(values)
        scales = store(torch.where(absmax == 0, 1.0, absmax / qmax), torch.float32, qmax)
        if storage == E8M0FNU:
            kept = exponent_up(scales.clamp(max=largest_scale(storage, qmax)))
            scales = (kept.to(torch.int32) << FLOAT32_MANTISSA_BITS).view(torch.float32)
        else:
            scales = kept = _bfloat16(scales, qmax) if storage is torch.bfloat16 else scales
        stored.copy_(kept)
        scaled = values / scales.unsqueeze(-1)
        if isinstance(fmt, IntegerFormat):
            codes.copy_(torch.round(scaled).clamp(-qmax, qmax).to(torch.int8))
        else:
            codes.copy_(encode_bits(scaled, fmt))
        return absmax

    return _compiled(grouped)


@cache
def _dequantize_for(fmt: ElementFormat, layout: tuple) -> Callable:
    def restored(codes, scales, out):
        values = codes.to(torch.float32) if isinstance(fmt, IntegerFormat) else decode_bits(codes, fmt)
        out.copy_(values * scales.unsqueeze(-1))

    return _compiled(restored)


def quantize_compiled(
    x: torch.Tensor, codes: torch.Tensor, stored: torch.Tensor, fmt: ElementFormat, storage: StorageFormat
) -> torch.Tensor:
    """Fill codes [rows, groups, size] and stored [rows, groups] from x [rows, groups, size]; returns absmax [rows,
    groups].

    Storage: float32, bfloat16 or E8M0FNU; E4M3FN scales are checked by value, which cannot be compiled. Where absmax is
    not finite, codes and scales mean nothing.
    """
    return _quantize_for(fmt, storage, _layout(x, codes, stored))(x, codes, stored)


def dequantize_compiled(codes: torch.Tensor, scales: torch.Tensor, out: torch.Tensor, fmt: ElementFormat) -> None:
    """Fill out [rows, groups, size], any float dtype, with code x scale from codes and float32 scales [rows,
    groups]."""
    _dequantize_for(fmt, _layout(codes, scales, out))(codes, scales, out)
