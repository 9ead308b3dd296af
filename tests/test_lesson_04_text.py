"""Lesson 04: the numbers that the text and the pictures show, measured again."""

from __future__ import annotations

import re

import pytest
import torch
from learner import Desk, lesson_text

import fp8lab
from fp8lab.explore import grouped_pictures
from fp8lab.granularity import Group, PerToken
from fp8lab.metrics import relative_error
from fp8lab.quantize import quantize


@pytest.fixture(scope="module")
def desk():
    return Desk("04_grouped_kv")


def test_the_opening_table():
    text = (lesson_text("04_grouped_kv").cells[0]).source
    rows = [line for line in text.split("\n") if line.startswith("| int8") or line.startswith("| FP8")]
    printed = [[float(cell) for cell in re.findall(r"([\d.]+) %", line)] for line in rows]
    table = grouped_pictures.group_table()
    assert printed == [[round(100 * error, 1) for error, _ in points] for points in table.values()]
    int8 = [error for error, _ in table["int8"]]
    assert 12 < int8[0] / int8[-1] < 13, "a factor of twelve"


def test_why_the_curve_is_flat():
    share, error = grouped_pictures.relative_steps("E4M3FN")
    plateau = (share < 0.8) & (share > 2.0**-14)
    assert error[plateau].max() <= 1 / 17 + 1e-6 and error[plateau].min() > 0.9 / 17
    assert error[share < 2.0**-16].max() > 0.2, "the plateau ends in the subnormals"
    for name, qmax in (("int8", 127), ("int4", 7)):
        share, error = grouped_pictures.relative_steps(name)
        inside = (share < 0.8) & (share > 1.5 / qmax)
        ratio = error[inside] * share[inside] * qmax
        assert 0.3 < ratio.min() and ratio.max() < 0.75, "half a step, whatever the value"


def test_what_a_power_of_two_loses():
    kv = grouped_pictures.keys_with_outliers(512)
    unscaled = quantize(kv, "E4M3FN", PerToken(), torch.ones(512, 1)).dequantize()
    normal = kv.abs() >= 2.0**-6
    for size in (128, 16):
        power = quantize(kv, "E4M3FN", Group(size), scale_format="E8M0FNU").dequantize()
        assert torch.equal(power[normal], unscaled[normal]), "an exponent is shifted, no mantissa changes"
        real = quantize(kv, "E4M3FN", Group(size)).dequantize()
        groups = kv.unflatten(-1, (-1, size)).abs()
        top = groups == groups.amax(-1, keepdim=True)
        back = real.unflatten(-1, (-1, size))
        assert torch.allclose(back[top], kv.unflatten(-1, (-1, size))[top], rtol=1e-6), "absmax is exact"


def test_the_range_at_which_groups_begin_to_help_fp8():
    kv = torch.randn(512, 128, generator=torch.Generator().manual_seed(0))
    found = {}
    for strength in (1e3, 1e6):
        kv[:, 7] = strength
        back = [quantize(kv, "E4M3FN", g).dequantize() for g in (PerToken(), Group(8))]
        found[strength] = [relative_error(kv[:, 8:], b[:, 8:], (0.5,)).quantiles[0.5] for b in back]
    assert max(found[1e3]) < 0.025 and found[1e6][0] > 0.5 and found[1e6][1] < 0.025


def test_where_groups_pay(desk):
    ways = {
        "token": ("E4M3FN", PerToken(), torch.float32),
        "group": ("E4M3FN", Group(64), torch.float32),
        "power": ("E4M3FN", Group(64), fp8lab.get_format("E8M0FNU")),
        "int8": ("int8", Group(64), torch.float32),
    }
    errors = desk.globals["attention_errors"](ways, draws=4)
    assert errors["group"] < 0.05 < 0.08 < min(errors["token"], errors["power"]) and errors["int8"] > 0.5


def test_the_bill(desk):
    ledger = desk.answer("4.10")
    assert [round(ledger(*case)[1], 3) for case in ((128, 128), (128, 64), (128, 32, 8, 1), (128, 16, 8, 1))] == [
        1.939, 1.882, 1.939, 1.882,
    ]  # fmt: skip
    for head_dim, size, bits, wide in ((128, 64, 8, 4), (96, 64, 8, 4), (80, 32, 8, 4), (7, 3, 4, 4), (128, 16, 4, 4)):
        made = quantize(torch.randn(5, head_dim), f"int{bits}", Group(size))
        assert ledger(head_dim, size, bits, wide)[0] * 5 == made.nbytes
    assert ledger(128, 64)[2] == 5 and ledger(128, 4)[1] == 1.0


def test_prices_are_as_the_text_reads_them():
    found = {(p.name, p.group): p for p in grouped_pictures.prices(20.0)}
    calm = {(p.name, p.group): p for p in grouped_pictures.prices(1.0)}
    assert found["E4M3FN", 16].bytes_per_value / found["E4M3FN", 128].bytes_per_value == pytest.approx(1.21, abs=0.005)
    for prices in (found, calm):
        assert round(100 * prices["E4M3FN", 128].error, 1) == 2.2 or prices is found
        assert round(100 * prices["E4M3FN", 16].error, 1) == 2.0
    assert 6 < found["int8", 128].error / found["int8", 16].error < 7.5
    assert found["E4M3FN", 16].error / found["int8", 16].error == pytest.approx(2, abs=0.2)
    assert calm["E4M3FN", 128].error / calm["int8", 128].error == pytest.approx(3, abs=0.2)


@pytest.mark.parametrize("name", ["rulers_picture", "layout_picture", "steps_picture", "prices_picture"])
def test_pictures_draw_and_describe_themselves(name):
    still = getattr(grouped_pictures, name)()
    data, _ = still._repr_mimebundle_()
    assert len(data["image/png"]) > 10_000 and len(data["text/plain"]) > 60


@pytest.mark.parametrize("group", [128, 16])
def test_the_rulers_are_those_of_quantize(group):
    data = grouped_pictures.rulers(group)
    assert torch.equal(data.zeros, (data.values.abs() / data.steps).round() == 0)
    assert data.zeros.sum() == {128: 40, 16: 13}[group]
