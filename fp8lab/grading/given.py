"""Which modules of fp8lab a lesson lays open to its learners: what its cells import, and what that stands on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import fp8lab
from fp8lab.grading.pycode import imported

NAME = fp8lab.__name__
PACKAGE = Path(__file__).resolve().parents[1]


def given(sources: Iterable[str]) -> tuple[str, ...]:
    """The modules that cells with these sources import, and all that these import in turn, also inside functions.

    >>> given(["from fp8lab.formats import value"])
    ('fp8lab.float_format', 'fp8lab.formats')
    """
    named = {name for source in sources for name in imported(source, NAME)}
    return tuple(module for module in stands_on(map(module_of, named)) if module != NAME)


def stands_on(modules: Iterable[str], wanted: Callable[[str], bool] = lambda module: True) -> tuple[str, ...]:
    """These modules, all that they import, and the packages that all of them are in; none that is not `wanted`."""
    waiting = sorted(set(modules))
    found: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module not in found and wanted(module):
            found.add(module)
            parent = module.rpartition(".")[0]  # a module comes with its package
            waiting += [*_imports(module), *([parent] if parent else [])]
    return tuple(sorted(found))


def module_of(name: str) -> str:
    """The module that "fp8lab.formats.value" or "fp8lab.decode" is defined in."""
    if _file(name):
        return name
    parent, _, child = name.rpartition(".")
    return fp8lab._HOME.get(child, parent) if parent == NAME else parent


def file_of(module: str) -> Path:
    """The file of a module of ours. LookupError when there is none."""
    path = _file(module)
    if path is None:
        raise LookupError(f"{module} has no file in {PACKAGE}")
    return path


def _file(module: str) -> Path | None:
    base = PACKAGE.joinpath(*module.split(".")[1:])
    return next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)


@cache
def _imports(module: str) -> tuple[str, ...]:
    """The modules of ours that a module imports, also inside functions."""
    names = imported(file_of(module).read_text(encoding="utf-8"), NAME)
    return tuple(sorted({module_of(name) for name in names}))
