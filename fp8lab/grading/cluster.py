"""`--dask ADDRESS`: the jobs of a class on a Dask cluster that is there already (Slurm, Kubernetes, a few machines).

A job is bytes, a lesson, a seed and limits, a result is a report: nothing needs a shared disk. Whoever can reach a Dask
scheduler runs programs on its workers, and the secret seed goes to scheduler and workers with every job: over tcp:// in
clear, over tls:// not. It is on no worker's disk; a submission, in its sandbox, has no network to ask for it.

A worker that is lost in mid-run costs time: Dask gives its jobs to another. Workers that come later are looked at, too:
one with another course or without a sandbox gives no marks.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import platform
import socket
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fp8lab import __version__
from fp8lab.grading.cache import course_digest
from fp8lab.grading.launch import SandboxMissing, require_sandbox

ANSWER_SECONDS = 20.0  # for the scheduler to answer, and for a first worker to be there
CHECK_SECONDS = 120.0  # for every worker to import torch and to try its sandbox
PACKAGES = ("torch", "numpy", "nbval", "pytest", "ipykernel")
INSTALL = f'pip install "fp8lab[grade,cluster]=={__version__}"'
LATE = (TimeoutError, asyncio.TimeoutError)  # two classes on Python 3.10
SAME = ("fp8lab", "course", "python", "torch", "numpy")  # what marks can depend on


class ClusterError(RuntimeError):
    """There is no cluster that could grade; the message says what to do."""


@dataclass(frozen=True)
class Cluster:
    """Where the jobs run, how many at a time, on how many workers."""

    executor: Executor
    slots: int
    workers: int

    def __str__(self) -> str:
        return f"{self.workers} workers, {self.slots} notebooks at a time"


@contextmanager
def dask_cluster(address: str, *, sandbox: bool = True, seconds: float = ANSWER_SECONDS) -> Iterator[Cluster]:
    """The cluster whose scheduler is at `address` (tcp://host:8786), with every worker looked at.

    ClusterError when distributed is not installed, nobody answers within `seconds`, there is no worker, or a worker has
    other versions than this machine or cannot run a sandbox.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ClusterError('--dask needs distributed, not installed here: pip install "fp8lab[cluster]"')
    from distributed import Client

    with _quiet():
        try:
            client = Client(address, timeout=seconds, set_as_default=False, name="fp8lab grade")
        except (OSError, *LATE, ValueError, TypeError) as problem:
            reason = f"within {seconds:g} s" if isinstance(problem, (OSError, *LATE)) else f"({problem})"
            raise ClusterError(
                f"no Dask scheduler answers at {address} {reason}; start one with `dask scheduler`, which prints its "
                "address, and a `dask worker ADDRESS` on every machine"
            ) from None
    with _quiet(), client:
        slots = _checked_workers(client, address, sandbox, seconds)
        executor = client.get_executor(pure=False)
        try:
            yield Cluster(_Checked(executor, sandbox), sum(slots.values()), len(slots))
        finally:
            executor.shutdown(wait=False)  # what is still running there is for nobody


def _checked_workers(client: Any, address: str, sandbox: bool, seconds: float) -> dict[str, int]:
    """Worker -> jobs that it runs at a time. ClusterError names every worker that cannot grade."""
    try:
        client.wait_for_workers(1, timeout=seconds)
    except LATE:
        raise ClusterError(f"the scheduler at {address} has no workers; start some: dask worker {address}") from None
    try:
        client.run_on_scheduler(machine)  # it takes apart what it hands on
    except Exception as problem:
        reason = without_fp8lab(problem) or f"it does not answer ({type(problem).__name__}: {problem})"
        raise ClusterError(f"the scheduler at {address}: {reason}") from None
    told = client.run(facts, sandbox, on_error="return")
    here = machine()
    problems = [f"{name}: {problem}" for name, there in sorted(told.items()) if (problem := unfit(here, there))]
    if problems:
        raise ClusterError("some workers cannot grade. " + "; ".join(problems))
    return {name: count for name, count in client.nthreads().items() if name in told}


def unfit(here: Mapping[str, str], there: Mapping[str, str] | BaseException) -> str:
    """Why a worker cannot grade for this machine; "" if it can."""
    if isinstance(there, BaseException):
        return without_fp8lab(there) or f"it does not answer ({type(there).__name__}: {there})"
    where = f"on {there['host']} "
    absent = [name for name in PACKAGES if not there[name]]
    if absent:
        return f'{where}{", ".join(absent)} not installed: pip install "fp8lab[grade,cluster]=={__version__}"'
    other = [f"{name} {there[name]} (here {here[name]})" for name in SAME if there[name] != here[name]]
    if other:
        return f"{where}{', '.join(other)}; marks could differ: install the same versions"
    if there["sandbox"]:
        return f"{where}no sandbox: {there['sandbox']}"
    return ""


def without_fp8lab(problem: BaseException) -> str:
    """What to do where Python finds no fp8lab like ours; "" for another problem. Dask may hand on only its words."""
    if "ModuleNotFoundError" not in f"{type(problem).__name__}: {problem}":
        return ""
    return f"no fp8lab there, or another ({problem}): {INSTALL}"


async def facts(sandbox: bool) -> dict[str, str]:
    """What a worker says of itself; its other tasks go on meanwhile."""
    return await asyncio.wait_for(
        asyncio.to_thread(lambda: {**machine(), "sandbox": no_sandbox(sandbox)}), CHECK_SECONDS
    )


def machine() -> dict[str, str]:
    """Name of this machine, and the versions of what grades on it; "" for what is not installed."""
    python = ".".join(platform.python_version_tuple()[:2])
    found = {"host": socket.gethostname(), "fp8lab": __version__, "course": course_digest()[:12], "python": python}
    for name in PACKAGES:
        try:
            found[name] = version(name).split("+")[0]  # +cpu, +cu128
        except PackageNotFoundError:
            found[name] = ""
    return found


@lru_cache(maxsize=2)
def no_sandbox(wanted: bool) -> str:
    """Why this machine has no sandbox although one is wanted; "" if all is well."""
    try:
        if wanted:
            require_sandbox()
    except SandboxMissing as problem:
        return str(problem)
    return ""


@dataclass(frozen=True, repr=False)
class Job:
    """A call; Dask may log it, and its own words would show the notebook and the seed."""

    work: Callable
    args: tuple
    kwargs: Mapping[str, Any]

    def __repr__(self) -> str:
        return "a job of fp8lab grade"


class _Checked(Executor):
    """Hands jobs to the cluster, each with what its worker must be like."""

    def __init__(self, executor: Executor, sandbox: bool) -> None:
        self._executor, self._sandbox, self._here = executor, sandbox, machine()

    def submit(self, work: Callable, /, *args: Any, **kwargs: Any) -> Future:
        return self._executor.submit(on_worker, self._here, self._sandbox, Job(work, args, kwargs))


def on_worker(here: Mapping[str, str], sandbox: bool, job: Job) -> Any:
    """What the job returns, on a worker that is fit for it. ClusterError on another, which joined after the start."""
    problem = unfit(here, {**_this_machine(), "sandbox": no_sandbox(sandbox)})
    if problem:
        raise ClusterError(problem)
    return job.work(*job.args, **job.kwargs)


@lru_cache(maxsize=1)
def _this_machine() -> dict[str, str]:
    return machine()


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's own log says in pages what we say in a line."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
