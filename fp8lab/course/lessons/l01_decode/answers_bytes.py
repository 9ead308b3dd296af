"""Exercises 1.1 to 1.4 and 1.6, one byte at a time: right answers, the mistakes that the records know, right variants.

A mistake is written as somebody who makes it would write it, from the references for the rest.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

# ---- 1.1 fields


def fields(byte):
    if isinstance(byte, bool):
        raise TypeError(f"a byte is an integer, given {byte!r}")
    byte = operator.index(byte)
    if not 0 <= byte <= 255:
        raise ValueError(f"a byte is 0 to 255, given {byte}")
    return byte >> 7, byte >> 3 & 0xF, byte & 0x7


def fields_by_division(byte):
    """Division and remainder in the place of shift and mask; a numpy array in the place of a tuple."""
    fields(byte)
    return np.array([int(byte) // 128, int(byte) % 128 // 8, int(byte) % 8])


def fields_from_text(byte):
    """Through the binary text, as a list."""
    fields(byte)
    bits = f"{int(byte):08b}"
    return [int(bits[:1], 2), int(bits[1:5], 2), int(bits[5:], 2)]


class Parts(NamedTuple):
    sign: np.uint8
    exponent: np.uint8
    mantissa: np.uint8


def fields_named(byte):
    """A named tuple of numpy scalars."""
    return Parts(*map(np.uint8, fields(byte)))


def fields_from_the_right(byte):
    return fields(byte)[::-1]


def fields_of_e5m2(byte):
    fields(byte)
    return int(byte) >> 7, int(byte) >> 2 & 0x1F, int(byte) & 0x3


def fields_masked_not_shifted(byte):
    fields(byte)
    return int(byte) & 0x80, int(byte) & 0x78, int(byte) & 0x07


def fields_shifted_not_masked(byte):
    fields(byte)
    return int(byte) >> 7, int(byte) >> 3, int(byte) & 0x7


def fields_without_bias(byte):
    sign, exponent, mantissa = fields(byte)
    return sign, exponent - 7, mantissa


def fields_as_text(byte):
    fields(byte)
    bits = f"{int(byte):08b}"
    return bits[0], bits[1:5], bits[5:]


def fields_modulo_256(byte):
    if isinstance(byte, bool):
        raise TypeError("an integer, please")
    return fields(operator.index(byte) & 0xFF)


def fields_of_booleans(byte):
    byte = operator.index(int(byte) if isinstance(byte, bool) else byte)
    return fields(byte)


def fields_of_whole_floats(byte):
    if isinstance(byte, bool) or byte is None or isinstance(byte, (str, np.bool_)):
        raise TypeError("a number, please")
    if byte != int(byte):
        raise TypeError("a whole number, please")
    return fields(int(byte))


def fields_through_int(byte):
    return fields(int(byte))


def fields_of_python_ints_only(byte):
    if type(byte) is not int:
        raise TypeError("an int, please")
    return fields(byte)


def fields_asserted(byte):
    assert isinstance(byte, (int, np.integer)) and not isinstance(byte, bool)
    assert 0 <= byte <= 255
    return fields(byte)


def fields_one_error(byte):
    try:
        return fields(byte)
    except TypeError:
        raise ValueError("a byte, please") from None


def fields_unchecked(byte):
    return byte >> 7, byte >> 3 & 0xF, byte & 0x7


# ---- 1.2 normal numbers


def normal_value(sign, exponent, mantissa):
    return (-1.0) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa / 8)


def normal_by_ldexp(sign, exponent, mantissa):
    """An integer significand and a power of two: how hardware sees it. A float32 comes out."""
    return np.float32(math.ldexp(-8 - mantissa if sign else 8 + mantissa, exponent - 10))


def normal_by_fraction(sign, exponent, mantissa):
    return float((1 - 2 * sign) * Fraction(8 + mantissa, 8) * Fraction(2) ** (exponent - 7))


def normal_without_implicit_one(sign, exponent, mantissa):
    return (-1.0) ** sign * 2.0 ** (exponent - 7) * (mantissa / 8)


def normal_bias_8(sign, exponent, mantissa):
    return (-1.0) ** sign * 2.0 ** (exponent - 8) * (1 + mantissa / 8)


def normal_bias_15(sign, exponent, mantissa):
    return (-1.0) ** sign * 2.0 ** (exponent - 15) * (1 + mantissa / 8)


def normal_without_bias(sign, exponent, mantissa):
    return (-1.0) ** sign * 2.0**exponent * (1 + mantissa / 8)


def normal_without_sign(sign, exponent, mantissa):
    return 2.0 ** (exponent - 7) * (1 + mantissa / 8)


def normal_minus_binds_last(sign, exponent, mantissa):
    return -(1**sign) * 2.0 ** (exponent - 7) * (1 + mantissa / 8)


def normal_sevenths(sign, exponent, mantissa):
    return (-1.0) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa / 7)


def normal_mantissa_added_last(sign, exponent, mantissa):
    return (-1.0) ** sign * (2.0 ** (exponent - 7) + mantissa / 8)


def normal_whole_mantissa(sign, exponent, mantissa):
    return (-1.0) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa)


def normal_ieee_habit(sign, exponent, mantissa):
    if exponent == 15:
        return math.nan if mantissa else math.copysign(math.inf, -sign)
    return normal_value(sign, exponent, mantissa)


# ---- 1.3 subnormal numbers and zero


def subnormal_value(sign, mantissa):
    return (-1.0) ** sign * mantissa * 2.0**-9


def subnormal_by_copysign(sign, mantissa):
    return np.float16(math.copysign(mantissa / 512, -1 if sign else 1))


def subnormal_by_ldexp(sign, mantissa):
    return math.ldexp(-float(mantissa), -9) if sign else math.ldexp(float(mantissa), -9)


def subnormal_one_power_lower(sign, mantissa):
    return (-1.0) ** sign * 2.0**-7 * (mantissa / 8)


def subnormal_with_implicit_one(sign, mantissa):
    return (-1.0) ** sign * 2.0**-6 * (1 + mantissa / 8)


def subnormal_as_normal(sign, mantissa):
    return normal_value(sign, 0, mantissa)


def subnormal_integer_sign(sign, mantissa):
    return (-1) ** sign * mantissa * 2.0**-9


def subnormal_without_sign(sign, mantissa):
    return mantissa * 2.0**-9


def subnormal_flushed(sign, mantissa):
    return (-1.0) ** sign * 0.0


def subnormal_whole_mantissa(sign, mantissa):
    return (-1.0) ** sign * mantissa * 2.0**-6


# ---- 1.4 a whole byte


def decode_byte(byte):
    sign, exponent, mantissa = fields(byte)
    if exponent == 15 and mantissa == 7:
        return math.nan
    if exponent == 0:
        return subnormal_value(sign, mantissa)
    return normal_value(sign, exponent, mantissa)


def decode_in_one_formula(byte):
    """No branch for the subnormals: the implicit bit is 1 where the exponent field is not 0. A float32 comes out."""
    sign, exponent, mantissa = fields(byte)
    if byte & 0x7F == 0x7F:
        return np.float32(math.nan)
    size = (8 * (exponent > 0) + mantissa) * 2.0 ** (max(exponent, 1) - 10)
    return np.float32(-size if sign else size)


def decode_from_halves(byte):
    """The bits as a float16 whose exponent is 8 too small, as MLX does it; NaN has to be put in by hand."""
    fields(byte)
    if byte in (0x7F, 0xFF):
        return -math.nan
    return float(np.array((byte & 0x80) << 8 | (byte & 0x7F) << 7, np.uint16).view(np.float16)) * 256.0


def decode_ieee(byte):
    sign, exponent, mantissa = fields(byte)
    if exponent == 15:
        return math.nan if mantissa else math.copysign(math.inf, -sign)
    return decode_byte(byte)


def decode_all_ones_is_nan(byte):
    return math.nan if fields(byte)[1] == 15 else decode_byte(byte)


def decode_without_nan(byte):
    sign, exponent, mantissa = fields(byte)
    return subnormal_value(sign, mantissa) if exponent == 0 else normal_value(sign, exponent, mantissa)


def decode_one_nan(byte):
    return decode_without_nan(byte) if byte == 0xFF else decode_byte(byte)


def decode_every_exponent_alike(byte):
    if byte & 0x7F == 0x7F:
        return math.nan
    return normal_value(*fields(byte))


def decode_zero_alone(byte):
    sign, exponent, mantissa = fields(byte)
    return math.copysign(0.0, -sign) if (exponent, mantissa) == (0, 0) else decode_every_exponent_alike(byte)


def decode_zero_first(byte):
    return 0.0 if byte & 0x7F == 0 else decode_byte(byte)


def decode_tilelang(byte):
    return normal_value(*fields(byte))


def decode_fnuz(byte):
    if byte == 0x80:
        return math.nan
    return decode_without_nan(byte) / 2


def decode_saturated(byte):
    value = decode_byte(byte)
    return math.copysign(240.0, value) if abs(value) > 240 else value


def decode_nan_is_largest(byte):
    value = decode_byte(byte)
    return math.copysign(448.0, -(byte >> 7)) if math.isnan(value) else value


# ---- 1.6 classes


def classify(byte):
    sign, exponent, mantissa = fields(byte)
    if exponent == 15 and mantissa == 7:
        return "nan"
    if exponent == 0:
        return "subnormal" if mantissa else "zero"
    return "normal"


def classify_by_size(byte):
    """From the value alone."""
    size = abs(decode_byte(byte))
    names = ["nan", "zero", "subnormal", "normal"]
    return names[0 if math.isnan(size) else 1 + (size > 0) + (size >= 2**-6)]


def classify_by_code(byte):
    """By comparing the code without its sign; numpy text comes out."""
    code = byte & 0x7F
    return np.str_("nan" if code == 0x7F else "normal" if code > 7 else "subnormal" if code else "zero")


def classify_ieee(byte):
    sign, exponent, mantissa = fields(byte)
    return ("nan" if mantissa else "inf") if exponent == 15 else classify(byte)


def classify_all_ones_is_nan(byte):
    return "nan" if fields(byte)[1] == 15 else classify(byte)


def classify_one_zero(byte):
    return "subnormal" if byte == 0x80 else classify(byte)


def classify_negative_zero_is_normal(byte):
    return "normal" if byte == 0x80 else classify(byte)


def classify_zero_is_subnormal(byte):
    return "subnormal" if fields(byte)[1] == 0 else classify(byte)


def classify_one_nan(byte):
    return "normal" if byte == 0xFF else classify(byte)


def classify_min_normal_is_subnormal(byte):
    return "subnormal" if byte & 0x7F == 0x08 else classify(byte)


def classify_two_classes(byte):
    return "zero" if fields(byte)[1] == 0 else classify(byte)


def classify_no_nan(byte):
    return "normal" if byte & 0x7F == 0x7F else classify(byte)
