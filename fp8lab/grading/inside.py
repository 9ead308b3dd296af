"""The grader's hand inside the kernel: sets the stage before the learner's cells, drives their objects after.

Nothing here is trusted. Whoever rewrites it from an exercise cell can send any arrays they like, and needs the right
ones all the same: neither the references nor the comparison are in this process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy
import torch

from fp8lab.course.drive import Drive, ErrorReport, Evidence, gather
from fp8lab.grading import EVIDENCE_MIME
from fp8lab.grading.parcel import unpack
from fp8lab.grading.seal import Seal

COUNTING = "fp8lab.course.lessons.l01_decode.driving_work"  # for lessons that forbid loops
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


def prepare(lesson: str, given: tuple[str, ...], namespace: dict[str, Any]) -> None:
    """The first cell: what the setup cell of a lesson leaves behind, streams capped, last expressions not shown.

    given: the modules of fp8lab that the lesson lays open; the others are closed for the cells that come.
    """
    from IPython import get_ipython

    shell = get_ipython()
    shell.ast_node_interactivity = "none"
    drives = import_module(f"fp8lab.course.lessons.l{lesson}.driving").DRIVES
    counting = sys.modules.get(COUNTING)
    seal = Seal(given, counting.breaks_off) if counting else Seal(given)
    if counting:
        counting.watch_threads()
    shell.fp8lab_drive = _driver(drives, shell.display_pub.publish, seal)
    sys.stdout, sys.stderr = CappedStream(sys.stdout), CappedStream(sys.stderr)
    import importlib.util
    import pathlib
    import site
    import subprocess

    modules = {"importlib": importlib, "pathlib": pathlib, "site": site, "subprocess": subprocess, "sys": sys}
    namespace.update(modules, check=InertCheck())
    seal.close()


def _driver(drives: dict[str, Any], publish: Callable[..., Any], seal: Seal) -> Callable[..., None]:
    """The function that a driver cell calls; it holds on to what it needs, whatever becomes of sys.modules."""

    def drive(key: str, namespace: dict[str, Any], given: int | str, nonce: str) -> None:
        """given: the seed of the inputs, or the packed inputs."""
        name = drives[key].name
        remarks = []
        if name in namespace:
            packed = isinstance(given, str)
            watched = Watched(replace(drives[key], inputs=lambda _: unpack(given)) if packed else drives[key], given)
            evidence = gather(watched.drive, namespace[name], given)
            remarks = watched.remarks()
        else:
            evidence = Evidence(key, "error", error=ErrorReport("NameError", f"name '{name}' is not defined"))
        seal.shut()
        remarks += [f"for review: tried to reach {', '.join(seal.reached)}"] if seal.reached else []
        seal.reached.clear()
        publish({EVIDENCE_MIME: {"nonce": nonce, "evidence": evidence.to_json(), "remarks": remarks}})

    return drive


class Watched:
    """A Drive that keeps the inputs it gives out, to see what has become of them. The same seed makes the same ones."""

    def __init__(self, drive: Drive, seed: Any) -> None:
        self.drive = replace(drive, inputs=self._given)
        self._inputs, self._seed = drive.inputs, seed
        self._kept: dict[str, Any] | None = None

    def _given(self, seed: int) -> dict[str, Any]:
        self._kept = self._inputs(seed)
        return self._kept

    def remarks(self) -> list[str]:
        """What the instructor and the learner should hear about the answer, right or wrong."""
        if self._kept is None:
            return []
        fresh = self._inputs(self._seed)
        changed = sorted(str(name) for name in fresh if not unchanged(fresh[name], self._kept.get(name)))
        return [f"changes its input {', '.join(changed)}"] if changed else []


def unchanged(before: Any, after: Any) -> bool:
    """Whether arrays, tensors and numbers, alone or in lists and dicts, are the same bit for bit. Others count as same.

    >>> unchanged([1.5, {"x": numpy.zeros(2)}], [1.5, {"x": numpy.ones(2)}]), unchanged(print, repr)
    (False, True)
    """
    if isinstance(before, torch.Tensor):
        return isinstance(after, torch.Tensor) and before.shape == after.shape and _bits(before) == _bits(after)
    if isinstance(before, numpy.ndarray):
        return isinstance(after, numpy.ndarray) and before.shape == after.shape and before.tobytes() == after.tobytes()
    if isinstance(before, dict):
        return isinstance(after, dict) and all(unchanged(before[name], after.get(name)) for name in before)
    if isinstance(before, (list, tuple)):
        same = isinstance(after, (list, tuple)) and len(before) == len(after)
        return same and all(unchanged(one, other) for one, other in zip(before, after))
    if isinstance(before, (int, float, str, bytes)):
        return isinstance(after, type(before)) and repr(before) == repr(after)
    return True


def _bits(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().cpu().contiguous().flatten()
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
