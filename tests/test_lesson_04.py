"""Lesson 04: mistakes that the records do not know, holes that are judged alone, another class, the text's numbers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from learner import Desk, filled, lesson_text
from wrong_lesson_04 import WRONG

import fp8lab
from fp8lab.course.check import Check, verdict
from fp8lab.course.lessons.l04_grouped_kv import answers_sim
from fp8lab.course.progress import Progress
from fp8lab.course.registry import exercise, lesson_exercises
from fp8lab.course.source import packaged
from fp8lab.granularity import Group
from fp8lab.quantize import quantize

LESSON = lesson_exercises("04_grouped_kv")
SEVEN = tuple(f"4.{n}" for n in range(1, 8))


@pytest.fixture(scope="module")
def desk():
    return Desk("04_grouped_kv")


# ---- mistakes


@pytest.mark.parametrize("found", LESSON, ids=lambda e: e.key)
def test_many_other_mistakes_are_tried(found):
    assert len(WRONG[found.key]) >= 10


@pytest.mark.parametrize("seed", [0, 4711])
@pytest.mark.parametrize("key, name", [(key, name) for key, fillings in WRONG.items() for name in fillings])
def test_other_mistakes_are_refused(desk, key, name, seed):
    result = desk.judged(key, WRONG[key][name], seed=seed)
    assert result.state in ("wrong", "error") and result.points == 0


MUST_BE_NAMED = {
    "truncate": ("4.3", "truncation"),
    "floor": ("4.3", "floor"),
    "qmax 100": ("4.2", "qmax 100"),
    "qmax 128": ("4.2", "qmax 128"),
    "one scale per tensor": ("4.5", "one scale for the tensor"),
    "one scale per row": ("4.5", "one scale for the row"),
    "neighbour's scale": ("4.6", "the neighbour's scale"),
    "tail dropped": ("4.5", "tail dropped"),
    "tail forgotten in restore": ("4.6", "tail forgotten"),
    "max without abs": ("4.1", "max without abs"),
    "eps added": ("4.2", "eps added"),
    "inverse convention": ("4.2", "inverse convention"),
    "mse returning 0": ("4.7", "always 0"),
    "mse as mean absolute error": ("4.7", "mean absolute error"),
    "mse on codes": ("4.7", "on the KV codes"),
    "shape of codes": ("4.4", "shape of the codes"),
    "input changed in place": ("4.3", "input changed in place"),
}
AS_TYPED = {  # what a learner would type; the loop around the holes is given, so the two about it rewrite the loop
    "truncate": "return (values * scale).clamp(-self.fp8_qmax, self.fp8_qmax).to(torch.int8)",
    "floor": "return torch.floor(values * scale).clamp(-self.fp8_qmax, self.fp8_qmax).to(torch.int8)",
    "qmax 100": "return 100 / absmax.clamp(min=self.eps)",
    "qmax 128": "return 128 / absmax.clamp(min=self.eps)",
    "neighbour's scale": "part = slice(g * size, (g + 1) * size)\n"
    "restored[r, part] = codes[r, part] / scales[r, g - 1]",
    "tail dropped": "n_groups = kv.shape[-1] // size",
    "tail forgotten in restore": "if (g + 1) * size <= codes.shape[1]:\n"
    "    restored[r, g * size : (g + 1) * size] = codes[r, g * size : (g + 1) * size] / scales[r, g]",
    "max without abs": "return values.max()",
    "eps added": "return self.fp8_qmax / (absmax + self.eps)",
    "inverse convention": "return absmax.clamp(min=self.eps) / self.fp8_qmax",
    "mse returning 0": "return torch.tensor(0.0)",
    "mse as mean absolute error": "return (original.float() - restored.float()).abs().mean()",
    "mse on codes": "return (original.float() - self.kv_q.float()).square().mean()",
    "shape of codes": "self.fp8_shape = tuple(codes.shape)",
    "input changed in place": "values *= scale\nq = values.round().to(torch.int32)\n"
    "return q.clamp(-self.fp8_qmax, self.fp8_qmax).to(torch.int8)",
}


@pytest.mark.parametrize("mistake", MUST_BE_NAMED)
def test_the_classic_mistakes_are_refused_and_named(desk, mistake):
    key, name = MUST_BE_NAMED[mistake]
    if mistake in AS_TYPED:
        answer = desk.answer(key, AS_TYPED[mistake])
    else:
        source = lesson_text("04_grouped_kv").exercise_cell(key).source
        measured = {"one scale per tensor": "rows", "one scale per row": "row"}[mistake]
        right = "self.absmax_of(group)"
        assert source.count(right) == 1
        namespace = dict(desk.globals)
        exec(source.replace(right, f"self.absmax_of({measured})"), namespace)
        answer = namespace["FP8KVCacheSim"]
    result = verdict(exercise(key), answer, 0)
    assert (result.state, result.misconception.name) == ("wrong", name)


# ---- seven holes in one cell, each judged alone


def with_holes(fillings: dict[str, str | None]) -> type:
    """The class of the lesson with some holes filled otherwise, or left (None)."""
    lesson = lesson_text("04_grouped_kv")
    cell = lesson.exercise_cell("4.1")
    source = cell.source
    for key, filling in fillings.items():
        stub = next(line.strip() for line in cell.stub.split("\n") if f'"exercise {key}: ' in line)
        source = filled(_Source(source), key, stub if filling is None else filling)
    namespace = {"torch": torch, "__name__": "notebook"}
    exec(compile(source, "<cell>", "exec"), namespace)
    return namespace["FP8KVCacheSim"]


class _Source:
    def __init__(self, source: str) -> None:
        self.source = source


@pytest.mark.parametrize("key", SEVEN)
def test_a_wrong_hole_costs_its_own_points_only(key):
    for name, filling in WRONG[key].items():
        answer = with_holes({key: filling})
        states = {other: verdict(exercise(other), answer, 0).state for other in SEVEN if other != key}
        assert set(states.values()) == {"right"}, (name, states)


@pytest.mark.parametrize("found", [e for e in LESSON if e.key in SEVEN], ids=lambda e: e.key)
def test_a_known_mistake_costs_its_own_points_only(found):
    for mistake in found.misconceptions:
        states = {key: verdict(exercise(key), mistake.answer, 0).state for key in SEVEN if key != found.key}
        assert set(states.values()) == {"right"}, (mistake.name, states)


@pytest.mark.parametrize("key", SEVEN)
def test_one_hole_alone_can_be_checked_first(key):
    """All others untouched: the one that is filled is right, or blocked by a stub; the others are never wrong."""
    answer = with_holes({other: None for other in SEVEN if other != key})
    assert verdict(exercise(key), answer, 0).state == "right"
    for other in SEVEN:
        if other != key:
            assert verdict(exercise(other), answer, 0).state == "not_attempted"


@pytest.mark.parametrize("key", SEVEN)
def test_a_hole_that_raises_is_an_error_there_and_nowhere_else(key):
    answer = with_holes({key: "return values.abs().maximum()" if key == "4.1" else "undefined_name"})
    for other in SEVEN:
        assert verdict(exercise(other), answer, 0).state == ("error" if other == key else "right"), other


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_check_says_which_hole_is_open(lang):
    check = Check(lang, Progress(None))
    answer = with_holes({"4.5": None})
    assert [check(key, answer).state for key in SEVEN] == ["right"] * 4 + ["not_attempted"] + ["right"] * 2
    assert "4.5" in repr(check("4.5", answer))


def test_an_object_instead_of_the_class_is_told(desk):
    result = verdict(exercise("4.1"), desk.answer("4.1")(), 0)
    assert result.state == "error" and "pass the class itself" in result.error.message


# ---- the solved class and fp8lab's own


@pytest.fixture(scope="module")
def solved_class() -> type:
    """The class as a learner who solves the packaged lesson has it."""
    code, _ = packaged("04_grouped_kv").worked_answer("4.1", "en")
    namespace = {"torch": torch, "__name__": "notebook"}
    exec(compile(code, "<solution>", "exec"), namespace)
    return namespace["FP8KVCacheSim"]


def some_kv(generator: torch.Generator, number: int) -> tuple[torch.Tensor, int]:
    """(a tensor, a group size): every rank from 2 to 4, ragged tails, zero rows, half types, views."""

    def drawn(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (1,), generator=generator))

    shape = [drawn(1, 4) for _ in range(drawn(1, 3))] + [drawn(1, 140 if number % 3 else 12)]
    kv = torch.randn(shape, generator=generator) * 10.0 ** drawn(-4, 4)
    if number % 4 == 0:
        kv[..., 0, :] = 0
    if number % 5 == 1:
        kv = kv.clamp(-6e4, 6e4).half()
    if number % 5 == 2:
        kv = kv.bfloat16()
    if number % 7 == 3:
        kv = kv.mT
    if number % 7 == 5:
        kv = torch.stack([kv, -kv], dim=-1)[..., 1]  # not contiguous
    return kv, (1, 3, 64, kv.shape[-1] + 5)[number % 4]


def test_the_solved_class_and_fp8labs_agree_on_200_tensors(solved_class):
    generator = torch.Generator().manual_seed(20)
    seen = {"ragged": 0, "zero row": 0, "half": 0, "bfloat16": 0, "view": 0}
    for number in range(200):
        kv, size = some_kv(generator, number)
        seen["ragged"] += kv.shape[-1] % size != 0 and size < kv.shape[-1]
        seen["zero row"] += bool((kv == 0).all(-1).any())
        seen["half"] += kv.dtype == torch.float16
        seen["bfloat16"] += kv.dtype == torch.bfloat16
        seen["view"] += not kv.is_contiguous()
        before = kv.clone()
        theirs, ours = solved_class(kv_group_size=size), fp8lab.FP8KVCacheSim(kv_group_size=size)
        theirs.fit(kv, kv), ours.fit(kv, kv)
        for name in ("fp8_q", "fp8_scale", "kv_q", "kv_scale"):
            left, right = getattr(theirs, name), getattr(ours, name)
            assert left.dtype == right.dtype and torch.equal(left, right), (number, name, kv.shape, size)
        assert tuple(theirs.kv_shape) == ours.kv_shape and theirs.fp8_shape == ours.fp8_shape
        assert torch.equal(theirs.dequantize_kv_cache(), ours.dequantize_kv_cache())
        assert torch.equal(theirs.dequantize_fp8(), ours.dequantize_fp8())
        assert torch.equal(kv, before)
    assert min(seen.values()) >= 20, seen


@settings(max_examples=40, deadline=None)
@given(rows=st.integers(1, 4), width=st.integers(1, 70), size=st.integers(1, 80), qmax=st.integers(1, 127))
def test_loop_whole_tensor_and_fp8lab_give_the_same_bytes(rows, width, size, qmax):
    kv = torch.randn(rows, width, generator=torch.Generator().manual_seed(rows * 997 + width))
    loop = answers_sim.FP8KVCacheSim(qmax, size)
    codes, scales = loop.quantize_kv_cache(kv)
    at_once = exercise("4.8").reference(kv, size, qmax)
    assert torch.equal(codes, at_once[0]) and torch.equal(scales, at_once[1])


def test_the_contract_of_the_solved_class(solved_class):
    sim = solved_class()
    assert (sim.fp8_qmax, sim.kv_group_size, sim.eps) == (127, 64, 1e-8)
    assert set(dict(sim.named_buffers())) == {"fp8_q", "kv_q", "fp8_scale", "kv_scale"} and not sim.state_dict()
    for call in (sim.dequantize_fp8, sim.dequantize_kv_cache):
        with pytest.raises(RuntimeError, match="first"):
            call()
    for bad in ({"kv_group_size": 0}, {"kv_group_size": -3}, {"fp8_qmax": 128}, {"fp8_qmax": 0}, {"eps": 0.0}):
        with pytest.raises(ValueError):
            solved_class(**bad)
    with pytest.raises(ValueError, match="2 axes"):
        sim.quantize_kv_cache(torch.ones(5))
    for poison in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="NaN"):
            sim.quantize_kv_cache(torch.tensor([[1.0, poison]]))
    hidden, kv = sim(torch.ones(2, 3), torch.ones(2, 96))
    assert hidden.shape == (2, 3) and kv.shape == (2, 96) and sim.kv_scale.shape == (2, 2)
    assert sim(torch.ones(3))[1] is None and sim.fit(torch.ones(3)) is sim


def test_real_bytes_are_those_of_fp8lab_quantize(desk):
    grouped_fp8 = desk.answer("4.9")
    kv = torch.randn(40, 96, generator=torch.Generator().manual_seed(1))
    codes, scales, restored = grouped_fp8(kv, 64)
    theirs = quantize(kv, "E4M3FN", Group(64))
    assert torch.allclose(1 / scales, theirs.scales, rtol=1e-6)
    assert (codes != theirs.codes).float().mean() < 1e-3  # multiplied here, divided there: ties may part
    assert torch.allclose(restored, theirs.dequantize(), rtol=0.13, atol=1e-3)
