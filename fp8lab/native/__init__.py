"""The compiled path on a CPU: our own loops in C++ (kernels.cpp), compiled when first asked for (`build`).

Why not torch.compile: its stores read every line of memory before they write it, which caps decoding at 0.89 times a
copy, and on some machines its loops are not vectorised at all. It remains the way on accelerators (`fp8lab.compiling`).

The functions here take contiguous CPU tensors and check nothing: `fp8lab.codec_compiled` and `fp8lab.grouped` do.
RuntimeError without a C++ compiler.
"""

from __future__ import annotations

from ctypes import CDLL, c_float, c_int64, c_void_p

import torch

from fp8lab.elements import ElementFormat, IntegerFormat
from fp8lab.float_format import FloatFormat
from fp8lab.formats import E8M0FNU
from fp8lab.native.build import library
from fp8lab.rounding import overflow_code
from fp8lab.scales import StorageFormat, largest_scale

_DTYPES = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2, torch.float64: 3}  # enum Dtype
_STORAGE = {torch.float32: 0, torch.bfloat16: 1, E8M0FNU: 2}  # enum Storage


def encode(source: torch.Tensor, codes: torch.Tensor, fmt: FloatFormat, overflow: str) -> None:
    """Fill uint8 codes from as many float32, bfloat16 or float16 numbers, to nearest even."""
    _library(fmt, overflow).encode(
        _at(source), _DTYPES[source.dtype], _at(codes), c_int64(source.numel()), torch.get_num_threads()
    )


def decode(codes: torch.Tensor, values: torch.Tensor, fmt: FloatFormat) -> None:
    """Fill float32 values from as many uint8 codes."""
    _library(fmt).decode(_at(codes), _at(values), c_int64(codes.numel()), torch.get_num_threads())


def quantize(
    x: torch.Tensor, codes: torch.Tensor, stored: torch.Tensor, size: int, fmt: ElementFormat, storage: StorageFormat
) -> bool:
    """Fill 8-bit codes [rows, D] and stored scales [rows, groups] from x [rows, D] of any float dtype.

    False, with nothing of use written, when a group holds NaN, inf or a value beyond float32. Storage: float32,
    bfloat16 or E8M0FNU.
    """
    qmax = float(fmt.max_finite)
    lost = _library(fmt).quantize(
        *(_at(x), _DTYPES[x.dtype], _at(codes), _at(stored), *_layout(x, size)),
        *(c_float(qmax), c_float(largest_scale(storage, qmax)), _STORAGE[storage], torch.get_num_threads()),
    )
    return not lost


def dequantize(codes: torch.Tensor, scales: torch.Tensor, values: torch.Tensor, size: int, fmt: ElementFormat) -> None:
    """Fill values [rows, D], any float dtype, with code x scale from codes [rows, D], float32 scales [rows, groups]."""
    _library(fmt).dequantize(
        *(_at(codes), _at(scales), _at(values), _DTYPES[values.dtype], *_layout(codes, size)), torch.get_num_threads()
    )


def _at(tensor: torch.Tensor) -> c_void_p:
    return c_void_p(tensor.data_ptr())


def _layout(tensor: torch.Tensor, size: int) -> tuple[c_int64, c_int64, c_int64]:
    return c_int64(tensor.shape[0]), c_int64(tensor.shape[1]), c_int64(size)


def _library(fmt: ElementFormat, overflow: str = "saturate") -> CDLL:
    if isinstance(fmt, IntegerFormat):
        return library(f"INTEGER={fmt.max_finite}")
    return library(f"FORMAT={','.join(_constants(fmt, overflow))}")


def _constants(fmt: FloatFormat, overflow: str) -> list[str]:
    """The fields of struct Format in numbers.h, in their order."""
    one_nan = fmt.special == "fnuz"
    subnormal_power = not fmt.has_zero and fmt.min_exponent == -127  # 2^-127, which float32 has as a subnormal
    values = {
        "shift": 23 - fmt.mantissa_bits,
        "rebias": (127 - fmt.bias) << 23,
        "low_bits": 0x1FF,
        "largest": fmt.max_code,
        "overflow": overflow_code(fmt, overflow),
        "nan": fmt.nan_code or 0,  # formats without NaN never get one
        "sign_shift": 32 - fmt.bits,
        "sign_mask": fmt.sign_mask,
        "size_mask": fmt.exponent_mask | fmt.mantissa_mask,
        "last_low": fmt.mantissa_mask if fmt.has_zero else 0 if subnormal_power else -1,
        "smallest": f"{(fmt.min_subnormal or 0.0).hex()}f",
        "low_pattern": 1 << 22 if subnormal_power else 0,
        "inf_size": fmt.exponent_mask if fmt.has_inf else -1,
        "nan_size": fmt.nan_codes[0] if fmt.has_nan and not one_nan else 0x100,
        "one_nan": str(one_nan).lower(),
    }
    return [str(value) for value in values.values()]
