"""Drive a learner's answer and write down what it did: the half of a check that runs beside the learner's code.

Nothing here knows the right answer. The grader's kernel imports this file and a lesson's `driving.py`, no more;
the verdict falls in another process (`exercise.judge`), from the Evidence that `gather` returns.
"""

from __future__ import annotations

import copy
import os
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from fp8lab.course.arrays import as_array, from_json, to_json
from fp8lab.course.text import Text
from fp8lab.threads import one_thread

STUB_MESSAGE = re.compile(r"exercise (\d+\.\d+)")
MAX_EVIDENCE_BYTES = 8_000_000
USER_ERRORS = (
    ValueError,
    TypeError,
    RuntimeError,
    IndexError,
    KeyError,
    OverflowError,
    ZeroDivisionError,
    AttributeError,
)


class NotHere(NotImplementedError):
    """What an exercise needs is not on this machine (Triton on macOS): nobody's mistake. `reason` is for a reader."""

    def __init__(self, missing: str, reason: Text) -> None:
        super().__init__(f"{reason.en} / {reason.zh}")
        self.missing = missing
        self.reason = reason


@dataclass(frozen=True)
class Drive:
    """How one exercise is exercised: which object, on which inputs, and what of its behaviour is written down.

    key       "1.4"
    name      the function or class that the learner defines, "decode_byte"
    inputs    seed -> dict of inputs; the same seed always gives the same inputs
    drive     (answer, inputs) -> {array name: value}; the values are what the verdict compares
    requires  name of another exercise's object -> its key, for what the learner's code calls: {"fields": "1.1"}
    hidden    names of inputs that `drive` is not given, such as which codec is the right one. A drive that hides
              something gets its other inputs from the grader's process, as JSON: the code that makes them is not in
              the kernel, and neither is their seed
    """

    key: str
    name: str
    inputs: Callable[[int], dict[str, Any]]
    drive: Callable[[Any, dict[str, Any]], dict[str, Any]]
    requires: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()

    def visible(self, seed: int) -> dict[str, Any]:
        """The inputs that `drive` is given."""
        return {name: value for name, value in self.inputs(seed).items() if name not in self.hidden}


@dataclass(frozen=True)
class ErrorReport:
    """An exception of the learner's code: its type, its message, and the last line of theirs that it passed."""

    kind: str
    message: str
    line: int | None = None
    source: str = ""


@dataclass(frozen=True)
class Evidence:
    """What one drive of one answer showed.

    state is "arrays" (it ran: `arrays` holds its outputs), "not_attempted" (its own stub spoke), "blocked"
    (`blocked_by` is the key of an exercise it calls that is untouched or raises), or "error".
    """

    key: str
    state: str
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    blocked_by: str | None = None
    error: ErrorReport | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON: arrays as dtype, shape and bytes, never a pickle."""
        return {
            "key": self.key,
            "state": self.state,
            "arrays": {name: to_json(array) for name, array in self.arrays.items()},
            "blocked_by": self.blocked_by,
            "error": vars(self.error) if self.error else None,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Evidence:
        """The Evidence that `to_json` wrote. ValueError when the data are not of that form."""
        try:
            if data["state"] not in ("arrays", "not_attempted", "blocked", "error"):
                raise ValueError(f"state {data['state']!r} is unknown")
            error = data["error"]
            return cls(
                key=str(data["key"]),
                state=data["state"],
                arrays={str(name): from_json(array) for name, array in data["arrays"].items()},
                blocked_by=data["blocked_by"],
                error=ErrorReport(str(error["kind"]), str(error["message"]), error["line"], str(error["source"]))
                if error
                else None,
            )
        except (KeyError, AttributeError, TypeError) as problem:
            raise ValueError(f"evidence is not of the form that Evidence.to_json writes: {problem!r}") from problem


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What `function(*args)` returns, or the name of the exception it raises, so that errors can be compared.

    A stub's NotImplementedError is no outcome: it passes through and becomes "not attempted". Whoever returns the name
    of an error instead of raising it gets another text than whoever raises it.

    >>> outcome(int, "seven")
    'ValueError'
    """
    try:
        result = function(*args)
    except USER_ERRORS as problem:
        if isinstance(problem, NotImplementedError):
            raise
        return type(problem).__name__
    named = isinstance(result, str) and result in {error.__name__ for error in USER_ERRORS}
    return f"the text {str(result)!r}" if named else result


