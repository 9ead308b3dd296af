"""What an answer can take from fp8lab in a grading kernel, and what the instructor hears about its behaviour."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from attacks import BUILT_NAMES, by_a_built_name
from grading_class import graded, points, rows, verdicts
from submissions import Notebook

from fp8lab.course.registry import lesson_drives
from fp8lab.grading.given import given
from fp8lab.grading.inside import unchanged
from fp8lab.grading.judge import read_remarks
from fp8lab.grading.pycode import for_review
from fp8lab.grading.run import Shown


@pytest.fixture(scope="module")
def cheats(tmp_path_factory):
    """All ways in one batch."""
    folder = tmp_path_factory.mktemp("cheats")
    for name, way in BUILT_NAMES.items():
        by_a_built_name(way).save(folder / "in" / name / "01_decode.ipynb")
    assert graded(folder / "in", folder / "out", gate=False).broken == ()
    return rows(folder / "out" / "grades.csv")


@pytest.mark.slow
@pytest.mark.parametrize("way", BUILT_NAMES)
def test_a_name_built_from_pieces_gets_no_points_and_is_seen(cheats, way):
    assert points(cheats, way) == 0, verdicts(cheats, way)
    notes = {row["exercise"]: row["note"] for row in cheats if row["student"] == way}
    assert all("for review" in notes[key] for key in ("1.2", "1.4")), notes


def test_what_is_tried_is_told_by_name(tmp_path):
    """Even where no name in the source gives it away."""
    code = "from logging.config import BaseConfigurator as B\ndef normal_value(s, e, m):\n"
    code += "    return B({}).resolve('fp8' + 'lab.formats.value')(s << 7 | e << 3 | m)"
    assert for_review(code) == ()
    Notebook().solve().write("1.2", code).save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    graded(tmp_path / "in", tmp_path / "out", gate=False)
    row = next(r for r in rows(tmp_path / "out" / "grades.csv") if r["exercise"] == "1.2")
    assert row["verdict"] == "error" and "tried to reach fp8lab.formats" in row["note"]


def test_a_lesson_gives_what_its_cells_use(tmp_path):
    """Lesson 02 hands out fp8lab.formats, and not the codec that its driving uses, too."""
    solved = Notebook("02_encode").solve()
    first = solved.cell("2.1")
    given_away = "import fp8lab.formats as _formats\nassert _formats.value(0x78) == 256\n"
    first["source"] = "".join(first["source"]) + "\n" + given_away
    last = solved.cell("2.8")
    last["source"] = "".join(last["source"]) + "\nimport fp8lab.codec\n"
    solved.save(tmp_path / "in" / "ann" / "02_encode.ipynb")
    graded(tmp_path / "in", tmp_path / "out", timeout=30.0, gate=False)
    table = rows(tmp_path / "out" / "grades.csv")
    assert set(verdicts(table, "ann").values()) == {"passed"}  # 2.8 is defined before its cell fails
    notes = {row["exercise"]: row["note"] for row in table}
    assert "tried to reach" not in notes["2.1"] and "tried to reach fp8lab.codec" in notes["2.8"]


def test_what_a_module_stands_on_is_given_with_it():
    assert given(["import math"]) == ()
    assert {"fp8lab.codec", "fp8lab.formats", "fp8lab.rounding"} <= set(given(["from fp8lab import encode"]))
    assert "fp8lab.explore" in given(["from fp8lab.explore.granularity_facts import x"])


def test_an_answer_that_changes_its_inputs_gets_a_word_about_it(tmp_path):
    notebook = Notebook("03_scale").solve()
    notebook.save(tmp_path / "in" / "zoe" / "03_scale.ipynb")
    key, name = "3.1", lesson_drives("03_scale")["3.1"].name
    cell = notebook.cell(key)
    cell["source"] = "".join(cell["source"]) + (
        f"\n_right = {name}\ndef {name}(x, *rest, **named):\n    result = _right(x, *rest, **named)\n"
        "    try:\n        x[...] = 0\n    except Exception:\n        pass\n    return result\n"
    )
    notebook.save(tmp_path / "in" / "ann" / "03_scale.ipynb")
    graded(tmp_path / "in", tmp_path / "out", timeout=30.0, gate=False)
    table = rows(tmp_path / "out" / "grades.csv")
    changing = {(row["student"], row["exercise"]) for row in table if "changes its input" in row["note"]}
    assert ("ann", key) in changing and "zoe" not in {student for student, _ in changing}


def test_unchanged_sees_every_bit():
    assert unchanged(torch.tensor([float("nan")]), torch.tensor([float("nan")]))
    assert not unchanged(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert not unchanged(torch.zeros(2), torch.zeros(3)) and not unchanged(torch.zeros(2), None)
    assert not unchanged({"a": [np.arange(3)]}, {"a": [np.arange(3)[::-1]]})
    assert unchanged(torch.tensor([1.0]).to(torch.float8_e4m3fn), torch.tensor([1.0]).to(torch.float8_e4m3fn))
    assert unchanged(float("nan"), float("nan")) and not unchanged(1, 1.0) and unchanged(torch.zeros(0), torch.zeros(0))


@pytest.mark.parametrize("code", ["getattr(x, 'a' + 'b')", "eval('1')", "x.__traceback__", "import runpy", "open('f')"])
def test_what_has_no_place_in_an_answer_is_flagged(code):
    assert for_review(code)


def test_what_has_a_place_is_not():
    assert for_review("getattr(torch, 'float8_e4m3fn')\nimport math, struct\nx.view(torch.uint8)") == ()


def test_remarks_of_a_kernel_are_believed_in_nothing():
    """They are text for a note, cut and cleaned."""

    def said(remarks, nonce="n"):
        return read_remarks(Shown("ran", "n", (json.loads(json.dumps({"nonce": nonce, "remarks": remarks})),)))

    assert said(["x" * 1000, "a\nb", "c"]) == ("x" * 120, "ab")
    assert said("text") == said([1, None, {}]) == said(["x"], nonce="other") == ()
    assert read_remarks(Shown("ran", "n", ("text",))) == read_remarks(Shown("crashed")) == ()
