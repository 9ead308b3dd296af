"""Lesson 00: the warm-up refuses what is wrong, and the page shows every state that it speaks of."""

from __future__ import annotations

import pytest
from learner import Desk

from fp8lab.course.check import Check, verdict
from fp8lab.course.notebook import solution_notebook
from fp8lab.course.progress import Progress
from fp8lab.course.registry import exercise, lesson_exercises
from fp8lab.explore import start_pictures

WRONG = (
    "return bits",
    "return 2 ** bits + 1",
    "return 10 ** bits",
    "return 2.0 ** bits - 0.5",
    "return 2 ** (bits + 1)",
    "return str(2 ** bits)",
    "return [2 ** bits]",
    "return 1 << bits & 0xFFFF",
    "return sum(2 for _ in range(bits))",
    "return 2 ** min(bits, 16)",
)


@pytest.mark.parametrize("seed", [0, 1, 99])
@pytest.mark.parametrize("filling", WRONG)
def test_other_mistakes_are_refused(filling, seed):
    assert Desk("00_start").judged("0.1", filling, seed=seed).state == "wrong"


def test_the_four_states():
    desk, warm_up = Desk("00_start"), exercise("0.1")
    assert desk.judged("0.1", None).state == "not_attempted"
    assert verdict(warm_up, desk.answer("0.1", "return 2 * bit"), 0).state == "error"
    assert desk.judged("0.1", "return 2 * bits").misconception.name == "doubled, not raised"
    assert desk.judged("0.1").state == "right"


def test_an_error_names_the_learners_line():
    error = Desk("00_start").judged("0.1", "return 2 * bit").error
    assert (error.kind, error.source) == ("NameError", "return 2 * bit") or error.line


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_shows_an_error_and_a_wrong_answer_by_running_them(lang):
    """The two specimens of the page do what the page says, also in a kernel without a progress file."""
    cells = [c for c in Desk("00_start").lesson.cells if c.role == "code" and "check(" in c.source]
    check = Check(lang, Progress(None))
    states = []
    for cell in cells:
        source, call = cell.source.rsplit("\n", 1)
        names = {"check": check}
        exec(source, names)
        states.append(eval(call, names).state)
    assert states == ["error", "wrong"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_map_names_every_lesson_of_the_course(lang):
    notebook = solution_notebook(Desk("00_start").lesson, lang)
    text = "".join("".join(cell["source"]) for cell in notebook["cells"])
    from fp8lab.course.registry import LESSONS

    for lesson in LESSONS:
        assert f"| {lesson} |" in text


def test_the_picture_counts_what_is_there():
    marks = start_pictures.marks(1.0, 4.0)
    assert [len(values) for values in marks.values()] == [256, 16]
    assert marks["E4M3FN"][:9] == tuple(1 + i / 8 for i in range(8)) + (2.0,)
    assert "bfloat16 has 256, E4M3FN has 16" in start_pictures.marks_picture().alt


def test_one_exercise_one_point():
    assert [(e.key, e.points) for e in lesson_exercises("00_start")] == [("0.1", 1)]
