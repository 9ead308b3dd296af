"""What the verdicts on 2.7 and 2.8 compare: facts about numbers of which many are right.

They are found out here, in the process that judges: the codec that it takes is not in a grading kernel at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from fp8lab.codec import decode, encode
from fp8lab.course.raw import Odd, numbers, texts
from fp8lab.formats import E4M3FN, E4M3FNUZ, FloatFormat, value

Arrays = Mapping[str, np.ndarray]

# ---- 2.7 other records


def record_facts(inputs: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """What both records make of all bytes and of many numbers, and three questions about the exceptions."""
    facts: dict[str, Any] = {}
    for name in ("E5M2", "E4M3FNUZ"):
        try:
            fmt = _record(name, arrays)
        except Odd as odd:
            return {**facts, f"{name} largest value": str(odd)}
        facts[f"{name} largest value"] = fmt.max_finite
        facts[f"{name} smallest normal"] = fmt.min_normal
        facts[f"{name} decode"] = decode(np.arange(256) % fmt.codes, fmt)
        facts[f"{name} encode"] = _encoded(inputs[name], fmt)
    return {**facts, **_exceptions(arrays)}


def _record(name: str, arrays: Arrays) -> FloatFormat:
    """The record with the fields that were written down. Odd if they make none."""
    fields = numbers(arrays, name, np.float64, (4,))
    (special,) = texts(arrays, f"{name} special", ())
    if not np.isin(fields, np.arange(256)).all():
        raise Odd(f"<{fields.tolist()}>")
    exponent, mantissa, bias, signed = map(int, fields)
    try:
        return FloatFormat(name, exponent, mantissa, bias, bool(signed), special)
    except ValueError as problem:
        raise Odd(f"<{problem}>") from None


def _encoded(xs: list[float], fmt: FloatFormat) -> np.ndarray:
    """Codes with all NaNs made one: libraries disagree on which one they write."""
    x = torch.tensor(xs, dtype=torch.float64)
    if not fmt.has_nan:
        return encode(x.nan_to_num(), fmt, overflow="saturate").numpy()
    codes = encode(x, fmt, overflow="nan").numpy()
    codes[np.isin(codes, fmt.nan_codes)] = fmt.nan_code
    return codes


def _exceptions(arrays: Arrays) -> dict[str, Any]:
    """Which bytes were listed. Two questions come first, so that what a learner sees first gives neither the bytes nor
    their number away."""
    try:
        codes = set(numbers(arrays, "exceptions", np.int64, (None,)).tolist())
    except Odd as odd:
        return {"listed": str(odd)}
    odd = [value(code, E4M3FN) != 2 * value(code, E4M3FNUZ) for code in range(256)]
    return {
        "listed": all(0 <= code < 256 and odd[code] for code in codes),
        "not listed": not any(odd[code] for code in range(256) if code not in codes),
        "exceptions": [code in codes for code in range(256)],
    }


# ---- 2.8 rounding twice

QUESTIONS = ("a number between the two", "not a float32 number", "float32 lands on the middle", "the two codes differ")


def pair_facts(inputs: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Four questions about every number, which all right ones answer alike."""
    pairs = inputs["pairs"]
    try:
        xs = numbers(arrays, "x", np.float64, (len(pairs),)).tolist()
        kinds = texts(arrays, "type", (len(pairs),))
    except Odd as odd:
        return {QUESTIONS[0]: str(odd)}
    found = [_about(x if kind == "number" else np.nan, *pair) for x, kind, pair in zip(xs, kinds, pairs)]
    return {question: [answers[i] for answers in found] for i, question in enumerate(QUESTIONS)}


def _about(x: float, low: int, high: int) -> tuple[bool, ...]:
    if not value(low) < x < value(high):
        return False, False, False, False
    narrow = float(np.float32(x))
    once, twice = encode(torch.tensor([x, narrow], dtype=torch.float64)).tolist()
    return True, narrow != x, narrow == (value(low) + value(high)) / 2, once != twice
