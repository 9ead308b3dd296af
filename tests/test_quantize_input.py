"""Bad and extreme input of quantize: defined, or refused in words that say what to do."""

from __future__ import annotations

import math

import pytest
import torch

from fp8lab.formats import E2M1FN, E4M3FN, E5M2, E8M0FNU
from fp8lab.quantize import (
    Group,
    PerChannel,
    PerHead,
    PerTensor,
    PerToken,
    QuantizedTensor,
    from_multiplier,
    quantize,
    to_multiplier,
)

FLOAT32_MAX = torch.finfo(torch.float32).max
ELEMENTS = (E4M3FN, E5M2, E2M1FN, "int8", "int4")
STORAGES = (torch.float32, torch.bfloat16, E8M0FNU)


@pytest.mark.parametrize("bad, word", [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")])
@pytest.mark.parametrize("granularity", [PerTensor(), PerToken(), Group(3), PerChannel()], ids=repr)
@pytest.mark.parametrize("fmt", [E4M3FN, E2M1FN, "int8"], ids=str)
def test_nonfinite_is_refused_by_its_first_index_or_kept_in_its_group(fmt, granularity, bad, word):
    clean = torch.randn(4, 8, generator=torch.Generator().manual_seed(4))
    x = clean.clone()
    x[1, 4] = x[1, 5] = x[3, 0] = bad
    with pytest.raises(ValueError, match=rf"x\[1, 4\] is {word}: .*nonfinite='propagate'"):
        quantize(x, fmt, granularity)
    q = quantize(x, fmt, granularity, nonfinite="propagate")
    restored, expected = q.dequantize(), quantize(clean, fmt, granularity).dequantize()
    lost = restored.isnan()
    assert (lost >= ~x.isfinite()).all()
    assert torch.equal(restored[~lost], expected[~lost])
    assert int(q.scales.isnan().sum()) == {PerTensor: 1, PerToken: 2, Group: 2, PerChannel: 3}[type(granularity)]
    assert (q.codes[lost] == 0).all()
    assert torch.equal(QuantizedTensor.from_state(q.state()).dequantize().isnan(), lost)


@pytest.mark.parametrize("rule", ["absmax", "percentile", "mse", "ocp"])
def test_propagate_with_every_rule(rule):
    x = torch.randn(3, 64)
    x[1, 7] = math.inf
    lost = quantize(x, E4M3FN, PerToken(), rule, E8M0FNU, nonfinite="propagate").dequantize().isnan()
    assert lost[1].all() and not lost[[0, 2]].any()


@pytest.mark.parametrize("compiled", [False, True])
def test_float64_beyond_float32_is_named(compiled):
    x = torch.zeros(2, 64, dtype=torch.float64)
    x[1, 3] = 1e300
    with pytest.raises(ValueError, match=r"x\[1, 3\] is 1e\+300, beyond float32"):
        quantize(x, E4M3FN, Group(64), compiled=compiled)


@pytest.mark.parametrize("shape", [(0,), (0, 64), (3, 0), (2, 0, 64)])
@pytest.mark.parametrize("fmt", ELEMENTS, ids=str)
def test_empty(shape, fmt):
    for granularity in (PerTensor(), PerToken(), Group(64), PerHead(0)):
        q = quantize(torch.empty(shape), fmt, granularity)
        assert q.shape == shape and q.dequantize().shape == shape and q.numel() == 0
        assert q.nbytes == q.stored_scales.nbytes and q.bits_per_value == 0
        again = QuantizedTensor.from_state(q.state())
        assert again.shape == shape
    for rule in ("percentile", "mse", "ocp"):
        assert quantize(torch.empty(shape), E4M3FN, PerToken(), rule).dequantize().shape == shape


@pytest.mark.parametrize("fmt", ELEMENTS, ids=str)
def test_without_axes(fmt):
    q = quantize(torch.tensor(-5.0), fmt)
    assert (
        q.shape == () and q.scales.shape == () and q.codes.shape == () and q.dequantize().item() == pytest.approx(-5.0)
    )
    assert QuantizedTensor.from_state(q.state()).dequantize() == q.dequantize()
    with pytest.raises(IndexError, match=r"the tensor has no axes: a single number takes PerTensor\(\)"):
        quantize(torch.tensor(1.0), fmt, PerToken())
    with pytest.raises(TypeError, match="no length"):
        len(q)


@pytest.mark.parametrize("fmt", ELEMENTS, ids=str)
@pytest.mark.parametrize("granularity", [PerTensor(), PerToken(), Group(48), PerChannel()], ids=repr)
def test_layout_dtype_and_gradient_do_not_matter(fmt, granularity):
    base = torch.randn(6, 5, 96, generator=torch.Generator().manual_seed(5)).to(torch.bfloat16).float()
    expected = quantize(base, fmt, granularity)
    as_made = {
        "transposed": base.transpose(0, 1).contiguous().transpose(0, 1),
        "strided": base.repeat_interleave(2, -1)[..., ::2],
        "reversed strides": base.flip(0).contiguous().flip(0),
        "gradient": base.clone().requires_grad_(),
        "bfloat16": base.to(torch.bfloat16),
        "float64": base.double(),
    }
    for name, x in as_made.items():
        before = x.detach().clone()
        q = quantize(x, fmt, granularity)
        assert torch.equal(q.codes, expected.codes) and torch.equal(q.scales, expected.scales), name
        assert torch.equal(x.detach(), before) and not q.codes.requires_grad and not q.dequantize().requires_grad
    half = quantize(base.half(), fmt, granularity)
    assert torch.equal(half.codes, quantize(base.half().float(), fmt, granularity).codes)


@pytest.mark.parametrize("storage", STORAGES, ids=str)
@pytest.mark.parametrize("fmt", ELEMENTS, ids=str)
def test_the_ends_of_float32(fmt, storage):
    """absmax from the smallest subnormal to the largest finite value: finite positive scales, finite values, bounded
    error."""
    for absmax in (2.0**-149, 1e-40, 1e-38, 2.0**-126, 1.32e-36, 1e-7, 1e-5, 1e30, 3.0e38, FLOAT32_MAX):
        x = torch.tensor([[absmax, -absmax / 3, 0.0, absmax / 7]])
        for rule in ("absmax", "percentile", "mse", "ocp"):
            if rule == "ocp" and isinstance(fmt, str):
                continue
            q = quantize(x, fmt, PerToken(), rule, storage, percentile=100)
            scales, restored = q.scales, q.dequantize()
            assert (scales >= 2.0**-126).all() and scales.isfinite().all() and restored.isfinite().all(), (absmax, rule)
            if absmax > 1e-36:  # above the floor of the scales
                assert abs(restored[0, 0].item() - absmax) <= 0.26 * absmax, (absmax, rule)
            else:
                assert abs(restored[0, 0].item() - absmax) <= 2.0**-127, (absmax, rule)


def test_no_cliff_where_448_over_absmax_overflows():
    x = torch.tensor([1.3e-36, 6.5e-37])  # 448 / 1.3e-36 is inf in float32
    assert quantize(x).dequantize().tolist() == pytest.approx(x.tolist(), rel=0.04)


def test_given_scales_are_checked():
    x = torch.ones(2, 3, 4)
    for bad, word in ((0.0, "0.0"), (-1.0, "-1.0"), (math.nan, "nan"), (math.inf, "inf")):
        with pytest.raises(ValueError, match=rf"scale\[1, 2, 0\] is {word}: a scale must be positive and finite"):
            scales = torch.ones(2, 3, 1)
            scales[1, 2] = bad
            quantize(x, "int8", PerToken(), scales)
        for convert in (to_multiplier, from_multiplier):
            with pytest.raises(ValueError, match=rf"\[0\] is {word}"):
                convert(torch.tensor([bad]))
        with pytest.raises(ValueError, match="tensor_scale"):
            quantize(x, E2M1FN, Group(2), scale_format=E4M3FN, tensor_scale=torch.tensor(bad))
    with pytest.raises(ValueError, match=r"scales of shape \(2, 3, 1\), got \(3, 2\)"):
        quantize(x, "int8", PerToken(), torch.ones(3, 2))
    with pytest.raises(ValueError, match="overflows float32"):
        quantize(x, "int8", scale=torch.tensor(1e38))
    bare = torch.rand(2, 3) + 1
    assert torch.equal(
        quantize(x, "int8", PerHead((0, 1)), bare).scales[..., 0], bare
    )  # [layers, kv_heads] as it is kept
    assert quantize(x, "int8", scale=torch.tensor(1e-42)).scales.item() == 2.0**-126
    for tiny in (1e-42, 3e38):
        with pytest.raises(ValueError, match="no normal float32"):
            to_multiplier(torch.tensor([tiny]))


def test_conventions_convert_into_each_other():
    scales = torch.rand(1000) * 10 + 1e-3
    x = torch.randn(1000, 8)
    multiplied = torch.round(x * to_multiplier(scales)[:, None])
    divided = torch.round(x / scales[:, None])
    assert (multiplied - divided).abs().max() <= 1  # ties may fall differently: the reciprocal is rounded
    assert (from_multiplier(to_multiplier(scales)) / scales - 1).abs().max() < 2.0**-22


def test_what_is_refused_says_what_is_accepted():
    x = torch.ones(4)
    refusals = [
        (TypeError, "pass torch.as_tensor", lambda: quantize([1.0])),
        (TypeError, "pass x.float", lambda: quantize(torch.ones(3, dtype=torch.int32))),
        (TypeError, "complex64", lambda: quantize(torch.ones(3, dtype=torch.complex64))),
        (TypeError, r"float8_e4m3fn: .*from_parts\(x.view", lambda: quantize(x.to(torch.float8_e4m3fn))),
        (TypeError, r"float8_e5m2: .*pass x.float\(\)", lambda: quantize(x.to(torch.float8_e5m2), "int8")),
        (TypeError, "asked for torch.int32: for codes read `.codes`", lambda: quantize(x).dequantize(torch.int32)),
        (TypeError, "asked for <class 'int'>", lambda: quantize(x).dequantize(int)),
        (TypeError, "asked for torch.float8_e4m3fn", lambda: quantize(x).dequantize(torch.float8_e4m3fn)),
        (TypeError, "asked for torch.int8", lambda: quantize(x).dequantize(out=torch.empty(4, dtype=torch.int8))),
        (TypeError, r"Group\(.*one axis|Group\(.*axis='a'\): an axis is a whole number", lambda: Group(4, axis="a")),
        (TypeError, "along one axis", lambda: Group(4, axis=(0, 1))),
        (TypeError, r"PerHead\(axis='a'\): an axis is a whole number", lambda: PerHead("a")),
        (TypeError, r"PerToken\(over=1.5\): an axis is a whole number", lambda: PerToken(1.5)),
        (TypeError, r"PerChannel\(over=\(0, None\)\): an axis", lambda: PerChannel((0, None))),
        (TypeError, r"Group\(64\)", lambda: quantize(x, granularity=64)),
        (ValueError, "known are INT8, INT4, E4M3FN", lambda: quantize(x, "fp8")),
        (ValueError, "use e.g. E4M3FN for the data", lambda: quantize(x, E8M0FNU)),
        (ValueError, "float16 overflow above 65504", lambda: quantize(x, scale_format=torch.float16)),
        (ValueError, "float32, bfloat16, E8M0FNU and E4M3FN", lambda: quantize(x, scale_format=E5M2)),
        (ValueError, "float32, bfloat16, E8M0FNU and E4M3FN", lambda: quantize(x, scale_format="float8")),
        (ValueError, "known are absmax, percentile, mse, ocp", lambda: quantize(x, scale="max")),
        (ValueError, "above 0 and up to 100", lambda: quantize(x, scale="percentile", percentile=0)),
        (ValueError, "'raise' or 'propagate'", lambda: quantize(x, nonfinite="ignore")),
        (ValueError, "scale_format=E4M3FN", lambda: quantize(x, tensor_scale="absmax")),
        (
            ValueError,
            "one number for the whole tensor",
            lambda: quantize(x, E2M1FN, scale_format=E4M3FN, tensor_scale=x),
        ),
        (ValueError, "tensor_scale is 'absmax'", lambda: quantize(x, scale_format=E4M3FN, tensor_scale="max")),
        (ValueError, "OCP rule", lambda: quantize(x, "int8", scale="ocp")),
        (ValueError, "at least 1 value, got size 0", lambda: Group(0)),
        (TypeError, "whole number", lambda: Group(2.0)),
        (IndexError, "the tensor has 1 axis: give an axis in -1..0", lambda: quantize(x, granularity=PerHead())),
        (ValueError, "same axis twice", lambda: quantize(torch.ones(2, 2), granularity=PerHead((0, -2)))),
        (ValueError, "pass tensor_scale='absmax'", lambda: quantize(x * 1e6, scale_format=E4M3FN)),
        (ValueError, "no element format is called 'e4m3x'", lambda: quantize(x, "e4m3x")),
        (ValueError, "'e4m3' is ambiguous: write E4M3FN", lambda: quantize(x, "e4m3")),
        (ValueError, "'e4m3' is ambiguous: write E4M3FN", lambda: quantize(x, scale_format="e4m3")),
        (ValueError, "accepted are float32", lambda: quantize(x, scale_format="E4M3")),
        (TypeError, "out is an earlier QuantizedTensor", lambda: quantize(x, out=torch.empty(3))),
        (ValueError, "out was made for", lambda: quantize(x, out=quantize(torch.ones(5)))),
    ]
    for error, words, call in refusals:
        with pytest.raises(error, match=words):
            call()
