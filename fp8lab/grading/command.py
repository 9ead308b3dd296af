"""`fp8lab grade SUBMISSIONS --out DIR`: marks for a folder or a zip of notebooks.

Exit codes: 0 all graded; 3 some files could not be read, or are nobody's for sure (they have rows all the same);
2 usage; 1 the grader or its sandbox failed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path

from fp8lab.course.text import LANGUAGES, preferred_language
from fp8lab.grading.batch import DEFAULT_TIMEOUT, Grades, grade
from fp8lab.grading.cluster import ClusterError, dask_cluster
from fp8lab.grading.jobs import Progress
from fp8lab.grading.launch import SandboxMissing
from fp8lab.grading.remarks import counted
from fp8lab.grading.verdict import VERDICTS

MOST_LINES = 20  # of one kind at the end
WRITTEN = "report.html", "grades.csv", "summary.csv", "review.csv", "feedback/", "lms/"
LINE_EVERY = 10.0  # seconds between two lines of progress where there is no terminal
NO_SANDBOX = (
    "fp8lab grade: no sandbox. Submissions run with your rights on this machine: they can read your files, use your "
    "network and find the answers. Grade only what you trust."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `fp8lab grade`."""
    parser.add_argument(
        "submissions",
        type=Path,
        help="folder or .zip with a folder, a notebook or a zip per learner, or as Canvas, Moodle or Blackboard give "
        "it out; or a folder of such zips",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where tables and feedback are written")
    parser.add_argument("--lesson", action="append", default=[], metavar="NAME", help="grade this lesson (repeatable)")
    parser.add_argument(
        "--roster",
        type=Path,
        metavar="FILE.csv",
        help="the class: everybody on it has rows; columns are found by their header (name, student, first name, id, "
        "student id, username, login, email, 姓名, 学号, ...)",
    )
    parser.add_argument(
        "--deadline",
        type=moment,
        metavar="TIME",
        help="such as 2026-11-20T23:59+08:00; later hand-ins get a note, and the same points (without a zone: this "
        "machine's)",
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed of the inputs (default: secret, drawn once per DIR)"
    )
    parser.add_argument("--workers", type=positive_int, metavar="N", help="notebooks at a time (default: one per core)")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=DEFAULT_TIMEOUT,
        metavar="S",
        help="seconds per cell, and three times that per notebook (default: %(default)g)",
    )
    parser.add_argument(
        "--report-lang",
        choices=LANGUAGES,
        default=preferred_language(os.environ),
        help="language of report.html (%(default)s); feedback is in the language of each notebook",
    )
    parser.add_argument("--no-sandbox", action="store_true", help="run submissions without bubblewrap")
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="run them on the Dask cluster whose scheduler is there: tcp://host:8786"
    )


def positive_int(text: str) -> int:
    """A count from the command line."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def seconds(text: str) -> float:
    """A duration from the command line: more than 0, at most a day."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0 and up to 86400")
    return value


def moment(text: str) -> datetime:
    """A point in time from the command line, with a zone. A time to the minute is the end of that minute.

    >>> moment("2026-11-20T23:59+08:00").isoformat()
    '2026-11-20T23:59:59.999999+08:00'
    """
    try:
        date, _, clock = text.strip().replace(" ", "T", 1).partition("T")
        value = datetime.fromisoformat(f"{date}T{clock.replace('Z', '+00:00')}") if clock else None
    except ValueError:
        value = None
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date and time such as 2026-11-20T23:59+08:00")
    if re.fullmatch(r"\d\d:\d\d", re.split(r"[+\-Z]", clock)[0]):
        value += timedelta(minutes=1, microseconds=-1)
    return value if value.tzinfo else value.astimezone()


