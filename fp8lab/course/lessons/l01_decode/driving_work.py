"""How often the busiest line of Python runs inside a call: the measure of "no Python loop" in exercise 1.5.

Style cannot fool it. A `for`, a comprehension, a generator, `map` with a function of one's own, `numpy.vectorize` and
recursion all run some line once per element; array arithmetic runs every line once, whatever the number of elements.
What is computed before the call is not seen: a table that was made once is a fair way to decode.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch

import fp8lab

_LIBRARIES = tuple(str(Path(module.__file__).parent) for module in (numpy, torch, fp8lab))
_STANDARD = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_OURS = str(Path(__file__).parents[1])  # the lessons


def busiest_line(function: Callable[..., Any], *args: Any) -> tuple[Any, int]:
    """(what `function(*args)` returns, the number of times that its busiest line of Python was run).

    Lines inside numpy, torch, fp8lab and the standard library are not counted. A debugger's tracing pauses meanwhile.
    Whoever switches the counting off gets a count that is beyond every limit.

    >>> busiest_line(lambda n: [i * i for i in range(n)], 100)[1] >= 100
    True
    >>> busiest_line(lambda n: numpy.arange(n) ** 2, 100)[1]
    1
    """
    runs: Counter[tuple[Any, int, str]] = Counter()

    def count(frame: Any, event: str, arg: Any) -> Any:
        if _is_library(frame.f_code.co_filename):
            return None
        if event in ("call", "line"):
            runs[frame.f_code, frame.f_lineno, event] += 1
        return count

    before, of_threads = sys.gettrace(), threading.gettrace()
    threading.settrace(count)  # a loop in another thread is a loop
    sys.settrace(count)
    try:
        result = function(*args)
        silenced = sys.gettrace() is not count
    finally:
        sys.settrace(before)
        threading.settrace(of_threads)
    return result, sys.maxsize if silenced else max(runs.values(), default=0)


def _is_library(filename: str) -> bool:
    if filename.startswith(_OURS):
        return False  # the reference and the known mistakes are measured as a learner's code is
    in_standard = filename.startswith(_STANDARD) and "site-packages" not in filename
    return in_standard or filename.startswith((*_LIBRARIES, "<frozen", "<__array_function__"))
