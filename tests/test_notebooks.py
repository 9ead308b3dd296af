"""The committed notebooks: they agree with their sources, the solutions repeat, the untouched ones run through.

`pytest tests/test_notebooks.py -k 01_decode` looks at one lesson.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from triton_here import needs_triton

from fp8lab.course.build import build
from fp8lab.course.execute import output_text, run_cells
from fp8lab.course.feedback import MARKS
from fp8lab.course.keep import is_kept
from fp8lab.course.notebook import notebook_text
from fp8lab.course.registry import LESSONS, lesson_exercises
from fp8lab.course.source import packaged, packaged_names

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = [path for path in sorted(ROOT.glob("solutions/*/*.ipynb")) if not is_kept(path)]
LEARNERS = [path for path in sorted(ROOT.glob("notebooks/*/*.ipynb")) if not is_kept(path)]
LANGUAGES = ("en", "zh")
UNTOUCHED = (MARKS["not_attempted"], MARKS["blocked"])


def edition(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def test_the_editions_agree_with_their_sources():
    found = build(ROOT, check=True)
    assert not found, "\n".join([*found, "run `make build`"])


def test_every_lesson_has_its_text_its_data_and_four_notebooks():
    assert "01_decode" in LESSONS
    names = set(LESSONS)
    assert {path.stem for path in ROOT.glob("solutions/*.md")} == names
    assert set(packaged_names()) == names
    for files in (SOLUTIONS, LEARNERS):
        assert sorted(map(edition, files)) == sorted(f"{lang}/{name}" for lang in LANGUAGES for name in names)


@pytest.mark.parametrize("name", LESSONS)
def test_the_packaged_lesson_answers_every_exercise_in_both_languages(name):
    lesson = packaged(name)
    assert {e.key: e.points for e in lesson_exercises(name)} == dict(lesson.points)
    for key in lesson.keys:
        for lang in LANGUAGES:
            code, prose = lesson.worked_answer(key, lang)
            assert "SOLUTION" not in code and prose.strip()


@pytest.mark.parametrize("path", SOLUTIONS + LEARNERS, ids=lambda p: f"{p.parent.parent.name}/{edition(p)}")
def test_it_is_a_valid_notebook_in_canonical_form(path):
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert text == notebook_text(json.loads(text)) == nbformat.writes(notebook) + "\n"
    assert "widgets" not in notebook.metadata


def executed_where_it_can_be(paths: list[Path]) -> list:
    """Lesson 10 says ✓ where Triton is, and calmly something else where it is not: see test_lesson_10_machines.py."""
    return [pytest.param(p, marks=needs_triton if p.stem == "10_gpu" else (), id=edition(p)) for p in paths]


@pytest.mark.slow
@pytest.mark.parametrize("path", executed_where_it_can_be(SOLUTIONS))
def test_the_solution_repeats_under_nbval(path):
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=300"]
    command += ["-q", "-o", "addopts=", "-p", "no:cacheprovider", "--color=no", str(path)]
    environment = {**os.environ, "FP8LAB_PROGRESS": "off", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("path", LEARNERS, ids=edition)
def test_the_untouched_notebook_runs_through_and_every_check_says_so(path, tmp_path):
    """Alone in an empty folder, as a platform opens it. Cells of the lesson itself may write nothing to stderr."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    executed = run_cells(notebook, tmp_path, ROOT)
    checks = [cell for cell in executed["cells"] if "check" in cell["metadata"].get("tags", [])]
    assert checks
    for cell in checks:
        said = [output_text(output) for output in cell["outputs"]]
        assert said and all(text.startswith(UNTOUCHED) for text in said), f"{cell['id']} says {said}"
    for cell in executed["cells"]:
        assert not [o for o in cell.get("outputs", []) if o.get("name") == "stderr"], cell["id"]
