"""A verdict as a mark: the instructor's one line in English, the learner's lines in their language."""

from __future__ import annotations

import re

from fp8lab.course.exercise import Exercise, Result
from fp8lab.course.feedback import explain
from fp8lab.course.text import Text
from fp8lab.grading.launch import MEMORY, PROCESSES
from fp8lab.grading.verdict import FROM_STATE, Mark

MAX_NOTE = 300  # characters
MAX_LINE = 700

STOPPED = {  # how a kernel was stopped -> verdict, the instructor's words, the learner's
    "timeout": (
        "timeout",
        "took more than {timeout:g} s",
        Text("It ran for more than {timeout:g} s and was stopped.", "运行超过 {timeout:g} 秒，已被中止。"),
    ),
    "no time left": (
        "timeout",
        "not run: other exercises used up the time of this notebook",
        Text(
            "It was not run: other exercises of this notebook used up its time.",
            "没有运行：本笔记本的其他练习用完了时间。",
        ),
    ),
    "crashed": (
        "crashed",
        "the kernel died",
        Text("It ended the Python process.", "它使 Python 进程退出。"),
    ),
    "memory": (
        "crashed",
        f"used more than {MEMORY >> 30} GiB of memory",
        Text(f"It used more than {MEMORY >> 30} GiB of memory.", f"占用内存超过 {MEMORY >> 30} GiB。"),
    ),
    "processes": (
        "crashed",
        f"started more than {PROCESSES} processes",
        Text(f"It started more than {PROCESSES} processes.", f"启动了超过 {PROCESSES} 个进程。"),
    ),
    "output": (
        "crashed",
        "sent more output than is read",
        Text("It sent more output than is read.", "输出量超过上限。"),
    ),
}
MISSING = Text("No cell of this exercise was found.", "没有找到这道练习的单元格。")
REJECTED = Text("Nothing that could be graded came back: {reason}.", "没有得到可以评分的结果：{reason}。")


def mark(exercise: Exercise, verdict: str, lang: str, note: str) -> Mark:
    """A mark that no comparison led to: missing or rejected, for the reason in `note`."""
    text = MISSING.get(lang) if verdict == "missing" else REJECTED.format(reason=_line(note, MAX_LINE)).get(lang)
    return _mark(exercise, verdict, lang, note, [text])


def error_mark(exercise: Exercise, message: str, lang: str) -> Mark:
    """An exception outside of the drive, such as a syntax error, in one line."""
    return _mark(exercise, "error", lang, message, [f"`{_line(message, MAX_LINE)}`"])


def stopped_mark(exercise: Exercise, status: str, timeout: float, lang: str) -> Mark:
    """The kernel had to be stopped, or stopped itself."""
    verdict, note, text = STOPPED.get(status, STOPPED["crashed"])
    return _mark(exercise, verdict, lang, note.format(timeout=timeout), [text.format(timeout=timeout).get(lang)])


def result_mark(exercise: Exercise, result: Result, lang: str) -> Mark:
    """The verdict of a comparison."""
    verdict = FROM_STATE[result.state]
    found = _mark(exercise, verdict, lang, _note(result), explain(exercise, result, lang))
    return Mark(**{**vars(found), "misconception": result.misconception.name if result.misconception else None})


def _mark(exercise: Exercise, verdict: str, lang: str, note: str, lines: list[str]) -> Mark:
    return Mark(
        exercise.key,
        verdict,
        exercise.points if verdict == "passed" else 0,
        exercise.points,
        _line(note, MAX_NOTE),
        exercise.title.get(lang),
        tuple(_line(line, MAX_LINE) for line in lines),
    )


def _note(result: Result) -> str:
    """What the instructor reads about a comparison: where it differs, which mistake, what stood in."""
    parts = []
    difference = result.difference
    if difference:
        parts.append(f"{result.input or difference.array}: got {difference.got}, want {difference.want}")
        if difference.total > 1:
            parts.append(f"{difference.wrong} of {difference.total} differ")
    if result.error:
        parts.append(f"{result.error.kind}: {result.error.message}")
    if result.blocked_by:
        parts.append(f"blocked by {result.blocked_by}")
    if result.misconception:
        parts.append(f"misconception: {result.misconception.name}")
    if result.stood_in:
        parts.append(f"judged with our {', '.join(result.stood_in)} in place of theirs")
    return "; ".join(parts)


def _line(text: str, most: int) -> str:
    """Text of any origin as one line without control characters, cut to `most`.

    >>> _line("two\\nlines\\x1b[31m", 50)
    'two lines[31m'
    """
    clean = "".join(c for c in re.sub(r"\s+", " ", text) if c.isprintable()).strip()
    return clean if len(clean) <= most else clean[: most - 1] + "…"
