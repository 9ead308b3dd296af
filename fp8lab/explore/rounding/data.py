"""One real number between two codes: which of them each rounding mode takes, and what happens past the end.

>>> facts = rounding_data(464.0)
>>> facts.low, facts.high, facts.midpoint, facts.is_tie, facts.chosen
(126, None, Fraction(464, 1), True, 126)
>>> rounding_data(464.0, rounding="nearest_away", overflow="nan").chosen
127
>>> rounding_data(17.0).chances  # nearest even: 17 is a tie, and 16 has the even code
{88: 1.0}
>>> rounding_data(17.5, rounding="stochastic").chances
{88: 0.25, 89: 0.75}
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import torch

from fp8lab import formats
from fp8lab.codec import OVERFLOWS, ROUNDINGS, encode
from fp8lab.formats import FloatFormat, get_format


@dataclass(frozen=True)
class RoundingData:
    """`x` and where it lies. `low` and `high` are the finite codes around it. Beyond the last value one is None; in
    `low_value` or `high_value` then stands what the next value would be, if exponents had no end."""

    x: float
    fmt: FloatFormat
    rounding: str
    overflow: str
    low: int | None
    high: int | None
    low_value: Fraction
    high_value: Fraction
    results: dict[str, int | None]  # rounding mode -> code; None where chance decides

    @property
    def exact(self) -> Fraction:
        return Fraction(self.x)

    @property
    def is_value(self) -> bool:
        """Whether x needs no rounding."""
        return self.low_value == self.high_value

    @property
    def midpoint(self) -> Fraction:
        return (self.low_value + self.high_value) / 2

    @property
    def is_tie(self) -> bool:
        return not self.is_value and self.exact == self.midpoint

    @property
    def share(self) -> float:
        """How far x is on the way from low to high: 0 to 1."""
        return 0.0 if self.is_value else float((self.exact - self.low_value) / (self.high_value - self.low_value))

    @property
    def is_beyond(self) -> bool:
        """Whether |x| is larger than the largest finite value."""
        return abs(self.exact) > Fraction(self.fmt.max_finite)

    @property
    def chosen(self) -> int | None:
        """The code that x becomes; None where chance decides."""
        return self.results[self.rounding]

    @property
    def chances(self) -> dict[int, float]:
        """Code -> probability, for the mode that is set."""
        if self.chosen is not None:
            return {self.chosen: 1.0}
        outward = self.share if self.x > 0 else 1 - self.share  # stochastic rounding goes away from zero by that chance
        inner, outer = _ends(self.x, self.fmt, self.low, self.high, self.overflow)
        return {inner: 1 - outward, outer: outward}

    @property
    def error(self) -> Fraction | None:
        """Result minus x, exactly; None for a result that is no number, or that chance decides."""
        value = None if self.chosen is None else formats.exact(self.chosen, self.fmt)
        return None if value is None else value - self.exact


def rounding_data(
    x: float, fmt: FloatFormat | str = "E4M3FN", rounding: str = "nearest_even", overflow: str = "saturate"
) -> RoundingData:
    """The record of the finite number `x`. ValueError for NaN and infinity, an unknown mode, a policy that the format
    has no code for, and for numbers that it has no sign for or that are zero in a format without zero."""
    fmt, x = get_format(fmt), float(x)
    if not math.isfinite(x):
        raise ValueError(f"x = {x}: only finite numbers lie between two others")
    if not fmt.signed and x <= 0:
        raise ValueError(f"x = {x}: {fmt.name} has only positive numbers")
    low, high = formats.bracket(x, fmt)
    values = [None if code is None else formats.exact(code, fmt) for code in (low, high)]
    if low is None:  # below the most negative value, or below the smallest of a format without zero
        values[0] = Fraction(0) if not fmt.signed else values[1] - _last_step(fmt)
    if high is None:
        values[1] = values[0] + _last_step(fmt)
    results = {mode: _result(x, fmt, mode, overflow) for mode in ROUNDINGS}
    if rounding not in results:
        raise ValueError(f"rounding={rounding!r}: choose one of {', '.join(ROUNDINGS)}")
    inner, outer = _ends(x, fmt, low, high, overflow)
    if inner != outer and values[0] < Fraction(x) < values[1]:
        results["stochastic"] = None
    return RoundingData(x, fmt, rounding, overflow, low, high, *values, results)


def overflows_of(fmt: FloatFormat) -> tuple[str, ...]:
    """The overflow policies that a format has codes for."""
    possible = {"saturate": True, "nan": fmt.has_nan, "inf": fmt.has_inf}
    return tuple(policy for policy in OVERFLOWS if possible[policy])


def overflow_tie(fmt: FloatFormat) -> float:
    """Halfway between the largest value and the next one that there would be: 464 in E4M3FN. Whether the tie itself
    overflows depends on whether the largest code is even."""
    return fmt.max_finite + float(_last_step(fmt) / 2)


def float32_beside(x: float) -> tuple[float, float]:
    """The float32 numbers just below and just above x (x itself rounded to float32 first)."""
    here = torch.tensor(x, dtype=torch.float32)
    down, up = (torch.nextafter(here, torch.tensor(sign * math.inf)) for sign in (-1, 1))
    return down.item(), up.item()


def _last_step(fmt: FloatFormat) -> Fraction:
    """From the largest value to the next one, had the exponent no end. Without a mantissa values double."""
    return Fraction(fmt.max_finite) if not fmt.mantissa_bits else Fraction(formats.ulp(fmt.max_finite, fmt))


def _result(x: float, fmt: FloatFormat, mode: str, overflow: str) -> int:
    generator = torch.Generator().manual_seed(0) if mode == "stochastic" else None
    number = torch.tensor(x, dtype=torch.float64)
    return int(encode(number, fmt, rounding=mode, overflow=overflow, generator=generator))


def _ends(x: float, fmt: FloatFormat, low: int | None, high: int | None, overflow: str) -> tuple[int, int]:
    """The codes nearer to and farther from zero that stochastic rounding draws from. Past the last value the farther
    one is what the policy makes of an overflow; below the smallest value of a format without zero both are that."""
    inner, outer = (low, high) if x > 0 else (high, low)
    if inner is None:
        return outer, outer
    if outer is None:
        outer = _result(math.copysign(4 * fmt.max_finite, x), fmt, "toward_zero", overflow)
    return inner, outer
