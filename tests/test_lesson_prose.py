"""Prose that can be wrong: one word for one thing in Chinese, and what lesson 10 says of Triton, counts and figures."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
from functools import cache

import pytest
from learner import Desk, lesson_text
from triton_here import needs_triton

from fp8lab.course.holes import find_holes
from fp8lab.course.lessons.l10_gpu import answers, driving
from fp8lab.course.registry import lesson_exercises
from fp8lab.explore import gpu_pictures

LESSONS = ("04_grouped_kv", "05_granularity", "10_gpu")
OTHER_WORDS = {  # what stood for it elsewhere -> the course's word
    "限幅": "钳位",
    "组长": "组大小",
    "分组大小": "组大小",
    "分组尺寸": "组大小",
    "二的幂": "2 的幂",
    "响的通道": "大通道",
    "响通道": "大通道",
    "并进去": "折叠",
    "反缩放": "乘尺度",
    "自然常数": "普遍规律",
}


@cache
def prose(name: str, lang: str) -> str:
    """Every Markdown cell of a lesson in one language."""
    return "\n".join(c.source for c in lesson_text(name).cells if c.kind == "markdown" and c.lang == lang)


def spoken(name: str) -> str:
    """The Chinese that a learner reads in a lesson: its text, its TODO comments, and what its checks say."""
    comments = re.findall(r"# .*", "\n".join(c.source for c in lesson_text(name).cells if c.kind == "code"))
    records = [text.zh for e in lesson_exercises(name) for text in (e.title, *e.hints)]
    records += [m.explain.zh for e in lesson_exercises(name) for m in e.misconceptions]
    return "\n".join([prose(name, "zh"), *comments, *([] if name == "10_gpu" else records)])


@pytest.mark.parametrize("name", LESSONS)
def test_one_word_for_one_thing(name):
    found = {word: instead for word, instead in OTHER_WORDS.items() if word in spoken(name)}
    assert not found


def test_dequantize_is_introduced_once_and_called_by_its_short_name_afterwards():
    assert [spoken(name).count("反量化") for name in LESSONS] == [1, 0, 1]


def test_a_value_beyond_the_grid_is_clamped_and_a_fraction_is_truncated():
    """Chinese has one habitual word, 截断, for both; here it is kept for the fraction."""
    for name in ("04_grouped_kv", "05_granularity"):
        for line in spoken(name).split("\n"):
            assert "截断" not in line or re.search("舍入|小数|零收缩", line), line


@pytest.mark.parametrize("name", LESSONS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_check_calls_an_exercise_as_its_heading_does(name, lang):
    headings = dict(re.findall(r"^## (\d+\.\d+) (?!to |到 )(.*)", prose(name, lang), flags=re.M))
    titles = {found.key: found.title.get(lang) for found in lesson_exercises(name)}
    assert len(headings) >= 3 and headings.items() <= titles.items()


# ---- lesson 10: Triton before the first exercise


def holes_of(name: str) -> dict[str, str]:
    """What the reference writes into the holes of each exercise."""
    found: dict[str, str] = {}
    for cell in lesson_text(name).cells:
        if cell.role == "exercise":
            lines = cell.source.split("\n")
            for hole in find_holes(cell.source)[0]:
                found[hole.key] = found.get(hole.key, "") + "\n".join(lines[hole.begin : hole.end + 1]) + "\n"
    return found


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_word_of_triton_that_a_hole_needs_stands_in_the_text_before_it(lang):
    text = prose("10_gpu", lang)
    for key, solved in holes_of("10_gpu").items():
        before = text[: text.index("## ", text.index(f"## {key} ") + 3)]
        words = set(re.findall(r"tl\.\w+", solved)) - {"tl.uint8"}
        assert not {word for word in words if word not in before}, key
        if "[:, None]" in solved:
            assert "x[:, None]" in before
        if "] & " in solved or ") & (" in solved:
            assert "`(lane < GROUP) & (column < width)`" in before


@pytest.mark.parametrize("lang, words", [("en", "Three device functions"), ("zh", "三个设备函数")])
def test_as_many_device_functions_as_the_text_says(lang, words):
    given = next(c.source for c in lesson_text("10_gpu").cells if "def to_code" in c.source)
    names = [node.name for node in ast.parse(given).body if isinstance(node, ast.FunctionDef)]
    section = prose("10_gpu", lang).split("## 10.2 ")[1].split("## ")[0]
    assert words in section and re.findall(r"^- `(\w+)`", section, flags=re.M) == names and len(names) == 3


@pytest.mark.parametrize("lang, count", [("en", "Seven operations"), ("zh", "七个操作")])
def test_as_many_operations_as_the_picture_shows(lang, count):
    opening = next(c.source for c in lesson_text("10_gpu").cells if c.lang == lang)
    listed = re.search(count + r".*?[:：](.*?)[.。]", opening, flags=re.S)[1]
    assert len(re.split("[,、]", listed)) == len(gpu_pictures.traffic()) == 7


@needs_triton
def test_the_first_kernel_leaves_alone_what_its_mask_turns_off():
    cell = next(c.source for c in lesson_text("10_gpu").cells if "def double_kernel" in c.source)
    desk = Desk("10_gpu")
    names = desk.globals | {"check": type("Now", (), {"demo": staticmethod(lambda key, show: show())})}
    with contextlib.redirect_stdout(io.StringIO()) as said:
        desk._run(cell, names)
    assert ast.literal_eval(said.getvalue()) == [*range(0, 20, 2), -1, -1]


INTERPRETER = """
import os
os.environ["TRITON_INTERPRET"] = "1"
import torch, triton, triton.language as tl


