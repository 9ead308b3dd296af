"""The Exercise record, and the verdict: the half of a check that knows the right answer.

One record serves the learner's check, the hints, the grader and its own tests. `judge` sees Evidence only, arrays
that came from elsewhere; it never touches the learner's objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from fp8lab.course.arrays import as_array
from fp8lab.course.compare import Difference, Tolerance, differs, first_difference
from fp8lab.course.drive import Drive, ErrorReport, Evidence, gather
from fp8lab.course.text import Text

STATES = ("not_attempted", "blocked", "error", "wrong", "right")


@dataclass(frozen=True)
class Misconception:
    """A wrong belief as code: `answer` behaves as somebody who holds it would write; `explain` says why it is wrong."""

    name: str
    answer: Any
    explain: Text


def no_input_text(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    """The default of `Exercise.show`: the name of the array and the index say it all."""
    return f"{array}[{', '.join(map(str, index))}]" if index else array


@dataclass(frozen=True, eq=False)
class Exercise:
    """One TODO of the course.

    drive           how the answer is exercised (the kernel's half)
    points, title   for the report
    hints           from a nudge to nearly the answer
    reference       a right answer
    misconceptions  named wrong answers, at least three
    variants        right answers written otherwise (other dtype, other order): they must pass
    tolerance       when two numbers count as the same
    show            (inputs, array name, index) -> the input behind that element, in symbols: "byte 0x78 = 0 1111 000"
    facts           (inputs, arrays) -> the arrays to compare, made from those that the drive wrote down. For answers of
                    which many are right: what is true of them is found out by the judge, not beside the learner's
                    code. The arrays come from there: facts trust neither their names nor dtypes, shapes or sizes
                    (see `fp8lab.course.raw`)
    """

    drive: Drive
    points: int
    title: Text
    hints: tuple[Text, ...]
    reference: Any
    misconceptions: tuple[Misconception, ...]
    variants: tuple[Any, ...] = ()
    tolerance: Tolerance = field(default_factory=Tolerance)
    show: Callable[[Mapping[str, Any], str, tuple[int, ...]], str] = no_input_text
    facts: Callable[[Mapping[str, Any], Mapping[str, np.ndarray]], Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        if self.points < 1:
            raise ValueError(f"exercise {self.key}: points must be at least 1, given {self.points}")
        names = [m.name for m in self.misconceptions]
        if len(names) < 3 or len(set(names)) < len(names):
            raise ValueError(f"exercise {self.key}: at least three misconceptions with different names, given {names}")
        if not self.hints:
            raise ValueError(f"exercise {self.key}: at least one hint")

    @property
    def key(self) -> str:
        return self.drive.key

    @property
    def name(self) -> str:
        return self.drive.name

    @property
    def requires(self) -> Mapping[str, str]:
        return self.drive.requires


@dataclass(frozen=True)
class Result:
    """A verdict on one exercise.

    state          one of STATES
    difference     where it first went wrong (state "wrong")
    input          the input behind the difference, in symbols
    misconception  the named mistake, if the behaviour is one that the record knows
    exact          True: the whole behaviour is that of the misconception; False: every wrong element is
    error          what the learner's code raised (states "error" and "blocked")
    blocked_by     key of the exercise that must be done first
    stood_in       keys whose reference stood in for the learner's own, wrong, version when this verdict was found
    """

    key: str
    state: str
    points: int = 0
    difference: Difference | None = None
    input: str = ""
    misconception: Misconception | None = None
    exact: bool = True
    error: ErrorReport | None = None
    blocked_by: str | None = None
    stood_in: tuple[str, ...] = ()


def judge(exercise: Exercise, evidence: Evidence, seed: int) -> Result:
    """The verdict on `evidence`, which must come from a drive on the inputs of the same `seed`.

    ValueError when the evidence is of another exercise.
    """
    if evidence.key != exercise.key:
        raise ValueError(f"evidence of exercise {evidence.key} cannot be judged as exercise {exercise.key}")
    if evidence.state in ("not_attempted", "blocked"):
        return Result(exercise.key, evidence.state, blocked_by=evidence.blocked_by, error=evidence.error)
    if evidence.state == "error":
        return Result(exercise.key, "error", error=evidence.error, misconception=_same_error(exercise, evidence, seed))
    got = _compared(exercise, evidence, seed).arrays
    want = _expected(exercise, seed).arrays
    difference = first_difference(got, want, exercise.tolerance)
    if difference is None:
        return Result(exercise.key, "right", points=exercise.points)
    misconception, exact = recognise(exercise, got, seed)
    shown = _input_of(exercise, seed, difference)
    return Result(exercise.key, "wrong", 0, difference, shown, misconception, exact)


def recognise(exercise: Exercise, got: Mapping[str, np.ndarray], seed: int) -> tuple[Misconception | None, bool]:
    """The misconception that behaves like `got` (after `facts`), and whether it does so everywhere.

    Failing an exact one, one that agrees wherever `got` is wrong: the learner has a part of that mistake. The one with
    the fewest further mistakes wins. (None, False) when there is none.
    """
    want = _expected(exercise, seed).arrays
    partial: list[tuple[int, Misconception]] = []
    for position, misconception in enumerate(exercise.misconceptions):
        behaviour = _behaviour(exercise, position, seed)
        if behaviour.state != "arrays":
            continue
        if first_difference(got, behaviour.arrays, exercise.tolerance) is None:
            return misconception, True
        surplus = _unexplained(got, behaviour.arrays, want, exercise.tolerance)
        if surplus is not None:
            partial.append((surplus, misconception))
    return (min(partial, key=lambda pair: pair[0])[1], False) if partial else (None, False)


def _unexplained(
    got: Mapping[str, np.ndarray], wrong: Mapping[str, np.ndarray], want: Mapping[str, np.ndarray], tolerance: Tolerance
) -> int | None:
    """How many elements `wrong` gets wrong that `got` does not.

    None when `got` has a mistake that `wrong` has not, and when `got` shares less than half of what `wrong` gets
    wrong: the opposite of every yes and no agrees with any mistake, and explains none.
    """
    surplus = shared = 0
    for name, wanted in want.items():
        shapes = {arrays[name].shape if name in arrays else None for arrays in (got, wrong, want)}
        if len(shapes) > 1:
            return None
        mistaken = differs(got[name], wanted, tolerance)
        if (mistaken & differs(got[name], wrong[name], tolerance)).any():
            return None
        shared += int(mistaken.sum())
        surplus += int((differs(wrong[name], wanted, tolerance) & ~mistaken).sum())
    return surplus if surplus <= shared else None


def _same_error(exercise: Exercise, evidence: Evidence, seed: int) -> Misconception | None:
    """A misconception that fails with the very same exception."""
    for position, misconception in enumerate(exercise.misconceptions):
        error = _behaviour(exercise, position, seed).error
        if error and evidence.error and (error.kind, error.message) == (evidence.error.kind, evidence.error.message):
            return misconception
    return None


def _input_of(exercise: Exercise, seed: int, difference: Difference) -> str:
    if difference.kind != "value":
        return difference.array
    return exercise.show(exercise.drive.inputs(seed), difference.array, difference.index)


def _compared(exercise: Exercise, evidence: Evidence, seed: int) -> Evidence:
    """The evidence with the arrays that are compared: those of the drive, or the facts about them."""
    if exercise.facts is None or evidence.state != "arrays":
        return evidence
    facts = exercise.facts(exercise.drive.inputs(seed), evidence.arrays)
    return replace(evidence, arrays={name: as_array(value) for name, value in facts.items()})


@lru_cache(maxsize=512)
def _expected(exercise: Exercise, seed: int) -> Evidence:
    evidence = _compared(exercise, gather(exercise.drive, exercise.reference, seed), seed)
    assert evidence.state == "arrays", f"the reference of exercise {exercise.key} fails: {evidence}"
    return evidence


@lru_cache(maxsize=2048)
def _behaviour(exercise: Exercise, position: int, seed: int) -> Evidence:
    return _compared(exercise, gather(exercise.drive, exercise.misconceptions[position].answer, seed), seed)
