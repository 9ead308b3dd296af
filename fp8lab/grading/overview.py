"""A class in figures: what report.html draws and lists. Pure data, no words and no HTML."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from fp8lab.course.exercise import Exercise
from fp8lab.course.registry import LESSONS, lesson_exercises
from fp8lab.course.source import packaged, packaged_names
from fp8lab.course.text import Text
from fp8lab.grading.verdict import Entry

EXAMPLES = 3  # learners named as examples of a mistake
BINS = 10  # of a histogram of percentages
STOPPED = ("timeout", "crashed")


@dataclass(frozen=True)
class Trouble:
    """Files that did not become marks.

    broken   (path, reason) where the grader failed        strange  names of files that are no notebooks
    remarks  what else was said about the submissions
    """

    broken: tuple[tuple[str, str], ...] = ()
    strange: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Score:
    """Points of one learner in one lesson. state: "graded", "missing" (not handed in), "unreadable". late: it was."""

    points: int
    most: int
    state: str = "graded"
    late: bool = False


@dataclass(frozen=True)
class Learner:
    """One learner over all lessons. lessons: name -> score."""

    student: str
    points: int
    most: int
    passed: int
    exercises: int
    lessons: Mapping[str, Score]

    @property
    def percent(self) -> float:
        """Of all points that there were to get; 0 when there were none."""
        return 100 * self.points / self.most if self.most else 0.0


@dataclass(frozen=True)
class ExerciseFigures:
    """How one exercise went. counts: verdict -> learners."""

    lesson: str
    key: str
    title: Text
    counts: Counter[str]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def share(self, verdict: str) -> float:
        """Of all learners, 0 to 1."""
        return self.counts[verdict] / self.total if self.total else 0.0


@dataclass(frozen=True)
class Seen:
    """Something that happened to `count` learners in one exercise, and some of them.

    name     of a misconception, or of a verdict
    explain  of the misconception, from the exercise's record; None if the record does not know it
    """

    lesson: str
    key: str
    title: Text
    name: str
    count: int
    examples: tuple[str, ...]
    explain: Text | None = None
    note: str = ""


@dataclass(frozen=True)
class Overview:
    """The figures of a class. lessons: name -> title; exercises hardest first; unreadable, late: such entries."""

    learners: tuple[Learner, ...]
    lessons: Mapping[str, Text]
    exercises: tuple[ExerciseFigures, ...]
    misconceptions: tuple[Seen, ...]
    stopped: tuple[Seen, ...]
    unreadable: tuple[Entry, ...]
    late: tuple[Entry, ...] = ()

    @property
    def passed(self) -> float:
        """Share of all exercises of all learners that are passed."""
        total = sum(exercise.total for exercise in self.exercises)
        return sum(exercise.counts["passed"] for exercise in self.exercises) / total if total else 0.0


def overview(entries: Sequence[Entry], expected: Sequence[str]) -> Overview:
    """The figures of all entries. `expected`: names of lessons in order."""
    lessons = [lesson for lesson in dict.fromkeys([*expected, *(e.report.lesson for e in entries)]) if lesson]
    return Overview(
        _learners(entries),
        {lesson: lesson_title(lesson) for lesson in lessons},
        _exercises(entries),
        _misconceptions(entries),
        _stopped(entries),
        tuple(entry for entry in entries if entry.problem),
        tuple(entry for entry in entries if entry.late),
    )


def histogram(percents: Sequence[float]) -> list[int]:
    """How many values lie in each tenth of 0..100; the last tenth holds 100, too.

    >>> histogram([0, 9.9, 10, 100, 95])
    [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    """
    counts = [0] * BINS
    for value in percents:
        counts[min(BINS - 1, max(0, int(value * BINS / 100)))] += 1
    return counts


def middle(percents: Sequence[float]) -> float:
    """The median; 0 of nothing."""
    return statistics.median(percents) if percents else 0.0


def lesson_percents(overview: Overview, lesson: str) -> list[float]:
    """Percentages in one lesson, of those who handed it in and could be read."""
    scores = [learner.lessons[lesson] for learner in overview.learners if lesson in learner.lessons]
    return [100 * s.points / s.most for s in scores if s.state == "graded" and s.most]


@cache
def lesson_title(lesson: str) -> Text:
    """The title of a lesson; its name when the package does not have it."""
    if lesson in packaged_names():
        title = packaged(lesson).title
        return Text(title["en"], title["zh"])
    return Text(lesson, lesson)


@cache
def _records(lesson: str) -> dict[str, Exercise]:
    return {exercise.key: exercise for exercise in lesson_exercises(lesson)} if lesson in LESSONS else {}


def _title(lesson: str, key: str, fallback: str) -> Text:
    record = _records(lesson).get(key)
    return record.title if record else Text(fallback or key, fallback or key)


def _learners(entries: Sequence[Entry]) -> tuple[Learner, ...]:
    by_student: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_student[entry.student].append(entry)
    found = []
    for student, mine in by_student.items():
        marks = [mark for entry in mine for mark in entry.report.marks]
        lessons = {entry.report.lesson: _score(entry) for entry in mine if entry.report.lesson}
        points, most = sum(mark.points for mark in marks), sum(mark.max_points for mark in marks)
        passed = sum(mark.verdict == "passed" for mark in marks)
        found.append(Learner(student, points, most, passed, len(marks), lessons))
    return tuple(found)


def _score(entry: Entry) -> Score:
    state = "unreadable" if entry.problem else "graded" if entry.path else "missing"
    return Score(entry.report.points, entry.report.max_points, state, entry.late is not None)


def _exercises(entries: Sequence[Entry]) -> tuple[ExerciseFigures, ...]:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    titles: dict[tuple[str, str], str] = {}
    for entry in entries:
        for mark in entry.report.marks:
            place = entry.report.lesson, mark.key
            counts[place][mark.verdict] += 1
            titles.setdefault(place, mark.title)
    found = [ExerciseFigures(*place, _title(*place, titles[place]), count) for place, count in counts.items()]
    return tuple(sorted(found, key=lambda figures: (figures.share("passed"), *_order(figures.lesson, figures.key))))


def _misconceptions(entries: Sequence[Entry]) -> tuple[Seen, ...]:
    """Most frequent first."""
    people: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    titles: dict[tuple[str, str], str] = {}
    for entry in entries:
        for mark in entry.report.marks:
            if mark.misconception:
                people[entry.report.lesson, mark.key, mark.misconception].append(entry.student)
                titles.setdefault((entry.report.lesson, mark.key), mark.title)
    found = []
    for (lesson, key, name), students in people.items():
        record = _records(lesson).get(key)
        known = next((m.explain for m in record.misconceptions if m.name == name), None) if record else None
        title = _title(lesson, key, titles[lesson, key])
        found.append(Seen(lesson, key, title, name, len(students), tuple(students[:EXAMPLES]), known))
    return tuple(sorted(found, key=lambda seen: (-seen.count, *_order(seen.lesson, seen.key), seen.name)))


def _stopped(entries: Sequence[Entry]) -> tuple[Seen, ...]:
    """Time outs and crashes by exercise, most frequent first; the note is that of the first learner."""
    people: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
    titles: dict[tuple[str, str], str] = {}
    for entry in entries:
        for mark in entry.report.marks:
            if mark.verdict in STOPPED:
                people[entry.report.lesson, mark.key, mark.verdict].append((entry.student, mark.note))
                titles.setdefault((entry.report.lesson, mark.key), mark.title)
    found = []
    for (lesson, key, verdict), several in people.items():
        students = tuple(student for student, _ in several[:EXAMPLES])
        title = _title(lesson, key, titles[lesson, key])
        found.append(Seen(lesson, key, title, verdict, len(several), students, note=several[0][1]))
    return tuple(sorted(found, key=lambda seen: (-seen.count, *_order(seen.lesson, seen.key), seen.name)))


def _order(lesson: str, key: str) -> tuple:
    """Sorts "2.10" after "2.9", and takes any text for a key."""
    return lesson, [int(part) if part.isascii() and part.isdigit() else 0 for part in key.split(".")], key
