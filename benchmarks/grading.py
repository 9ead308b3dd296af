"""How fast is a class graded, at which memory, and what is lost when the grader is killed at half?

    PYTHONPATH=tests python benchmarks/grading.py [--students 20] [--skip nbgrader]

A class is built by code (tests/mixed_class.py): three lessons per student, solved, half done, mistaken, broken,
endless, saved by all kinds of editors. It is graded on two processes (--workers) in each of these ways, with the same
timeout per cell:

fp8lab     `fp8lab grade`: a sandbox and a secret seed
nbgrader   `nbgrader autograde`, two at a time, each with half of the students: no sandbox, the seed of the notebook
nbval      `pytest --nbval -n 2 --dist loadfile` on the files as they are: no sandbox, and no marks either
resume     `fp8lab grade` again, killed -9 at half and started again: the table must be the same

All kernels run torch on one thread; with more, the others are slower, since two kernels share the cores.
The others run in parts of 50 students. A run that is cut goes on at the step, or the part, that it had not finished
(--work keeps them; another class or an edited grader starts anew). 200 students write results/grading.json.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from mixed_class import LESSONS, Paper, mixed_class
from nbgrader_course import INSTALLED, ROOT, Course, environment, nbgrader_problem
from watched import alive, run_watched, tree

from fp8lab.grading import MARKS_FOLDER
from fp8lab.grading.batch import DEFAULT_TIMEOUT
from fp8lab.grading.cache import course_digest, write_atomically

RESULTS = ROOT / "benchmarks" / "results" / "grading.json"
WHOLE_CLASS, PART, GOAL = 200, 50, 5.0
STEPS = ("fp8lab", "nbgrader", "nbval", "resume")
SEED = 20261129  # of the grader: both runs must draw the same inputs


class Bench:
    """One class, graded in every way; what a step found is kept in `folder`."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.papers = [p for p in mixed_class(args.students, LESSONS, args.seed) if p.data is not None]
        self.folder = args.work.resolve() / f"{args.students}-{args.seed}-{args.timeout:g}-{args.workers}"
        self.submissions = self.folder / "submissions"

    def prepare(self) -> None:
        """Write the submissions; forget steps of another state of the package."""
        state, now = self.folder / "state", course_digest()
        if self.folder.exists() and (not state.exists() or state.read_text() != now):
            shutil.rmtree(self.folder)
        for paper in self.papers:
            paper.save(self.submissions)
        write_atomically(state, now)

    def step(self, name: str, work: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        """What `work` finds in an empty folder of that name, or what it has found before."""
        kept = self.folder / f"{name}.json"
        if kept.exists():
            return json.loads(kept.read_text())
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        load = os.getloadavg()[0]
        print(f"  {time.strftime('%H:%M:%S')} {name} (load {load:.1f})", flush=True)
        found = {**work(folder), "load": round(load, 1)}
        write_atomically(kept, json.dumps(found))
        return found

    # ---- ours

    def grade_command(self, out: Path) -> list[str]:
        options = {"--out": out, "--workers": self.args.workers, "--timeout": self.args.timeout, "--seed": SEED}
        line = [sys.executable, "-m", "fp8lab.cli", "grade", self.submissions]
        return [str(part) for part in (*line, *(part for option in options.items() for part in option))]

    def fp8lab(self, folder: Path) -> dict[str, Any]:
        ran = run_watched([self.grade_command(folder / "out")], folder, environment())
        if ran.codes[0] not in (0, 3):
            raise SystemExit(f"fp8lab grade ended with {ran.codes[0]}:\n{ran.said[0][-2000:]}")
        said = f"{len(reports(folder / 'out'))} different notebooks run"
        return {"seconds": ran.seconds[0], "peak": ran.peak, "said": said}

    def resume(self, folder: Path) -> dict[str, Any]:
        """Killed when half of the notebooks are done, then run to the end."""
        out, whole = folder / "out", self.folder / "fp8lab" / "out"
        every = reports(whole)
        begun: dict[int, Any] = {}

        def at_half() -> bool:
            begun.update({p.pid: p for p in tree(os.getpid())[1:]})
            return 2 * len(reports(out)) >= len(every)

        cut = run_watched([self.grade_command(out)], folder / "cut", environment(), at_half)
        if cut.codes[0] != -9:
            raise SystemExit(f"the grader ended before it could be killed:\n{cut.said[0][-2000:]}")
        time.sleep(5)
        left = [process for process in begun.values() if alive(process)]
        done = reports(out)
        again = run_watched([self.grade_command(out)], folder / "again", environment())
        now = reports(out)
        tables = [(place / "grades.csv").read_bytes() for place in (whole, out)]
        return {
            "seconds": cut.seconds[0] + again.seconds[0],
            "peak": max(cut.peak, again.peak),
            "done_at_kill": len(done),
            "processes_left": len(left),
            "run_twice": sum(now.get(name) != when for name, when in done.items()),
            "run_after": len(now) - len(done),
            "same_table": tables[0] == tables[1] and now.keys() == every.keys(),
            "said": f"killed at {len(done)} of {len(every)}",
        }

    # ---- the others

    def parts(self) -> list[list[Paper]]:
        students = list(dict.fromkeys(paper.student for paper in self.papers))
        chosen = [set(students[first : first + PART]) for first in range(0, len(students), PART)]
        return [[paper for paper in self.papers if paper.student in part] for part in chosen]

    def in_parts(self, name: str, work: Callable[[list[Paper], Path], dict[str, Any]]) -> dict[str, Any]:
        """A step over the parts of the class: times add up, for each process that runs beside another."""
        every = [
            self.step(f"{name}-{number}", lambda folder, part=part: work(part, folder))
            for number, part in enumerate(self.parts(), 1)
        ]
        sides = [sum(side) for side in zip(*(part["seconds"] for part in every))]
        found = {"seconds": max(sides), "peak": max(p["peak"] for p in every), "load": every[0]["load"]}
        if name == "nbgrader":
            found["scores"] = [score for part in every for score in part["scores"]]
        return {**found, "said": "; ".join(part["said"] for part in every)}

    def nbgrader(self, papers: list[Paper], folder: Path) -> dict[str, Any]:
        students = list(dict.fromkeys(paper.student for paper in papers))
        courses = []
        for side in range(self.args.workers):
            course = Course(folder / str(side))
            course.generate(ROOT / "solutions" / "en" / f"{lesson}.ipynb" for lesson in LESSONS)
            mine = students[side :: self.args.workers]
            for paper in papers:
                if paper.student in mine:
                    course.hand_in(paper.student, [self.submissions / paper.student / f"{paper.lesson}.ipynb"])
            courses.append(course)
        timeout = f"--Execute.timeout={max(1, round(self.args.timeout))}"
        ran = run_watched([course.autograde_command(timeout) for course in courses], folder, environment())
        scores = [[*who, score] for course in courses for who, (score, _) in course.scores().items()]
        lost = sum(text.count("There was an error processing assignment '") for text in ran.said)
        return {
            "seconds": ran.seconds,
            "peak": ran.peak,
            "scores": scores,
            "said": f"{lost} of {len(students)} students without marks",
        }

    def nbval(self, papers: list[Paper], folder: Path) -> dict[str, Any]:
        for paper in papers:
            paper.save(folder)
        (folder / "pytest.ini").write_text("[pytest]\n")
        line = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-c", "pytest.ini"]
        line += ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={max(1, round(self.args.timeout))}"]
        line += ["--continue-on-collection-errors", "-n", str(self.args.workers), "--dist", "loadfile"]
        line += sorted({f"{paper.student}/{paper.lesson}.ipynb" for paper in papers})
        ran = run_watched([line], folder, environment())
        last = (ran.said[0].strip().splitlines() or [""])[-1]
        return {"seconds": ran.seconds, "peak": ran.peak, "said": last.strip("= ")}


def reports(out: Path) -> dict[str, int]:
    """Name -> time of last change of every report in `out`."""
    return {path.name: path.stat().st_mtime_ns for path in (out / MARKS_FOLDER / "reports").glob("*.json")}


def points(out: Path) -> dict[tuple[str, str], float]:
    """(student, lesson) -> points in our table."""
    found: dict[tuple[str, str], float] = {}
    with open(out / "grades.csv", encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            who = row["student"], row["lesson"]
            found[who] = found.get(who, 0.0) + float(row["points"])
    return found


def versions() -> dict[str, str]:
    names = ("torch", "numpy", "pytest", "nbval", "pytest-xdist", "jupyter_client", "ipykernel")
    found = {name: importlib.metadata.version(name) for name in names}
    (there,) = [p.name.split("-")[1] for p in INSTALLED.glob("nbgrader-*.dist-info")] or ["none"]
    return {"python": platform.python_version(), **found, "nbgrader": there.removesuffix(".dist")}


def show(bench: Bench, found: dict[str, dict[str, Any]]) -> bool:
    """Print the table; whether what must be equal is equal."""
    count = len(bench.papers)
    rate = {name: 60 * count / step["seconds"] for name, step in found.items()}
    print(f"{bench.args.students} students, {count} notebooks, {bench.args.workers} workers, "
          f"{bench.args.timeout:g} s per cell, load {found['fp8lab']['load']}")  # fmt: skip
    print(f"  {'':10}{'seconds':>9}{'per minute':>12}{'peak MiB':>10}{'fp8lab is':>11}")
    for name, step in found.items():
        ratio = f"{rate['fp8lab'] / rate[name]:.2f} x"
        figures = f"{step['seconds']:9.0f}{rate[name]:12.1f}{step['peak'] / 2**20:10.0f}{ratio:>11}"
        print(f"  {name:10}{figures}  {step['said']}")
    if "nbgrader" in found:
        ours = points(bench.folder / "fp8lab" / "out")
        theirs = {(student, lesson): score for student, lesson, score in found["nbgrader"].pop("scores")}
        handed = [(paper.student, paper.lesson) for paper in bench.papers]
        other = sum(theirs.get(who, 0.0) != ours[who] for who in handed)
        found["nbgrader"]["other_points"] = other
        ratio = rate["fp8lab"] / rate["nbgrader"]
        print(f"  nbgrader's points differ from ours on {other} of {count} notebooks")
        print(f"  goal, {GOAL:g} x nbgrader's rate: {'reached' if ratio >= GOAL else 'MISSED'} ({ratio:.2f})")
    if "resume" not in found:
        return True
    cut = found["resume"]
    print(f"  {cut['said']}, {cut['processes_left']} processes left over; {cut['run_after']} run after it, "
          f"{cut['run_twice']} a second time; same table: {'yes' if cut['same_table'] else 'NO'}")  # fmt: skip
    return cut["same_table"] and not cut["run_twice"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--students", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the class")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=DEFAULT_TIMEOUT, help="seconds per cell")
    parser.add_argument("--skip", action="append", default=[], choices=STEPS[1:], help="leave this step out")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "bench-grading", help="where steps are kept")
    parser.add_argument("--json", type=Path, help=f"results (default: {RESULTS.name} from {WHOLE_CLASS} students on)")
    args = parser.parse_args()
    if "nbgrader" not in args.skip and nbgrader_problem():
        raise SystemExit(f"{nbgrader_problem()} (or --skip nbgrader)")
    bench = Bench(args)
    bench.prepare()
    run = {
        "fp8lab": lambda: bench.step("fp8lab", bench.fp8lab),
        "nbgrader": lambda: bench.in_parts("nbgrader", bench.nbgrader),
        "nbval": lambda: bench.in_parts("nbval", bench.nbval),
        "resume": lambda: bench.step("resume", bench.resume),
    }
    found = {name: run[name]() for name in STEPS if name not in args.skip}
    equal = show(bench, found)
    target = args.json or (RESULTS if args.students >= WHOLE_CLASS else None)
    if target:
        machine = {"date": date.today().isoformat(), "processor": platform.machine(), "cores": os.cpu_count()}
        settings = {"students": args.students, "notebooks": len(bench.papers), "seed": args.seed}
        settings |= {"workers": args.workers, "timeout": args.timeout}
        record = {"environment": {**machine, **versions()}, "class": settings, "steps": found}
        target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
