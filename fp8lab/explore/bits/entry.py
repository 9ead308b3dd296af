"""What a person types into the explorer, read: a code in hexadecimal or binary, or a real number.

>>> read_hex("7e", "E4M3FN"), read_binary("0 1111 110", "E4M3FN")
(126, 126)
>>> read_value("1/512"), read_value("2^-6"), read_value(" 448 ")
(0.001953125, 0.015625, 448.0)
"""

from __future__ import annotations

import re
from fractions import Fraction

from fp8lab.formats import FloatFormat, get_format

_POWER = re.compile(r"([+-]?)\s*(?:([0-9.]+)\s*[*×·]\s*)?2\s*(?:\^|\*\*)\s*\(?\s*([+-]?[0-9]{1,4})\s*\)?")
_FRACTION = re.compile(r"[+-]?[0-9]{1,400}\s*/\s*0*[1-9][0-9]{0,400}")


def read_hex(text: str, fmt: FloatFormat | str) -> int:
    """A code from hexadecimal digits, with or without 0x. ValueError if they are none or name no code of `fmt`."""
    digits = text.strip().lower().removeprefix("0x").removesuffix("h")
    return _code(digits, 16, r"[0-9a-f]+", get_format(fmt))


def read_binary(text: str, fmt: FloatFormat | str) -> int:
    """A code from binary digits; spaces, underscores and 0b are allowed. ValueError as in `read_hex`."""
    digits = re.sub(r"[\s_]", "", text).lower().removeprefix("0b")
    return _code(digits, 2, r"[01]+", get_format(fmt))


def read_value(text: str) -> float:
    """A real number: decimal, fraction, power of two, nan or inf. ValueError otherwise."""
    text = text.strip().replace("−", "-")
    if _FRACTION.fullmatch(text):
        return float(Fraction(re.sub(r"\s", "", text)))
    power = _POWER.fullmatch(text)
    if power:
        sign, factor, exponent = power.groups()
        return (-1.0 if sign == "-" else 1.0) * float(factor or 1) * 2.0 ** int(exponent)
    return float(text)


def _code(digits: str, base: int, pattern: str, fmt: FloatFormat) -> int:
    if not re.fullmatch(pattern, digits) or int(digits, base) >= fmt.codes:
        raise ValueError(f"{digits!r} names no code of {fmt.name}")
    return int(digits, base)
