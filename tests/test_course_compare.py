"""When two elements count as the same, and which difference between arrays is shown first."""

from __future__ import annotations

import numpy as np
import pytest

from fp8lab.course.compare import Tolerance, differs, first_difference


def test_tolerance_is_relative_plus_absolute():
    want = np.array([100.0, 0.0])
    assert not differs(want + [1.0, 0.01], want, Tolerance(rtol=0.01, atol=0.01)).any()
    assert differs(want + [1.1, 0.02], want, Tolerance(rtol=0.01, atol=0.01)).all()


@pytest.mark.parametrize(
    "got, want, same",
    [
        (np.inf, np.inf, True),
        (np.inf, -np.inf, False),
        (np.nan, 0.0, False),
        (np.inf, 1e308, False),
        ("number 2.0", 2.0, True),
        ("2.0", 2.0, False),
        ("number nan", np.nan, True),
        ("number -0.0", 0.0, True),
        ("ValueError", 2.0, False),
        (True, 1, True),
        (2**53 + 1, 2**53, False),
    ],
)
def test_elements(got, want, same):
    assert differs(np.array([got]), np.array([want]), Tolerance(rtol=0.5))[0] == (not same)


def test_missing_and_extra_arrays_and_shapes():
    one = {"y": np.zeros(2)}
    assert first_difference({}, one).kind == "missing"
    assert first_difference({**one, "z": np.zeros(1)}, one).kind == "extra"
    assert first_difference({"y": np.zeros((2, 1))}, one).kind == "shape"
