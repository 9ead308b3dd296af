"""What stands before the first exercise is ours: when it does not run, the grader tries again and blames no answer."""

from __future__ import annotations

import pytest
from grading_class import graded
from submissions import Notebook

from fp8lab.course.source import packaged
from fp8lab.grading import run
from fp8lab.grading.assemble import Plan, assemble, solved
from fp8lab.grading.run import Ground, InfrastructureError, observe

LESSON = "03_scale"  # its first cell imports what 3.6 calls
CELLS = {cell.id: (solved(cell),) for cell in packaged(LESSON).cells if cell.role == "exercise"}
PLAN = Plan(packaged(LESSON), CELLS, ("3.1", "3.6"), 1)
NAMES = [cell["metadata"]["fp8lab"]["cell"] for cell in assemble(PLAN, PLAN.drive).notebook["cells"]]
FIRST_STUB = next(place for place, name in enumerate(NAMES) if name.startswith("stub "))
FAILURES = {
    "raised": {"error": ["MemoryError", "no memory"]},
    "timeout": {"status": "timeout"},
    "crashed": {"status": "crashed"},
}


def events(names: list[str]) -> list[dict]:
    return [{"cell": name, "status": "ran", "error": None, "evidence": [], "seconds": 0.0} for name in names]


@pytest.mark.parametrize("failure", [*FAILURES, "pytest was lost"])
@pytest.mark.parametrize("place", range(FIRST_STUB))
def test_a_cell_of_ours_that_does_not_run_is_the_graders_fault(place, failure, monkeypatch):
    told = events(NAMES[: place + 1])
    told[place].update(FAILURES.get(failure, {}))
    if failure == "pytest was lost":
        told = told[:place] if place else [{**told[0], **FAILURES["crashed"]}]
    monkeypatch.setattr(run, "run_notebook", lambda *_: told)
    with pytest.raises(InfrastructureError, match=f"own cell '{NAMES[place]}' did not run"):
        observe(PLAN, Ground(False, 9.0))


def test_after_the_first_exercise_the_other_cells_go_on_without_it(monkeypatch):
    """There an answer may be what ended the kernel."""
    answer = next(name for name in NAMES if name.startswith("answer "))
    stopped = events(NAMES[: NAMES.index(answer) + 1])
    stopped[-1].update(FAILURES["crashed"])
    kernels = iter([stopped])
    monkeypatch.setattr(run, "run_notebook", lambda plan, *_: next(kernels, None) or events(list(named(plan))))
    observed = observe(PLAN, Ground(False, 9.0))
    assert (observed.kernels, observed.shown["3.1"].status, observed.shown["3.6"].status) == (2, "crashed", "ran")


def named(assembled) -> list[str]:
    return [cell["metadata"]["fp8lab"]["cell"] for cell in assembled.notebook["cells"]]


def test_a_kernel_that_ends_in_our_first_cells_costs_no_point_and_is_told(tmp_path, monkeypatch, caplog):
    real, told = run.run_notebook, []

    def ends_once(*arguments):
        if not told:
            told.extend(events(NAMES[:FIRST_STUB]))
            told[-1].update(FAILURES["crashed"])
            return told
        return real(*arguments)

    monkeypatch.setattr(run, "run_notebook", ends_once)
    Notebook(packaged(LESSON)).solve().save(tmp_path / "in" / "ann" / f"{LESSON}.ipynb")
    report = graded(tmp_path / "in", tmp_path / "out").entries[0].report
    assert told and {mark.verdict for mark in report.marks} == {"passed"}
    assert f"own cell '{NAMES[FIRST_STUB - 1]}' did not run: crashed" in caplog.text
