"""What the grader finds in a notebook of lesson 01, for the tests of its intake."""

from __future__ import annotations

from submissions import Notebook

from fp8lab.course.registry import lesson_drives
from fp8lab.course.source import packaged
from fp8lab.grading.harvest import harvest
from fp8lab.grading.notebook import read_notebook

LESSON = packaged("01_decode")
NAMES = {key: drive.name for key, drive in lesson_drives("01_decode").items()}


def answers(notebook: Notebook | bytes) -> dict:
    """Exercise key -> Answer, from the bytes of a file."""
    data = notebook if isinstance(notebook, bytes) else notebook.bytes()
    found = harvest(read_notebook(data), LESSON, NAMES)
    return {key: answer for answer in found.values() for key in answer.keys}


def code(notebook: Notebook, key: str) -> str:
    """The code of one answer."""
    return "\n".join(answers(notebook)[key].sources)


TRUNCATED = Notebook().bytes()[:5000]
