"""A folder of submissions -> who handed in what. Nothing is run, and no link is followed.

    submissions/alice/01_decode.ipynb          a folder per learner, nested as deep as they like
    submissions/bob_01_decode.ipynb            or a file per learner; the lesson's name is not part of theirs
    submissions/01_decode/carol.ipynb          a folder named after a lesson groups learners

Which lesson a notebook is, its exercise markers say; failing those, its metadata, its file name, what it defines.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fp8lab.course.registry import LESSONS, lesson_drives
from fp8lab.course.source import packaged_names
from fp8lab.course.text import LANGUAGES
from fp8lab.grading.harvest import fragments, lesson_by_markers
from fp8lab.grading.notebook import MAX_BYTES, SubmittedNotebook, Unreadable, read_notebook

IGNORED = frozenset(("__MACOSX", "__pycache__", "desktop.ini", "Thumbs.db"))
MAX_DEPTH = 12  # folders below a learner's
COPY = re.compile(r"(?:[ _-]*\(\d+\)|[ _-]*copy[ _-]?\d*|[ _-]*副本\d*)+$", re.IGNORECASE)


@lru_cache(maxsize=1)
def gradable() -> tuple[str, ...]:
    """The lessons that have both exercise records and a text in the package, in order."""
    return tuple(lesson for lesson in packaged_names() if lesson in LESSONS)


@dataclass(frozen=True)
class Submission:
    """One file of one learner, or the fact that there is none.

    student  name of the folder or of the file
    path     relative to the submissions folder, for the table; "" when there is no file
    file     where it lies; None if it is not to be opened
    lesson   its name, or None when nobody can tell
    problem  why it cannot be graded; "" if it can
    when     time of last change, seconds
    """

    student: str
    path: str = ""
    file: Path | None = None
    lesson: str | None = None
    lang: str = "en"
    problem: str = ""
    when: float = 0.0


def collect(root: Path, avoid: Path | None = None) -> tuple[list[Submission], list[str]]:
    """(all submissions below `root`, names of top-level files that are none). `avoid`: a folder not to look into.

    ValueError when `root` is neither a folder nor a notebook.
    """
    if root.is_file() and root.suffix == ".ipynb":
        return [_submission(_student(root.stem), root, root.parent)], []
    if not root.is_dir():
        what = "is no folder of notebooks" if root.exists() else "does not exist"
        hint = "; unpack the archive first" if root.suffix.lower() in (".zip", ".tar", ".gz", ".7z") else ""
        raise ValueError(f"{root} {what}{hint}")
    found: list[Submission] = []
    strange: list[str] = []
    for entry in _entries(root, avoid):
        name = _clean(entry.name)
        if entry.is_symlink():
            found.append(Submission(_student(Path(name).stem), name, problem="a symbolic link"))
        elif entry.is_dir() and entry.name in gradable():
            inner, others = collect(Path(entry.path), avoid)
            found += [_below(submission, name) for submission in inner]
            strange += [f"{name}/{other}" for other in others]
        elif entry.is_dir():
            mine = [_submission(name, file, root) for file in _notebooks(Path(entry.path), avoid)]
            found += mine or [Submission(name)]
        elif entry.name.endswith(".ipynb"):
            found.append(_submission(_student(name[: -len(".ipynb")]), Path(entry.path), root))
        else:
            strange.append(name)
    return found, strange


def _below(submission: Submission, group: str) -> Submission:
    return Submission(**{**vars(submission), "path": f"{group}/{submission.path}" if submission.path else ""})


def _entries(folder: Path, avoid: Path | None) -> list[os.DirEntry]:
    with os.scandir(folder) as entries:
        kept = [entry for entry in entries if entry.name not in IGNORED and not entry.name.startswith(".")]
    return sorted((e for e in kept if avoid is None or Path(e.path).resolve() != avoid), key=lambda e: e.name)


def _notebooks(folder: Path, avoid: Path | None, depth: int = 0) -> Iterator[Path]:
    """Every .ipynb below a learner's folder, links among them (they are refused later)."""
    for entry in _entries(folder, avoid):
        if entry.name.endswith(".ipynb") and not entry.is_dir(follow_symlinks=False):
            yield Path(entry.path)
        elif entry.is_dir(follow_symlinks=False) and depth < MAX_DEPTH:
            yield from _notebooks(Path(entry.path), avoid, depth + 1)


def _submission(student: str, file: Path, root: Path) -> Submission:
    """What can be told about a file without running it."""
    path = _clean(file.relative_to(root).as_posix())
    by_name = lesson_in_name(file.stem)
    spoken = next((part for part in reversed(file.relative_to(root).parts[:-1]) if part in LANGUAGES), "en")
    try:
        when = os.lstat(file).st_mtime
        notebook = read_notebook(read_file(file))
    except Unreadable as problem:
        return Submission(student, path, None, by_name, spoken, str(problem))
    except OSError as problem:
        return Submission(student, path, None, by_name, spoken, f"cannot be read: {problem.strerror}")
    lesson = identify(notebook, by_name)
    problem = "" if lesson else "holds no exercise of this course"
    return Submission(student, path, file, lesson, notebook.lang or spoken, problem, when)


def read_file(file: Path) -> bytes:
    """The bytes of a regular file of bearable size. Unreadable for links, devices, and what is too large."""
    state = os.lstat(file)
    if stat.S_ISLNK(state.st_mode):
        raise Unreadable("a symbolic link")
    if not stat.S_ISREG(state.st_mode):
        raise Unreadable("not a regular file")
    if state.st_size > MAX_BYTES:
        raise Unreadable(f"{state.st_size:,} bytes; at most {MAX_BYTES:,} are read")
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as opened:
        return opened.read(MAX_BYTES + 1)


def identify(notebook: SubmittedNotebook, by_name: str | None = None) -> str | None:
    """The lesson that a notebook belongs to."""
    drives = {lesson: lesson_drives(lesson) for lesson in gradable()}
    marked = lesson_by_markers(notebook, drives)
    if marked:
        return marked
    if notebook.lesson in gradable():
        return notebook.lesson
    if by_name:
        return by_name
    defined = {name for piece in fragments(notebook) for name in piece.defines}
    counts = {lesson: sum(drive.name in defined for drive in mine.values()) for lesson, mine in drives.items()}
    best = max(counts, key=counts.__getitem__, default=None)
    return best if best is not None and counts[best] else None


def lesson_in_name(stem: str) -> str | None:
    """The lesson whose name is part of a file's.

    >>> lesson_in_name("alice_01_decode (1)"), lesson_in_name("homework")
    ('01_decode', None)
    """
    return next((lesson for lesson in gradable() if lesson in stem), None)


def _student(stem: str) -> str:
    """The learner's name in a file's: without the lesson, and without what a browser adds to copies."""
    bare = COPY.sub("", stem)
    lesson = lesson_in_name(bare)
    rest = bare.replace(lesson, "").strip(" _-.") if lesson else bare
    return COPY.sub("", rest) or bare or stem


def _clean(name: str) -> str:
    """A file's name as text: one Unicode form, no control characters, no half characters."""
    text = unicodedata.normalize("NFC", name.encode("utf-8", "replace").decode("utf-8"))
    return "".join(c if c.isprintable() else "_" for c in text)


def lessons_of(submissions: Iterable[Submission]) -> tuple[str, ...]:
    """The lessons that anybody handed in, in order."""
    found = {submission.lesson for submission in submissions}
    return tuple(lesson for lesson in gradable() if lesson in found)
