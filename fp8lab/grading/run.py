"""Run an assembled notebook under pytest and nbval, in a process of its own, until every key has been driven.

A cell that ends the kernel, or outlives its time, costs its own exercise: the rest is run again in a fresh kernel
without it, for as long as the time of the whole notebook lasts. pytest runs in an empty folder with an environment,
configuration and plugins of ours alone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from fp8lab.grading import NO_TIME, PLUGINS
from fp8lab.grading.assemble import Assembled, Plan, assemble
from fp8lab.grading.launch import kernel_launch
from fp8lab.grading.places import new_folder
from fp8lab.grading.ready import pytest_environment, ready
from fp8lab.grading.view import lesson_view
from fp8lab.grading.warm import Copy, TemplateLost, templates

START_SECONDS = 60  # for pytest and a kernel to start on a busy machine
TOGETHER = 3  # times the time of one cell: what the learner's cells of a notebook may take, all kernels together

UNUSED = (  # plugins of pytest's own, each of which looks at every cell or costs an import
    *("cacheprovider", "debugging", "doctest", "faulthandler", "junitxml", "logging", "pastebin", "setuponly"),
    *("setupplan", "stepwise", "threadexception", "unittest", "unraisableexception", "warnings"),
)


class InfrastructureError(RuntimeError):
    """The grader itself failed: no kernel came up, or pytest did not run. Never the fault of a submission."""


@dataclass(frozen=True)
class Ground:
    """What all runs of a batch share: whether there is a sandbox, and the seconds that a cell may take."""

    sandbox: bool
    timeout: float


@dataclass(frozen=True)
class Shown:
    """What one driver cell showed: `status` is ran, or how the kernel was stopped; `evidence` is raw and untrusted."""

    status: str
    nonce: str = ""
    evidence: tuple[Any, ...] = ()
    error: tuple[str, str] | None = None


@dataclass
class Observed:
    """All that a plan showed: by key what its driver did, by exercise cell what its own code raised; and the seconds
    that the learner's cells took."""

    shown: dict[str, Shown] = field(default_factory=dict)
    raised: dict[str, tuple[str, str]] = field(default_factory=dict)
    kernels: int = 0
    seconds: float = 0.0


def observe(plan: Plan, ground: Ground, spent: float = 0.0) -> Observed:
    """Run `plan` with as many kernels as it takes. InfrastructureError when none comes up.

    spent: seconds that the learner's cells of the notebook have taken before, of TOGETHER * ground.timeout.
    """
    observed = Observed()
    waiting = list(plan.drive)
    without: set[str] = set()
    stop = time.monotonic() + 2 * START_SECONDS + TOGETHER * ground.timeout  # our own cells take time, too
    while waiting:
        left = min(TOGETHER * ground.timeout - spent - observed.seconds, stop - time.monotonic())
        if left <= 0:
            observed.shown.update({key: Shown(NO_TIME) for key in waiting})
            break
        assembled = assemble(plan, tuple(waiting), frozenset(without))
        events = run_notebook(assembled, ground, left)
        observed.kernels += 1
        culprit = _take(events, assembled, observed)
        _after(culprit, plan, assembled, observed, without)
        if culprit is None:
            observed.shown.update({key: Shown("ran") for key in waiting if key not in observed.shown})
        waiting = [key for key in waiting if key not in observed.shown]
    return observed


def _take(events: list[dict[str, Any]], assembled: Assembled, observed: Observed) -> tuple[str, str] | None:
    """Note what the cells did; (cell, status) of the one that ended the run early, None when all of them ran.

    InfrastructureError when a cell of ours did not run to its end before the first exercise: what it was to define,
    or import, an answer would be blamed for.
    """
    opening = _opening(assembled)
    for event in events:
        name, status = event["cell"], event["status"]
        error = tuple(event["error"]) if event["error"] else None
        if name in opening and (error or status != "ran"):
            raise _ours(name, ": ".join(error or (status,)))
        if name in assembled.drivers:
            key, nonce = assembled.drivers[name]
            observed.shown[key] = Shown(status, nonce, tuple(event["evidence"]), error)
        elif name in assembled.answers and error:
            observed.raised[assembled.answers[name]] = error
        if name in assembled.drivers or name in assembled.answers:
            observed.seconds += event["seconds"]
        if status != "ran":
            return name, status
    names = [cell["metadata"]["fp8lab"]["cell"] for cell in assembled.notebook["cells"]]
    if len(events) == len(names):
        return None
    if names[len(events)] in opening:
        raise _ours(names[len(events)], "crashed")
    return names[len(events)], "crashed"  # pytest itself was lost


def _ours(name: str, what: str) -> InfrastructureError:
    return InfrastructureError(f"the grader's own cell {name!r} did not run: {what}")


def _opening(assembled: Assembled) -> set[str]:
    """The cells before the first exercise: nothing that a learner writes has run by then."""
    names = (cell["metadata"]["fp8lab"]["cell"] for cell in assembled.notebook["cells"])
    return set(takewhile(lambda name: not name.startswith("stub "), names))


