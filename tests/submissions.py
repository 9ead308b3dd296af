"""Submissions built by code: a learner's notebook, worked on, saved by one editor or another, or tampered with.

alice = Notebook("01_decode")                     the learner edition, as handed out
alice.solve("1.1", "1.2")                         some of it solved
alice.write("1.4", "def decode_byte(byte): ...")  or answered otherwise; the marker line is put on top
alice.save(folder / "alice" / "01_decode.ipynb")
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from fp8lab.course.notebook import learner_notebook
from fp8lab.course.source import Lesson, packaged
from fp8lab.grading.assemble import solved

IEEE_HABIT = '''\
def decode_byte(byte):
    """An all-ones exponent is inf or NaN, as in float32."""
    sign, exponent, mantissa = fields(byte)
    if exponent == 15:
        return math.nan if mantissa else (-math.inf if sign else math.inf)
    if exponent == 0:
        return subnormal_value(sign, mantissa)
    return normal_value(sign, exponent, mantissa)
'''
# a million iterators, each inside the next: the stack of C has no room for them
CRASH = "import functools; next(functools.reduce(lambda inner, _: map(abs, inner), range(10**6), iter(())))"
WRONG_FIELDS = "def fields(byte):\n    return 0, byte >> 3 & 15, byte & 7\n"
GARBAGE = {  # answers of the right kind and without any value, for whom cheats otherwise
    "1.1": "def fields(byte):\n    return 0, 0, 0",
    "1.2": "def normal_value(sign, exponent, mantissa):\n    return 0.0",
    "1.3": "def subnormal_value(sign, mantissa):\n    return 1.0",
    "1.4": "def decode_byte(byte):\n    return 0.0",
    "1.5": "def decode_all():\n    return np.zeros(256)",
    "1.6": "def classify(byte):\n    return 'normal'",
    "1.7": "def audit(decoder):\n    return set()",
}


class Notebook:
    """A learner's notebook of one lesson, in memory."""

    def __init__(self, lesson: str | Lesson = "01_decode", lang: str = "en") -> None:
        self.lesson = packaged(lesson) if isinstance(lesson, str) else lesson
        self.record = copy.deepcopy(learner_notebook(self.lesson, lang))

    @property
    def cells(self) -> list[dict[str, Any]]:
        return self.record["cells"]

    def cell(self, key: str, role: str = "exercise") -> dict[str, Any]:
        """The cell of an exercise, or its check."""
        marker = f"# {role} {key}"
        return next(cell for cell in self.cells if source(cell).startswith(marker + "\n"))

    def write(self, key: str, code: str) -> Notebook:
        """Put `code` into the exercise's cell, under its marker."""
        self.cell(key)["source"] = f"# exercise {key}\n{code}"
        return self

    def solve(self, *keys: str) -> Notebook:
        """Solve the exercises with these keys; without keys, all of them."""
        for key in keys or self.lesson.keys:
            cell = self.lesson.exercise_cell(key)
            own = next(c for c in self.cells if c.get("id") == cell.id)
            own["source"] = solved(cell)
        return self

    def garbage(self) -> Notebook:
        """Fill every hole of lesson 01 with something that runs and is wrong."""
        for key, code in GARBAGE.items():
            self.write(key, code)
        return self

    def insert(self, place: int, code: str, kind: str = "code", **fields: Any) -> Notebook:
        """Another cell at a place; -1 for the end."""
        cell = {"cell_type": kind, "metadata": {}, "source": code, **fields}
        if kind == "code":
            cell = {"execution_count": None, "outputs": [], **cell}
        self.cells.insert(len(self.cells) if place == -1 else place, cell)
        return self

    def index(self, key: str, role: str = "exercise") -> int:
        return self.cells.index(self.cell(key, role))

    def delete_checks(self) -> Notebook:
        self.record["cells"] = [c for c in self.cells if not source(c).startswith("# check ")]
        return self

    def text(self) -> str:
        return json.dumps(self.record, ensure_ascii=False, indent=1)

    def bytes(self) -> bytes:
        return self.text().encode("utf-8")

    def save(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.bytes())
        return path


def source(cell: dict[str, Any]) -> str:
    """A cell's text, whether it is kept as lines or whole."""
    return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])


def as_colab(notebook: Notebook, *, upgraded: bool = False) -> Notebook:
    """As Colab saves: nbformat 4.0, ids in metadata, a badge cell without id on top, its own metadata.

    upgraded: the file was 4.5 and Colab has kept the minor version and the cell ids.
    """
    for number, cell in enumerate(notebook.cells):
        identifier = cell.get("id", "") if upgraded else cell.pop("id", "")
        cell["metadata"] = {
            **cell["metadata"],
            "id": identifier or f"x{number:010d}",
            "colab": {"base_uri": "https://x"},
        }
        cell["source"] = source(cell).splitlines(True)
    badge = '<a href="https://colab.research.google.com/github/x/y"><img alt="Open In Colab"/></a>'
    notebook.insert(0, badge, "markdown", metadata={"id": "view-in-github", "colab_type": "text"})
    notebook.record["nbformat_minor"] = 5 if upgraded else 0
    notebook.record["metadata"]["colab"] = {"provenance": [], "toc_visible": True}
    notebook.record["metadata"]["accelerator"] = "GPU"
    return notebook


def as_vscode(notebook: Notebook) -> Notebook:
    """As VS Code saves: another kernelspec, language_info gone, cells marked with their language."""
    notebook.record["metadata"]["kernelspec"] = {
        "display_name": ".venv (3.12.1)",
        "language": "python",
        "name": "venv312",
    }
    notebook.record["metadata"].pop("language_info", None)
    for cell in notebook.cells:
        cell["metadata"]["vscode"] = {"languageId": "python"}
    return notebook


def as_modelscope(notebook: Notebook) -> Notebook:
    """As a ModelScope server saves: a kernelspec that exists nowhere else; widgets metadata without `state`."""
    notebook.record["metadata"]["kernelspec"] = {"display_name": "PAI", "language": "python", "name": "pai-dsw-kernel"}
    notebook.record["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"version_major": 2}}
    return notebook


def as_classic(notebook: Notebook) -> Notebook:
    """As the classic notebook saves: nbformat 4.4, no ids anywhere, collapsed flags, outputs kept."""
    for cell in notebook.cells:
        cell.pop("id", None)
        cell["metadata"] = {"collapsed": True, "scrolled": False}
        if cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["hello\n"]}]
            cell["execution_count"] = 7
    notebook.record["nbformat_minor"] = 4
    return notebook
