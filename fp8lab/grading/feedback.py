"""What a learner gets back: every exercise with its verdict, what differed first, and what kind of mistake it was."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from fp8lab.course.feedback import COLOURS, inline_code
from fp8lab.course.text import Text
from fp8lab.grading.overview import lesson_title
from fp8lab.grading.remarks import translated
from fp8lab.grading.verdict import SHOWN, Entry, Mark

WORDS = {
    "title": Text("Feedback for {student}", "{student} 的反馈"),
    "points": Text("{points} of {most} points", "{points} / {most} 分"),
    "passed": Text("{passed} of {total} exercises passed", "{total} 道练习中通过 {passed} 道"),
    "next": Text("next: {key} {title}", "下一步：{key} {title}"),
    "file": Text("graded file: {path}", "评分文件：{path}"),
    "none": Text("Nothing was handed in for this lesson.", "本课没有提交。"),
    "problem": Text("The file could not be read: {problem}.", "文件无法读取：{problem}。"),
    "shared": Text("{keys}: {line}", "{keys}：{line}"),
    "open": Text(
        "Not attempted: {keys}. Replace the line `raise NotImplementedError(...)` in them with your code.",
        "还没有作答：{keys}。请把其中的 `raise NotImplementedError(...)` 换成你的代码。",
    ),
}
DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # no name for a file on Windows
MARKS = {"passed": "✓", "not_attempted": "○", "blocked": "⧗", "missing": "○"}
STYLE = """
body { font: 16px/1.6 system-ui, "Noto Sans CJK SC", "Microsoft YaHei", sans-serif; max-width: 46em;
       margin: 2em auto; padding: 0 1em; color: #1b1f24; background: #fff }
h1 { font-size: 1.6em; margin-bottom: .2em } h2 { font-size: 1.2em; margin: 1.8em 0 .1em }
section { border-left: 4px solid var(--c); padding: .2em .9em; margin: .8em 0; break-inside: avoid }
h3 { font-size: 1em; margin: 0 } h3 b { color: var(--c) } p { margin: .2em 0 }
code { background: #eef1f4; padding: 0 .25em; border-radius: 3px; overflow-wrap: anywhere }
.quiet { color: #59636e }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #14181d } code { background: #262c34 } .quiet { color: #9aa6b2 }
  h3 b { filter: brightness(1.7) } }
@media print { body { max-width: none; margin: 0; color: #000; background: #fff } code { background: #eef1f4 }
  h3 b { filter: none } }
"""


def file_names(students: Iterable[str]) -> dict[str, str]:
    """Learner -> a name for their file, safe on every system, different for all of them.

    >>> file_names(["Ana", "ana", "../x", "李雷", "Li, Lei", "con"])
    {'Ana': 'Ana', 'ana': 'ana-2', '../x': '_x', '李雷': '李雷', 'Li, Lei': 'Li, Lei', 'con': 'con_'}
    """
    names: dict[str, str] = {}
    used: set[str] = set()
    for student in students:
        base = re.sub(r"[^\w .,()-]+", "_", student).strip(" .")[:80].lstrip(".-") or "learner"
        base += "_" if DEVICE.fullmatch(base) else ""
        name, number = base, 1
        while name.casefold() in used:
            number += 1
            name = f"{base}-{number}"
        used.add(name.casefold())
        names[student] = name
    return names


def language(entries: Sequence[Entry]) -> str:
    """The language of a learner's page: that of most of their notebooks."""
    return Counter(entry.report.lang for entry in entries).most_common(1)[0][0]


def markdown_page(student: str, entries: Sequence[Entry]) -> str:
    """The page as Markdown."""
    lang = language(entries)
    blocks = [f"# {_plain(WORDS['title'].format(student=student).get(lang))}", _plain(_total(entries, lang))]
    for entry in entries:
        blocks.append(f"## {_plain(_heading(entry))}")
        blocks += [_plain(line) for line in _about(entry)]
        once = _said_once(entry)
        blocks += [_marked(line) for line in once.values()]
        for mark in _shown(entry):
            sign, verdict = MARKS.get(mark.verdict, "✗"), SHOWN[mark.verdict].get(entry.report.lang)
            blocks.append(f"### {sign} {mark.key} {_plain(mark.title)} — {verdict} ({mark.points}/{mark.max_points})")
            blocks.append("" if _lines(mark) in once else "\n".join(f"- {_marked(line)}" for line in _lines(mark)))
    return "\n\n".join(filter(None, blocks)) + "\n"


def html_page(student: str, entries: Sequence[Entry]) -> str:
    """The page as one HTML file that needs nothing else."""
    lang = language(entries)
    title = html.escape(WORDS["title"].format(student=student).get(lang))
    body = [f"<h1>{title}</h1>", f"<p>{html.escape(_total(entries, lang))}</p>"]
    for entry in entries:
        body.append(f"<h2>{html.escape(_heading(entry))}</h2>")
        body += [f'<p class="quiet">{html.escape(line)}</p>' for line in _about(entry)]
        once = _said_once(entry)
        body += [f"<p>{inline_code(line)}</p>" for line in once.values()]
        body += [
            _section(mark, entry.report.lang, () if _lines(mark) in once else _lines(mark)) for mark in _shown(entry)
        ]
    code = "zh-CN" if lang == "zh" else "en"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return f'<!doctype html>\n<html lang="{code}"><head>{head}<style>{STYLE}</style></head>\n<body>\n' + "\n".join(
        [*body, "</body></html>\n"]
    )


def _section(mark: Mark, lang: str, told: tuple[str, ...]) -> str:
    colour = COLOURS.get({"passed": "right", "timeout": "error", "crashed": "error"}.get(mark.verdict, mark.verdict))
    sign, verdict = MARKS.get(mark.verdict, "✗"), SHOWN[mark.verdict].get(lang)
    lines = "".join(f"<p>{inline_code(line)}</p>" for line in told)
    return (
        f'<section style="--c:{colour or COLOURS["not_attempted"]}"><h3><b>{sign} {html.escape(verdict)}</b> '
        f"{mark.key} {html.escape(mark.title)} ({mark.points}/{mark.max_points})</h3>{lines}</section>"
    )


def _shown(entry: Entry) -> tuple[Mark, ...]:
    """The exercises to list: none when there is no file, or none that can be read, for then one line says it all."""
    return entry.report.marks if entry.path and not entry.problem else ()


def _said_once(entry: Entry) -> dict[tuple[str, ...], str]:
    """What several exercises of a lesson would say in the same words -> the line that says it for all of them.

    It stands above the exercises, and not again below each.
    """
    lang = entry.report.lang
    sayings: dict[tuple[str, ...], list[str]] = {}
    for mark in _shown(entry):
        if lines := _lines(mark):
            sayings.setdefault(lines, []).append(mark.key)
    once = {
        lines: WORDS["shared"].format(keys=", ".join(keys), line=" ".join(lines)).get(lang)
        for lines, keys in sayings.items()
        if len(keys) > 1
    }
    if untouched := [mark.key for mark in _shown(entry) if mark.verdict == "not_attempted"]:
        once[()] = WORDS["open"].format(keys=", ".join(untouched)).get(lang)
    return once


def _lines(mark: Mark) -> tuple[str, ...]:
    """What is said under the heading; the points of a pass stand there already."""
    return mark.lines[1:] if mark.verdict == "passed" else mark.lines


def _heading(entry: Entry) -> str:
    lesson, lang = entry.report.lesson, entry.report.lang
    if not lesson:
        return entry.path
    score = WORDS["points"].format(points=entry.report.points, most=entry.report.max_points).get(lang)
    return f"{lesson} {lesson_title(lesson).get(lang)} — {score}"


def _about(entry: Entry) -> list[str]:
    """What there is to say about a lesson as a whole, in the language of its notebook."""
    lang, marks = entry.report.lang, entry.report.marks
    if not entry.path:
        return [WORDS["none"].get(lang)]
    lines = [WORDS["file"].format(path=entry.path).get(lang), *([entry.late.get(lang)] if entry.late else [])]
    if entry.problem:
        return [*lines, WORDS["problem"].format(problem=translated(entry.problem, lang)).get(lang)]
    passed = sum(mark.verdict == "passed" for mark in marks)
    parts = [WORDS["passed"].format(passed=passed, total=len(marks)).get(lang)]
    following = next((mark for mark in marks if mark.verdict not in ("passed", "blocked")), None)
    if following:
        parts.append(WORDS["next"].format(key=following.key, title=following.title).get(lang))
    return [*lines, " · ".join(parts)]


def _total(entries: Sequence[Entry], lang: str) -> str:
    points = sum(entry.report.points for entry in entries)
    return WORDS["points"].format(points=points, most=sum(entry.report.max_points for entry in entries)).get(lang)


def _plain(text: str) -> str:
    """Text in Markdown that stays text, whatever a learner has put into a name."""
    return re.sub(r"([\\`*_{}\[\]#|<>])", r"\\\1", re.sub(r"\s+", " ", text))


def _marked(line: str) -> str:
    """A line in which `backticks` mark code; the rest stays text."""
    pieces = line.split("`")
    if len(pieces) % 2 == 0:  # an odd backtick, out of somebody's error message
        return _plain(line)
    return "".join(f"`{piece}`" if number % 2 else _plain(piece) for number, piece in enumerate(pieces) if piece)
