"""Says in words where a committed file differs from what the source would give."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import Any

from fp8lab.course.notebook import notebook_text, unexecuted


def learner_drift(have: str, want: dict[str, Any]) -> list[str]:
    """Differences of a generated file that is compared byte for byte; none for equal bytes."""
    if have == notebook_text(want):
        return []
    try:
        found = _record_drift(json.loads(have), want)
    except (ValueError, TypeError, AttributeError, KeyError):
        return ["is not a file that the builder wrote: it cannot be read"]
    return found or ["has the same content in another form (saved by a notebook application?)"]


def solution_drift(have: str, want: dict[str, Any]) -> list[str]:
    """Differences of an executed notebook in all but its outputs; nbval compares those."""
    try:
        notebook = json.loads(have)
        found = _record_drift(unexecuted(notebook), want)
        not_run = [
            f"cell {cell['id']} was not executed"
            for cell in notebook["cells"]
            if cell["cell_type"] == "code" and cell["execution_count"] is None
        ]
    except (ValueError, TypeError, AttributeError, KeyError):
        return ["is not a file that the builder wrote: it cannot be read"]
    return found + not_run


def _record_drift(have: dict[str, Any], want: dict[str, Any]) -> list[str]:
    """Cells that differ, then everything beside the cells."""
    found = []
    for number, (mine, theirs) in enumerate(zip_longest(have["cells"], want["cells"]), 1):
        if mine != theirs:
            found.append(_cell_drift(number, mine, theirs))
            if mine is None or theirs is None or mine["id"] != theirs["id"]:
                break  # from here on every cell is shifted
    for key in sorted({*have, *want} - {"cells"}):
        if have.get(key) != want.get(key):
            found.append(f"{key} is {have.get(key)!r}, the source gives {want.get(key)!r}")
    return found


def _cell_drift(number: int, have: dict[str, Any] | None, want: dict[str, Any] | None) -> str:
    if have is None:
        return f"cell {number} ({want['id']}) is missing"
    if want is None:
        return f"cell {number} ({have['id']}) is not in the source"
    if have["id"] != want["id"]:
        return f"cell {number} is {have['id']!r}, the source gives {want['id']!r}"
    parts = [key for key in sorted({*have, *want}) if have.get(key) != want.get(key)]
    if "source" in parts and "stub" in parts:
        parts.remove("stub")  # it follows from the source
    return f"cell {number} ({have['id']}) differs in {', '.join(map(lambda p: _part_drift(p, have, want), parts))}"


def _part_drift(part: str, have: dict[str, Any], want: dict[str, Any]) -> str:
    if part not in ("source", "stub"):
        return f"{part} ({have.get(part)!r}, the source gives {want.get(part)!r})"
    for number, (mine, theirs) in enumerate(zip_longest(_lines(have.get(part)), _lines(want.get(part))), 1):
        if mine != theirs:
            start = _same_start(mine or "", theirs or "")
            return f"{part}, line {number}: {_shown(mine, start)}, the source gives {_shown(theirs, start)}"
    return part


def _same_start(one: str, other: str) -> int:
    """How many characters to leave out: a long beginning that both lines share, but for a few characters of it."""
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return max(0, same - 20) if same > 50 else 0


def _lines(text: str | list[str] | None) -> list[str]:
    return ("".join(text) if text else "").split("\n")


def _shown(line: str | None, start: int) -> str:
    if line is None:
        return "nothing"
    piece = ("..." if start else "") + line[start:]
    return repr(piece if len(piece) <= 80 else piece[:77] + "...")
