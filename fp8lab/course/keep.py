"""What a learner wrote into a generated notebook is kept beside it before the builder writes the file anew.

`make lab` opens the notebooks of the checkout, so learners work in files that the builder makes. Every one carries the
digest of its own cells. Notebook applications write the same notebook in other forms, run it, and add an empty cell at
the end; only other text in its cells means that somebody has worked in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

MINE = re.compile(r"\.mine(-\d+)?$")  # of a kept copy's name without .ipynb


def digest(cells: list[dict[str, Any]]) -> str:
    """Of the kinds and texts of the cells, empty ones left out: what a notebook carries in its metadata.

    >>> same = [{"cell_type": "code", "source": "x = 1\\ny"}], [{"cell_type": "code", "source": ["x = 1\\n", "y"]}]
    >>> digest(same[0]) == digest(same[1]) != digest([])
    True
    """
    texts = [[cell["cell_type"], "".join(cell["source"]).replace("\r\n", "\n").rstrip()] for cell in cells]
    return hashlib.sha256(json.dumps([text for text in texts if text[1]]).encode()).hexdigest()


def edited(data: bytes, new: dict[str, Any]) -> bool:
    """Whether the notebook file with these bytes holds text that neither the builder wrote nor the notebook `new` has.

    In doubt it does: a file that cannot be read, or that tells no digest, may be anybody's work.
    """
    try:
        notebook = json.loads(data)
        have = digest(notebook["cells"])
        told = notebook["metadata"].get("fp8lab", {}).get("digest")
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return True
    return have not in (told, digest(new["cells"]))


def keep(path: Path) -> Path:
    """Copy the file to 01_decode.mine.ipynb beside it, -2, -3 and so on if that name is taken; the copy's path.

    A copy that holds these bytes already is left as it is.
    """
    data, number = path.read_bytes(), 1
    while True:
        copy = path.with_name(f"{path.stem}.mine{f'-{number}' if number > 1 else ''}{path.suffix}")
        try:
            with copy.open("xb") as file:
                file.write(data)
                os.fsync(file.fileno())
            return copy
        except FileExistsError:
            if copy.read_bytes() == data:
                return copy
        number += 1


def is_kept(path: Path) -> bool:
    """Whether a notebook is such a copy, by its name.

    >>> is_kept(Path("01_decode.mine-2.ipynb")), is_kept(Path("01_decode.ipynb"))
    (True, False)
    """
    return bool(MINE.search(path.stem))
