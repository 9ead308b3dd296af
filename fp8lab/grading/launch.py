"""How a kernel is started: command, environment, folders, limits. One function decides: `kernel_launch`.

With bubblewrap the kernel has no network, its own process namespace, a read-only system reduced to Python and the
libraries, a private home and /tmp in memory, and of fp8lab only the view without answers. It talks over ipc sockets in
one folder that is bound into the sandbox, since TCP does not reach into a namespace without a network.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fp8lab.grading.places import new_folder
from fp8lab.grading.view import PACKAGE, shared_view

MEMORY = 4 * 2**30  # bytes resident, the kernel and its children together
ADDRESS_SPACE = 32 * 2**30  # bytes, per process: torch reserves much more than it touches
PROCESSES = 64
FILE_SIZE = 64 * 2**20  # bytes, per file, and for the whole of a private folder
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime")
INSIDE_HOME = "/home/learner"
INSIDE_WORK = "/work"

HOLD = ("/bin/sh", "-c", "echo; read end")  # in a sandbox that a kernel is to join: says that it is there, and waits
ARGUMENTS = (
    *("-f", "{connection_file}"),
    "--IPKernelApp.capture_fd_output=False",  # what is written to descriptor 1 goes nowhere, not into messages
    "--HistoryManager.enabled=False",
    "--InteractiveShell.cache_size=0",
    "--InteractiveShell.colors=NoColor",
)


class SandboxMissing(RuntimeError):
    """bubblewrap is not here, or may not make namespaces here; the message says what to do."""


@dataclass(frozen=True)
class Launch:
    """All that the process that starts a kernel must know. JSON holds it (`to_dict`).

    argv        the command; {connection_file} stands for jupyter's. With a template: a sandbox that waits
    env         the whole environment of the kernel
    cwd         where the process starts
    connection  folder of the connection file and, with ipc, of the sockets
    transport   "ipc" or "tcp"
    limits      memory and processes, watched from outside
    resources   resource limits, "RLIMIT_AS" -> bytes
    arguments   of the kernel, as in argv
    inside      the folder where the kernel is: an empty one
    template    where the template listens of which the kernel is a copy; "" for a kernel that is started anew
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    connection: str
    transport: str
    limits: dict[str, int] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)
    arguments: tuple[str, ...] = ARGUMENTS
    inside: str = INSIDE_WORK
    template: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Launch:
        return cls(**{**data, "argv": tuple(data["argv"]), "arguments": tuple(data["arguments"])})


def kernel_launch(view: Path, folder: Path, *, sandbox: bool, seconds: float, template: str = "") -> Launch:
    """The launch of one kernel whose files lie in `folder`, which sees fp8lab as in `view` (see view.py).

    seconds   that the kernel lives at most; the limit of its processor time follows
    template  a copy of this template, in a sandbox
    """
    connection, work, home = (folder / name for name in ("k", "work", "home"))
    for place in (connection, work, home):
        place.mkdir(exist_ok=True)
    limits = {"memory": MEMORY, "processes": PROCESSES}
    resources = {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": 2 * FILE_SIZE,
        "RLIMIT_AS": ADDRESS_SPACE,
        "RLIMIT_CPU": int(4 * seconds) + 60,
    }
    transport = "tcp" if os.name == "nt" else "ipc"
    python = (sys.executable, "-m", "ipykernel_launcher", *ARGUMENTS)
    where = (str(work), str(connection), transport, limits, resources)
    if not sandbox:
        return Launch(python, kernel_environment(str(view), str(home)), *where)
    argv = (*bubblewrap(view, connection), *(HOLD if template else python))
    return Launch(argv, kernel_environment(str(shared_view()), INSIDE_HOME), *where, template=template)


