"""The kernel that nbval drives while grading: started as `launch` says, watched, and never waited for in vain.

nbval's own RunningKernel notices a dead kernel when the cell's time is up, and keeps whatever a cell prints. This one
raises KernelStopped within a fraction of a second: for a death, for a cell or a process tree beyond its limits. It runs
in the process of pytest, which the grader can lose without losing a mark.
"""

from __future__ import annotations

import os
import queue
import subprocess
import time
from collections import deque
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import ipykernel.kernelspec
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner
from nbval.kernel import RunningKernel

from fp8lab.grading.launch import Launch

PROVISIONER = "fp8lab-grading"
SLICE = 0.1  # seconds between two looks at the kernel while waiting for it
WATCH_EVERY = 0.4  # seconds between two looks at its memory and processes
MAX_MESSAGE = 16 * 2**20  # bytes; the largest evidence takes 11 MB as base64
CELL_OUTPUT = 32 * 2**20  # bytes that one cell may send
KERNEL_MESSAGES = 20_000  # that one cell may send
CONNECTION = "kernel"  # the connection file is kernel.json, the sockets are kernel-ipc-1 to 5
MEMORY_LEFT = 256 * 2**20  # bytes: below that the machine itself is in danger
GRACE = 5.0  # seconds for the last messages of a cell that has replied


class KernelStopped(Exception):
    """The kernel is no longer usable. `kind` is crashed, timeout, output, memory or processes."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Provisioner(LocalProvisioner):
    """Starts the kernel with the command, environment and folder of the Launch, and no way to write to our streams."""

    launch: Launch  # set for the process by `use`: one pytest, one launch

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        ours = {"env": dict(self.launch.env), "cwd": self.launch.cwd}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return await super().launch_kernel(cmd, **{**kwargs, **ours, **quiet})


class OurKernelSpec(KernelSpecManager):
    """Whatever kernel a notebook names, there is one."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(
            argv=list(Provisioner.launch.argv),
            display_name="fp8lab grading",
            language="python",
            metadata={"kernel_provisioner": {"provisioner_name": PROVISIONER, "config": {}}},
            resource_dir=ipykernel.kernelspec.RESOURCES,
        )


def use(launch: Launch) -> None:
    """Make `launch` the launch of every kernel of this process."""
    Provisioner.launch = launch
    factory = KernelProvisionerFactory.instance()
    factory.provisioners[PROVISIONER] = EntryPoint(
        PROVISIONER, f"{__name__}:{Provisioner.__name__}", KernelProvisionerFactory.GROUP_NAME
    )


class WatchedKernel(RunningKernel):
    """nbval's kernel with deadlines, limits and a look at the process behind it. `cell_timeout` is in seconds."""

    cell_timeout = 20.0

    def __init__(self, kernel_name: str, cwd: str | None = None, startup_timeout: float = 60) -> None:
        launch = Provisioner.launch
        self._pending: deque[dict[str, Any]] = deque()
        self._deadline = time.monotonic() + startup_timeout
        self._seen = self._messages = 0
        self._watched = time.monotonic()
        self.km = KernelManager(
            kernel_spec_manager=OurKernelSpec(),
            transport=launch.transport,
            connection_file=str(Path(launch.connection) / f"{CONNECTION}.json"),
        )
        self.km.context.maxmsgsize = MAX_MESSAGE  # what is larger is dropped before it takes memory here
        self.km.start_kernel()
        self.kc = self.km.client()
        self.kc.start_channels()
        self.kc.wait_for_ready(timeout=startup_timeout)
        self._ensure_iopub_up()

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        self._deadline = time.monotonic() + self.cell_timeout
        self._seen = self._messages = 0
        self._pending.clear()
        return super().execute_cell_input(cell_input, allow_stdin=allow_stdin)

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """Wait for the reply to a request, taking in what the cell sends meanwhile."""
        while True:
            self._look()
            self._drain()
            try:
                message = self.kc.get_shell_msg(timeout=SLICE)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") == msg_id:
                self._deadline = time.monotonic() + GRACE
                return

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """The next message of a channel; KernelStopped where nbval would wait on."""
        get = {"iopub": self.kc.get_iopub_msg, "shell": self.kc.get_shell_msg}[stream]
        while True:
            if stream == "iopub" and self._pending:
                return self._pending.popleft()
            self._look()
            try:
                message = get(timeout=SLICE)
            except queue.Empty:
                continue
            return self._counted(message) if stream == "iopub" else message

    def _drain(self) -> None:
        """Take what waits on iopub: its queue is short, and a full one loses messages."""
        while True:
            try:
                self._pending.append(self._counted(self.kc.get_iopub_msg(timeout=0)))
            except queue.Empty:
                return

    def _counted(self, message: dict[str, Any]) -> dict[str, Any]:
        content = message["content"]
        self._messages += 1
        if message["msg_type"] == "stream":
            self._seen += len(content.get("text", ""))
            content["text"] = ""  # prints are no part of a grade
        else:
            self._seen += sum(len(str(value)) for value in content.values())
        if self._seen > CELL_OUTPUT or self._messages > KERNEL_MESSAGES:
            raise KernelStopped("output")
        return message

    def _look(self) -> None:
        if not self.is_alive():
            raise KernelStopped("crashed")
        now = time.monotonic()
        if now > self._deadline:
            raise KernelStopped("timeout")
        if now - self._watched > WATCH_EVERY:
            self._watched = now
            limits = Provisioner.launch.limits
            pids, resident = process_tree(self._pid())
            if len(pids) > limits["processes"]:
                raise KernelStopped("processes")
            if resident > limits["memory"] and proportional(pids) > limits["memory"] or memory_left() < MEMORY_LEFT:
                raise KernelStopped("memory")
            if strangers(Path(Provisioner.launch.connection)):
                raise KernelStopped("output")

    def _pid(self) -> int | None:
        process = getattr(getattr(self.km, "provisioner", None), "process", None)
        return process.pid if process else None


def process_tree(root: int | None) -> tuple[set[int], int]:
    """(pids, resident bytes) of a process and its descendants; shared pages count for each. Nothing without /proc."""
    if root is None or not os.path.isdir("/proc/self"):
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
    waiting = [root]
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
