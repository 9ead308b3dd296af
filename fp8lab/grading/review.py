"""Flags for review: what an instructor should look at, each with its evidence. No flag changes a mark.

uses        an answer names fp8lab's own functions, which do the exercise
reaches     an answer names what lets code get at the process that runs it
alike       learners agree beyond chance, see `similar`
same_file   learners handed in the same file, byte for byte
checks      check cells are not as they were handed out; the grader does not use them
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fp8lab.course.text import Text
from fp8lab.grading.remarks import some
from fp8lab.grading.similar import Alike, Shared, alike
from fp8lab.grading.verdict import Entry

KINDS = {
    "same_file": Text("the same file", "文件相同"),
    "alike": Text("identical answers", "答案相同"),
    "reaches": Text("reaches beyond the exercise", "触及练习以外"),
    "uses": Text("calls fp8lab's own functions", "调用了 fp8lab 自带的函数"),
    "checks": Text("edited check cells", "检查单元格有改动"),
}
LEVELS = {
    "text": Text("the same text", "文本相同"),
    "form": Text("the same but for names and layout", "除变量名和排版外相同"),
}
SAME_FILE = Text("Handed in the same file, byte for byte.", "提交的文件逐字节相同。")
USES = Text("{key} names {names}", "{key} 中出现 {names}")
CHECKS = Text(
    "The cells are not as handed out. Marks do not depend on them.", "单元格与下发的不一致。评分不依赖这些单元格。"
)
SHARED = Text("{key}: {level} ({size} nodes)", "{key}：{level}（{size} 个语法节点）")
SHARED_BY = Text(
    "{key}: {level} ({size} nodes; {who})", "{key}：{level}（{size} 个语法节点；{who}）"
)  # when not all of the group share it
UNTOUCHED = ("not_attempted", "missing")


@dataclass(frozen=True)
class Flag:
    """One thing to look at. `keys`: the exercises that it is about; `evidence`: what was seen, not what it means."""

    kind: str
    learners: tuple[str, ...]
    lesson: str
    keys: tuple[str, ...]
    evidence: tuple[Text, ...]


def flags(entries: Sequence[Entry]) -> list[Flag]:
    """All flags of a class, in the order of KINDS."""
    found = [*_same_files(entries), *map(_alike, alike(entries)), *_names(entries), *_checks(entries)]
    order = list(KINDS)
    return sorted(found, key=lambda flag: order.index(flag.kind))


def _same_files(entries: Iterable[Entry]) -> list[Flag]:
    """Equal files of different learners, unless there is nothing of theirs in them."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.content and any(mark.verdict not in UNTOUCHED for mark in entry.report.marks):
            groups[entry.content].append(entry)
    found = []
    for group in groups.values():
        learners = tuple(dict.fromkeys(entry.student for entry in group))
        if len(learners) > 1:
            keys = tuple(mark.key for mark in group[0].report.marks if mark.verdict not in UNTOUCHED)
            found.append(Flag("same_file", learners, group[0].report.lesson, keys, (SAME_FILE,)))
    return found


def _alike(group: Alike) -> Flag:
    lessons = dict.fromkeys(shared.lesson for shared in group.shared)
    keys = tuple(dict.fromkeys(shared.key for shared in group.shared))
    evidence = tuple(_evidence(shared, group) for shared in group.shared)
    return Flag("alike", group.learners, ", ".join(lessons), keys, evidence)


def _evidence(shared: Shared, group: Alike) -> Text:
    level = LEVELS[shared.level]
    pattern = SHARED if shared.learners == group.learners else SHARED_BY
    return Text(
        *(
            pattern.get(lang).format(key=shared.key, level=level.get(lang), size=shared.size, who=some(shared.learners))
            for lang in ("en", "zh")
        )
    )


def _names(entries: Iterable[Entry]) -> list[Flag]:
    """Per learner and lesson: names that an answer has no need of."""
    found = []
    for entry in entries:
        for kind in ("uses", "reaches"):
            named = {
                mark.key: names
                for mark in entry.report.marks
                if (names := [name for name in mark.uses if _is_ours(name) == (kind == "uses")])
            }
            if named:
                evidence = tuple(USES.format(key=key, names=", ".join(names)) for key, names in named.items())
                found.append(Flag(kind, (entry.student,), entry.report.lesson, tuple(named), evidence))
    return found


def _is_ours(name: str) -> bool:
    return name == "fp8lab" or name.startswith("fp8lab.")


def _checks(entries: Iterable[Entry]) -> list[Flag]:
    return [
        Flag("checks", (entry.student,), entry.report.lesson, entry.report.edited, (CHECKS,))
        for entry in entries
        if entry.report.edited
    ]


def flag_rows(found: Iterable[Flag]) -> list[tuple[str, ...]]:
    """The rows of review.csv: flag, learners, lesson, exercises, evidence."""
    return [
        (
            KINDS[flag.kind].en,
            "; ".join(flag.learners),
            flag.lesson,
            ", ".join(flag.keys),
            "; ".join(text.en for text in flag.evidence),
        )
        for flag in found
    ]
