"""Numbers and words that the drives of lesson 02 share: points worth asking for, and codes as text.

Codes are written down as text, `0x59 = 0 1011 001`, so that a difference shows the bits; every NaN code is "NaN",
because libraries disagree on which one they write.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from fp8lab.course.drive import outcome
from fp8lab.formats import E4M3FN, E5M2, FloatFormat, bracket, value

FINITE = tuple(code for code in range(256) if math.isfinite(value(code)))
VALUES = tuple(sorted({value(code) for code in FINITE}))
POSITIVE_MIDDLES = tuple((low + high) / 2 for low, high in zip(VALUES, VALUES[1:]) if low >= 0)
MIDDLES = POSITIVE_MIDDLES + tuple(-middle for middle in POSITIVE_MIDDLES)  # a learner sees the positive ones first
E5M2_VALUES = tuple(value(code, E5M2) for code in range(E5M2.max_code + 1))


def pattern(code: int, fmt: FloatFormat = E4M3FN) -> str:
    """A code in hex and in its fields.

    >>> pattern(0x59)
    '0x59 = 0 1011 001'
    """
    bits = f"{code:08b}"
    split = 1 + fmt.exponent_bits
    return f"0x{code:02X} = {bits[0]} {bits[1:split]} {bits[split:]}"


def code_text(code: Any, fmt: FloatFormat = E4M3FN) -> str:
    """What an answer returned as a code, as text. Whatever counts as an integer is one; 88.0 is not."""
    try:
        number = operator.index(code)
    except TypeError:
        return f"<{type(code).__name__}>"
    if number in fmt.nan_codes:
        return "NaN"
    return pattern(number, fmt) if 0 <= number < fmt.codes else str(number)


def code_of(answer: Any, x: float, fmt: FloatFormat, policy: str) -> str:
    """The code that the answer gives for x, as text; where an error is the right answer, its name."""
    if policy == "inf" and not fmt.has_inf:
        return outcome(lambda: code_text(answer(x, fmt, policy), fmt))
    return code_text(answer(x, fmt, policy), fmt)


def where(x: float, fmt: FloatFormat = E4M3FN, *, decimal: bool = False) -> str:
    """A number and the codes around it; `decimal` adds the codes as an integer tensor prints them.

    >>> where(17.5), where(-1000.0), where(16.0, decimal=True)
    ('x = 17.5, between 0x58 (16.0) and 0x59 (18.0)', 'x = -1000.0', 'x = 16.0, exactly 0x58 = 88')
    """
    low, high = bracket(x, fmt) if math.isfinite(x) else (None, None)
    low, high = (0 if code == fmt.sign_mask else code for code in (low, high))  # one zero is enough here
    if low is None or high is None:
        return f"x = {x!r}"
    codes = [f"0x{code:02X} = {code}" if decimal else f"0x{code:02X}" for code in (low, high)]
    if low == high:
        return f"x = {x!r}, exactly {codes[0]}"
    return f"x = {x!r}, between {codes[0]} ({value(low, fmt)!r}) and {codes[1]} ({value(high, fmt)!r})"


def around(points: Any) -> list[float]:
    """Every point with the float64 just below and just above it."""
    return [float(x) for p in points for x in (p, math.nextafter(p, -math.inf), math.nextafter(p, math.inf))]


def some_reals(seed: int, count: int, fmt: FloatFormat = E4M3FN) -> list[float]:
    """Real numbers inside the range of `fmt`, of every size and of both signs; none is a value of the format."""
    rng = np.random.default_rng(seed)
    lowest = math.log2(fmt.min_subnormal) - 1
    sizes = 2.0 ** rng.uniform(lowest, math.log2(fmt.max_finite), count)
    return [float(x) for x in sizes * rng.choice([-1.0, 1.0], count)]
