"""What the grading tests share: whether there is a sandbox here, and a batch that is graded once and read often."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import pytest
from tools import lacking

from fp8lab.grading import harvest
from fp8lab.grading.batch import Grades, grade
from fp8lab.grading.launch import SandboxMissing, require_sandbox
from fp8lab.grading.ready import ready

TIMEOUT = 8.0  # seconds per cell: a loop costs this much, an honest cell takes less than one


@cache
def sandbox_problem() -> str:
    """Why there is no sandbox on this machine; "" if there is one."""
    try:
        require_sandbox()
    except SandboxMissing as problem:
        return str(problem)
    return ""


def need_templates() -> None:
    """For tests of kernels that are copies of a template."""
    if sandbox_problem():
        lacking(f"needs a sandbox: {sandbox_problem()}")
    if because := ready(True).because:
        lacking(f"needs templates: {because}")


def graded(submissions: Path, out: Path, *, gate: bool = True, **options) -> Grades:
    """`grade`, in the sandbox where there is one. gate=False: what the gate would turn away is run all the same, to
    see what becomes of it behind the gate."""
    if not gate:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(harvest, "refusals", lambda source: ())
            return graded(submissions, out, **options)
    options = {"timeout": TIMEOUT, "sandbox": not sandbox_problem(), "workers": 2, **options}
    return grade(submissions, out, **options)


def rows(path: Path) -> list[dict[str, str]]:
    """A table that the grader wrote."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def verdicts(table: list[dict[str, str]], student: str) -> dict[str, str]:
    """Exercise key -> verdict of one learner."""
    return {row["exercise"]: row["verdict"] for row in table if row["student"] == student}


def points(table: list[dict[str, str]], student: str) -> int:
    return sum(int(row["points"]) for row in table if row["student"] == student)
