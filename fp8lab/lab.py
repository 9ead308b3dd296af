"""`fp8lab lab`: JupyterLab on the learner notebooks, with one clear line when it is ready and a clean end at Ctrl-C.

In a checkout it opens notebooks/<lang>; anywhere else it writes the notebooks of the installed package into
./fp8lab-notebooks/<lang> first (see `fp8lab.workspace`). A browser is opened only where there is a screen. The server
listens on this machine alone and asks for a token, which stands in the printed URL; $JUPYTER_TOKEN sets another.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from fp8lab.course.keep import is_kept
from fp8lab.course.text import LANGUAGES, Text, preferred_language
from fp8lab.workspace import FOLDER, Unpacked, checkout_notebooks, packaged_notebooks, unpack

DEFAULT_PORT = 8888
PORTS_TRIED = 50
START_SECONDS = 120
STOP_SECONDS = 15

READY = Text("JupyterLab is ready: {url}", "JupyterLab 已就绪：{url}")
STOP_HINT = Text("Ctrl-C in this terminal stops it.", "在本终端按 Ctrl-C 停止。")
STARTING = Text("starting JupyterLab on {folder} …", "正在启动 JupyterLab，目录 {folder} …")
WAITING = Text("still starting ({seconds} s) …", "仍在启动（{seconds} 秒）…")
STOPPED = Text("JupyterLab has stopped.", "JupyterLab 已停止。")


class LabError(Exception):
    """Something that keeps JupyterLab from starting, said in a sentence that tells what to do."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `fp8lab lab`."""
    default = preferred_language(os.environ)
    parser.add_argument("--lang", choices=LANGUAGES, default=default, help="language of the notebooks (%(default)s)")
    parser.add_argument("--port", type=port_number, help=f"port to listen on (from {DEFAULT_PORT} on, the first free)")
    parser.add_argument("--ip", default="127.0.0.1", help="address to listen on (%(default)s: this machine only)")
    parser.add_argument("--dir", type=Path, help=f"folder of the notebooks (a checkout's, else ./{FOLDER}/LANG)")
    parser.add_argument("--no-browser", action="store_true", help="never open a browser")


def port_number(text: str) -> int:
    """A port from the command line.

    >>> port_number("8899")
    8899
    """
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"port {text!r} is not a number from 1 to 65535")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Start the server, wait for it, stay until it ends. 0 after Ctrl-C, 1 when it cannot start or dies."""
    try:
        if importlib.util.find_spec("jupyterlab") is None:
            raise LabError(
                f"JupyterLab is not installed here; install it with: {sys.executable} -m pip install jupyterlab"
            )
        folder = prepare(args.dir, args.lang)
        port = choose_port(args.ip, args.port)
        return serve(folder, args.ip, port, args.lang, browser=not args.no_browser and has_screen(os.environ))
    except LabError as problem:
        print(f"fp8lab lab: {problem}", file=sys.stderr)
        return 1


def prepare(directory: Path | None, lang: str) -> Path:
    """The folder to open, its notebooks written if it is not a checkout's. LabError when there is nothing to open."""
    folder = checkout_notebooks(Path.cwd(), lang) if directory is None else None
    if folder is None:
        folder = (directory or Path(FOLDER) / lang).expanduser().resolve()
        try:
            done = unpack(folder, packaged_notebooks(lang))
        except OSError as problem:
            raise LabError(
                f"cannot write the notebooks into {folder} ({problem.strerror}); choose another with --dir"
            ) from problem
        for line in report(done, folder, lang):
            say(line)
    if not any(folder.glob("*.ipynb")):
        raise LabError(f"there is no notebook in {folder}; `make build` (or `fp8lab build`) makes them from solutions/")
    return folder


def report(done: Unpacked, folder: Path, lang: str) -> list[str]:
    """What `unpack` did, as lines for the learner; nothing when nothing changed."""
    lines = []
    if done.written:
        text = Text("wrote {n} notebooks into {folder}", "已写入 {n} 个笔记本：{folder}")
        lines.append(text.format(n=len(done.written), folder=folder).get(lang))
    if done.renewed:
        text = Text("renewed {names} (you had not changed them)", "已更新 {names}（你没有改动过）")
        lines.append(text.format(names=", ".join(done.renewed)).get(lang))
    for name, other in done.beside:
        text = Text("kept your {name}; the newer edition is beside it: {other}", "保留你的 {name}；新版另存为 {other}")
        lines.append(text.format(name=name, other=other).get(lang))
    return lines


