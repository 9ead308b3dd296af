"""Points as learning platforms import them; headers and lines are checked as the platforms' own importers do."""

from __future__ import annotations

import csv
import io
import re

import pytest
from made_up_class import LESSON, absent, entry, unreadable

from fp8lab.course.registry import lesson_exercises
from fp8lab.grading.layouts import Who
from fp8lab.grading.lms import identity, lms_files, write_lms

ALL = sum(exercise.points for exercise in lesson_exercises(LESSON))
FIRST = lesson_exercises(LESSON)[0].points
CANVAS_EXPORT = {
    "Student": "Smith, Ann",
    "ID": "4711",
    "SIS User ID": "u0815",
    "SIS Login ID": "ann7",
    "Section": "A",
    "Homework 1 (77)": "",
}
OWN_LIST = {"学号": "0042", "姓名": "李雷", "邮箱": "lilei@example.edu"}


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def files(entries, people=None, hand_ins=None, lessons=(LESSON,)):
    return lms_files(entries, lessons, people or {}, hand_ins or {})


# ---- Canvas


def test_canvas_takes_the_header_and_the_line_of_points():
    """What lib/gradebook_importer.rb asks for: `row_has_student_headers?`, `update_column_count`, `process_pp`."""
    rows = table(files([entry("ann"), entry("bob", "wrong")])["canvas.csv"])
    header = rows[0]
    assert "Student" in header[0] and "ID" in header[1]
    assert re.search(r"SIS\s+User\s+ID", header[2]) and re.search(r"SIS\s+Login\s+ID", header[3])
    assert "Section" in header[4]
    assert header[5:] == [f"fp8lab {LESSON}"]
    assert not re.search("Current Score|Current Points|Final Score|Final Points|Override|read only", header[5])
    assert "Points Possible" in rows[1][0] and rows[1][5] == str(ALL)
    assert [row[5] for row in rows[2:]] == [str(ALL), "0"]
    assert {len(row) for row in rows} == {6}


def test_canvas_finds_its_comma_in_the_first_lines_whatever_the_names():
    """`identify_delimiter`: the sign that splits each of the first three lines into the same number of fields."""
    text = files([entry("semi;colon; name"), entry("two\nlines"), entry("z")])["canvas.csv"]
    for sign, alike in ((";", False), (",", True)):
        widths = {len(next(csv.reader([line], delimiter=sign))) for line in text.split("\r\n")[:3]}
        assert (widths == {6}) is alike
    assert len(text.strip().split("\r\n")) == 5


def test_a_gradebook_of_canvas_gives_back_its_own_ids():
    text = files([entry("Smith, Ann")], {"Smith, Ann": CANVAS_EXPORT})["canvas.csv"]
    assert table(text)[2] == ["Smith, Ann", "4711", "u0815", "ann7", "A", str(ALL)]


def test_an_id_of_the_institution_is_not_taken_for_one_of_canvas():
    """A student number in Canvas's own ID column would give the points to whoever has that number there."""
    who = identity("Ann", {"Name": "Ann", "ID": "4711", "Email": "a@b.c"}, {})
    assert (who.canvas, who.sis) == ("", "4711")
    assert identity("李雷", OWN_LIST, {}).sis == "0042"


@pytest.mark.parametrize(
    "header", ["Student,ID,SIS Login ID", "student,id,SIS User ID", "Student,ID,SIS Login ID,Section"]
)
def test_the_header_of_canvas_needs_no_section_for_its_id_to_be_canvass(header):
    """The guide's own class list. Bob handed in nothing, so that no file name tells his number."""
    people = {n: dict(zip(header.split(","), (n, i, n.lower(), "A"))) for n, i in (("Ann", "4711"), ("Bob", "4712"))}
    found = {row["Student"]: row for row in records(files([entry("Ann"), absent("Bob")], people)["canvas.csv"])}
    assert {name: found[name]["ID"] for name in people} == {"Ann": "4711", "Bob": "4712"}
    assert found["Bob"]["SIS User ID"] == ("bob" if "User" in header else "")


def test_a_download_of_canvas_tells_its_ids():
    who = Who("smithann", "4711", layout="canvas")
    text = files([entry("smithann")], hand_ins={("smithann", LESSON): who})["canvas.csv"]
    assert records(text)[1]["ID"] == "4711"
    anonymous = Who("anon", "anon_x7Kq2", layout="canvas")
    text = files([entry("anon")], hand_ins={("anon", LESSON): anonymous})["canvas.csv"]
    assert records(text)[1]["ID"] == ""


# ---- Moodle


def test_moodle_gradebook_has_points_with_their_feedback_in_the_learners_language():
    marks = {"1.4": "wrong", "1.6": "timeout"}
    people = {"ann": {"Name": "Ann", "Email address": "ann@example.edu", "ID number": "0042"}, "李雷": OWN_LIST}
    found = records(files([entry("ann"), entry("李雷", marks, lang="zh")], people)["moodle.csv"])
    assert [row["ID number"] for row in found] == ["0042", "0042"]
    assert [row["Email address"] for row in found] == ["ann@example.edu", "lilei@example.edu"]
    assert found[0][f"fp8lab {LESSON}"] == str(ALL)
    assert found[0][f"fp8lab {LESSON} feedback"] == "All exercises passed."
    assert found[1][f"fp8lab {LESSON} feedback"] == "1.4：不正确；1.6：运行超时"
    assert all(row[f"fp8lab {LESSON} feedback"] for row in found), "a grade without feedback loses the grade"


