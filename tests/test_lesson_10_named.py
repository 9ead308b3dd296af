"""Lesson 10: mistakes that once passed, or passed for another one, written as learners wrote them, and their names."""

from __future__ import annotations

import re

import pytest
import torch
from learner import ROOT, Desk
from right_lesson_10 import RIGHT, TOLD_OF_ONE_PROGRAM
from triton_here import needs_triton

from fp8lab.codec import decode
from fp8lab.course.feedback import feedback
from fp8lab.course.holes import find_holes
from fp8lab.course.lessons.l10_gpu import driving
from fp8lab.course.registry import exercise, lesson_exercises
from fp8lab.course.text import LANGUAGES

REAL = "real = (lane < GROUP) & (column < width)\n"
BARE = "tl.load(x_ptr + row * row_stride + column)"
LOAD = f"x = {BARE[:-1]}, mask=real, other=0.0)"
SCALE = "scale = tl.where(absmax == 0.0, 1.0, divide(absmax, 448.0))\n"
STORED = (
    "tl.store(codes_ptr + (row * groups + group) * GROUP + lane, codes)\n"
    "tl.store(scales_ptr + row * groups + group, scale)"
)
INVERSE = "scale = tl.where(absmax == 0.0, 1.0, divide(448.0, absmax))\n"
CODES = "codes = to_code(divide(x, scale))\n"
READ = "codes = tl.load(codes_ptr + row * width + column, mask=real, other=0)\n"
PRODUCT = "tl.store(out_ptr + row * width + column, to_value(codes) * scale, mask=real)"
PAGE = (
    "block, place = slot // block_size, slot % block_size\n"
    "code = block * code_block_stride + place * code_place_stride + head * width + column\n"
    "where = block * scale_block_stride + place * scale_place_stride + head * groups + group\n"
    "tl.store(codes_ptr + code, codes, mask=real & (slot >= 0))\ntl.store(scales_ptr + where, scale, mask=slot >= 0)"
)
SCORE = 'score = tl.where(real, tl.sum(q[None, :] * k, 1) * softmax_scale, float("-inf"))\n'
STEP = SCORE + (
    "new_peak = tl.maximum(peak, tl.max(score))\n"
    "weight, shrink = tl.exp(score - new_peak), tl.exp(peak - new_peak)\ntotal = total * shrink + tl.sum(weight)\n"
    "acc = acc * shrink + tl.sum(weight[:, None] * v, 0)\npeak = new_peak"
)
BYTES = (
    "moved = 2 * tokens * kv_heads * (3 * head_dim + 4 * -(-head_dim // group_size)) + 8 * tokens\n"
    "floor = moved / (2 * copied / copy_microseconds)\nreturn moved, floor, floor / microseconds"
)
NORMAL = "normal = ((magnitude + 0x7FFFF + ((magnitude >> 20) & 1)) >> 20) - 960\n"
SUBNORMAL = "subnormal = (size + 16384.0).to(tl.uint32, bitcast=True) - 0x46800000"
CHOSEN = "code = tl.where(magnitude < 0x3C800000, subnormal, normal)\n"
SATURATED = "code = tl.where(magnitude >= 0x43E00000, 0x7E, code)\n"


def absmax_at(place: str) -> str:
    x = "tl.load(x_ptr + row * row_stride + group * GROUP + lane)"
    return f"tl.store(absmax_ptr + {place}, tl.max(tl.abs({x})))"


