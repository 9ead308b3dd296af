"""How often the busiest line of Python runs inside a call: the measure of "no Python loop" in exercise 1.5.

Style cannot fool it. A `for`, a comprehension, a generator, `map` with a function of one's own, `numpy.vectorize` and
recursion all run some line once per element; array arithmetic runs every line once, whatever the number of elements.
What is computed before the call is not seen: a table that was made once is a fair way to decode.

Whoever hides the loop from the counting gets a count beyond every limit: by switching it off and on again, in a thread
that is not watched, in another process. Code is a library's only if the library's module holds it.
"""

from __future__ import annotations

import _thread
import sys
import sysconfig
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy
import torch

import fp8lab

_LIBRARIES = tuple(str(Path(module.__file__).parent) for module in (numpy, torch, fp8lab))
_STANDARD = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_OURS = str(Path(__file__).parents[1])  # the lessons
_CLAIM = 16  # lines that only claim to be a library's count by so much less: a loop over 256 codes is still seen
_RAW = ("_thread.start_new_thread", "_thread.start_joinable_thread")  # audit events of Python 3.12 and newer
_ELSEWHERE = ("os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen")  # audit events: work for another process


def busiest_line(function: Callable[..., Any], *args: Any) -> tuple[Any, int]:
    """(what `function(*args)` returns, the number of times that its busiest line of Python was run).

    Lines inside numpy, torch, fp8lab and the standard library are not counted. A debugger's tracing pauses meanwhile.
    Whoever evades the counting gets a count that is beyond every limit.

    >>> busiest_line(lambda n: [i * i for i in range(n)], 100)[1] >= 100
    True
    >>> busiest_line(lambda n: numpy.arange(n) ** 2, 100)[1]
    1
    """
    _listen()
    before, of_threads = sys.gettrace(), threading.gettrace()
    threading.settrace(_trace)  # a loop in another thread is a loop
    sys.settrace(_trace)
    _meter.start()
    try:
        result = function(*args)
    finally:
        silenced = sys.gettrace() is not _trace
        runs = _meter.stop()
        sys.settrace(before)
        threading.settrace(of_threads)
    return result, sys.maxsize if silenced else runs


def watch_threads() -> None:
    """From now on trace every thread that is started, so that a loop in it is seen when it serves a counted call."""
    _listen()
    _meter.watch()
    threading.settrace(_trace)


