"""The warm-up 0.1: right answers, the mistakes that its record knows, right variants."""

from __future__ import annotations

import numpy as np


def patterns(bits):
    return 2**bits


def patterns_by_shift(bits):
    return 1 << bits


def patterns_as_numpy(bits):
    return np.float64(2.0) ** bits


def patterns_doubled(bits):
    return 2 * bits


def patterns_squared(bits):
    return bits**2


def patterns_largest(bits):
    return 2**bits - 1


def patterns_xor(bits):
    return 2 ^ bits


def patterns_without_sign(bits):
    return 2 ** (bits - 1)


def patterns_always_a_byte(bits):
    return 256


def patterns_printed(bits):
    2**bits
