"""A verdict as words: the few lines that a learner reads under a check cell, as text and as HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass

from fp8lab.course.compare import Difference
from fp8lab.course.exercise import Exercise, Result
from fp8lab.course.text import Text

HEADINGS = {
    "right": Text("Right.", "正确。"),
    "wrong": Text("Not yet.", "还不对。"),
    "error": Text("Your code raised an error.", "代码抛出了异常。"),
    "not_attempted": Text("Not attempted yet.", "还没有作答。"),
    "blocked": Text("Blocked by {key}.", "先要完成 {key}。"),
    "not_here": Text("This cannot run here: {key} is missing.", "这里无法运行：缺少 {key}。"),
}
MARKS = {"right": "✓", "wrong": "✗", "error": "!", "not_attempted": "○", "blocked": "⧗"}
COLOURS = {"right": "#0b7a52", "wrong": "#b5500c", "error": "#a8323e", "not_attempted": "#6b7280", "blocked": "#6b7280"}

WORDS = {
    "count": Text("{wrong} of {total} values differ; this is the first", "{total} 个值中有 {wrong} 个不同，这是第一个"),
    "exact": Text("What kind of mistake", "错误类型"),
    "partial": Text("Looks like", "看起来像是"),
    "line": Text("line {line}", "第 {line} 行"),
    "stub": Text(
        "Replace the line `raise NotImplementedError(...)` in exercise {key}, run that cell, then run this one again.",
        "把练习 {key} 里的 `raise NotImplementedError(...)` 换成你的代码，先运行那个单元格，再运行这个。",
    ),
    "blocked": Text(
        "This exercise calls what you write in {key}, which is not done or raises an error. Go there first.",
        "这道练习要用到 {key} 的代码，而它还没写完或者会抛出异常。请先完成 {key}。",
    ),
    "hint": Text('Stuck? `check.hint("{key}")`', '卡住了？运行 `check.hint("{key}")`'),
    "stood_in": Text(
        "Judged with a correct {keys} in place of yours, which is still wrong.",
        "你的 {keys} 还不对；这里用正确的版本代替它来判断本题。",
    ),
    "points": Text("{points} points", "{points} 分"),
    "point": Text("1 point", "1 分"),
}
COLON = Text(": ", "：")
WHERE = Text(" ({place})", "（{place}）")
SHAPES = {
    "shape": Text("`{array}` should be `{want}`; yours is `{got}`", "`{array}` 应是 `{want}`，你给出的是 `{got}`"),
    "missing": Text("`{array}` is missing: expected `{want}`", "缺少 `{array}`：应是 `{want}`"),
    "extra": Text("`{array}` was not asked for: `{got}`", "多出了 `{array}`：`{got}`"),
}


@dataclass(frozen=True)
class Feedback:
    """What a check cell shows. In a notebook it shows itself; `.state` is for programs.

    >>> Feedback(state="right", heading="Right.", key="1.1", title="Fields", lines=())
    ✓ 1.1 Fields: Right.
    """

    state: str
    heading: str
    key: str
    title: str
    lines: tuple[str, ...]
    lang: str = "en"

    def __repr__(self) -> str:
        head = f"{MARKS[self.state]} {self.key} {self.title}{COLON.get(self.lang)}{self.heading}"
        return "\n  ".join([head, *self.lines])

    def _repr_html_(self) -> str:
        colour = COLOURS[self.state]
        body = "".join(f'<div style="margin:2px 0 0 1.6em">{inline_code(line)}</div>' for line in self.lines)
        return (
            f'<div style="border-left:4px solid {colour};padding:4px 10px;line-height:1.5">'
            f'<div><b style="color:{colour}">{MARKS[self.state]} {html.escape(self.heading)}</b> '
            f"<span>{self.key} {html.escape(self.title)}</span></div>{body}</div>"
        )


def inline_code(line: str) -> str:
    """HTML of a line in which `backticks` mark code."""
    pieces = html.escape(line).split("`")
    return "".join(f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces))


def feedback(exercise: Exercise, result: Result, lang: str) -> Feedback:
    """The words for a verdict in one language."""
    heading = HEADINGS["not_here" if _not_here(result) else result.state].format(key=result.blocked_by).get(lang)
    lines = tuple(explain(exercise, result, lang))
    return Feedback(result.state, heading, exercise.key, exercise.title.get(lang), lines, lang)


def _not_here(result: Result) -> bool:
    """Whether the machine, not an exercise, is what blocks."""
    return result.state == "blocked" and result.error is not None and result.error.kind == "NotHere"


def explain(exercise: Exercise, result: Result, lang: str) -> list[str]:
    """The lines under the heading; the grader's reports use them too."""

    def say(word: str, **values: object) -> str:
        return WORDS[word].format(**values).get(lang)

    if _not_here(result):
        english, _, chinese = result.error.message.partition(" / ")
        return [chinese if lang == "zh" and chinese else english]
    colon = COLON.get(lang)
    lines = []
    if result.state == "right":
        lines.append(say("point") if exercise.points == 1 else say("points", points=exercise.points))
    if result.state == "not_attempted":
        lines.append(say("stub", key=exercise.key))
    if result.state == "blocked":
        lines.append(say("blocked", key=result.blocked_by))
    if result.difference:
        lines += _difference_lines(result, lang)
    if result.error:
        source = f"{colon}`{result.error.source}`" if result.error.source else ""
        where = WHERE.format(place=say("line", line=result.error.line) + source).get(lang) if result.error.line else ""
        lines.append(f"`{result.error.kind}: {in_language(result.error.message, lang)}`{where}")
    if result.misconception:
        label = say("exact" if result.exact else "partial")
        lines.append(f"{label}{colon}{result.misconception.explain.get(lang)}")
    if result.stood_in:
        lines.append(say("stood_in", keys=", ".join(result.stood_in)))
    if result.state in ("wrong", "error", "not_attempted"):
        lines.append(say("hint", key=exercise.key))
    return lines


def in_language(said: str, lang: str) -> str:
    """What a drive says in both languages at once, in the reader's; anything else as it is.

    >>> in_language("nothing stored / 从未写入", "en"), in_language("448 / 7", "en")
    ('nothing stored', '448 / 7')
    """
    english, _, chinese = said.partition(" / ")
    if not english.isascii() or chinese.isascii():
        return said
    return chinese if lang == "zh" else english


def _difference_lines(result: Result, lang: str) -> list[str]:
    difference: Difference = result.difference
    if difference.kind != "value":
        return [SHAPES[difference.kind].format(**vars(difference)).get(lang)]
    pattern = Text("input {input}: yours `{got}`, expected `{want}`", "输入 {input}：你的结果 `{got}`，应为 `{want}`")
    got, want = (in_language(value, lang) for value in (difference.got, difference.want))
    lines = [pattern.format(input=result.input, got=got, want=want).get(lang)]
    if difference.total > 1:
        lines.append(WORDS["count"].format(wrong=difference.wrong, total=difference.total).get(lang))
    return lines
