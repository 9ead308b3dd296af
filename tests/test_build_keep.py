"""`fp8lab build` never loses what somebody wrote into a notebook: it is kept beside the new one, and a line says so."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from sample_lesson import NAME, POINTS, build_learner_edition, make_checkout

from fp8lab.course import build as builder
from fp8lab.grading.identify import nameless, student_in_name
from fp8lab.lab import first_notebook

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A checkout built without executing, which a test may change."""
    return build_learner_edition(make_checkout(tmp_path / "checkout"))


def resave(path: Path, change=lambda notebook: None, **form) -> bytes:
    """The notebook as an application saves it: run, in another form, with an empty cell at the end, after `change`."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for number, cell in enumerate(notebook["cells"], 1):
        cell["source"] = "".join(cell["source"])
        if cell["cell_type"] == "code":
            cell.update(
                execution_count=number, outputs=[{"output_type": "stream", "name": "stdout", "text": "hello\n"}]
            )
    notebook["cells"].append({"cell_type": "code", "id": "x", "metadata": {}, "source": "", "outputs": []})
    notebook["metadata"]["colab"] = {"provenance": []}
    change(notebook)
    path.write_text(json.dumps(notebook, **form), encoding="utf-8")
    return path.read_bytes()


def rebuild(root: Path) -> tuple[list[str], list[str]]:
    """(files changed, lines said about copies) of a build of the learner edition."""
    said: list[str] = []
    changed = builder.build(root, execute=False, report=said.append, records=lambda name: POINTS)
    return changed, [line for line in said if "kept" in line]


def solve(notebook: dict) -> None:
    (cell,) = (cell for cell in notebook["cells"] if cell["id"] == "exercise-99-1")
    cell["source"] += "\n# my own thought\n"


def test_a_notebook_that_somebody_has_worked_in_is_kept_beside_the_new_one(checkout):
    path = checkout / "notebooks" / "en" / f"{NAME}.ipynb"
    as_built = path.read_bytes()
    first = resave(path, solve)
    said = f"kept what was written into notebooks/en/{NAME}.ipynb as {NAME}.mine.ipynb, beside it"
    assert rebuild(checkout) == ([f"notebooks/en/{NAME}.ipynb"], [said])
    assert path.read_bytes() == as_built
    second = resave(path, lambda notebook: notebook["cells"].pop(4))
    (changed, [said]) = rebuild(checkout)
    assert said.endswith(f"as {NAME}.mine-2.ipynb, beside it")
    path.write_bytes(first)  # again the first, as after a build that was interrupted
    assert rebuild(checkout)[1][0].endswith(f"as {NAME}.mine.ipynb, beside it")
    kept = {p.name: p.read_bytes() for p in path.parent.glob("*.mine*")}
    assert kept == {f"{NAME}.mine.ipynb": first, f"{NAME}.mine-2.ipynb": second}
    assert path.with_name(f"{NAME}.mine.ipynb").stat().st_mtime_ns >= path.stat().st_mtime_ns


@pytest.mark.parametrize("form", [{}, {"indent": 2, "ensure_ascii": False}, {"separators": (",", ":")}], ids=str)
def test_a_notebook_that_was_only_run_and_saved_needs_no_copy(checkout, form):
    path = checkout / "notebooks" / "zh" / f"{NAME}.ipynb"
    resave(path, **form)
    assert rebuild(checkout) == ([f"notebooks/zh/{NAME}.ipynb"], [])
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_new_edition_takes_the_place_of_an_old_one_that_nobody_touched(checkout):
    source = checkout / "solutions" / f"{NAME}.md"
    path = checkout / "notebooks" / "en" / f"{NAME}.ipynb"
    old = resave(path)
    source.write_text(source.read_text(encoding="utf-8").replace("is next.", "comes next."), encoding="utf-8")
    changed, said = rebuild(checkout)
    assert (len(changed), said) == (2, []) and b"comes next." in path.read_bytes() != old


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"cells": 3}', b"\xff\xfe", b'{"cells": [], "metadata": []}'])
def test_what_cannot_be_read_or_tells_no_digest_is_kept(checkout, broken):
    path = checkout / "notebooks" / "en" / f"{NAME}.ipynb"
    path.write_bytes(broken)
    assert len(rebuild(checkout)[1]) == 1 and path.with_name(f"{NAME}.mine.ipynb").read_bytes() == broken


def test_a_notebook_without_a_digest_is_kept_only_if_it_differs(checkout):
    path = checkout / "notebooks" / "en" / f"{NAME}.ipynb"
    resave(path, lambda notebook: notebook["metadata"].pop("fp8lab"))
    assert rebuild(checkout)[1] == []
    resave(path, lambda notebook: (notebook["metadata"].pop("fp8lab"), solve(notebook)))
    assert len(rebuild(checkout)[1]) == 1


def test_kept_copies_are_no_lessons(checkout):
    path = checkout / "notebooks" / "en" / f"{NAME}.ipynb"
    before = builder.build(checkout, check=True, records=lambda name: POINTS)
    resave(path, solve)
    rebuild(checkout)
    assert path.with_name(f"{NAME}.mine.ipynb").exists()
    assert builder.build(checkout, check=True, records=lambda name: POINTS) == before
    assert first_notebook(path.parent) == path.name
    ignored = subprocess.run(["git", "check-ignore", "-q", "--no-index", f"notebooks/en/{NAME}.mine-2.ipynb"], cwd=ROOT)
    assert ignored.returncode == 0
    assert nameless("01_decode.mine-2") and student_in_name("ann_01_decode.mine (1)") == "ann"