def test_moodle_worksheet_names_participants_as_its_importer_reads_them():
    """mod/assign/feedback/offline/importgradeslib.php: three columns must be there; the number follows the word."""
    hand_ins = {("Ann", LESSON): Who("Ann", "123456", layout="moodle"), ("Bob", LESSON): Who("Bob", login="bob")}
    made = files([entry("Ann", {"1.1": "wrong"}), entry("Bob")], hand_ins=hand_ins)
    (row,) = records(made[f"moodle-{LESSON}.csv"])
    assert {"Identifier", "Grade", "Last modified (grade)"} <= set(row)
    assert row["Identifier"][len("Participant ") :] == "123456"
    assert (row["Grade"], row["Maximum grade"]) == (str(ALL - FIRST), str(ALL))
    assert row["Feedback comments"] == "1.1: wrong"


def test_without_numbers_of_moodle_there_is_no_worksheet(tmp_path):
    made = files([entry("ann")])
    assert set(made) == {"canvas.csv", "moodle.csv", "blackboard.csv"}
    (tmp_path / "moodle-old.csv").write_text("of an earlier run")
    (tmp_path / "mine.txt").write_text("somebody's")
    write_lms(tmp_path, made)
    assert {path.name for path in tmp_path.iterdir()} == {*made, "mine.txt"}


# ---- Blackboard


def test_blackboard_has_usernames_and_every_cell_in_quotes():
    hand_ins = {("Ann Smith", LESSON): Who("Ann Smith", login="asmith", layout="blackboard")}
    text = files([entry("Ann Smith"), entry("bob")], hand_ins=hand_ins)["blackboard.csv"]
    assert all(re.fullmatch(r'"[^"]*"(,"[^"]*")*', line) for line in text.strip().split("\r\n"))
    assert [row["Username"] for row in records(text)] == ["asmith", "bob"]
    assert records(text)[0][f"fp8lab {LESSON} [Total Pts: {ALL} Score]"] == str(ALL)


# ---- all of them


def test_who_is_expected_and_handed_in_nothing_has_a_zero_and_who_is_not_expected_no_line():
    people = {name: {"Name": name} for name in ("ann", "bob", "cem")}
    entries = [entry("ann"), absent("bob", lang="zh"), unreadable("cem", "empty file"), entry("stranger")]
    made = files(entries, people)
    assert [row[5] for row in table(made["canvas.csv"])[2:]] == [str(ALL), "0", "0"]
    assert [row[f"fp8lab {LESSON} feedback"] for row in records(made["moodle.csv"])][1] == "没有提交。"
    assert not any("stranger" in text for text in made.values())


def test_several_lessons_are_columns_and_a_missing_one_is_a_zero():
    lessons = (LESSON, "02_encode")
    rows = table(files([entry("ann"), entry("bob", lesson="02_encode")], lessons=lessons)["canvas.csv"])
    assert rows[0][5:] == ["fp8lab 01_decode", "fp8lab 02_encode"]
    assert rows[2][6] == "0" and rows[3][5] == "0" and rows[3][6] == rows[1][6]


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", "＝1", " =1", "\r=1", "\n=1"])
def test_no_cell_is_a_formula(name):
    columns = {"Name": name, "Username": name, "Email": name, "Student ID": name, "Section": name}
    hand_ins = {(name, LESSON): Who(name, "12", layout="moodle")}
    for text in files([entry(name)], {name: columns}, hand_ins).values():
        for row in table(text):
            assert not [cell for cell in row if cell.strip().startswith(("=", "+", "-1", "@", "＝"))]


def test_files_begin_with_a_mark_so_that_excel_shows_chinese(tmp_path):
    write_lms(tmp_path, files([entry("李雷")]))
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        assert data.startswith(b"\xef\xbb\xbf") and not data.startswith(b"\xef\xbb\xbf\xef\xbb\xbf")
        assert "李雷" in data.decode("utf-8-sig")
        assert data.count(b"\r\n") == data.count(b"\n")


def test_feedback_for_platforms_holds_only_our_own_words():
    """It may be shown as HTML there; what a learner's code says does not get in."""
    bad = entry("ann", "error")
    hostile = "<img src=x onerror=alert(1)>"
    marks = tuple(
        type(m)(**{**vars(m), "note": hostile, "lines": (hostile,), "title": hostile}) for m in bad.report.marks
    )
    report = type(bad.report)(LESSON, "en", marks)
    made = files([type(bad)("ann", report, hostile)], hand_ins={("ann", LESSON): Who("ann", "1", layout="moodle")})
    assert not any("<" in text for text in made.values())
