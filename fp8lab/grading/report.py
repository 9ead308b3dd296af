"""What an instructor takes away: grades.csv, summary.csv, and a feedback file per learner as Markdown and HTML.

grades.csv   student, lesson, exercise, points, max_points, verdict, note: a row per exercise, also of what is missing
summary.csv  a row per learner: points of all lessons and of each, percent, how many exercises have which verdict
"""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from fp8lab.grading.cache import write_atomically
from fp8lab.grading.feedback import file_names, html_page, markdown_page
from fp8lab.grading.verdict import VERDICTS, Entry

GRADES = ("student", "lesson", "exercise", "points", "max_points", "verdict", "note")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")  # a spreadsheet takes such a cell for a formula


def write_reports(out: Path, entries: Sequence[Entry], expected: Sequence[str]) -> None:
    """Write both tables and the feedback files into `out`."""
    write_atomically(out / "grades.csv", _csv(GRADES, grade_rows(entries)))
    header, rows = summary_rows(entries, expected)
    write_atomically(out / "summary.csv", _csv(header, rows))
    by_student: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_student[entry.student].append(entry)
    for student, name in file_names(by_student).items():
        write_atomically(out / "feedback" / f"{name}.md", markdown_page(student, by_student[student]))
        write_atomically(out / "feedback" / f"{name}.html", html_page(student, by_student[student]))


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


def _csv(header: Sequence[str], rows: Iterable[Sequence]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def harmless(cell: object) -> object:
    """A cell that no spreadsheet will run.

    >>> harmless("=HYPERLINK(1)"), harmless("alice"), harmless(-3)
    ("'=HYPERLINK(1)", 'alice', -3)
    """
    if isinstance(cell, str) and cell.lstrip(" \n").startswith(FORMULA):
        return "'" + cell
    return cell
