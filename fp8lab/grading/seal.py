"""What of fp8lab an answer may use: what its lesson uses. The rest is closed when the stage is set.

A lesson that lets learners write `decode` must not have it lying beside them. Most of fp8lab is not even in the view
of the package that a kernel has (view.py). What is there because the driving needs it, and the lesson's cells do not,
is taken out of sys.modules, and an audit hook, which no Python code can take out again, refuses to open its files for
anybody but this package. What was tried is remembered and reported with the evidence.

This makes cheating laborious and visible, not impossible: the objects are in the process (gc, frames). The names by
which they are reached are flagged for review by `pycode.for_review`, and no verdict is computed from them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import fp8lab

NAME = fp8lab.__name__
ROOT = os.path.dirname(os.path.realpath(fp8lab.__file__))
LIBRARIES = tuple({os.path.realpath(p) + os.sep for p in (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__))})
LATE = re.compile(rf"^[ \t]+from ({NAME}\.(?!course)[\w.]+) import", re.MULTILINE)  # numerics, in a function
HOOKS = ("sys.addaudithook", "sys.setprofile", "sys.settrace", "sys.monitoring.register_callback")  # audit events
RUNS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty")  # audit events
MOST = 20  # names that are remembered
NOT_FOR_ANSWERS = " is not for answers of this lesson"
REFUSED = re.compile(rf"({NAME}[\w.]*){NOT_FOR_ANSWERS}")


class Seal:
    """Closes fp8lab but for the modules `given` (see given.py). `reached`: what an answer has tried all the same.

    Hooks are closed, too: Python traces nothing in one, so a loop in it would not be counted.
    excused: says whether Python itself is switching the tracing off just now (see driving_work.breaks_off).
    """

    def __init__(self, given: Iterable[str], excused: Callable[[], bool] = lambda: False) -> None:
        self._excused = excused
        self.open = {NAME, f"{NAME}.course", *given}
        self.reached: list[str] = []
        self._sealed: set[str] = set()

    def close(self) -> None:
        """From now on only we get in."""
        for module in _loaded().values():
            late = set(LATE.findall(_text(module))) if ".driving" in module.__name__ else set()
            for name in sorted(late - self.open):
                import_module(name)  # now, or it would lie open from when it is first needed
        self._sealed = set(_loaded()) - self.open
        self.shut()
        sys.meta_path.append(self)
        sys.addaudithook(self._audit)

    def shut(self) -> None:
        """Take the closed modules away that are loaded; whoever has them keeps them."""
        for name in self._sealed & set(sys.modules):
            module = sys.modules.pop(name)
            parent, _, child = name.rpartition(".")
            holder = sys.modules.get(parent)
            if holder is not None and vars(holder).get(child) is module:
                delattr(holder, child)
        for name, home in fp8lab._HOME.items():  # `fp8lab.decode`, if somebody has looked it up
            if home not in self.open:
                vars(fp8lab).pop(name, None)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in RUNS and _asker(sys._getframe(1)) == "theirs":
            self._remember(event)
        if event in HOOKS and not self._excused():
            self._refuse_hook(event, _asker(sys._getframe(1)))
        if event != "open" or not isinstance(arguments[0], (str, bytes, os.PathLike)):
            return
        name = _module_of(arguments[0])
        if name is None or name in self.open:
            return
        asker = _asker(sys._getframe(1))
        if asker == "ours":
            return
        if asker == "theirs":
            self._remember(name)
        raise PermissionError(name + NOT_FOR_ANSWERS)

    _audit.__cantrace__ = True  # an audit hook is not traced, and this one meets objects of learners

    def _refuse_hook(self, event: str, asker: str) -> None:
        """Nobody but us sets a hook; that threading sets ours when a thread begins is seen to by driving_work."""
        if asker == "theirs" or (asker == "nobody's" and event != "sys.settrace"):
            self._remember(event)
            raise PermissionError(f"{event} is not for answers")

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Asked last, for modules that nobody finds. Of ours, those that the view of this lesson leaves out."""
        if name.startswith(f"{NAME}.") and _asker(sys._getframe(1)) == "theirs":
            self._remember(name)
            raise PermissionError(name + NOT_FOR_ANSWERS)

    def _remember(self, what: str) -> None:
        if what not in self.reached and len(self.reached) < MOST:
            self.reached.append(what)


def _loaded() -> dict[str, ModuleType]:
    return {name: module for name, module in list(sys.modules.items()) if name.startswith(f"{NAME}.")}


def _text(module: ModuleType) -> str:
    return Path(module.__file__).read_text(encoding="utf-8") if getattr(module, "__file__", None) else ""


def _module_of(path: str | bytes | os.PathLike[str]) -> str | None:
    """The module whose source or compiled file lies at `path`, wherever fp8lab is installed; None for other files.

    >>> _module_of("/usr/lib/fp8lab/__pycache__/formats.cpython-311.pyc"), _module_of("/usr/lib/numpy/ma.py")
    ('fp8lab.formats', None)
    """
    parts = Path(os.path.realpath(os.fsdecode(path))).parts
    if NAME not in parts:
        return None
    place = len(parts) - 1 - parts[::-1].index(NAME)
    names = [part for part in parts[place:] if part != "__pycache__"]
    if names[-1].endswith((".py", ".pyc")):
        names[-1] = names[-1].split(".")[0]
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def _asker(frame: FrameType | None) -> str:
    """Whose code asks: the innermost frame that is in no library. "ours", "theirs", or "nobody's"."""
    while frame is not None:
        name = frame.f_code.co_filename
        lookup = name == fp8lab.__file__  # fp8lab.decode: who has asked for that?
        if not lookup and not name.startswith(("<frozen ", *LIBRARIES)):
            return "ours" if os.path.realpath(name).startswith(ROOT + os.sep) else "theirs"
        frame = frame.f_back
    return "nobody's"
