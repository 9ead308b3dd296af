"""Whatever learners do to the cells of a notebook, their exercises are found. No kernel."""

from __future__ import annotations

import json

import pytest
from harvested import LESSON, NAMES, answers, code
from hypothesis import given, settings
from hypothesis import strategies as st
from submissions import Notebook, as_classic, source

from fp8lab.grading.assemble import solved

HOSTILE = r"(# exercise 1\.[1-7]|def decode_byte|class fields|```)[\s\S]{0,40}"  # what cells are recognised by


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
@pytest.mark.timeout(120)  # not one of them takes quadratic time
def test_no_code_is_too_strange_to_be_read(hostile):
    notebook = Notebook().write("1.4", hostile).insert(-1, f"# exercise 1.5{'9' * 100_000}\n{hostile}")
    found = answers(json.dumps(notebook.record).encode())
    assert not found["1.4"].untouched and found["1.1"].untouched


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["code", "markdown", "raw"]), st.text() | st.from_regex(HOSTILE)), max_size=4)
)
def test_any_cells_at_all_are_harvested(cells):
    record = {"cells": [{"cell_type": kind, "source": text} for kind, text in cells]}
    assert set(answers(json.dumps(record).encode())) == set(NAMES)
