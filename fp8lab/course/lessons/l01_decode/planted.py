"""Decoders with planted faults: what the auditor of exercise 1.7 is tried on. No grading kernel sees this file.

The fixed ones are mistakes that have been made: other formats taken for E4M3FN, and decoders as they stood in public
repositories (tilelang#2702, mlx#4135, Float8s.jl#23). The seed breaks further ones at codes that nobody can foresee.
A decoder's label says what it does, not which property that violates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from fp8lab.formats import E4M3, E4M3FN, E4M3FNUZ, E5M2, FloatFormat, value

INTERIOR = tuple(range(0x0B, 0x7C))  # positive codes away from the boundary values and from the junction


class Decoder(NamedTuple):
    """What it makes of the 256 codes, and in symbols what is special about that."""

    label: str
    values: tuple[float, ...]


def _of_table(table: Sequence[float], label: str) -> Decoder:
    return Decoder(label, tuple(table))


def _of_format(fmt: FloatFormat, label: str) -> Decoder:
    return _of_table(_values(fmt), label)


@cache
def _values(fmt: FloatFormat) -> tuple[float, ...]:
    return tuple(value(code, fmt) for code in range(256))


def _of_rule(rule: Callable[[int, int], float], label: str) -> Decoder:
    """A decoder of the size rule(exponent, mantissa), with the sign and the NaN codes as they should be."""
    table = [math.copysign(rule(byte >> 3 & 15, byte & 7), 1 - 2 * (byte >> 7)) for byte in range(256)]
    table[0x7F] = table[0xFF] = math.nan
    return _of_table(table, label)


def _changed(label: str, changes: dict[int, float]) -> Decoder:
    table = list(_values(E4M3FN))
    for code, new in changes.items():
        table[code] = new
    return _of_table(table, label)


def _both_signs(label: str, changes: dict[int, float]) -> Decoder:
    return _changed(label, {**changes, **{code | 0x80: -new for code, new in changes.items()}})


def _right(exponent: int, mantissa: int) -> float:
    return _values(E4M3FN)[exponent << 3 | mantissa]


def known_faults() -> list[Decoder]:
    """The right decoder, other formats, and mistakes with a history."""
    above = math.nextafter
    zeros = {code: 0.0 for code in range(1, 8)}
    return [
        _of_format(E4M3FN, "0x78 -> 256.0, 0x7E -> 448.0"),
        _of_format(E4M3, "0x78 -> inf, 0x7E -> nan"),
        _of_format(E4M3FNUZ, "0x78 -> 128.0, 0x7F -> 240.0, 0x80 -> nan"),
        _of_format(E5M2, "0x78 -> 32768.0, 0x7C -> inf"),
        _of_rule(lambda e, m: _right(e, m) / 2, "0x78 -> 128.0, 0x7E -> 224.0"),
        _of_rule(lambda e, m: m / 8 * 2.0 ** (max(e, 1) - 7), "0x38 -> 0.0, 0x7E -> 192.0"),
        _of_rule(lambda e, m: _right(e, m) if e else m / 8 * 2.0**-7, "0x07 -> 0.875 * 2^-7"),
        _of_rule(lambda e, m: (1 + m / 8) * 2.0 ** (e - 7), "0x00 -> 2^-7, 0x07 -> 1.875 * 2^-7"),
        _of_rule(lambda e, m: (bool(e) + m / 7) * 2.0 ** (max(e, 1) - 7), "0x7E -> 256 * 13/7"),
        _of_rule(lambda e, m: 448.0 if e == 15 else _right(e, m), "0x78 ... 0x7E -> 448.0"),
        _of_rule(lambda e, m: min(_right(e, m), 240.0), "0x78 ... 0x7E -> 240.0"),
        _of_rule(lambda e, m: math.nan if e == 15 else _right(e, m), "0x78 ... 0x7F -> nan"),
        _both_signs("0x7F -> 480.0, 0xFF -> -480.0", {0x7F: 480.0}),
        _both_signs("0x7F -> 448.0, 0xFF -> -448.0", {0x7F: 448.0}),
        _changed("0xFF -> -480.0", {0xFF: -480.0}),
        _changed("0xFF -> 0.0", {0xFF: 0.0}),
        _changed("0x80 -> nan, 0xFF -> -480.0", {0x80: math.nan, 0xFF: -480.0}),
        _changed("0x80 -> 0.0", {0x80: 0.0}),
        _both_signs("0x01 ... 0x07 -> 0.0", zeros),
        _of_table([abs(number) for number in _values(E4M3FN)], "0xF8 -> 256.0, 0x80 -> 0.0"),
        _of_table([-number for number in _values(E4M3FN)], "0x78 -> -256.0, 0xF8 -> 256.0"),
        _both_signs("0x7E -> nextafter(448, inf)", {0x7E: above(448.0, math.inf)}),
        _both_signs("0x08 -> nextafter(2^-6, 0)", {0x08: above(2.0**-6, 0.0)}),
        _both_signs("0x06 -> 5.5 * 2^-9", {0x06: 5.5 * 2.0**-9}),
        _both_signs("0x41 -> 2.2", {0x41: 2.2}),
    ]


def fresh_faults(seed: int) -> list[Decoder]:
    """Faults at codes that the seed draws, several of every kind."""
    rng = np.random.default_rng([seed, 0x78])
    right, found = _values(E4M3FN), []
    for _ in range(3):
        up, down, both, swap, twice = (int(code) for code in rng.choice(INTERIOR, 5, replace=False))
        lost = int(rng.choice([code for code in range(1, 255) if code != 0x7F]))
        edge = int(rng.choice([0x01, 0x07, 0x08, 0x7E]))
        found += [
            _changed(f"0x{up:02X} -> {_above(up)!r}", {up: _above(up)}),
            _changed(f"0x{down | 128:02X} -> {-_above(down)!r}", {down | 128: -_above(down)}),
            _both_signs(f"0x{both:02X} -> {_above(both)!r}", {both: _above(both)}),
            _both_signs(f"0x{swap:02X} <-> 0x{swap + 1:02X}", {swap: right[swap + 1], swap + 1: right[swap]}),
            _both_signs(f"0x{twice:02X} -> {right[twice - 1]!r}", {twice: right[twice - 1]}),
            _changed(f"0x{lost:02X} -> nan", {lost: math.nan}),
            _both_signs(f"0x{edge:02X} -> {_above(edge)!r}", {edge: _above(edge)}),
        ]
    return found


def _above(code: int) -> float:
    """A number a quarter of the way from the value of a positive code to the next one."""
    before, here = _values(E4M3FN)[code - 1 : code + 1]
    return here + (here - before) / 4


def faulty_decoders(seed: int) -> list[Decoder]:
    """All of them: the right decoder first, the others in the order that the seed draws."""
    first, *rest = known_faults()
    rest += fresh_faults(seed)
    return [first, *(rest[i] for i in np.random.default_rng([seed, 1]).permutation(len(rest)))]
