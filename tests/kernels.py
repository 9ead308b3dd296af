"""Kernels as the grader starts them, without a notebook around them: to ask one, and look at another meanwhile.

kernel = Kernel(folder, warm=True)
kernel.ask("import os; result = os.getpid()")   3
kernel.end()
"""

from __future__ import annotations

import ast
import json
import os
import queue
import subprocess
import time
from pathlib import Path
from typing import Any

from jupyter_client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from fp8lab.grading.launch import kernel_launch
from fp8lab.grading.ready import ready
from fp8lab.grading.sandboxed import Warm
from fp8lab.grading.view import shared_view
from fp8lab.grading.watch import CONNECTION

SECONDS = 60.0


class Kernel:
    """One kernel in a sandbox: a copy of the template (`warm`), or started anew."""

    def __init__(self, folder: Path, *, warm: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        template = ready(True).kernels if warm else ""
        assert bool(template) is warm, ready(True).because
        self.launch = kernel_launch(shared_view(), folder, sandbox=True, seconds=SECONDS, template=template)
        self.folder = Path(self.launch.connection)
        file = str(self.folder / f"{CONNECTION}.json")
        write_connection_file(file, transport="ipc", ip=str(self.folder / CONNECTION), key=b"secret")
        arguments = [part.format(connection_file=file) for part in self.launch.arguments]
        if warm:
            self.process = Warm(self.launch, arguments)
        else:
            line = [part.format(connection_file=file) for part in self.launch.argv]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
            self.process = subprocess.Popen(line, env=self.launch.env, cwd=self.launch.cwd, **quiet)
        self.client = BlockingKernelClient(connection_file=file)
        self.client.load_connection_file()
        self.client.start_channels()
        self._wait_for_ready()

    def _wait_for_ready(self) -> None:
        """As the grader does: a kernel that is slow on a busy machine is not taken for dead."""
        stop = time.monotonic() + 2 * SECONDS
        while time.monotonic() < stop:
            asked = self.client.kernel_info()
            try:
                while self.client.get_shell_msg(timeout=2)["parent_header"].get("msg_id") != asked:
                    continue
                return
            except queue.Empty:
                assert self.process.poll() is None, "the kernel has ended"
        raise AssertionError("the kernel does not answer")

    def ask(self, code: str) -> Any:
        """Run `code` and return what it has put into `result`, by way of JSON. AssertionError if it raises."""
        asked = self.client.execute(
            "import json\n" + code, silent=True, store_history=False, user_expressions={"answer": "json.dumps(result)"}
        )
        reply = self.client.get_shell_msg(timeout=SECONDS)
        while reply["parent_header"].get("msg_id") != asked:
            reply = self.client.get_shell_msg(timeout=SECONDS)
        assert reply["content"]["status"] == "ok", reply["content"]
        answer = reply["content"]["user_expressions"]["answer"]
        assert answer["status"] == "ok", answer
        return json.loads(ast.literal_eval(answer["data"]["text/plain"]))

    def tell(self, code: str) -> None:
        """Start `code` and wait for nothing."""
        self.client.execute(code, silent=True)

    def ended(self, seconds: float = SECONDS) -> bool:
        """Whether it ends by itself."""
        stop = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > stop:
                return False
            time.sleep(0.02)
        return True

    def end(self) -> None:
        self.client.stop_channels()
        self.process.kill()
        self.process.wait()


def alive(word: str) -> list[str]:
    """Processes with the argument `word`; for the path of a process in /proc, that one."""
    if word.startswith("/proc/"):
        return [word] if os.path.exists(word) else []
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            arguments = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if word.encode() in arguments:
            found.append(pid)
    return found


def gone(word: str, seconds: float = 10) -> bool:
    """Whether `alive` finds nothing any more."""
    stop = time.monotonic() + seconds
    while alive(word):
        if time.monotonic() > stop:
            return False
        time.sleep(0.05)
    return True
