"""Which lessons and exercises there are. A lesson is a package in `fp8lab.course.lessons`: its folder is its entry.

lessons/l01_decode/driving.py    DRIVES: key -> Drive          what a grading kernel may see
lessons/l01_decode/exercises.py  EXERCISES: tuple of Exercise  what it must not need
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import fp8lab.course.lessons
from fp8lab.course.drive import Drive
from fp8lab.course.exercise import Exercise

LESSONS = tuple(sorted(m.name[1:] for m in pkgutil.iter_modules(fp8lab.course.lessons.__path__) if m.ispkg))


def lesson_drives(lesson: str) -> dict[str, Drive]:
    """The drives of a lesson by key. Imports no reference and no misconception."""
    return _part(lesson, "driving").DRIVES


@cache
def lesson_exercises(lesson: str) -> tuple[Exercise, ...]:
    """The exercises of a lesson in order of their keys. ValueError for a lesson that is not there."""
    return tuple(sorted(_part(lesson, "exercises").EXERCISES, key=lambda e: key_order(e.key)))


def exercise(key: str) -> Exercise:
    """The exercise with this key. ValueError that lists the keys of that lesson when there is none."""
    if not isinstance(key, str):
        raise ValueError(f'there is no exercise {key!r}; a key is text, in quotes: "{key}"')
    known = []
    for lesson in LESSONS:
        if lesson.split("_")[0].lstrip("0") == str(key).split(".")[0].lstrip("0"):
            for candidate in lesson_exercises(lesson):
                if candidate.key == key:
                    return candidate
                known.append(candidate.key)
    hint = f"lesson {str(key).split('.')[0]} has {', '.join(known)}" if known else f"lessons: {', '.join(LESSONS)}"
    raise ValueError(f"there is no exercise {key!r}; {hint}")


def lesson_of(key: str) -> str:
    """The name of the lesson that holds exercise `key`. ValueError as `exercise`."""
    exercise(key)
    return next(lesson for lesson in LESSONS if any(e.key == key for e in lesson_exercises(lesson)))


def key_order(key: str) -> tuple[int, int]:
    """Sorts "2.10" after "2.9".

    >>> sorted(["2.10", "2.9", "1.1"], key=key_order)
    ['1.1', '2.9', '2.10']
    """
    lesson, number = key.split(".")
    return int(lesson), int(number)


def _part(lesson: str, part: str):
    if lesson not in LESSONS:
        raise ValueError(f"there is no lesson {lesson!r}; there are {', '.join(LESSONS)}")
    return importlib.import_module(f"fp8lab.course.lessons.l{lesson}.{part}")
