"""The template of the pytest processes: has pytest and nbval imported, and forks a process per notebook (see forking).

python -m fp8lab.grading.pytests DESCRIPTOR    of the listening socket
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from typing import Any

from fp8lab.grading import NBFORMAT, PLUGINS
from fp8lab.grading.forking import Template, import_those_there, listener_of

IMPORTED = (  # by a pytest that runs a notebook, until its kernel is there
    *PLUGINS,
    *("pytest", "_pytest.main", "jupyter_client.manager", "jupyter_client.blocking", "nbformat", "nbformat.validator"),
    *("asyncio", "fastjsonschema", "jsonschema", "ipykernel.kernelspec", "coverage", "psutil", "readline"),
)


def main(descriptor: str) -> None:
    listener = listener_of(int(descriptor))
    parent = os.getpid()
    import_those_there(IMPORTED)
    read_nothing()
    gc.collect()
    gc.freeze()
    Template(listener, lambda request: become_pytest(request, parent)).serve()


def read_nothing() -> None:
    """Have nbformat compile its schema, which it does for the first notebook that it reads."""
    import nbformat

    major, minor = NBFORMAT
    nothing = {"cells": [], "metadata": {}, "nbformat": major, "nbformat_minor": minor}
    nbformat.reads(json.dumps(nothing), as_version=major)


def become_pytest(request: dict[str, Any], parent: int) -> int:
    """In the copy: pytest with {"arguments"} in {"cwd"}, with {"env"} alone, and its output in the file {"output"}."""
    from fp8lab.grading.plugin import end_with_parent

    os.setsid()
    end_with_parent()
    if os.getppid() != parent:  # it was gone before that
        os.kill(os.getpid(), signal.SIGKILL)
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for descriptor, source in ((0, null), (1, output), (2, output)):
        os.dup2(source, descriptor)
    os.closerange(3, max(int(name) for name in os.listdir("/proc/self/fd")) + 1)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    import pytest

    return int(pytest.main(request["arguments"]))


if __name__ == "__main__":
    main(sys.argv[1])
