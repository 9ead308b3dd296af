"""`fp8lab doctor`: what this machine has, what it lacks, and how to get it (the probes are in `fp8lab.machine`).

Exit code 0 when everything that the lessons need is there, else 1; with --strict, what only graders, authors or later
lessons need counts too.
"""

from __future__ import annotations

import argparse
import json
import os
import unicodedata
from dataclasses import asdict

from fp8lab.course.text import LANGUAGES, Text, preferred_language
from fp8lab.machine import Finding, examine

TITLES = {
    "versions": Text("Versions", "版本"),
    "device": Text("Device", "设备"),
    "fp8": Text("FP8 as probed", "FP8 实测"),
    "tools": Text("Tools", "工具"),
}
GRADING = ("nbval", "bubblewrap")  # optional for learners; `fp8lab grade` stops without them
MARKS = {"ok": "✓", "missing": "✗", "note": "·"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `fp8lab doctor`."""
    default = preferred_language(os.environ)
    parser.add_argument("--lang", choices=LANGUAGES, default=default, help="language of the report (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--strict", action="store_true", help="exit with 1 for missing optional things too")


def run(args: argparse.Namespace) -> int:
    """Print the report; 0 when nothing needed is missing, else 1."""
    findings = examine(args.lang)
    missing = [f for f in findings if f.state == "missing" and (f.required or args.strict)]
    if args.json:
        print(json.dumps([asdict(f) for f in findings], indent=1, ensure_ascii=False))
    else:
        print(render(findings, args.lang))
    return 1 if missing else 0


def render(findings: list[Finding], lang: str) -> str:
    """The report as text: a block per group, and closing lines: whether the lessons can run, what grading needs."""
    lines = []
    for group, title in TITLES.items():
        mine = [f for f in findings if f.group == group]
        if not mine:
            continue
        lines.append(title.get(lang))
        width = max(columns(f.name) for f in mine)
        for f in mine:
            mark = "!" if f.state == "missing" and not f.required else MARKS[f.state]
            lines.append(f"  {mark} {f.name}{' ' * (width - columns(f.name))}  {f.value}")
            if f.state == "missing" and f.advice:
                lines.append(f"    → {f.advice}")
    broken = [f.name for f in findings if f.state == "missing" and f.required]
    optional = [f.name for f in findings if f.state == "missing" and not f.required and f.name not in GRADING]
    grading = ", ".join(f.name for f in findings if f.state == "missing" and f.name in GRADING)
    lines.append("")
    if broken:
        lines.append(Text("Not ready: {names}.", "尚未就绪：{names}。").format(names=", ".join(broken)).get(lang))
    else:
        lines.append(Text("Ready: every lesson can run.", "已就绪：所有课程都可以运行。").get(lang))
    if grading:
        needs = Text("Grading needs {names}: see → above.", "评分还需要 {names}：见上面的 →。")
        lines.append(needs.format(names=grading).get(lang))
    if optional:
        names = ", ".join(optional)
        lines.append(Text("Optional, not here: {names}.", "可选项，尚缺：{names}。").format(names=names).get(lang))
    return "\n".join(lines)


def columns(text: str) -> int:
    """How many columns of a terminal `text` takes: a Chinese character takes two.

    >>> columns("FP8"), columns("尺度")
    (3, 4)
    """
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
