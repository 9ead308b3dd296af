"""`make lab` and `fp8lab lab` for real: a server that answers with the learner notebooks, and a clean end at Ctrl-C."""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

START_SECONDS = 120
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent to a POSIX process group"),
]


class Running:
    """A command that runs a server in a process group of its own, as a terminal would start it."""

    def __init__(self, command: list[str], cwd: Path, home: Path, **environment: str) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "JUPYTER")) and k not in ("LC_ALL",)}
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR"):
            clean[name] = str(home / name.lower())
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**clean, "DISPLAY": "", "WAYLAND_DISPLAY": "", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._queue: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line)
            self._queue.put(line)
        self._queue.put("")

    @property
    def said(self) -> str:
        return "".join(self.lines)

    def url(self) -> str:
        """The URL of the line that says that the server is ready; every such run prints exactly one."""
        deadline = time.monotonic() + START_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            try:
                line = self._queue.get(timeout=left)
            except queue.Empty:
                break
            found = re.search(r"(?:is ready: |已就绪：)(http\S+)", line)
            if found:
                return found[1]
            assert line, f"ended before it was ready:\n{self.said}"
        raise AssertionError(f"not ready within {START_SECONDS} s:\n{self.said}")

    def interrupt(self) -> float:
        """Ctrl-C to the whole group; how long it took to end."""
        begun = time.monotonic()
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(30)
        return time.monotonic() - begun

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


@pytest.fixture
def start(tmp_path):
    running = []

    def begin(command: list[str], cwd: Path, **environment: str) -> Running:
        running.append(Running(command, cwd, tmp_path / "home", **environment))
        return running[-1]

    yield begin
    for one in running:
        one.close()


def get(url: str, path: str | None = None) -> tuple[int, bytes]:
    """Status and body of a GET with the token of `url`, of `path` instead if one is given."""
    parts = urllib.parse.urlsplit(url)
    address = url if path is None else urllib.parse.urlunsplit(parts._replace(path=path))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(address, timeout=30) as reply:
        return reply.status, reply.read()


def notebooks(url: str) -> set[str]:
    """The notebooks that the server lists in its root folder."""
    listing = json.loads(get(url, "/api/contents/")[1])
    return {entry["name"] for entry in listing["content"] if entry["type"] == "notebook"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(("locale", "lang"), [("C.UTF-8", "en"), ("zh_CN.UTF-8", "zh")])
def test_make_lab_answers_with_the_learner_notebooks(start, root, lacking, locale, lang):
    """Everything that `make lab` does after the install (which `-o` takes as done), with the Python that runs this."""
    make = shutil.which("make")
    if make is None:
        lacking("no make on the PATH; install it: apt-get install make")
    port = free_port()
    line = [make, "lab", "-o", ".venv/lab.stamp", f"PY={sys.executable}", f"PORT={port}"]
    lab = start(line, root, LANG=locale)
    url = lab.url()
    assert f":{port}/lab/tree/" in url

    assert get(url)[0] == 200
    there = notebooks(url)
    assert there == {path.name for path in (root / "notebooks" / lang).glob("*.ipynb")}
    assert "01_decode.ipynb" in there
    opened = urllib.parse.unquote(urllib.parse.urlsplit(url).path.removeprefix("/lab/tree/"))
    notebook = json.loads(get(url, f"/api/contents/{opened}")[1])["content"]
    assert notebook["metadata"]["fp8lab"]["lang"] == lang
    assert any("Ctrl-C" in said for said in lab.lines)

    seconds = lab.interrupt()
    assert not listens(port), "the server is still there after Ctrl-C"
    assert seconds < 20
    assert "Traceback" not in lab.said


def test_nobody_gets_in_without_the_token(start, root):
    lab = start([sys.executable, "-m", "fp8lab.cli", "lab", "--no-browser", "--port", str(free_port())], root)
    url = lab.url()
    stripped = urllib.parse.urlunsplit(urllib.parse.urlsplit(url)._replace(query=""))
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(stripped, "/api/contents/")
    assert refused.value.code == 403
    command = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    token = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["token"][0]
    assert token not in command, "the token is on a command line, where every user can read it"


def test_outside_a_checkout_the_packaged_notebooks_are_opened_and_stay_the_learners(start, tmp_path, root):
    work = tmp_path / "elsewhere"
    work.mkdir()
    line = [sys.executable, "-m", "fp8lab.cli", "lab", "--lang", "zh", "--port", str(free_port())]
    lab = start(line, work)
    folder = work / "fp8lab-notebooks" / "zh"
    assert notebooks(lab.url()) == {path.name for path in folder.glob("*.ipynb")}
    assert "01_decode.ipynb" in {path.name for path in folder.iterdir()}
    assert lab.interrupt() < 20
    assert lab.process.returncode == 0
    assert "JupyterLab 已停止" in lab.said

    (folder / "01_decode.ipynb").write_text("mine", encoding="utf-8")
    again = start(line, work)
    again.url()
    assert (folder / "01_decode.ipynb").read_text(encoding="utf-8") == "mine"


def test_a_taken_port_ends_with_one_sentence(root):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        line = [sys.executable, "-m", "fp8lab.cli", "lab", "--port", str(holder.getsockname()[1])]
        done = subprocess.run(line, cwd=root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "choose another: make lab PORT=" in done.stderr and "Traceback" not in done.stderr


def test_without_a_port_the_next_free_one_is_taken(monkeypatch):
    from fp8lab import lab

    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        monkeypatch.setattr(lab, "DEFAULT_PORT", holder.getsockname()[1])
        assert lab.choose_port("127.0.0.1", None) > holder.getsockname()[1]
