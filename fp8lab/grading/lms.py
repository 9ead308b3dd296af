"""Marks as the files that learning platforms import: DIR/lms/.

canvas.csv          Gradebook > Import. Header `Student, ID, SIS User ID, SIS Login ID, Section`, a column per
                    assignment ("Title" or "Title (id)"; an unknown title makes a new one), a line "Points Possible".
                    Canvas finds a learner by ID, then by SIS id, SIS login, and name.
                    github.com/instructure/canvas-lms, lib/gradebook_importer.rb
moodle.csv          Grades > Import > CSV, columns mapped by hand; a grade goes with its feedback, or is lost.
                    docs.moodle.org/en/Grade_import
moodle-LESSON.csv   Assignment > Upload grading worksheet; needs `Identifier` ("Participant 123456", the number from a
                    Moodle download), `Grade` and `Last modified (grade)`, in an English Moodle.
                    github.com/moodle/moodle, mod/assign/feedback/offline/importgradeslib.php
blackboard.csv      Gradebook > Upload. Learners are found by `Username`; a header without "|column id" makes a new
                    column; every cell in quotes. Blackboard Help, "Uploading or downloading Grade Center items"

UTF-8 with a mark, so that Excel shows Chinese; cells that a spreadsheet would take for a formula are neutralised. Only
our own words stand in the feedback, so that nothing of a learner's becomes HTML on a platform.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fp8lab.course.text import Text
from fp8lab.grading.layouts import Who
from fp8lab.grading.roster import KIND, squeezed
from fp8lab.grading.spreadsheet import harmless, write_table
from fp8lab.grading.verdict import SHOWN, Entry

PARTICIPANT = "Participant "  # Moodle's string "hiddenuser" in English
CANVAS_EXPORT = "student", "id"  # a class list with both and one of the next is a gradebook of Canvas, and its ID
CANVAS_SIS = "sisuserid", "sisloginid"  # is Canvas's own
MOST_FEEDBACK = 1500  # characters
DONE = Text("All exercises passed.", "全部练习通过。")
NOTHING = Text("Nothing was handed in.", "没有提交。")


@dataclass(frozen=True)
class Identity:
    """What is known of a learner; what is not is "".

    canvas        Canvas's own number            sis, login, email   of the institution
    participants  lesson -> Moodle's number of learner and assignment
    """

    name: str
    first: str = ""
    last: str = ""
    canvas: str = ""
    sis: str = ""
    login: str = ""
    email: str = ""
    section: str = ""
    participants: Mapping[str, str] = field(default_factory=dict)


def identity(student: str, columns: Mapping[str, str], hand_ins: Mapping[str, Who]) -> Identity:
    """What a learner's line on the class list (header -> cell) and their files (lesson -> whose) tell.

    >>> identity("Ann", {"Student ID": "007", "Username": "ann7"}, {}).login
    'ann7'
    """
    cells = {squeezed(header): cell for header, cell in columns.items() if cell}
    of_kind: dict[str, list[str]] = {}
    for header, cell in cells.items():
        of_kind.setdefault(KIND.get(header, ""), []).append(cell)
    whos = list(hand_ins.values())
    from_canvas = next((who.id for who in whos if who.layout == "canvas" and who.id.isdigit()), "")
    headers = set(map(squeezed, columns))
    exported = headers.issuperset(CANVAS_EXPORT) and not headers.isdisjoint(CANVAS_SIS)
    listed = cells.get("canvasuserid") or (cells.get("id", "") if exported else "")
    sis = [cell for header, cell in cells.items() if KIND.get(header) == "id" and cell != listed]

    def first_of(*kinds: str) -> str:
        return next((of_kind[kind][0] for kind in kinds if kind in of_kind), "")

    return Identity(
        first_of("name") or student,
        first_of("first"),
        first_of("last"),
        listed or from_canvas,
        cells.get("sisuserid") or (sis[0] if sis else ""),
        first_of("login") or next((who.login for who in whos if who.login), ""),
        first_of("email"),
        cells.get("section") or cells.get("班级", ""),
        {lesson: who.id for lesson, who in hand_ins.items() if who.layout == "moodle" and who.id},
    )


def lms_files(
    entries: Sequence[Entry],
    expected: Sequence[str],
    people: Mapping[str, Mapping[str, str]],
    hand_ins: Mapping[tuple[str, str], Who],
) -> dict[str, str]:
    """File name -> text.

    people    learner -> their line on the class list; where there is one, who is not on it is left out
    hand_ins  (learner, lesson) -> whose file it is by the layout of the download
    """
    book = _Book(entries, expected, people, hand_ins)
    files = {"canvas.csv": book.canvas(), "moodle.csv": book.moodle(), "blackboard.csv": book.blackboard()}
    for lesson in expected:
        worksheet = book.worksheet(lesson)
        if worksheet:
            files[f"moodle-{lesson}.csv"] = worksheet
    return files


def write_lms(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files, and remove worksheets of an earlier run."""
    for name, text in files.items():
        write_table(folder / name, text)
    for old in folder.glob("moodle-*.csv"):
        if old.name not in files:
            old.unlink()


