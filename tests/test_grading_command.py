"""The command `fp8lab grade`: several files, missing lessons, a failing grader, seeds, options, what is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from grading_class import graded, points, rows, sandbox_problem, verdicts
from submissions import Notebook

from fp8lab.course.registry import lesson_exercises
from fp8lab.grading import jobs as jobs_module
from fp8lab.grading.run import InfrastructureError

KEYS = [exercise.key for exercise in lesson_exercises("01_decode")]
POINTS = {exercise.key: exercise.points for exercise in lesson_exercises("01_decode")}


# ---- what goes wrong around the notebooks


def test_several_files_for_one_lesson_the_newest_counts_and_all_are_told(tmp_path):
    old = Notebook().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    new = Notebook().write("1.1", "(").save(tmp_path / "in" / "ann" / "01_decode (1).ipynb")
    (tmp_path / "in" / "ann" / "01_decode-Copy2.ipynb").write_bytes(b"")
    os.utime(old, (1, 1))
    os.utime(new, (2, 2))
    graded(tmp_path / "in", tmp_path / "out")
    table = rows(tmp_path / "out" / "grades.csv")
    assert verdicts(table, "ann")["1.1"] == "error"
    assert "3 files: graded ann/01_decode (1).ipynb, not ann/01_decode-Copy2.ipynb (empty file)" in table[0]["note"]


def test_everybody_is_expected_to_hand_in_every_lesson(tmp_path):
    Notebook().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    Notebook("02_encode").save(tmp_path / "in" / "bob" / "02_encode.ipynb")
    graded(tmp_path / "in", tmp_path / "out")
    summary = rows(tmp_path / "out" / "summary.csv")
    assert len({row["max_points"] for row in summary}) == 1
    only = graded(tmp_path / "in", tmp_path / "one", lessons=["02_encode"])
    assert {(e.student, e.report.lesson) for e in only.entries} == {("ann", "02_encode"), ("bob", "02_encode")}


def test_a_grader_that_fails_gives_no_marks_says_so_and_tries_again(tmp_path, monkeypatch):
    Notebook().solve().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    calls = []

    def fails(*arguments):
        calls.append(arguments)
        raise InfrastructureError("no kernel came up")

    with monkeypatch.context() as patched:
        patched.setattr(jobs_module, "grade_notebook", fails)
        grades = graded(tmp_path / "in", tmp_path / "out")
    assert grades.exit_code == 1 and len(calls) == jobs_module.ATTEMPTS
    assert grades.broken == ("ann/01_decode.ipynb: no kernel came up",)
    assert grades.verdicts == {"rejected": len(KEYS)}
    monkeypatch.setattr(jobs_module, "grade_notebook", lambda *a: jobs_module.refused("01_decode", "en", "ran now"))
    assert graded(tmp_path / "in", tmp_path / "out").ran == 1


def test_the_secret_seed_is_kept_and_a_given_one_is_another_run(tmp_path):
    Notebook().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    assert graded(tmp_path / "in", tmp_path / "out").ran == 1
    secret = (tmp_path / "out" / ".fp8lab-grade" / "seed").read_text()
    assert graded(tmp_path / "in", tmp_path / "out").ran == 0
    assert (tmp_path / "out" / ".fp8lab-grade" / "seed").read_text() == secret
    assert graded(tmp_path / "in", tmp_path / "out", seed=5).ran == 1


# ---- the command


def command(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LC_ALL": "C"}
    line = [sys.executable, "-m", "fp8lab.cli", "grade", *map(str, arguments)]
    line += ["--no-sandbox"] if sandbox_problem() else []
    return subprocess.run(line, capture_output=True, text=True, encoding="utf-8", env=environment, **options)


def test_command_line_under_a_c_locale(tmp_path):
    Notebook(lang="zh").solve("1.1").save(tmp_path / "in" / "李雷" / "第一课.ipynb")
    result = command(tmp_path / "in", "--out", tmp_path / "out", "--seed", 3, "--workers", 1)
    assert result.returncode == 0, result.stderr
    assert "1 learner: 1 passed, 6 not_attempted" in result.stdout
    assert points(rows(tmp_path / "out" / "grades.csv"), "李雷") == POINTS["1.1"]
    assert (tmp_path / "out" / "feedback" / "李雷.md").exists()
    assert not re.search(r"\b1 (files|learners|notebooks)\b", result.stdout)
    there = {p.name + "/" * p.is_dir() for p in (tmp_path / "out").iterdir() if not p.name.startswith(".")}
    assert set(re.findall(r"[\w.]+/?", result.stdout.splitlines()[-1].partition(", and beside it ")[2])) == there - {
        "report.html"
    }


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere", "--out", "o"], 2, "nowhere does not exist"),
        (["empty", "--out", "o"], 2, "holds no submissions"),
        (["in", "--out", "o", "--lesson", "99_none"], 2, "there is no lesson '99_none'; there are"),
        (["in", "--out", "o", "--seed", "-1"], 2, "--seed -1 is not from 0"),
        (["in", "--out", "o", "--workers", "0"], 2, "'0' is not a whole number from 1 on"),
        (["in", "--out", "o", "--timeout", "0"], 2, "'0' is not a number of seconds"),
        (["in"], 2, "--out"),
        (["in", "--out", "in/ann/01_decode.ipynb/x"], 1, "Not a directory"),
    ],
)
def test_command_line_errors(tmp_path, arguments, code, words):
    (tmp_path / "empty").mkdir()
    Notebook().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    result = command(*arguments, cwd=tmp_path)
    assert result.returncode == code
    assert words in result.stderr and "Traceback" not in result.stderr


def test_without_bubblewrap_the_command_says_how_to_go_on(tmp_path):
    Notebook().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    line = [sys.executable, "-m", "fp8lab.cli", "grade", tmp_path / "in", "--out", tmp_path / "out"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PATH": str(tmp_path)}
    refused = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert refused.returncode == 1
    assert "bubblewrap is not installed" in refused.stderr and "--no-sandbox" in refused.stderr
    allowed = subprocess.run([*line, "--no-sandbox"], capture_output=True, text=True, env=environment)
    assert allowed.returncode == 0
    assert "no sandbox. Submissions run with your rights" in allowed.stderr


def test_without_nbval_the_command_says_what_to_install(tmp_path):
    Notebook().solve("1.1").save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    hide = "import sys; sys.modules['nbval'] = None; from fp8lab.cli import main; sys.exit(main(sys.argv[1:]))"
    line = [sys.executable, "-c", hide, "grade", tmp_path / "in", "--out", tmp_path / "out"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    refused = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert refused.returncode == 1 and not (tmp_path / "out").exists()
    assert "needs nbval, not installed here" in refused.stderr and 'pip install "fp8lab[grade]"' in refused.stderr
