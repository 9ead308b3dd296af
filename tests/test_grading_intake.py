"""From a folder of files to exercise cells: every editor's way of saving, every way of rearranging cells. No kernel."""

from __future__ import annotations

import json
import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from submissions import Notebook, as_classic, as_colab, as_modelscope, as_vscode, source

from fp8lab.course.registry import lesson_drives
from fp8lab.course.source import packaged
from fp8lab.grading import notebook as notebook_module
from fp8lab.grading.assemble import solved
from fp8lab.grading.harvest import harvest
from fp8lab.grading.intake import collect, identify, lessons_of
from fp8lab.grading.notebook import Unreadable, read_notebook

LESSON = packaged("01_decode")
NAMES = {key: drive.name for key, drive in lesson_drives("01_decode").items()}
HOSTILE = r"(# exercise 1\.[1-7]|def decode_byte|class fields|```)[\s\S]{0,40}"  # what cells are recognised by


def answers(notebook: Notebook | bytes) -> dict:
    """Exercise key -> Answer, from the bytes of a file."""
    data = notebook if isinstance(notebook, bytes) else notebook.bytes()
    found = harvest(read_notebook(data), LESSON, NAMES)
    return {key: answer for answer in found.values() for key in answer.keys}


def code(notebook: Notebook, key: str) -> str:
    return "\n".join(answers(notebook)[key].sources)


# ---- what editors do to a file


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


TRUNCATED = Notebook().bytes()[:5000]
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


# ---- what learners do to cells


def test_as_handed_out_everything_is_untouched():
    assert all(answer.untouched and not answer.notes for answer in answers(Notebook()).values())


def test_comments_and_layout_are_not_an_answer():
    notebook = Notebook()
    stub = source(notebook.cell("1.4"))
    notebook.cell("1.4")["source"] = (
        stub.replace("    # TODO", "\n    # I do not know what to write here\n    # TODO") + "\n"
    )
    assert answers(notebook)["1.4"].untouched


def test_a_deleted_cell_is_missing():
    notebook = Notebook().solve()
    del notebook.cells[notebook.index("1.3")]
    found = answers(notebook)
    assert found["1.3"].missing and not found["1.3"].runs
    assert found["1.4"].runs


def test_found_by_its_name_when_the_marker_is_gone():
    notebook = as_classic(Notebook().solve())
    cell = notebook.cell("1.4")
    cell["source"] = source(cell).split("\n", 1)[1]
    assert "subnormal_value(sign, mantissa)" in code(notebook, "1.4")


@pytest.mark.parametrize("place", ["id", "colab", "nbgrader"])
def test_found_by_id_when_marker_and_name_are_gone(place):
    notebook = Notebook().solve()
    cell = notebook.cell("1.4")
    cell["source"] = "def decode_a_byte(byte):\n    return 0"
    if place != "id":
        del cell["id"]
    if place == "colab":
        cell["metadata"] = {"id": "exercise-1-4"}
    if place == "id":
        cell["metadata"] = {}
    found = answers(notebook)["1.4"]
    assert found.runs and found.undefined == {"decode_byte"}


def test_moved_cells_are_found():
    notebook = Notebook().solve()
    notebook.record["cells"].reverse()
    assert all(answer.runs for answer in answers(notebook).values())


def test_the_last_definition_that_is_no_stub_counts_and_both_are_told():
    notebook = Notebook()
    stub = source(notebook.cell("1.4"))
    place = notebook.index("1.4")
    notebook.write("1.4", "def decode_byte(byte):\n    return 'first'")
    notebook.insert(place + 1, "# exercise 1.4\ndef decode_byte(byte):\n    return 'second'")
    notebook.insert(-1, stub)
    found = answers(notebook)["1.4"]
    assert found.sources == ("# exercise 1.4\ndef decode_byte(byte):\n    return 'second'",)
    (note,) = found.notes
    assert note == f"defined more than once: graded cell {place + 2}, not cell {place + 1}, {len(notebook.cells)}"


def test_a_later_definition_outside_the_exercise_changes_nothing():
    notebook = Notebook().solve("1.4").insert(-1, "decode_byte = lambda byte: 7.0")
    notebook.insert(-1, "def decode_byte(byte):\n    return 8.0")
    found = answers(notebook)["1.4"]
    assert found.sources == (solved(LESSON.exercise_cell("1.4")),)


