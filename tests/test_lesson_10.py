"""Lesson 10: mistakes that the records do not know, and the traps that the lesson is about."""

from __future__ import annotations

import contextlib
import io

import pytest
from learner import Desk
from triton_here import needs_triton
from wrong_lesson_10 import WRONG
from wrong_lesson_10_sizes import SIZES_AND_VALUES

from fp8lab.course.check import verdict
from fp8lab.course.feedback import feedback
from fp8lab.course.lessons.l10_gpu.driving_launch import refuse_untouched
from fp8lab.course.registry import exercise, lesson_exercises

LESSON = lesson_exercises("10_gpu")


@pytest.fixture(scope="module")
def desk():
    return Desk("10_gpu")


@pytest.mark.parametrize("found", LESSON, ids=lambda e: e.key)
def test_many_other_mistakes_are_tried(found):
    assert len(WRONG[found.key]) >= 10


@needs_triton
@pytest.mark.parametrize("key, name", [(key, name) for key, fillings in WRONG.items() for name in fillings])
def test_other_mistakes_are_refused(desk, key, name):
    refused(desk.judged(key, WRONG[key][name], seed=4711))


@needs_triton
@pytest.mark.parametrize("key, name", [(key, name) for key, fillings in SIZES_AND_VALUES.items() for name in fillings])
def test_what_is_right_for_one_input_alone_is_refused(desk, key, name):
    for seed in (0, 4711):
        result = desk.judged(key, SIZES_AND_VALUES[key][name], seed=seed)
        refused(result)
        assert result.state == "wrong", result.error


def refused(result):
    assert result.state in ("wrong", "error") and result.points == 0
    if result.state == "error":  # the learner reads their own exception, not the interpreter's wrapping
        assert "InterpreterError" not in result.error.kind and "NotHere" not in result.error.kind


@needs_triton
def test_a_mistake_is_named_from_the_learners_own_lines(desk):
    """One for each trap that the lesson is about."""
    holes = {
        ("10.3", "load without a mask"): {
            0: "real = (lane < GROUP) & (column < width)\nx = tl.load(x_ptr + row * row_stride + column)"
        },
        ("10.1", "rows without gaps"): "tl.store(absmax_ptr + row * tl.num_programs(1) + group, tl.max(tl.abs(tl.load("
        "x_ptr + (row * tl.num_programs(1) + group) * GROUP + lane))))",
        ("10.4", "one scale per program"): "codes = tl.load(codes_ptr + row * width + column, mask=real, other=0)\n"
        "scale = tl.load(scales_ptr + row * groups + tl.program_id(1) * BLOCK // GROUP)\n"
        "tl.store(out_ptr + row * width + column, to_value(codes) * scale, mask=real)",
        ("10.6", "no maximum subtracted"): {
            0: 'score = tl.where(real, tl.sum(q[None, :] * k, 1) * softmax_scale, float("-inf"))\n'
            "weight = tl.exp(score)\ntotal += tl.sum(weight)\nacc += tl.sum(weight[:, None] * v, 0)\n"
            "peak = peak * 0.0 if start < begin else tl.zeros([1], tl.float32)"
        },
        ("10.6", "tail lost"): {2: "per_split = length // splits"},
        ("10.6", "score 0 where there is no token"): {
            0: "score = tl.sum(q[None, :] * k, 1) * softmax_scale\nnew_peak = tl.maximum(peak, tl.max(score))\n"
            "weight, shrink = tl.exp(score - new_peak), tl.exp(peak - new_peak)\n"
            "total = total * shrink + tl.sum(weight)\nacc = acc * shrink + tl.sum(weight[:, None] * v, 0)\n"
            "peak = new_peak"
        },
    }
    for (key, name), filling in holes.items():
        result = desk.judged(key, filling)
        assert result.state == "wrong" and result.misconception, (key, name, result)
        assert result.misconception.name == name, (key, name, result.misconception.name)


def test_the_traps_of_the_lesson_are_in_its_records():
    names = {key: {m.name for m in exercise(key).misconceptions} for key in ("10.1", "10.3", "10.4", "10.5", "10.6")}
    assert {"load without a mask", "store without a mask", "tail dropped"} <= names["10.3"]
    assert "rows without gaps" in names["10.1"] and "pages follow each other" in names["10.5"]
    assert "scale of the neighbour" in names["10.4"] and "negative slots written" in names["10.5"]
    assert {"sums in float16", "no maximum subtracted", "tail lost"} <= names["10.6"]


@needs_triton
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_no_seed_lets_a_known_mistake_pass(seed):
    for found in LESSON:
        for mistake in found.misconceptions:
            assert verdict(found, mistake.answer, 1000 + seed).state in ("wrong", "error"), (found.key, mistake.name)


@needs_triton
def test_an_empty_hole_is_found_in_the_source_where_a_compiler_would_only_complain(desk):
    with pytest.raises(NotImplementedError, match=r"^exercise 10\.2: "):
        refuse_untouched(desk.answer("10.2", None))
    refuse_untouched(desk.answer("10.2"))


@needs_triton
def test_what_is_no_kernel_is_told_what_is_expected():
    result = verdict(exercise("10.1"), lambda *a: None, 0)
    assert "@triton.jit" in result.error.message
    assert "@triton.jit" in repr(feedback(exercise("10.8"), verdict(exercise("10.8"), max, 0), "zh"))


@needs_triton
@pytest.mark.parametrize("name, same", [(None, 2**16), ("NaN is zero", 2**16 - 254)])
def test_the_last_demo_counts_a_lost_nan(desk, name, same):
    """Of bfloat16, 127 mantissas of either sign are NaN."""
    cell = next(c.source for c in desk.lesson.cells if "def every_bfloat16" in c.source)
    code_of = desk.answer("10.8", WRONG["10.8"][name]) if name else desk.answer("10.8")
    now = type("Now", (), {"demo": staticmethod(lambda key, show: show())})
    with contextlib.redirect_stdout(io.StringIO()) as said:
        desk._run(cell, desk.globals | {"check": now, "code_of": code_of})
    assert said.getvalue().startswith(f"{same:,} of 65,536 ")
