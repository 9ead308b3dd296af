"""Tables as CSV that a spreadsheet shows and does not run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from fp8lab.grading.cache import write_atomically

FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")  # a spreadsheet takes such a cell for a formula


def to_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as text, its cells neutralised."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def write_table(path: Path, text: str) -> None:
    """Write a table as UTF-8 with a mark: without one, Excel on a Chinese Windows takes it for GBK."""
    write_atomically(path, "\ufeff" + text)


def harmless(cell: object) -> object:
    """A cell that no spreadsheet will run.

    >>> harmless("=HYPERLINK(1)"), harmless("alice"), harmless(-3)
    ("'=HYPERLINK(1)", 'alice', -3)
    """
    if isinstance(cell, str) and cell.lstrip(" \n").startswith(FORMULA):
        return "'" + cell
    return cell
