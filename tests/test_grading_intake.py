"""From the bytes of a file to exercise cells, whatever an editor has made of them. No kernel."""

from __future__ import annotations

import json

import pytest
from harvested import LESSON, TRUNCATED, answers
from submissions import Notebook, as_classic, as_colab, as_modelscope, as_vscode

from fp8lab.grading import notebook as notebook_module
from fp8lab.grading.assemble import solved
from fp8lab.grading.intake import identify
from fp8lab.grading.notebook import Unreadable, read_notebook

SAVED_BY = {
    "JupyterLab": lambda notebook: notebook,
    "Colab": as_colab,
    "Colab, a 4.5 file": lambda notebook: as_colab(notebook, upgraded=True),
    "VS Code": as_vscode,
    "ModelScope": as_modelscope,
    "classic": as_classic,
}


@pytest.mark.parametrize("editor", SAVED_BY)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_editor_keeps_the_answers(editor, lang):
    notebook = SAVED_BY[editor](Notebook(lang=lang).solve("1.1", "1.4"))
    found = answers(notebook)
    assert {key for key, answer in found.items() if answer.untouched} == {"1.2", "1.3", "1.5", "1.6", "1.7"}
    assert found["1.4"].sources == (solved(LESSON.exercise_cell("1.4")),)
    assert identify(read_notebook(notebook.bytes())) == "01_decode"
    assert read_notebook(notebook.bytes()).lang == lang


def as_bom(data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data


def as_crlf(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n").replace(rb"\n", rb"\r\n")


def as_utf16(data: bytes) -> bytes:
    return data.decode().encode("utf-16")


def as_version_3(data: bytes) -> bytes:
    cells = json.loads(data)["cells"]
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["input"] = cell.pop("source")
    return json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells}]}).encode()


@pytest.mark.parametrize("change", [as_bom, as_crlf, as_utf16, as_version_3])
def test_bytes_and_old_formats(change):
    data = change(Notebook(lang="zh").solve("1.4").bytes())
    assert answers(data)["1.4"].sources == (solved(LESSON.exercise_cell("1.4")),)
    assert answers(data)["1.5"].untouched


def test_a_few_broken_bytes_do_not_cost_the_notebook():
    data = Notebook().solve("1.4").bytes().replace(b"What does byte", b"What \xff\xfe byte", 1)
    assert b"\xff" in data
    assert answers(data)["1.4"].runs
    assert read_notebook(data).notes


UNREADABLE = {
    b"": "empty file",
    b" \n": "blanks",
    TRUNCATED: "cut off",
    b"print('hello')": "not a notebook",
    b"\x89PNG\r\n\x1a\n" + bytes(100): "not a notebook",
    b"[1, 2]": "JSON list",
    b'{"a": 1}': "no list of cells",
    b'{"cells": 7}': "no list of cells",
    b"[" * 200_000: "nested too deeply",
    b'{"cells": [' + b"{}," * 6000 + b"{}]}": "6,001 cells",
}


@pytest.mark.parametrize(("data", "reason"), UNREADABLE.items(), ids=UNREADABLE.values())
def test_what_is_no_notebook_says_what_it_is(data, reason):
    with pytest.raises(Unreadable, match=reason):
        read_notebook(data)


def test_size_limit(monkeypatch):
    monkeypatch.setattr(notebook_module, "MAX_BYTES", 1000)
    with pytest.raises(Unreadable, match="1,001 bytes; at most 1,000"):
        read_notebook(b"x" * 1001)


@pytest.mark.parametrize(
    "cells",
    [
        [None, 3, "text", []],
        [{"cell_type": "code"}, {"cell_type": "code", "source": None, "metadata": []}],
        [{"cell_type": 4, "source": [1, None, "# exercise 1.4\n"], "metadata": {"nbgrader": 3}, "id": 5}],
    ],
)
def test_cells_of_any_shape_raise_nothing(cells):
    found = answers(json.dumps({"cells": cells, "metadata": []}).encode())
    assert not any(answer.runs and key != "1.4" for key, answer in found.items())
