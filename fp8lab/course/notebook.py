"""Lesson -> notebook, as plain nbformat 4.5 JSON. Nothing here depends on the machine, the clock or a random number.

learner edition    holes raise NotImplementedError, no worked answers, no outputs
solution edition   solved, with worked answers; `execute.py` adds the outputs
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fp8lab import __version__
from fp8lab.course.keep import digest
from fp8lab.course.setup import METADATA, setup_cell
from fp8lab.course.source import Cell, Lesson
from fp8lab.course.text import known_language

# nbval compares neither pictures nor widgets (they differ between machines), nor the line that names the machine.
UNCOMPARED = ("picture", "setup", "widget")
HEADER = "header"  # tag of a cell that stays above the setup cell

COLAB = "https://colab.research.google.com/github/{place}"
MODELSCOPE = "https://modelscope.cn/notebook/share/github/{place}"
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def learner_notebook(
    lesson: Lesson, lang: str, *, repository: str = "", branch: str = "main", published: bool = False
) -> dict[str, Any]:
    """The learner edition in one language. With a `repository` ("owner/name") it carries badges that open it online;
    with `published` its setup cell may ask a package index for fp8lab."""
    cells = [_cell(cell, cell.stub, lesson) for cell in lesson.cells if cell.speaks(lang) and cell.role != "answer"]
    before = [badge_cell(lesson.name, lang, repository, branch)] if repository else []
    return _notebook(lesson, lang, cells, before, published)


def solution_notebook(lesson: Lesson, lang: str, *, published: bool = False) -> dict[str, Any]:
    """The solution edition in one language, not executed."""
    cells = [_cell(cell, cell.source, lesson) for cell in lesson.cells if cell.speaks(lang)]
    notebook = _notebook(lesson, lang, cells, [], published)
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags", [])
        if set(tags) & set(UNCOMPARED):
            cell["metadata"]["tags"] = sorted({*tags, "nbval-ignore-output"})
    return notebook


def notebook_text(notebook: dict[str, Any]) -> str:
    """The bytes of an .ipynb file as nbformat writes them."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def unexecuted(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook without what an execution adds: outputs and counts."""
    cells = [
        {**cell, "outputs": [], "execution_count": None} if cell.get("cell_type") == "code" else cell
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells}


def badge_cell(name: str, lang: str, repository: str, branch: str) -> dict[str, Any]:
    """The Markdown cell with the links that open this notebook on a platform."""
    place = f"{repository}/blob/{branch}/notebooks/{lang}/{name}.ipynb"
    source = (
        f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({COLAB.format(place=place)}) "
        f"[ModelScope]({MODELSCOPE.format(place=place)})"
    )
    return _markdown("badges", source, {})


def _notebook(
    lesson: Lesson, lang: str, cells: list[dict], before_setup: list[dict], published: bool
) -> dict[str, Any]:
    known_language(lang)
    setup = _code("setup", setup_cell(lesson.name, lang, __version__, published=published), dict(METADATA))
    place = _header_length(lesson, lang)
    cells = [*cells[:place], *before_setup, setup, *cells[place:]]
    ours = {"digest": digest(cells), "lang": lang, "lesson": lesson.name, "version": __version__}
    return {
        "cells": cells,
        "metadata": {**KERNEL, "fp8lab": ours},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _header_length(lesson: Lesson, lang: str) -> int:
    """How many cells of the edition stand above the setup cell: up to the last one tagged `header`, else the first."""
    mine = [cell for cell in lesson.cells if cell.speaks(lang)]
    return max((number for number, cell in enumerate(mine, 1) if HEADER in cell.tags), default=1)


def _cell(cell: Cell, source: str | None, lesson: Lesson) -> dict[str, Any]:
    if source is None:
        raise ValueError(f"cell {cell.id} has no learner edition")
    make: Callable[..., dict] = _markdown if cell.kind == "markdown" else _code
    marks = {cell.role} if cell.keys else set()
    metadata: dict[str, Any] = {}
    if marks | set(cell.tags):
        metadata["tags"] = sorted(marks | set(cell.tags))
    graded = _nbgrader(cell, lesson)
    if graded:
        metadata["nbgrader"] = graded
    return make(cell.id, source, metadata)


def _nbgrader(cell: Cell, lesson: Lesson) -> dict[str, Any] | None:
    """nbgrader's block (schema 3) for a cell with holes, a check of exercises whose points are known, a worked answer.

    A worked answer is a written question of 0 points: the one kind of Markdown that `generate_assignment` clears.
    """
    if cell.role not in ("exercise", "check", "answer"):
        return None
    block = {"grade": False, "grade_id": cell.id, "locked": False, "schema_version": 3, "solution": True, "task": False}
    if cell.role == "answer":
        block.update(grade=True, points=0)
    if cell.role == "check":
        if not all(key in lesson.points for key in cell.keys):
            return None
        points = sum(lesson.points[key] for key in cell.keys)
        block.update(grade=True, locked=True, points=points, solution=False)
    return block


def _markdown(identifier: str, source: str, metadata: dict) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": identifier, "metadata": metadata, "source": source.splitlines(True)}


def _code(identifier: str, source: str, metadata: dict) -> dict[str, Any]:
    cell = _markdown(identifier, source, metadata)
    return {**cell, "cell_type": "code", "execution_count": None, "outputs": []}
