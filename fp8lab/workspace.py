"""Which learner notebooks a person works on: those of the checkout around them, or copies written from the package.

A copy is a learner's own once they have typed into it. So a file that differs from what was written is never touched;
a newer edition of its lesson is put beside it. `.fp8lab.json` in the folder remembers what was written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fp8lab import __version__

FOLDER = "fp8lab-notebooks"
LEDGER = ".fp8lab.json"


@dataclass(frozen=True)
class Unpacked:
    """What `unpack` did, by file name. `beside` maps a learner's file to the newer edition written next to it."""

    written: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()


def checkout_notebooks(start: Path, lang: str) -> Path | None:
    """The folder notebooks/<lang> of the fp8lab checkout that holds `start`, or None outside of one."""
    for folder in (start, *start.parents):
        if (folder / "fp8lab" / "course").is_dir() and (folder / "solutions").is_dir():
            return folder / "notebooks" / lang
    return None


def packaged_notebooks(lang: str) -> dict[str, str]:
    """File name -> text of every learner notebook in the installed package."""
    from fp8lab.course.notebook import learner_notebook, notebook_text
    from fp8lab.course.source import packaged, packaged_names

    return {f"{name}.ipynb": notebook_text(learner_notebook(packaged(name), lang)) for name in packaged_names()}


def unpack(folder: Path, notebooks: Mapping[str, str]) -> Unpacked:
    """Write `notebooks` (file name -> text) into `folder`. Nothing that a learner typed is changed or replaced.

    A file that is not there is written. A file that is still as we wrote it is renewed. A file that the learner has
    changed is kept; if its lesson has a newer edition, that is written beside it as NAME.new-VERSION.ipynb.
    OSError when the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ledger = _read_ledger(folder)
    written, renewed, kept, beside = [], [], [], []
    for name, text in notebooks.items():
        path = folder / name
        new = _digest(text.encode())
        if not path.exists():
            written.append(name)
            _write(path, text)
        elif _digest(path.read_bytes()) == new:
            kept.append(name)
        elif _digest(path.read_bytes()) == ledger.get(name):
            renewed.append(name)
            _write(path, text)
        else:
            kept.append(name)
            if ledger.get(name) != new:
                other = _free_name(path, text)
                if not other.exists():
                    _write(other, text)
                    beside.append((name, other.name))
        ledger[name] = new
    _write(folder / LEDGER, json.dumps(ledger, indent=1, sort_keys=True) + "\n")
    return Unpacked(tuple(written), tuple(renewed), tuple(kept), tuple(beside))


def _free_name(path: Path, text: str) -> Path:
    """Where the newer edition `text` of a changed notebook goes: the first name that is free or holds it already."""
    number = 1
    while True:
        suffix = f".new-{__version__}" + (f"-{number}" if number > 1 else "")
        candidate = path.with_name(f"{path.stem}{suffix}.ipynb")
        if not candidate.exists() or _digest(candidate.read_bytes()) == _digest(text.encode()):
            return candidate
        number += 1


def _read_ledger(folder: Path) -> dict[str, str]:
    """What was written into `folder` before; empty when nothing is known, which only makes us more careful."""
    try:
        data = json.loads((folder / LEDGER).read_text(encoding="utf-8"))
        return {str(name): str(digest) for name, digest in data.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _write(path: Path, text: str) -> None:
    """All of it or nothing: a full disk must not leave half a notebook under the learner's name."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(text.encode())
    temporary.replace(path)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