def run(args: argparse.Namespace) -> int:
    """Grade, say what came out, and return the exit code."""
    if args.seed is not None and not 0 <= args.seed < 2**31:
        return _fail(f"--seed {args.seed} is not from 0 to {2**31 - 1}", 2)
    absent = [name for name in ("nbval", "pytest", "ipykernel") if not _is_here(name)]
    if absent and not args.dask:
        install = f'{sys.executable} -m pip install "fp8lab[grade]"'
        return _fail(f"grading needs {', '.join(absent)}, not installed here: {install}", 1)
    if args.no_sandbox:
        print(NO_SANDBOX, file=sys.stderr)
    began = time.monotonic()
    try:
        place = dask_cluster(args.dask, sandbox=not args.no_sandbox) if args.dask else nullcontext()
        with place as cluster, _progress() as progress:
            if cluster:
                print(f"fp8lab grade: {cluster}", file=sys.stderr)
            grades = grade(
                args.submissions,
                args.out,
                seed=args.seed,
                workers=args.workers or (cluster and cluster.slots),
                lessons=tuple(dict.fromkeys(args.lesson)),
                timeout=args.timeout,
                sandbox=not args.no_sandbox,
                executor=cluster and cluster.executor,
                progress=progress,
                roster=args.roster,
                deadline=args.deadline,
                report_lang=args.report_lang,
            )
    except ClusterError as problem:
        return _fail(str(problem), 1)
    except SandboxMissing as problem:
        return _fail(f"{problem}. Without a sandbox: --no-sandbox, for submissions that you trust", 1)
    except ValueError as problem:
        return _fail(str(problem), 2)
    except OSError as problem:
        return _fail(f"{problem.filename or args.out}: {problem.strerror or problem}", 1)
    print(render(grades, args.out, time.monotonic() - began))
    return grades.exit_code


def _is_here(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # somebody has put a None in its place
        return False


def _fail(message: str, code: int) -> int:
    print(f"fp8lab grade: {message}", file=sys.stderr)
    return code


def render(grades: Grades, out: Path, took: float) -> str:
    """What the command prints at the end."""
    students = len({entry.student for entry in grades.entries})
    lines = list(grades.layouts)
    lines += _some("warning: not a notebook, not graded: ", grades.strange)
    lines += _some("warning: ", grades.warnings)
    lines += _some("warning: cannot be read: ", grades.unreadable)
    lines += _some("ERROR: ", grades.errors)
    lines += _some("ERROR: the grader failed, run it again: ", grades.broken)
    shown = ", ".join(f"{grades.verdicts[name]} {name}" for name in VERDICTS if grades.verdicts[name])
    rate = f", {60 * grades.ran / took:.0f} notebooks a minute" if grades.ran and took > 0 else ""
    lines.append(f"{counted(students, 'learner')}: {shown or 'nothing graded'}")
    ran = counted(grades.ran, "notebook")
    lines.append(f"{ran} run in {took:.0f} s{rate}; {grades.kept:,} taken from an earlier run")
    lines.append(f"{out / WRITTEN[0]}, and beside it {', '.join(WRITTEN[1:])}")
    if grades.mismatch:
        lines.append(f"CHECK NAMES: {grades.mismatch}")
    return "\n".join(lines)


def _some(before: str, lines: Sequence[str]) -> list[str]:
    """Lines of one kind, the first of them if there are many."""
    more = [f"{before}... and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return [before + line for line in lines[:MOST_LINES]] + more


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar with an estimate on a terminal, else a line now and then."""
    if sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:
            pass
        else:
            columns = TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
            with Progress(*columns, console=Console(stderr=True)) as bar:
                task = bar.add_task("grading", total=None)
                yield lambda done, total: bar.update(task, completed=done, total=total)
            return
    yield _Lines()


class _Lines:
    """Progress as lines on stderr, with an estimate from the pace so far."""

    def __init__(self) -> None:
        self._began = self._said = time.monotonic()
        self._first: int | None = None

    def __call__(self, done: int, total: int) -> None:
        self._first = done if self._first is None else self._first
        now = time.monotonic()
        fresh = done - self._first
        if now - self._said >= LINE_EVERY and fresh:
            self._said = now
            left = (now - self._began) / fresh * (total - done)
            print(f"fp8lab grade: {done} of {total} notebooks, about {left:.0f} s left", file=sys.stderr)
