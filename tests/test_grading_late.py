"""Several attempts, deadlines, rosters and strange zips, from the zip to the table. Untouched notebooks: no kernel."""

from __future__ import annotations

import argparse
import csv
import os
import shutil
from datetime import datetime

import pytest
from downloads import NOON, OTHER, UNTOUCHED, blackboard, canvas, info, moodle, put, zipped
from grading_class import graded, rows
from report_reader import Page
from submissions import Notebook

from fp8lab.cli import main
from fp8lab.grading import batch as batch_module
from fp8lab.grading.command import moment
from fp8lab.grading.jobs import Jobs

DEADLINE = moment("2026-11-20T12:00+08:00")
BROKEN = Notebook().write("1.1", "def fields(:").bytes()  # told from an untouched one without a kernel


def notes(out, student: str) -> set[str]:
    return {row["note"] for row in rows(out / "grades.csv") if row["student"] == student}


def test_canvas_the_greatest_number_counts_and_late_is_noted(tmp_path):
    files = [
        ("Smith, Ann", "4711", False, 90210, "01_decode.ipynb", UNTOUCHED),
        ("Smith, Ann", "4711", True, 100003, "01_decode-2.ipynb", BROKEN),
        ("Smith, Ann", "4711", True, 99999, "01_decode-1.ipynb", UNTOUCHED),
    ]
    grades = graded(put(tmp_path / "a.zip", zipped(canvas(files))), tmp_path / "out", deadline=DEADLINE)
    (row, *_) = rows(tmp_path / "out" / "grades.csv")
    assert (row["student"], row["exercise"], row["verdict"]) == ("smithann", "1.1", "error")
    assert row["note"].endswith(
        "3 files: graded smithann_LATE_4711_100003_01_decode-2.ipynb, not smithann_4711_90210_01_decode.ipynb, "
        "smithann_LATE_4711_99999_01_decode-1.ipynb (late); late, says Canvas; time of hand-in not known"
    )
    assert grades.warnings == ("deadline: time not known of 1 hand-in (Canvas downloads do not tell)",)


def test_blackboard_the_last_attempt_counts_and_the_deadline_is_in_its_zone(tmp_path):
    attempts = [
        ("Ann Smith", "asmith", "2026-11-20-11-59-59", "01_decode.ipynb", UNTOUCHED),
        ("Bo Li", "bli", "2026-11-20-12-00-59", "01_decode.ipynb", UNTOUCHED),
        ("Cy Day", "cday", "2026-11-20-09-00-00", "01_decode.ipynb", UNTOUCHED),
        ("Cy Day", "cday", "2026-11-20-12-01-00", "01_decode.ipynb", BROKEN),
    ]
    out = tmp_path / "out"
    graded(put(tmp_path / "a.zip", zipped(blackboard(attempts))), out, deadline=DEADLINE)
    assert notes(out, "asmith") == notes(out, "bli") == {""}
    head = "gradebook_FP8-2026_Unit20One_cday_attempt_2026-11-20-"
    late = "late: 2026-11-20 12:01+08:00 (Blackboard's attempt), deadline 2026-11-20 12:00+08:00"
    said = f"2 files: graded {head}12-01-00_01_decode.ipynb, not {head}09-00-00_01_decode.ipynb; {late}"
    assert all(note.endswith(said) for note in notes(out, "cday"))


def test_plain_zips_tell_the_time_of_members_and_moodle_does_not(tmp_path):
    later = (2026, 11, 20, 12, 2, 0)
    heads = [(info("ann/hw.ipynb", NOON), UNTOUCHED), (info("bob/hw.ipynb", later), UNTOUCHED)]
    heads += [(info("cy/b.ipynb", NOON), BROKEN), (info("cy/a.ipynb", later), UNTOUCHED)]
    out = tmp_path / "out"
    graded(put(tmp_path / "plain.zip", zipped(heads)), out, deadline=DEADLINE)
    late = "late: 2026-11-20 12:02+08:00 (its time in the zip), deadline 2026-11-20 12:00+08:00"
    assert notes(out, "ann") == {""} and notes(out, "bob") == {late}
    assert notes(out, "cy") == {f"2 files: graded cy/a.ipynb, not cy/b.ipynb; {late}"}
    members = moodle([("Ann Smith", "1", "hw.ipynb", UNTOUCHED)])
    grades = graded(put(tmp_path / "moodle.zip", zipped(members)), tmp_path / "out2", deadline=DEADLINE)
    assert notes(tmp_path / "out2", "Ann Smith") == {"time of hand-in not known"}
    assert "Moodle downloads do not tell" in grades.warnings[0]


