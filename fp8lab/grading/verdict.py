"""The words of a grade: verdicts, the mark of one exercise, the report on one notebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from fp8lab.course.text import Text
from fp8lab.grading.fingerprint import Fingerprint

VERDICTS = (
    "passed",
    "wrong",
    "error",
    "not_attempted",
    "blocked",
    "timeout",
    "crashed",
    "missing",
    "rejected",
)
FROM_STATE = {  # state of a course.exercise.Result -> verdict
    "right": "passed",
    "wrong": "wrong",
    "error": "error",
    "not_attempted": "not_attempted",
    "blocked": "blocked",
}
SHOWN = {
    "passed": Text("passed", "通过"),
    "wrong": Text("wrong", "不正确"),
    "error": Text("raised an error", "抛出异常"),
    "not_attempted": Text("not attempted", "未作答"),
    "blocked": Text("blocked by an earlier exercise", "被前面的练习挡住"),
    "timeout": Text("took too long", "运行超时"),
    "crashed": Text("crashed the kernel", "导致内核崩溃"),
    "missing": Text("missing", "缺失"),
    "rejected": Text("not accepted", "不予采信"),
}


@dataclass(frozen=True)
class Mark:
    """The verdict on one exercise of one notebook.

    note           one line for the instructor's table, in English
    lines          what the learner reads, in the language of the notebook
    misconception  name of the recognised mistake
    uses           names in the learner's code that deserve a look, such as "fp8lab.decode"
    fingerprint    what fills the hole, for comparison with other learners; None when nothing does
    """

    key: str
    verdict: str
    points: int
    max_points: int
    note: str = ""
    title: str = ""
    lines: tuple[str, ...] = ()
    misconception: str | None = None
    uses: tuple[str, ...] = ()
    fingerprint: Fingerprint | None = None

    def __post_init__(self) -> None:
        assert self.verdict in VERDICTS, self.verdict
        assert self.points == 0 or self.verdict == "passed", "points go with a pass only"

    def noted(self, *notes: str) -> Mark:
        """The same mark with more notes."""
        return replace(self, note="; ".join(filter(None, [self.note, *notes])))


@dataclass(frozen=True)
class Report:
    """All marks of one notebook in one lesson; it does not name the learner, so equal files share one.

    seconds, kernels  what it cost: wall time and kernels started
    edited            keys whose check cells are not as we handed them out
    """

    lesson: str
    lang: str
    marks: tuple[Mark, ...]
    seconds: float = 0.0
    kernels: int = 0
    edited: tuple[str, ...] = ()

    @property
    def points(self) -> int:
        return sum(mark.points for mark in self.marks)

    @property
    def max_points(self) -> int:
        return sum(mark.max_points for mark in self.marks)

    def to_dict(self) -> dict[str, Any]:
        """A record that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        """The report that `to_dict` wrote."""
        marks = tuple(_mark_from_dict(mark) for mark in data["marks"])
        return cls(**{**data, "marks": marks, "edited": tuple(data["edited"])})


def _mark_from_dict(data: Mapping[str, Any]) -> Mark:
    fingerprint = data["fingerprint"] and Fingerprint(**data["fingerprint"])
    return Mark(**{**data, "lines": tuple(data["lines"]), "uses": tuple(data["uses"]), "fingerprint": fingerprint})


@dataclass(frozen=True)
class Entry:
    """One learner's report on one lesson, as it goes into the tables.

    path     the graded file, relative to the submissions; "" when nothing was handed in
    notes    remarks on the file for the instructor, such as further files that were not graded
    problem  why the file could not be read
    content  the same for files that are the same, byte for byte; "" when nobody has looked
    late     what tells that it came after the deadline; None if nothing does
    """

    student: str
    report: Report
    path: str = ""
    notes: tuple[str, ...] = ()
    problem: str = ""
    content: str = ""
    late: Text | None = None
