"""From the bytes of a notebook to its marks: the unit of work of the grader, a pure function but for the time it takes.

The verdicts fall here, in the grader's process. What comes out of a kernel is evidence, plain arrays as text, and is
believed in nothing else: without exactly one piece of evidence with the right nonce there is no pass.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace

from fp8lab.course.drive import ErrorReport, Evidence
from fp8lab.course.exercise import Exercise, Result, judge
from fp8lab.course.registry import lesson_exercises
from fp8lab.course.source import Lesson, packaged
from fp8lab.grading import words
from fp8lab.grading.assemble import Plan, solved
from fp8lab.grading.fingerprint import Fingerprint, fingerprints
from fp8lab.grading.harvest import Answer, edited_checks, harvest
from fp8lab.grading.notebook import Unreadable, read_notebook
from fp8lab.grading.run import Ground, Observed, Shown, observe
from fp8lab.grading.seeds import seed_of
from fp8lab.grading.verdict import Mark, Report

MAX_REMARK = 120  # characters
AGAIN = ("wrong", "error")  # verdicts that a wrong prerequisite can have caused


def grade_notebook(data: bytes, lesson: str, lang: str, seed: int, ground: Ground) -> Report:
    """The report on one notebook. InfrastructureError when no kernel comes up; nothing that a learner writes raises."""
    began = time.monotonic()
    try:
        notebook = read_notebook(data)
    except Unreadable as problem:
        return refused(lesson, lang, str(problem))
    material = packaged(lesson)
    exercises = {exercise.key: exercise for exercise in lesson_exercises(lesson)}
    answers = harvest(notebook, material, {key: exercise.name for key, exercise in exercises.items()})
    grading = _Grading(material, exercises, answers, lang, seed, ground)
    marks = grading.marks()
    seconds = round(time.monotonic() - began, 3)
    return Report(lesson, lang, tuple(marks.values()), seconds, grading.kernels, edited_checks(notebook, material))


def refused(lesson: str | None, lang: str, reason: str) -> Report:
    """The report on a file that cannot be graded: every exercise rejected, for `reason`. No lesson, no exercises."""
    if lesson is None:
        return Report("", lang, ())
    marks = (words.mark(exercise, "rejected", lang, reason) for exercise in lesson_exercises(lesson))
    return Report(lesson, lang, tuple(marks))


def absent(lesson: str, lang: str) -> Report:
    """The report on a lesson that a learner did not hand in."""
    marks = (words.mark(exercise, "missing", lang, "not handed in") for exercise in lesson_exercises(lesson))
    return Report(lesson, lang, tuple(marks))


class _Grading:
    """One notebook being graded: what was found in it, and the marks so far."""

    def __init__(
        self,
        lesson: Lesson,
        exercises: Mapping[str, Exercise],
        answers: Mapping[str, Answer],
        lang: str,
        seed: int,
        ground: Ground,
    ) -> None:
        self.lesson, self.exercises, self.answers = lesson, exercises, answers
        self.lang, self.seed, self.ground = lang, seed, ground
        self.by_key = {key: answer for answer in answers.values() for key in answer.keys}
        self.raised: dict[str, Evidence] = {}  # of exercises that stopped inside one that they call
        self.remarks: dict[str, tuple[str, ...]] = {}  # by key, of the answer's behaviour
        self.kernels = 0
        self.seconds = 0.0  # that the learner's cells took

    def marks(self) -> dict[str, Mark]:
        """A mark for every exercise of the lesson, in order of their keys, whatever the notebook holds."""
        drive = tuple(key for key in self.exercises if key in self.by_key and self.by_key[key].runs)
        observed = Observed()
        if drive:
            code = {cell: answer.sources for cell, answer in self.answers.items() if answer.runs}
            observed = self._observe(Plan(self.lesson, code, drive, self.seed))
        marks = {key: self._mark(key, observed) for key in self.exercises}
        self._unblock(marks)
        self._judge_alone(marks)
        return {key: self._described(mark) for key, mark in marks.items()}

    def _observe(self, plan: Plan) -> Observed:
        observed = observe(plan, self.ground, self.seconds)
        self.kernels += observed.kernels
        self.seconds += observed.seconds
        return observed

    def _described(self, mark: Mark) -> Mark:
        """The mark with what there is to say about the code itself."""
        answer = self.by_key.get(mark.key)
        if answer is None:
            return mark
        notes = (*answer.notes, *self.remarks.get(mark.key, ()))
        return replace(mark.noted(*notes), uses=answer.uses, fingerprint=self._fingerprint(mark.key, answer))

    def _fingerprint(self, key: str, answer: Answer) -> Fingerprint | None:
        if not answer.runs:
            return None
        return fingerprints(answer.sources, self.lesson.exercise_cell(key)).get(key)

    def _mark(self, key: str, observed: Observed) -> Mark:
        exercise, answer = self.exercises[key], self.by_key.get(key)
        if answer is None or answer.missing:
            return words.mark(exercise, "missing", self.lang, "no cell of this exercise in the notebook")
        if answer.untouched:
            return words.result_mark(exercise, Result(key, "not_attempted"), self.lang)
        if answer.broken:
            return words.error_mark(exercise, answer.broken, self.lang)
        if answer.refused:
            return words.refused_mark(exercise, answer.refused, self.lang)
        shown = observed.shown[key]
        if shown.status != "ran":
            return words.stopped_mark(exercise, shown.status, self.ground.timeout, self.lang)
        return self._judged(exercise, answer, shown, observed)

    def _judged(self, exercise: Exercise, answer: Answer, shown: Shown, observed: Observed) -> Mark:
        evidence = read_evidence(exercise.key, shown)
        self.remarks.setdefault(exercise.key, read_remarks(shown))
        if isinstance(evidence, str):
            if shown.error and not shown.evidence:
                return words.error_mark(exercise, f"{shown.error[0]}: {shown.error[1]}", self.lang)
            return words.mark(exercise, "rejected", self.lang, evidence)
        if evidence.state == "not_attempted":  # the stub spoke: ours, if the learner's cell did not get that far
            if answer.cell in observed.raised:
                return words.error_mark(exercise, ": ".join(observed.raised[answer.cell]), self.lang)
            if exercise.name in answer.undefined:
                return words.error_mark(exercise, f"the cell does not define {exercise.name}", self.lang)
        if evidence.state == "blocked" and evidence.error:
            self.raised[exercise.key] = evidence
        try:
            result = judge(exercise, evidence, seed_of(self.seed, exercise.key))
        except Exception as problem:  # arrays that nothing honest produces
            return words.mark(exercise, "rejected", self.lang, f"evidence cannot be compared: {problem}")
        return words.result_mark(exercise, result, self.lang)

    def _unblock(self, marks: dict[str, Mark]) -> None:
        """What a right answer raises when it is called wrongly is the caller's error, and blocks nothing: the rule of
        the learner's own check (`fp8lab.course.check.verdict`)."""
        for key, evidence in self.raised.items():
            if evidence.blocked_by in marks and marks[evidence.blocked_by].verdict == "passed":
                own = replace(evidence, state="error", blocked_by=None)
                result = judge(self.exercises[key], own, seed_of(self.seed, key))
                marks[key] = words.result_mark(self.exercises[key], result, self.lang)

    def _judge_alone(self, marks: dict[str, Mark]) -> None:
        """Exercises that rest on wrong ones get a second run on ours; what passes then, passes."""
        again = {key: needed for key in marks if (needed := self._replaceable(key, marks))}
        while again:
            group: list[str] = []
            replaced: set[str] = set()
            for key, needed in again.items():
                own = {self._cell(other) for other in (*group, key)}
                if not own & (replaced | needed):
                    group.append(key)
                    replaced |= needed
            code = {cell: (solved(self._cell_record(cell)),) for cell in replaced}
            code.update({self._cell(key): self.by_key[key].sources for key in group})
            observed = self._observe(Plan(self.lesson, code, tuple(group), self.seed))
            for key in group:
                marks[key] = self._better(key, marks, observed)
                del again[key]

    def _replaceable(self, key: str, marks: Mapping[str, Mark]) -> set[str]:
        """The cells to put ours in for, if `key` may have failed because of what it rests on; else none."""
        if marks[key].verdict not in AGAIN or not self.by_key[key].runs:
            return set()
        needed = self._closure(key)
        if not any(marks[other].verdict not in ("passed", "missing") for other in needed):
            return set()
        code = "\n".join(self.by_key[key].sources)
        if not any(re.search(rf"\b{re.escape(self.exercises[other].name)}\b", code) for other in needed):
            return set()  # it calls none of them, so theirs or ours makes no difference
        return {self._cell(other) for other in needed} - {self._cell(key)}

    def _better(self, key: str, marks: Mapping[str, Mark], observed: Observed) -> Mark:
        alone = self._mark(key, observed)
        if alone.verdict != "passed":
            return marks[key]
        faulty = tuple(other for other in self._closure(key) if marks[other].verdict != "passed")
        result = Result(key, "right", self.exercises[key].points, stood_in=faulty)
        return words.result_mark(self.exercises[key], result, self.lang)

    def _closure(self, key: str) -> list[str]:
        """All keys that an exercise rests on, directly or through others, in order."""
        found: set[str] = set()
        waiting = [key]
        while waiting:
            for needed in self.exercises[waiting.pop()].requires.values():
                if needed in self.exercises and needed not in found:
                    found.add(needed)
                    waiting.append(needed)
        return [other for other in self.exercises if other in found - {key}]

    def _cell(self, key: str) -> str:
        return self.lesson.exercise_cell(key).id

    def _cell_record(self, cell_id: str):
        return next(cell for cell in self.lesson.cells if cell.id == cell_id)


