"""What has been graded stays graded: one small file per report, so that a run which is killed goes on where it was.

DIR/.fp8lab-grade/seed               the secret seed of this folder's marks, drawn at the first run
DIR/.fp8lab-grade/reports/HASH.json  the report on one content; HASH covers all that a mark depends on
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from fp8lab import __version__
from fp8lab.grading import MARKS_FOLDER
from fp8lab.grading.verdict import Report
from fp8lab.grading.view import PACKAGE

SECRET = 128  # bits


class Cache:
    """The reports in `out`. Unreadable ones count as not there."""

    def __init__(self, out: Path) -> None:
        self.folder = out / MARKS_FOLDER
        self.reports = self.folder / "reports"
        self.reports.mkdir(parents=True, exist_ok=True)

    def seed(self, given: int | None) -> int:
        """`given`, or the seed of this folder, drawn when there is none yet."""
        if given is not None:
            return given
        path = self.folder / "seed"
        try:
            return int(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            drawn = secrets.randbits(SECRET)
            write_atomically(path, f"{drawn}\n")
            path.chmod(0o600)
            return drawn

    def get(self, digest: str) -> Report | None:
        """The report with this digest, if it is there."""
        try:
            return Report.from_dict(json.loads((self.reports / f"{digest}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AssertionError):
            return None

    def put(self, digest: str, report: Report) -> None:
        """Keep a report."""
        write_atomically(self.reports / f"{digest}.json", json.dumps(report.to_dict(), ensure_ascii=False))


def digest(data: bytes, settings: Mapping[str, Any]) -> str:
    """A hash of everything that the report on `data` depends on, this version of the course and grader included."""
    rest = json.dumps({**settings, "version": __version__, "course": course_digest()}, sort_keys=True)
    return hashlib.sha256(hashlib.sha256(data).digest() + rest.encode()).hexdigest()


@lru_cache(maxsize=1)
def course_digest() -> str:
    """A hash of the package: an exercise that has been corrected is graded anew."""
    whole = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in (".py", ".json") and path.is_file():
            whole.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def write_atomically(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
