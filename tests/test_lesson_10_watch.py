"""Lesson 10: what the interpreter is made to show, and what a check still finds where kernels are compiled."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from learner import Desk
from right_lesson_10 import RIGHT, TOLD_OF_ONE_PROGRAM
from triton_here import needs_triton

from fp8lab.course import exercise as judging
from fp8lab.course.feedback import feedback
from fp8lab.course.lessons.l10_gpu import driving_watch
from fp8lab.course.lessons.l10_gpu.driving_launch import launch
from fp8lab.course.lessons.l10_gpu.driving_watch import PATCHED, elements, watched
from fp8lab.course.registry import exercise

interpreted = pytest.mark.skipif(torch.cuda.is_available(), reason="kernels are compiled: nothing is seen")
pytestmark = [needs_triton, interpreted]


@pytest.fixture(scope="module")
def desk():
    return Desk("10_gpu")


def test_addresses_of_elements_leave_gaps_out():
    x = torch.zeros(64)[5:].as_strided((2, 3), (10, 2), 5)
    assert (elements(x).astype(np.int64) - x.data_ptr()).tolist() == [0, 8, 16, 40, 48, 56]
    assert elements(x[1, 2]).tolist() == [x.data_ptr() + 56]


def test_every_access_is_seen_and_of_program_0_by_itself(desk):
    x, out = torch.ones(3, 40), torch.zeros(3, 2)
    with watched() as seen:
        launch(desk.answer("10.1"), (3, 2), x, out, 40, GROUP=16)
    assert seen.interpreted
    assert (
        set(seen.addresses("read")) == set(elements(x[:, :32]))
        and not seen.read_outside(x)
        and seen.read_outside(x[:, :31])
    )
    assert seen.wrote(out).all() and set(seen.addresses("written by program 0")) == set(elements(out[0, :1]))
    assert seen.program_0_outside(out[0, 0], out) == 0 and seen.program_0_outside(out[1], out) == 1


@pytest.mark.parametrize("filling", [None, "raise ValueError"])
def test_afterwards_the_interpreter_is_what_it_was(desk, filling):
    from triton.runtime.interpreter import interpreter_builder

    answer = desk.answer("10.1", filling) if filling else desk.answer("10.1")
    try:
        with watched():
            assert set(PATCHED) <= set(vars(interpreter_builder))
            launch(answer, (1, 1), torch.ones(1, 16), torch.zeros(1, 1), 16, GROUP=16)
    except ValueError:
        assert filling
    assert not set(PATCHED) & set(vars(interpreter_builder))


# ---- where nothing is seen: three launches


@pytest.fixture
def unseen(monkeypatch):
    """Kernels are launched as compiled ones are. How the known mistakes behave then is not to be remembered."""
    monkeypatch.setattr(driving_watch, "_interpreter", lambda: None)
    judging._behaviour.cache_clear()
    yield
    judging._behaviour.cache_clear()


OTHER = [(key, name) for key in ("10.1", "10.2", "10.3", "10.4", "10.5") for name in RIGHT[key]]


@pytest.mark.parametrize("key, name", OTHER)
def test_right_kernels_are_right_unseen(desk, unseen, key, name):
    result = desk.judged(key, RIGHT[key][name], seed=8)
    if (key, name) in TOLD_OF_ONE_PROGRAM:
        assert result.difference.array == "codes of program 0 written elsewhere"  # a limit that we know
    else:
        assert result.state == "right", feedback(exercise(key), result, "en")


@pytest.mark.parametrize(
    "key, filling, found",
    [
        ("10.3", {1: "tl.store(codes_ptr + row * width + column, codes, mask=column < width)"}, "of program 0"),
        ("10.3", {1: "pass"}, "codes"),
        ("10.4", "tl.store(out_ptr + row * width + column, 0.0 * column)", "out"),
    ],
)
def test_what_is_written_wrongly_is_found_unseen(desk, unseen, key, filling, found):
    result = desk.judged(key, filling)
    assert result.state == "wrong" and found in result.difference.array
    if filling == {1: "pass"}:
        assert result.difference.got == "nothing stored / 从未写入"
