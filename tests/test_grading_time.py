"""How long a notebook can take: one cell `timeout`, the learner's cells together three times that."""

from __future__ import annotations

import pytest
from grading_class import graded, rows, sandbox_problem, verdicts
from submissions import Notebook

from fp8lab.course.registry import lesson_exercises
from fp8lab.course.source import packaged
from fp8lab.grading.assemble import Plan, solved
from fp8lab.grading.run import TOGETHER, Ground, observe

TIMEOUT = 6.0
NEARLY = 4.5  # seconds: three such cells fit into the time of a notebook, a fourth does not
KEYS = [exercise.key for exercise in lesson_exercises("01_decode")]


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A notebook that is solved, and sleeps in every cell for nearly as long as a cell may."""
    folder = tmp_path_factory.mktemp("slow")
    notebook = Notebook().solve()
    for key in KEYS:
        cell = notebook.cell(key)
        cell["source"] = "".join(cell["source"]) + f"\nimport time\ntime.sleep({NEARLY})\n"
    notebook.save(folder / "in" / "ann" / "01_decode.ipynb")
    entry = graded(folder / "in", folder / "out", timeout=TIMEOUT, gate=False).entries[0]
    return entry.report, rows(folder / "out" / "grades.csv")


def test_cells_that_each_take_nearly_all_of_their_time_are_stopped_together(slow):
    _, table = slow
    assert verdicts(table, "ann") == {key: "passed" if key in KEYS[:3] else "timeout" for key in KEYS}
    notes = {row["exercise"]: row["note"] for row in table}
    assert all(f"together took more than {TOGETHER * TIMEOUT:g} s" in notes[key] for key in KEYS[3:])


def test_no_further_kernel_is_started_when_the_time_is_up(slow):
    report, _ = slow
    assert report.kernels == 1


@pytest.mark.parametrize("spent, status", [(0.0, "ran"), (TOGETHER * TIMEOUT, "no time left")])
def test_what_was_spent_before_counts(spent, status):
    lesson = packaged("01_decode")
    plan = Plan(lesson, {cell.id: (solved(cell),) for cell in lesson.cells if cell.role == "exercise"}, ("1.1",), 1)
    observed = observe(plan, Ground(not sandbox_problem(), TIMEOUT), spent)
    assert (observed.shown["1.1"].status, observed.kernels) == (status, int(status == "ran"))
    assert (0 < observed.seconds < TOGETHER * TIMEOUT) == (status == "ran")
