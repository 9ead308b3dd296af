"""report.html, review.csv and what stands in them: the right figures, and flags with evidence."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from made_up_class import LESSON, entry
from report_reader import flag_table, mixed_class, report

from fp8lab.course.registry import lesson_exercises
from fp8lab.grading.fingerprint import Fingerprint
from fp8lab.grading.overview import Trouble
from fp8lab.grading.report_page import MOST_FLAGS
from fp8lab.grading.review import KINDS

EXERCISES = lesson_exercises(LESSON)
KEYS = [exercise.key for exercise in EXERCISES]


@pytest.fixture(scope="module")
def mixed():
    return mixed_class()


# ---- the figures


def test_the_head_says_who_what_and_when(tmp_path, mixed):
    page = report(tmp_path, mixed)
    assert page.all("html", lang="en")
    head = page.text[:400]
    assert "2026-11-20 12:30" in head and f"{LESSON} What does byte 0x78 mean?" in head
    assert "20 learners" in head and "8 with full points" in head and "1 file not read" in head


def test_histograms_count_everybody_once(tmp_path, mixed):
    page = report(tmp_path, [*mixed, entry("good 0", "wrong", lesson="02_encode")], (LESSON, "02_encode"))
    marks = page.section("marks")
    assert len(marks.all("svg")) == 3
    told = [picture["aria-label"] for picture in marks.all("svg")]
    counts = [sum(int(n) for n in re.findall(r"% ?: (\d+)", label)) for label in told]
    assert counts == [20, 18, 1]  # all; without who is gone or cannot be read; the one of the other lesson
    assert "18 of 20 graded" in marks.text


def test_exercises_are_listed_hardest_first_with_all_learners(tmp_path, mixed):
    rows = report(tmp_path, mixed).section("exercises").rows()
    shares = [int(re.search(r"(\d+) %$", row.text)[1]) for row in rows]
    assert len(rows) == len(KEYS) and shares == sorted(shares)
    for row in rows:
        bar = re.search(r"<svg.*?</svg>", row.source, re.DOTALL)[0]
        assert sum(map(float, re.findall(r'width="([\d.]+)"', bar))) == pytest.approx(100, abs=0.1)
        counts = re.findall(r"<span>[^<]*? (\d+)</span>", row.source)
        assert sum(map(int, counts)) == 20
    first = rows[0].text
    assert first.startswith("1.4 Any byte, and the only NaN")
    assert "passed 10" in first and "wrong 4" in first and "not attempted 3" in first and first.endswith("50 %")


def test_misconceptions_come_with_count_explanation_and_examples(tmp_path, mixed):
    known = EXERCISES[3].misconceptions[0]
    (row,) = report(tmp_path, mixed).section("misconceptions").rows()
    assert row.text.startswith(f"4 1.4 {EXERCISES[3].title.en} ")
    assert f'<span class="small">{known.name}</span>' in row.source
    assert known.explain.en.split(".")[0].replace("`", "") in row.text
    assert [link["href"] for link in row.all("a")] == [f"feedback/ieee%20{n}.html" for n in range(3)]
    (row,) = report(tmp_path, mixed, lang="zh").section("misconceptions").rows()
    assert row.text.startswith(f"4 1.4 {EXERCISES[3].title.zh} ")
    assert known.explain.zh.split("。")[0].replace("`", "") in row.text


def test_timeouts_and_crashes_are_told_by_exercise(tmp_path, mixed):
    rows = [row.text for row in report(tmp_path, mixed).section("stopped").rows()]
    assert rows[0].startswith("2 1.6 Zero, subnormal, normal, NaN crashed the kernel")
    assert rows[1].startswith("2 1.7 The auditor took too long took more than 20 s") and "slow 0" in rows[1]


def test_files_that_became_no_marks_are_told(tmp_path, mixed):
    trouble = Trouble((("ann/a.ipynb", "no kernel came up"),), ("notes.pdf",), ("x.zip: a Canvas download",))
    text = report(tmp_path, mixed, trouble=trouble).section("files").text
    for words in ("cut/01_decode.ipynb", "cut off or damaged", "no kernel came up", "notes.pdf", "a Canvas download"):
        assert words in text


def test_every_learner_has_a_line_and_every_link_a_file(tmp_path, mixed):
    page = report(tmp_path, mixed)
    rows = page.section("table").rows()
    assert len(rows) == 20
    for link in page.all("a"):
        assert (tmp_path / unquote(link["href"])).is_file(), link
    by_name = {row.text.rsplit(" %", 1)[0]: row.text for row in rows}
    assert any(text.endswith("0/7 –") for text in by_name.values())
    assert any(text.endswith("0/7 ✗") for text in by_name.values())


def test_chinese_is_chinese(tmp_path, mixed):
    page = report(tmp_path, mixed, lang="zh")
    assert page.all("html", lang="zh-CN") and "班级成绩报告" in page.text
    assert "字节 0x78 是多少？" in page.text and "任意字节与唯一的 NaN" in page.text
    english = ["Points", "hardest", "learners", "Mistakes", "evidence", "graded", "handed", "passed", "for example"]
    shown = page.text.replace("learners/", "")
    assert [word for word in english if word in shown] == []
    with pytest.raises(ValueError, match="'de' is not one of en, zh"):
        report(tmp_path, mixed, lang="de")


# ---- flags


def test_every_kind_of_flag_with_its_evidence_and_never_a_verdict(tmp_path):
    theirs = {key: Fingerprint(f"t {key}", f"f {key}", 60, 3) for key in KEYS}
    entries = [
        entry("ann", prints=theirs),
        entry("bob", prints=theirs),
        entry("cem", uses={"1.4": ("fp8lab.decode",), "1.5": ("get_ipython",)}),
        entry("dee", edited=("1.1", "1.2")),
        entry("eve", {"1.1": "wrong"}, content="f00"),
        entry("fay", {"1.1": "wrong"}, content="f00"),
        entry("untouched 1", "not_attempted", content="stub"),
        entry("untouched 2", "not_attempted", content="stub"),
    ]
    page = report(tmp_path, entries)
    table = {row["flag"]: row for row in flag_table(tmp_path)}
    assert set(table) == {kind.en for kind in KINDS.values()}
    assert table["identical answers"]["learners"] == "ann; bob"
    assert table["identical answers"]["exercises"] == ", ".join(KEYS)
    assert "1.4: the same text (60 nodes)" in table["identical answers"]["evidence"]
    assert table["the same file"]["learners"] == "eve; fay"
    assert table["calls fp8lab's own functions"]["evidence"] == "1.4 names fp8lab.decode"
    assert table["reaches beyond the exercise"]["evidence"] == "1.5 names get_ipython"
    assert table["edited check cells"]["exercises"] == "1.1, 1.2"
    assert len(page.section("review").rows()) == len(KINDS)
    assert "no proof" in page.section("review").text
    assert not re.search("cheat|plagiar|copied", page.text, re.IGNORECASE)
    assert "不能证明任何事" in report(tmp_path, entries, lang="zh").section("review").text


def test_many_flags_are_all_in_the_table_and_some_on_the_page(tmp_path):
    entries = [entry(f"l{n:03}", uses={"1.1": ("fp8lab.decode",)}) for n in range(MOST_FLAGS + 7)]
    page = report(tmp_path, entries)
    assert len(flag_table(tmp_path)) == MOST_FLAGS + 7
    assert len(page.section("review").rows()) == MOST_FLAGS and "7 more in" in page.section("review").text