def kernel_environment(view: str, home: str) -> dict[str, str]:
    """An environment of our own: nothing of the instructor's session is inherited but where the libraries are."""
    env = {
        "HOME": home,
        "USER": "learner",
        "LOGNAME": "learner",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join([view, *extra_paths()]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "IPYTHONDIR": os.path.join(home, "ipython"),
        "JUPYTER_CONFIG_DIR": os.path.join(home, "jupyter"),
        "JUPYTER_DATA_DIR": os.path.join(home, "jupyter"),
        "JUPYTER_RUNTIME_DIR": os.path.join(home, "jupyter"),
        "MPLCONFIGDIR": os.path.join(home, "matplotlib"),
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "FP8LAB_PROGRESS": "off",
    }
    kept = ("SYSTEMROOT", "LD_LIBRARY_PATH") if os.name == "nt" else ("LD_LIBRARY_PATH",)
    env.update({name: os.environ[name] for name in kept if name in os.environ})
    return env


def extra_paths() -> list[str]:
    """Folders of installed packages outside this Python's own prefix, such as the user's site folder."""
    inside = tuple(os.path.join(prefix, "") for prefix in {sys.prefix, sys.base_prefix})
    installed = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    return [path for path in installed if os.path.isdir(path) and not path.startswith(inside)]


def bubblewrap(view: Path, connection: Path) -> tuple[str, ...]:
    """The command that the kernel's command is put behind. The view stands where the template has the shared one."""
    line = [_bwrap(), "--die-with-parent", "--new-session", "--unshare-all", *_no_more_users(), "--cap-drop", "ALL"]
    line += ["--hostname", "fp8lab", "--proc", "/proc", "--dev", "/dev"]
    for place in ("/tmp", "/dev/shm", INSIDE_HOME, INSIDE_WORK):
        line += ["--size", str(FILE_SIZE), "--tmpfs", place]
    for place in SYSTEM:
        target = os.path.realpath(place)
        if target != place and os.path.isdir(place):  # /bin -> usr/bin
            line += ["--symlink", os.readlink(place), place]
        elif os.path.isdir(place):
            line += ["--ro-bind", place, place]
    for place in SETTINGS:
        line += ["--ro-bind-try", place, place]
    for place in python_folders():
        line += ["--ro-bind", place, place]
    line += ["--ro-bind", str(view), str(shared_view())]
    if any(str(PACKAGE).startswith(os.path.join(place, "")) for place in (*SYSTEM, *python_folders())):
        line += ["--ro-bind", str(view / PACKAGE.name), str(PACKAGE)]  # installed beside the libraries: covered
    line += ["--bind", str(connection), str(connection), "--chdir", INSIDE_WORK]
    line += ["--remount-ro", "/dev", "--remount-ro", "/"]  # else memory without a limit, in the shape of files
    return (*line, "--unsetenv", "JPY_PARENT_PID", "--")  # ipykernel would look for a parent that it cannot see


def python_folders() -> list[str]:
    """This Python and its packages, where they do not lie in the system's folders; outermost only."""
    places = {sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)), *extra_paths()}
    places = {place for place in places if not place.startswith(tuple(os.path.join(s, "") for s in SYSTEM))}
    places -= set(SYSTEM)
    return sorted(p for p in places if not any(p.startswith(os.path.join(other, "")) for other in places))


def _bwrap() -> str:
    path = shutil.which("bwrap")
    if path is None:
        raise SandboxMissing("bubblewrap is not installed (Linux: apt-get install bubblewrap)")
    return path


@cache
def _no_more_users() -> tuple[str, ...]:
    """The options that forbid further user namespaces, if this bubblewrap (0.8) and this system know them."""
    options = ("--unshare-user", "--disable-userns")
    line = [_bwrap(), *options, "--ro-bind", "/", "/", "true"]
    try:
        return options if subprocess.run(line, capture_output=True, timeout=20).returncode == 0 else ()
    except (OSError, subprocess.TimeoutExpired):
        return ()


def require_sandbox() -> None:
    """Start Python once in the very sandbox that kernels will have. SandboxMissing says why it does not work."""
    view = shared_view()
    folder = new_folder()
    line = [*bubblewrap(view, folder), sys.executable, "-c", "import fp8lab, ipykernel"]
    env = kernel_environment(str(view), INSIDE_HOME)
    try:
        tried = subprocess.run(line, env=env, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise SandboxMissing(f"bubblewrap does not start: {problem}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if tried.returncode:
        reason = (tried.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise SandboxMissing(f"bubblewrap is installed and does not work here: {reason}")