def test_merged_cells_are_taken_apart_and_checks_left_out():
    notebook = Notebook().solve("1.2", "1.3")
    merged = "\n\n".join(source(notebook.cell(k, role)) for k in ("1.2", "1.3") for role in ("exercise", "check"))
    first = notebook.index("1.2")
    for key in ("1.2", "1.3"):
        for role in ("exercise", "check"):
            notebook.cells.remove(notebook.cell(key, role))
    notebook.insert(first, merged)
    for key in ("1.2", "1.3"):
        assert code(notebook, key) == solved(LESSON.exercise_cell(key))


def test_a_split_cell_is_put_together():
    notebook = Notebook()
    place = notebook.index("1.4")
    notebook.cells[place]["source"] = "# exercise 1.4\nBIAS = 7"
    notebook.insert(place + 1, "def decode_byte(byte):\n    return BIAS")
    found = answers(notebook)["1.4"]
    assert found.sources == ("# exercise 1.4\nBIAS = 7", "def decode_byte(byte):\n    return BIAS")
    assert not found.undefined


@pytest.mark.parametrize("fence", ["{}", "```python\n{}\n```", "```\n{}\n```\n"])
def test_code_turned_to_markdown_is_recovered(fence):
    notebook = Notebook().solve("1.4")
    cell = notebook.cell("1.4")
    cell.update(cell_type="markdown", source=fence.format(source(cell)))
    found = answers(notebook)["1.4"]
    assert found.sources == (solved(LESSON.exercise_cell("1.4")),)
    assert found.notes == ("code recovered from a Markdown cell",)


def test_prose_that_mentions_an_exercise_is_no_answer():
    notebook = Notebook()
    notebook.insert(0, "# exercise 1.4 is hard\n\nI could not do it.", "markdown")
    del notebook.cells[notebook.index("1.4")]
    assert answers(notebook)["1.4"].missing


@pytest.mark.parametrize("marker", ["#exercise 1.4", "# Exercise 1.4:", "## exercise 1.4 (mine)", "\n\n# exercise 1.4"])
def test_markers_are_read_generously(marker):
    notebook = Notebook()
    notebook.cell("1.4")["source"] = f"{marker}\ndef decode_byte(byte):\n    return 5"
    assert "return 5" in code(notebook, "1.4")


def test_a_syntax_error_is_told_with_its_line():
    notebook = Notebook().solve().write("1.4", "def decode_byte(byte)\n    return 1")
    found = answers(notebook)
    assert found["1.4"].broken == "SyntaxError: expected ':' (line 2: def decode_byte(byte))"
    assert [key for key, answer in found.items() if answer.broken] == ["1.4"]


def test_magics_are_no_syntax_error():
    notebook = Notebook().write("1.4", "%matplotlib inline\n!echo hello\ndef decode_byte(byte):\n    return 1")
    assert answers(notebook)["1.4"].broken == ""


def test_use_of_the_library_is_flagged_for_review():
    notebook = Notebook().write("1.4", "import fp8lab\ndef decode_byte(byte):\n    return float(fp8lab.decode([byte]))")
    assert answers(notebook)["1.4"].notes == ("for review: uses fp8lab, fp8lab.decode",)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import sys as s\nx = s.modules", "modules"),
        ("x = ().__class__.__base__.__subclasses__()", "__subclasses__"),
        ("x = np.zeros.__globals__", "__globals__"),
        ("exec('x = 1')", "exec"),
        ("from concurrent.futures import ThreadPoolExecutor as T", "concurrent.futures"),
        ("import gc as g", "gc"),
    ],
)
def test_roundabout_ways_are_flagged_for_review(code, name):
    notebook = Notebook().write("1.4", f"{code}\ndef decode_byte(byte):\n    return 0.0")
    assert any(note.startswith("for review: uses") and name in note for note in answers(notebook)["1.4"].notes)


