"""`check`: what a learner calls under an exercise. Checks, hints, worked answers, progress.

check("1.4", decode_byte)     the verdict on the learner's object
check.hint("1.4")             the next hint
check.solution("1.4")         the worked answer, after a first try
check.demo("1.5", lambda: …)  run what needs an exercise; one calm line while it is not done
check.progress()              the map of lessons
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fp8lab.course.drive import STUB_MESSAGE, Drive, NotHere, gather
from fp8lab.course.exercise import Exercise, Result, judge
from fp8lab.course.feedback import MARKS, Feedback, feedback
from fp8lab.course.gate import WARNED, refused_in
from fp8lab.course.progress import Progress, progress_path, summary
from fp8lab.course.registry import exercise, lesson_exercises, lesson_of
from fp8lab.course.text import Text, known_language
from fp8lab.course.unrun import watch

LEARNER_SEED = 0  # the learner's check is reproducible; the grader draws its own


class Note(str):
    """Text that shows itself as Markdown in a notebook and as plain text elsewhere."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return str(self)


class Check:
    """The object behind the name `check` in a notebook. One per lesson and language; see the module's text."""

    def __init__(self, lang: str, progress: Progress) -> None:
        self.lang = known_language(lang)
        self._progress = progress

    def __call__(self, key: str, answer: Any) -> Feedback:
        """Drive `answer` and say what is right or what kind of mistake it shows.

        Raises ValueError for an unknown key; under nbgrader also AssertionError for any answer that is not right,
        since an exception is all that nbgrader counts.
        """
        found = exercise(key)
        result = verdict(found, answer, LEARNER_SEED)
        if result.state not in ("not_attempted", "blocked"):
            self._progress.checked(key, result.state == "right")
        shown = _warned(feedback(found, result, self.lang), answer)
        if os.environ.get("NBGRADER_EXECUTION") and result.state != "right":
            raise AssertionError(repr(shown))
        return shown

    def hint(self, key: str) -> Note:
        """The next hint of exercise `key`; after the last one, all of them again."""
        hints = exercise(key).hints
        shown = min(self._progress[key].hints + 1, len(hints))
        self._progress.hinted(key, shown)
        label = Text("Hint {n} of {all}", "提示 {n}/{all}")
        lines = [
            f"**{label.format(n=n, all=len(hints)).get(self.lang)}** {h.get(self.lang)}"
            for n, h in enumerate(hints[:shown], 1)
        ]
        return Note("\n\n".join(lines))

    def solution(self, key: str) -> Note:
        """The worked answer of exercise `key`, once it has been tried."""
        from fp8lab.course.source import packaged

        exercise(key)  # an unknown key says so
        if not self._progress[key].tries:
            return Note(
                Text(
                    "Try {key} once first: write something in the hole, run its check, then come back.",
                    "先自己试一次 {key}：在空白处写点什么，运行检查，然后再来看答案。",
                )
                .format(key=key)
                .get(self.lang)
            )
        code, prose = packaged(lesson_of(key)).worked_answer(key, self.lang)
        return Note(f"```python\n{code}\n```\n\n{prose}")

    def demo(self, key: str, show: Callable[[], Any]) -> Any:
        """What `show()` returns; while an exercise that it needs is untouched or raises, a short word that names it.

        The exercise may be another one than `key`, when that one rests on it.
        """
        try:
            return show()
        except NotHere as problem:
            return Note(f"⧗ {problem.reason.get(self.lang)}")
        except Exception as problem:
            found = STUB_MESSAGE.match(str(problem)) if isinstance(problem, NotImplementedError) else None
            if found is None:
                return self._cannot_show(key, problem)
            waiting = Text("⧗ This appears when exercise {key} is done.", "⧗ 完成练习 {key} 后，这里会显示结果。")
            return Note(waiting.format(key=found[1]).get(self.lang))

    def _cannot_show(self, key: str, problem: Exception) -> Feedback | Note:
        """What a check says of an exercise that raises; when a demo stumbled over what exercises returned, a line."""

        def again(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
            raise problem

        names = {e.name: e.key for e in lesson_exercises(lesson_of(key))}
        evidence = gather(Drive(key, "", lambda seed: {}, again, names), None, LEARNER_SEED)
        if evidence.blocked_by:
            result = Result(evidence.blocked_by, "error", error=evidence.error)
            return feedback(exercise(result.key), result, self.lang)
        stumbled = Text(
            "{mark} What exercise {key} gives cannot be shown here: `{problem}`. Its check says more.",
            "{mark} 练习 {key} 的结果在这里无法显示：`{problem}`。它的检查会说明原因。",
        )
        said = f"{type(problem).__name__}: {evidence.error.message if evidence.error else ''}".split("\n")[0]
        return Note(stumbled.format(mark=MARKS["error"], key=key, problem=said.strip(" :")).get(self.lang))

    def progress(self) -> Note:
        """Every lesson with its exercises and what is right so far."""
        return Note(f"```text\n{summary(self._progress, self.lang)}\n```")


def _warned(shown: Feedback, answer: Any) -> Feedback:
    """With a word about what the grader would not run."""
    refused = refused_in(answer) if shown.state == "right" else ()
    if not refused:
        return shown
    line = WARNED.format(names=", ".join(f"`{name}`" for name in refused)).get(shown.lang)
    return replace(shown, lines=(*shown.lines, line))


def verdict(found: Exercise, answer: Any, seed: int) -> Result:
    """Drive and judge. When the answer rests on other exercises and fails, it is driven once more with their references
    in the place of the learner's: an exercise answers for its own hole only."""
    result = judge(found, gather(found.drive, answer, seed), seed)
    if result.state in ("right", "not_attempted") or not found.requires or _is_blocked(result, found, answer, seed):
        return result
    references = {name: exercise(key).reference for name, key in found.requires.items()}
    alone = judge(found, gather(found.drive, answer, seed, replace=references), seed)
    if alone.state != "right":
        return alone if result.state == "blocked" else result  # the one that raised is right: it was called wrongly
    faulty = tuple(key for name, key in found.requires.items() if not _own_is_right(answer, name, key, seed))
    return Result(alone.key, alone.state, alone.points, stood_in=faulty or tuple(found.requires.values()))


def _is_blocked(result: Result, found: Exercise, answer: Any, seed: int) -> bool:
    """Whether the exercise that is said to block fails by itself. One that only raised because of what a third, wrong
    one handed to it does not block."""
    names = [name for name, key in found.requires.items() if key == result.blocked_by]
    return result.state == "blocked" and not (names and _own_is_right(answer, names[0], result.blocked_by, seed))


def _own_is_right(answer: Any, name: str, key: str, seed: int) -> bool:
    """Whether the object that the answer calls by `name` passes its own exercise."""
    owner = getattr(answer, "__globals__", {})
    if name not in owner:
        return True
    needed = exercise(key)
    return judge(needed, gather(needed.drive, owner[name], seed), seed).state == "right"


def start(lesson: str, lang: str) -> Check:
    """Open a lesson: print one line about the machine, and return its `check`. The setup cell's last line calls it."""
    lesson_exercises(lesson)  # a lesson that is not installed says so here, not at the first check
    print(environment_line(known_language(lang)))
    watch(lesson, lang)
    return Check(lang, Progress(progress_path()))


def environment_line(lang: str) -> str:
    """Versions, device, language: the line to paste into a bug report."""
    import torch

    import fp8lab

    device = Text("CPU", "CPU").get(lang)
    if torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability()
        native = (
            Text("native FP8", "原生支持 FP8")
            if (major, minor) >= (8, 9)
            else Text("FP8 through the codec", "FP8 由软件编解码")
        )
        device = f"{torch.cuda.get_device_name()} (sm_{major}{minor}, {native.get(lang)})"
    versions = f"fp8lab {fp8lab.__version__} · Python {platform.python_version()} · torch {torch.__version__}"
    return f"{versions} · {device} · {Text('English', '中文').get(lang)}"
