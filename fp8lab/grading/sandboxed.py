"""A kernel that is a copy of the template, in a sandbox that bubblewrap has made for it alone.

Two things end it: the end of the sandbox, which takes every process in it along, and the template, when the connection
to it closes. When the kernel ends, its sandbox is ended.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from typing import Any

from fp8lab.grading.launch import Launch
from fp8lab.grading.warm import Copy, TemplateLost

HOLD_SECONDS = 30.0  # for bubblewrap to make a sandbox on a busy machine
LOST = 71  # EX_OSERR: what `Warm.poll` says when the template is gone, and the kernel with it


class Holder:
    """A sandbox in which a process only waits. `pid` is bubblewrap's, `inside` that of a process in the sandbox."""

    def __init__(self, launch: Launch) -> None:
        told, tell = os.pipe()
        bwrap, *rest = launch.argv
        try:
            self.process = subprocess.Popen(
                [bwrap, "--info-fd", str(tell), *rest],
                env={},
                stdin=subprocess.PIPE,  # it waits for this to end
                stdout=subprocess.PIPE,  # it says when it is there: then the sandbox is complete
                stderr=subprocess.DEVNULL,
                pass_fds=[tell],
                start_new_session=True,
            )
        finally:
            os.close(tell)
        self.pid = self.process.pid
        with open(told, "rb") as info, self.process.stdout as ready:
            if not _readable(ready, HOLD_SECONDS) or not ready.readline():
                self.kill()
                raise TemplateLost("bubblewrap made no sandbox")
            self.inside: int = json.load(info)["child-pid"]

    def kill(self) -> None:
        """End it, with everything in the sandbox."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


class Warm:
    """A kernel that is a copy of the template, with the face of a Popen, as LocalProvisioner wants it."""

    stdin = stdout = stderr = None

    def __init__(self, launch: Launch, arguments: list[str]) -> None:
        self.holder = Holder(launch)
        self.pid, self.returncode = self.holder.pid, None
        try:
            self.copy = join(self.holder, launch, arguments)
        except BaseException:
            self.holder.kill()
            raise

    def poll(self) -> int | None:
        """The exit code when the kernel or its sandbox has ended. Whatever else is in the sandbox then ends, too."""
        if self.returncode is None:
            try:
                self.returncode = self.copy.poll()
            except TemplateLost:
                self.returncode = LOST
            if self.returncode is None:
                self.returncode = self.holder.process.poll()
            if self.returncode is not None:
                self.kill()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """As Popen's."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("kernel", timeout)
            time.sleep(0.01)
        return self.returncode

    def kill(self) -> None:
        """End the kernel and everything in its sandbox."""
        self.holder.kill()
        self.copy.kill()
        if self.returncode is None:
            self.returncode = -signal.SIGKILL

    def send_signal(self, number: int) -> None:
        """Signals other than those that end it are not needed: nothing of a submission is interrupted, it is ended."""
        if number != 0:
            self.kill()

    terminate = kill


def join(holder: Holder, launch: Launch, arguments: list[str] | None) -> Copy:
    """A copy of the template in the sandbox of `holder`. TemplateLost when there is none to be had.

    Without arguments it is no kernel: it ends at once, with 0 if it could give up its rights.
    """
    request = {"target": holder.inside, "arguments": arguments, "resources": launch.resources, "cwd": launch.inside}
    return Copy(launch.template, request)


def _readable(stream: Any, seconds: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        return bool(selector.select(seconds))