class _Meter:
    """What is counted between `start` and `stop`, and whether any thread escapes the counting.

    A thread is known if it was there before `watch`, or if threading has handed it our trace function.
    """

    def __init__(self) -> None:
        self.runs: Counter[tuple[CodeType, int, str]] | None = None
        self.claimed: Counter[tuple[CodeType, int, str]] = Counter()
        self.inside: set[int] = set()  # frames that were entered and not left
        self.known: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self.raw = 0  # threads that threading knows nothing of
        self.evaded = self.watching = False
        self.started = 0  # threads, since `start`

    def watch(self) -> None:
        self.watching = True
        self.known.update(threading.enumerate())
        self.raw = _raw_threads()

    def start(self) -> None:
        if not self.watching:
            self.known = weakref.WeakSet(threading.enumerate())
            self.raw = _raw_threads()
        self.inside.clear()
        self.claimed.clear()
        self.started = 0
        self.evaded = self._stranger()
        self.runs = Counter()

    def stop(self) -> int:
        runs, self.runs = self.runs, None
        if self.evaded or self.inside or self.started > 0 or self._stranger():
            return sys.maxsize
        return max(max(runs.values(), default=0), max(self.claimed.values(), default=0) // _CLAIM)

    def _stranger(self) -> bool:
        """Whether a thread is alive that is not traced."""
        return _raw_threads() > self.raw or any(t not in self.known for t in threading.enumerate())

    def count(self, frame: FrameType, event: str, kind: str) -> None:
        runs = self.runs if kind == "own" else self.claimed
        if event in ("call", "line"):
            runs[frame.f_code, frame.f_lineno, event] += 1
        self.evaded |= _raw_threads() > self.raw
        if event == "call":
            self.inside.add(id(frame))
        elif event == "return":
            self.inside.discard(id(frame))
            self.evaded |= not frame.f_trace_lines


_meter = _Meter()
_STARTS = threading.Thread.start.__code__
_STEPS = (_Meter.start.__code__, _Meter.stop.__code__, _Meter._stranger.__code__, _STARTS)


def _trace(frame: FrameType, event: str, arg: Any) -> Any:
    if frame.f_code in _STEPS:
        _meter.started += frame.f_code is _STARTS and event == "call"
        return None
    kind = _kind(frame)
    if kind == "library":
        return None
    if _meter.runs is not None:
        _meter.count(frame, event, kind)
    return _trace


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook: no Python code can take it out again."""
    if event == "sys.settrace":
        caller = sys._getframe(1)
        if caller.f_code is _BEGINS and threading.gettrace() is _trace:
            _meter.known.add(caller.f_locals["self"])
            _meter.started -= 1
        elif _meter.runs is not None:
            _meter.evaded = True
    elif event in _RAW:
        _meter.evaded |= _meter.runs is not None and sys._getframe(1).f_code is not _STARTS
    elif event in _ELSEWHERE and _meter.runs is not None:
        _meter.evaded = True


_BEGINS = threading.Thread._bootstrap_inner.__code__
_listening: list[bool] = []


def _raw_threads() -> int:
    """How many threads of Python are running that were not started by way of threading."""
    own = sum(not isinstance(thread, threading._DummyThread) for thread in threading.enumerate())
    return _thread._count() + 1 - own


def _listen() -> None:
    if not _listening:
        _listening.append(True)
        sys.addaudithook(_hear)


# ---- whose code it is

_kinds: dict[int, tuple[CodeType, str]] = {}
_held: dict[str, set[CodeType]] = {}


def _kind(frame: FrameType) -> str:
    """ "own", "library", or "claimed": it has a library's file name and is not in the library's module."""
    code = frame.f_code
    known = _kinds.get(id(code))
    if known is None or known[0] is not code:
        kind = "own" if not _is_library(code.co_filename) else "library" if _is_held(frame) else "claimed"
        _kinds[id(code)] = known = code, kind
    return known[1]


def _is_library(filename: str) -> bool:
    if filename.startswith(_OURS):
        return False  # the reference and the known mistakes are measured as a learner's code is
    in_standard = filename.startswith(_STANDARD) and "site-packages" not in filename
    return in_standard or filename.startswith((*_LIBRARIES, "<frozen", "<__array_function__"))


def _is_held(frame: FrameType) -> bool:
    """Whether the module in whose name a frame runs is the one that holds its code."""
    name = frame.f_globals.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if not isinstance(module, ModuleType) or vars(module) is not frame.f_globals:
        return False
    if name not in _held:
        _held[name] = {code for value in list(vars(module).values()) for code in _codes(value, name, set())}
    return frame.f_code in _held[name]


def _codes(value: Any, module: str, seen: set[int]) -> Iterator[CodeType]:
    """The code of what a module defines: functions, what they wrap and contain, and the members of its classes."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, CodeType):
        yield value
        for constant in value.co_consts:
            yield from _codes(constant, module, seen)
    elif isinstance(value, FunctionType):
        yield from _codes(value.__code__, module, seen)
        for cell in value.__closure__ or ():
            try:
                yield from _codes(cell.cell_contents, module, seen)
            except ValueError:  # an empty cell
                continue
        if "__wrapped__" in vars(value):
            yield from _codes(vars(value)["__wrapped__"], module, seen)
    elif isinstance(value, (classmethod, staticmethod)):
        yield from _codes(value.__func__, module, seen)
    elif isinstance(value, property):
        for part in (value.fget, value.fset, value.fdel):
            yield from _codes(part, module, seen)
    elif isinstance(value, type) and (value.__module__ == module or value.__module__.startswith("_frozen_importlib")):
        for member in list(vars(value).values()):
            yield from _codes(member, module, seen)
