"""Lesson 05: mistakes that the records do not know, public bugs, and fp8lab as a second opinion."""

from __future__ import annotations

import math

import pytest
import torch
from learner import Desk, lesson_text
from wrong_lesson_05 import WRONG

from fp8lab import decode
from fp8lab.course.lessons.l05_granularity import driving_ruler as ruler
from fp8lab.course.registry import exercise, lesson_exercises
from fp8lab.explore import granularity_facts as facts
from fp8lab.fold import folded_attention, k_folds_into, v_folds_into
from fp8lab.granularity import Group, PerChannel, PerHead, PerToken
from fp8lab.metrics import attention, attention_output_error
from fp8lab.quantize import quantize
from fp8lab.rotate import rotate
from fp8lab.scales import exponent_up

LESSON = lesson_exercises("05_granularity")


@pytest.fixture(scope="module")
def desk():
    return Desk("05_granularity")


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


# ---- mistakes


@pytest.mark.parametrize("exercise", LESSON, ids=lambda e: e.key)
def test_many_other_mistakes_are_tried(exercise):
    assert len(WRONG[exercise.key]) >= 14


@pytest.mark.parametrize("seed", [0, 4711])
@pytest.mark.parametrize("key, name", [(key, name) for key, fillings in WRONG.items() for name in fillings])
def test_other_mistakes_are_refused(desk, key, name, seed):
    result = desk.judged(key, WRONG[key][name], seed=seed)
    assert result.state in ("wrong", "error") and result.points == 0


