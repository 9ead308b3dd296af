"""report.html: where a class stands, on one page that needs no network, no script and no other file.

Of what learners and their files say, nothing gets onto the page but as escaped text. The page grows with the class by a
line per learner; everything else is a picture of fixed size or a list of fixed length.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from urllib.parse import quote

from fp8lab import __version__
from fp8lab.course.feedback import inline_code
from fp8lab.course.text import known_language
from fp8lab.grading.overview import Overview, Score, Seen, Trouble, histogram, lesson_percents, middle
from fp8lab.grading.pictures import counts_list, histogram_svg, legend, stacked_bar
from fp8lab.grading.remarks import NOT_LISTED, translated
from fp8lab.grading.report_style import SCRIPT, STYLE, policy
from fp8lab.grading.report_words import W
from fp8lab.grading.review import KINDS, Flag
from fp8lab.grading.verdict import SHOWN

MOST_LEARNERS = 5000  # lines of the table of learners
MOST_FLAGS = 200
MOST_FILES = 200
MOST_SEEN = 12  # lines of misconceptions, and of time outs and crashes, before the rest is folded up
MOST_FOLDED = 300
MOST_NAMES = 12  # in a line
MOST_TEXT = 300  # characters of anything that comes from a file; of a name, a third
MISSING, UNREADABLE = "–", "✗"


def report_page(
    overview: Overview,
    flags: Sequence[Flag],
    pages: Mapping[str, str],
    lang: str,
    when: datetime,
    trouble: Trouble | None = None,
    mismatch: str = "",
) -> str:
    """The page in `lang`. pages: learner -> name of their feedback file without suffix; mismatch: said on top."""
    page = _Page(overview, known_language(lang), pages)
    body = [
        page.head(flags, when, mismatch),
        *([page.marks(), page.exercises(), page.misconceptions(), page.stopped()] if overview.learners else []),
        page.late(),
        page.review(flags) if overview.learners else "",
        page.files(trouble or Trouble()),
        page.learners() if overview.learners else "",
    ]
    title = html.escape(W["title"].get(lang))
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{html.escape(policy())}">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{STYLE}</style>'
    )
    code = "zh-CN" if lang == "zh" else "en"
    parts = [f'<!doctype html>\n<html lang="{code}"><head>{head}</head>\n<body>', *filter(None, body)]
    return "\n".join([*parts, f"<script>{SCRIPT}</script></body></html>\n"])


def clean(text: str, most: int = MOST_TEXT) -> str:
    """Text from anywhere as HTML: one line, no control characters, not longer than `most`.

    >>> clean("a <b>\\n" + "x" * 20, most=9)
    'a &lt;b&gt; xx…'
    """
    line = "".join(c if c.isprintable() else " " for c in re.sub(r"\s+", " ", text[: 4 * most]))
    return html.escape(line if len(line) <= most else line[: most - 1] + "…")


class _Page:
    """The sections of one page."""

    def __init__(self, overview: Overview, lang: str, pages: Mapping[str, str]) -> None:
        self.overview, self.lang, self.pages = overview, lang, pages

    def say(self, word: str, **values: object) -> str:
        return html.escape(W[word].get(self.lang).format(**values))

    def counted(self, word: str, number: object, **values: object) -> str:
        """`say`, with the singular for one where English has another word for it."""
        return self.say(f"{word}_one" if number == 1 and f"{word}_one" in W else word, **values)

    def head(self, flags: Sequence[Flag], when: datetime, mismatch: str) -> str:
        seen = self.overview
        made = self.say("made", date=when.strftime("%Y-%m-%d %H:%M"), version=__version__)
        lessons = " · ".join(f"{lesson} {title.get(self.lang)}" for lesson, title in seen.lessons.items())
        percents = [learner.percent for learner in seen.learners]
        tiles = [(len(seen.learners), "learners"), (len(seen.lessons), "lessons")]
        if seen.learners:
            full = sum(learner.most > 0 and learner.points == learner.most for learner in seen.learners)
            tiles += [(f"{middle(percents):.0f} %", "median"), (f"{100 * seen.passed:.0f} %", "passed_share")]
            tiles += [(full, "full"), (len(flags), "to_review"), (len(seen.unreadable), "unread")]
            tiles += [(len(seen.late), "late_tile")] if seen.late else []
        items = "".join(f"<li><b>{value}</b><span>{self.counted(word, value)}</span></li>" for value, word in tiles)
        empty = "" if seen.learners else f"<p>{self.say('empty')}</p>"
        alarm = f'<p class="alarm" role="alert">{clean(mismatch, 4 * MOST_TEXT)}</p>' if mismatch else ""
        return (
            f'<h1>{self.say("title")}</h1><p class="quiet">{made}<br>{html.escape(lessons)}</p>'
            f'{alarm}<ul class="tiles">{items}</ul>{empty}'
        )

    def marks(self) -> str:
        percents = [learner.percent for learner in self.overview.learners]
        count = len(percents)
        about = self.counted("median_all", count, value=f"{middle(percents):.0f}", count=count)
        figures = [self._figure(self.say("all_lessons"), about, percents)]
        for lesson, title in self.overview.lessons.items():
            mine = lesson_percents(self.overview, lesson)
            about = self.say("median_of", value=f"{middle(mine):.0f}", count=len(mine), total=count)
            figures.append(self._figure(html.escape(f"{lesson} {title.get(self.lang)}"), about, mine))
        shown = figures if len(self.overview.lessons) > 1 else figures[:1]
        return self._section("marks", self.say("marks_about"), f'<div class="hists">{"".join(shown)}</div>')

    def _figure(self, title: str, about: str, percents: Sequence[float]) -> str:
        picture = histogram_svg(histogram(percents), self.lang)
        return f'<figure><figcaption><h3>{title}</h3><span class="quiet">{about}</span></figcaption>{picture}</figure>'

    def exercises(self) -> str:
        rows = []
        for figures in self.overview.exercises:
            counts = "".join(f"<span>{html.escape(part)}</span> " for part in counts_list(figures.counts, self.lang))
            rows.append(
                f'<tr><td class="key">{clean(figures.key)}<td>{clean(figures.title.get(self.lang))}'
                f'<td>{stacked_bar(figures.counts, self.lang)}<div class="small counts">{counts}</div>'
                f'<td class="n">{100 * figures.share("passed"):.0f} %'
            )
        verdicts = {verdict for figures in self.overview.exercises for verdict in figures.counts}
        heads = ["", self.say("exercise"), self.say("how_it_went"), self.say("passed")]
        bars = legend(sorted(verdicts), self.lang) + _table(heads, rows, "bars", last="n")
        return self._section("exercises", self.say("exercises_about"), bars)

    def misconceptions(self) -> str:
        seen = self.overview.misconceptions
        if not seen:
            return self._section("misconceptions", self.say("no_misconceptions"))
        rows = []
        for one in seen:
            explain = f"<br>{inline_code(one.explain.get(self.lang))}" if one.explain else ""
            rows.append(
                f'<tr><td class="n">{one.count}<td class="key">{clean(one.key)}'
                f"<td><b>{clean(one.title.get(self.lang))}</b>{explain}"
                f'<br><span class="small">{clean(one.name)}</span><td>{self._links(one.examples)}'
            )
        heads = [self.say("learners"), "", self.say("mistake"), self.say("examples")]
        table = self._folded(heads, rows, "named")
        return self._section("misconceptions", self.say("misconceptions_about"), table)

    def stopped(self) -> str:
        seen = self.overview.stopped
        if not seen:
            return self._section("stopped", self.say("no_stopped"))
        rows = [self._stopped_row(one) for one in seen]
        heads = [self.say("learners"), "", self.say("exercise"), self.say("what"), self.say("examples")]
        return self._section("stopped", "", self._folded(heads, rows, "ended"))

    def _stopped_row(self, one: Seen) -> str:
        note = f'<br><span class="small">{clean(translated(one.note, self.lang))}</span>' if one.note else ""
        return (
            f'<tr><td class="n">{one.count}<td class="key">{clean(one.key)}<td>{clean(one.title.get(self.lang))}'
            f"<td>{html.escape(SHOWN[one.name].get(self.lang))}{note}<td>{self._links(one.examples)}"
        )

    def late(self) -> str:
        seen = self.overview.late
        if not seen:
            return ""
        rows = [
            f"<tr><td>{self._links([entry.student])}<td>{clean(entry.report.lesson)}<td><code>{clean(entry.path)}</code>"
            f"<td>{clean(entry.late.get(self.lang))}"
            for entry in seen[:MOST_FILES]
        ]
        heads = [self.say("learner"), self.say("lesson"), self.say("file"), self.say("when")]
        about = self.say("late_about", mark="{}").replace("{}", self._late_mark())
        return self._section(
            "late", about, _table(heads, rows, "seen") + self._rest("more_late", len(seen) - MOST_FILES)
        )

    def _late_mark(self) -> str:
        return f'<span class="late">{self.say("late_mark")}</span>'

    def review(self, flags: Sequence[Flag]) -> str:
        if not flags:
            return self._section("review", self.say("no_review"))
        link = '<a href="review.csv">review.csv</a>'
        rows = []
        for flag in flags[:MOST_FLAGS]:
            evidence = "<br>".join(clean(text.get(self.lang)) for text in flag.evidence[:MOST_NAMES])
            more = f"<br>+{len(flag.evidence) - MOST_NAMES}" if len(flag.evidence) > MOST_NAMES else ""
            keys = ", ".join(flag.keys[:MOST_NAMES]) + (" …" if len(flag.keys) > MOST_NAMES else "")
            rows.append(
                f"<tr><td>{html.escape(KINDS[flag.kind].get(self.lang))}<td>{self._links(flag.learners)}"
                f"<td>{clean(keys)}<td>{evidence}{more}"
            )
        heads = [self.say("flag"), self.say("who"), self.say("exercise"), self.say("evidence")]
        rest = len(flags) - MOST_FLAGS
        more = f"<p>{self.say('more_flags', count=rest, file='{}').replace('{}', link)}</p>" if rest > 0 else ""
        about = self.say("review_about", file="{}").replace("{}", link)
        return self._section("review", about, _table(heads, rows, "seen") + more)

    def files(self, trouble: Trouble) -> str:
        lines = [
            *((entry.student, entry.path, translated(entry.problem, self.lang)) for entry in self.overview.unreadable),
            *(("", path, W["grader_failed"].get(self.lang).format(reason=reason)) for path, reason in trouble.broken),
            *(("", translated(path, self.lang), W["not_notebook"].get(self.lang)) for path in trouble.strange),
        ]
        remarks = "".join(f"<li>{clean(translated(remark, self.lang))}" for remark in trouble.remarks[:MOST_FILES])
        remarks = f"<ul>{remarks}</ul>" if remarks else ""
        if not lines:
            return self._section("files", self.say("no_files"), remarks)
        rows = [
            f"<tr><td><code>{clean(path)}</code><td>{self._links([student] if student else [])}<td>{clean(reason)}"
            for student, path, reason in lines[:MOST_FILES]
        ]
        heads = [self.say("file"), self.say("learner"), self.say("reason")]
        table = _table(heads, rows, "seen") + self._rest("more_files", len(lines) - MOST_FILES)
        return self._section("files", "", remarks + table)

    def learners(self) -> str:
        lessons = list(self.overview.lessons)
        rows = []
        for learner in self.overview.learners[:MOST_LEARNERS]:
            cells = "".join(self._score(learner.lessons.get(lesson)) for lesson in lessons)
            rows.append(
                f'<tr><td>{self._links([learner.student])}<td class="n">{learner.points}'
                f'<td class="n" data-v="{learner.percent:.1f}">{learner.percent:.0f} %'
                f'<td class="n" data-v="{learner.passed}">{learner.passed}/{learner.exercises}{cells}'
            )
        heads = [self.say("learner"), self.say("points"), "%", self.say("passed"), *map(html.escape, lessons)]
        options = f' data-sort="{self.say("sort")}" data-filter="{self.say("filter")}"'
        table = _table(heads, rows, "sortable", options, numbers=True)
        about = self.say("table_about", missing=MISSING, unreadable=UNREADABLE)
        return self._section(
            "table", about, table + self._rest("more_learners", len(self.overview.learners) - MOST_LEARNERS)
        )

    def _score(self, score: Score | None) -> str:
        late = f" {self._late_mark()}" if score is not None and score.late else ""
        if score is None or score.state != "graded":
            sign = UNREADABLE if score is not None and score.state == "unreadable" else MISSING
            return f'<td class="n" data-v="-1">{sign}{late}'
        return (
            f'<td class="n" data-v="{score.points}">{score.points}{late}' if late else f'<td class="n">{score.points}'
        )

    def _links(self, students: Sequence[str]) -> str:
        """Names that lead to feedback files; the first of many."""
        found = []
        for student in students[:MOST_NAMES]:
            shown = translated(student, self.lang) if student.endswith(f"({NOT_LISTED})") else student
            name = f"<bdi>{clean(shown, MOST_TEXT // 3)}</bdi>"
            page = self.pages.get(student)
            found.append(f'<a href="feedback/{html.escape(quote(page))}.html">{name}</a>' if page else name)
        more = f" +{len(students) - MOST_NAMES}" if len(students) > MOST_NAMES else ""
        return ", ".join(found) + more

    def _folded(self, heads: Sequence[str], rows: Sequence[str], kind: str) -> str:
        """A table whose first rows are the most frequent; the others are there when they are asked for."""
        first, second = rows[:MOST_SEEN], rows[MOST_SEEN : MOST_SEEN + MOST_FOLDED]
        shown = _table(heads, first, kind, first="n")
        if not second:
            return shown
        summary = self.say("more_rows", count=len(rows) - len(first))
        return f"{shown}<details><summary>{summary}</summary>{_table(heads, second, kind, first='n')}</details>"

    def _rest(self, word: str, count: int) -> str:
        return f"<p>{self.say(word, count=count)}</p>" if count > 0 else ""

    def _section(self, word: str, about: str, body: str = "") -> str:
        text = f'<p class="quiet">{about}</p>' if about else ""
        return f'<section id="{word}"><h2>{self.say(word)}</h2>{text}{body}</section>'


def _table(
    heads: Iterable[str], rows: Sequence[str], kind: str, options: str = "", *, first="", last="", numbers=False
) -> str:
    """A table of finished cells. first, last: class of those headings; numbers: all headings but the first are "n"."""
    names = list(heads)
    classes = ["n" if numbers and place else "" for place in range(len(names))]
    classes[0], classes[-1] = classes[0] or first, classes[-1] or last
    cells = "".join(f'<th scope="col"{f" class={c}" if c else ""}>{name}' for name, c in zip(names, classes))
    opening = f'<div class="wide"><table class="{kind}"{options}><thead><tr>{cells}</thead><tbody>'
    return "\n".join([opening, *rows, "</tbody></table></div>"])
