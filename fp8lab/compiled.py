"""Grouped quantization under torch.compile, for accelerators: the same codes and scales, as arithmetic that vectorises.

Rounding is that of `fp8lab.rounding.encode_nearest`, whose addition of a magic number a compiler turns into a handful
of vector instructions. A function is compiled once for each format and layout and then serves any number of rows.
Everything is float32 here: a 16-bit input is turned into one element at a time, so callers widen it block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch

from fp8lab.compiling import compile_alone, run_compiled
from fp8lab.elements import ElementFormat, IntegerFormat
from fp8lab.formats import E8M0FNU
from fp8lab.rounding import decode_bits, encode_nearest
from fp8lab.scales import StorageFormat, exponent_up, largest_scale, store

MAGNITUDE, MANTISSA_BITS = 0x7FFFFFFF, 23  # IEEE 754 binary32
REDUCED_WIDTH = 16  # one vector register of float32: below this the reduction is left to the compiler


def quantize_compiled(
    x: torch.Tensor, codes: torch.Tensor, stored: torch.Tensor, fmt: ElementFormat, storage: StorageFormat
) -> torch.Tensor:
    """Fill codes [rows, groups, size] and stored [rows, groups] from float32 x [rows, groups, size].

    Returns the largest absmax: where it is not finite, codes and scales mean nothing. Storage: float32, bfloat16 or
    E8M0FNU; E4M3FN scales are checked by value, which cannot be compiled. RuntimeError without a compiler.
    """
    return run_compiled(_quantize_for(fmt, storage, _layout(x, codes, stored)), x, codes, stored)


def dequantize_compiled(codes: torch.Tensor, scales: torch.Tensor, out: torch.Tensor, fmt: ElementFormat) -> None:
    """Fill float32 out [rows, groups, size] with code x scale; scales are float32 [rows, groups]."""
    run_compiled(_dequantize_for(fmt, _layout(codes, scales, out)), codes, scales, out)


def _layout(*tensors: torch.Tensor) -> tuple:
    """What compiled code is made for: devices, strides, and all lengths but the number of rows."""
    return (torch.get_num_threads(), *((t.device, t.shape[1:], t.stride()) for t in tensors))


@cache
def _quantize_for(fmt: ElementFormat, storage: StorageFormat, layout: tuple) -> Callable:
    qmax = float(fmt.max_finite)

    def grouped(x, codes, stored):
        absmax = _absmax(x)
        scales = store(torch.where(absmax == 0, 1.0, absmax / qmax), torch.float32, qmax)
        if storage == E8M0FNU:
            kept = exponent_up(scales.clamp(max=largest_scale(storage, qmax)))
            scales = (kept.to(torch.int32) << MANTISSA_BITS).view(torch.float32)
        else:
            scales = kept = _bfloat16(scales, qmax) if storage is torch.bfloat16 else scales
        stored.copy_(kept)
        scaled = x / scales.unsqueeze(-1)
        if isinstance(fmt, IntegerFormat):
            codes.copy_(torch.round(scaled).clamp(-qmax, qmax).to(torch.int8))
        else:
            codes.copy_(encode_nearest(scaled, fmt, "saturate").to(torch.uint8))
        return absmax.amax()

    return compile_alone(grouped)


@cache
def _dequantize_for(fmt: ElementFormat, layout: tuple) -> Callable:
    def restored(codes, scales, out):
        values = codes.to(torch.float32) if isinstance(fmt, IntegerFormat) else decode_bits(codes, fmt)
        out.copy_(values * scales.unsqueeze(-1))

    return compile_alone(restored)


def _absmax(x: torch.Tensor) -> torch.Tensor:
    """Largest |x| along the last axis: integer maxima of halves first (magnitudes order like integers, NaN on top)."""
    magnitude = x.view(torch.int32) & MAGNITUDE
    while magnitude.shape[-1] > REDUCED_WIDTH and magnitude.shape[-1] % 2 == 0:
        half = magnitude.shape[-1] // 2
        magnitude = torch.maximum(magnitude[..., :half], magnitude[..., half:])
    return magnitude.view(torch.float32).amax(-1)


def _bfloat16(scales: torch.Tensor, qmax: float) -> torch.Tensor:
    """Positive scales rounded to bfloat16, still float32: a cast there and back is dropped as if nothing was
    rounded."""
    bits = scales.clamp(max=largest_scale(torch.bfloat16, qmax)).view(torch.int32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & ~0xFFFF).view(torch.float32)
