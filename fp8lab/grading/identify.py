"""Which lesson a notebook is: its exercise markers say; failing those, its metadata, its file name, what it defines."""

from __future__ import annotations

import re
from functools import lru_cache

from fp8lab.course.keep import MINE
from fp8lab.course.registry import LESSONS, lesson_drives
from fp8lab.course.source import packaged_names
from fp8lab.grading.harvest import fragments, lesson_by_markers
from fp8lab.grading.notebook import SubmittedNotebook

COPY = re.compile(r"(?:[ _-]*\(\d+\)|[ _-]*copy[ _-]?\d*|[ _-]*副本\d*)+$", re.IGNORECASE)


@lru_cache(maxsize=1)
def gradable() -> tuple[str, ...]:
    """The lessons that have both exercise records and a text in the package, in order."""
    return tuple(lesson for lesson in packaged_names() if lesson in LESSONS)


def identify(notebook: SubmittedNotebook, by_name: str | None = None) -> str | None:
    """The lesson that a notebook belongs to. by_name: what its file name says."""
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


def student_in_name(stem: str) -> str:
    """The learner's name in a file's: without the lesson, and without what browsers and `fp8lab build` add to copies.

    >>> student_in_name("01_decode-ann (2)"), student_in_name("01_decode"), student_in_name("ann.mine_01_decode")
    ('ann', '01_decode', 'ann.mine')
    """
    return _rest(stem) or COPY.sub("", stem) or stem


def nameless(stem: str) -> bool:
    """Whether a file's name tells a lesson and nobody's name."""
    return lesson_in_name(stem) is not None and not _rest(stem)


def _rest(stem: str) -> str:
    bare = COPY.sub("", stem)
    lesson = lesson_in_name(bare)
    if lesson and MINE.sub("", bare).endswith(lesson):
        bare = MINE.sub("", bare)
    return COPY.sub("", bare.replace(lesson, "").strip(" _-.") if lesson else bare)
