"""How often the busiest line of Python runs inside a call: the measure of "no Python loop" in 1.5, 2.5 and 4.8.

Style cannot fool it. A `for`, a comprehension, a generator, `map` with a function of one's own, `numpy.vectorize` and
recursion all run some line once per element; array arithmetic runs every line once, whatever the number of elements.
What is computed before the call is not seen: a table that was made once is a fair way to decode.

Whose work it is: that of the thread which measures, and of the threads which that one starts; what others do meanwhile
is their business. In a grading kernel, after `watch_threads`, it is that of all threads (see driving_threads).
Whoever hides work is told that it cannot be counted, which is never a count: by switching the tracing off, in a thread
that is not traced, in another process.

Learners' objects are here while their work is counted. So what is called is bound when this module is imported, before
any code of theirs, and no method of an object of theirs is called: nobody would count what that does.
"""

from __future__ import annotations

import os
import threading
from _thread import allocate_lock, get_ident
from builtins import dict, id, len  # noqa: UP029 as they are now: builtins can be replaced
from collections.abc import Callable
from sys import _getframe, addaudithook, gettrace, settrace
from time import monotonic, sleep
from types import FrameType
from typing import Any

from fp8lab.course.lessons.l01_decode import driving_threads as threads
from fp8lab.course.lessons.l01_decode.driving_whose import hold, kind

_CLAIM = 16  # lines that only claim to be a library's count by so much less: a loop over 256 codes is still seen
_PATIENCE = 1.0  # seconds for a thread that is just being started to begin
_TRIES = tuple(reversed(range(1000)))  # how often to try what another thread's doing forbids for the moment
_RAW = ("_thread.start_new_thread", "_thread.start_joinable_thread")  # audit events of Python 3.12 and newer
_ELSEWHERE = ("os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen")  # audit events: work for another process
_STARTS = threading.Thread.start.__code__
_BEGINS = threading.Thread._bootstrap_inner.__code__


