"""Templates of this grader: started once, asked for copies often (forking tells what a template is).

    with Copy(pytests(), {...}) as copy:      a fork of the pytest template
        copy.wait(seconds)

A template that cannot be had here is no error: then every process starts the long way, and `cold_because` says why.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from fp8lab.grading.places import own_folder

START_SECONDS = 60.0  # for a template to come up on a busy machine
KILL_SECONDS = 10.0  # for a copy that is being killed to be gone


class TemplateLost(RuntimeError):
    """The template did not come up, refused to make a copy, or has ended. Never the fault of a submission."""


class TemplateProcess:
    """A running template: `module` is started with a listening socket, at `address`."""

    def __init__(self, module: str, env: Mapping[str, str]) -> None:
        self.address = str(own_folder() / f"{module.rpartition('.')[2]}-{os.urandom(4).hex()}")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(self.address)
        listener.listen(64)
        with listener:
            line = [sys.executable, "-m", module, str(listener.fileno())]
            self.process = subprocess.Popen(
                line,
                env=dict(env),
                cwd=own_folder(),
                stdin=subprocess.PIPE,  # the lifeline: it ends when this process does
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        """End it and all its copies."""
        self.process.stdin.close()
        try:
            self.process.wait(timeout=KILL_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        try:
            os.unlink(self.address)
        except OSError:
            pass


class Copy:
    """A process that the template at `address` has forked off for us; it dies when this connection closes."""

    def __init__(self, address: str, request: Mapping[str, Any], seconds: float = START_SECONDS) -> None:
        self.exit: int | None = None
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.settimeout(seconds)
        try:
            self._connection.connect(address)
            self._connection.send(json.dumps(request).encode())
            answer = self._hear()
        except OSError as problem:
            self._connection.close()
            raise TemplateLost(f"the template does not answer: {problem}") from None
        if "pid" not in answer:
            self._connection.close()
            raise TemplateLost(f"the template makes no copy: {answer.get('error', 'it has ended')}")
        self.pid: int = answer["pid"]

    def poll(self) -> int | None:
        """The exit code if it has ended; TemplateLost if the template has."""
        return self.wait(0)

    def wait(self, seconds: float) -> int | None:
        """Wait until it ends, for `seconds` at most; its exit code, or None. TemplateLost as `poll`."""
        if self.exit is None:
            with selectors.DefaultSelector() as selector:  # not select: descriptors may be beyond 1023
                selector.register(self._connection, selectors.EVENT_READ)
                if not selector.select(seconds):
                    return None
            answer = self._hear()
            if "exit" not in answer:
                raise TemplateLost("the template has ended")
            self.exit = answer["exit"]
        return self.exit

    def kill(self) -> None:
        """Kill it and wait until it is gone; nothing happens if it is already."""
        try:
            if self.exit is None:
                self._connection.shutdown(socket.SHUT_WR)
                self.wait(KILL_SECONDS)
        except (OSError, TemplateLost):
            pass
        self._connection.close()

    def _hear(self) -> dict[str, Any]:
        try:
            message = self._connection.recv(4096)
        except ConnectionError:
            message = b""
        return json.loads(message) if message else {}

    def __enter__(self) -> Copy:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Templates:
    """The templates of this process by name, each started when it is first asked for, and again when it was lost."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, TemplateProcess] = {}
        self._pid = os.getpid()

    def address(self, module: str, env: Mapping[str, str]) -> str:
        """Where the template of `module` listens."""
        with self._lock:
            if self._pid != os.getpid():  # a fork of the grader's process has templates of its own
                self._running, self._pid = {}, os.getpid()
            running = self._running.get(module)
            if running is None or not running.runs:
                running = self._running[module] = TemplateProcess(module, env)
            return running.address

    def end(self) -> None:
        """End all of them, with their copies."""
        with self._lock:
            if self._pid == os.getpid():
                for running in self._running.values():
                    running.end()
            self._running = {}


templates = Templates()
atexit.register(templates.end)
