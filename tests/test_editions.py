"""What stands in the notebooks of a lesson: languages, editions, ids, metadata."""

from __future__ import annotations

from dataclasses import replace

import nbformat
import pytest
from sample_lesson import NAME, POINTS, write_lesson

from fp8lab.course.notebook import learner_notebook, notebook_text, solution_notebook
from fp8lab.course.source import Lesson, read_lesson


@pytest.fixture(scope="module")
def lesson(tmp_path_factory) -> Lesson:
    return replace(read_lesson(write_lesson(tmp_path_factory.mktemp("lesson"))), points=POINTS)


def cells_by_id(notebook: dict) -> dict[str, dict]:
    return {cell["id"]: cell for cell in notebook["cells"]}


def source_of(cell: dict) -> str:
    return "".join(cell["source"])


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("edition", [learner_notebook, solution_notebook])
def test_it_is_a_valid_notebook_in_the_form_that_nbformat_writes(lesson, lang, edition):
    text = notebook_text(edition(lesson, lang))
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert text == nbformat.writes(notebook) + "\n"


@pytest.mark.parametrize("lang, other", [("en", "接下来求两倍。"), ("zh", "The double of a number is next.")])
def test_learner_edition_has_one_language_no_answer_and_no_output(lesson, lang, other):
    notebook = learner_notebook(lesson, lang)
    text = notebook_text(notebook)
    assert other not in text and "SOLUTION" not in text and "doubled_number" not in text
    assert "answer" not in {tag for cell in notebook["cells"] for tag in cell["metadata"].get("tags", [])}
    for cell in notebook["cells"]:
        assert "id" not in cell["metadata"]
        assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == ([], None)
    assert notebook["metadata"]["fp8lab"]["lesson"] == NAME and notebook["metadata"]["fp8lab"]["lang"] == lang
    assert "widgets" not in notebook["metadata"]


def test_both_languages_have_the_same_code_but_for_the_setup_cell(lesson):
    english, chinese = (learner_notebook(lesson, lang)["cells"] for lang in ("en", "zh"))
    assert [c["id"] for c in english] == [c["id"] for c in chinese]
    code = [(a, b) for a, b in zip(english, chinese, strict=True) if a["cell_type"] == "code" and a["id"] != "setup"]
    assert code and all(a == b for a, b in code)


def test_solution_edition_has_the_answers_and_nbgraders_markers(lesson):
    cells = cells_by_id(solution_notebook(lesson, "en"))
    assert "Adding a number to itself" in source_of(cells["answer-99-1"])
    lines = source_of(cells["exercise-99-1"]).split("\n")
    assert [line.strip() for line in lines if "SOLUTION" in line] == [
        '### BEGIN SOLUTION 99.1: a number, "two" times x',
        "### END SOLUTION",
    ]


def test_setup_cell_follows_the_heading_or_the_cells_tagged_header(lesson):
    assert [c["id"] for c in learner_notebook(lesson, "zh")["cells"]][:3] == [f"{NAME}-1", "setup", f"{NAME}-2"]
    cells = tuple(replace(c, tags=("header",)) if c.id == f"{NAME}-2" else c for c in lesson.cells)
    moved = learner_notebook(replace(lesson, cells=cells), "zh")
    assert [c["id"] for c in moved["cells"]][:3] == [f"{NAME}-1", f"{NAME}-2", "setup"]


def test_badges_lead_to_the_repository_and_are_left_out_without_one(lesson):
    assert "badges" not in cells_by_id(learner_notebook(lesson, "en"))
    badges = source_of(cells_by_id(learner_notebook(lesson, "zh", repository="them/course", branch="b"))["badges"])
    for place in ("colab.research.google.com/github", "modelscope.cn/notebook/share/github"):
        assert f"(https://{place}/them/course/blob/b/notebooks/zh/{NAME}.ipynb)" in badges


def test_nbgrader_metadata_of_graded_cells(lesson):
    cells = cells_by_id(learner_notebook(lesson, "en"))
    assert cells["exercise-99-2-to-99-3"]["metadata"]["nbgrader"] == {
        "grade": False, "grade_id": "exercise-99-2-to-99-3", "locked": False, "schema_version": 3, "solution": True,
        "task": False,
    }  # fmt: skip
    assert cells["check-99-2"]["metadata"]["nbgrader"] == {
        "grade": True, "grade_id": "check-99-2", "locked": True, "points": 3, "schema_version": 3, "solution": False,
        "task": False,
    }  # fmt: skip
    graded = [c["metadata"]["nbgrader"] for c in cells.values() if "nbgrader" in c["metadata"]]
    assert sum(block.get("points", 0) for block in graded) == sum(POINTS.values())
    assert len({block["grade_id"] for block in graded}) == len(graded) == 5


def test_a_check_without_known_points_is_not_graded(lesson):
    cells = cells_by_id(learner_notebook(replace(lesson, points={}), "en"))
    assert "nbgrader" not in cells["check-99-1"]["metadata"]


def test_cells_that_nbval_must_not_compare_are_tagged(lesson):
    tagged = {
        cell["id"]
        for cell in solution_notebook(lesson, "en")["cells"]
        if "nbval-ignore-output" in cell["metadata"].get("tags", [])
    }
    assert tagged == {"setup", f"{NAME}-5", f"{NAME}-6"}
    assert "nbval" not in notebook_text(learner_notebook(lesson, "en"))
