"""Lesson 01 as a learner meets it: a real JupyterLab, a real browser, holes filled by typing.

The right answers are typed from the packaged worked answers; the wrong one is the habit that the lesson is about.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import NotebookPage

from fp8lab.course.build import packaged
from fp8lab.course.registry import exercise, lesson_exercises

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parent.parent
NAME = "01_decode"
IEEE_HABIT = """\
if exponent == 15:
    return math.nan if mantissa else (-1) ** sign * math.inf
if exponent == 0:
    return subnormal_value(sign, mantissa)
return normal_value(sign, exponent, mantissa)"""


def hole_name(key: str) -> str:
    return f"exercise-{key.replace('.', '-')}"


def check_name(key: str) -> str:
    return f"check-{key.replace('.', '-')}"


def answer_lines(key: str) -> str:
    """What the worked answer has in the place of the hole, indented from the left margin."""
    solved, _ = packaged(NAME).worked_answer(key, "en")
    (stub,) = (cell.stub for cell in packaged(NAME).cells if cell.role == "exercise" and key in cell.keys)
    kept = set(stub.splitlines())
    lines = [line for line in solved.splitlines() if line not in kept]
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[indent:] for line in lines)


def type_into_hole(page: NotebookPage, key: str, lines: str) -> None:
    page.replace_line(hole_name(key), "raise NotImplementedError", lines.replace("\n", "\n    "))
    page.run(hole_name(key))
    page.run(check_name(key))


@pytest.mark.parametrize(
    "lang, untouched, blocked", [("en", "Not attempted yet", "Blocked by"), ("zh", "还没有作答", "先要完成")]
)
def test_an_untouched_notebook_runs_through_and_says_what_is_not_attempted(learner, lang, untouched, blocked):
    page = learner.open(ROOT / "notebooks" / lang / f"{NAME}.ipynb", name=f"untouched_{lang}.ipynb")
    page.run_all()
    exercises = lesson_exercises(NAME)
    assert len(exercises) == 7
    for item in exercises:
        said = page.text_of(check_name(item.key))
        assert untouched in said or (item.requires and blocked in said), (item.key, said)
    assert untouched in page.text_of(check_name("1.1"))
    assert "Traceback" not in page.everything_shown(), "an untouched notebook must not shout"
    assert page.page.locator(".fp8-explorer button.fp8-bit").count() == 8
    assert page.page.locator(".jp-OutputArea-output img").count() >= 2, "the pictures"


def test_a_wrong_answer_is_named_and_the_right_one_passes(learner):
    page = learner.open(ROOT / "notebooks" / "en" / f"{NAME}.ipynb", name="worked.ipynb")
    page.run_all()
    for key in ("1.1", "1.2", "1.3"):
        type_into_hole(page, key, answer_lines(key))
        assert "✓" in page.text_of(check_name(key)), page.text_of(check_name(key))
    type_into_hole(page, "1.4", IEEE_HABIT)
    said = page.text_of(check_name("1.4"))
    habit = next(wrong for wrong in exercise("1.4").misconceptions if wrong.name == "IEEE habit")
    assert habit.explain.get("en").split("\n")[0][:60] in said, said
    assert "0x78" in said and "✓" not in said
    page.write(hole_name("1.4"), packaged(NAME).worked_answer("1.4", "en")[0])
    page.run(hole_name("1.4"))
    page.run(check_name("1.4"))
    said = page.text_of(check_name("1.4"))
    assert "✓" in said and habit.explain.get("en")[:60] not in said


def test_the_lesson_s_explorer_reads_256_448_and_nan(learner):
    page = learner.open(ROOT / "notebooks" / "en" / f"{NAME}.ipynb", name="explorer.ipynb")
    page.run_all()
    explorer = page.page.locator(".fp8-explorer")
    bits, reading = explorer.locator("button.fp8-bit"), explorer.locator(".fp8-formula b")
    reading.filter(has_text="= 256").wait_for()
    for place in (5, 6):  # mantissa bits, by mouse
        bits.nth(place).click()
    reading.filter(has_text="= 448").wait_for()
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Space")
    reading.filter(has_text="NaN").wait_for()
    page.page.keyboard.press("Space")
    reading.filter(has_text="= 448").wait_for()
    for _ in range(2):
        page.page.keyboard.press("Shift+Tab")
        page.page.keyboard.press("Space")
    reading.filter(has_text="= 256").wait_for()
