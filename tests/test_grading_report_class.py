"""A tiny class on the whole road, with kernels: what the reports say about real notebooks."""

from __future__ import annotations

import csv
import re
from types import SimpleNamespace

import pytest
from grading_class import graded
from report_reader import Page, flag_table
from submissions import IEEE_HABIT, Notebook, source

HERS = """\
def classify(byte):
    code = decode_byte(byte)
    kinds = {"nan": math.isnan(code), "zero": code == 0}
    for kind, found in kinds.items():
        if found:
            return kind
    return "subnormal" if abs(code) < 2**-6 else "normal"
"""
TABLE = """\
def decode_all():
    every = np.arange(256)
    low = every % 128  # without the sign
    grid = np.where(low < 8, low / 8 * 2.0**-6, (1 + low % 8 / 8) * 2.0 ** (low // 8 - 7.0))
    grid[low == 127] = np.nan
    return np.where(every > 127, -grid, grid)
"""
ORACLE = "def decode_byte(byte):\n    import fp8lab.codec\n    return float(fp8lab.codec.decode(byte))\n"
ROSTER = (
    "Student,ID,SIS User ID,SIS Login ID,Section\nann,1,u1,ann,A\nbob,2,u2,bob,A\n李雷,3,u3,lilei,A\ngone,4,u4,gone,A\n"
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    root = folder / "in"
    renamed = re.sub(r"\bcode\b", "value", HERS.replace("kinds", "table"))
    for name, code in (("ann", HERS), ("bob", renamed)):
        Notebook().solve().write("1.6", code).write("1.5", TABLE).save(root / name / "01_decode.ipynb")
    edited = Notebook(lang="zh").solve().write("1.4", IEEE_HABIT)
    cell = edited.cell("1.4", "check")
    cell["source"] = source(cell).replace("check(", "print(")
    edited.save(root / "李雷" / "01_decode.ipynb")
    for name in ("same 1", "same 2"):
        Notebook().solve("1.1", "1.2", "1.3").write("1.4", ORACLE).save(root / name / "01_decode.ipynb")
    Notebook().save(root / "untouched 1" / "01_decode.ipynb")
    Notebook().save(root / "untouched 2" / "01_decode.ipynb")
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    grades = graded(root, folder / "out", report_lang="zh", roster=folder / "roster.csv")
    page = Page((folder / "out" / "report.html").read_text(encoding="utf-8"))
    return SimpleNamespace(grades=grades, out=folder / "out", page=page, root=root)


def test_the_page_is_about_this_class(tiny):
    assert tiny.page.all("html", lang="zh-CN")
    assert len(tiny.page.section("table").rows()) == 8
    (row,) = tiny.page.section("misconceptions").rows()
    assert "IEEE habit" in row.text and "李雷" in row.text
    assert not tiny.grades.broken


def test_flags_are_what_an_instructor_should_see_and_no_more(tiny):
    flags = {(row["flag"], row["learners"], row["exercises"]) for row in flag_table(tiny.out)}
    assert flags == {
        ("the same file", "same 1; same 2", "1.1, 1.2, 1.3, 1.4"),
        ("identical answers", "ann; bob", "1.5, 1.6"),
        ("calls fp8lab's own functions", "same 1", "1.4"),
        ("calls fp8lab's own functions", "same 2", "1.4"),
        ("edited check cells", "李雷", "1.4"),
    }
    evidence = next(row["evidence"] for row in flag_table(tiny.out) if row["flag"] == "identical answers")
    assert "1.5: the same text" in evidence and "1.6: the same but for names and layout" in evidence


def test_flags_cost_no_points(tiny):
    points = {entry.student: entry.report.points for entry in tiny.grades.entries}
    assert points["ann"] == points["bob"] == max(points.values())
    assert points["李雷"] > points["same 1"] == points["same 2"] > 0


def test_the_secret_seed_is_in_no_report(tiny):
    seed = (tiny.out / ".fp8lab-grade" / "seed").read_text(encoding="ascii").strip()
    reports = [path for path in tiny.out.rglob("*") if path.is_file() and ".fp8lab-grade" not in path.parts]
    assert len(reports) > 20
    assert [path.name for path in reports if seed in path.read_text(encoding="utf-8")] == []


def test_canvas_gets_everybody_on_the_roster_with_their_ids(tiny):
    with open(tiny.out / "lms" / "canvas.csv", encoding="utf-8-sig", newline="") as file:
        rows = {row["Student"].strip(): row for row in csv.DictReader(file)}
    assert set(rows) == {"Points Possible", "ann", "bob", "李雷", "gone"}
    assert rows["李雷"]["SIS Login ID"] == "lilei" and rows["李雷"]["ID"] == "3"
    assert rows["gone"]["fp8lab 01_decode"] == "0"
    assert rows["ann"]["fp8lab 01_decode"] == rows["Points Possible"]["fp8lab 01_decode"]


def test_fingerprints_and_flags_come_back_from_an_earlier_run(tiny):
    before = (tiny.out / "review.csv").read_bytes()
    again = graded(tiny.root, tiny.out)
    assert again.ran == 0
    assert (tiny.out / "review.csv").read_bytes() == before
    assert Page((tiny.out / "report.html").read_text(encoding="utf-8")).all("html", lang="en")
