"""What is planned is never spoken of as if it existed: a lesson without a source is marked wherever it is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fp8lab.course.registry import LESSONS, lesson_exercises

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "solutions").glob("[0-9][0-9]_*.md"))
THERE = {path.stem[:2] for path in SOURCES}
PLANNED = [f"{number:02d}" for number in range(11) if f"{number:02d}" not in THERE]  # the road has eleven lessons
NUMERALS = "零一二三四五六七八九十"
MARK = re.compile(r"\s*[,，(（]\s*(planned|计划中)")


def mentions(text: str, number: str) -> list[re.Match]:
    """Where `text` names the lesson, by number or by name."""
    chinese = NUMERALS[int(number)] if int(number) < len(NUMERALS) else number
    names = rf"\b{number}_[a-z]\w*(?![\w.])"
    english = rf"\b[Ll]essons?(?: \d\d,?(?: and| to)?)* {number}\b"
    return list(re.finditer(rf"{names}|{english}|第?\s?(?:{chinese}|0?{int(number)})\s?课", text))


def unmarked(text: str, planned: list[str] = PLANNED) -> list[str]:
    """The mentions of lessons that are not there, without the word that they are planned."""
    found = [match for number in planned for match in mentions(text, number)]
    return [text[max(0, m.start() - 30) : m.end() + 12] for m in found if not MARK.match(text, m.end())]


SAID = ("see lesson 09.", "Lessons 05 and 09 measure", "lessons 05, 08 and 09", "第九课会", "第五、九课", "09_quality")
MARKED = ("lesson 09 (planned)", "第九课（计划中）", "（第九课，计划中）", "09_quality (planned)")
OTHER = ("lesson 05", "第五课", "3.09 per value, 09:30, 0x09, 9 codes")


def test_the_rule_sees_every_way_of_naming_a_lesson():
    for text in SAID:
        assert unmarked(text, ["08", "09"]), text
    for text in (*MARKED, *OTHER):
        assert not unmarked(text, ["08", "09"]), text
    assert "05" not in PLANNED and "10" not in PLANNED


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_lesson_marks_what_is_planned(path):
    assert not unmarked(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LESSONS)
def test_hints_and_explanations_mark_it_too(name):
    for exercise in lesson_exercises(name):
        texts = [*exercise.hints, *(mistake.explain for mistake in exercise.misconceptions)]
        assert not [said for text in texts for lang in ("en", "zh") for said in unmarked(text.get(lang))], exercise.key
