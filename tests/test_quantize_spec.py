"""quantize against its specification, written out with exact fractions and plain loops, and against public bugs."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch

from fp8lab.formats import E2M1FN, E2M3FN, E3M2FN, E4M3FN, E4M3FNUZ, E5M2, E8M0FNU, exact
from fp8lab.quantize import Group, PerChannel, PerHead, PerTensor, PerToken, quantize

FLOAT_ELEMENTS = (E4M3FN, E5M2, E4M3FNUZ, E3M2FN, E2M3FN, E2M1FN)


def float32(value: Fraction) -> Fraction:
    """A rational rounded once to float32 (numpy's float64 quotient of these small operands, then float32, would round
    twice)."""
    if value == 0:
        return Fraction(0)
    exponent = 0
    magnitude = abs(value)
    while magnitude >= 2:
        magnitude, exponent = magnitude / 2, exponent + 1
    while magnitude < 1:
        magnitude, exponent = magnitude * 2, exponent - 1
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    return round(value / unit) * unit  # Fraction rounds ties to even


def nearest(value: Fraction, grid: list[tuple[Fraction, int]]) -> int:
    """Code whose value is nearest to |value|, ties to the even code, saturating; grid sorted, without negatives."""
    best = min(grid, key=lambda entry: (abs(entry[0] - abs(value)), entry[1] & 1))
    return best[1]


def grid_of(fmt) -> list[tuple[Fraction, int]]:
    codes = (code for code in range(fmt.sign_mask) if exact(code, fmt) is not None)
    return [(exact(code, fmt), code) for code in codes]


def by_the_book(group: list[float], fmt, storage) -> tuple[list[int], Fraction]:
    """Codes and scale of one group: absmax / qmax in float32, rounded for storage, then code = nearest(float32(x /
    s))."""
    integer = isinstance(fmt, str)
    qmax = Fraction({"int8": 127, "int4": 7}[fmt]) if integer else Fraction(fmt.max_finite)
    absmax = max(abs(Fraction(x)) for x in group)
    scale = max(float32(absmax / qmax), Fraction(2) ** -126) if absmax else Fraction(1)
    if storage is torch.bfloat16:
        scale = Fraction(torch.tensor(float(scale)).to(torch.bfloat16).item())
    elif storage == E8M0FNU:
        power = Fraction(1)
        while power < scale:
            power *= 2
        while power / 2 >= scale:
            power /= 2
        scale = power
    elif storage == E4M3FN:
        entries = [(value, code) for value, code in grid_of(E4M3FN) if value]
        scale = exact(nearest(scale, entries), E4M3FN)
    scaled = [float32(Fraction(x) / scale) for x in group]
    if integer:
        return [int(max(-qmax, min(qmax, round(y)))) for y in scaled], scale
    grid = grid_of(fmt)
    codes = [nearest(y, grid) for y in scaled]
    negative = [np.signbit(np.float32(x)) and (code or fmt.has_negative_zero) for x, code in zip(group, codes)]
    return [code | (fmt.sign_mask if minus else 0) for code, minus in zip(codes, negative)], scale


@pytest.mark.parametrize("storage", [torch.float32, torch.bfloat16, E8M0FNU, E4M3FN], ids=str)
@pytest.mark.parametrize("fmt", [*FLOAT_ELEMENTS, "int8", "int4"], ids=lambda fmt: getattr(fmt, "name", fmt))
def test_codes_and_scales_by_the_book(fmt, storage):
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(12, 20, generator=generator) * 2.0 ** torch.randint(-3, 5, (12, 1), generator=generator)
    rows[0] = 0.0
    rows[1] = 3.0
    rows[2, ::2] = -0.0
    rows[3] = torch.arange(20) * 0.5 - 5  # ties, when the scale is a power of two
    q = quantize(rows, fmt, Group(8), scale_format=storage)  # 8, 8 and a short 4
    codes, scales = q.codes.tolist(), q.scales.tolist()
    for row, start in itertools.product(range(12), (0, 8, 16)):
        expected, scale = by_the_book(rows[row, start : start + 8].tolist(), fmt, storage)
        assert Fraction(scales[row][start // 8]) == scale, (row, start)
        assert codes[row][start : start + 8] == expected, (row, start)
        values = torch.tensor([float(float32(Fraction(v) * scale)) for v in _values(expected, fmt)])
        assert torch.equal(q.dequantize()[row, start : start + 8], values)


def _values(codes, fmt):
    return codes if isinstance(fmt, str) else [exact(code, fmt) for code in codes]


LAYOUTS = {
    "tensor": (PerTensor(), lambda b, h, t, d: 0),
    "head": (PerHead(), lambda b, h, t, d: h),
    "batch and head": (PerHead((0, 1)), lambda b, h, t, d: (b, h)),
    "token": (PerToken(), lambda b, h, t, d: (b, h, t)),
    "token, all heads": (PerToken(over=(-3, -1)), lambda b, h, t, d: (b, t)),
    "channel": (PerChannel(), lambda b, h, t, d: (b, h, d)),
    "group of channels": (Group(4), lambda b, h, t, d: (b, h, t, d // 4)),
    "group of tokens": (Group(3, axis=-2), lambda b, h, t, d: (b, h, t // 3, d)),
    "groups longer than the row": (Group(999), lambda b, h, t, d: (b, h, t)),
    "groups of one": (Group(1), lambda b, h, t, d: (b, h, t, d)),
}


@pytest.mark.parametrize("rule", ["absmax", "percentile", "mse", "ocp"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_each_granularity_shares_scales_as_it_says(name, rule):
    """Members are collected by a loop; quantizing each group alone must give the same codes and the same scale."""
    granularity, group_of = LAYOUTS[name]
    x = (
        torch.randn(2, 3, 7, 10, generator=torch.Generator().manual_seed(2))
        * torch.tensor([1, 100, 0.01])[:, None, None]
    )
    q = quantize(x, E4M3FN, granularity, rule, percentile=90)
    members: dict = {}
    for index in itertools.product(*map(range, x.shape)):
        members.setdefault(group_of(*index), []).append(index)
    assert q.scales.numel() == len(members)
    spread_scales = q.scales.expand(x.shape) if name not in ("group of channels", "group of tokens") else None
    for indices in members.values():
        where = tuple(torch.tensor(axis) for axis in zip(*indices))
        alone = quantize(x[where], E4M3FN, PerTensor(), rule, percentile=90)
        assert torch.equal(q.codes[where], alone.codes)
        assert torch.equal(q.dequantize()[where], alone.dequantize())
        if spread_scales is not None:
            assert (spread_scales[where] == alone.scales).all()


def test_percentile_is_a_value_of_the_group_and_mse_is_never_worse_than_absmax():
    x = torch.randn(16, 64, generator=torch.Generator().manual_seed(3))
    x[:, 5] *= 30
    q = quantize(x, "int8", PerToken(), "percentile", percentile=95)
    rank = int(np.ceil(0.95 * 64))
    assert torch.equal(q.scales[:, 0], x.abs().sort(-1).values[:, rank - 1] / 127)
    for fmt in ("int8", "int4", E2M1FN, E4M3FN):
        for storage in (torch.float32, torch.bfloat16, E8M0FNU):
            errors = [
                (quantize(x, fmt, Group(16), rule, storage).dequantize() - x)
                .double()
                .square()
                .reshape(16, 4, 16)
                .sum(-1)
                for rule in ("absmax", "mse")
            ]
            assert (errors[1] <= errors[0] * (1 + 1e-6)).all()
            if storage != E8M0FNU:  # there the next scale is half as large and clips more than it gains
                assert (errors[1] < errors[0]).any()


def test_percentile_of_a_group_of_mostly_zeros_is_not_zero():
    x = torch.zeros(1, 1000)
    x[0, 7] = 5.0
    assert quantize(x, "int8", PerToken(), "percentile", percentile=90).dequantize()[0, 7] == 5.0


# Public bugs, with the right codes


def test_all_zero_constant_and_negative_zero_groups():  # vllm#26174, torchao 0.18, optimum-quanto 0.2.7 give NaN
    x = torch.stack([torch.zeros(64), torch.full((64,), 3.0), torch.full((64,), -0.0)])
    for fmt in (E4M3FN, E4M3FNUZ, E2M1FN, "int8", "int4"):
        for storage in (torch.float32, torch.bfloat16, E8M0FNU, E4M3FN):
            q = quantize(x, fmt, Group(64), scale_format=storage)
            assert (q.codes[0] == 0).all() and q.scales[0] == 1 and q.scales[2] == 1
            assert (q.dequantize()[[0, 2]] == 0).all()
            assert q.dequantize()[1, 0].item() == pytest.approx(3.0, rel=0.26)


def test_scale_is_rounded_before_it_divides():  # transformers#46763: ones(64) came back as 1.75
    for storage in (torch.bfloat16, E8M0FNU, E4M3FN):
        for fmt in (E4M3FN, E2M1FN, "int8"):
            q = quantize(torch.ones(64), fmt, Group(64), scale_format=storage)
            assert q.dequantize()[0].item() == pytest.approx(1.0, rel=0.13), (fmt, storage)
    assert quantize(torch.ones(64), E4M3FN, Group(64), scale_format=E8M0FNU).dequantize().tolist() == [1.0] * 64


def test_e8m0_rounds_up_and_does_not_saturate():  # mlx#4353: nearest gives [448, 1]
    assert quantize(torch.tensor([640.0, 1.0]), scale_format=E8M0FNU).dequantize().tolist() == [640.0, 1.0]
    q = quantize(torch.tensor([537.6, 1.0]), scale_format=E8M0FNU)  # vllm#49435, #54563: scale 1.2 -> 2, not 1
    assert q.scales.item() == 2.0 and q.codes.tolist() == [0x78, 0x30]


def test_absmax_just_below_a_power_of_two():  # chop#5: log2 in float32 says 5
    q = quantize(torch.tensor([31.999998]), E4M3FN, scale="ocp", scale_format=E8M0FNU)
    assert q.scales.item() == 2.0 ** (4 - 8)


def test_int8_rounds_half_to_even_and_does_not_truncate():  # vllm#45361: compare codes, not closeness
    q = quantize(torch.tensor([0.5, 1.5, 2.5, -0.6, 127.0]), "int8", scale=torch.tensor(1.0))
    assert q.codes.tolist() == [0, 2, 2, -1, 127]


def test_given_scale_divides_and_clamps():  # vllm-xpu-kernels#475
    q = quantize(torch.tensor([1000.0, 0.25, -224.0]), E4M3FN, scale=torch.tensor(0.5))
    assert q.dequantize().tolist() == [224.0, 0.25, -224.0]


def test_fnuz_uses_its_own_maximum():  # vllm#32976: divisor 448 with FNUZ storage
    q = quantize(torch.tensor([300.0, 1.0]), E4M3FNUZ)
    assert q.scales.item() == torch.tensor(300.0).div(240).item() and q.codes[0] == 0x7F


def test_ragged_head_dim():  # lmdeploy#4849, mlx-vlm#2061, mase#321: 96 with groups of 64, 80 with 32
    for width, size in ((96, 64), (80, 32)):
        x = torch.randn(3, width) - 10.0  # all negative: padding must enter no maximum
        q = quantize(x, "int8", Group(size))
        for row in range(3):
            for group in range(-(-width // size)):
                assert q.scales[row, group] == x[row, group * size : (group + 1) * size].abs().max() / 127


def test_heads_of_different_magnitude_in_both_layouts():  # sgl-kernel-xpu#252
    sizes = torch.tensor([1, 1e-3, 30, 1e-5])
    k = torch.randn(2, 4, 16, 8) * sizes[:, None, None]  # [B, H, T, D]
    for layout, axis in ((k, -3), (k.transpose(1, 2), -2)):
        error = (quantize(layout, E4M3FN, PerHead(axis)).dequantize() - layout).movedim(axis, 0).flatten(1).norm(dim=1)
        assert (error / layout.movedim(axis, 0).flatten(1).norm(dim=1)).max() < 0.04
