"""What the processes of a kernel use, seen from outside, and what the machine has left. Linux; elsewhere nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

MEMORY_LEFT = 256 * 2**20  # bytes: below that the machine itself is in danger
CONNECTION = "kernel"  # the connection file is kernel.json, the sockets are kernel-ipc-1 to 5


def process_tree(roots: Iterable[int]) -> tuple[set[int], int]:
    """(pids, resident bytes) of processes and their descendants; shared pages count for each. Nothing without /proc."""
    if not os.path.isdir("/proc/self"):
        return set(), 0
    children: dict[int, list[int]] = {}
    resident: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        children.setdefault(int(fields[1]), []).append(int(name))
        resident[int(name)] = int(fields[21])
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, [])
    return found, sum(resident.get(pid, 0) for pid in found) * os.sysconf("SC_PAGE_SIZE")


def proportional(pids: set[int]) -> int:
    """Bytes that processes take together, every shared page once (Pss of smaps_rollup, Linux 4.14)."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
                total += sum(int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:"))
        except OSError:
            continue
    return total


def memory_left() -> int:
    """Bytes that the machine has left: what a kernel hides from its own count (memfd, several kernels) shows here."""
    try:
        with open("/proc/meminfo", "rb") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(b"MemAvailable:"))
    except (OSError, StopIteration):
        return MEMORY_LEFT


def strangers(folder: Path) -> list[str]:
    """What lies in the connection folder besides the connection file and its sockets: a kernel fills our disk."""
    expected = {f"{CONNECTION}.json", *(f"{CONNECTION}-ipc-{number}" for number in range(1, 6))}
    return sorted(set(os.listdir(folder)) - expected)
