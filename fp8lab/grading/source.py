"""What was handed in, as bytes that can be asked for: the files of a folder here, the members of a zip in `archive`.

Nothing is copied, unpacked or run, and no link is followed.
"""

from __future__ import annotations

import io
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from fp8lab.grading import MARKS_FOLDER
from fp8lab.grading.notebook import Unreadable

IGNORED = frozenset(("__MACOSX", "__pycache__", "desktop.ini", "Thumbs.db"))
MAX_DEPTH = 12  # folders in each other


class Reader(Protocol):
    """Where the bytes of an item come from."""

    def read(self, limit: int) -> bytes:
        """All bytes, if they are not more than `limit`. Unreadable or OSError when they cannot be had."""

    def open(self) -> BinaryIO:
        """A file to seek in. Unreadable or OSError as above."""


@dataclass(frozen=True, eq=False)
class Item:
    """One thing that was handed in.

    path     where it lies below the submissions, as text
    reader   where its bytes come from; None when it is not to be opened
    when     time of its last change in seconds since 1970; None when nobody knows
    clock    what has told the time
    problem  why it is not to be opened; "" if it is
    folder   it is a folder: an empty one, or one that cannot be looked into
    depth    archives around it
    copy     2 for the second thing of this path in one archive, and so on
    marks    it is a folder that the grader has written marks to, nobody's work
    """

    path: tuple[str, ...]
    reader: Reader | None = None
    when: float | None = None
    clock: str = ""
    problem: str = ""
    folder: bool = False
    depth: int = 0
    copy: int = 1
    marks: bool = False

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else ""

    @property
    def shown(self) -> str:
        """Its path for tables."""
        return "/".join(self.path) + (f" [{self.copy}]" if self.copy > 1 else "")

    def read(self, limit: int) -> bytes:
        """Its bytes. Unreadable or OSError when they cannot be had."""
        if self.reader is None:
            raise Unreadable(self.problem or "nothing to be read")
        return self.reader.read(limit)


@dataclass(frozen=True)
class FileReader:
    """The bytes of a regular file."""

    file: Path

    def read(self, limit: int) -> bytes:
        """The bytes. Unreadable for links, devices, and what is larger than `limit`."""
        with self._opened(limit) as opened:
            data = opened.read(limit + 1)
        if len(data) > limit:
            raise Unreadable(f"more than {limit:,} bytes")
        return data

    def open(self) -> BinaryIO:
        """The file. Unreadable for links and devices."""
        return self._opened(None)

    def _opened(self, limit: int | None) -> BinaryIO:
        state = os.lstat(self.file)
        if stat.S_ISLNK(state.st_mode):
            raise Unreadable("a symbolic link")
        if not stat.S_ISREG(state.st_mode):
            raise Unreadable("not a regular file")
        if limit is not None and state.st_size > limit:
            raise Unreadable(f"{state.st_size:,} bytes; at most {limit:,} are read")
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        return io.BufferedReader(io.FileIO(os.open(self.file, flags)))


def file_item(file: Path, path: tuple[str, ...]) -> Item:
    """The item for a file; its problem, if there is one, in words."""
    try:
        state = os.lstat(file)
    except OSError as problem:
        return Item(path, problem=f"cannot be read: {problem.strerror}")
    if stat.S_ISLNK(state.st_mode):
        return Item(path, problem="a symbolic link")
    if not stat.S_ISREG(state.st_mode):
        return Item(path, problem="not a regular file")
    return Item(path, FileReader(file), state.st_mtime, "the file's own time")


def walk(folder: Path, avoid: Path | None = None) -> list[Item]:
    """Everything below `folder` in order of names; what cannot be looked into has a problem. `avoid`: left out.

    OSError when `folder` itself cannot be listed.
    """
    return list(_below(_entries(folder, avoid), (), avoid))


def _entries(folder: Path, avoid: Path | None) -> list[os.DirEntry]:
    with os.scandir(folder) as entries:
        kept = [entry for entry in entries if not ignored(entry.name)]
    return sorted((e for e in kept if avoid is None or Path(e.path).resolve() != avoid), key=lambda e: e.name)


def _below(entries: list[os.DirEntry], place: tuple[str, ...], avoid: Path | None) -> Iterator[Item]:
    for entry in entries:
        path = (*place, clean(entry.name))
        if not entry.is_dir(follow_symlinks=False):
            yield file_item(Path(entry.path), path)
            continue
        if is_notebook(entry.name):
            yield Item(path, problem="a folder with the name of a notebook", folder=True)
        if len(path) > MAX_DEPTH:
            yield Item(path, problem=f"a folder {len(path)} deep; {MAX_DEPTH} are looked into", folder=True)
            continue
        try:
            inner = _entries(Path(entry.path), avoid)
        except OSError as problem:  # gone since the folder around it was listed, or not ours to read
            yield Item(path, problem=f"a folder that cannot be read: {problem.strerror}", folder=True)
            continue
        below = list(_below(inner, path, avoid)) if inner else [Item(path, folder=True)]
        is_marks = os.path.isdir(os.path.join(entry.path, MARKS_FOLDER)) and not holds_work(below)
        yield from [Item(path, folder=True, marks=True)] if is_marks else below


def holds_work(items: Iterable[Item]) -> bool:
    """Whether there is anything that somebody may have handed in."""
    return any(is_notebook(item.name) or is_zip(item.name) for item in items)


def ignored(name: str) -> bool:
    """What systems and editors leave behind."""
    return name in IGNORED or name.startswith(".")


def is_notebook(name: str) -> bool:
    return name.lower().endswith(".ipynb")


def is_zip(name: str) -> bool:
    return name.lower().endswith(".zip")


def foreign_archive(name: str) -> str:
    """The ending of an archive that is not read: ".7z" and the like; "" for other names.

    >>> foreign_archive("Work.TAR.gz"), foreign_archive("work.zip")
    ('.tar.gz', '')
    """
    endings = (".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar", ".tgz", ".7z", ".rar", ".gz", ".bz2", ".xz")
    return next((ending for ending in endings if name.lower().endswith(ending)), "")


def clean(name: str) -> str:
    """A name as text: one Unicode form, no control characters, no half characters."""
    text = unicodedata.normalize("NFC", name.encode("utf-8", "replace").decode("utf-8"))
    return "".join(c if c.isprintable() else "_" for c in text)
