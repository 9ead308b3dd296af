"""Codecs for exercise 2.6: some are E4M3FN, the others have one planted fault each. Most of the faulty ones give every
number of their own back: decode(encode(x)) == x. That is the trap. No grading kernel sees this file.

A codec is a pair decode(code) -> float, encode(x) -> code with nearest-even rounding and saturation. What a learner is
handed is made from `tables`, where one codec looks like another.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from fp8lab.course.lessons.l02_encode.tabulate import tabulate
from fp8lab.formats import E3M4, E4M3, E4M3FN, E4M3FNUZ, value

NAN = math.nan
TIE_BEHIND_MAX = 464.0  # halfway from 448 to the 480 that does not exist


@dataclass(frozen=True)
class Codec:
    """`name` says what is inside, in symbols; `right` whether it is E4M3FN; `numpy` whether its types are numpy's."""

    name: str
    right: bool
    decode: Callable[[int], float]
    encode: Callable[[float], int]
    numpy: bool = False


Choice = Callable[[float, int, float, int, float], int]


def even(x: float, low: int, below: float, high: int, above: float) -> int:
    if below != above:
        return low if below < above else high
    return low if low % 2 == 0 else high


def encoder(values: Sequence[float], choose: Choice = even) -> Callable[[float], int]:
    """Saturating encode on any table of 256 values: finds the two neighbours, lets `choose` decide."""
    pairs = sorted((v, code) for code, v in enumerate(values) if math.isfinite(v) and (v or code != 0x80))
    points, codes = [v for v, _ in pairs], [code for _, code in pairs]
    nan = next(code for code in (0x7F, 0x80) if math.isnan(values[code]))
    zero = 0x80 if math.copysign(1.0, values[0x80]) < 0 and values[0x80] == 0 else 0x00

    def encode(x: float) -> int:
        if x != x:
            return nan
        i = min(max(bisect_right(points, x) - 1, 0), len(points) - 1)
        j = min(bisect_left(points, x), len(points) - 1)
        code = codes[i] if i == j else choose(x, codes[i], x - points[i], codes[j], points[j] - x)
        return zero if code == 0 and math.copysign(1.0, x) < 0 else code

    return encode


def table_codec(name: str, values: Sequence[float], right: bool = False, choose: Choice = even) -> Codec:
    return Codec(name, right, values.__getitem__, encoder(values, choose))


def right_values() -> list[float]:
    return list(_right_values())


@cache
def _right_values() -> tuple[float, ...]:
    return tuple(value(code, E4M3FN) for code in range(256))


def mirrored(half: Sequence[float]) -> list[float]:
    """128 values without sign, and the same with sign."""
    return [*half, *(-v for v in half)]


def right_codecs() -> list[Codec]:
    table = right_values()
    encode = encoder(table)
    return [
        table_codec("correct: table", table, right=True),
        Codec("correct: NaN is 0xFF", True, table.__getitem__, lambda x: 0xFF if x != x else encode(x)),
        Codec("correct: numpy", True, table.__getitem__, encode, numpy=True),
    ]


def wrong_tables(rng: np.random.Generator) -> list[Codec]:
    """decode is wrong, encode is its exact inverse: all of them survive a round trip."""
    right = right_values()
    half = right[:128]
    ieee = [value(code, E4M3) for code in range(256)]
    deep = mirrored([v / 2 if code < 8 else v for code, v in enumerate(half)])
    twos = [*half[:127], NAN, -0.0, *(-v for v in reversed(half[1:127])), NAN]
    spot, other = (int(code) for code in rng.choice(np.arange(0x09, 0x77), 2, replace=False))
    return [
        table_codec("bias 8", [v / 2 for v in right]),
        table_codec("bias 6", [v * 2 for v in right]),
        table_codec("FNUZ read as FN", [value(code, E4M3FNUZ) for code in range(256)]),
        table_codec("IEEE: max 240, inf", ieee),
        table_codec("3 exponent bits", [value(code, E3M4) for code in range(256)]),
        table_codec("subnormals at 2^-7", deep),
        table_codec("0xFF = -480", [*right[:255], -480.0]),
        table_codec("sign bit inverted", [-v for v in right]),
        table_codec("negative half in two's complement", twos),
        table_codec("0x80 = +0", [*right[:128], 0.0, *right[129:]]),
        table_codec(f"0x{spot:02X} off by a quarter step", _shifted(right, spot)),
        table_codec(f"0x{other | 0x80:02X} off by a quarter step", _shifted(right, other | 0x80)),
    ]


def _shifted(values: Sequence[float], code: int) -> list[float]:
    step = values[code + 1] - values[code]
    return [v + step / 4 if c == code else v for c, v in enumerate(values)]