BUGS = {  # what was reported in public, as somebody would type it here: (key, lines, the name that it is given)
    "sgl-kernel-xpu#252: heads on the wrong axis": (
        "5.2",
        {
            0: "axis = cache.ndim - 3\n"
            "scales = scale_of(cache.abs().amax([a for a in range(1, cache.ndim) if a != axis]))",
            1: "shape = [1] * cache.ndim\nshape[0], shape[axis] = scales.shape\nspread = scales.reshape(shape)",
        },
        "always axis -3",
    ),
    "transformers: scale frozen at the first update": (
        "5.3",
        "scale = scales[:, 0] if scales.shape[1] else scale_of(token.abs().amax(-1, keepdim=True))\n"
        "code = encode(token / scale)",
        "the first scale for ever",
    ),
    "vllm-xpu-kernels#475: multiplied instead of divided": (
        "5.3",
        "scale = scale_of(token.abs().amax(-1, keepdim=True))\ncode = encode(token * scale)",
        "multiplied instead of divided",
    ),
    "mlx#4353: E8M0 to nearest": (
        "5.6",
        "return encode(scale, 'E8M0FNU')",
        "nearest, as a cast does",
    ),
    "chop#5: exponent by float32 log2": (
        "5.6",
        "return (scale.log2().ceil().int() + 127).clamp(0, 254).to(torch.uint8)",
        "log2 in float32",
    ),
    "vllm#54563: read as the power of two below": (
        "5.6",
        "return (exponent - 1 + 127).clamp(0, 254).to(torch.uint8)",
        "rounded down",
    ),
    "vllm#42580: descale of K dropped": ("5.8", {1: "scores = query @ k_codes.mT"}, "K's scale dropped"),
    "flashinfer#4979: descale of V dropped": ("5.8", {2: "return probabilities @ v_codes"}, "V's scale dropped"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_public_bugs_are_refused_and_named(desk, bug):
    key, lines, name = BUGS[bug]
    result = desk.judged(key, lines)
    assert result.state == "wrong" and result.misconception.name == name


def test_each_hole_is_judged_alone():
    """No exercise calls another: a wrong answer to one cannot cost points anywhere else."""
    assert all(not found.requires for found in LESSON)
    names = [found.name for found in LESSON]
    for found in LESSON:
        source = lesson_text("05_granularity").exercise_cell(found.key).source
        assert [name for name in names if f"{name}(" in source] == [found.name]


# ---- the solved functions and fp8lab


def test_the_ruler_of_the_records_is_that_of_the_text(desk):
    x = torch.cat([normal(6, 8), torch.zeros(1, 8), 1e-38 * normal(1, 8, seed=1)])
    absmax = x.abs().amax(-1, keepdim=True)
    for fmt in ("E4M3FN", "int8", "int4"):
        scale = desk.globals["scale_of"](absmax, fmt)
        made = quantize(x, fmt, PerToken())
        assert torch.equal(scale, ruler.scale_of(absmax, fmt)) and torch.equal(scale, made.scales)
        assert torch.equal(desk.globals["stored"](x, scale, fmt), made.dequantize())
        assert torch.equal(ruler.stored(x, scale, fmt), made.dequantize())


def test_appending_token_by_token_is_quantizing_at_once(desk):
    append_token = desk.answer("5.3")
    kv = normal(3, 9, 16) * torch.tensor([1.0, 1e-4, 50.0]).reshape(3, 1, 1)
    codes, scales = torch.empty(3, 0, 16, dtype=torch.uint8), torch.empty(3, 0, 1)
    for t in range(9):
        before = codes.clone(), scales.clone()
        codes, scales = append_token(codes, scales, kv[:, t])
        assert torch.equal(codes[:, :t], before[0]) and torch.equal(scales[:, :t], before[1])
    made = quantize(kv, "E4M3FN", PerToken())
    assert torch.equal(codes, made.codes) and torch.equal(scales, made.scales)
    assert torch.equal(decode(codes) * scales, made.dequantize())


def test_e8m0_codes_are_those_of_fp8lab_and_of_exact_logarithms(desk):
    to_e8m0 = desk.answer("5.6")
    powers = 2.0 ** torch.arange(-126, 127, dtype=torch.float64).float()
    up = torch.nextafter(powers, torch.tensor(math.inf))
    down = torch.nextafter(powers[1:], torch.tensor(0.0))
    scales = torch.cat([powers, up, down, 2.0 ** (20 * normal(2000))])
    codes = to_e8m0(scales)
    assert torch.equal(codes, exponent_up(scales))
    for scale, code in zip(scales.tolist(), codes.tolist()):
        assert 2.0 ** (code - 127) >= scale > 2.0 ** (code - 128)


def test_codes_made_under_an_upward_power_of_two_never_clip():
    x = normal(512, 64, seed=3) * 10 ** normal(512, 1, seed=4)
    made = quantize(x, "E4M3FN", PerToken(), scale_format="E8M0FNU")
    assert (x.abs().amax(-1, keepdim=True) <= 448 * made.scales).all()
    twice = quantize(made.dequantize(), "E4M3FN", PerToken(), scale_format="E8M0FNU")
    assert (twice.scales <= made.scales).all() and torch.equal(twice.dequantize(), made.dequantize())


@pytest.mark.parametrize("way", [PerHead(), PerChannel(), PerToken()], ids=repr)
def test_folding_is_that_of_fp8lab(desk, way):
    answer = desk.answer("5.8")
    query, k, v = normal(2, 3, 16), normal(2, 7, 16, seed=1), normal(2, 7, 16, seed=2)
    made_k, made_v = quantize(k, "int8", way), quantize(v, "int8", way)
    assert k_folds_into(made_k) and v_folds_into(made_v)
    parts = [x.double() for made in (made_k, made_v) for x in (made.codes, made.scales)]
    want = folded_attention(query, made_k, made_v, causal=False)
    assert torch.allclose(answer(query.double(), *parts), want, rtol=1e-9)


def test_the_same_k_under_s_and_4s_gives_the_same_output(desk):
    answer = desk.answer("5.8")
    query, codes, v = normal(2, 3, 8), (10 * normal(2, 5, 8, seed=1)).round(), normal(2, 5, 8, seed=2)
    one = torch.ones(2, 1, 1)
    for shape in ((2, 1, 1), (2, 1, 8), (2, 5, 1)):
        scale = 0.01 + torch.rand(shape, generator=torch.Generator().manual_seed(5))
        assert torch.allclose(
            answer(query, codes, scale, v, one), answer(query, codes / 4, 4 * scale, v, one), rtol=1e-5
        )


def test_groups_cannot_fold_in_fp8lab_either():
    k = quantize(normal(2, 7, 64), "int8", Group(32))
    assert k_folds_into(k) is None and v_folds_into(k) is None


def test_rotation_leaves_attention_alone_and_quantizing_does_not(desk):
    answer, (query, k, v) = desk.answer("5.7"), facts.attention_case()
    exact = attention(query, k, v, causal=False)
    assert torch.allclose(answer(query, k, v, lambda x: x), exact, rtol=1e-9, atol=1e-12)
    kept = [rotate(quantize(rotate(x), "int8", PerToken()).dequantize()) for x in (k, v)]
    rotated = answer(query, k, v, lambda x: quantize(x.float(), "int8", PerToken()).dequantize().double())
    assert torch.allclose(rotated, attention(query, *kept, causal=False), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("fmt", ["int4", "int8", "E4M3FN"])
def test_the_choice_is_the_smallest_of_all_pairs(desk, fmt):
    query, k, v = facts.attention_case(3, tokens=64)
    k_way, v_way, error = desk.answer("5.5")(query, k, v, facts.WAYS, fmt)
    for a in facts.WAYS.values():
        for b in facts.WAYS.values():
            kept = quantize(k, fmt, a).dequantize(), quantize(v, fmt, b).dequantize()
            assert attention_output_error(query, k, v, *kept, causal=False).worst >= error * (1 - 1e-9)
    kept = quantize(k, fmt, facts.WAYS[k_way]).dequantize(), quantize(v, fmt, facts.WAYS[v_way]).dequantize()
    assert attention_output_error(query, k, v, *kept, causal=False).worst == pytest.approx(error)


@pytest.mark.parametrize("seed", range(4))
def test_the_exercise_on_choosing_has_cases_in_which_the_tensor_error_misleads(seed):
    choose = exercise("5.5")
    by_tensor = next(m.answer for m in choose.misconceptions if m.name == "error of the tensors")
    cases = choose.drive.inputs(seed)["cases"].values()
    from fp8lab.course.lessons.l05_granularity.driving_output import WAYS

    picks = [(choose.reference(q, k, v, WAYS, f)[:2], by_tensor(q, k, v, WAYS, f)[:2]) for q, k, v, f in cases]
    assert any(right != misled for right, misled in picks)
    assert any(k_way != v_way for (k_way, v_way), _ in picks)


def test_checks_ask_for_little_data(desk):
    """A check answers within a second because its inputs are small, not because the machine is fast."""
    for found in LESSON:
        parts = [part for value in found.drive.inputs(0).values() for part in flattened(value)]
        assert 0 < sum(part.numel() for part in parts) < 30_000, found.key


def flattened(value) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [part for item in inside for part in flattened(item)]
