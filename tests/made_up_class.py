"""Entries as the grader makes them, without a kernel: for tests of what is written about a class."""

from __future__ import annotations

from collections.abc import Mapping

from fp8lab.course.exercise import Result
from fp8lab.course.feedback import explain
from fp8lab.course.registry import lesson_exercises
from fp8lab.grading import judge
from fp8lab.grading.fingerprint import Fingerprint
from fp8lab.grading.verdict import Entry, Mark, Report

LESSON = "01_decode"


def entry(
    student: str,
    verdicts: Mapping[str, str] | str = "passed",
    *,
    lesson: str = LESSON,
    lang: str = "en",
    prints: Mapping[str, Fingerprint] | None = None,
    uses: Mapping[str, tuple[str, ...]] | None = None,
    misconceptions: Mapping[str, int] | None = None,
    **fields,
) -> Entry:
    """One learner's lesson. verdicts: key -> verdict ("passed" for the others), or one for all keys.

    misconceptions: key -> which of the record's misconceptions the answer shows; its verdict is "wrong".
    """
    edited = fields.pop("edited", ())
    misconceptions = misconceptions or {}
    marks = []
    for exercise in lesson_exercises(lesson):
        key = exercise.key
        verdict = verdicts if isinstance(verdicts, str) else verdicts.get(key, "passed")
        known = exercise.misconceptions[misconceptions[key]] if key in misconceptions else None
        state = {"passed": "right", "wrong": "wrong"}.get("wrong" if known else verdict)
        lines = (
            tuple(explain(exercise, Result(key, state, exercise.points, misconception=known), lang)) if state else ()
        )
        marks.append(
            Mark(
                key,
                "wrong" if known else verdict,
                exercise.points if verdict == "passed" and not known else 0,
                exercise.points,
                "took more than 20 s" if verdict == "timeout" else "",
                exercise.title.get(lang),
                lines,
                known.name if known else None,
                (uses or {}).get(key, ()),
                (prints or {}).get(key),
            )
        )
    report = Report(lesson, lang, tuple(marks), 1.0, 1, edited)
    return Entry(student, report, **{"path": f"{student}/{lesson}.ipynb", **fields})


def absent(student: str, lesson: str = LESSON, lang: str = "en") -> Entry:
    """A learner who did not hand the lesson in."""
    return Entry(student, judge.absent(lesson, lang))


def unreadable(student: str, problem: str, lesson: str = LESSON) -> Entry:
    """A learner whose file is damaged."""
    return Entry(student, judge.refused(lesson, "en", problem), f"{student}/{lesson}.ipynb", (), problem)
