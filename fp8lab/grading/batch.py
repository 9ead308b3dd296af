"""Grade a class: a folder or zip of submissions in, a table of marks and a feedback file per learner out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from fp8lab.course.text import Text
from fp8lab.grading.cache import Cache
from fp8lab.grading.intake import Submission, collect, gradable, lessons_of, mismatch, with_roster
from fp8lab.grading.jobs import Jobs, Progress, default_workers, run_jobs
from fp8lab.grading.judge import absent, refused
from fp8lab.grading.launch import require_sandbox
from fp8lab.grading.notebook import Unreadable
from fp8lab.grading.overview import Trouble
from fp8lab.grading.remarks import counted, translated
from fp8lab.grading.report import About, write_reports
from fp8lab.grading.roster import Roster, read_roster
from fp8lab.grading.run import Ground
from fp8lab.grading.verdict import Entry

MOST_OTHERS = 8  # files named in a note
LATE = Text("late, says Canvas", "迟交（Canvas 标记）")
DEFAULT_TIMEOUT = 20.0  # seconds per cell; no solution cell of the course takes more than a tenth of it


@dataclass(frozen=True)
class Grades:
    """The outcome of a run.

    entries     one per learner and lesson, sorted
    unreadable  files that had to be refused, as "path: reason"
    broken      notebooks that the grader itself could not run, as "path: reason"
    strange     files that are no notebooks
    ran, kept   notebooks run now, and reports taken from an earlier run
    layouts     which layout of submissions was recognised where, a line each
    warnings    what else an instructor should know
    errors      submissions that fit several learners on the roster, so that they are nobody's
    people      learner -> their line on the roster, header -> cell; empty without one
    mismatch    said when hand-ins match nobody on the roster while people on it are missing; "" otherwise
    """

    entries: tuple[Entry, ...]
    unreadable: tuple[str, ...]
    broken: tuple[str, ...]
    strange: tuple[str, ...]
    ran: int
    kept: int
    layouts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    people: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    mismatch: str = ""

    @property
    def exit_code(self) -> int:
        """1 the grader failed somewhere, 3 some files could not be read or are nobody's for sure, 0 all graded."""
        return 1 if self.broken else 3 if self.unreadable or self.errors else 0

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
    roster: str | Path | None = None,
    deadline: datetime | None = None,
    report_lang: str = "en",
) -> Grades:
    """Grade all notebooks in `submissions`, a folder or a zip, and write tables and feedback into `out`.

    seed      of the inputs; by default drawn once for `out`, and secret
    workers   notebooks graded at a time; by default one per core
    lessons   what is expected of everybody; by default every lesson that anybody handed in
    timeout   seconds per cell
    executor  where the jobs run; by default threads here (every job has processes of its own). Of another
              one no machine is tried for a sandbox beforehand
    roster    CSV file with the learners of the class: everybody on it has rows
    deadline  with a time zone; what came later gets a note, and the same points
    report_lang: language of report.html

    ValueError for an unknown lesson, no submissions, a roster that cannot be used or an `out` that is the folder of
    the submissions, SandboxMissing without a sandbox, OSError when `out` cannot be written. Nothing in a submission
    raises.
    """
    root, out = Path(submissions), Path(out)
    for lesson in lessons:
        if lesson not in gradable():
            raise ValueError(f"there is no lesson {lesson!r}; there are {', '.join(gradable()) or 'none'}")
    people = _roster(Path(roster)) if roster is not None else None
    if out.resolve() == root.resolve():
        raise ValueError(f"{out} holds the submissions: give --out another folder, it may lie in this one")
    intake = collect(root, out.resolve(), deadline.tzinfo if deadline else None)
    if not intake.submissions:
        raise ValueError(f"{root} holds no submissions: neither a folder nor a .ipynb or .zip file")
    if people is not None:
        intake = with_roster(intake, people)
    found = list(intake.submissions)
    if sandbox and executor is None:
        require_sandbox()
    expected = tuple(lessons) or lessons_of(found)
    cache = Cache(out)
    jobs = Jobs(cache.seed(seed), Ground(sandbox, timeout))
    graded, unreadable = _add_jobs(_chosen(found, expected, deadline), jobs)
    run_jobs(jobs, cache, max(1, workers or default_workers()), executor, progress)
    entries = _entries(found, expected, graded, jobs)
    warnings = (*intake.warnings, *_unknown_times(graded, deadline))
    remarks = (*intake.layouts, *intake.errors, *warnings)
    unlike = mismatch(intake, str(roster))
    failed = tuple((jobs.files[name].path, reason) for name, reason in jobs.broken.items())
    hand_ins = {(c.submission.student, c.submission.lesson or ""): c.submission.who for c in graded}
    about = About(report_lang, intake.people, hand_ins, Trouble(failed, intake.strange, remarks), unlike)
    write_reports(out, entries, expected, about)
    broken = tuple(f"{path}: {reason}" for path, reason in failed)
    known = intake.layouts, warnings, intake.errors, intake.people, unlike.en if unlike else ""
    return Grades(entries, unreadable, broken, intake.strange, jobs.ran, len(jobs.files) - jobs.ran, *known)


