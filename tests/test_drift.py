"""What the builder says about committed files that differ from their source."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sample_lesson import NAME, POINTS, build_learner_edition, make_checkout

from fp8lab.course import build as builder
from fp8lab.course.notebook import notebook_text, solution_notebook, unexecuted
from fp8lab.course.source import read_lesson


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A checkout built without executing, which a test may change."""
    return build_learner_edition(make_checkout(tmp_path / "checkout"))


def rewrite(path: Path, change) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    change(notebook)
    path.write_text(notebook_text(notebook), encoding="utf-8")


def edit_source(notebook):
    notebook["cells"][5]["source"][1] = "def twice(x):\n"


def edit_metadata(notebook):
    notebook["cells"][1]["metadata"]["tags"] = ["collapsed"]


def drop_cell(notebook):
    del notebook["cells"][4]


def add_cell(notebook):
    notebook["cells"].append({**notebook["cells"][0], "id": "mine"})


def edit_kernel(notebook):
    notebook["metadata"]["kernelspec"]["name"] = "other"


def edit_end_of_a_long_line(notebook):
    source = notebook["cells"][5]["source"]
    source[-1] = source[-1].replace("times x", "times y")


DRIFT = {
    "source": (edit_source, f"notebooks/en/{NAME}.ipynb: cell 6 (exercise-99-1) differs in source, line 2: "
                            "'def twice(x):', the source gives 'def double(x):'"),
    "long line": (edit_end_of_a_long_line, "times y\")', the source gives '...mber, "),
    "metadata": (edit_metadata, "cell 2 (setup) differs in metadata ({'cellView': 'form', 'jupyter': {"),
    "cell removed": (drop_cell, f"cell 5 is 'exercise-99-1', the source gives '{NAME}-4'"),
    "cell added": (add_cell, "cell 13 (mine) is not in the source"),
    "notebook metadata": (edit_kernel, "metadata is {"),
}  # fmt: skip


@pytest.mark.parametrize("change, message", DRIFT.values(), ids=DRIFT.keys())
def test_drift_of_a_learner_notebook_is_named(checkout, change, message):
    assert drift_of(checkout) == []
    rewrite(checkout / "notebooks" / "en" / f"{NAME}.ipynb", change)
    (found,) = drift_of(checkout)
    assert message in found


def drift_of(root: Path) -> list[str]:
    """Drift of the learner edition and the data; the checkout has no executed solutions."""
    found = builder.build(root, check=True, records=lambda name: POINTS)
    expected = [f"solutions/{lang}/{NAME}.ipynb: does not exist" for lang in ("en", "zh")]
    assert [line for line in found if line.startswith("solutions/")] == expected
    return [line for line in found if not line.startswith("solutions/")]


def test_drift_of_form_bytes_and_data_is_named(checkout):
    notebook = checkout / "notebooks" / "zh" / f"{NAME}.ipynb"
    notebook.write_text(json.dumps(json.loads(notebook.read_text(encoding="utf-8"))), encoding="utf-8")
    (checkout / "notebooks" / "en" / f"{NAME}.ipynb").write_text("{", encoding="utf-8")
    (checkout / "fp8lab/course/data" / f"{NAME}.json").unlink()
    (checkout / "fp8lab/course/data/98_gone.json").write_text("{}", encoding="utf-8")
    assert drift_of(checkout) == [
        f"notebooks/en/{NAME}.ipynb: is not a file that the builder wrote: it cannot be read",
        f"notebooks/zh/{NAME}.ipynb: has the same content in another form (saved by a notebook application?)",
        f"fp8lab/course/data/{NAME}.json: does not exist",
        "fp8lab/course/data/98_gone.json: has no source solutions/98_gone.md",
    ]


def test_drift_of_a_solution_is_all_but_its_outputs(checkout):
    path = checkout / "solutions" / "en" / f"{NAME}.ipynb"
    lesson = replace(read_lesson(checkout / "solutions" / f"{NAME}.md"), points=POINTS)

    def drift_after(change) -> list[str]:
        notebook = solution_notebook(lesson, "en")
        for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
            cell.update(execution_count=number + 1)
        path.parent.mkdir(exist_ok=True)
        path.write_text(notebook_text(notebook), encoding="utf-8")
        rewrite(path, change)
        found = builder.build(checkout, check=True, records=lambda name: POINTS)
        return [line for line in found if line.startswith(f"solutions/en/{NAME}.ipynb")]

    def change_output(notebook):
        notebook["cells"][3]["outputs"] = [{"name": "stdout", "output_type": "stream", "text": ["other\n"]}]

    def clear(notebook):
        notebook.update(unexecuted(notebook))

    assert drift_after(change_output) == []
    (changed,) = drift_after(lambda n: n["cells"][3]["source"].append("\nx"))
    assert f"cell 4 ({NAME}-3) differs in source, line 4: 'x', the source gives nothing" in changed
    assert f"solutions/en/{NAME}.ipynb: cell setup was not executed" in drift_after(clear)
