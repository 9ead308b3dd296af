"""2.1 and 2.2: right answers and typical wrong ones for the table, the neighbours, and the choice between them."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import cache, lru_cache

from fp8lab.formats import E4M3FN, FloatFormat, bracket, value

Table = list[tuple[float, int]]


@cache
def finite_table(fmt: FloatFormat) -> Table:
    codes = [code for code in range(256) if math.isfinite(value(code, fmt)) and code != 0x80]
    return sorted((value(code, fmt), code) for code in codes)


def neighbours_of(x: float, fmt: FloatFormat = E4M3FN) -> tuple[int, int]:
    table = finite_table(fmt)
    x = min(max(x, table[0][0]), table[-1][0])
    low = bisect_right(table, x, key=lambda entry: entry[0]) - 1
    high = bisect_left(table, x, key=lambda entry: entry[0])
    return table[low][1], table[high][1]


def search(table: Table, x: float) -> tuple[int, int]:
    """The neighbours of x in any table, as somebody with a wrong table would find them."""
    points = [point for point, _ in table]
    low, high = bisect_right(points, x) - 1, bisect_left(points, x)
    last = len(table) - 1
    return table[min(max(low, 0), last)][1], table[min(max(high, 0), last)][1]


def on_table(make: Callable[[FloatFormat], Table]) -> Callable[..., tuple[int, int]]:
    made = lru_cache(maxsize=None)(make)
    return lambda x, fmt=E4M3FN: search(made(fmt), x)


@on_table
def nan_sorted_in(fmt: FloatFormat) -> Table:
    return sorted(((value(code, fmt), code) for code in range(256) if code != 0x80), key=lambda entry: entry[0])


@on_table
def infinity_is_a_value(fmt: FloatFormat) -> Table:
    return sorted((value(c, fmt), c) for c in range(256) if not math.isnan(value(c, fmt)) and c != 0x80)


@on_table
def two_zeros(fmt: FloatFormat) -> Table:
    return sorted((value(code, fmt), code) for code in range(256) if math.isfinite(value(code, fmt)))


@on_table
def code_order(fmt: FloatFormat) -> Table:
    return [(value(c, fmt), c) for c in range(256) if math.isfinite(value(c, fmt)) and c != 0x80]


@on_table
def ieee_top(fmt: FloatFormat) -> Table:
    top = fmt.exponent_mask
    return [(v, c) for v, c in finite_table(fmt) if c & top != top]


def never_itself(x: float, fmt: FloatFormat = E4M3FN) -> tuple[int, int]:
    table = finite_table(fmt)
    points = [point for point, _ in table]
    high = min(max(bisect_right(points, x), 1), len(table) - 1)
    return table[high - 1][1], table[high][1]


def by_comparison(x: float, fmt: FloatFormat = E4M3FN) -> tuple[int, int]:
    table = finite_table(fmt)
    low = max((entry for entry in table if entry[0] <= x), default=table[0])
    high = min((entry for entry in table if entry[0] >= x), default=table[-1])
    return low[1], high[1]


def by_bracket(x: float, fmt: FloatFormat = E4M3FN) -> list[int]:
    low, high = bracket(x, fmt)
    ends = (high if low is None else low, low if high is None else high)
    return [0 if code == 0x80 else code for code in ends]


# ---- 2.2


def nearest(x: float, fmt: FloatFormat = E4M3FN) -> int:
    low, high = neighbours_of(x, fmt)
    below, above = x - value(low, fmt), value(high, fmt) - x
    if below == above:
        return low if low % 2 == 0 else high
    return low if below < above else high


def with_ties(choose: Callable[[float, int, int, FloatFormat], int]) -> Callable[..., int]:
    """Nearest, but a tie is decided by `choose`."""

    def answer(x: float, fmt: FloatFormat = E4M3FN) -> int:
        low, high = neighbours_of(x, fmt)
        below, above = x - value(low, fmt), value(high, fmt) - x
        if below != above:
            return low if below < above else high
        return choose(x, low, high, fmt)

    return answer


def truncated(x: float, fmt: FloatFormat = E4M3FN) -> int:
    low, high = neighbours_of(x, fmt)
    return low if x > 0 else high


def floored(x: float, fmt: FloatFormat = E4M3FN) -> int:
    return neighbours_of(x, fmt)[0]


half_away = with_ties(lambda x, low, high, fmt: high if x > 0 else low)
half_up = with_ties(lambda x, low, high, fmt: high)
half_down = with_ties(lambda x, low, high, fmt: low if x > 0 else high)
odd_code = with_ties(lambda x, low, high, fmt: low if low % 2 else high)


@with_ties
def even_value(x: float, low: int, high: int, fmt: FloatFormat) -> int:
    return low if value(low, fmt) % 2 == 0 else high


@with_ties
def even_significand(x: float, low: int, high: int, fmt: FloatFormat) -> int:
    """The significand as frexp normalises it: for subnormals that is not the one in the code."""
    fraction, _ = math.frexp(value(low, fmt))
    return low if int(abs(fraction) * 2 ** (fmt.mantissa_bits + 1)) % 2 == 0 else high


def flush_subnormals(x: float, fmt: FloatFormat = E4M3FN) -> int:
    return nearest(x, fmt) if abs(x) >= fmt.min_normal else 0


def by_ratio(x: float, fmt: FloatFormat = E4M3FN) -> int:
    """Which neighbour is closer as a factor: the middle is the geometric one."""
    low, high = neighbours_of(x, fmt)
    near, far = sorted((abs(value(low, fmt)), abs(value(high, fmt))))
    if low == high:
        return low
    inner, outer = (low, high) if x > 0 else (high, low)
    return inner if x * x < near * far else outer


def carry_lost(x: float, fmt: FloatFormat = E4M3FN) -> int:
    """Rounds the mantissa, keeps its low bits, and forgets that it may have become one too long."""
    low, high = neighbours_of(x, fmt)
    inner, outer = (low, high) if x > 0 else (high, low)
    code = nearest(x, fmt)
    return inner & ~fmt.mantissa_mask if code == outer != inner and outer & fmt.mantissa_mask == 0 else code


def by_middle(x: float, fmt: FloatFormat = E4M3FN) -> int:
    low, high = neighbours_of(x, fmt)
    middle = (value(low, fmt) + value(high, fmt)) / 2
    if x == middle and low != high:
        return next(code for code in (low, high) if not code & 1)
    return low if x < middle else high


def by_sorting(x: float, fmt: FloatFormat = E4M3FN) -> int:
    return min(neighbours_of(x, fmt), key=lambda code: (abs(value(code, fmt) - x), code % 2))
