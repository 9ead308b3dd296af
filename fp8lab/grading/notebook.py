"""Bytes of a submitted file -> its cells. Whatever an editor does to a notebook is read; nothing in it is believed.

Read: UTF-8 with or without BOM, UTF-16, CRLF, nbformat 3 and 4.x, cells without ids, sources as text or as lines.
Refused with a reason: empty, too large, not JSON (cut off), not a notebook. Nothing is validated against a schema:
a notebook that breaks it in a corner that is not read is still somebody's work.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fp8lab.course.text import LANGUAGES

MAX_BYTES = 32 * 2**20  # a notebook with every picture of a lesson in it takes less than 4 MiB
MAX_CELLS = 5000


class Unreadable(ValueError):
    """A file that holds no notebook; the message says what it is instead."""


@dataclass(frozen=True)
class SubmittedCell:
    """One cell as it stands in the file. position counts from 1, as a reader does; names are its ids, old and new."""

    position: int
    kind: str
    source: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class SubmittedNotebook:
    """The cells, and what the file says about itself (`lesson` and `lang` are claims)."""

    cells: tuple[SubmittedCell, ...]
    lesson: str | None = None
    lang: str | None = None
    notes: tuple[str, ...] = field(default=())


def read_notebook(data: bytes) -> SubmittedNotebook:
    """The notebook in `data`. Unreadable says why there is none."""
    text, notes = _text(data)
    try:
        record = json.loads(text)
    except RecursionError:
        raise Unreadable("JSON that is nested too deeply") from None
    except ValueError as problem:
        where = f"line {problem.lineno}" if isinstance(problem, json.JSONDecodeError) else str(problem)[:80]
        cut = "cut off or damaged" if text.lstrip().startswith("{") else "not a notebook"
        raise Unreadable(f"{cut}: no valid JSON ({where})") from None
    cells = _raw_cells(record)
    if len(cells) > MAX_CELLS:
        raise Unreadable(f"{len(cells):,} cells; at most {MAX_CELLS:,} are read")
    own = _mapping(_mapping(record.get("metadata")).get("fp8lab"))
    lang = own.get("lang")
    lesson = own.get("lesson")
    return SubmittedNotebook(
        tuple(_cell(number, cell) for number, cell in enumerate(cells, 1) if isinstance(cell, dict)),
        lesson if isinstance(lesson, str) else None,
        lang if lang in LANGUAGES else None,
        notes,
    )


def _text(data: bytes) -> tuple[str, tuple[str, ...]]:
    if len(data) > MAX_BYTES:
        raise Unreadable(f"{len(data):,} bytes; at most {MAX_BYTES:,} are read")
    if not data.strip(b"\0\r\n\t \xef\xbb\xbf"):
        raise Unreadable("empty file" if not data else "nothing but blanks in the file")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding), ()
    except UnicodeDecodeError:
        return data.decode(encoding, errors="replace"), ("some bytes are not UTF-8 and were replaced",)


def _raw_cells(record: Any) -> list[Any]:
    if not isinstance(record, dict):
        raise Unreadable(f"not a notebook: the file holds a JSON {type(record).__name__}")
    cells = record.get("cells")
    if cells is None and isinstance(record.get("worksheets"), list):  # nbformat 3
        sheets = [sheet.get("cells") for sheet in record["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
    if not isinstance(cells, list):
        raise Unreadable("not a notebook: the file has no list of cells")
    return cells


def _cell(position: int, cell: Mapping[str, Any]) -> SubmittedCell:
    metadata = _mapping(cell.get("metadata"))
    names = (cell.get("id"), metadata.get("id"), _mapping(metadata.get("nbgrader")).get("grade_id"))
    source = _joined(cell.get("source", cell.get("input", "")))
    return SubmittedCell(
        position,
        str(cell.get("cell_type", "raw")),
        source.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff"),
        tuple(name for name in names if isinstance(name, str)),
    )


def _joined(source: Any) -> str:
    if isinstance(source, list):
        return "".join(piece for piece in source if isinstance(piece, str))
    return source if isinstance(source, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
