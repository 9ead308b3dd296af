"""Grade a class: a folder of submissions in, a table of marks and a feedback file per learner out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

from fp8lab.grading.cache import Cache
from fp8lab.grading.intake import Submission, collect, gradable, lessons_of
from fp8lab.grading.jobs import Jobs, Progress, default_workers, run_jobs
from fp8lab.grading.judge import absent, refused
from fp8lab.grading.launch import require_sandbox
from fp8lab.grading.notebook import Unreadable
from fp8lab.grading.report import write_reports
from fp8lab.grading.run import Ground
from fp8lab.grading.verdict import Entry

DEFAULT_TIMEOUT = 20.0  # seconds per cell; no solution cell of the course takes more than a tenth of it


@dataclass(frozen=True)
class Grades:
    """The outcome of a run.

    entries     one per learner and lesson, sorted
    unreadable  files that had to be refused, as "path: reason"
    broken      notebooks that the grader itself could not run, as "path: reason"
    strange     top-level files that are no notebooks
    ran, kept   notebooks run now, and reports taken from an earlier run
    """

    entries: tuple[Entry, ...]
    unreadable: tuple[str, ...]
    broken: tuple[str, ...]
    strange: tuple[str, ...]
    ran: int
    kept: int

    @property
    def exit_code(self) -> int:
        """1 the grader failed somewhere, 3 some files could not be read, 0 all graded."""
        return 1 if self.broken else 3 if self.unreadable else 0

    @property
    def verdicts(self) -> Counter[str]:
        """How many exercises have which verdict."""
        return Counter(mark.verdict for entry in self.entries for mark in entry.report.marks)


def grade(
    submissions: str | Path,
    out: str | Path,
    *,
    seed: int | None = None,
    workers: int | None = None,
    lessons: Sequence[str] = (),
    timeout: float = DEFAULT_TIMEOUT,
    sandbox: bool = True,
    executor: Executor | None = None,
    progress: Progress = lambda done, total: None,
) -> Grades:
    """Grade all notebooks below `submissions` and write tables and feedback into `out`.

    seed      of the inputs; by default drawn once for `out`, and secret
    workers   notebooks graded at a time; by default one per core
    lessons   what is expected of everybody; by default every lesson that anybody handed in
    timeout   seconds per cell
    executor  where the jobs run; by default threads here (every job has processes of its own)

    ValueError for an unknown lesson or no submissions, SandboxMissing without a sandbox, OSError when `out` cannot be
    written. Nothing in a submission raises.
    """
    root, out = Path(submissions), Path(out)
    for lesson in lessons:
        if lesson not in gradable():
            raise ValueError(f"there is no lesson {lesson!r}; there are {', '.join(gradable()) or 'none'}")
    found, strange = collect(root, avoid=out.resolve())
    if not found:
        raise ValueError(f"{root} holds no submissions: neither a folder nor a .ipynb file")
    if sandbox:
        require_sandbox()
    expected = tuple(lessons) or lessons_of(found)
    cache = Cache(out)
    jobs = Jobs(cache.seed(seed), Ground(sandbox, timeout))
    graded, unreadable = _add_jobs(_chosen(found, expected), jobs)
    run_jobs(jobs, cache, max(1, workers or default_workers()), executor, progress)
    entries = _entries(found, expected, graded, jobs)
    write_reports(out, entries, expected)
    broken = tuple(f"{jobs.files[name].path}: {reason}" for name, reason in jobs.broken.items())
    return Grades(entries, unreadable, broken, tuple(strange), jobs.ran, len(jobs.files) - jobs.ran)


@dataclass(frozen=True)
class _Choice:
    """The file that counts for a learner and a lesson, its job (None if it is not to be run), remarks for the table."""

    submission: Submission
    job: str | None = None
    notes: tuple[str, ...] = ()


def _chosen(found: Iterable[Submission], expected: tuple[str, ...]) -> list[_Choice]:
    """For every learner and lesson one file: a readable one before others, the newest of them."""
    slots: dict[tuple[str, str], list[Submission]] = defaultdict(list)
    for submission in found:
        if submission.path and submission.lesson is None:  # nobody can tell: the only expected lesson, or a row apart
            lesson = expected[0] if len(expected) == 1 else None
            submission = replace(submission, lesson=lesson)
        if submission.path and (submission.lesson is None or submission.lesson in expected):
            slots[submission.student, submission.lesson or submission.path].append(submission)
    choices = []
    for mine in slots.values():
        mine.sort(key=lambda s: (not s.problem, s.when, s.path))
        others = ", ".join(s.path + (f" ({s.problem})" if s.problem else "") for s in mine[:-1])
        notes = (f"{len(mine)} files: graded {mine[-1].path}, not {others}",) if others else ()
        choices.append(_Choice(mine[-1], None, notes))
    return choices


def _add_jobs(choices: list[_Choice], jobs: Jobs) -> tuple[list[_Choice], tuple[str, ...]]:
    """(the choices with their jobs, the files that cannot be read as "path: reason")."""
    graded = []
    for choice in choices:
        submission = choice.submission
        if not submission.problem:
            try:
                choice = replace(choice, job=jobs.add(submission))
            except (Unreadable, OSError) as problem:
                choice = replace(choice, submission=replace(submission, problem=f"cannot be read: {problem}"))
        graded.append(choice)
    return graded, tuple(f"{c.submission.path}: {c.submission.problem}" for c in graded if c.submission.problem)


def _entries(
    found: list[Submission], expected: tuple[str, ...], graded: list[_Choice], jobs: Jobs
) -> tuple[Entry, ...]:
    """An entry for every choice, and one for every learner and expected lesson that has none."""
    entries = [_entry(choice, jobs) for choice in graded]
    there = {(entry.student, entry.report.lesson) for entry in entries}
    for student in dict.fromkeys(submission.student for submission in found):
        lang = Counter(s.lang for s in found if s.student == student).most_common(1)[0][0]
        absences = (absent(lesson, lang) for lesson in expected if (student, lesson) not in there)
        entries += [Entry(student, report) for report in absences]
    return tuple(sorted(entries, key=lambda e: (e.student, e.report.lesson, e.path)))


def _entry(choice: _Choice, jobs: Jobs) -> Entry:
    submission = choice.submission
    if choice.job is None:
        report = refused(submission.lesson, submission.lang, submission.problem)
    else:
        report = jobs.reports[choice.job]
    return Entry(submission.student, report, submission.path, choice.notes, submission.problem, choice.job or "")