def gather(drive: Drive, answer: Any, seed: int, replace: Mapping[str, Any] | None = None) -> Evidence:
    """Drive `answer` on the inputs of `seed` and write down what happened. Never raises for the learner's mistakes.

    replace: objects to put in the place of the names that the answer calls (see `isolate`).
    KeyboardInterrupt passes through, so that a learner can stop a loop that does not end.
    """
    if replace:
        answer = isolate(answer, replace)
    try:
        with one_thread():
            results = drive.drive(answer, drive.visible(seed))
            arrays = {name: as_array(value) for name, value in results.items()}
    except NotImplementedError as problem:
        return _untouched(drive, problem)
    except (Exception, SystemExit) as problem:
        return _failed(drive, problem)
    size = sum(array.nbytes for array in arrays.values())
    if size > MAX_EVIDENCE_BYTES:
        report = ErrorReport(
            "OutputTooLarge", f"the results take {size:,} bytes; at most {MAX_EVIDENCE_BYTES:,} are read"
        )
        return Evidence(drive.key, "error", error=report)
    return Evidence(drive.key, "arrays", arrays)


def isolate(answer: Any, replace: Mapping[str, Any]) -> Any:
    """`answer` with some of the global names that it calls replaced; the original is not touched.

    A function gets a private copy of its globals. A class gets a subclass whose methods are treated so. Anything else
    is returned as it is.

    >>> def helper(): return "mine"
    >>> def answer(): return helper()
    >>> isolate(answer, {"helper": lambda: "theirs"})(), answer()
    ('theirs', 'mine')
    """
    if isinstance(answer, type):
        methods = {
            name: isolate(value, replace) for name, value in vars(answer).items() if isinstance(value, FunctionType)
        }
        return type(answer)(answer.__name__, (answer,), methods)
    if not isinstance(answer, FunctionType):
        return answer
    function = FunctionType(
        answer.__code__, {**answer.__globals__, **replace}, answer.__name__, answer.__defaults__, answer.__closure__
    )
    function.__kwdefaults__ = copy.copy(answer.__kwdefaults__)
    return function


def _untouched(drive: Drive, problem: NotImplementedError) -> Evidence:
    """A stub spoke: this exercise's own (not attempted), another's (blocked), or none of ours (an error)."""
    if isinstance(problem, NotHere):
        return Evidence(drive.key, "blocked", blocked_by=problem.missing, error=ErrorReport("NotHere", str(problem)))
    message = _message(problem)
    found = STUB_MESSAGE.match(message)
    if found is None:
        failed = _failed(drive, problem)
        own = failed.state == "error" and not message  # nbgrader's stub says nothing
        return Evidence(drive.key, "not_attempted") if own else failed
    if found[1] == drive.key:
        return Evidence(drive.key, "not_attempted")
    return Evidence(drive.key, "blocked", blocked_by=found[1])


def _failed(drive: Drive, problem: BaseException) -> Evidence:
    """The learner's code raised; when it was inside an exercise that this one calls, that one blocks it."""
    frames = traceback.extract_tb(problem.__traceback__)
    inside = [frame for frame in frames if frame.name in drive.requires and not frame.filename.startswith(_OURS)]
    report = _report(problem, frames)
    if inside:
        return Evidence(drive.key, "blocked", blocked_by=drive.requires[inside[0].name], error=report)
    return Evidence(drive.key, "error", error=report)


def _message(problem: BaseException) -> str:
    """What an exception says; "" for one that raises when it is asked."""
    try:
        return str(problem)[:2000]
    except Exception:
        return ""


_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep, "<frozen "  # and Python's own import machinery


def _report(problem: BaseException, frames: traceback.StackSummary) -> ErrorReport:
    """The exception with the innermost line that the learner wrote (not ours, not a library's)."""
    outside = [frame for frame in frames if not frame.filename.startswith(_OURS)]
    theirs = [frame for frame in outside if "site-packages" not in frame.filename]
    last = theirs[-1] if theirs else None
    return ErrorReport(
        type(problem).__name__, _message(problem), last.lineno if last else None, (last.line or "") if last else ""
    )
