"""Encoders as tables: where on the line of all float64 the code changes. Only data go where learners' code runs."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

INF, MINUS_INF = math.inf, -math.inf


class Table(NamedTuple):
    """What `driving_tables.encoder_of` needs: x below edges[0] gets codes[0], x from edges[0] on codes[1], ..."""

    edges: tuple[float, ...]
    codes: tuple[int, ...]
    nan: int
    minus_zero: int


def tabulate(encode: Callable[[float], Any], points: Iterable[float]) -> Table:
    """The table of `encode`, whose code may change at each of `points`, right behind it, and once between two of them.

    points: floats, no NaN; infinities, zero and the ends of float64 are looked at anyway.

    >>> tabulate(lambda x: 0x7F if x != x else int(x > 1.5) | (0x80 if math.copysign(1, x) < 0 else 0), [1.0, 2.0])
    Table(edges=(0.0, 1.5000000000000002), codes=(128, 0, 1), nan=127, minus_zero=128)
    """
    (left, lowest), *probes = _probes(frozenset(points))
    edges, codes = [], [int(encode(lowest))]
    for right, x in probes:
        ahead = int(encode(x))
        while codes[-1] != ahead:  # where does it leave the code it has? that place may have a third code
            left = _last_with(encode, codes[-1], left, right)
            edges.append(number(left + 1))
            codes.append(int(encode(edges[-1])))
        left = right
    return Table(tuple(edges), tuple(codes), int(encode(math.nan)), int(encode(-0.0)))


@lru_cache(maxsize=32)
def _probes(points: frozenset[float]) -> list[tuple[int, float]]:
    """The points and both neighbours of each, as positions and as numbers, from the lowest."""
    places = {position(x) for x in (*points, 0.0, MINUS_INF, INF)}
    near = sorted({place + step for place in places for step in (-1, 0, 1)})
    return [(place, number(place)) for place in near if abs(place) <= LAST]


def _last_with(encode: Callable[[float], Any], code: int, left: int, right: int) -> int:
    """The last position from `left`, which has the code, that still has it; `right` has another one."""
    while right - left > 1:
        middle = (left + right) // 2
        left, right = (middle, right) if int(encode(number(middle))) == code else (left, middle)
    return left


def position(x: float) -> int:
    """The place of a float64 among all of them: neighbours differ by 1, both zeros are 0.

    >>> position(0.0), position(5e-324), position(-5e-324), position(1.0) - position(math.nextafter(1.0, 0))
    (0, 1, -1, 1)
    """
    bits = struct.unpack("<q", struct.pack("<d", x))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def number(place: int) -> float:
    """The float64 at a position: the inverse of `position`, with 0.0 at 0."""
    size = struct.unpack("<d", struct.pack("<q", abs(place)))[0]
    return size if place >= 0 else -size


LAST = position(INF)
