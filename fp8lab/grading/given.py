"""Which modules of fp8lab a lesson lays open to its learners: what its cells import, and what that stands on."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import fp8lab
from fp8lab.grading.pycode import imported
from fp8lab.grading.view import PACKAGE

NAME = fp8lab.__name__


def given(sources: Iterable[str]) -> tuple[str, ...]:
    """The modules that cells with these sources import, and all that these import in turn, also inside functions.

    >>> given(["from fp8lab.formats import value"])
    ('fp8lab.float_format', 'fp8lab.formats')
    """
    waiting = sorted({name for source in sources for name in imported(source, NAME)})
    found: set[str] = set()
    while waiting:
        module = _module(waiting.pop())
        if module not in found | {NAME}:
            found.add(module)
            waiting += [*_imports(module), module.rpartition(".")[0]]  # a package comes with what is in it
    return tuple(sorted(found))


def _module(name: str) -> str:
    """The module that "fp8lab.formats.value" or "fp8lab.decode" is defined in."""
    if _file(name):
        return name
    parent, _, child = name.rpartition(".")
    return fp8lab._HOME.get(child, parent) if parent == NAME else parent


def _file(module: str) -> Path | None:
    base = PACKAGE.joinpath(*module.split(".")[1:])
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


@cache
def _imports(module: str) -> tuple[str, ...]:
    """What a module of ours imports of fp8lab."""
    path = _file(module)
    return tuple(sorted(imported(path.read_text(encoding="utf-8"), NAME))) if path else ()