def test_a_note_does_not_name_hundreds_of_files(tmp_path):
    members = {**{f"ann/hw-{n:03d}.ipynb": UNTOUCHED for n in range(100)}, "bob/hw.ipynb": UNTOUCHED}
    graded(put(tmp_path / "a.zip", zipped(members)), tmp_path / "out")
    (note,) = notes(tmp_path / "out", "ann")
    assert note.startswith("100 files: graded ann/hw-099.ipynb, not ann/hw-091.ipynb, ")
    assert note.endswith(", ann/hw-098.ipynb, and 91 more")


def test_points_are_the_same_after_the_deadline(tmp_path):
    path = put(tmp_path / "in" / "ann" / "hw.ipynb", BROKEN)
    os.utime(path, (DEADLINE.timestamp() + 60,) * 2)
    before = graded(tmp_path / "in", tmp_path / "out")
    after = graded(tmp_path / "in", tmp_path / "out", deadline=DEADLINE)
    assert before.verdicts == after.verdicts and after.ran == 0
    assert all("the file's own time" in note for note in notes(tmp_path / "out", "ann"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-11-20T23:59+08:00", "2026-11-20T23:59:59.999999+08:00"),
        ("2026-11-20 23:59:00+08:00", "2026-11-20T23:59:00+08:00"),
        ("2026-11-20T23:59Z", "2026-11-20T23:59:59.999999+00:00"),
        ("2026-11-20T23:59:30Z", "2026-11-20T23:59:30+00:00"),
    ],
)
def test_deadlines(text, value):
    assert moment(text).isoformat() == value


def test_a_deadline_without_a_zone_is_this_machines():
    assert moment("2026-11-20T23:59:00") == datetime(2026, 11, 20, 23, 59).astimezone()


