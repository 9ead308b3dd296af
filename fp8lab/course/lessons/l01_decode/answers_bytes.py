"""Exercises 1.2 to 1.4 and 1.6, one byte at a time: right answers, the mistakes that the records know, right variants.

A mistake is written as somebody who makes it would write it, from the references for the rest.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fp8lab.course.lessons.l01_decode.answers_fields import fields

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


def normal_integer_division(sign, exponent, mantissa):
    return (-1.0) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa // 8)


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


def decode_ieee_without_sign(byte):
    _, exponent, mantissa = fields(byte)
    if exponent == 15:
        return math.nan if mantissa else math.inf
    return decode_byte(byte)


def decode_infinity_for_nan(byte):
    return math.inf if byte & 0x7F == 0x7F else decode_byte(byte)


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


def classify_in_capitals(byte):
    """As numpy and most texts spell it."""
    return classify(byte).replace("nan", "NaN")


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
