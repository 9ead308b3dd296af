"""The threads of a grading kernel: which of them are traced, and the hook by which new ones are.

A thread is known if it was there when the kernel was made ready, or if threading has handed it our trace function when
it began. Threads are told apart by their numbers, which no object of a learner's can forge, and a number is forgotten
when its thread ends.
"""

from __future__ import annotations

import threading
from _thread import _local
from sys import _current_frames
from typing import Any
from weakref import ref


class _Life:
    """Dies with its thread."""

    __slots__ = ("__weakref__",)


_known: dict[int, ref[_Life]] = {}
_of_thread = _local()
_always = _Life()
_names = vars(threading)


def know_all() -> None:
    """All threads that are running now are known."""
    for number in _current_frames():
        _known[number] = ref(_always)


def know(number: int) -> None:
    """The thread that calls, whose number this is, is known until it ends."""
    _of_thread.life = life = _Life()
    _known[number] = ref(life)


def strangers() -> int:
    """How many threads are running that are not known."""
    count = 0
    for number in _current_frames():
        life = _known.get(number)
        if life is None or life() is None:
            count += 1
    return count


def hook() -> Any:
    """What threading traces new threads by."""
    return _names["_trace_hook"]


def set_hook(trace: Any) -> None:
    _names["_trace_hook"] = trace