@pytest.mark.parametrize("text", ["2026-11-20", "tomorrow", "2026-13-01T10:00", "23:59", ""])
def test_what_is_no_deadline(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a date and time such as 2026-11-20T23:59"):
        moment(text)


def test_a_roster_gives_rows_to_everybody(tmp_path):
    roster = put(tmp_path / "class.csv", "姓名,学号\n李雷,1001\n韩梅梅,1002\n".encode("gb18030"))
    put(tmp_path / "in" / "1001" / "hw.ipynb", Notebook(lang="zh").bytes())
    put(tmp_path / "in" / "mallory" / "empty.txt", b"")
    grades = graded(tmp_path / "in", tmp_path / "out", roster=roster)
    summary = {row["student"]: row["points"] for row in rows(tmp_path / "out" / "summary.csv")}
    assert summary == {"李雷": "0", "韩梅梅": "0", "mallory": "0"}
    assert notes(tmp_path / "out", "mallory") == {"not handed in; not on the roster"}
    assert notes(tmp_path / "out", "韩梅梅") == {"not handed in"}
    assert "没有提交" in (tmp_path / "out" / "feedback" / "韩梅梅.md").read_text(encoding="utf-8")
    assert grades.exit_code == 0 and grades.people["韩梅梅"] == {"姓名": "韩梅梅", "学号": "1002"}


def test_names_in_the_order_of_moodle_get_their_points_and_others_are_the_last_line(tmp_path, capsys):
    roster = put(tmp_path / "class.csv", "学号,姓名\n1001,王小明\n1002,李伟\n1003,陈静\n".encode())
    members = moodle(
        [(name, str(n), "hw.ipynb", UNTOUCHED) for n, name in enumerate(("小明 王", "伟 李", "Jing Chen"))]
    )
    path = put(tmp_path / "moodle.zip", zipped(members))
    line = ["grade", str(path), "--out", str(tmp_path / "out"), "--roster", str(roster), "--report-lang", "zh"]
    assert main(line) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == (
        "CHECK NAMES: 1 learner who handed in matches nobody on the roster (Jing Chen); 1 on the roster handed in "
        f"nothing (陈静): check the names in {roster}"
    )
    assert sum("not on the roster" in text for text in said) == 1
    assert "对不上名单（Jing Chen）" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    with open(tmp_path / "out" / "lms" / "moodle.csv", encoding="utf-8-sig", newline="") as file:
        feedback = {row["Full name"]: row["fp8lab 01_decode feedback"] for row in csv.DictReader(file)}
    assert feedback["陈静"] == "Nothing was handed in." and "not attempted" in feedback["王小明"]


def test_every_table_opens_in_excel(tmp_path):
    put(tmp_path / "in" / "李雷" / "hw.ipynb", UNTOUCHED)
    graded(tmp_path / "in", tmp_path / "out")
    tables = list((tmp_path / "out").rglob("*.csv"))
    assert {"grades.csv", "summary.csv", "review.csv", "canvas.csv"} <= {table.name for table in tables}
    for table in tables:
        data = table.read_bytes()
        assert data.startswith(b"\xef\xbb\xbf") and not data[3:].startswith(b"\xef\xbb\xbf"), table.name


def test_late_work_is_told_in_the_report_and_to_the_learner(tmp_path):
    attempts = [("Ann Smith", "asmith", "2026-11-20-12-01-00", "01_decode.ipynb", UNTOUCHED)]
    attempts += [("Bo Li", "bli", "2026-11-20-11-00-00", "01_decode.ipynb", UNTOUCHED)]
    path = put(tmp_path / "a.zip", zipped(blackboard(attempts)))
    graded(path, tmp_path / "out", deadline=DEADLINE, report_lang="zh")
    (row,) = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8")).section("late").rows()
    assert "asmith" in row.text and "迟交：2026-11-20 12:01+08:00（Blackboard 的提交时间）" in row.text
    pages = {p.stem: p.read_text(encoding="utf-8") for p in (tmp_path / "out" / "feedback").glob("*.md")}
    assert pages["asmith"].count("late: 2026-11-20 12:01+08:00") == 1 and "late" not in pages["bli"]
    members = canvas([("Smith, Ann", "4711", True, 90210, "01_decode.ipynb", UNTOUCHED)])
    graded(put(tmp_path / "c.zip", zipped(members)), tmp_path / "out2")
    assert "late, says Canvas" in (tmp_path / "out2" / "feedback" / "smithann.html").read_text(encoding="utf-8")


def test_what_fits_several_on_the_roster_is_exit_code_3(tmp_path, capsys):
    roster = put(tmp_path / "class.csv", b"name,id\nWei Zhang,1001\nWei Zhang,1002\n")
    put(tmp_path / "in" / "wei zhang" / "hw.ipynb", UNTOUCHED)
    code = main(["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--roster", str(roster)])
    said = capsys.readouterr().out
    assert code == 3 and "ERROR: wei zhang: fits Wei Zhang (1001) and Wei Zhang (1002) on the roster" in said
    assert notes(tmp_path / "out", "wei zhang") == {"fits several on the roster, not guessed whose it is"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["in", "--roster", "nowhere.csv"], "nowhere.csv: No such file"),
        (["in", "--roster", "in"], "in: Is a directory"),
        (["in", "--out", "in"], "in holds the submissions: give --out another folder, it may lie in this one"),
        (["in", "--roster", "twice.csv"], "twice.csv: id '1' is there 2 times"),
        (["broken.zip"], "broken.zip: not a zip, or cut off"),
        (["class.7z"], "class.7z is a .7z archive; .zip and folders are read: unpack it"),
        (["empty.zip"], "holds no submissions"),
    ],
)
def test_what_the_command_refuses(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "in" / "ann" / "hw.ipynb", UNTOUCHED)
    put(tmp_path / "twice.csv", b"id\n1\n1\n")
    put(tmp_path / "broken.zip", b"PK")
    put(tmp_path / "class.7z", b"7z")
    put(tmp_path / "empty.zip", zipped({}))
    assert main(["grade", "--out", "out", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_the_command_names_the_layout_and_what_was_left_aside(tmp_path, capsys):
    members = canvas([("Smith, Ann", "4711", False, 90210, "01_decode.ipynb", UNTOUCHED)])
    members |= {f"lee{n}_48{n}_7{n}_essay.pdf": b"%PDF" for n in range(10, 40)}
    path = put(tmp_path / "week1.zip", zipped(members))
    assert main(["grade", str(path), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "week1.zip: a Canvas download: 1 file, 31 learners" in said
    assert "warning: not a notebook, not graded: ... and 10 more" in said


def test_bad_members_have_rows_and_cost_nobody_else(tmp_path):
    heads = [("ann/hw.ipynb", UNTOUCHED), ("../../bob_01_decode.ipynb", UNTOUCHED), ("cy/01_decode.zip", b"PK")]
    heads += [("dan/02_encode.ipynb", b""), ("eve/01_decode.ipynb/", b""), ("fay/02_encode.ipynb", OTHER)]
    grades = graded(put(tmp_path / "a.zip", zipped(heads)), tmp_path / "out", lessons=["01_decode", "02_encode"])
    rejected = {r["student"]: r["note"] for r in rows(tmp_path / "out" / "grades.csv") if r["verdict"] == "rejected"}
    assert rejected == {
        "bob": "a path that leads out of the archive",
        "cy": "not a zip, or cut off",
        "dan": "empty file",
        "eve": "a folder with the name of a notebook",
    }
    assert grades.exit_code == 3 and len(grades.unreadable) == 4
    assert not list(tmp_path.glob("**/bob*.ipynb"))
    assert not [path for folder in tmp_path.parents[:2] for path in folder.glob("bob*.ipynb")]


# ---- what changes under the grader


def test_a_folder_with_the_name_of_a_notebook(tmp_path):
    put(tmp_path / "in" / "ann" / "01_decode.ipynb" / "readme.txt", b"")
    put(tmp_path / "in" / "bob" / "01_decode.ipynb" / "01_decode.ipynb", UNTOUCHED)
    grades = graded(tmp_path / "in", tmp_path / "out")
    assert grades.unreadable == ("ann/01_decode.ipynb: a folder with the name of a notebook",)
    assert "not bob/01_decode.ipynb (a folder with the name of a notebook)" in notes(tmp_path / "out", "bob").pop()


def test_a_folder_that_cannot_be_looked_into_has_a_row(tmp_path, monkeypatch):
    put(tmp_path / "in" / "ann" / "hw.ipynb", UNTOUCHED)
    put(tmp_path / "in" / "bob" / "hw.ipynb", UNTOUCHED)
    listed = os.scandir

    def gone(folder):
        if str(folder).endswith("bob"):
            shutil.rmtree(folder, ignore_errors=True)
        return listed(folder)

    monkeypatch.setattr(os, "scandir", gone)
    grades = graded(tmp_path / "in", tmp_path / "out")
    monkeypatch.undo()
    assert grades.unreadable == ("bob: a folder that cannot be read: No such file or directory",)
    assert {e.student for e in grades.entries} == {"ann", "bob"} and grades.exit_code == 3


def test_a_file_that_goes_or_changes_between_two_looks_has_a_row(tmp_path, monkeypatch):
    for student in ("ann", "bob", "cy", "dan"):
        put(tmp_path / "in" / student / "hw.ipynb", Notebook().write("1.1", f"{student} = (").bytes())
    add = Jobs.add

    def gone_before(jobs, submission):
        if submission.student == "ann":
            (tmp_path / "in" / "ann" / "hw.ipynb").unlink()
        return add(jobs, submission)

    def gone_after(*arguments):
        (tmp_path / "in" / "bob" / "hw.ipynb").unlink()
        put(tmp_path / "in" / "cy" / "hw.ipynb", OTHER)
        return run_jobs(*arguments)

    run_jobs = batch_module.run_jobs
    monkeypatch.setattr(Jobs, "add", gone_before)
    monkeypatch.setattr(batch_module, "run_jobs", gone_after)
    grades = graded(tmp_path / "in", tmp_path / "out")
    (line,) = grades.unreadable
    assert line.startswith("ann/hw.ipynb: cannot be read: ") and "No such file" in line
    assert sorted(line.partition(":")[0] for line in grades.broken) == ["bob/hw.ipynb", "cy/hw.ipynb"]
    assert "cy/hw.ipynb: changed while grading: its content is another now" in grades.broken
    assert {e.student for e in grades.entries} == {"ann", "bob", "cy", "dan"}