class CannotBeCounted(RuntimeError):
    """A call hides some of its work. Never a count, so that no two of them are equal: there is no verdict from it."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"how often its lines run cannot be counted: {why}. Compute in the thread of the call, with arrays"
        )


class _Enough(SystemExit):
    """Ends a call whose lines have run beyond the limit. A thread that ends with it says nothing."""


class _Measurement:
    """What is counted in one call."""

    def __init__(self, limit: int | None) -> None:
        self.owner = get_ident()
        self.ours = {self.owner: True}  # the threads whose work it is; where threads are watched, all are
        self.starting: dict[int, bool] = {}  # id of a Thread that they have started and that has not begun
        self.runs: dict[tuple[int, int, str], int] = {}  # id of the code, line, event
        self.claimed: dict[tuple[int, int, str], int] = {}
        self.inside: dict[int, bool] = {}  # id of a frame that was entered and not left
        self.limit = limit
        self.most = 0
        self.enough = False  # beyond the limit: all else is of no account
        self.breaks = False  # our trace function has raised: Python takes it away, and nobody else
        self.evaded = ""  # how

    def count(self, frame: FrameType, event: str, whose: str) -> None:
        if event == "call" or event == "line":
            counts = self.runs if whose == "own" else self.claimed
            key = (id(frame.f_code), frame.f_lineno, event)
            counts[key] = times = counts.get(key, 0) + 1
            times = times if whose == "own" else times // _CLAIM
            if times > self.most:
                self.most = times
                self.enough = self.limit is not None and times > self.limit
        if event == "call":
            self.inside[id(frame)] = True
        elif frame.f_trace is not _trace:
            self.evaded = "a frame's tracing is changed"
        if event == "return":
            self.inside.pop(id(frame), None)
            if not frame.f_trace_lines:
                self.evaded = "a frame's tracing is changed"
        if _watching and threads.strangers() > len(self.starting):
            self.evaded = "a thread is not traced"
        if self.enough and get_ident() == self.owner:
            raise _Enough


_current: _Measurement | None = None
_before: Any = None  # the trace function for threads that was there before ours
_watching = False
_listening = False
_one_at_a_time = allocate_lock()


def busiest_line(function: Callable[..., Any], *args: Any, limit: int | None = None) -> tuple[Any, int]:
    """(what `function(*args)` returns, the number of times that its busiest line of Python was run).

    Lines inside numpy, torch, fp8lab and the standard library are not counted. A debugger's tracing pauses meanwhile.
    With a limit the call ends as soon as a line has run more often; then it is (None, a number beyond the limit).
    CannotBeCounted: some of the work is hidden. What the function returns should be plain data: work that is put off
    until somebody looks at it is not seen.

    >>> import numpy
    >>> busiest_line(lambda n: [i * i for i in range(n)], 100)[1] >= 100
    True
    >>> busiest_line(lambda n: numpy.arange(n) ** 2, 100)[1]
    1
    >>> busiest_line(lambda n: [i * i for i in range(n)], 10**12, limit=100)
    (None, 101)
    """
    global _before, _current
    if _current is not None and _is_ours(_current):
        raise CannotBeCounted("the call that is counted counts, too")
    with _one_at_a_time:
        _listen()
        traced, _before = gettrace(), threads.hook()
        now = _Measurement(limit)
        if not _in_time(_all_known):
            now.evaded = "a thread is not traced"
        result = None
        _set_trace(_trace)
        _current = now
        try:
            result = function(*args)
        except _Enough:
            pass
        finally:
            silenced = gettrace() is not _trace or (_watching and threads.hook() is not _trace)
            _current = None
            _set_trace(traced)
            settled = _in_time(lambda: not now.starting and _all_known())
            threads.set_hook(_before)
        if now.enough:
            return None, now.most
        if silenced:
            raise CannotBeCounted("the tracing is switched off")
        if not settled:
            raise CannotBeCounted("a thread is not traced")
        if now.inside:
            raise CannotBeCounted("something of it still runs, or is not traced")
        if now.evaded:
            raise CannotBeCounted(now.evaded)
        return result, now.most


def watch_threads() -> None:
    """A grading kernel: all threads are traced from now on, a loop in any of them is seen, and none may escape."""
    global _watching
    _listen()
    _watching = True
    hold("fp8lab.")
    threads.know_all()
    threads.set_hook(_trace)


def breaks_off() -> bool:
    """Whether a call is being ended from within its tracing: then it is Python that switches the tracing off."""
    return _current is not None and _current.breaks


def _all_known() -> bool:
    return not (_watching and threads.strangers())


def _in_time(holds: Callable[[], bool]) -> bool:
    end = monotonic() + _PATIENCE
    while not holds():
        if monotonic() > end:
            return False
        sleep(0.001)
    return True


def _set_trace(trace: Any) -> None:
    """settrace, which Python 3.11 refuses while any other thread is just about it."""
    for left in _TRIES:
        try:
            return settrace(trace)
        except RuntimeError:
            if left == 0:
                raise
            sleep(0.001)


def _is_ours(now: _Measurement) -> bool:
    return _watching or get_ident() in now.ours


def _trace(frame: FrameType, event: str, arg: Any) -> Any:
    now = _current
    if not _watching and (now is None or not _is_ours(now)):
        _set_trace(_before)  # a thread that somebody else has started meanwhile, or one that is left over
        return _before(frame, event, arg) if _before is not None else None
    if frame.f_code is _STARTS:
        if now is not None and event == "call":
            now.starting[id(frame.f_locals["self"])] = True
            threads.set_hook(_trace)  # a loop in another thread is a loop; no longer than it takes that one to begin
        return None
    whose = kind(frame)
    if whose == "library":
        return None
    if now is not None:
        try:
            now.count(frame, event, whose)
        except BaseException:  # beyond the limit, or interrupted
            now.breaks = True
            raise
    return _trace


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook, called in the thread that it is about: no Python code can take it out again."""
    now = _current
    if event == "sys.settrace":
        caller = _getframe(1)
        if caller.f_code is _BEGINS:
            _begin(now, id(caller.f_locals["self"]))
        elif now is not None and _is_ours(now):
            now.evaded = "the tracing is switched"
    elif now is None:
        return
    elif event in _RAW:
        if _is_ours(now) and _getframe(1).f_code is not _STARTS:
            now.evaded = "a thread is not traced"
    elif event in _ELSEWHERE and _is_ours(now):
        now.evaded = "a process is started"


def _begin(now: _Measurement | None, thread: int) -> None:
    """The thread that is running begins, and is about to be traced by what threads are traced by."""
    if threads.hook() is not _trace:
        return
    if _watching:
        threads.know(get_ident())
    if now is None:
        return
    if now.starting.pop(thread, False):
        now.ours[get_ident()] = True
        if not now.starting and not _watching:
            threads.set_hook(_before)
    else:
        now.ours.pop(get_ident(), None)  # the number of a thread that has ended


def _listen() -> None:
    global _listening
    if not _listening:
        _listening = True
        addaudithook(_hear)


def _after_fork() -> None:
    """The copy of a process has one thread: nobody measures."""
    global _current, _one_at_a_time
    _current, _one_at_a_time = None, allocate_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