@triton.jit
def by_and(out_ptr):
    lane = tl.arange(0, 8)
    tl.store(out_ptr + lane, 1, mask=(lane < 2) and (lane < 4))


@triton.jit
def without_brackets(out_ptr, GROUP: tl.constexpr):
    lane = tl.arange(0, 8)
    tl.store(out_ptr + lane, 1, mask=lane < GROUP & lane < 4)


both = torch.zeros(2, 8, dtype=torch.int32)
by_and[(1,)](both[0])
del os.environ["TRITON_INTERPRET"]
without_brackets[(1,)](both[1], GROUP=7)  # decorated under the switch, so interpreted, whatever it says now
compiled = triton.jit(by_and.fn)
print(both.sum(1).tolist(), type(by_and).__name__, type(tl.max).__name__, type(compiled).__name__)
"""


@needs_triton
def test_what_the_text_says_of_the_switch_and_of_and(tmp_path):
    """The switch is read by the decorator; `and`, and a chain without brackets, lose their first condition."""
    (tmp_path / "told.py").write_text(INTERPRETER)
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"} | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "told.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "[4, 4] InterpretedFunction InterpretedFunction JITFunction\n", done.stderr[-2000:]
    for lang in ("en", "zh"):
        switch = prose("10_gpu", lang).split("## ")[0]
        assert "`@triton.jit`" in switch and "`tl.max`" in switch


# ---- lesson 10: figures

QUOTED_MICROSECONDS = 6.0  # sglang#19103, 1024 x 32 x 128 on an H200
IMPOSSIBLE_MICROSECONDS = 5  # on the card of the example, and no time that is quoted
PER_TENSOR = 2 * 1024 * 32 * 128 * 3 + 8 * 1024  # bf16 in, a byte out, slots; its two scales are given


def test_why_the_quoted_share_is_not_that_of_our_bytes():
    ours = answers.roofline(1024, 32, 128, 64, 1.0, 1.0, 1.0)[0]
    for moved, megabytes, share in ((PER_TENSOR, "25.17", "87 %"), (ours, "25.70", "89 %")):
        assert f"{moved / 1e6:.2f}" == megabytes
        assert f"{100 * moved / gpu_pictures.H200 / QUOTED_MICROSECONDS:.0f} %" == share
        for lang in ("en", "zh"):
            assert megabytes in prose("10_gpu", lang) and share in prose("10_gpu", lang)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_example_of_10_7_is_the_first_case_of_its_check(lang):
    case = driving.bytes_inputs(0)["cases"][0]
    *_, taken, copied, copy_taken = case
    _, floor, fraction = answers.roofline(*case)
    section = prose("10_gpu", lang).split("## 10.7 ")[1].split("## ")[0]
    assert copied == 2**30 and f"{copy_taken:.0f} µs" in section and f"{taken:.1f} µs" in section
    assert f"{2 * copied / copy_taken / 1e6:.2f} TB" in section
    assert f"{floor:.1f} µs" in section and f"{fraction:.0%}".replace("%", " %") in section
    claimed = re.search(r"claims (\d+) µs|只用了 (\d+) µs", section)
    assert claimed and int(claimed[1] or claimed[2]) == IMPOSSIBLE_MICROSECONDS < min(floor, QUOTED_MICROSECONDS)