def _after(
    culprit: tuple[str, str] | None, plan: Plan, assembled: Assembled, observed: Observed, without: set[str]
) -> None:
    """Draw the consequences for the next kernel: whatever stopped this one is left out, its exercise is settled."""
    if culprit is None:
        return
    name, status = culprit
    if status == "lost":
        raise InfrastructureError("the template of the kernels has ended")
    if status.endswith(" in the grader"):  # nothing that a kernel sends should lead there
        raise InfrastructureError(f"{status}, in cell {name!r}")
    if name in assembled.drivers:
        key, nonce = assembled.drivers[name]
        observed.shown[key] = Shown(status, nonce)
        cell = plan.lesson.exercise_cell(key)
        if len(cell.keys) == 1:  # whoever calls it is blocked by it; a class may have other methods that work
            without.add(cell.id)
        return
    if name.startswith("stub "):  # ours and harmless: what an earlier cell left running has ended the kernel
        name = _answer_before(name, assembled)
    cell_id = assembled.answers.get(name, name)
    without.add(cell_id)
    if name in assembled.answers:
        keys = next(cell.keys for cell in plan.lesson.cells if cell.id == cell_id)
        observed.shown.update({key: Shown(status) for key in keys if key in plan.drive and key not in observed.shown})


def _answer_before(name: str, assembled: Assembled) -> str:
    """The learner's cell that ran last before the cell `name`."""
    names = [cell["metadata"]["fp8lab"]["cell"] for cell in assembled.notebook["cells"]]
    earlier = [other for other in names[: names.index(name)] if other in assembled.answers]
    if not earlier:
        raise InfrastructureError(f"cell {name!r} stopped the kernel before any cell of the learner had run")
    return earlier[-1]


def run_notebook(assembled: Assembled, ground: Ground, left: float) -> list[dict[str, Any]]:
    """One pytest, one kernel: the events of the cells that ran, in order. InfrastructureError without a kernel.

    left: seconds for all cells of the learner.
    """
    seconds = 2 * START_SECONDS + left
    here = ready(ground.sandbox)
    base = new_folder()
    try:
        control = base / "pytest"
        control.mkdir()
        events = control / "events.jsonl"
        view = lesson_view(assembled.lesson)
        launch = kernel_launch(view, base, sandbox=ground.sandbox, seconds=seconds, template=here.kernels)
        settings = {
            "launch": launch.to_dict(),
            "events": str(events),
            "start_timeout": START_SECONDS,
            "cell_timeout": ground.timeout,
            "left": left,
        }
        (control / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        (control / "grading.ipynb").write_text(json.dumps(assembled.notebook), encoding="utf-8")
        (control / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        said = _pytest(control, seconds, here.pytests)
        return _read(events, said)
    finally:
        shutil.rmtree(base, ignore_errors=True)


_live: set[subprocess.Popen] = set()


def end_all() -> None:
    """End whatever still runs, in all threads: the grader has been told to stop."""
    templates.end()
    for process in list(_live):
        _kill(process)


def _pytest(control: Path, seconds: float, template: str) -> str:
    """Run pytest in `control` until it ends or its time is up; the end of what it said on stderr and stdout."""
    arguments = ["-q", "--noconftest", "-c", "pytest.ini", "--rootdir", str(control)]
    arguments += [argument for plugin in PLUGINS for argument in ("-p", plugin)]
    arguments += [argument for plugin in UNUSED for argument in ("-p", f"no:{plugin}")]
    arguments += ["--tb=no", "--nbval-lax", "--nbval-current-env", "grading.ipynb"]
    output = control / "output.txt"
    env = pytest_environment(control)
    if template:
        _copied(template, {"arguments": arguments, "cwd": str(control), "env": env, "output": str(output)}, seconds)
    else:
        _started([sys.executable, "-m", "pytest", *arguments], control, env, output, seconds)
    with open(output, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 2000))
        return file.read().decode("utf-8", "replace").strip()


def _copied(template: str, request: dict[str, Any], seconds: float) -> None:
    """pytest as a copy of its template."""
    try:
        with Copy(template, request) as copy:
            copy.wait(seconds)
    except TemplateLost as problem:
        raise InfrastructureError(str(problem)) from None


def _started(line: list[str], control: Path, env: dict[str, str], output: Path, seconds: float) -> None:
    """pytest as a process of its own."""
    with open(output, "wb") as file:
        process = subprocess.Popen(
            line,
            cwd=control,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=os.name != "nt",
        )
        _live.add(process)
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _kill(process)
            _live.discard(process)


def _kill(process: subprocess.Popen) -> None:
    """End a process that is still there; on Linux its kernel goes with it."""
    if process.poll() is None:
        process.kill()
        process.wait()


def _read(path: Path, said: str) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    events = []
    for line in lines:
        try:
            events.append(json.loads(line))
        except ValueError:  # cut off when pytest was killed
            break
    if not events:
        raise InfrastructureError(f"pytest did not run the notebook: {said[-1000:] or 'it said nothing'}")
    if events[-1]["cell"] is None:
        raise InfrastructureError(f"no kernel came up: {events[-1]['message']}")
    return events
