"""The exact oracle: formats typed from their specifications, rounding in rational numbers; no code of fp8lab in it.

Everything follows from one table of positive values as fractions. Between two neighbours lies their midpoint; rounding
is a choice of one of the two, so for whole arrays it is enough to know the *last float* that still goes to each code
(`boundaries`): intervals between boundaries are filled, never computed number by number.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np


class Spec(NamedTuple):
    """A format as its specification gives it; codes without the sign bit, in ascending order of value."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    last: int  # code of the largest finite value
    inf: int | None
    nan: int | None  # the positive NaN that `fp8lab.encode` writes: all ones; 0x80 in fnuz
    sign: int  # sign bit, 0 in an unsigned format
    negative_zero: bool


# OCP OFP8 v1.0, table 1 (E4M3FN, E5M2); Noune et al., arXiv:2206.02915 (fnuz); OCP MX v1.0, sections 5.3 and 5.4
SPECS = {
    "E4M3FN": Spec(4, 3, 7, 0x7E, None, 0x7F, 0x80, True),
    "E5M2": Spec(5, 2, 15, 0x7B, 0x7C, 0x7F, 0x80, True),
    "E4M3FNUZ": Spec(4, 3, 8, 0x7F, None, 0x80, 0x80, False),
    "E5M2FNUZ": Spec(5, 2, 16, 0x7F, None, 0x80, 0x80, False),
    "E3M2FN": Spec(3, 2, 3, 0x1F, None, None, 0x20, True),
    "E2M3FN": Spec(2, 3, 1, 0x1F, None, None, 0x20, True),
    "E2M1FN": Spec(2, 1, 1, 0x07, None, None, 0x08, True),
    "E8M0FNU": Spec(8, 0, 127, 0xFE, None, 0xFF, 0, False),
    "E4M3": Spec(4, 3, 7, 0x77, 0x78, 0x7F, 0x80, True),
    "E3M4": Spec(3, 4, 3, 0x6F, 0x70, 0x7F, 0x80, True),
}


@cache
def magnitudes(name: str) -> tuple[Fraction, ...]:
    """Values of the finite codes without sign bit, in code order, and one more: the first beyond the range."""
    spec = SPECS[name]
    return tuple(_magnitude(code, spec) for code in range(spec.last + 2))


def _magnitude(code: int, spec: Spec) -> Fraction:
    exponent, mantissa = code >> spec.mantissa_bits, code & ((1 << spec.mantissa_bits) - 1)
    fraction = Fraction(mantissa, 1 << spec.mantissa_bits)
    if not spec.mantissa_bits:
        return Fraction(2) ** (exponent - spec.bias)
    if exponent == 0:
        return fraction * Fraction(2) ** (1 - spec.bias)
    return (1 + fraction) * Fraction(2) ** (exponent - spec.bias)


def overflow_code(name: str, overflow: str) -> int:
    spec = SPECS[name]
    return {"saturate": spec.last, "nan": spec.nan, "inf": spec.inf}[overflow]


def round_exact(x, name: str, rounding: str = "nearest_even", overflow: str = "saturate") -> int:
    """The code of one number: a float (infinity and NaN too), an int or a Fraction."""
    spec = SPECS[name]
    negative = math.copysign(1, x) < 0
    if isinstance(x, float) and math.isnan(x):
        return signed(spec.nan, negative, name)
    if isinstance(x, float) and math.isinf(x):
        return signed(overflow_code(name, overflow), negative, name)
    size, values = abs(Fraction(x)), magnitudes(name)
    below = bisect_right(values, size) - 1
    if below == len(values) - 1:
        return signed(overflow_code(name, overflow), negative, name)
    if below < 0:  # E8M0 has no zero: the smallest value takes what is below it
        return 0
    up = size > values[below] and _goes_up(size, values[below], values[below + 1], below, negative, rounding)
    code = below + up
    return signed(overflow_code(name, overflow) if code > spec.last else code, negative, name)


def _goes_up(size, low, high, code, negative, rounding) -> bool:
    if rounding == "toward_zero":
        return False
    if rounding == "toward_positive":
        return not negative
    distance = (size - low) - (high - size)
    if distance == 0:
        return rounding == "nearest_away" or code % 2 == 1
    return distance > 0


def signed(code: int, negative: bool, name: str) -> int:
    spec = SPECS[name]
    if not negative or (not spec.negative_zero and code in (0, spec.nan)):
        return code
    return code | spec.sign


@cache
def boundaries(name: str, dtype: type) -> np.ndarray:
    """Bit patterns of the last positive floats that round to nearest even to code 0, 1, ... last; then all overflow."""
    last = []
    for code, (low, high) in enumerate(zip(magnitudes(name), magnitudes(name)[1:])):
        middle = (low + high) / 2  # exact in float32: a format has at most 4 mantissa bits
        pattern = int(dtype(float(middle)).view(_integer(dtype)))
        assert Fraction(float(middle)) == middle
        last.append(pattern if code % 2 == 0 else pattern - 1)
    return np.array(last, dtype=_integer(dtype))


def _integer(dtype: type) -> type:
    return {np.float32: np.uint32, np.float64: np.uint64, np.float16: np.uint16}[dtype]


def round_array(x: np.ndarray, name: str, overflow: str = "saturate") -> np.ndarray:
    """Codes of a float32 or float64 array, to nearest even, by looking up which interval a bit pattern lies in."""
    spec, dtype = SPECS[name], x.dtype.type
    bits = x.view(_integer(dtype))
    sign_bit = bits.dtype.type(1) << bits.dtype.type(8 * x.dtype.itemsize - 1)
    size = bits & ~sign_bit
    code = np.searchsorted(boundaries(name, dtype), size)
    code = np.where(code > spec.last, overflow_code(name, overflow), code)
    nan = np.isnan(x)
    if spec.nan is not None:
        code = np.where(nan, spec.nan, code)
    negative = (bits & sign_bit) != 0
    if not spec.negative_zero:
        negative &= (code != 0) & ~nan & (code != spec.nan)
    return np.where(negative, code | spec.sign, code).astype(np.uint8)


def fill(name: str, overflow: str, first: int, codes: np.ndarray) -> None:
    """Codes of the float32 bit patterns first, first + 1, ... of one sign, written interval by interval."""
    spec = SPECS[name]
    negative, start = bool(first >> 31), first & 0x7FFFFFFF
    last = boundaries(name, np.float32).astype(np.int64)
    ends = [*(last + 1), 0x7F800001, 1 << 31]
    labels = [*range(spec.last + 1), overflow_code(name, overflow), spec.nan]
    begin = 0
    for end, code in zip(ends, labels):
        low, high = max(begin - start, 0), min(end - start, len(codes))
        if low < high:
            codes[low:high] = signed(code, negative, name)
        begin = end


def value(code: int, name: str) -> Fraction | None:
    """The value of a code; None for NaN and infinity."""
    spec = SPECS[name]
    size = code & ~spec.sign
    if size > spec.last or (spec.nan == code):
        return None
    return -magnitudes(name)[size] if code & spec.sign else magnitudes(name)[size]
