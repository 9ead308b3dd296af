"""A verdict as a mark: the instructor's one line in English, the learner's lines in their language."""

from __future__ import annotations

import re

from fp8lab.course.exercise import Exercise, Result
from fp8lab.course.feedback import explain
from fp8lab.course.gate import GATED
from fp8lab.course.text import Text
from fp8lab.grading import NO_TIME
from fp8lab.grading.launch import MEMORY, PROCESSES
from fp8lab.grading.remarks import translated
from fp8lab.grading.run import TOGETHER
from fp8lab.grading.seal import REFUSED
from fp8lab.grading.verdict import FROM_STATE, Mark

MAX_NOTE = 300  # characters
MAX_LINE = 700
MAX_REFUSED = 4  # names in a note

STOPPED = {  # how a kernel was stopped -> verdict, the instructor's words, the learner's
    "timeout": (
        "timeout",
        "took more than {timeout:g} s",
        Text("It ran for more than {timeout:g} s and was stopped.", "运行超过 {timeout:g} 秒，已被中止。"),
    ),
    NO_TIME: (
        "timeout",
        "not finished: the answers of this notebook together took more than {together:g} s",
        Text(
            "It was not finished: the answers of this notebook together took more than {together:g} s.",
            "没有运行完：这份笔记本的答案合计用时超过了 {together:g} 秒。",
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
CLOSED = Text(
    "It uses `{module}`, which answers of this lesson may not use: write the code yourself.",
    "它用到了 `{module}`，本课的答案不能用它：请自己写出代码。",
)
REJECTED = Text("Nothing that could be graded came back: {reason}.", "没有得到可以评分的结果：{reason}。")


def mark(exercise: Exercise, verdict: str, lang: str, note: str) -> Mark:
    """A mark that no comparison led to: missing or rejected, for the reason in `note`."""
    reason = _line(translated(note, lang), MAX_LINE)
    text = MISSING.get(lang) if verdict == "missing" else REJECTED.format(reason=reason).get(lang)
    return _mark(exercise, verdict, lang, note, [text])


def refused_mark(exercise: Exercise, refused: tuple[str, ...], lang: str) -> Mark:
    """An answer that was not run, for what it reaches for (see course.gate)."""
    names = ", ".join(refused[:MAX_REFUSED])
    shown = GATED.format(names=", ".join(f"`{name}`" for name in refused[:MAX_REFUSED]))
    return _mark(exercise, "rejected", lang, f"not run: it uses {names}, which no answer needs", [shown.get(lang)])


def error_mark(exercise: Exercise, message: str, lang: str) -> Mark:
    """An exception outside of the drive, such as a syntax error, in one line."""
    kind, _, said = message.partition(": ")
    closed, ours = _closed(kind, said), translated(message, lang)
    line = f"`{_line(message, MAX_LINE)}`" if ours == message else ours
    return _mark(exercise, "error", lang, message, [*([closed.get(lang)] if closed else []), line])


def _closed(kind: str, message: str) -> Text | None:
    """What to say when an answer was kept from a module of ours."""
    found = REFUSED.fullmatch(message) if kind == "PermissionError" else None
    return CLOSED.format(module=found[1]) if found else None


def stopped_mark(exercise: Exercise, status: str, timeout: float, lang: str) -> Mark:
    """The kernel had to be stopped, or stopped itself."""
    verdict, note, text = STOPPED.get(status, STOPPED["crashed"])
    seconds = {"timeout": timeout, "together": TOGETHER * timeout}
    return _mark(exercise, verdict, lang, note.format(**seconds), [text.format(**seconds).get(lang)])


def result_mark(exercise: Exercise, result: Result, lang: str) -> Mark:
    """The verdict of a comparison."""
    verdict = FROM_STATE[result.state]
    closed = _closed(result.error.kind, result.error.message) if result.error else None
    if verdict == "not_attempted":
        lines = []  # the page says it once for all of them
    else:
        lines = [*([closed.get(lang)] if closed else []), *explain(exercise, result, lang)]
    found = _mark(exercise, verdict, lang, _note(result), lines)
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
