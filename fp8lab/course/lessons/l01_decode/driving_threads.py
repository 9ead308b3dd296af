"""The threads of a grading kernel: which of them are traced, and the hook by which new ones are.

A thread is known if it was there when the kernel was made ready, or if threading has handed it our trace function when
it began. Threads are told apart by their numbers, which no object of a learner's can forge, and a number is forgotten
when its thread ends.
"""

from __future__ import annotations

import threading
from _thread import _local
from builtins import dict, vars  # noqa: UP029 as they are now: builtins can be replaced
from sys import _current_frames
from typing import Any

_known: dict[int, bool] = {}
_of_thread = _local()
_names = vars(threading)


class _Life:
    """Dies with its thread."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        _known.pop(self.number, None)


def know_all() -> None:
    """All threads that are running now are known."""
    for number in _current_frames():
        _known[number] = True


def know(number: int) -> None:
    """The thread that calls, whose number this is, is known until it ends."""
    _of_thread.life = _Life(number)
    _known[number] = True


def stranger() -> bool:
    """Whether a thread is running that is not known."""
    for number in _current_frames():
        if number not in _known:
            return True
    return False


def hook() -> Any:
    """What threading traces new threads by."""
    return _names["_trace_hook"]


def set_hook(trace: Any) -> None:
    _names["_trace_hook"] = trace
