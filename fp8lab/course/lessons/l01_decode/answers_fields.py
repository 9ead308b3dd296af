"""Exercise 1.1, the fields of a byte: right answers, the mistakes that the record knows, right variants.

A mistake is written as somebody who makes it would write it, from the references for the rest.
"""

from __future__ import annotations

import operator
from typing import NamedTuple

import numpy as np


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


def fields_isinstance_int(byte):
    """Refuses numpy's integers, lets booleans through."""
    if not isinstance(byte, int):
        raise TypeError("an int, please")
    if not 0 <= byte <= 255:
        raise ValueError("0 to 255, please")
    return byte >> 7, byte >> 3 & 0xF, byte & 0x7


def fields_isinstance_alone(byte):
    if not isinstance(byte, int):
        raise TypeError("an int, please")
    return byte >> 7, byte >> 3 & 0xF, byte & 0x7


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
