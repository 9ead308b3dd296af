"""A process that has done what takes long, and makes a copy of itself for everybody who asks: a template.

The template listens on a socket (SOCK_SEQPACKET, one JSON object per message). A connection is one copy:

    client -> {...}           what the copy is to become
    client <- {"pid": 4711}   it is there; {"error": "..."} if it is not
    client <- {"exit": 0}     it has ended: its exit code, or minus the signal that ended it

When the client closes its side, or dies, the copy is killed. When the process that started the template is gone, so
that standard input ends, the template kills all copies and ends. It has one thread, and runs nothing of a submission.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NoReturn

MAX_REQUEST = 64 * 2**10  # bytes
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
STANDARD_INPUT = 0

Become = Callable[[dict[str, Any]], int]  # in the copy; what it returns is the exit code


class Template:
    """Answers requests on `listener` with forks that call `become`, until standard input ends.

    fork: how a copy is made: request -> pid, 0 in the copy; OSError if it cannot be. By default os.fork.
    """

    def __init__(self, listener: socket.socket, become: Become, fork: Callable[[dict[str, Any]], int] | None = None):
        self.listener, self.become = listener, become
        self.fork = fork or (lambda request: os.fork())
        self.selector = selectors.DefaultSelector()
        self.copies: dict[int, socket.socket] = {}  # pid -> the connection that asked for it

    def serve(self) -> None:
        """Answer until the lifeline ends; then kill all copies."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        woken, waker = os.pipe()
        for descriptor in (woken, waker):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for source in (self.listener, STANDARD_INPUT, woken):
            self.selector.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fileobj == STANDARD_INPUT:
                    if not os.read(STANDARD_INPUT, 1):
                        self._kill_all()
                        return
                elif key.fileobj == woken:
                    os.read(woken, 4096)
                elif key.fileobj is self.listener:
                    self.selector.register(self.listener.accept()[0], selectors.EVENT_READ)
                else:
                    self._hear(key.fileobj)
            self._reap()

    def _hear(self, connection: socket.socket) -> None:
        """A request on a connection that has no copy yet, or the end of one."""
        try:
            message = connection.recv(MAX_REQUEST)
        except OSError:
            message = b""
        pid = next((pid for pid, other in self.copies.items() if other is connection), None)
        if message and pid is None:
            self._copy(connection, json.loads(message))
            return
        self.selector.unregister(connection)
        if pid is None:
            connection.close()
        else:
            os.kill(pid, signal.SIGKILL)  # not reaped yet, so the number is still its own

    def _copy(self, connection: socket.socket, request: dict[str, Any]) -> None:
        try:
            pid = self.fork(request)
        except OSError as problem:
            _tell(connection, error=str(problem))
            return
        if pid == 0:
            self._be(request)
        self.copies[pid] = connection
        _tell(connection, pid=pid)

    def _be(self, request: dict[str, Any]) -> NoReturn:
        """The copy: never comes back into the template's loop."""
        code = 70  # EX_SOFTWARE
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            code = self.become(request)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except Exception:
                    pass
            os._exit(code & 0xFF)

    def _reap(self) -> None:
        """Take leave of the copies that have ended, and tell whoever asked for them."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            connection = self.copies.pop(pid, None)
            if connection is None:
                continue
            _tell(connection, exit=os.waitstatus_to_exitcode(status))
            try:
                self.selector.unregister(connection)
            except KeyError:  # its client has gone
                pass
            connection.close()

    def _kill_all(self) -> None:
        for pid in self.copies:
            os.kill(pid, signal.SIGKILL)


def _tell(connection: socket.socket, **message: Any) -> None:
    try:
        connection.send(json.dumps(message).encode())
    except OSError:  # it does not listen any more
        pass


def import_those_there(names: Iterable[str]) -> None:
    """Import the modules of these names: what saves time in the copies, and need not be there."""
    for name in names:
        try:
            import_module(name)
        except ImportError:
            continue


def listener_of(descriptor: int) -> socket.socket:
    """The listening socket that was handed to this process."""
    listener = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)
    return listener