def column(lesson: str) -> str:
    """What a lesson is called in a gradebook."""
    return f"fp8lab {lesson}"


class _Book:
    """Points and feedback of everybody who is to be imported."""

    def __init__(
        self,
        entries: Sequence[Entry],
        expected: Sequence[str],
        people: Mapping[str, Mapping[str, str]],
        hand_ins: Mapping[tuple[str, str], Who],
    ) -> None:
        self.lessons = list(expected)
        students = [s for s in dict.fromkeys(entry.student for entry in entries) if not people or s in people]
        theirs: dict[str, dict[str, Who]] = {student: {} for student in students}
        for (student, lesson), who in hand_ins.items():
            if student in theirs:
                theirs[student][lesson] = who
        self.known = {student: identity(student, people.get(student, {}), theirs[student]) for student in students}
        self.entries = {(entry.student, entry.report.lesson): entry for entry in entries}
        self.most = {lesson: self._most(entries, lesson) for lesson in self.lessons}

    @staticmethod
    def _most(entries: Iterable[Entry], lesson: str) -> int:
        return max((entry.report.max_points for entry in entries if entry.report.lesson == lesson), default=0)

    def points(self, student: str, lesson: str) -> int:
        entry = self.entries.get((student, lesson))
        return entry.report.points if entry else 0

    def feedback(self, student: str, lesson: str) -> str:
        """One line in the learner's language: what is not passed, and how."""
        entry = self.entries.get((student, lesson))
        if entry is None or not entry.path:
            return NOTHING.get(entry.report.lang if entry else "en")
        lang = entry.report.lang
        colon, stop = ("：", "；") if lang == "zh" else (": ", "; ")
        open_ = [f"{m.key}{colon}{SHOWN[m.verdict].get(lang)}" for m in entry.report.marks if m.verdict != "passed"]
        text = stop.join(open_) or DONE.get(lang)
        return text if len(text) <= MOST_FEEDBACK else text[: MOST_FEEDBACK - 1] + "…"

    def canvas(self) -> str:
        header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *map(column, self.lessons)]
        rows = [["    Points Possible", "", "", "", "", *(self.most[lesson] for lesson in self.lessons)]]
        for student, who in self.known.items():
            points = [self.points(student, lesson) for lesson in self.lessons]
            rows.append([who.name, who.canvas, who.sis, who.login, who.section, *points])
        return _csv(header, rows)

    def moodle(self) -> str:
        header = ["Full name", "ID number", "Username", "Email address"]
        header += [name for lesson in self.lessons for name in (column(lesson), f"{column(lesson)} feedback")]
        rows = []
        for student, who in self.known.items():
            marks = [(self.points(student, lesson), self.feedback(student, lesson)) for lesson in self.lessons]
            rows.append([who.name, who.sis, who.login, who.email, *(cell for pair in marks for cell in pair)])
        return _csv(header, rows)

    def worksheet(self, lesson: str) -> str:
        """Of one assignment of Moodle; "" when no participant's number is known."""
        header = ["Identifier", "Full name", "Email address", "Grade", "Maximum grade", "Last modified (grade)"]
        rows = []
        for student, who in self.known.items():
            if lesson in who.participants:
                marks = self.points(student, lesson), self.most[lesson], "-", self.feedback(student, lesson)
                rows.append([PARTICIPANT + who.participants[lesson], who.name, who.email, *marks])
        return _csv([*header, "Feedback comments"], rows) if rows else ""

    def blackboard(self) -> str:
        header = ["Last Name", "First Name", "Username", "Student ID"]
        header += [f"{column(lesson)} [Total Pts: {self.most[lesson]} Score]" for lesson in self.lessons]
        rows = []
        for student, who in self.known.items():
            name = (who.last, who.first) if who.first or who.last else (who.name, "")
            points = [self.points(student, lesson) for lesson in self.lessons]
            rows.append([*name, who.login or student, who.sis, *points])
        return _csv(header, rows, csv.QUOTE_ALL)


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]], quoting: int = csv.QUOTE_MINIMAL) -> str:
    """Lines as platforms read them. Cells are one line each: Canvas finds the delimiter in the first lines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n", quoting=quoting)
    writer.writerow(header)
    writer.writerows([harmless(_one_line(cell)) for cell in row] for row in rows)
    return text.getvalue()


def _one_line(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    return "".join(c if c.isprintable() else " " for c in cell)
