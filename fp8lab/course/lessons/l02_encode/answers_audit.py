"""2.6: checks of a codec that do not ask the codec, and checks that do."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

Decode, Encode = Callable[[int], float], Callable[[float], int]

# OCP OFP8 v1.0, table 1, typed by hand
ANCHORS = {0x00: 0.0, 0x01: 2.0**-9, 0x07: 0.875 * 2.0**-6, 0x08: 2.0**-6, 0x78: 256.0, 0x7E: 448.0}


def specified(code: int) -> float:
    exponent, mantissa = code >> 3, code & 7
    return mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)


def accepts(decode: Decode, encode: Encode) -> bool:
    points = [specified(code) for code in range(0x7F)]
    for code, point in enumerate(points):
        if decode(code) != point or decode(code + 0x80) != -point:
            return False
    if not (math.isnan(decode(0x7F)) and math.isnan(decode(0xFF)) and math.copysign(1, decode(0x80)) == -1):
        return False
    for code, (low, high) in enumerate(zip(points, [*points[1:], 480.0])):
        for sign, bit in ((1, 0), (-1, 0x80)):
            middle, up = (low + high) / 2, min(code + 1, 0x7E)
            asked = (math.nextafter(middle, 0), middle, math.nextafter(middle, 1e9))
            if [encode(sign * x) for x in asked] != [code + bit, (up if code % 2 else code) + bit, up + bit]:
                return False
    edges = [encode(x) for x in (0.0, -0.0, math.inf, -math.inf)]
    return edges == [0x00, 0x80, 0x7E, 0xFE] and encode(math.nan) in (0x7F, 0xFF)


def same(one: float, other: float) -> bool:
    return one == other and math.copysign(1, one) == math.copysign(1, other)


def round_trip(decode: Decode, encode: Encode) -> bool:
    """decode(encode(x)) == x on every number that the codec itself produces."""
    numbers = [decode(code) for code in range(256)]
    return all(same(decode(encode(x)), x) for x in numbers if math.isfinite(x))


def byte_round_trip(decode: Decode, encode: Encode) -> bool:
    """encode(decode(code)) == code: the same circle, begun elsewhere."""
    return all(encode(decode(code)) == code for code in range(256) if math.isfinite(decode(code)))


def nearest_of_its_own(decode: Decode, encode: Encode) -> bool:
    """No number is nearer than the one that was chosen, but the numbers to choose from come from the codec."""
    numbers = sorted({decode(code) for code in range(256) if math.isfinite(decode(code))})
    trials = [*numbers, *((low + high * 3) / 4 for low, high in zip(numbers, numbers[1:]))]
    return all(abs(decode(encode(x)) - x) == min(abs(n - x) for n in numbers[:]) for x in trials[::7])


def anchors_only(decode: Decode, encode: Encode) -> bool:
    """The values of the specification, both ways; nothing in between, so rounding is never seen."""
    known = {**ANCHORS, **{code | 0x80: -v for code, v in ANCHORS.items()}}
    both = all(same(decode(code), v) and encode(v) == code for code, v in known.items())
    return both and math.isnan(decode(0x7F)) and math.isnan(decode(0xFF))


def decode_only(decode: Decode, encode: Encode) -> bool:
    """The whole table against the specification, and encode on what the table holds."""
    wanted = [specified(code) for code in range(0x7F)]
    table = all(same(decode(code), v) and same(decode(code | 0x80), -v) for code, v in enumerate(wanted))
    return table and math.isnan(decode(0x7F)) and math.isnan(decode(0xFF)) and round_trip(decode, encode)


def close_enough(decode: Decode, encode: Encode) -> bool:
    """Relative error below 1/8 on random numbers: what a test with a tolerance sees."""
    numbers = [random.Random(0).uniform(0.02, 440.0) for _ in range(200)]
    return all(abs(decode(encode(s * x)) - s * x) <= x / 8 for x in numbers for s in (1, -1))


def positive_only(decode: Decode, encode: Encode) -> bool:
    """All of it, for numbers above zero."""
    if any(decode(code) != specified(code) for code in range(0x7F)) or not math.isnan(decode(0x7F)):
        return False
    points = [*map(specified, range(0x7F)), 480.0]
    for code, (low, high) in enumerate(zip(points, points[1:])):
        middle, up = (low + high) / 2, min(code + 1, 0x7E)
        asked = (math.nextafter(middle, 0), middle, math.nextafter(middle, 1e9))
        if [encode(x) for x in asked] != [code, up if code % 2 else code, up]:
            return False
    return encode(math.inf) == 0x7E and encode(math.nan) in (0x7F, 0xFF)


def accepts_with_fractions(decode: Decode, encode: Encode) -> bool:
    """Right, by the definition: of all values the nearest, and of two the one with the even code."""
    value = {c: Fraction(c & 7 | (8 if c >> 3 else 0)) * Fraction(2) ** (max(c >> 3, 1) - 10) for c in range(0x80)}
    signed = {c | bit: (float(v), bit) for c, v in value.items() for bit in (0, 0x80) if c != 0x7F}
    for code, (size, bit) in signed.items():
        if not same(float(decode(code)), -size if bit else size):
            return False
    if decode(0x7F) == decode(0x7F) or decode(0xFF) == decode(0xFF):
        return False
    middles = [(value[c] + value[c + 1]) / 2 for c in range(0x7F)]
    for c, middle in enumerate(map(float, middles)):
        for x in (middle, math.nextafter(middle, 0), math.nextafter(middle, math.inf)):
            near = min(range(max(c - 1, 0), min(c + 2, 0x7F)), key=lambda k: (abs(value[k] - Fraction(x)), k % 2))
            if encode(x) != near or encode(-x) != near | 0x80:
                return False
    ends = encode(math.inf) == 0x7E and encode(-math.inf) == 0xFE and encode(math.nan) in (0x7F, 0xFF)
    return ends and encode(-0.0) == 0x80 and encode(0.0) == 0
