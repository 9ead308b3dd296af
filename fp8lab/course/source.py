"""A lesson as its author writes it: `solutions/NN_topic.md`, MyST Markdown, both languages, solved.

`read_lesson` turns the text into a `Lesson` and refuses what the editions could not be built from; every problem is
reported with file and line, all at once. `packaged` reads the same record from the data inside the installed package.

Reading needs jupytext (extra `author`); a packaged lesson needs nothing but this package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from fp8lab.course.holes import find_holes, without_markers

ROLES = ("prose", "answer", "exercise", "check", "code")
DATA_VERSION = 1


@dataclass(frozen=True)
class Cell:
    """One cell of a lesson.

    kind      "markdown" or "code"
    lang      "en", "zh", or None for a cell of both editions
    role      one of ROLES; an "answer" stands in the solution edition only
    keys      the exercises it belongs to: holes, checks, worked answer
    source    the text of the solution edition
    stub      the text of the learner edition; None for an answer
    line      where `source` begins in the file, 1-based; 0 if it was not read from a file
    """

    id: str
    kind: str
    lang: str | None
    role: str
    keys: tuple[str, ...]
    source: str
    stub: str | None
    tags: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)

    def speaks(self, lang: str) -> bool:
        """Whether the cell stands in the edition of this language."""
        return self.lang in (None, lang)


@dataclass(frozen=True)
class Lesson:
    """A lesson in both languages. `points` (key -> points) comes from the exercise records, not from the text."""

    name: str
    title: Mapping[str, str]
    cells: tuple[Cell, ...]
    points: Mapping[str, int] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all exercises in order of appearance."""
        return tuple(key for cell in self.cells if cell.role == "exercise" for key in cell.keys)

    def exercise_cell(self, key: str) -> Cell:
        """The cell with the holes of exercise `key`. ValueError that lists the keys if there is none."""
        for cell in self.cells:
            if cell.role == "exercise" and key in cell.keys:
                return cell
        raise ValueError(f"lesson {self.name} has no exercise {key!r}; it has {', '.join(self.keys) or 'none'}")

    def worked_answer(self, key: str, lang: str) -> tuple[str, str]:
        """(solved code without markers, explanation in `lang`) of exercise `key`; the explanation may be empty.

        ValueError for a key that the lesson does not have.
        """
        code = self.exercise_cell(key).source
        prose = [c.source for c in self.cells if c.role == "answer" and key in c.keys and c.speaks(lang)]
        return without_markers(code, find_holes(code)[0]), "\n\n".join(prose)

    def to_dict(self) -> dict[str, Any]:
        """A record that JSON can hold; `from_dict` reads it back."""
        cells = [{name: value for name, value in vars(cell).items() if name != "line"} for cell in self.cells]
        for cell in cells:
            cell.update(keys=list(cell["keys"]), tags=list(cell["tags"]))
        return {
            "version": DATA_VERSION,
            "name": self.name,
            "title": dict(self.title),
            "points": dict(self.points),
            "cells": cells,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Lesson:
        """The lesson that `to_dict` wrote. ValueError for a record of another version."""
        if data.get("version") != DATA_VERSION:
            raise ValueError(
                f"lesson data of version {data.get('version')!r}; this fp8lab reads {DATA_VERSION}: run `make build`"
            )
        cells = [Cell(**{**cell, "keys": tuple(cell["keys"]), "tags": tuple(cell["tags"])}) for cell in data["cells"]]
        return cls(data["name"], dict(data["title"]), tuple(cells), dict(data["points"]))


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a lesson, and where: `solutions/01_decode.md:12: ...`."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


class LessonError(ValueError):
    """A lesson that cannot be built. `problems` holds every reason, in order of line."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(problems, key=lambda p: (p.path, p.line))
        super().__init__("\n".join(map(str, self.problems)))


def read_lesson(path: str | Path, *, shown_as: str | None = None) -> Lesson:
    """The lesson in the file `path`, checked. Errors name the file as `shown_as` (default: the path as given).

    LessonError lists all that is wrong; FileNotFoundError if there is no such file; ImportError without jupytext.
    """
    from fp8lab.course.myst import parse_lesson
    from fp8lab.course.validate import problems_of

    path = Path(path)
    shown = shown_as or str(path)
    lesson = parse_lesson(path, shown)
    problems = [Problem(shown, line, message) for line, message in problems_of(lesson)]
    if problems:
        raise LessonError(problems)
    return lesson


def packaged(name: str) -> Lesson:
    """The lesson `name` ("01_decode") from the data inside the package.

    ValueError that lists the lessons that are there.
    """
    folder = resources.files("fp8lab.course") / "data"
    try:
        text = (folder / f"{name}.json").read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"there is no lesson {name!r}; there are {', '.join(packaged_names()) or 'none'}") from None
    return Lesson.from_dict(json.loads(text))


def packaged_names() -> tuple[str, ...]:
    """The names of the lessons inside the package, in order."""
    folder = resources.files("fp8lab.course") / "data"
    if not folder.is_dir():
        return ()
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".json")))
