"""Blind attacks by the notebook as a file: its outputs, its JSON, links, archives."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

from blind_notebooks import FIELDS, HONEST, attack, notebook, write


@attack("outputs_say_passed", "no answer, but outputs, metadata and checks that say so", "1.1", "1.4")
def _outputs(folder: Path) -> None:
    found = notebook({})
    for cell in found["cells"]:
        if cell["id"].startswith("check-"):
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "right: all points"}]
            cell["metadata"]["nbgrader"]["points"] = 1000
            cell["source"] = "print('passed')"
    write(folder, found)


@attack("guesses", "twenty cells for one exercise, a guess in each, among them nothing right", "1.1")
def _guesses(folder: Path) -> None:
    found = notebook({})
    for n in range(20):
        source = f"# exercise 1.1\ndef fields(byte):\n    return {n % 2}, {n}, {n}\n"
        found["cells"].append(
            {
                "cell_type": "code",
                "id": f"guess-{n}",
                "metadata": {},
                "source": source,
                "outputs": [],
                "execution_count": None,
            }
        )
    write(folder, found)


@attack("nested_deeply", "JSON that no parser gets to the bottom of", "1.1")
def _nested(folder: Path) -> None:
    write(folder, "[" * 200_000)


@attack("number_too_long", "a number of 5000 digits in the notebook", "1.1")
def _number(folder: Path) -> None:
    write(folder, json.dumps(notebook(FIELDS)).replace('"nbformat": 4', '"nbformat": ' + "4" * 5000, 1))


@attack("half_a_character", "half of a surrogate pair in a cell", "1.1")
def _half(folder: Path) -> None:
    write(folder, notebook({"1.1": 'x = "\ud800"\n' + HONEST["1.1"]}))


@attack("cells_of_anything", "cells that are numbers, lists and nothing", "1.1")
def _anything(folder: Path) -> None:
    source = [["# exercise 1.1"]]
    odd = [None, 3, "x", {"cell_type": "code"}, {"cell_type": "code", "source": source, "id": [1], "metadata": None}]
    write(folder, {**notebook({}), "cells": odd})


@attack("link_to_a_neighbour", "a symbolic link to the notebook of somebody who has solved it", "1.1")
def _link(folder: Path) -> None:
    os.symlink(folder.parent / "zz_victim" / "01_decode.ipynb", folder / "01_decode.ipynb")


@attack("endless_file", "a symbolic link to a file that does not end", "1.1")
def _endless(folder: Path) -> None:
    os.symlink("/dev/zero", folder / "01_decode.ipynb")


@attack("pipe", "a named pipe, to keep the reader waiting", "1.1")
def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "01_decode.ipynb")


@attack("archive_for_others", "an archive with notebooks for other learners, and paths that lead out of it", "1.1")
def _archive(folder: Path) -> None:
    empty = json.dumps(notebook({}))
    with zipfile.ZipFile(folder / "work.zip", "w") as archive:
        for name in ("zz_victim/01_decode.ipynb", "../zz_victim/01_decode.ipynb", "zz_victim_1_2_01_decode.ipynb"):
            archive.writestr(name, empty)
