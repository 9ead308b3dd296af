"""The jobs of a run: one per different notebook, mapped over an executor, every report kept as it comes."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field

from fp8lab.grading.cache import Cache, digest
from fp8lab.grading.intake import Submission
from fp8lab.grading.judge import grade_notebook, refused
from fp8lab.grading.notebook import Unreadable
from fp8lab.grading.run import Ground, InfrastructureError, end_all
from fp8lab.grading.verdict import Report

logger = logging.getLogger(__name__)

ATTEMPTS = 2  # at a notebook that the grader itself fails on
AHEAD = 4  # jobs per worker that are handed over before the first is done: enough to keep all busy, few in memory
Progress = Callable[[int, int], None]  # (jobs done, all jobs)


@dataclass
class Jobs:
    """What is to be graded, by the hash of all that its report depends on; equal notebooks are one job.

    reports  digest -> report     broken  digest -> why the grader failed at it
    ran      how many were run now rather than taken from an earlier run
    """

    seed: int
    ground: Ground
    files: dict[str, Submission] = field(default_factory=dict)
    reports: dict[str, Report] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    ran: int = 0

    def add(self, submission: Submission) -> str:
        """The digest of the submission's job. Unreadable or OSError when the file is gone or has changed its kind."""
        name = self.name(submission, submission.read())
        self.files.setdefault(name, submission)
        return name

    def name(self, submission: Submission, data: bytes) -> str:
        """The digest of the job on these bytes."""
        settings = {"lesson": submission.lesson, "lang": submission.lang, "seed": self.seed, **vars(self.ground)}
        return digest(data, settings)


def run_jobs(jobs: Jobs, cache: Cache, workers: int, executor: Executor | None, progress: Progress) -> None:
    """Fill in the reports: from the cache what is there, by running the rest."""
    for name in jobs.files:
        report = cache.get(name)
        if report is not None:
            jobs.reports[name] = report
    waiting = iter([name for name in jobs.files if name not in jobs.reports])
    progress(len(jobs.reports), len(jobs.files))
    with _pool(workers, executor) as pool:
        running: dict[Future, str] = {}
        while True:
            _hand_over(pool, jobs, waiting, running, AHEAD * workers)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                _keep(running.pop(future), future, jobs, cache)
            progress(len(jobs.reports), len(jobs.files))


@contextmanager
def _pool(workers: int, executor: Executor | None) -> Iterator[Executor]:
    """The given executor, or threads of our own, whose processes are ended when anything goes wrong here."""
    if executor is not None:
        yield executor
        return
    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="grade")
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        end_all()
        raise
    finally:
        pool.shutdown()


def _hand_over(pool: Executor, jobs: Jobs, waiting: Iterator[str], running: dict[Future, str], most: int) -> None:
    while len(running) < most and (name := next(waiting, None)) is not None:
        submission = jobs.files[name]
        try:
            data = submission.read()
            if jobs.name(submission, data) != name:
                raise Unreadable("its content is another now")
        except (Unreadable, OSError) as problem:
            jobs.reports[name] = refused(submission.lesson, submission.lang, f"changed while grading: {problem}")
            jobs.broken[name] = f"changed while grading: {problem}"
            continue
        running[pool.submit(grade_job, data, submission.lesson, submission.lang, jobs.seed, jobs.ground)] = name


def _keep(name: str, future: Future, jobs: Jobs, cache: Cache) -> None:
    submission = jobs.files[name]
    try:
        report, broken = future.result()
    except Exception as problem:  # not of the job: its worker was lost again and again, or is not fit to grade
        broken = f"{type(problem).__name__}: {problem}"
        report = _failed(submission.lesson, submission.lang, broken)
    jobs.reports[name] = report
    jobs.ran += 1
    if broken:
        jobs.broken[name] = broken  # not kept: the next run tries again
    else:
        cache.put(name, report)


def grade_job(data: bytes, lesson: str, lang: str, seed: int, ground: Ground) -> tuple[Report, str]:
    """(report, "") of one notebook; when the grader itself fails, a report without points, and the reason."""
    reason = ""
    for _ in range(ATTEMPTS):
        try:
            return grade_notebook(data, lesson, lang, seed, ground), ""
        except InfrastructureError as problem:
            reason = str(problem)
        except Exception as problem:  # a defect of ours must not cost the others their marks
            reason = f"{type(problem).__name__}: {problem}"
        logger.warning("the grader failed at a notebook of %s: %s", lesson, reason)
    return _failed(lesson, lang, reason), reason


def _failed(lesson: str, lang: str, reason: str) -> Report:
    return refused(lesson, lang, f"the grader failed, which is no fault of the learner's: {reason}")


def default_workers() -> int:
    """As many as the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