def choose_port(ip: str, wanted: int | None) -> int:
    """`wanted` if it is free, or the first free port from DEFAULT_PORT on. LabError when it is taken or not ours."""
    candidates = [wanted] if wanted else range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED)
    problem: OSError | None = None
    for port in candidates:
        try:
            family = socket.AF_INET6 if ":" in ip else socket.AF_INET
            with closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
                if os.name == "posix":  # as the server does: a port in TIME_WAIT is free
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((ip, port))
                return port
        except OSError as error:
            problem = error
    where = f"port {wanted}" if wanted else f"every port from {DEFAULT_PORT} to {DEFAULT_PORT + PORTS_TRIED - 1}"
    raise LabError(
        f"cannot listen on {ip}, {where}: {problem.strerror if problem else 'no port'}. "
        "Stop the program that holds it, or choose another: make lab PORT=8900, or fp8lab lab --port 8900"
    )


def has_screen(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether opening a browser makes sense: a desktop, not a remote shell, not CI.

    >>> has_screen({}, "linux"), has_screen({"DISPLAY": ":0"}, "linux"), has_screen({}, "darwin")
    (False, True, True)
    """
    if environment.get("CI") or environment.get("SSH_CONNECTION"):
        return False
    if platform in ("darwin", "win32"):
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def command(folder: Path, ip: str, port: int) -> list[str]:
    """The command line of the server."""
    line = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ServerApp.answer_yes=True",  # one Ctrl-C is enough
        "--ServerApp.port_retries=0",
        "--log-level=WARN",
        f"--ServerApp.ip={ip}",
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={folder}",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        line.append("--allow-root")
    return line


def serve(folder: Path, ip: str, port: int, lang: str, browser: bool) -> int:
    """Run the server until it ends. The token travels in the environment, where other users' `ps` cannot read it."""
    token = os.environ.get("JUPYTER_TOKEN")
    token = secrets.token_hex(24) if token is None else token
    host = "127.0.0.1" if ip in ("0.0.0.0", "", "*") else f"[{ip}]" if ":" in ip else ip
    base = f"http://{host}:{port}"
    say(STARTING.format(folder=folder).get(lang))
    stop = {"asked": False}

    def on_signal(number: int, frame: object) -> None:
        stop["asked"] = True

    signals = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    previous = {number: signal.signal(number, on_signal) for number in signals}
    server = subprocess.Popen(  # in a session of its own: Ctrl-C reaches only us, and we end it the gentle way
        command(folder, ip, port), env={**os.environ, "JUPYTER_TOKEN": token}, start_new_session=True
    )
    try:
        if wait_until_ready(server, base, lang, stop):
            url = f"{base}/lab/tree/{quote(first_notebook(folder))}" + (f"?token={token}" if token else "")
            say(READY.format(url=url).get(lang))
            say(STOP_HINT.get(lang))
            if browser:
                webbrowser.open(url)
        while server.poll() is None and not stop["asked"]:
            time.sleep(0.2)
    finally:
        end(server, stop["asked"])
        for number, handler in previous.items():
            signal.signal(number, handler)
    if stop["asked"]:
        say(STOPPED.get(lang))
        return 0
    raise LabError(f"JupyterLab ended with exit code {server.returncode}; its messages stand above")


def wait_until_ready(server: subprocess.Popen, base: str, lang: str, stop: Mapping[str, bool]) -> bool:
    """Wait until the server answers. False when it ended or was asked to stop; LabError when it never answers."""
    begun, told = time.monotonic(), 0
    while server.poll() is None and not stop["asked"]:
        if answers(base):
            return True
        seconds = int(time.monotonic() - begun)
        if seconds >= START_SECONDS:
            raise LabError(f"JupyterLab did not answer at {base} within {START_SECONDS} s")
        if seconds >= told + 10:
            told = seconds
            say(WAITING.format(seconds=seconds).get(lang))
        time.sleep(0.2)
    return False


def answers(base: str) -> bool:
    """Whether a Jupyter server answers at `base`: /api tells its version to everybody. No proxy stands in between."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{base}/api", timeout=2) as reply:
            return b"version" in reply.read()
    except (OSError, urllib.error.URLError):
        return False


def end(server: subprocess.Popen, asked: bool) -> None:
    """Let the server stop its kernels and end; SIGTERM asks for that without a question, a kill is the last resort."""
    if os.name == "posix" or not asked:  # elsewhere Ctrl-C has reached the server too, and terminate() is a kill
        server.terminate()
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def first_notebook(folder: Path) -> str:
    """The notebook to begin with: the lesson with the lowest number."""
    return min(folder.glob("*.ipynb"), key=lambda path: (is_kept(path), path.name)).name


def say(line: str) -> None:
    """One line for the person at the terminal, at once, whatever its encoding."""
    try:
        print(f"==> {line}", flush=True)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding or "ascii"
        print(f"==> {line}".encode(encoding, "replace").decode(encoding), flush=True)
