"""What the tests of report.html share: a reader of its HTML, and a made-up class with some of everything."""

from __future__ import annotations

import csv
import re
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

from made_up_class import LESSON, absent, entry, unreadable

from fp8lab.course.registry import lesson_exercises
from fp8lab.grading.report import About, write_reports
from fp8lab.grading.verdict import Entry


class Page(HTMLParser):
    """What is on a page: tags with their attributes, texts, the text inside every kind of tag."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self.inside: list[str] = []
        self.source = text
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag):
        self.inside.append("")

    def handle_data(self, data):
        if self.inside and self.inside[-1] == "script":
            self.scripts.append(data)
        elif self.inside and self.inside[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag and wanted.items() <= attrs.items()]

    def section(self, name: str) -> Page:
        return Page(re.search(rf'<section id="{name}">.*?</section>', self.source, re.DOTALL)[0])

    def rows(self) -> list[Page]:
        return [Page("<tr>" + row) for row in re.split("<tr>", self.source.partition("<tbody>")[2])[1:]]


def report(out, entries, lessons=(LESSON,), **about) -> Page:
    write_reports(out, entries, lessons, About(when=datetime(2026, 11, 20, 12, 30), **about))
    return Page((out / "report.html").read_text(encoding="utf-8"))


def flag_table(out: Path) -> list[dict[str, str]]:
    with open(out / "review.csv", encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def mixed_class() -> list[Entry]:
    """Twenty learners: some of everything."""
    keys = [exercise.key for exercise in lesson_exercises(LESSON)]
    return [
        *(entry(f"good {n}") for n in range(8)),
        *(entry(f"ieee {n}", misconceptions={"1.4": 0}) for n in range(4)),
        *(entry(f"slow {n}", {"1.7": "timeout", "1.6": "crashed"}) for n in range(2)),
        *(entry(f"half {n}", dict.fromkeys(keys[3:], "not_attempted")) for n in range(3)),
        absent("gone"),
        unreadable("cut", "cut off or damaged"),
        entry("last", "error"),
    ]
