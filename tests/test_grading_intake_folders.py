"""A folder of submissions: who handed in what, what is not followed, what changes under the grader. No kernel."""

from __future__ import annotations

import json
import os

import pytest
from harvested import TRUNCATED
from submissions import Notebook

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
