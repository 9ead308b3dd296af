"""Ways to loop in Python that hide from whoever counts the lines that run: `EVASIONS`, by name."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
import types

import numpy as np
import torch

LOOP = "def loop():\n    out = []\n    for code in range(256):\n        out.append(code)\n    return out\n"


def plain():
    out = []
    for code in range(256):
        out.append(code)
    return out


def in_a_thread():
    worker = threading.Thread(target=plain)
    worker.start()
    worker.join()


def switched_off_and_on():
    trace = sys.gettrace()
    sys.settrace(None)
    result = plain()
    sys.settrace(trace)
    return result


def frame_with(name, value):
    """A loop that first sets an attribute of its own frame."""

    def loop():
        setattr(sys._getframe(), name, value)
        out = []
        for code in range(256):
            out.append(code)
        return out

    return loop


def thread_without_hook():
    hook = threading.gettrace()
    threading.settrace(None)
    worker = threading.Thread(target=plain)
    worker.start()
    worker.join()
    threading.settrace(hook)


def raw_thread():
    import _thread

    done = _thread.allocate_lock()
    done.acquire()

    def work():
        plain()
        done.release()

    _thread.start_new_thread(work, ())
    done.acquire()


def another_process():
    return subprocess.run([sys.executable, "-c", LOOP], capture_output=True)


def a_fork():
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, bytes(plain()))
        os._exit(0)
    return os.read(read, 256)


def compiled_as(filename, space=None):
    space = {} if space is None else space
    exec(compile(LOOP, filename, "exec"), space)
    return space["loop"]


EVASIONS = {
    "switched off and on": switched_off_and_on,
    "own frame untraced": frame_with("f_trace", None),
    "lines switched off": frame_with("f_trace_lines", False),
    "thread without the hook": thread_without_hook,
    "raw thread": raw_thread,
    "another process": another_process,
    "a fork": a_fork,
    "frozen": compiled_as("<frozen abc>"),
    "array function": compiled_as("<__array_function__ internals>"),
    "named like numpy": compiled_as(np.__file__),
    "named like a standard module": compiled_as(functools.__file__, {"__name__": "functools"}),
    "in a library's name": compiled_as(torch.__file__, types.ModuleType("torch").__dict__),
}
