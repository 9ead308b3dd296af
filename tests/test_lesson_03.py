"""Lesson 03: mistakes that the records do not know, the library as judge, public bugs, claims of the text, pictures."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
import torch
from learner import Desk
from wrong_lesson_03 import WRONG

import fp8lab.quantize
from fp8lab import codec, metrics
from fp8lab.course.check import verdict
from fp8lab.course.lessons.l03_scale import answers_fp8, answers_int8, driving
from fp8lab.course.lessons.l03_scale.driving_data import shapes_of_data
from fp8lab.course.registry import lesson_exercises
from fp8lab.explore import scale_pictures

LESSON = lesson_exercises("03_scale")


@pytest.fixture(scope="module")
def desk():
    return Desk("03_scale")


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# ---- mistakes


@pytest.mark.parametrize("exercise", LESSON, ids=lambda e: e.key)
def test_many_other_mistakes_are_tried(exercise):
    assert len(WRONG[exercise.key]) >= 10


@pytest.mark.parametrize("seed", [0, 4711])
@pytest.mark.parametrize("key, name", [(key, name) for key, fillings in WRONG.items() for name in fillings])
def test_other_mistakes_are_refused(desk, key, name, seed):
    result = desk.judged(key, WRONG[key][name], seed=seed)
    assert result.state in ("wrong", "error") and result.points == 0


NAMED = [
    ("3.1", "return x.abs().max()", "a tensor, not a float"),
    ("3.1", "return x.detach().abs().flatten().amax(0)", "a tensor, not a float"),
    (
        "3.7",
        "error = restored - x\nmse = (error**2).mean().item()\nsqnr = 10 * math.log10((x**2).mean().item() / mse)\n"
        "return mse, sqnr, (error.abs() / x.abs())[x != 0].median().item()",
        "division by a square that vanished",
    ),
    ("3.8", "return 'int8' if find_absmax(x) / x.std().item() < 12 else 'fp8'", "standard deviation for rms"),
]


@pytest.mark.parametrize("seed", [0, 4711])
@pytest.mark.parametrize("key, filling, name", NAMED, ids=[f"{key} {name}" for key, _, name in NAMED])
def test_what_people_write_is_called_by_its_name(desk, key, filling, name, seed):
    result = desk.judged(key, filling, seed=seed)
    assert result.misconception and (result.misconception.name, result.exact) == (name, True)


@pytest.mark.parametrize(
    "right", ["return float(abs(x.detach()).max())", "return max(x.max().item(), -x.min().item())"]
)
def test_every_kind_of_number_is_a_right_absmax(desk, right):
    assert desk.judged("3.1", right).state == "right"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("exercise", LESSON, ids=lambda e: e.key)
def test_right_answers_are_right_on_every_seed(exercise, seed):
    for answer in (exercise.reference, *exercise.variants):
        assert verdict(exercise, answer, seed).state == "right"


# ---- the library as judge


@pytest.mark.parametrize("size", [1e-30, 1e-6, 0.02, 1.0, 300.0, 1e20])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_solved_loops_are_the_librarys(desk, size, dtype):
    x = (normal(8, 64) * size).to(dtype)
    integer = fp8lab.quantize.quantize(x, "int8")
    scale = desk.answer("3.5")(x, 127.0)
    assert scale == pytest.approx(integer.scales.item(), rel=1e-6)
    codes = desk.answer("3.3")(x.float(), scale)
    assert torch.equal(codes, integer.codes)
    assert torch.allclose(desk.answer("3.4")(codes, scale), integer.dequantize().float(), rtol=1e-6, atol=0)
    floating = fp8lab.quantize.quantize(x, "E4M3FN")
    codes, scale = desk.answer("3.6")(x)
    assert torch.equal(codes, floating.codes)
    assert scale == pytest.approx(floating.scales.item(), rel=1e-6)


def test_the_solved_measures_are_the_librarys(desk):
    x, restored = normal(501), normal(501) + 0.01 * normal(501, seed=1)
    mse, sqnr, relative = desk.answer("3.7")(x, restored)
    assert mse == pytest.approx(metrics.mse(x, restored))
    assert sqnr == pytest.approx(metrics.sqnr_db(x, restored))
    assert relative == metrics.relative_error(x, restored).quantiles[0.5]


def test_the_codes_are_those_of_ml_dtypes(desk):
    x = normal(4096)
    codes, scale = desk.answer("3.6")(x)
    theirs = (x.numpy() / np.float32(scale)).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    assert np.array_equal(codes.numpy(), theirs)


@pytest.mark.parametrize("seed", range(200))
def test_the_winner_is_never_close_and_the_crest_factor_predicts_it(seed):
    for name, x in shapes_of_data(seed):
        point = scale_pictures.crest_point(name, x)
        assert abs(point.int8_db - point.fp8_db) > 0.5, (name, point)
        winner = "int8" if point.int8_db > point.fp8_db else "fp8"
        assert answers_fp8.predict_winner(x) == winner, (name, point)
        assert abs(math.log2(point.crest / answers_fp8.CREST)) > 0.25, (name, point)  # 12 need not be hit exactly


# ---- public bugs


def test_int8_store_rounds(desk):  # vllm#45361
    x = torch.tensor([0.5, 1.5, 2.5, -0.6])
    assert desk.answer("3.3")(x, 1.0).tolist() == [0, 2, 2, -1]
    assert answers_int8.truncated(x, 1.0).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("x", [torch.zeros(64), torch.full((64,), -0.0)])
def test_zeros_come_back_as_zeros(desk, x):  # vllm#26174, torchao 0.18, optimum-quanto 0.2.7
    codes, scale = desk.answer("3.6")(x)
    assert scale == 1.0 and not codec.decode(codes).any()
    zero = answers_int8.zero_scale(x, 448.0)
    assert (x / zero).isnan().all()


@pytest.mark.parametrize("size", [3.0, 1e-5, 1e-7, 1e-38])
def test_a_constant_comes_back(desk, size):
    x = torch.full((64,), size)
    codes, scale = desk.answer("3.6")(x)
    assert torch.allclose(codec.decode(codes) * scale, x, rtol=0.07, atol=0)
    assert size < 1e-30 or set(codes.tolist()) == {0x7E}


@pytest.mark.parametrize("amplitude, percent", [(1e-6, 6), (1e-7, 56)])
def test_what_a_floor_of_1e_4_loses(amplitude, percent):  # FlashMLA
    x = normal(4096) * amplitude
    restored = codec.decode(codec.encode(x / 1e-4)) * 1e-4
    assert round(100 * ((restored - x).norm() / x.norm()).item()) == pytest.approx(percent, abs=1)


def test_ones_come_back_as_ones_only_if_the_scale_is_rounded_first(desk):  # transformers#46763
    x = torch.ones(64)
    codes, scale = desk.answer("3.6")(x)
    assert torch.allclose(codec.decode(codes) * scale, x, rtol=1e-6, atol=0)
    codes, scale = answers_fp8.scale_rounded_afterwards(x)
    assert (codec.decode(codes) * scale).unique().tolist() == [1.75]


def test_a_reciprocal_and_a_narrow_quotient_change_codes():
    changed = []
    for scale in (torch.rand(400, generator=torch.Generator().manual_seed(0)) * 2 + 1e-3).tolist():
        x = (torch.arange(-120, 120) + 0.5) * scale
        x = x[x / scale == torch.arange(-120, 120) + 0.5]
        changed.append(answers_int8.by_reciprocal(x, scale) != answers_int8.quantize_int8(x, scale))
    assert torch.cat(changed).double().mean().item() == pytest.approx(1 / 8, rel=0.15)  # one in eight in the text
    changed = []
    for seed in range(20):
        x = normal(4096, seed=seed).to(torch.bfloat16)
        changed.append(answers_fp8.divided_in_bfloat16(x)[0] != answers_fp8.quantize_fp8(x)[0])
    assert torch.cat(changed).double().mean().item() == pytest.approx(0.03, abs=0.004)  # some 3 % in the text


def test_a_scale_in_float16_lets_the_quotient_exceed_448():
    worst = 0.0
    for absmax in [*torch.linspace(1e-6, 3e-4, 4000).tolist(), 1.499999 * 448 * 2.0**-24]:
        scale = torch.tensor(absmax / 448).half().item()
        worst = max(worst, absmax / scale if scale else 0.0)
    assert worst == pytest.approx(672, abs=0.01)  # 1.5 steps of float16 are rounded to one


# ---- what the text says


def test_the_cliff_of_the_multiplier():
    assert torch.tensor(448 / 0.0067).half().isinf() and torch.tensor(448 / 0.0069).half().isfinite()
    assert torch.tensor(448.0) / torch.tensor(1.3e-36) == math.inf
    assert torch.tensor(1.3e-36) / 448 > 0


def test_relative_rms_of_normal_data():
    x = normal(4096, 128)
    absmax = x.abs().amax().item()
    for round_trip, qmax, percent in (
        (scale_pictures.fp8_round_trip, 448.0, 2.6),
        (scale_pictures.int8_round_trip, 127.0, 1.1),
    ):
        restored = round_trip(x, absmax / qmax)[1]
        assert round(100 * ((restored - x).norm() / x.norm()).item(), 1) == percent


def test_one_value_at_40_leaves_25_codes_to_all_others():
    x = normal(4096)
    assert len(torch.round(x / (40 / 127)).unique()) == pytest.approx(25, abs=2)
    assert 40 / 127 == pytest.approx(0.3, abs=0.02)


def test_e5m2_has_almost_six_decibels_less_and_an_octave_and_three_quarters_stay_empty():
    x = normal(4096)
    sqnr = {fmt: metrics.sqnr_db(x, fp8lab.quantize.quantize(x, fmt).dequantize()) for fmt in ("E4M3FN", "E5M2")}
    assert 5.5 < sqnr["E4M3FN"] - sqnr["E5M2"] < 6
    assert 1.75 < math.log2(448 / 127) < 2


def test_an_outlier_on_448_lifts_the_sqnr_and_nothing_else():
    x = normal(4096)
    x[7] = 300.0
    restored = fp8lab.quantize.quantize(x, "E4M3FN").dequantize()
    assert round(metrics.sqnr_db(x, restored)) == 45  # in the text
    assert metrics.sqnr_db(x[8:], restored[8:]) == pytest.approx(31.5, abs=0.5)


def test_heads_of_different_size_hide_in_the_median():
    x = normal(4, 4096) * torch.tensor([1.0, 1e-3, 30.0, 1e-5]).unsqueeze(1)
    restored = scale_pictures.fp8_round_trip(x, x.abs().amax().item() / 448)[1]
    assert not restored[3].any()
    error = metrics.relative_error(x, restored, head_axis=0)
    assert error.quantiles[0.5] < 0.05 and error.worst[0.5] == 1.0  # less than 5 % in the text


def test_the_crest_factor_of_a_group_of_16():
    x = normal(4096, 16)
    assert (x.abs().amax(1) / x.square().mean(1).sqrt()).mean().item() == pytest.approx(2.0, abs=0.15)


def test_mixing_conventions_keeps_directions():
    x = normal(256)
    multiplier, _, mixed = answers_int8.conventions(x.abs().amax().item(), 127.0)
    assert metrics.cosine(x, x * multiplier * multiplier) == pytest.approx(1.0)
    assert torch.allclose(x * multiplier * multiplier, x * mixed)


# ---- pictures


def test_three_scales_measure_what_the_text_says():
    small, right, large = scale_pictures.three_scales()
    assert [round(a.sqnr) for a in (small, right, large)] == [8, 40, 16]
    assert large.used == 17 and small.codes.abs().max() == right.codes.abs().max() == 127


def test_the_sweep_has_a_peak_and_a_plateau():
    curves = {name: dict(points) for name, points in scale_pictures.sweep().items()}
    assert max(curves["int8"], key=curves["int8"].get) == 1.0
    plateau = [db for factor, db in curves["E4M3FN"].items() if factor >= 1]
    assert max(plateau) - min(plateau) < 1
    per_octave = [curves["int8"][2.0**e] - curves["int8"][2.0 ** (e + 1)] for e in range(5)]
    assert all(5.5 < step < 6.5 for step in per_octave)


@pytest.mark.parametrize("point", scale_pictures.crest_points(), ids=lambda p: p.name)
def test_the_lines_predict_the_dots(point):
    assert point.int8_db == pytest.approx(scale_pictures.uniform_grid_db(point.crest), abs=0.7)
    assert point.fp8_db == pytest.approx(31.5, abs=0.7)


def test_the_uniform_grid_is_denser_above_32_of_448():
    for code in range(0x7E):
        step = codec.decode([code + 1]).item() - codec.decode([code]).item()
        assert (step > 448 / 127) == (codec.decode([code]).item() >= 32)


@pytest.mark.parametrize("name", ["three_scales_picture", "rulers_picture", "sweep_picture", "crest_picture"])
def test_pictures_draw_and_describe_themselves(name):
    data, metadata = getattr(scale_pictures, name)()._repr_mimebundle_()
    assert len(data["image/png"]) > 10_000 and len(data["text/plain"]) > 60
    assert metadata["image/png"]["alt"] == data["text/plain"]


# ---- the drives


def test_inputs_of_the_cast_hold_a_clipped_negative_value_and_ties():
    cases = driving.int8_inputs(3)
    assert ((cases["beyond"][0] / cases["beyond"][1]) < -127.5).any()
    assert len(cases["awkward"][0]) > 100
