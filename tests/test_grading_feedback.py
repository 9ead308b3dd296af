"""A learner's page: every exercise with its verdict, and nothing said seven times."""

from __future__ import annotations

import re

import pytest
from made_up_class import LESSON, absent, entry, unreadable
from report_reader import Page, report

from fp8lab.course.drive import ErrorReport
from fp8lab.course.exercise import Result
from fp8lab.course.registry import exercise, lesson_exercises
from fp8lab.course.text import Text
from fp8lab.grading import judge, words
from fp8lab.grading.feedback import file_names, html_page, markdown_page
from fp8lab.grading.seal import NOT_FOR_ANSWERS
from fp8lab.grading.verdict import Entry, Report

KEYS = [one.key for one in lesson_exercises(LESSON)]
LATE = Text(
    "late: 2026-11-20 12:01+08:00 (Blackboard's attempt), deadline 2026-11-20 12:00+08:00", "迟交：2026-11-20 12:01"
)


def both(one: Entry) -> tuple[str, str]:
    return markdown_page(one.student, [one]), Page(html_page(one.student, [one])).text


def graded(*marks) -> Entry:
    return Entry("ann", Report(LESSON, "en", marks), "ann/01_decode.ipynb")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_nothing_handed_in_is_said_once_and_nothing_else(lang):
    for page in both(absent("ann", lang=lang)):
        assert page.count({"en": "Nothing was handed in", "zh": "本课没有提交"}[lang]) == 1
        assert "No cell" not in page and "没有找到" not in page
        assert not any(key in page for key in KEYS)


@pytest.mark.parametrize(("lang", "reason"), [("en", "no valid JSON (line 1)"), ("zh", "JSON 无效（第 1 行）")])
def test_why_a_file_cannot_be_read_is_said_once_in_the_language_of_the_page(lang, reason):
    problem = "cut off or damaged: no valid JSON (line 1)"
    one = Entry("ann", judge.refused(LESSON, lang, problem), "ann/a.ipynb", (), problem)
    for page in both(one):
        assert page.count(reason) == 1 and "1.4" not in page


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_not_attempted_is_said_in_one_line_and_not_in_the_words_of_the_check(lang):
    marks = [words.result_mark(e, Result(e.key, "not_attempted"), lang) for e in lesson_exercises(LESSON)[1:]]
    first = words.result_mark(exercise("1.1"), Result("1.1", "right", 1), lang)
    one = Entry("ann", Report(LESSON, lang, (first, *marks)), "ann/a.ipynb")
    for page in both(one):
        assert page.count("raise NotImplementedError(...)") == 1
        assert ", ".join(KEYS[1:]) in page
        assert "run that cell" not in page and "再运行这个" not in page and "check.hint" not in page
        assert all(exercise(key).title.get(lang) in page for key in KEYS)  # each has its heading all the same


def test_what_several_exercises_say_alike_stands_once_above_them():
    reason = "the grader failed, which is no fault of the learner's: no kernel came up"
    pages = both(Entry("ann", judge.refused(LESSON, "en", reason), "ann/a.ipynb"))
    for page in pages:
        assert page.count("no kernel came up") == 1
        assert page.index("1.1, 1.2, 1.3") < page.index("no kernel came up") < page.index("not accepted")
    one_is_enough = graded(
        words.mark(exercise("1.1"), "missing", "en", "gone"), words.error_mark(exercise("1.2"), "E: x", "en")
    )
    for page in both(one_is_enough):
        assert page.index("missing") < page.index("No cell of this exercise was found")


def test_a_page_says_that_work_came_late_and_one_in_time_does_not():
    for page in both(entry("ann", late=LATE)):
        assert page.replace("\\", "").count(LATE.en) == 1
    for page in both(entry("ann", late=LATE, lang="zh")):
        assert page.count(LATE.zh) == 1 and "late" not in page
    for page in both(entry("ann")):
        assert not re.search(r"\blate\b", page)


def test_the_report_tells_who_was_late_in_a_section_and_beside_the_points(tmp_path):
    page = report(tmp_path, [entry("ann", late=LATE), entry("bob"), unreadable("cem", "empty file")])
    (row,) = page.section("late").rows()
    assert "ann" in row.text and LATE.en in row.text and row.all("a", href="feedback/ann.html")
    by_name = {row.text.split()[0]: row for row in page.section("table").rows()}
    assert by_name["ann"].text.endswith(" late") and not by_name["bob"].text.endswith("late")
    (cell,) = [
        attrs for _, attrs in by_name["ann"].tags if attrs.get("data-v", "").isdigit() and attrs.get("class") == "n"
    ][1:]
    assert int(cell["data-v"]) == sum(e.points for e in lesson_exercises(LESSON))  # so that the column sorts
    assert "1 late hand-in " in page.text
    chinese = report(tmp_path, [entry("ann", late=LATE)], lang="zh")
    assert LATE.zh in chinese.section("late").text and " late" not in chinese.text
    assert 'id="late"' not in report(tmp_path, [entry("bob")]).source


# ---- what an answer may not use


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_answer_kept_from_our_module_hears_which_and_sees_a_line_of_its_own(lang):
    error = ErrorReport("PermissionError", "fp8lab.codec" + NOT_FOR_ANSWERS, 3, "    import fp8lab.codec")
    for mark in (
        words.result_mark(exercise("1.4"), Result("1.4", "error", error=error), lang),
        words.error_mark(exercise("1.4"), f"{error.kind}: {error.message}", lang),
    ):
        assert mark.lines[0] == words.CLOSED.format(module="fp8lab.codec").get(lang)
        assert not any("raise PermissionError" in line for line in mark.lines)
    other = ErrorReport("PermissionError", "[Errno 13] Permission denied: '/etc/shadow'")
    assert (
        words.result_mark(exercise("1.4"), Result("1.4", "error", error=other), lang).lines[0].startswith("`Permission")
    )


# ---- names of files


@pytest.mark.parametrize(
    ("student", "name"),
    [
        ("Evans, Erin", "Evans, Erin"),
        ("王小明", "王小明"),
        ("a/b\\c:d*e?f", "a_b_c_d_e_f"),
        ("CON", "CON_"),
        ("lpt1.x", "lpt1.x_"),
        ("console", "console"),
        (" .hidden. ", "hidden"),
        ("", "learner"),
    ],
)
def test_names_of_files_stay_readable_and_safe(student, name):
    assert file_names([student]) == {student: name}
