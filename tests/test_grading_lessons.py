"""Grading every lesson: solutions get full marks, each key is judged alone, and grader and check say the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from grading_class import graded, rows, sandbox_problem, verdicts
from learner import Desk
from sample_lesson import NAME as SAMPLE
from sample_lesson import build_learner_edition, make_checkout
from submissions import Notebook, source

from fp8lab.course.check import verdict
from fp8lab.course.registry import exercise
from fp8lab.course.source import packaged
from fp8lab.grading.intake import gradable


@pytest.mark.parametrize("lesson", gradable())
def test_the_solution_of_every_lesson_gets_full_marks(lesson, tmp_path):
    Notebook(packaged(lesson)).solve().save(tmp_path / "in" / "ann" / f"{lesson}.ipynb")
    grades = graded(tmp_path / "in", tmp_path / "out", timeout=60.0)
    assert [m for m in grades.entries[0].report.marks if m.verdict != "passed"] == []
    assert grades.entries[0].report.kernels == 1


def test_each_key_of_a_class_is_judged_alone(tmp_path):
    """A class with two holes, one of them solved: in a checkout whose only lesson is the sample."""
    checkout = build_learner_edition(make_checkout(tmp_path / "checkout"))
    record = json.loads((checkout / "notebooks" / "en" / f"{SAMPLE}.ipynb").read_text(encoding="utf-8"))
    for cell in record["cells"]:
        text = source(cell)
        if text.startswith("# exercise 99.1\n"):
            cell["source"] = "# exercise 99.1\ndef double(x):\n    return x"
        if text.startswith("# exercise 99.2-99.3\n"):
            first, second = [line for line in text.split("\n") if "raise NotImplementedError" in line]
            cell["source"] = text.replace(first, "        return double(x) + x")
    folder = tmp_path / "in" / "ann"
    folder.mkdir(parents=True)
    (folder / "homework.ipynb").write_text(json.dumps(record), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    line = [sys.executable, "-m", "fp8lab.cli", "grade", tmp_path / "in", "--out", tmp_path / "out"]
    line += ["--no-sandbox"] if sandbox_problem() else []
    result = subprocess.run(line, capture_output=True, text=True, env=environment, cwd=checkout)
    assert result.returncode == 0, result.stderr
    table = rows(tmp_path / "out" / "grades.csv")
    assert verdicts(table, "ann") == {"99.1": "wrong", "99.2": "passed", "99.3": "not_attempted"}
    assert "judged with our 99.1" in table[1]["note"]


FIELDS_CALLED_WRONGLY = "def decode_byte(byte):\n    return normal_value(*fields(byte + 0.5))"
CASES = {  # answers -> what the learner's check says of 1.4
    "called wrongly": {"1.4": FIELDS_CALLED_WRONGLY},
    "raises": {"1.1": "def fields(byte):\n    raise ValueError('no')"},
    "both": {"1.1": "def fields(byte):\n    return 0, byte >> 3 & 15, byte & 7", "1.4": FIELDS_CALLED_WRONGLY},
}


def test_the_grader_and_the_learners_check_agree_on_who_is_to_blame(tmp_path):
    """A right `fields` that is called with 0.5 too much raises: an error of 1.4, and nothing that 1.1 blocks."""
    said = {}
    for student, answers in CASES.items():
        notebook, desk = Notebook().solve(), Desk("01_decode")
        for key, code in answers.items():
            notebook.write(key, code)
            exec(code, desk.globals)
        notebook.save(tmp_path / "in" / student / "01_decode.ipynb")
        said[student] = verdict(exercise("1.4"), desk.globals["decode_byte"], 0).state
    assert said == {"called wrongly": "error", "raises": "blocked", "both": "blocked"}
    graded(tmp_path / "in", tmp_path / "out")
    table = rows(tmp_path / "out" / "grades.csv")
    assert {student: verdicts(table, student)["1.4"] for student in CASES} == said
    assert "TypeError" in next(r["note"] for r in table if (r["student"], r["exercise"]) == ("called wrongly", "1.4"))
