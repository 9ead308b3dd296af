"""What of this package a grading kernel sees: what its lesson's driving and cells import, no answer, no verdict.

A view is a copy in a folder of its own, made once per process. The sandbox shows that of a lesson in the place of the
first one, the shared view, and of the installed package: the template of the kernels has only seen what all of them
share. Without a sandbox a view is only the first on the path, and the answers can still be found on the disk.
"""

from __future__ import annotations

import compileall
import shutil
import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from fp8lab.course.source import packaged
from fp8lab.grading.assemble import sources_of
from fp8lab.grading.given import PACKAGE, file_of, given, stands_on
from fp8lab.grading.places import own_folder

NAME = PACKAGE.name
LESSONS = f"{NAME}.course.lessons"
SHARED = tuple(f"{NAME}.grading.{part}" for part in ("inside", "template"))
OURS = (f"{NAME}.course", f"{NAME}.grading")  # data beside these modules are not for kernels: solved lessons

_lock = threading.Lock()


def shared_view() -> Path:
    """The view that the template has, and kernels before they know a lesson; its folder goes when the process ends."""
    with _lock:
        return _view("")


def lesson_view(lesson: str) -> Path:
    """The view of the kernels of a lesson; given back by every call in this process."""
    with _lock:
        return _view(lesson)


@cache
def _view(lesson: str) -> Path:
    """Without a lesson, only what every kernel needs."""
    folder = own_folder() / (f"view-{lesson}" if lesson else "view")
    return make_view(folder, seen_by(lesson) if lesson else seen_of(SHARED))


def make_view(folder: Path, modules: Iterable[str]) -> Path:
    """Copy these modules into `folder` and return it: the entry for PYTHONPATH."""
    for module in modules:
        source = file_of(module)
        target = folder / source.relative_to(PACKAGE.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        if source.name == "__init__.py" and not module.startswith(OURS):
            for path in source.parent.iterdir():  # what a package reads, such as C++ that it compiles
                if path.is_file() and path.suffix not in (".py", ".pyc"):
                    shutil.copy2(path, target.parent)
    compileall.compile_dir(str(folder), quiet=2, workers=1)
    return folder


def seen_by(lesson: str) -> tuple[str, ...]:
    """The modules that kernels of a lesson see."""
    own = f"{LESSONS}.l{lesson}"
    driving = [f"{own}.{path.stem}" for path in file_of(own).parent.glob("driving*.py")]
    return seen_of((*SHARED, *driving, *given(sources_of(packaged(lesson)))))


def seen_of(modules: Iterable[str]) -> tuple[str, ...]:
    """These modules and all that they stand on, but for the parts of lessons that hold answers or make secrets.

    >>> seen = seen_of(["fp8lab.course.lessons.l01_decode.driving"])
    >>> {name.rpartition(".")[2].partition("_")[0] for name in seen if ".l01_decode." in name}
    {'driving'}
    """
    return stands_on(modules, lambda module: not module.startswith(f"{LESSONS}.") or _for_kernels(module))


def _for_kernels(module: str) -> bool:
    """Whether a part of a lesson is for kernels, by its name."""
    _, _, part = module.removeprefix(f"{LESSONS}.").partition(".")
    return part == "" or part.startswith("driving")
