"""Runs commands side by side and watches them: wall time of each, and the most memory that all their processes held.

Memory is the proportional set size (PSS) of the process trees, sampled every two seconds (a sample takes about 0.1 s of
a processor): what forked processes share is counted once. Where the kernel does not tell it (not Linux, or another
user's process), the resident size stands in.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

SAMPLE_SECONDS, POLL_SECONDS = 2.0, 0.05


@dataclass
class Watched:
    """seconds and codes of each command, in order; `peak` bytes of all of them together; `said` on stdout, stderr."""

    seconds: list[float]
    codes: list[int]
    peak: int
    said: list[str]


def run_watched(
    commands: Sequence[Sequence[str]],
    folder: Path,
    env: Mapping[str, str] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Watched:
    """Run the commands in `folder` until they end. When `stop()` says so, kill -9 their first processes alone."""
    folder.mkdir(parents=True, exist_ok=True)
    logs = [folder / f"said-{number}.txt" for number in range(len(commands))]
    began = time.monotonic()
    running = [
        subprocess.Popen(
            list(command),
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=open(log, "wb"),
            stderr=subprocess.STDOUT,
        )
        for command, log in zip(commands, logs)
    ]
    ended: dict[int, float] = {}
    peak, sampled = 0, 0.0
    try:
        while len(ended) < len(running):
            for number, process in enumerate(running):
                if number not in ended and process.poll() is not None:
                    ended[number] = time.monotonic() - began
            if time.monotonic() - sampled >= SAMPLE_SECONDS:
                sampled = time.monotonic()
                peak = max(peak, sum(tree_bytes(process.pid) for process in running if process.poll() is None))
                if stop():
                    for process in running:
                        process.kill()
            time.sleep(POLL_SECONDS)
    finally:
        for process in running:
            process.kill()
            process.wait()
    said = [log.read_text(encoding="utf-8", errors="replace") for log in logs]
    return Watched([ended[n] for n in range(len(running))], [p.returncode for p in running], peak, said)


def tree(pid: int) -> list[psutil.Process]:
    """The process and all that descend from it."""
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def alive(process: psutil.Process) -> bool:
    """Whether it still runs; one that only waits for its parent to look does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def tree_bytes(pid: int) -> int:
    """The memory of a process tree."""
    return sum(_bytes(process) for process in tree(pid))


def _bytes(process: psutil.Process) -> int:
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        try:
            return process.memory_info().rss
        except psutil.Error:
            return 0