@pytest.mark.parametrize(
    "hostile",
    [
        "x = " + "-" * 5000 + "1",
        "if x:\n  pass\n" + "elif x:\n  pass\n" * 3000,
        "\n" * 190_000,
        "?" * 100_000 + "x",
        "(" * 10_000,
        "x = 1\0",
        "s = '\ud800'",
        "def f(:\n" + "a" * 150_000,
        "%%%%bash\n%time",
        "x" * 300_000,
    ],
    ids=range(10),
)
def test_no_code_is_too_strange_to_be_read(hostile):
    began = time.monotonic()
    notebook = Notebook().write("1.4", hostile).insert(-1, f"# exercise 1.5{'9' * 100_000}\n{hostile}")
    found = answers(json.dumps(notebook.record).encode())
    assert not found["1.4"].untouched and found["1.1"].untouched
    assert time.monotonic() - began < 5


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["code", "markdown", "raw"]), st.text() | st.from_regex(HOSTILE)), max_size=4)
)
def test_any_cells_at_all_are_harvested(cells):
    record = {"cells": [{"cell_type": kind, "source": text} for kind, text in cells]}
    assert set(answers(json.dumps(record).encode())) == set(NAMES)


# ---- folders


def layout(root):
    Notebook().save(root / "ann" / "01_decode.ipynb")
    Notebook("02_encode").save(root / "ann" / "week2" / "hw.ipynb")
    Notebook(lang="zh").save(root / "bob_01_decode.ipynb")
    Notebook().save(root / "01_decode" / "carol.ipynb")
    Notebook().save(root / "dave" / ".ipynb_checkpoints" / "01_decode-checkpoint.ipynb")
    (root / "dave" / "essay.txt").write_text("hello")
    (root / "readme.txt").write_text("hello")
    (root / "01_decode_eve.ipynb").write_bytes(TRUNCATED)
    (root / "__MACOSX").mkdir()
    (root / "李雷").mkdir()
    Notebook(lang="zh").save(root / "李雷" / "第一课.ipynb")


def test_who_handed_in_what(tmp_path):
    layout(tmp_path)
    intake = collect(tmp_path)
    found, strange = intake.submissions, list(intake.strange)
    table = {(s.student, s.path): (s.lesson, s.lang, s.problem.split(":")[0]) for s in found}
    assert table == {
        ("ann", "ann/01_decode.ipynb"): ("01_decode", "en", ""),
        ("ann", "ann/week2/hw.ipynb"): ("02_encode", "en", ""),
        ("bob", "bob_01_decode.ipynb"): ("01_decode", "zh", ""),
        ("carol", "01_decode/carol.ipynb"): ("01_decode", "en", ""),
        ("dave", ""): (None, "en", ""),
        ("eve", "01_decode_eve.ipynb"): ("01_decode", "en", "cut off or damaged"),
        ("李雷", "李雷/第一课.ipynb"): ("01_decode", "zh", ""),
    }
    assert strange == ["readme.txt"]
    assert lessons_of(found) == ("01_decode", "02_encode")


def test_the_language_of_a_folder_counts_when_the_file_is_silent(tmp_path):
    notebook = Notebook()
    notebook.record["metadata"] = {}
    notebook.save(tmp_path / "ann" / "zh" / "a.ipynb")
    assert collect(tmp_path).submissions[0].lang == "zh"


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="symbolic links need a privilege on Windows")
def test_links_and_pipes_are_not_followed(tmp_path):
    secret = Notebook().save(tmp_path / "secret" / "key.ipynb")
    root = tmp_path / "submissions"
    (root / "mallory").mkdir(parents=True)
    (root / "mallory" / "01_decode.ipynb").symlink_to(secret)
    (root / "trent").symlink_to(secret.parent)
    (root / "victor").mkdir()
    os.mkfifo(root / "victor" / "pipe.ipynb")
    found = collect(root).submissions
    assert {s.student: (s.problem, s.item) for s in found} == {
        "mallory": ("a symbolic link", None),
        "trent": ("a symbolic link", None),
        "victor": ("not a regular file", None),
    }


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("ann_01_decode", "ann"),
        ("01_decode-ann (2)", "ann"),
        ("ann 01_decode - Copy", "ann"),
        ("01_decode", "01_decode"),
        ("王小明_01_decode", "王小明"),
        ("ann", "ann"),
    ],
)
def test_the_learner_in_a_file_name(tmp_path, name, student):
    Notebook().save(tmp_path / f"{name}.ipynb")
    assert collect(tmp_path).submissions[0].student == student


def test_a_foreign_notebook_holds_no_exercise(tmp_path):
    (tmp_path / "ann.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": "x = 1"}]}))
    assert collect(tmp_path).submissions[0].problem == "holds no exercise of this course"
