"""A pytest plugin over nbval: writes down what every cell did, and for driver cells the evidence that it displayed.

nbval collects the notebook, runs it cell by cell and keeps the outputs; what it thinks of a cell is not used. Its
control comments and tags (NBVAL_SKIP and the like) are overruled, since learners can write them too. One JSON line per
cell goes to a file at once, so that nothing is lost when this process is.

Configured by the JSON file that FP8LAB_GRADING_RUN names; `run.run_notebook` writes it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import defaultdict
from typing import Any

import nbval.plugin
import pytest

from fp8lab.grading import EVIDENCE_MIME, NO_TIME, PREPARE, SETTINGS
from fp8lab.grading.kernel import KernelStopped, WatchedKernel
from fp8lab.grading.launch import Launch
from fp8lab.grading.provisioner import use

MAX_TEXT = 2000  # characters of an error's message that are kept
PR_SET_PDEATHSIG = 1  # linux/prctl.h

_settings: dict[str, Any] = {}


def pytest_configure(config: pytest.Config) -> None:
    with open(os.environ[SETTINGS], encoding="utf-8") as file:
        _settings.update(json.load(file))
    launch = Launch.from_dict(_settings["launch"])
    end_with_parent()
    set_limits(launch.resources)
    use(launch)
    nbval.plugin.RunningKernel = WatchedKernel


def pytest_collection_modifyitems(items: list[Any]) -> None:
    for item in items:
        item.options = defaultdict(bool, check=False, skip=False, check_exception=True)


def pytest_runtest_setup(item: Any) -> None:
    """Our own first cell imports torch, and waits for as long as a busy machine takes; the learner's cells do not, and
    have `left` seconds together."""
    first = item.cell.metadata["fp8lab"]["cell"] == PREPARE
    seconds = _settings["start_timeout"] if first else _settings["cell_timeout"]
    WatchedKernel.cell_timeout = min(seconds, max(_settings["left"], 0.0)) if _is_theirs(item) else seconds


def _is_theirs(item: Any) -> bool:
    """Whether a cell runs code of the learner's."""
    return item.cell.metadata["fp8lab"]["role"] in ("answer", "driver")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: pytest.CallInfo) -> Any:
    yield
    problem = call.excinfo.value if call.excinfo else None
    if call.when == "setup" and problem is not None:
        _write({"cell": None, "status": "no kernel", "message": f"{type(problem).__name__}: {problem}"[:MAX_TEXT]})
        item.session.shouldstop = "no kernel"
    if call.when != "call":
        return
    status = "ran"
    if problem is not None:
        status = problem.kind if isinstance(problem, KernelStopped) else f"{type(problem).__name__} in the grader"
        if status == "timeout" and WatchedKernel.cell_timeout < _settings["cell_timeout"]:
            status = NO_TIME
        item.session.shouldstop = status
    if _is_theirs(item):
        _settings["left"] -= call.duration
    _write({**_event(item), "status": status, "seconds": round(call.duration, 3)})


def _event(item: Any) -> dict[str, Any]:
    outputs = item.test_outputs or []
    errors = [output for output in outputs if output.output_type == "error"]
    shown = [output["data"][EVIDENCE_MIME] for output in outputs if EVIDENCE_MIME in output.get("data", {})]
    return {
        "cell": item.cell.metadata["fp8lab"]["cell"],
        "error": [str(errors[0].get("ename"))[:MAX_TEXT], str(errors[0].get("evalue"))[:MAX_TEXT]] if errors else None,
        "evidence": shown if item.cell.metadata["fp8lab"]["role"] == "driver" else [],
    }


def _write(event: dict[str, Any]) -> None:
    with open(_settings["events"], "a", encoding="utf-8") as file:
        file.write(json.dumps(event) + "\n")


def end_with_parent() -> None:
    """On Linux, die with the grader, also when it is killed; the kernel dies with this process."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def set_limits(resources: dict[str, int]) -> None:
    """Resource limits of this process, which a kernel that it starts inherits; a copied one is given the same."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for name, value in resources.items():
        number = getattr(resource, name, None)
        if number is None:
            continue
        _, hard = resource.getrlimit(number)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(number, (most, most))
        except (ValueError, OSError):  # macOS refuses some of them
            continue
