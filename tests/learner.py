"""A learner who fills the holes of a lesson: the lesson's own cells, with other lines where the solution was.

desk = Desk("02_encode")
desk.answer("2.2")                                   the solved object
desk.answer("2.2", "return 0x58")                    the same cell, its hole filled with these lines
desk.answer("2.1", {1: "return 0, 0"})               only the second hole of the exercise
desk.answer("2.2", None)                             untouched
"""

from __future__ import annotations

import linecache
import textwrap
from functools import cache
from pathlib import Path

from fp8lab.course.check import verdict
from fp8lab.course.exercise import Result
from fp8lab.course.holes import find_holes
from fp8lab.course.registry import exercise
from fp8lab.course.source import Cell, Lesson, read_lesson

ROOT = Path(__file__).resolve().parents[1]
Filling = str | dict[int, str] | None


@cache
def lesson_text(name: str) -> Lesson:
    """The lesson as its source has it."""
    return read_lesson(ROOT / "solutions" / f"{name}.md")


class Desk:
    """The state of a notebook in which everything is solved except what `answer` is told to fill otherwise."""

    def __init__(self, name: str) -> None:
        self.lesson = lesson_text(name)
        self.globals: dict = {"__name__": "notebook"}
        for cell in self.lesson.cells:
            if cell.role == "exercise" or (cell.role == "code" and not cell.tags and "check" not in cell.source):
                self._run(cell.source, self.globals)

    def _run(self, source: str, namespace: dict) -> None:
        file = f"<{self.lesson.name} {hash(source)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # Triton reads a kernel's source
        exec(compile(source, file, "exec"), namespace)

    def answer(self, key: str, *filling: Filling):
        """The object of exercise `key`: solved, or with its holes filled as told."""
        cell = self.lesson.exercise_cell(key)
        source = cell.source if not filling else cell.stub if filling[0] is None else filled(cell, key, filling[0])
        namespace = dict(self.globals)
        self._run(source, namespace)
        return namespace[exercise(key).name]

    def judged(self, key: str, *filling: Filling, seed: int = 0) -> Result:
        """The verdict that the learner would read."""
        return verdict(exercise(key), self.answer(key, *filling), seed)


def filled(cell: Cell, key: str, filling: str | dict[int, str]) -> str:
    """The cell's text with some of the holes of `key` filled with other lines; the other holes are solved."""
    chosen = {0: filling} if isinstance(filling, str) else filling
    holes = [hole for hole in find_holes(cell.source)[0] if hole.key == key]
    assert set(chosen) <= set(range(len(holes))), f"exercise {key} has {len(holes)} holes, not {sorted(chosen)}"
    lines = cell.source.split("\n")
    for number, hole in sorted(enumerate(holes), reverse=True):
        if number in chosen:
            body = textwrap.indent(textwrap.dedent(chosen[number]).strip("\n"), hole.indent)
            lines[hole.begin : hole.end + 1] = body.split("\n")
    return "\n".join(lines)
