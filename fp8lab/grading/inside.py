"""The grader's hand inside the kernel: sets the stage before the learner's cells, drives their objects after.

Nothing here is trusted. Whoever rewrites it from an exercise cell can send any arrays they like, and needs the right
ones all the same: neither the references nor the comparison are in this process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fp8lab.course.drive import ErrorReport, Evidence, gather
from fp8lab.course.registry import lesson_drives
from fp8lab.grading import EVIDENCE_MIME

STREAM_LIMIT = 200_000  # characters of stdout and of stderr that leave the kernel; prints are no part of a grade


class InertCheck:
    """Stands in for `check` of a lesson's setup cell: takes every call, shows nothing, runs nothing."""

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        return None

    hint = solution = demo = progress = __call__


class CappedStream:
    """A text stream that swallows what goes beyond its limit, so that 60 MB of prints stay in the kernel."""

    def __init__(self, stream: Any, limit: int = STREAM_LIMIT) -> None:
        self._stream = stream
        self._left = limit

    def write(self, text: str) -> int:
        if self._left > 0:
            self._stream.write(text[: self._left])
            self._left -= len(text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def prepare(lesson: str, namespace: dict[str, Any]) -> None:
    """The first cell: what the setup cell of a lesson leaves behind, streams capped, last expressions not shown."""
    from IPython import get_ipython

    shell = get_ipython()
    shell.ast_node_interactivity = "none"
    shell.fp8lab_drive = _driver(lesson_drives(lesson), shell.display_pub.publish)
    sys.stdout, sys.stderr = CappedStream(sys.stdout), CappedStream(sys.stderr)
    import importlib.util
    import pathlib
    import site
    import subprocess

    modules = {"importlib": importlib, "pathlib": pathlib, "site": site, "subprocess": subprocess, "sys": sys}
    namespace.update(modules, check=InertCheck())


def _driver(drives: dict[str, Any], publish: Callable[..., Any]) -> Callable[..., None]:
    """The function that a driver cell calls; it holds on to what it needs, whatever becomes of sys.modules."""

    def drive(key: str, namespace: dict[str, Any], seed: int, nonce: str) -> None:
        name = drives[key].name
        if name in namespace:
            evidence = gather(drives[key], namespace[name], seed)
        else:
            evidence = Evidence(key, "error", error=ErrorReport("NameError", f"name '{name}' is not defined"))
        publish({EVIDENCE_MIME: {"nonce": nonce, "evidence": evidence.to_json()}})

    return drive
