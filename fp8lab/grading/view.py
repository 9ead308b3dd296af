"""What of this package a grading kernel sees: all that a lesson's code may import, no answer, no verdict.

The view is a copy in a folder of its own, made once per batch. The sandbox shows it in the place of the installed
package; without a sandbox it is only the first on the path, and the answers can still be found on the disk.
"""

from __future__ import annotations

import compileall
import shutil
from functools import lru_cache
from pathlib import Path

from fp8lab.grading.places import own_folder

PACKAGE = Path(__file__).resolve().parents[1]
SEEN_OF_A_LESSON = ("__init__.py", "driving*")  # driving.py and what it is split into; never answers or exercises
SEEN_OF_GRADING = ("__init__.py", "inside.py", "parcel.py", "seal.py", "template.py", "forking.py", "join.py")


def make_view(folder: Path, package: Path = PACKAGE) -> Path:
    """Write the view into `folder` and return it: the entry for PYTHONPATH."""
    target = folder / package.name
    shutil.copytree(package, target, ignore=lambda where, names: _hidden(Path(where), names, package))
    compileall.compile_dir(str(target), quiet=2, workers=1)
    return folder


@lru_cache(maxsize=1)
def shared_view() -> Path:
    """The view that all runs of this process share; its folder goes when the process ends."""
    return make_view(own_folder() / "view")


def _hidden(where: Path, names: list[str], package: Path) -> set[str]:
    hidden = {name for name in names if name == "__pycache__" or name.endswith((".pyc", ".pyo"))}
    place = where.relative_to(package).parts
    if place == ("course",):
        hidden |= {"data"} & set(names)
    if place[:2] == ("course", "lessons") and len(place) == 3:
        hidden |= _others(names, SEEN_OF_A_LESSON)
    if place == ("grading",):
        hidden |= _others(names, SEEN_OF_GRADING)
    return hidden


def _others(names: list[str], seen: tuple[str, ...]) -> set[str]:
    return {name for name in names if not any(Path(name).match(pattern) for pattern in seen)}
