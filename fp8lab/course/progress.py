"""Which exercises are right so far: one small JSON file of the learner's own, and `fp8lab progress` that prints it.

The file is $FP8LAB_PROGRESS, or ~/.fp8lab/progress.json. FP8LAB_PROGRESS=off writes nothing (grading, building).
It is a convenience for the learner, never a mark.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from fp8lab.course.text import LANGUAGES, Text, preferred_language

FILE_VERSION = 1
UNREADABLE = (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError, OSError)


@dataclass(frozen=True)
class Record:
    """What is remembered of one exercise: whether it was ever right, how many checks, how many hints were shown."""

    right: bool = False
    tries: int = 0
    hints: int = 0


class Progress:
    """The file behind a path; None keeps everything in memory.

    A file that cannot be read is put aside as `progress.json.unreadable`, never overwritten; a folder that cannot be
    written costs the learner nothing but the memory of it.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.records: dict[str, Record] = {}
        try:
            if path and path.exists():
                self._read()
        except UNREADABLE:
            self._put_aside()

    def __getitem__(self, key: str) -> Record:
        return self.records.get(key, Record())

    def checked(self, key: str, right: bool) -> None:
        """Count one check of `key`; once right stays right."""
        old = self[key]
        self._set(key, Record(old.right or right, old.tries + 1, old.hints))

    def hinted(self, key: str, hints: int) -> None:
        """Remember that `hints` hints of `key` have been shown."""
        old = self[key]
        self._set(key, Record(old.right, old.tries, hints))

    def _set(self, key: str, record: Record) -> None:
        self.records[key] = record
        self._take_from_file()
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.path.with_suffix(f".{os.getpid()}.tmp")
            data = {"version": FILE_VERSION, "exercises": {k: vars(r) for k, r in sorted(self.records.items())}}
            temporary.write_text(json.dumps(data, indent=1), encoding="utf-8")
            temporary.replace(self.path)
        except (OSError, ValueError):
            self.path = None  # read-only home: go on in memory

    def _take_from_file(self) -> None:
        """What another notebook has written meanwhile, beside our own records, which are kept in any case."""
        mine = dict(self.records)
        try:
            if self.path and self.path.exists():
                self._read()
                self.records = {**self.records, **{k: _merge(v, self.records.get(k)) for k, v in mine.items()}}
        except UNREADABLE:
            self._put_aside()
            self.records = mine

    def _read(self) -> None:
        data = json.loads(self.path.read_text(encoding="utf-8"))
        self.records = {
            str(key): Record(bool(r["right"]), int(r["tries"]), int(r["hints"])) for key, r in data["exercises"].items()
        }

    def _put_aside(self) -> None:
        self.records = {}
        try:
            self.path.replace(self.path.with_name(self.path.name + ".unreadable"))
        except OSError:
            self.path = None


def _merge(mine: Record, other: Record | None) -> Record:
    if other is None:
        return mine
    return Record(mine.right or other.right, max(mine.tries, other.tries), max(mine.hints, other.hints))


def progress_path() -> Path | None:
    """Where the file is, or None when $FP8LAB_PROGRESS is "off"."""
    setting = os.environ.get("FP8LAB_PROGRESS", "")
    if setting == "off":
        return None
    return Path(setting).expanduser() if setting else Path.home() / ".fp8lab" / "progress.json"


def rows(progress: Progress) -> list[tuple[str, str, Text, Record]]:
    """(lesson, key, title, record) of every exercise that is installed, in order."""
    from fp8lab.course.registry import LESSONS, lesson_exercises

    return [(lesson, e.key, e.title, progress[e.key]) for lesson in LESSONS for e in lesson_exercises(lesson)]


def summary(progress: Progress, lang: str) -> str:
    """The table as text: a line per lesson with a bar, a line per exercise.

    ✓ right · ✗ tried, not right yet · · untouched
    """
    table = rows(progress)
    lines = []
    for lesson in dict.fromkeys(row[0] for row in table):
        mine = [row for row in table if row[0] == lesson]
        done = sum(record.right for *_, record in mine)
        lines.append(f"{lesson:<18} {'█' * done}{'░' * (len(mine) - done)} {done}/{len(mine)}")
        for _, key, title, record in mine:
            mark = "✓" if record.right else "✗" if record.tries else "·"
            lines.append(f"  {mark} {key:<5}{title.get(lang)}")
    total = sum(record.right for *_, record in table)
    closing = Text("{done} of {all} exercises right", "{all} 道练习，已做对 {done} 道").format(
        done=total, all=len(table)
    )
    return "\n".join([*lines, closing.get(lang)])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `fp8lab progress`."""
    default = preferred_language(os.environ)
    parser.add_argument("--lang", choices=LANGUAGES, default=default, help="language of the titles (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print the records as JSON")
    parser.add_argument("--file", type=Path, help="another file than ~/.fp8lab/progress.json")


def run(args: argparse.Namespace) -> int:
    """Print the progress; 2 when --file names nothing."""
    path = args.file or progress_path()
    if args.file and not args.file.exists():
        print(f"fp8lab progress: {args.file} does not exist; the first check of a lesson writes it", file=sys.stderr)
        return 2
    progress = Progress(path)
    if args.json:
        print(json.dumps({key: vars(record) for _, key, _, record in rows(progress)}, indent=1))
    else:
        print(summary(progress, args.lang))
        none = Text("(no check has been run yet)", "（还没有运行过检查）").get(args.lang)
        print(path if path and path.exists() else none)
    return 0