def read_evidence(key: str, shown: Shown) -> Evidence | str:
    """The evidence of a driver cell, or why it counts for nothing."""
    if len(shown.evidence) != 1:
        count = len(shown.evidence)
        return f"evidence came back {count} times instead of once" if count else "no evidence came back"
    record = shown.evidence[0]
    if not isinstance(record, dict) or record.get("nonce") != shown.nonce:
        return "the evidence is not the answer to the grader's question (nonce)"
    try:
        evidence = Evidence.from_json(record["evidence"])
        error = evidence.error and ErrorReport(
            evidence.error.kind,
            evidence.error.message,
            evidence.error.line if isinstance(evidence.error.line, int) else None,
            evidence.error.source,
        )
    except Exception as problem:  # whatever it is, it is not what `emit` writes
        return f"the evidence is malformed: {type(problem).__name__}"
    if evidence.key != key:
        return f"the evidence is that of exercise {evidence.key[:20]}"
    if evidence.state == "blocked" and not isinstance(evidence.blocked_by, str):
        return "the evidence is malformed: blocked by nothing"
    return replace(evidence, error=error)


def read_remarks(shown: Shown) -> tuple[str, ...]:
    """What the kernel says about the answer's behaviour, for the note. Untrusted: of the form expected, and short."""
    record = shown.evidence[0] if len(shown.evidence) == 1 and isinstance(shown.evidence[0], dict) else {}
    remarks = record.get("remarks", []) if record.get("nonce") == shown.nonce else []
    texts = [text for text in remarks if isinstance(text, str)] if isinstance(remarks, list) else []
    return tuple("".join(c for c in text[:MAX_REMARK] if c.isprintable()) for text in texts[:2])
