"""Whose code a frame runs: one's own, which is counted, or a library's.

Code is a library's only if the library's module holds it: a file name alone is easily claimed. Learners can put objects
of their own where this looks, and it looks while nobody traces. So it asks the C types, never an object's own methods
or class.
"""

from __future__ import annotations

import sysconfig
from builtins import dict, id, issubclass, list, str, type, vars  # noqa: UP029 as they are now: builtins can be replaced
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from sys import modules
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

_LIBRARIES = tuple(  # with those that serve a notebook's kernel, in threads of theirs
    str(Path(spec.origin).parent)
    for name in ("numpy", "torch", "fp8lab", "zmq", "tornado", "ipykernel")
    if (spec := find_spec(name)) is not None and spec.origin
)
_STANDARD = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_OURS = str(Path(__file__).parents[1])  # the lessons: references and known mistakes are measured as a learner's code is
_FROZEN = ("<frozen", "<__array_function__")

_namespace = ModuleType.__dict__["__dict__"].__get__
_members = type.__dict__["__dict__"].__get__
_method = {kind: kind.__dict__["__func__"].__get__ for kind in (classmethod, staticmethod)}
_accessors = tuple(property.__dict__[name].__get__ for name in ("fget", "fset", "fdel"))

_kinds: dict[int, tuple[CodeType, str]] = {}  # by the id of the code; held, so that no id is used twice
_held: dict[str, tuple[dict[str, Any], dict[int, CodeType]]] = {}  # a module's name -> its namespace, its code


def kind(frame: FrameType) -> str:
    """ "own", "library", or "claimed": it has a library's file name and is not in the library's module."""
    code = frame.f_code
    known = _kinds.get(id(code))
    if known is None:
        whose = "own" if not _is_library(code.co_filename) else "library" if _is_held(frame) else "claimed"
        _kinds[id(code)] = known = code, whose
    return known[1]


def hold(prefix: str) -> None:
    """Note the code of all modules that are loaded and whose names begin so; they may be gone when they are needed."""
    for name, module in list(modules.items()):
        if name.startswith(prefix) and type(module) is ModuleType:
            _held[name] = vars(module), {id(code): code for code in _all_code(vars(module), name)}


def _is_library(filename: str) -> bool:
    if type(filename) is not str or filename.startswith(_OURS):
        return False
    in_standard = filename.startswith(_STANDARD) and "site-packages" not in filename
    return in_standard or filename.startswith(_LIBRARIES) or filename.startswith(_FROZEN)


def _is_held(frame: FrameType) -> bool:
    """Whether the module in whose name a frame runs is the one that holds its code."""
    space = frame.f_globals
    name = space.get("__name__") if type(space) is dict else None
    if type(name) is not str:
        return False
    if name not in _held:
        module = modules.get(name)
        if not issubclass(type(module), ModuleType) or _namespace(module) is not space:
            return False
        _held[name] = space, {id(code): code for code in _all_code(space, name)}
    of, codes = _held[name]
    return of is space and id(frame.f_code) in codes


def _all_code(space: dict[str, Any], module: str) -> Iterator[CodeType]:
    seen: dict[int, bool] = {}
    for value in list(space.values()):
        yield from _codes(value, module, seen)


def _codes(value: Any, module: str, seen: dict[int, bool]) -> Iterator[CodeType]:
    """The code of what a module defines: functions, what they wrap and contain, and the members of its classes."""
    if id(value) in seen:
        return
    seen[id(value)] = True
    what = type(value)
    if what is CodeType:
        yield value
        for constant in value.co_consts:
            yield from _codes(constant, module, seen)
    elif what is FunctionType:
        yield from _codes(value.__code__, module, seen)
        for cell in value.__closure__ or ():
            try:
                yield from _codes(cell.cell_contents, module, seen)
            except ValueError:  # an empty cell
                continue
        if type(value.__dict__) is dict:
            yield from _codes(value.__dict__.get("__wrapped__"), module, seen)
    elif what in _method:
        yield from _codes(_method[what](value), module, seen)
    elif what is property:
        for part in _accessors:
            yield from _codes(part(value), module, seen)
    elif issubclass(what, type):
        home = _members(value).get("__module__")
        if type(home) is str and (home == module or home.startswith("_frozen_importlib")):
            for member in list(_members(value).values()):
                yield from _codes(member, module, seen)
