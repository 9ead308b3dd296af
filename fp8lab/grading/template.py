"""The kernels' template: has imported what every kernel needs, and forks one into each sandbox (see forking, join).

Started by `warm` with the environment of a kernel, so it has nothing of the instructor's; of fp8lab it sees what the
kernels of all lessons share. Until it is copied it runs no line of a submission, and a copy runs one only after it has
joined its sandbox and given up all rights.

python -m fp8lab.grading.template DESCRIPTOR    of the listening socket
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any

from fp8lab.grading.forking import Template, import_those_there, listener_of
from fp8lab.grading.join import fork_into, give_up_rights

IMPORTED = (  # all of it is imported by a kernel that has been started the long way, before the first exercise cell
    *("torch", "numpy", "numpy.random", "ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.zmqshell"),
    *("fp8lab.grading.inside", "fp8lab.course.drive"),
)
# By ipykernel itself and by numpy's `unique`; debugpy may be missing, other versions may keep things elsewhere.
SOON = ("ipykernel.debugger", "numpy.ma", "IPython.core.completerlib", "IPython.core.oinspect")


def main(descriptor: str) -> None:
    listener = listener_of(int(descriptor))
    if sys.path[0] in ("", os.getcwd()):  # a kernel puts "" there itself
        del sys.path[0]
    for name in IMPORTED:
        import_module(name)
    import_those_there(SOON)
    gc.collect()
    gc.freeze()  # what is here now is shared with all copies: collecting it would copy its pages
    Template(listener, become_kernel, lambda request: fork_into(request["target"])).serve()


def become_kernel(request: dict[str, Any]) -> int:
    """In the sandbox: be the kernel that {"arguments", "resources", "cwd"} describe, until it ends."""
    give_up_rights(request["resources"])
    os.chdir(request["cwd"])
    os.environ["PWD"] = request["cwd"]
    if request["arguments"] is None:  # a trial
        return 0
    seed_again()
    look_again()
    from ipykernel.kernelapp import IPKernelApp

    sys.argv = ["ipykernel_launcher.py", *request["arguments"]]
    IPKernelApp.launch_instance(argv=request["arguments"])
    return 0


def seed_again() -> None:
    """Random numbers of its own for every copy; Python's `random` sees to that itself."""
    import numpy

    numpy.random.seed()


def look_again() -> None:
    """Forget which files of fp8lab there were: where the template had the shared view, a copy has its lesson's."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for path, finder in sys.path_importer_cache.items():
        if path.startswith(home) or path == os.path.dirname(home):
            getattr(finder, "invalidate_caches", lambda: None)()


if __name__ == "__main__":
    main(sys.argv[1])
