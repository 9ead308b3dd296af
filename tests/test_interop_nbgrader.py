"""nbgrader, the real one, on the solution notebooks: it makes a learners' edition of them, and its marks are right."""

from __future__ import annotations

import json
import re

import pytest
from mixed_class import write_misconception
from nbgrader_course import ASSIGNMENT, Course, nbgrader_problem
from submissions import Notebook, source
from triton_here import needs_triton

from fp8lab.course.holes import find_holes
from fp8lab.course.notebook import learner_notebook
from fp8lab.course.registry import LESSONS, lesson_exercises
from fp8lab.course.source import packaged
from fp8lab.course.text import LANGUAGES

pytestmark = pytest.mark.slow
CLEARED = "YOUR ANSWER HERE"
STUB = "# YOUR CODE HERE\n{indent}raise NotImplementedError()"
ONE = "01_decode"
PATIENT = ("--Execute.timeout=300",)  # seconds per cell, on a busy machine
RUN = [pytest.param(name, marks=needs_triton if name == "10_gpu" else ()) for name in LESSONS]


def most(lesson: str) -> float:
    return float(sum(exercise.points for exercise in lesson_exercises(lesson)))


@pytest.fixture(scope="module")
def installed(lacking) -> None:
    if nbgrader_problem():
        lacking(nbgrader_problem())


@pytest.fixture(scope="module")
def course(installed, root, tmp_path_factory):
    """course("zh"): all lessons in that language, released by nbgrader."""
    made = {}

    def one(lang: str) -> Course:
        if lang not in made:
            made[lang] = Course(tmp_path_factory.mktemp(lang))
            made[lang].generate(root / "solutions" / lang / f"{name}.ipynb" for name in LESSONS)
        return made[lang]

    return one


def released(course: Course, lesson: str) -> Notebook:
    """What a learner gets from nbgrader, ready to be worked on."""
    notebook = Notebook(lesson)
    notebook.record = course.released(lesson)
    return notebook


def saved(notebook: Notebook, folder) -> list:
    return [notebook.save(folder / f"{notebook.lesson.name}.ipynb")]


# ---- generate_assignment


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_release_is_the_learner_edition_and_gives_nothing_away(course, lang, lesson):
    cells = {cell["id"]: cell for cell in course(lang).released(lesson)["cells"]}
    material = packaged(lesson)
    answers = {cell.id for cell in material.cells if cell.role == "answer" and cell.speaks(lang)}
    ours = {cell["id"]: cell for cell in learner_notebook(material, lang)["cells"]}
    assert set(cells) == set(ours) | answers and answers
    assert {source(cells[name]) for name in answers} == {CLEARED}
    holes = {cell.id: cell.source for cell in material.cells if cell.role == "exercise"}
    for name, cell in ours.items():
        assert source(cells[name]) == (without_holes(holes[name]) if name in holes else source(cell)), name
        assert not cells[name].get("outputs"), name
    assert "SOLUTION" not in json.dumps(cells)


def without_holes(solved: str) -> str:
    """An exercise cell as nbgrader clears it."""
    lines = solved.split("\n")
    for hole in reversed(find_holes(solved)[0]):
        assert "BEGIN SOLUTION" in lines[hole.begin] and "END SOLUTION" in lines[hole.end]
        lines[hole.begin : hole.end + 1] = (hole.indent + STUB.format(indent=hole.indent)).split("\n")
    return "\n".join(lines)


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_points_are_those_of_the_records(course, lang, lesson):
    blocks = [cell["metadata"].get("nbgrader") for cell in course(lang).released(lesson)["cells"]]
    graded = {block["grade_id"]: block for block in blocks if block and block["grade"] and not block["solution"]}
    assert sum(block["points"] for block in graded.values()) == most(lesson)
    assert all(block["locked"] and block["schema_version"] == 3 for block in graded.values())
    written = [block for block in blocks if block and block["grade"] and block["solution"]]
    assert {block["points"] for block in written} == {0}
    keys = {key for name in graded for key in re.findall(r"(\d+)-(\d+)", name)}
    assert len(keys) == len(graded) and len(graded) <= len(lesson_exercises(lesson))


# ---- autograde


@pytest.mark.parametrize("lesson", RUN)
def test_solved_is_everything_and_untouched_is_nothing(installed, root, tmp_path, lesson):
    """The learner edition of ours, solved, and the release of nbgrader as it is."""
    english = Course(tmp_path / "course")
    english.generate([root / "solutions" / "en" / f"{lesson}.ipynb"])
    english.hand_in("solved", saved(Notebook(lesson).solve(), tmp_path / "solved"))
    english.hand_in("untouched", [english.folder / "release" / ASSIGNMENT / f"{lesson}.ipynb"])
    english.autograde(*PATIENT)
    assert english.scores() == {
        ("solved", lesson): (most(lesson), most(lesson)),
        ("untouched", lesson): (0.0, most(lesson)),
    }
    assert ("untouched", lesson) not in english.by_hand()


def test_a_release_that_is_filled_in_gets_its_marks_and_a_mistake_costs_its_own_points(course, tmp_path):
    """In Chinese; nbgrader's release, its stubs replaced."""
    chinese = course("zh")
    right, mistaken = (released(chinese, ONE).solve() for _ in range(2))
    write_misconception(mistaken, "1.4", "IEEE habit")
    chinese.hand_in("right", saved(right, tmp_path / "right"))
    chinese.hand_in("mistaken", saved(mistaken, tmp_path / "mistaken"))
    chinese.hand_in("untouched", [chinese.folder / "release" / ASSIGNMENT / f"{ONE}.ipynb"])
    chinese.autograde(*PATIENT)
    scores = {student: score for (student, lesson), score in chinese.scores().items() if lesson == ONE}
    (cost,) = [exercise.points for exercise in lesson_exercises(ONE) if exercise.key == "1.4"]
    assert scores == {
        "right": (most(ONE), most(ONE)),
        "mistaken": (most(ONE) - cost, most(ONE)),
        "untouched": (0.0, most(ONE)),
    }
    assert not {who for who in chinese.by_hand() if who[1] == ONE}
