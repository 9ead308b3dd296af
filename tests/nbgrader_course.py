"""nbgrader itself, run on a course folder of its own. `make test` installs it beside the other packages, not among them
(.venv/nbgrader), so that neither its pins nor its JupyterLab extension change what everything else is tested with.

course = Course(folder)
course.generate([path, ...])          `nbgrader generate_assignment` on these source notebooks
course.hand_in("ann", [path, ...])
course.autograde()                    `nbgrader autograde`
course.scores()                       {("ann", "01_decode"): (18.0, 18.0), ...}
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INSTALLED = Path(sys.prefix) / "nbgrader"
PACKAGES = "nbgrader alembic SQLAlchemy RapidFuzz Mako"
ASSIGNMENT = "fp8"
SCORES = """
import json, sys
from nbgrader.api import Gradebook
with Gradebook(sys.argv[1]) as book:
    found = [[s.student.id, n.name, n.score, n.max_score, n.needs_manual_grade]
             for s in book.assignment_submissions(sys.argv[2]) for n in s.notebooks]
print(json.dumps(found))
"""


def nbgrader_problem() -> str:
    """Why nbgrader cannot be run here; "" if it can."""
    if (INSTALLED / "nbgrader").is_dir():
        return ""
    install = f"{sys.executable} -m pip install --target {INSTALLED} --no-deps -c constraints.txt {PACKAGES}"
    return f"nbgrader is not installed in {INSTALLED}: {install}"


def environment() -> dict[str, str]:
    """With nbgrader, its command `alembic` and this checkout within reach."""
    dropped = ("JUPYTER", "IPYTHON", "PYTEST_", "JPY_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {
        **env,
        "PYTHONPATH": os.pathsep.join([str(INSTALLED), str(ROOT)]),
        "PATH": os.pathsep.join([str(INSTALLED / "bin"), str(Path(sys.executable).parent), env.get("PATH", "")]),
        "FP8LAB_PROGRESS": "off",
        "CUDA_VISIBLE_DEVICES": "",
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",  # as in the grader's own kernels: threads of torch that wait for each other cost most
        "MKL_NUM_THREADS": "1",
    }


class Course:
    """A course folder with one assignment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "source" / ASSIGNMENT).mkdir(parents=True, exist_ok=True)

    def generate(self, sources: Iterable[Path]) -> None:
        """Make the learners' edition of these notebooks with nbgrader; RuntimeError with its log if it does not."""
        for path in sources:
            shutil.copy(path, self.folder / "source" / ASSIGNMENT)
        self._run("generate_assignment", ASSIGNMENT)

    def released(self, lesson: str) -> dict:
        """The notebook that nbgrader would give to learners."""
        return json.loads((self.folder / "release" / ASSIGNMENT / f"{lesson}.ipynb").read_text(encoding="utf-8"))

    def hand_in(self, student: str, notebooks: Iterable[Path]) -> None:
        """Copy notebooks to where nbgrader looks for submissions."""
        place = self.folder / "submitted" / student / ASSIGNMENT
        place.mkdir(parents=True, exist_ok=True)
        for path in notebooks:
            shutil.copy(path, place)

    def autograde_command(self, *options: str) -> list[str]:
        """The command line; it returns 0 also where some submissions failed, so look at the scores."""
        return self._command("autograde", ASSIGNMENT, *options)

    def autograde(self, *options: str) -> str:
        """Grade all submissions; the log. RuntimeError with the log if it fails."""
        return self._run("autograde", ASSIGNMENT, *options)

    def scores(self) -> dict[tuple[str, str], tuple[float, float]]:
        """(student, lesson) -> (score, highest score)."""
        return {(student, name): (score, highest) for student, name, score, highest, _ in self._notebooks()}

    def by_hand(self) -> set[tuple[str, str]]:
        """The (student, lesson) pairs that nbgrader wants a person to look at."""
        return {(student, name) for student, name, _, _, manual in self._notebooks() if manual}

    def _notebooks(self) -> list[list]:
        line = [sys.executable, "-c", SCORES, f"sqlite:///{self.folder / 'gradebook.db'}", ASSIGNMENT]
        return json.loads(subprocess.run(line, env=environment(), capture_output=True, text=True, check=True).stdout)

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "nbgrader", *arguments, f"--CourseDirectory.root={self.folder}"]

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            self._command(*arguments), env=environment(), cwd=self.folder, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"nbgrader {arguments[0]}:\n{done.stdout}{done.stderr}"[-6000:])
        return done.stdout + done.stderr