def _roster(path: Path) -> Roster:
    try:
        return read_roster(path)
    except OSError as problem:
        raise ValueError(f"{path}: {problem.strerror or problem}") from None


@dataclass(frozen=True)
class _Choice:
    """The file that counts for a learner and a lesson, its job (None if it is not to be run), remarks for the table.

    late: what tells that it came after the deadline
    """

    submission: Submission
    job: str | None = None
    notes: tuple[str, ...] = ()
    late: Text | None = None


def _chosen(found: Iterable[Submission], expected: tuple[str, ...], deadline: datetime | None) -> list[_Choice]:
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
        mine.sort(key=lambda s: (not s.problem, s.order, s.path))
        chosen = mine[-1]
        others = ", ".join(_other(s) for s in mine[:-1][-MOST_OTHERS:])
        others += f", and {len(mine) - 1 - MOST_OTHERS} more" if len(mine) - 1 > MOST_OTHERS else ""
        notes = (f"{len(mine)} files: graded {chosen.path}, not {others}",) if others else ()
        late = lateness(chosen, deadline)
        notes += _time_notes(chosen, deadline, late)
        choices.append(_Choice(chosen, None, (*notes, *chosen.notes), late))
    return choices


def _other(submission: Submission) -> str:
    about = "; ".join(filter(None, [submission.problem, "late" if submission.late else ""]))
    return submission.path + (f" ({about})" if about else "")


def lateness(submission: Submission, deadline: datetime | None) -> Text | None:
    """What tells that a hand-in came late; None if nothing does."""
    if deadline is not None and submission.when is not None and submission.when > deadline.timestamp():
        when = datetime.fromtimestamp(submission.when, deadline.tzinfo).isoformat(" ", "minutes")
        clock, end = submission.clock, deadline.isoformat(" ", "minutes")
        zh = translated(clock, "zh")
        return Text(f"late: {when} ({clock}), deadline {end}", f"迟交：{when}（{zh}），截止时间 {end}")
    return LATE if submission.late else None


def _time_notes(submission: Submission, deadline: datetime | None, late: Text | None) -> tuple[str, ...]:
    """The remarks for the table about the time of a hand-in."""
    unknown = deadline is not None and submission.when is None
    return (*([late.en] if late else []), *(["time of hand-in not known"] if unknown else []))


def _unknown_times(graded: Iterable[_Choice], deadline: datetime | None) -> tuple[str, ...]:
    """A line about hand-ins of which nobody can tell whether they were late."""
    unknown = [choice.submission for choice in graded if choice.submission.when is None]
    if deadline is None or not unknown:
        return ()
    layouts = sorted({submission.who.layout.capitalize() for submission in unknown if submission.who.layout != "plain"})
    why = f" ({' and '.join(layouts)} downloads do not tell)" if layouts else ""
    return (f"deadline: time not known of {counted(len(unknown), 'hand-in')}{why}",)


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
    mine: dict[str, list[Submission]] = defaultdict(list)
    for submission in found:
        mine[submission.student].append(submission)
    common = Counter(s.lang for s in found if s.path).most_common(1)
    for student, theirs in mine.items():
        spoken = Counter(s.lang for s in theirs if s.path).most_common(1) or common
        notes = tuple(dict.fromkeys(note for s in theirs for note in s.notes))
        absences = (absent(lesson, spoken[0][0] if spoken else "en") for lesson in expected)
        entries += [Entry(student, r, notes=notes) for r in absences if (student, r.lesson) not in there]
    return tuple(sorted(entries, key=lambda e: (e.student, e.report.lesson, e.path)))


def _entry(choice: _Choice, jobs: Jobs) -> Entry:
    submission = choice.submission
    if choice.job is None:
        report = refused(submission.lesson, submission.lang, submission.problem)
    else:
        report = jobs.reports[choice.job]
    job = choice.job or ""
    return Entry(submission.student, report, submission.path, choice.notes, submission.problem, job, choice.late)
