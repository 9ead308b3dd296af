"""The notebook that is run: our lesson, the learner's exercise cells, our driver cells. Of their file, nothing else.

For every exercise cell of the lesson stand, in this order: its stub (so that a name whose cell fails speaks as
"exercise 1.4" to whoever calls it), the learner's code, and a driver cell per key. Drivers follow at once, so that what
comes later in the notebook cannot change what was shown.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fp8lab.course.holes import find_holes, without_markers
from fp8lab.course.registry import lesson_drives
from fp8lab.course.source import Cell, Lesson
from fp8lab.grading import NBFORMAT, PREPARE
from fp8lab.grading.given import given
from fp8lab.grading.parcel import pack
from fp8lab.grading.pycode import defined_names, shows_only
from fp8lab.grading.seeds import seed_of

SKIPPED_TAGS = frozenset(("picture", "widget", "setup"))  # nothing that an exercise rests on is defined there
WORD = re.compile(r"[^\W\d]\w*")
FIRST = "__import__('fp8lab.grading.inside', fromlist=['prepare']).prepare({lesson!r}, {given!r}, globals())"
DRIVE = "get_ipython().fp8lab_drive({key!r}, globals(), {given!r}, {nonce!r})"


@dataclass(frozen=True)
class Plan:
    """What to run of a lesson.

    code   exercise cell id -> sources to run for it: the learner's, ours, or () for the stub alone
    drive  the keys to drive
    seed   the secret that the seeds of the exercises come from
    """

    lesson: Lesson
    code: Mapping[str, tuple[str, ...]]
    drive: tuple[str, ...]
    seed: int


@dataclass(frozen=True)
class Assembled:
    """A notebook to run. `drivers`: cell name -> (key, nonce); `answers`: cell name -> id of the lesson's cell."""

    lesson: str
    notebook: dict[str, Any]
    drivers: Mapping[str, tuple[str, str]]
    answers: Mapping[str, str]


def assemble(plan: Plan, drive: tuple[str, ...], without: frozenset[str] = frozenset()) -> Assembled:
    """The notebook of `plan` that drives the keys in `drive` and leaves out the code of the cells in `without`."""
    cells = [_code(PREPARE, "ours", FIRST.format(lesson=plan.lesson.name, given=given(sources_of(plan.lesson))))]
    drivers: dict[str, tuple[str, str]] = {}
    answers: dict[str, str] = {}
    for cell in plan.lesson.cells:
        if cell.role == "exercise":
            cells.append(_code(f"stub {cell.id}", "ours", cell.stub or ""))
            for number, source in enumerate(() if cell.id in without else plan.code.get(cell.id, ())):
                name = f"answer {cell.id} {number}"
                answers[name] = cell.id
                cells.append(_code(name, "answer", source))
            for key in (key for key in cell.keys if key in drive):
                name, nonce = f"drive {key}", secrets.token_hex(16)
                drivers[name] = key, nonce
                call = DRIVE.format(key=key, given=inputs_or_seed(plan.lesson.name, key, plan.seed), nonce=nonce)
                cells.append(_code(name, "driver", call))
        elif _is_shared(cell, without):
            cells.append(_code(cell.id, "lesson", cell.source))
    return Assembled(plan.lesson.name, _notebook(_without_shows(cells)), drivers, answers)


@lru_cache(maxsize=128)
def inputs_or_seed(lesson: str, key: str, secret: int) -> int | str:
    """What a driver cell gets: a seed; or the inputs themselves, where the kernel must not know how they are made."""
    drive, seed = lesson_drives(lesson)[key], seed_of(secret, key)
    return pack(drive.visible(seed)) if drive.hidden else seed


def sources_of(lesson: Lesson) -> tuple[str, ...]:
    """The cells of a lesson that are run: answers may use the modules of fp8lab that these use."""
    return tuple(c.source for c in lesson.cells if c.role == "exercise" or _is_shared(c, frozenset()))


def _without_shows(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells without those of ours that only show something: nothing that comes later speaks of what they define."""
    kept: list[dict[str, Any]] = []
    spoken: set[str] = set()
    for cell in reversed(cells):
        source = cell["source"]
        if cell["metadata"]["fp8lab"]["role"] == "lesson" and shows_only(source) and not defined_names(source) & spoken:
            continue
        kept.append(cell)
        spoken.update(WORD.findall(source))
    return kept[::-1]


def solved(cell: Cell) -> str:
    """The code of the solution for an exercise cell."""
    return without_markers(cell.source, find_holes(cell.source)[0])


def _is_shared(cell: Cell, without: frozenset[str]) -> bool:
    """Whether a cell of the lesson's own is run, so that exercises may rest on it."""
    is_code = cell.kind == "code" and cell.role == "code"
    return is_code and cell.id not in without and not SKIPPED_TAGS & set(cell.tags)


def _code(name: str, role: str, source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"fp8lab": {"cell": name, "role": role}},
        "outputs": [],
        "source": source,
    }


def _notebook(cells: list[dict[str, Any]]) -> dict[str, Any]:
    major, minor = NBFORMAT
    return {"cells": cells, "metadata": {}, "nbformat": major, "nbformat_minor": minor}
