"""Properties of quantize that hold for any data: equivariance, error bounds, idempotence, and the same bytes on every
path."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays

from fp8lab import grouped
from fp8lab.codec import decode
from fp8lab.formats import E2M1FN, E2M3FN, E3M2FN, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, E8M0FNU
from fp8lab.quantize import Group, PerChannel, PerHead, PerTensor, PerToken, quantize
from fp8lab.rotate import rotate

ELEMENTS = [E4M3FN, E5M2, E4M3FNUZ, E5M2FNUZ, E3M2FN, E2M3FN, E2M1FN, "int8", "int4"]
NARROW = [torch.bfloat16, E8M0FNU]
GRANULARITIES = [PerTensor(), PerHead(), PerToken(), PerChannel(), Group(4), Group(3), Group(2, axis=-2), Group(1)]
tensors = arrays.arrays(
    "float32",
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 9)),
    elements=st.floats(-(2.0**40), 2.0**40, width=32, allow_subnormal=False).map(
        lambda v: 0.0 if abs(v) < 2.0**-40 else v
    ),
).map(torch.from_numpy)
elements, granularities = st.sampled_from(ELEMENTS), st.sampled_from(GRANULARITIES)
storages = st.sampled_from([torch.float32, *NARROW])
rules = st.sampled_from(["absmax", "mse", "percentile"])


@settings(max_examples=300, deadline=None)
@given(
    tensors, elements, granularities, storages, st.sampled_from(["absmax", "mse", "percentile"]), st.integers(-30, 30)
)
def test_equivariant_by_powers_of_two(x, fmt, granularity, storage, rule, power):
    q = quantize(x, fmt, granularity, rule, storage, percentile=80)
    scaled = quantize(x * 2.0**power, fmt, granularity, rule, storage, percentile=80)
    assert torch.equal(scaled.codes, q.codes)
    nonzero = quantize(x, "int8", granularity).dequantize() != 0
    assert torch.equal(scaled.dequantize()[nonzero], q.dequantize()[nonzero] * 2.0**power)


@settings(max_examples=200, deadline=None)
@given(tensors, elements, granularities, storages)
def test_sign_symmetric(x, fmt, granularity, storage):
    q, mirrored = quantize(x, fmt, granularity, "absmax", storage), quantize(-x, fmt, granularity, "absmax", storage)
    assert torch.equal(mirrored.dequantize(), -q.dequantize()) and torch.equal(mirrored.scales, q.scales)


def error_bound(x: torch.Tensor, scales: torch.Tensor, fmt) -> torch.Tensor:
    """Largest |restored - x| for |x| / s inside the grid: half a step, s/2 for integers, half an ulp of x/s times s
    for floats.

    Plus what float32 adds: half an ulp of the quotient and of the product, 2^-23 of |x| together.
    """
    if isinstance(fmt, str):
        step = scales.double() * 0.5
    else:
        octave = torch.frexp((x.double() / scales.double()).abs()).exponent - 1
        step = scales.double() * torch.exp2(octave.clamp(min=1 - fmt.bias) - fmt.mantissa_bits - 1.0)
    return step + x.double().abs() * 2.0**-22


@settings(max_examples=300, deadline=None)
@given(tensors, elements, granularities, storages)
def test_error_bound_per_granularity(x, fmt, granularity, storage):
    q = quantize(x, fmt, granularity, "absmax", storage)
    scales = torch.stack([q.scales[tuple(i // b for i, b in zip(at, q.blocks))] for at in every_index(x)]).reshape(
        x.shape
    )
    error = (q.dequantize().double() - x.double()).abs()
    bound = error_bound(x, scales, fmt)
    if storage is torch.bfloat16:  # absmax / s can pass the top by 2^-8: it clips there
        bound = bound + x.double().abs() * 2.0**-8
    assert (error <= bound).all(), ((error - bound).max(), q)


def every_index(x):
    return torch.cartesian_prod(*[torch.arange(n) for n in x.shape]).reshape(-1, x.ndim).tolist()


@settings(max_examples=200, deadline=None)
@given(tensors, elements, granularities, storages)
def test_restored_values_are_a_fixed_point(x, fmt, granularity, storage):
    """Quantizing what came back changes no value: exactly with narrow scales, within an ulp of the scale with float32
    ones."""
    q = quantize(x, fmt, granularity, "absmax", storage)
    again = quantize(q.dequantize(), fmt, granularity, "absmax", storage)
    if storage in NARROW:
        assert torch.equal(again.dequantize(), q.dequantize())
    else:
        assert torch.equal(again.codes, q.codes)
        assert ((again.scales / q.scales - 1).abs() <= 2.0**-23).all()
    if storage is torch.bfloat16:  # code x scale is exact, and the largest code stays the largest: nothing moves at all
        assert torch.equal(again.codes, q.codes) and torch.equal(again.scales, q.scales)


@settings(max_examples=200, deadline=None)
@given(tensors, elements, granularities)
def test_given_its_own_scales_nothing_moves(x, fmt, granularity):
    q = quantize(x, fmt, granularity)
    again = quantize(q.dequantize(), fmt, granularity, q.scales)
    assert torch.equal(again.codes, q.codes) and torch.equal(again.scales, q.scales)


@settings(max_examples=100, deadline=None)
@given(tensors)
def test_finer_groups_never_have_larger_scales(x):
    coarse, fine = (quantize(x, "int8", g).scales for g in (Group(4), Group(2)))
    parents = coarse.repeat_interleave(2, -1)[..., : fine.shape[-1]]
    nonzero = quantize(x, "int8", Group(2)).scales != 1
    assert (fine <= parents)[nonzero].all()


PATHS = [(fmt, torch.float32, torch.float32) for fmt in (E4M3FN, E5M2, "int8")]
PATHS += [(E4M3FN, storage, torch.float32) for storage in NARROW] + [("int8", torch.bfloat16, torch.bfloat16)]


@pytest.mark.slow
@pytest.mark.parametrize("fmt, storage, dtype", PATHS, ids=str)
def test_same_bytes_on_every_path(fmt, storage, dtype):
    """Blocked, plain (by way of the transposed layout) and compiled."""
    x = torch.randn(3, 700, 160, generator=torch.Generator().manual_seed(9)).to(dtype)
    x[0, :5] = 0.0
    x[1] *= 1e-38
    blocked = quantize(x, fmt, Group(64), scale_format=storage)
    plain = quantize(x.transpose(-1, -2), fmt, Group(64, axis=-2), scale_format=storage).transpose(-1, -2)
    compiled = quantize(x, fmt, Group(64), scale_format=storage, compiled=True)
    for other in (plain, compiled):
        assert torch.equal(other.codes, blocked.codes)
        assert torch.equal(other.stored_scales, blocked.stored_scales)
    values = blocked.dequantize()
    assert torch.equal(plain.dequantize(), values)
    assert torch.equal(blocked.dequantize(compiled=True), values)
    assert torch.equal(blocked.dequantize(torch.bfloat16, compiled=True), values.to(torch.bfloat16))


@pytest.mark.parametrize("storage", [torch.float32, *NARROW, E4M3FN], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_many_blocks_are_one(monkeypatch, storage, dtype):
    """Blocks of three rows, the last one shorter; groups with a short tail; zeros, huge and tiny groups."""
    x = torch.randn(2, 25, 70, generator=torch.Generator().manual_seed(4)).to(dtype)
    x[0, 7:9] = 0.0
    if storage != E4M3FN:  # which refuses such scales
        x[1, 3] *= 1e-40
        x[1, 4:20:3] *= torch.finfo(torch.float32).max / 8
    for fmt, size in itertools.product((E4M3FN, E5M2, "int8"), (1, 16, 64, 70, 90)):
        want = quantize(x, fmt, Group(size), scale_format=storage)
        with monkeypatch.context() as small:
            small.setattr(grouped, "FEW_VALUES", 3 * 70)
            assert grouped._rows_at_a_time(x.view(50, 70), whole=False) == 3
            got = quantize(x, fmt, Group(size), scale_format=storage)
            values = got.dequantize(dtype)
        plain = quantize(x.transpose(-1, -2), fmt, Group(size, axis=-2), scale_format=storage).transpose(-1, -2)
        for other in (got, plain):
            assert torch.equal(other.codes, want.codes) and torch.equal(other.stored_scales, want.stored_scales)
        assert torch.equal(values, plain.dequantize(dtype))


def test_compiled_refuses_what_it_cannot_do():
    x = torch.randn(4, 64)
    q = quantize(x, E4M3FN, PerChannel())
    with pytest.raises(ValueError, match="scales along the last axis"):
        q.dequantize(compiled=True)
    with pytest.raises(ValueError, match="contiguous codes and out, given a view"):
        quantize(x, E4M3FN, PerToken()).dequantize(out=torch.empty(64, 4).T, compiled=True)
    refused = {
        r"scales along the last axis only, given PerChannel\(over=-2\) on a tensor of 2 axes": ("E4M3FN", PerChannel()),
        r"scales along the last axis only, given PerTensor\(\) on a tensor of 2 axes": (),
        "8-bit codes, given INT4, which has 4": ("int4", Group(64)),
        "8-bit codes, given E2M1FN, which has 4": ("E2M1FN", Group(64)),
        "scale='absmax', given scale='mse'": ("E4M3FN", Group(64), "mse"),
        "scale='absmax', given scales as a tensor": ("E4M3FN", Group(64), torch.ones(4, 1)),
        "scales stored as float32, bfloat16 or E8M0FNU, given scale_format=E4M3FN": (
            "E4M3FN",
            Group(64),
            "absmax",
            "E4M3FN",
        ),
    }
    for words, arguments in refused.items():
        with pytest.raises(ValueError, match=f"compiled=True needs {words}: leave compiled out"):
            quantize(x, *arguments, compiled=True)
    with pytest.raises(ValueError, match="compiled=True needs tensor_scale=None, given tensor_scale='absmax': leave"):
        quantize(x, E4M3FN, Group(64), scale_format=E4M3FN, tensor_scale="absmax", compiled=True)


@pytest.mark.parametrize("shape", [(0,), (0, 64), (3, 0), (2, 0, 64), ()])
def test_compiled_with_nothing_to_compile_is_what_eager_gives(shape):
    x = torch.full(shape, -3.0)
    for granularity in (PerToken(), Group(64)) if shape else (PerTensor(),):
        want = quantize(x, E4M3FN, granularity)
        got = quantize(x, E4M3FN, granularity, compiled=True)
        assert torch.equal(got.codes, want.codes) and torch.equal(got.stored_scales, want.stored_scales)
        assert torch.equal(got.dequantize(compiled=True), want.dequantize())


# What groups buy (measured in facts, section 1): the numbers a lesson prints must come out of this code


def relative_rms(x, q):
    return ((q.dequantize() - x).norm() / x.norm()).item()


def test_groups_buy_float8_range_not_precision():
    x = torch.randn(4096, 128, generator=torch.Generator().manual_seed(10))
    expected = {  # percent: E4M3FN, int8, int4
        PerTensor(): (2.63, 1.08, 19.7),
        PerToken(): (2.56, 0.63, 11.5),
        Group(16): (2.23, 0.47, 8.5),
    }
    for granularity, figures in expected.items():
        for fmt, percent in zip((E4M3FN, "int8", "int4"), figures):
            assert 100 * relative_rms(x, quantize(x, fmt, granularity)) == pytest.approx(percent, rel=0.12)


def test_power_of_two_scales_cost_little_when_rounded_up():
    x = torch.randn(4096, 128, generator=torch.Generator().manual_seed(11))
    up = quantize(x, E4M3FN, PerToken(), scale_format=E8M0FNU)
    assert 100 * relative_rms(x, up) == pytest.approx(2.65, rel=0.03)
    assert (decode(up.codes).abs() < 448).any() and up.dequantize().abs().max() <= x.abs().max() * 1.07


def test_rotation_flattens_outlier_channels():
    k = torch.randn(512, 128, generator=torch.Generator().manual_seed(12))
    k[:, [3, 77]] += 300.0
    turned = rotate(k)
    plain, rotated = (quantize(t, "int8", PerToken()).dequantize() for t in (k, turned))
    others = [c for c in range(128) if c not in (3, 77)]
    before, after = ((r - k)[:, others].norm() / k[:, others].norm() for r in (plain, rotate(rotated)))
    assert after < before / 1.5
