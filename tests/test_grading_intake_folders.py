"""A folder of submissions: who handed in what, what is not followed, what changes under the grader. No kernel."""

from __future__ import annotations

import json
import os

import pytest
from downloads import put, zipped
from harvested import TRUNCATED
from submissions import Notebook

from fp8lab.grading import MARKS_FOLDER
from fp8lab.grading.intake import collect, lessons_of


def layout(root):
    Notebook().save(root / "ann" / "01_decode.ipynb")
    Notebook("02_encode").save(root / "ann" / "week2" / "hw.ipynb")
    Notebook(lang="zh").save(root / "bob_01_decode.ipynb")
    Notebook().save(root / "01_decode" / "carol.ipynb")
    Notebook().save(root / "dave" / ".ipynb_checkpoints" / "01_decode-checkpoint.ipynb")
    (root / "dave" / "essay.txt").write_text("hello")
    (root / "readme.txt").write_text("hello")
    (root / "01_decode_eve.ipynb").write_bytes(TRUNCATED)
    (root / "__MACOSX").mkdir()
    (root / "李雷").mkdir()
    Notebook(lang="zh").save(root / "李雷" / "第一课.ipynb")


def test_who_handed_in_what(tmp_path):
    layout(tmp_path)
    intake = collect(tmp_path)
    found, strange = intake.submissions, list(intake.strange)
    table = {(s.student, s.path): (s.lesson, s.lang, s.problem.split(":")[0]) for s in found}
    assert table == {
        ("ann", "ann/01_decode.ipynb"): ("01_decode", "en", ""),
        ("ann", "ann/week2/hw.ipynb"): ("02_encode", "en", ""),
        ("bob", "bob_01_decode.ipynb"): ("01_decode", "zh", ""),
        ("carol", "01_decode/carol.ipynb"): ("01_decode", "en", ""),
        ("dave", ""): (None, "en", ""),
        ("eve", "01_decode_eve.ipynb"): ("01_decode", "en", "cut off or damaged"),
        ("李雷", "李雷/第一课.ipynb"): ("01_decode", "zh", ""),
    }
    assert strange == ["readme.txt"]
    assert lessons_of(found) == ("01_decode", "02_encode")


def test_the_language_of_a_folder_counts_when_the_file_is_silent(tmp_path):
    notebook = Notebook()
    notebook.record["metadata"] = {}
    notebook.save(tmp_path / "ann" / "zh" / "a.ipynb")
    assert collect(tmp_path).submissions[0].lang == "zh"


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="symbolic links need a privilege on Windows")
def test_links_and_pipes_are_not_followed(tmp_path):
    secret = Notebook().save(tmp_path / "secret" / "key.ipynb")
    root = tmp_path / "submissions"
    (root / "mallory").mkdir(parents=True)
    (root / "mallory" / "01_decode.ipynb").symlink_to(secret)
    (root / "trent").symlink_to(secret.parent)
    (root / "victor").mkdir()
    os.mkfifo(root / "victor" / "pipe.ipynb")
    found = collect(root).submissions
    assert {s.student: (s.problem, s.item) for s in found} == {
        "mallory": ("a symbolic link", None),
        "trent": ("a symbolic link", None),
        "victor": ("not a regular file", None),
    }


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("ann_01_decode", "ann"),
        ("01_decode-ann (2)", "ann"),
        ("ann 01_decode - Copy", "ann"),
        ("01_decode", "01_decode"),
        ("王小明_01_decode", "王小明"),
        ("ann", "ann"),
    ],
)
def test_the_learner_in_a_file_name(tmp_path, name, student):
    Notebook().save(tmp_path / f"{name}.ipynb")
    assert collect(tmp_path).submissions[0].student == student


def test_a_foreign_notebook_holds_no_exercise(tmp_path):
    (tmp_path / "ann.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": "x = 1"}]}))
    assert collect(tmp_path).submissions[0].problem == "holds no exercise of this course"


# ---- marks of an earlier run among the submissions


def marks(folder):
    (folder / MARKS_FOLDER / "reports").mkdir(parents=True)
    (folder / MARKS_FOLDER / "seed").write_text("7\n")
    (folder / "feedback").mkdir()
    for name in ("grades.csv", "report.html", "feedback/ann.md"):
        (folder / name).write_text("x")


def test_marks_of_an_earlier_run_are_nobodys_work_and_said(tmp_path):
    Notebook().save(tmp_path / "ann" / "01_decode.ipynb")
    marks(tmp_path / "marks")
    marks(tmp_path / "ann" / "mine")
    intake = collect(tmp_path)
    assert [(s.student, s.path) for s in intake.submissions] == [("ann", "ann/01_decode.ipynb")]
    assert intake.strange == ()
    assert intake.warnings == (
        "ann/mine: marks of an earlier run, not looked into",
        "marks: marks of an earlier run, not looked into",
    )


def test_marks_in_a_zip_are_nobodys_work_either(tmp_path):
    members = {"class/ann/01_decode.ipynb": Notebook().bytes(), "class/bob/01_decode.ipynb": Notebook().bytes()}
    members |= {f"class/marks/{name}": b"x" for name in ("grades.csv", "feedback/ann.md", f"{MARKS_FOLDER}/seed")}
    intake = collect(put(tmp_path / "class.zip", zipped(members)))
    assert {s.student for s in intake.submissions} == {"ann", "bob"}
    assert intake.strange == () and intake.warnings == ("class/marks: marks of an earlier run, not looked into",)


def test_work_in_a_folder_that_looks_like_marks_is_not_lost(tmp_path):
    """Who has such a folder beside their notebook, by accident or not, still hands in the notebook."""
    Notebook().save(tmp_path / "ann" / "01_decode.ipynb")
    marks(tmp_path / "ann")
    put(tmp_path / "bob" / "work.zip", zipped({"01_decode.ipynb": Notebook().bytes(), f"x/{MARKS_FOLDER}/seed": b"7"}))
    found = {(s.student, s.path) for s in collect(tmp_path).submissions}
    assert found == {("ann", "ann/01_decode.ipynb"), ("bob", "bob/work.zip/01_decode.ipynb")}


def test_a_folder_of_marks_is_no_folder_of_submissions(tmp_path):
    Notebook().save(tmp_path / "ann" / "01_decode.ipynb")
    marks(tmp_path)
    with pytest.raises(ValueError, match=r"holds marks, in \.fp8lab-grade: give the folder of the submissions"):
        collect(tmp_path)
