"""Exercise 1.7, the auditor: right answers, the mistakes that the record knows, right variants."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Property = Callable[[list], bool]


def audit(decoder):
    value = [float(decoder(byte)) for byte in range(256)]
    holds = {}
    pairs = [(p, n) for p, n in zip(value[:128], value[128:]) if not (math.isnan(p) or math.isnan(n))]
    holds["sign"] = all(abs(p) == abs(n) and math.copysign(1, p) != math.copysign(1, n) for p, n in pairs)
    holds["junction"] = value[7] - value[6] == value[8] - value[7] == value[9] - value[8]
    holds["order"] = not any(after <= before for before, after in zip(value[:0x7E], value[1:0x7F]))
    holds["nan"] = [byte for byte in range(256) if math.isnan(value[byte])] == [0x7F, 0xFF]
    holds["boundary"] = [value[c] for c in (0x00, 0x01, 0x07, 0x08, 0x7E)] == [0, 2**-9, 0.875 * 2**-6, 2**-6, 448]
    return {name for name, held in holds.items() if not held}


def audit_by_arrays(decoder):
    """The same in numpy; a sorted list comes out."""
    value = np.array([decoder(byte) for byte in range(256)], dtype=np.float64)
    positive, negative = value[:128], value[128:]
    numbers = ~(np.isnan(positive) | np.isnan(negative))
    same_size = np.abs(positive) == np.abs(negative)
    steps = np.diff(value[6:10])
    boundary = value[[0x00, 0x01, 0x07, 0x08, 0x7E]] != [0, 2**-9, 0.875 * 2**-6, 2**-6, 448]
    broken = {
        "sign": not (same_size & (np.signbit(positive) != np.signbit(negative)))[numbers].all(),
        "junction": not (steps[0] == steps[1] == steps[2]),
        "order": bool((value[1:0x7F] <= value[:0x7E]).any()),
        "nan": set(np.flatnonzero(np.isnan(value))) != {0x7F, 0xFF},
        "boundary": bool(boundary.any()),
    }
    return sorted(name for name, is_broken in broken.items() if is_broken)


def audit_by_text(decoder):
    """Signs told apart by how a number is written; a frozenset comes out."""
    value = [decoder(byte) for byte in range(256)]
    pairs = [(p, n) for p, n in zip(value[:128], value[128:]) if p == p and n == n]
    violated = audit(decoder) - {"sign"}
    return frozenset(violated | ({"sign"} if any(repr(float(p)) != repr(-float(n)) for p, n in pairs) else set()))


def _with(name: str, rule: Property) -> Callable[[Callable], set]:
    """The right auditor with one property tested otherwise."""

    def auditor(decoder):
        value = [float(decoder(byte)) for byte in range(256)]
        return audit(decoder) - {name} | (set() if rule(value) else {name})

    return auditor


def _pairs(value):
    return [(p, n) for p, n in zip(value[:128], value[128:]) if not (math.isnan(p) or math.isnan(n))]


audit_equal_zeros = _with("sign", lambda value: all(p == -n for p, n in _pairs(value)))
audit_nan_pairs = _with("sign", lambda value: all(
    abs(p) == abs(n) and math.copysign(1, p) != math.copysign(1, n) for p, n in zip(value[:128], value[128:])
))  # fmt: skip
audit_not_less = _with("order", lambda value: all(low < high for low, high in zip(value[:0x7E], value[1:0x7F])))
audit_not_strict = _with("order", lambda value: not any(high < low for low, high in zip(value[:0x7E], value[1:0x7F])))
audit_order_too_far = _with("order", lambda value: not any(b <= a for a, b in zip(value[:0x7F], value[1:0x80])))
audit_equals_nan = _with("nan", lambda value: value[0x7F] == math.nan and value[0xFF] == math.nan)
audit_two_codes = _with("nan", lambda value: math.isnan(value[0x7F]) and math.isnan(value[0xFF]))
audit_one_nan = _with("nan", lambda value: [b for b in range(256) if math.isnan(value[b])] == [0x7F])
audit_max_240 = _with("boundary", lambda value: [value[c] for c in (0, 1, 7, 8, 0x7E)] == [
    0, 2**-9, 0.875 * 2**-6, 2**-6, 240
])  # fmt: skip
audit_own_table = _with("boundary", lambda value: value[0] == 0 and value[0x7E] == max(
    number for number in value if not math.isnan(number)
))  # fmt: skip
audit_only_largest = _with("boundary", lambda value: value[0x7E] == 448)
audit_absolute_junction = _with("junction", lambda value: value[0x08] == 2**-6)


def audit_close_enough(decoder):
    value = [float(decoder(byte)) for byte in range(256)]

    def near(a, b):
        return abs(a - b) < 1e-2

    steps = [value[7] - value[6], value[8] - value[7], value[9] - value[8]]
    table = {0: 0, 1: 2**-9, 7: 0.875 * 2**-6, 8: 2**-6, 0x7E: 448}
    holds = {
        "junction": near(steps[0], steps[1]) and near(steps[1], steps[2]),
        "boundary": all(near(value[code], wanted) for code, wanted in table.items()),
    }
    return audit(decoder) - set(holds) | {name for name, held in holds.items() if not held}


def audit_first_only(decoder):
    found = audit(decoder)
    return set(sorted(found, key=["sign", "junction", "order", "nan", "boundary"].index)[:1])


def audit_names_what_holds(decoder):
    return {"sign", "junction", "order", "nan", "boundary"} - audit(decoder)