NAMED = [
    ("10.1", "results with the stride of x", absmax_at("row * row_stride + group")),
    ("10.1", "one result per row, with the stride of x", absmax_at("row * row_stride")),
    ("10.1", "results with the stride of x", absmax_at("row * GROUP + group")),
    ("10.2", "plain division", "scale = tl.where(absmax == 0.0, 1.0, absmax / 448.0)\n"
     "codes = to_code(x / scale)\n" + STORED),
    ("10.2", "scale by plain division", "scale = tl.where(absmax == 0.0, 1.0, absmax / 448)\n"
     "codes = to_code(divide(x, scale))\n" + STORED),
    ("10.2", "codes by plain division", SCALE + "codes = to_code(x / scale)\n" + STORED),
    ("10.2", "codes by plain division", SCALE + "codes = to_code(tl.fdiv(x, scale + 0 * x))\n" + STORED),
    ("10.2", "scale inverted", INVERSE + "codes = to_code(x * scale)\n" + STORED),
    ("10.2", "inverse, then divided", INVERSE + CODES + STORED),
    ("10.2", "absmax for scale", "scale = tl.where(absmax == 0.0, 1.0, absmax)\n" + CODES + STORED),
    ("10.2", "codes without their group", SCALE + CODES + STORED.replace("(row * groups + group)", "row * groups")),
    ("10.2", "a group of zeros", "scale = tl.where(absmax == 0.0, 0.0, divide(absmax, 448.0))\n" + CODES + STORED),
    ("10.2", "scale 0 for zeros", "scale = divide(absmax, 448.0)\n"
     "codes = to_code(tl.where(absmax == 0.0, 0.0, divide(x, scale)))\n" + STORED),
    ("10.3", "or for and", {0: REAL.replace("&", "|") + LOAD}),
    ("10.3", "codes with the stride of x", {1: "tl.store(codes_ptr + row * row_stride + column, codes, mask=real)"}),
    ("10.3", "store past the group", {1: "tl.store(codes_ptr + row * width + column, codes, mask=column < width)"}),
    ("10.3", "hidden after the load", {0: REAL + f"x = tl.where(real, {BARE}, 0.0)"}),
    ("10.3", "without other", {0: REAL + f"x = {BARE[:-1]}, mask=real)"}),
    ("10.3", "end of the row alone", {0: "real = (lane < GROUP) and (column < width)\n" + LOAD}),
    ("10.3", "end of the row alone", {0: "real = column < width\n" + LOAD}),
    ("10.3", "end of the group alone", {0: "real = lane < GROUP\n" + LOAD}),
    ("10.3", "end of the group alone", {0: "real = (column < width) and (lane < GROUP)\n" + LOAD}),
    ("10.3", "no mask at all", {0: "real = lane < GROUP & column < width\n" + LOAD}),
    ("10.4", "load without a mask", READ + "scale = tl.load(scales_ptr + row * groups + column // GROUP)\n" + PRODUCT),
    ("10.4", "load without a mask", READ.replace(", mask=real, other=0", "")
     + "scale = tl.load(scales_ptr + row * groups + column // GROUP, mask=real, other=1.0)\n" + PRODUCT),
    ("10.5", "neighbour group written", PAGE.replace("real &", "(column < width) &")),
    ("10.5", "only the slot asked", PAGE.replace("real & (slot >= 0)", "real and slot >= 0")),
    ("10.5", "tail of the head written", PAGE.replace("real &", "(lane < GROUP) &")),
    ("10.5", "scales by groups alone", PAGE.replace("head * groups + group", "group")),
    ("10.5", "scale blocks follow each other", PAGE.replace(
        "block * scale_block_stride + place * scale_place_stride", "slot * scale_place_stride")),
    ("10.5", "no strides", "place = slot * heads + head\n"
     "tl.store(codes_ptr + place * width + column, codes, mask=real & (slot >= 0))\n"
     "tl.store(scales_ptr + place * groups + group, scale, mask=slot >= 0)"),
    ("10.5", "no strides", PAGE.replace(
        "block * code_block_stride + place * code_place_stride + head * width", "(slot * heads + head) * width")),
    ("10.6", "merged on the first peak", {1: "weight = tl.exp(peaks - tl.sum(tl.where(split == 0, peaks, 0.0)))\n"
     "out = tl.sum(accs * weight[:, None], 0) / tl.sum(sums * weight)"}),
    ("10.6", "first peak kept", {0: STEP.replace("tl.maximum(peak, tl.max(score))",
     "tl.where(peak == float('-inf'), tl.max(score), peak)")}),
    ("10.6", "divided in every step", {0: STEP.replace("\npeak =", "\nacc = acc / total\npeak =")}),
    ("10.6", "a fraction of a token", {2: "per_split = length / splits"}),
    ("10.6", "one split reads all", {2: "per_split = length"}),
    ("10.6", "peak never updated", {0: SCORE + "weight = tl.exp(score)\ntotal += tl.sum(weight)\n"
     "acc += tl.sum(weight[:, None] * v, 0)"}),
    ("10.6", "peak never updated", {0: SCORE + "new_peak = tl.maximum(peak, tl.max(score))\n"
     "weight, shrink = tl.exp(score - new_peak), tl.exp(peak - new_peak)\ntotal = total * shrink + tl.sum(weight)\n"
     "acc = acc * shrink + tl.sum(weight[:, None] * v, 0)"}),
    ("10.6", "shrink upside down", {0: SCORE + "new_peak = tl.maximum(peak, tl.max(score))\n"
     "weight, shrink = tl.exp(score - new_peak), tl.exp(new_peak - peak)\ntotal = total * shrink + tl.sum(weight)\n"
     "acc = acc * shrink + tl.sum(weight[:, None] * v, 0)\npeak = new_peak"}),
    ("10.7", "values alone", "moved = 2 * tokens * kv_heads * 3 * head_dim\n"
     "floor = moved / (2 * copied / copy_microseconds)\nreturn moved, floor, floor / microseconds"),
    ("10.7", "scales forgotten", "moved = 2 * tokens * kv_heads * 3 * head_dim + 8 * tokens\n"
     "floor = moved / (2 * copied / copy_microseconds)\nreturn moved, floor, floor / microseconds"),
    ("10.7", "int32 slots", BYTES.replace("8 * tokens", "4 * tokens")),
    ("10.7", "per cent", BYTES.replace("floor / micro", "100 * floor / micro")),
    ("10.7", "fraction cut off at 1", BYTES.replace("floor / microseconds", "min(1.0, floor / microseconds)")),
    ("10.8", "sum before the and", {0: NORMAL.replace("((magnitude >> 20) & 1)", "(magnitude >> 20) & 1") + SUBNORMAL}),
    ("10.8", "truncation everywhere", {0: "normal = (magnitude >> 20) - 960\n"
     "subnormal = (size * 512.0).to(tl.uint32)"}),
    ("10.8", "bias not moved", {0: NORMAL.replace(" - 960", "") + SUBNORMAL}),
    ("10.8", "bias in the mantissa's place", {0: NORMAL.replace("960", "120") + SUBNORMAL}),
    ("10.8", "subnormals half up", {0: NORMAL + "subnormal = (size * 512 + 0.5).to(tl.uint32)"}),
    ("10.8", "infinity is NaN", {1: CHOSEN + SATURATED + "code = tl.where(magnitude >= 0x7F800000, 0x7F, code)"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def desk():
    return Desk("10_gpu")


@needs_triton
@pytest.mark.skipif(torch.cuda.is_available(), reason="on a card, what is undefined is not what the check makes of it")
@pytest.mark.parametrize("key, name, filling", NAMED, ids=[f"{key} {name}" for key, name, _ in NAMED])
def test_the_mistake_is_refused_and_named(desk, key, name, filling):
    for seed in (0, 2**40 + 7):
        result = desk.judged(key, filling, seed=seed)
        assert (result.state, result.points) == ("wrong", 0), result
        assert result.misconception and result.misconception.name == name, result


@needs_triton
def test_a_given_function_does_not_do_the_exercise(desk):
    for filling in ("return to_code(x)", "return encode_bits(x, MANTISSA=3, BIAS=7, MAX_CODE=0x7E, NAN_CODE=0x7F)"):
        result = desk.judged("10.8", {0: filling})
        assert result.state == "wrong" and result.misconception.name == "a given function called", result


@needs_triton
@pytest.mark.parametrize("key, name", [(key, name) for key, fillings in RIGHT.items() for name in fillings])
def test_other_styles_are_right(desk, key, name):
    if torch.cuda.is_available() and (key, name) in TOLD_OF_ONE_PROGRAM:
        pytest.skip("on a card, program 0 is told that it is alone")
    for seed in (0, 4711, 2**63 - 9):
        result = desk.judged(key, RIGHT[key][name], seed=seed)
        assert result.state == "right", feedback(exercise(key), result, "en")


@needs_triton
@pytest.mark.skipif(torch.cuda.is_available(), reason="compiled code has it")
def test_a_function_that_only_compiled_code_has_is_called_that(desk):
    answer = SCALE + "codes = to_code(tl.extra.cuda.libdevice.div_rn(x, scale + tl.zeros_like(x)))\n" + STORED
    result = desk.judged("10.2", answer)
    said = {lang: repr(feedback(exercise("10.2"), result, lang)) for lang in LANGUAGES}
    assert result.state == "error" and "interpreter cannot call it" in said["en"] and "解释器" not in said["en"], said
    assert "解释器无法调用它" in said["zh"] and "cannot call" not in said["zh"], said


# ---- holes that are left


def holes(desk, key):
    return [hole.stub.strip() for hole in find_holes(desk.lesson.exercise_cell(key).source)[0] if hole.key == key]


@needs_triton
@pytest.mark.parametrize("key", ["10.3", "10.6", "10.8"])
def test_of_several_holes_the_check_names_the_one_that_is_left(desk, key):
    stubs = holes(desk, key)
    assert len(stubs) > 1
    for left, stub in enumerate(stubs):
        result = desk.judged(key, {left: stub})
        assert result.state == "error" and result.points == 0
        said = {lang: repr(feedback(exercise(key), result, lang)) for lang in LANGUAGES}
        assert f"1 of {len(stubs)} holes still empty: {stub}`" in said["en"], said
        assert f"{len(stubs)} 处空白中还有 1 处没有填：{stub}`" in said["zh"] and "empty" not in said["zh"], said
    if len(stubs) > 2:
        result = desk.judged(key, {0: stubs[0], 1: stubs[1]})
        assert result.error.message.startswith(f"2 of {len(stubs)} holes still empty: {stubs[0]}")
    assert desk.judged(key, dict(enumerate(stubs))).state == "not_attempted"


# ---- what is shown


@needs_triton
@pytest.mark.parametrize("found", lesson_exercises("10_gpu"), ids=lambda e: e.key)
def test_what_follows_the_word_input_begins_with_an_input(found):
    """`input x[1, 30] = -0.5 → codes[1, 30]: yours ...`: the output stands behind the arrow."""
    from fp8lab.course.check import verdict

    given = {"10.1": "x", "10.2": "x", "10.3": "x", "10.4": "codes", "10.5": "slots", "10.7": "tokens=", "10.8": "x"}
    for mistake in found.misconceptions:
        result = verdict(found, mistake.answer, 0)
        if result.state == "wrong" and result.difference.index:
            before, output = result.input.split(" → ")
            assert before.startswith(given.get(found.key, "")) and output, result.input
            assert found.key != "10.6" or re.match(r"\d+ tokens in \d splits$", before)


@needs_triton
@pytest.mark.parametrize("key, filling", [("10.1", "lane = lane"), ("10.3", {1: "real = real"}), ("10.4", "pass")])
def test_what_stood_in_an_output_before_is_shown_to_nobody(desk, key, filling):
    result = desk.judged(key, filling)
    assert result.state == "wrong" and result.difference.kind == "value", result
    said = {lang: repr(feedback(exercise(key), result, lang)) for lang in LANGUAGES}
    assert "yours `nothing stored`" in said["en"] and "从未写入" not in said["en"], said
    assert "你的结果 `从未写入`" in said["zh"] and "nothing stored" not in said["zh"], said
    assert not re.search(r"e\+36|-78|0xA5|0x5B", said["en"] + said["zh"])


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_check_calls_an_exercise_as_its_heading_does(lang):
    text = (ROOT / "solutions" / "10_gpu.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (10\.\d) (.+)$", text, flags=re.M)
    for found in lesson_exercises("10_gpu"):
        assert (found.key, found.title.get(lang)) in headings


def test_numbers_of_the_explanations():
    explained = {m.name: m.explain for e in lesson_exercises("10_gpu") for m in e.misconceptions}
    assert decode(torch.tensor([200], dtype=torch.uint8)).item() == -4
    assert all("200" in said and " -4" in said for said in (explained["integer cast"].en, explained["integer cast"].zh))
    bytes_moved = exercise("10.7")
    case = driving.bytes_inputs(0)["cases"][0]
    once = next(m for m in bytes_moved.misconceptions if m.name == "a copy moves its bytes once")
    shares = [f"{answer(*case)[2]:.0%}".replace("%", " %") for answer in (bytes_moved.reference, once.answer)]
    assert all(share in once.explain.en and share in once.explain.zh for share in shares), shares


@pytest.mark.parametrize("seed", range(20))
def test_of_the_times_the_last_alone_lies_below_its_floor(seed):
    *cases, last = driving.bytes_inputs(seed)["cases"]
    for case in cases:
        assert exercise("10.7").reference(*case)[2] < 1, case
    assert exercise("10.7").reference(*last)[2] > 1
