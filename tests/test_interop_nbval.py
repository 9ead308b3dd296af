"""nbval as anybody would call it: on solved learner notebooks, and on the folder of the solutions.

That every solution repeats its outputs under `pytest --nbval` is in test_notebooks.py.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest
from submissions import Notebook, source
from triton_here import has_triton, owed

from fp8lab.course.registry import LESSONS
from fp8lab.course.text import LANGUAGES

NBVAL_TIMEOUT = 300  # seconds per cell, on a busy machine


def nbval(*arguments, cwd, root) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"FP8LAB_PROGRESS": "off", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(root)}
    line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", *map(str, arguments)]
    return subprocess.run(line, cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8")


def outcomes(junit: Path) -> dict[str, Counter]:
    """Lesson -> how many of its cells passed and failed."""
    found: dict[str, Counter] = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        lesson = re.sub(r"\.ipynb$", "", case.get("classname", "").replace("/", "."))
        bad = any(child.tag in ("failure", "error", "skipped") for child in case)
        found.setdefault(lesson.rsplit(".", 1)[-1], Counter())["failed" if bad else "passed"] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_solved_learner_notebook_passes_lax(lang, tmp_path, root):
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    lessons = [name for name in LESSONS if has_triton() or owed() or name != "10_gpu"]
    cells = {}
    for lesson in lessons:
        notebook = Notebook(lesson, lang).solve()
        notebook.save(tmp_path / f"{lesson}.ipynb")
        cells[lesson] = {"passed": sum(cell["cell_type"] == "code" for cell in notebook.cells)}
    limits = ["--nbval-current-env", f"--nbval-cell-timeout={NBVAL_TIMEOUT}"]
    done = nbval("--nbval-lax", *limits, "--junitxml=junit.xml", "-q", ".", cwd=tmp_path, root=root)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert outcomes(tmp_path / "junit.xml") == cells


@pytest.mark.slow
def test_lax_tells_a_cell_that_does_not_run(tmp_path, root):
    """What the test above would look like if it failed."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    Notebook("00_start").solve().insert(-1, "1 / 0").save(tmp_path / "00_start.ipynb")
    done = nbval("--nbval-lax", "--nbval-current-env", "--junitxml=junit.xml", "-q", ".", cwd=tmp_path, root=root)
    assert done.returncode == 1
    assert outcomes(tmp_path / "junit.xml")["00_start"]["failed"] == 1


def test_the_folder_of_solutions_is_collected_with_the_projects_own_settings(root):
    """`pytest --nbval solutions/`, cell for cell: no other setting gets in its way, no file is left out."""
    done = nbval("--nbval", "--collect-only", "-q", "solutions/", cwd=root, root=root)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    found = Counter(line.split("::")[0] for line in done.stdout.splitlines() if "::" in line)
    wanted = {}
    for lang in LANGUAGES:
        for lesson in LESSONS:
            path = f"solutions/{lang}/{lesson}.ipynb"
            wanted[path] = code_cells(root / path)
    assert found == wanted


def code_cells(path: Path) -> int:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return sum(cell["cell_type"] == "code" and bool(source(cell)) for cell in cells)
