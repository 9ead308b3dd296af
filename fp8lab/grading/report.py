"""What an instructor takes away: tables, a page about the class, feedback for everybody, files for a learning platform.

report.html  where the class stands, see `report_page`
grades.csv   student, lesson, exercise, points, max_points, verdict, note: a row per exercise, also of what is missing
summary.csv  a row per learner: points of all lessons and of each, percent, how many exercises have which verdict
review.csv   flag, learners, lesson, exercises, evidence: what deserves a look, see `review`
feedback/    a page per learner, as Markdown and as HTML
lms/         points as Canvas, Moodle and Blackboard import them, see `lms`

All tables are UTF-8 with a mark (in Python: encoding="utf-8-sig").
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from fp8lab.course.text import Text
from fp8lab.grading.cache import write_atomically
from fp8lab.grading.feedback import file_names, html_page, markdown_page
from fp8lab.grading.layouts import Who
from fp8lab.grading.lms import lms_files, write_lms
from fp8lab.grading.overview import Trouble, overview
from fp8lab.grading.report_page import report_page
from fp8lab.grading.review import flag_rows, flags
from fp8lab.grading.spreadsheet import to_csv, write_table
from fp8lab.grading.verdict import VERDICTS, Entry

GRADES = ("student", "lesson", "exercise", "points", "max_points", "verdict", "note")
REVIEW = ("flag", "learners", "lesson", "exercises", "evidence")


@dataclass(frozen=True)
class About:
    """What the reports say besides the marks.

    lang      of report.html
    people    learner -> their line on the class list, header -> cell; empty without one
    hand_ins  (learner, lesson) -> whose file it is by the layout of the download
    trouble   files that did not become marks
    mismatch  said on top when the names of learners and of the class list do not agree
    when      of the report; None: now
    """

    lang: str = "en"
    people: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    hand_ins: Mapping[tuple[str, str], Who] = field(default_factory=dict)
    trouble: Trouble = Trouble()
    mismatch: Text | None = None
    when: datetime | None = None


def write_reports(out: Path, entries: Sequence[Entry], expected: Sequence[str], about: About | None = None) -> None:
    """Write all reports on `entries` into `out`. expected: the lessons, in order. OSError when it cannot be written."""
    about = about or About()
    write_table(out / "grades.csv", to_csv(GRADES, grade_rows(entries)))
    write_table(out / "summary.csv", to_csv(*summary_rows(entries, expected)))
    found = flags(entries)
    write_table(out / "review.csv", to_csv(REVIEW, flag_rows(found)))
    write_lms(out / "lms", lms_files(entries, expected, about.people, about.hand_ins))
    by_student: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_student[entry.student].append(entry)
    pages = file_names(by_student)
    for student, name in pages.items():
        write_atomically(out / "feedback" / f"{name}.md", markdown_page(student, by_student[student]))
        write_atomically(out / "feedback" / f"{name}.html", html_page(student, by_student[student]))
    when = about.when or datetime.now()
    mismatch = about.mismatch and about.mismatch.get(about.lang)
    page = report_page(overview(entries, expected), found, pages, about.lang, when, about.trouble, mismatch or "")
    write_atomically(out / "report.html", page)


def grade_rows(entries: Iterable[Entry]) -> list[tuple]:
    """The rows of grades.csv. A file of which nobody knows the lesson has one row without lesson and exercise."""
    rows = []
    for entry in entries:
        about = "; ".join(entry.notes)
        for mark in entry.report.marks:
            note = "; ".join(filter(None, [mark.note, about]))
            place = entry.student, entry.report.lesson, mark.key
            rows.append((*place, mark.points, mark.max_points, mark.verdict, note))
        if not entry.report.marks:
            rows.append((entry.student, "", "", 0, 0, "rejected", f"{entry.path}: {entry.problem}"))
    return rows


def summary_rows(entries: Iterable[Entry], expected: Sequence[str]) -> tuple[tuple[str, ...], list[tuple]]:
    """(header, rows) of summary.csv."""
    by_student: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_student[entry.student].append(entry)
    rows = []
    for student, mine in by_student.items():
        points = sum(entry.report.points for entry in mine)
        most = sum(entry.report.max_points for entry in mine)
        of_lesson = {entry.report.lesson: entry.report.points for entry in mine}
        count = Counter(mark.verdict for entry in mine for mark in entry.report.marks)
        percent = f"{100 * points / most:.1f}" if most else "0.0"
        lessons = [of_lesson.get(lesson, 0) for lesson in expected]
        rows.append((student, points, most, percent, *lessons, *(count[verdict] for verdict in VERDICTS)))
    return ("student", "points", "max_points", "percent", *expected, *VERDICTS), rows
