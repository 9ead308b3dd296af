"""2.7 and 2.8: other records, and numbers that are rounded twice."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fp8lab.formats import E4M3FN, FORMATS, FloatFormat, value

Answer = tuple[FloatFormat, FloatFormat, list[int]]


def other_formats() -> Answer:
    e5m2 = FloatFormat("my E5M2", exponent_bits=5, mantissa_bits=2, bias=15, signed=True, special="ieee")
    fnuz = FloatFormat("my E4M3FNUZ", exponent_bits=4, mantissa_bits=3, bias=8, signed=True, special="fnuz")
    exceptions = [code for code in range(256) if value(code, E4M3FN) != 2 * value(code, fnuz)]
    return e5m2, fnuz, exceptions


def with_changes(e5m2: dict | None = None, fnuz: dict | None = None, exceptions: list[int] | None = None) -> Callable:
    """other_formats with some fields, or the list, replaced."""

    def answer() -> Answer:
        one, two, three = other_formats()
        return replace(one, **(e5m2 or {})), replace(two, **(fnuz or {})), three if exceptions is None else exceptions

    return answer


bias_of_seven = with_changes(fnuz={"bias": 7})
infinity_missing = with_changes(e5m2={"special": "fn"})
nan_at_the_top = with_changes(fnuz={"special": "fn"}, exceptions=[0x80])
ieee_everywhere = with_changes(fnuz={"special": "ieee"})
bias_is_half = with_changes(e5m2={"bias": 16})
minus_zero_only = with_changes(exceptions=[0x80])
minus_zero_forgotten = with_changes(exceptions=[0x7F, 0xFF])
positive_nan_forgotten = with_changes(exceptions=[0x80, 0xFF])
negative_nan_forgotten = with_changes(exceptions=[0x7F, 0x80])
nothing_breaks = with_changes(exceptions=[])
zeros_listed = with_changes(exceptions=[0x00, 0x7F, 0x80, 0xFF])


def by_name() -> Answer:
    return FORMATS["E5M2"], FORMATS["E4M3FNUZ"], [0xFF, 0x7F, 0x80]


# ---- 2.8


def double_rounding(low: int, high: int) -> float:
    middle = (value(low) + value(high)) / 2
    return math.nextafter(middle, value(high) if low % 2 == 0 else value(low))


def nudged(step: Callable[[float, int, int], float]) -> Callable[[int, int], float]:
    return lambda low, high: step((value(low) + value(high)) / 2, low, high)


exact_middle = nudged(lambda middle, low, high: middle)
always_up = nudged(lambda middle, low, high: math.nextafter(middle, math.inf))
toward_the_even = nudged(lambda middle, low, high: math.nextafter(middle, value(low if low % 2 == 0 else high)))
too_far = nudged(lambda middle, low, high: middle + (1e-6 if low % 2 == 0 else -1e-6) * abs(middle))
away_from_zero = nudged(lambda middle, low, high: math.nextafter(middle, math.copysign(math.inf, middle)))


outward_from_even = nudged(lambda middle, low, high: middle * (1 + 2.0**-40 if low % 2 == 0 else 1 - 2.0**-40))


@nudged
def float32_neighbour(middle: float, low: int, high: int) -> float:
    toward = value(high) if low % 2 == 0 else value(low)
    return float(np.nextafter(np.float32(middle), np.float32(toward)))


def by_a_factor(low: int, high: int) -> np.float64:
    """Right: 2^-30 of the middle is far too little for float32, and plenty for float64."""
    middle = (value(low) + value(high)) / 2
    outward = (low % 2 == 0) == (middle > 0)
    return np.float64(middle * (1 + 2.0**-30 if outward else 1 - 2.0**-30))


def fixed_share(low: int, high: int) -> float:
    step = (value(high) - value(low)) * 2.0**-40
    return (value(low) + value(high)) / 2 + (-step if low & 1 else step)
