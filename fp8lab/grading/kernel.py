"""The kernel that nbval drives while grading: started as `launch` says, watched, and never waited for in vain.

nbval's own RunningKernel notices a dead kernel when the cell's time is up, and keeps whatever a cell prints. This one
raises KernelStopped within a fraction of a second: for a death, for a cell or a process tree beyond its limits. It runs
in the process of pytest, which the grader can lose without losing a mark.
"""

from __future__ import annotations

import os
import queue
import time
from collections import deque
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager
from nbval.kernel import RunningKernel

from fp8lab.grading.provisioner import OurKernelSpec, Provisioner
from fp8lab.grading.watch import CONNECTION, MEMORY_LEFT, memory_left, process_tree, proportional, strangers

SLICE = 0.1  # seconds between two looks at the kernel while waiting for it
WATCH_EVERY = 0.4  # seconds between two looks at its memory and processes
MAX_MESSAGE = 16 * 2**20  # bytes; the largest evidence takes 11 MB as base64
CELL_OUTPUT = 32 * 2**20  # bytes that one cell may send
KERNEL_MESSAGES = 20_000  # that one cell may send
BINDING = 0.002  # seconds between two looks for the sockets of a kernel that is starting
ASK_AGAIN = 1.0  # seconds for a kernel that is starting to answer
SUBSCRIBING = 0.03  # seconds for one that has answered to be heard on iopub: what it says before is lost, so ask again
GRACE = 5.0  # seconds for the last messages of a cell that has replied


class KernelStopped(Exception):
    """The kernel is no longer usable. `kind` is crashed, timeout, output, memory, processes, or lost (by our fault)."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


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
        self._wait_for_sockets()
        self.kc.start_channels()
        self._wait_for_ready()

    def _wait_for_sockets(self) -> None:
        """Until the kernel has bound the last one that is used here: who connects before waits 0.1 s to try again."""
        while self.km.transport == "ipc" and not os.path.exists(f"{self.km.ip}-{self.km.iopub_port}"):
            self._look()
            time.sleep(BINDING)

    def _wait_for_ready(self) -> None:
        """Ask until the kernel answers on shell and an answer's status comes on iopub: then both are connected."""
        asked = {self.kc.kernel_info()}
        again = time.monotonic() + ASK_AGAIN
        while not self._comes("shell", asked, SLICE):
            if time.monotonic() > again:
                asked.add(self.kc.kernel_info())
                again = time.monotonic() + ASK_AGAIN
        while not self._comes("iopub", asked, SUBSCRIBING):
            asked.add(self.kc.kernel_info())

    def _comes(self, stream: str, asked: set[str], seconds: float) -> bool:
        """Whether a message of the channel soon is one about one of these requests."""
        self._look()
        message = self._receive(stream, seconds)
        return message is not None and message["parent_header"].get("msg_id") in asked

    def stop(self) -> None:
        """End the kernel: nothing in it is worth a farewell."""
        self.kc.stop_channels()
        self.km.provisioner.end()

    def is_alive(self) -> bool:
        return self.km.provisioner.process.poll() is None

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
            message = self._receive("shell", SLICE)
            if message and message["parent_header"].get("msg_id") == msg_id:
                self._deadline = time.monotonic() + GRACE
                return

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """The next message of a channel; KernelStopped where nbval would wait on."""
        while True:
            if stream == "iopub" and self._pending:
                return self._pending.popleft()
            self._look()
            message = self._receive(stream, SLICE)
            if message is not None:
                return message

    def _drain(self) -> None:
        """Take what waits on iopub: its queue is short, and a full one loses messages."""
        while (message := self._receive("iopub", 0)) is not None:
            self._pending.append(message)

    def _receive(self, stream: str, seconds: float) -> dict[str, Any] | None:
        """The next message of a channel that is one, or None. Whatever else comes there is dropped, and counted."""
        get = {"iopub": self.kc.get_iopub_msg, "shell": self.kc.get_shell_msg}[stream]
        while True:
            try:
                message = get(timeout=seconds)
            except queue.Empty:
                return None
            except Exception:  # no JSON, a wrong signature, parts missing: two processes wrote to one socket
                message = None
            if well_formed(message):
                return self._counted(message) if stream == "iopub" else message
            self._count_one()

    def _count_one(self) -> None:
        self._messages += 1
        if self._messages > KERNEL_MESSAGES:
            raise KernelStopped("output")

    def _counted(self, message: dict[str, Any]) -> dict[str, Any]:
        content = message["content"]
        self._count_one()
        if message["msg_type"] == "stream":
            self._seen += len(content.get("text", ""))
            content["text"] = ""  # prints are no part of a grade
        else:
            self._seen += sum(len(str(value)) for value in content.values())
        if self._seen > CELL_OUTPUT:
            raise KernelStopped("output")
        return message

    def _look(self) -> None:
        if not self.is_alive():
            raise KernelStopped("lost" if self.km.provisioner.lost else "crashed")
        now = time.monotonic()
        if now > self._deadline:
            raise KernelStopped("timeout")
        if now - self._watched > WATCH_EVERY:
            self._watched = now
            limits = Provisioner.launch.limits
            pids, resident = process_tree(self.km.provisioner.roots())
            if len(pids) > limits["processes"]:
                raise KernelStopped("processes")
            if resident > limits["memory"] and proportional(pids) > limits["memory"] or memory_left() < MEMORY_LEFT:
                raise KernelStopped("memory")
            if strangers(Path(Provisioner.launch.connection)):
                raise KernelStopped("output")


CONTENT = {  # of the messages that nbval reads: what it takes out of them
    "status": {"execution_state": str},
    "stream": {"name": str, "text": str},
    "display_data": {"data": dict, "metadata": dict},
    "execute_result": {"data": dict, "metadata": dict, "execution_count": object},
    "error": {"ename": str, "evalue": str, "traceback": list},
}


def well_formed(message: Any) -> bool:
    """Whether a message has all that is read of it: a kernel can send whatever it likes.

    >>> well_formed({"msg_type": "stream", "parent_header": {}, "content": {"name": "stdout"}})
    False
    """
    if not isinstance(message, dict) or not isinstance(message.get("msg_type"), str):
        return False
    content = message.get("content")
    if not isinstance(content, dict) or not isinstance(message.get("parent_header"), dict):
        return False
    wanted = CONTENT.get(message["msg_type"], {})
    return all(name in content and isinstance(content[name], kind) for name, kind in wanted.items())