def wrong_decoders(rng: np.random.Generator) -> list[Codec]:
    """decode is wrong for one code, encode is right: only who asks decode for that code finds it."""
    right = right_values()
    encode = encoder(right)
    spot, other = (int(code) for code in rng.choice(np.arange(0x09, 0x77), 2, replace=False))
    tables = {
        "decode(0x80) = +0": {0x80: 0.0},
        "decode(0xFF) = -480": {0xFF: -480.0},
        "decode(0x7F) = 480": {0x7F: 480.0},
        f"decode(0x{spot:02X}) is the next value": {spot: right[spot + 1]},
        f"decode(0x{other | 0x80:02X}) has the wrong sign": {other | 0x80: right[other]},
    }
    return [
        Codec(name, False, [change.get(code, v) for code, v in enumerate(right)].__getitem__, encode)
        for name, change in tables.items()
    ]


def toward_zero(x: float, low: int, below: float, high: int, above: float) -> int:
    return low if x > 0 else high


def half_away(x: float, low: int, below: float, high: int, above: float) -> int:
    return even(x, low, below, high, above) if below != above else (high if x > 0 else low)


def half_up(x: float, low: int, below: float, high: int, above: float) -> int:
    return low if below < above else high


def half_down(x: float, low: int, below: float, high: int, above: float) -> int:
    return high if above < below else low


def no_subnormals(x: float, low: int, below: float, high: int, above: float) -> int:
    if abs(x) < 2.0**-6:
        return 0
    return even(x, low, below, high, above)


def carry_lost(x: float, low: int, below: float, high: int, above: float) -> int:
    """The mantissa rounds up to 1000 and the fourth bit is cut off."""
    code = even(x, low, below, high, above)
    outer, inner = (high, low) if x > 0 else (low, high)
    return inner & ~7 if code == outer and outer % 8 == 0 else code


def wrong_encoders() -> list[Codec]:
    """decode is right, encode is not. Every representable number still survives the round trip."""
    table = right_values()
    encode = encoder(table)
    right = table.__getitem__
    choices = {
        "truncation": toward_zero,
        "ties away from zero": half_away,
        "ties up": half_up,
        "ties down": half_down,
        "subnormals flushed": no_subnormals,
        "carry lost": carry_lost,
    }
    wrappers = {
        "overflow is NaN": lambda x: 0x7F if abs(x) > TIE_BEHIND_MAX else encode(x),
        "464 is NaN": lambda x: 0x7F if TIE_BEHIND_MAX <= abs(x) < 465 else encode(x),
        "saturates at 240": lambda x: encode(max(-240.0, min(240.0, x))) if x == x else 0x7F,
        "inf is NaN": lambda x: 0x7F if math.isinf(x) else encode(x),
        "-inf is +448": lambda x: 0x7E if math.isinf(x) else encode(x),
        "NaN is 448": lambda x: 0x7E if x != x else encode(x),
        "NaN is 0": lambda x: 0x00 if x != x else encode(x),
        "-0 becomes +0": lambda x: 0x00 if x == 0 else encode(x),
        "rounds to float32 first": lambda x: encode(_to_float32(x)),
    }
    return [
        *(table_codec(name, table, choose=choose) for name, choose in choices.items()),
        *(Codec(name, False, right, wrapper) for name, wrapper in wrappers.items()),
    ]


def _to_float32(x: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(x))


def codecs(seed: int) -> list[Codec]:
    """Right and faulty codecs in an order that the seed decides. It decides, too, which of the faulty ones are numpy's:
    were it only the right one, its types would give it away."""
    rng = np.random.default_rng(seed)
    faulty = wrong_tables(rng) + wrong_decoders(rng) + wrong_encoders()
    for i in rng.choice(len(faulty), len(faulty) // 3, replace=False):
        faulty[i] = replace(faulty[i], numpy=True)
    found = right_codecs() + faulty
    return [found[int(i)] for i in rng.permutation(len(found))]


@lru_cache(maxsize=8)
def tables(seed: int) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The codecs of `codecs(seed)` as (name, plain data): what `driving.drive_accepts` makes functions of."""
    return tuple((codec.name, as_data(codec)) for codec in codecs(seed))


def as_data(codec: Codec) -> dict[str, Any]:
    """Numbers that hold all that a codec does. ValueError if its values are too fine for numpy's float32."""
    values = [codec.decode(code) for code in range(256)]
    if codec.numpy and any(v == v and float(np.float32(v)) != v for v in values):
        raise ValueError(f"{codec.name}: numpy's float32 does not hold its values")
    edges, codes, nan, minus_zero = tabulate(codec.encode, turning_points(values))
    return {
        "values": values,
        "edges": list(edges),
        "codes": list(codes),
        "nan": nan,
        "minus zero": minus_zero,
        "numpy": codec.numpy,
    }


def turning_points(values: Sequence[float]) -> list[float]:
    """Where the code of an encoder for these values may change: at the values and halfway between two of them, at
    those of E4M3FN, and where overflow begins."""
    points: list[float] = []
    for table in (values, right_values()):
        numbers = sorted({v for v in table if math.isfinite(v)} | {-480.0, -TIE_BEHIND_MAX, TIE_BEHIND_MAX, 480.0})
        points += numbers + [(low + high) / 2 for low, high in zip(numbers, numbers[1:])]
    return points
