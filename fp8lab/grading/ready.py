"""Which templates this grader has: decided once, by making a copy in a sandbox, not by what the system claims."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from fp8lab.grading import SETTINGS
from fp8lab.grading.launch import INSIDE_HOME, kernel_environment, kernel_launch
from fp8lab.grading.places import new_folder, own_folder
from fp8lab.grading.sandboxed import Holder, join
from fp8lab.grading.view import PACKAGE, shared_view
from fp8lab.grading.warm import START_SECONDS, TemplateLost, templates

COLD = "FP8LAB_GRADING_COLD"  # environment variable: start every process anew, whatever is possible here
KERNELS, PYTESTS = "fp8lab.grading.template", "fp8lab.grading.pytests"


@dataclass(frozen=True)
class Ready:
    """Addresses of the templates, "" where a process is started anew; `because` says why."""

    kernels: str = ""
    pytests: str = ""
    because: str = ""


_lock = threading.Lock()
_cold: dict[int, str] = {}  # process id -> why it has no templates; "" if it has


def ready(sandbox: bool) -> Ready:
    """The templates, started if they are not there. None without a sandbox: then nothing is gained by being careful."""
    if not sandbox:
        return Ready(because="no sandbox")
    with _lock:
        if os.getpid() not in _cold:
            _cold[os.getpid()] = why = cold_because()
            if why:
                print(f"fp8lab grade: every kernel starts anew, which takes longer: {why}", file=sys.stderr)
        if why := _cold[os.getpid()]:
            return Ready(because=why)
        return Ready(_kernels(), _pytests())


def cold_because() -> str:
    """Why no kernel can be a copy of a template on this machine; "" if one was just made. Starts the template."""
    if os.environ.get(COLD):
        return f"{COLD} is set"
    if sys.platform != "linux":
        return "there are namespaces to join on Linux only"
    if not hasattr(os, "pidfd_open"):
        return "this Python has no os.pidfd_open"
    folder = new_folder()
    try:
        _pytests()  # comes up meanwhile
        launch = kernel_launch(shared_view(), folder, sandbox=True, seconds=START_SECONDS, template=_kernels())
        holder = Holder(launch)
        try:
            with join(holder, launch, None) as copy:
                code = copy.wait(START_SECONDS)
        finally:
            holder.kill()
        return "" if code == 0 else f"a copy of the template ended with {code}"
    except (TemplateLost, OSError) as problem:
        return str(problem)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _kernels() -> str:
    return templates.address(KERNELS, kernel_environment(str(shared_view()), INSIDE_HOME))


def _pytests() -> str:
    return templates.address(PYTESTS, pytest_environment(own_folder()))


def pytest_environment(control: Path) -> dict[str, str]:
    """The environment of pytest: nothing of the instructor's settings for Python, pytest or Jupyter gets in."""
    dropped = ("PYTEST_", "JUPYTER", "IPYTHON", "NBVAL", "COV_", "JPY_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    home = control / "home"
    home.mkdir(exist_ok=True)
    path = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    folders = dict.fromkeys(("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"), str(home))
    return {
        **env,
        **folders,
        "JUPYTER_NO_CONFIG": "1",
        "JUPYTER_PATH": str(home),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        SETTINGS: str(control / "settings.json"),
    }
