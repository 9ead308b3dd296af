"""Measures of error: their definitions, and what they must tell apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fp8lab.fold import folded_attention, k_folds_into, v_folds_into
from fp8lab.formats import E4M3FN, E8M0FNU
from fp8lab.metrics import attention, attention_output_error, cosine, mse, relative_error, sqnr_db
from fp8lab.quantize import Group, PerChannel, PerHead, PerTensor, PerToken, quantize
from fp8lab.rotate import hadamard, rotate, rotation_block


def normal(*shape, seed=40):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_mse_and_sqnr_are_numpys():
    x, y = normal(1000), normal(1000, seed=41)
    a, b = x.numpy().astype(np.float64), y.numpy().astype(np.float64)
    assert mse(x, y) == pytest.approx(np.mean((a - b) ** 2), rel=1e-12)
    assert sqnr_db(x, y) == pytest.approx(10 * np.log10(np.sum(a**2) / np.sum((a - b) ** 2)), rel=1e-12)
    assert mse(x.bfloat16(), x.bfloat16()) == 0 and sqnr_db(x, x) == math.inf
    assert sqnr_db(torch.zeros(3), torch.ones(3)) == -math.inf and sqnr_db(torch.zeros(3), torch.zeros(3)) == math.inf
    assert math.isnan(mse(x, x * math.nan)) and math.isnan(sqnr_db(x, x * math.nan))
    assert mse(torch.tensor([1e30]), torch.tensor([3e30])) == pytest.approx(4e60)  # float32 would overflow


def test_a_bit_is_six_decibels():
    x = torch.rand(1 << 16, generator=torch.Generator().manual_seed(42)) * 2 - 1
    q8, q4 = (sqnr_db(x, quantize(x, fmt).dequantize()) for fmt in ("int8", "int4"))
    assert (q8 - q4) / (math.log2(127) - math.log2(7)) == pytest.approx(6.02, abs=0.05)


def test_quantiles_by_nearest_rank():
    x = torch.arange(1.0, 11.0)
    restored = x * (1 + torch.arange(1.0, 11.0) / 100)
    error = relative_error(x, restored, (0.1, 0.5, 0.95, 1.0))
    assert list(error.quantiles.values()) == pytest.approx([0.01, 0.05, 0.1, 0.1], rel=1e-5)
    assert error.worst == error.quantiles and error.worst_head == 0


def test_zeros_count_only_when_they_do_not_come_back():
    x = torch.tensor([0.0, 0.0, 2.0])
    assert relative_error(x, torch.tensor([0.0, 0.0, 1.0])).quantiles[0.5] == 0.5
    assert relative_error(x, torch.tensor([1e-9, 0.0, 2.0])).quantiles[1.0] == math.inf
    assert relative_error(x, torch.tensor([0.0, 0.0, math.nan])).quantiles[1.0] == math.inf
    assert relative_error(torch.zeros(4), torch.zeros(4)).quantiles[1.0] == 0.0


def test_the_worst_head_is_seen_where_the_median_is_blind():
    """Heads scaled 1, 1e-3, 30, 1e-5 under one scale: the smallest is gone, the median of all reads a few percent."""
    k = normal(2, 4, 64, 32) * torch.tensor([1, 1e-3, 30, 1e-5])[:, None, None]
    error = relative_error(k, quantize(k, E4M3FN, PerTensor()).dequantize(), head_axis=1)
    assert error.quantiles[0.5] < 0.05 and error.worst[0.5] == 1.0 and error.worst_head == 3
    healed = relative_error(k, quantize(k, E4M3FN, PerHead()).dequantize(), head_axis=1)
    assert healed.worst[0.5] < 0.04
    by_hand = [relative_error(k[:, h], quantize(k, E4M3FN).dequantize()[:, h]).quantiles for h in range(4)]
    assert error.worst == {q: max(head[q] for head in by_hand) for q in error.worst}


def test_cosine():
    x, y = normal(50), normal(50, seed=43)
    assert cosine(x, y) == pytest.approx(F.cosine_similarity(x.double(), y.double(), dim=0).item(), rel=1e-12)
    assert cosine(x, 3 * x) == pytest.approx(1.0) and cosine(torch.zeros(3), torch.zeros(3)) == 1.0
    assert cosine(torch.zeros(2, 3), torch.eye(2, 3), axis=-1) == 0.0


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_torchs(causal):
    query, k, v = (
        normal(2, 6, 9, 16).double(),
        normal(2, 3, 9, 16, seed=44).double(),
        normal(2, 3, 9, 8, seed=45).double(),
    )
    wide_k, wide_v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    expected = F.scaled_dot_product_attention(query, wide_k, wide_v, is_causal=causal)
    assert torch.allclose(attention(query, k, v, causal=causal), expected, rtol=1e-12, atol=1e-14)
    last = attention(query[:, :, -1:], k, v, causal=True)  # decode: one query at the end sees everything
    assert torch.allclose(
        last, F.scaled_dot_product_attention(query[:, :, -1:], wide_k, wide_v), rtol=1e-12, atol=1e-14
    )
    with pytest.raises(ValueError, match="multiple of kv_heads"):
        attention(query[:, :4], k, v)


def test_attention_error_sees_a_dropped_scale_and_a_bad_head():  # vllm#42580, #51363, flashinfer#4979
    query, k, v = normal(1, 4, 32, 64), normal(1, 2, 32, 64, seed=46), normal(1, 2, 32, 64, seed=47)
    assert attention_output_error(query, k, v, k, v).overall == 0
    stored = quantize(k, E4M3FN, PerToken())
    other = quantize(k, E4M3FN, PerToken(), stored.scales * 4)  # other codes, other scales, the same K
    pair = [attention_output_error(query, k, v, q.dequantize(), v).overall for q in (stored, other)]
    assert pair[1] == pytest.approx(pair[0], rel=0.2) and pair[0] < 0.02
    assert attention_output_error(query, k, v, stored.dequantize() * 4, v).overall > 0.2
    broken = v.clone()
    broken[:, 1] *= 2
    error = attention_output_error(query, k, v, k, broken)
    assert error.worst == pytest.approx(1.0) and error.worst_head in (2, 3) and error.overall < 0.9
    silent = attention_output_error(query, k, v * 0, k, v * 0)
    assert silent.overall == silent.worst == 0
    assert attention_output_error(query, k, v, k * math.nan, v).worst == math.inf


def test_shapes_are_checked():
    for measure in (mse, sqnr_db, relative_error, cosine):
        with pytest.raises(ValueError, match=r"differ in shape: \(2,\) and \(3,\)"):
            measure(torch.ones(2), torch.ones(3))
        with pytest.raises(ValueError, match="nothing to compare"):
            measure(torch.ones(0), torch.ones(0))
    with pytest.raises(ValueError, match="quantiles lie above 0"):
        relative_error(torch.ones(2), torch.ones(2), quantiles=(0.0,))
    with pytest.raises(ValueError, match="keep their shape"):
        attention_output_error(*[torch.ones(1, 2, 2)] * 3, torch.ones(1, 1, 2), torch.ones(1, 2, 2))


# Folding, judged on the attention output in float64

K_PLACES = {PerTensor(): "softmax scale", PerHead(): "softmax scale", PerChannel(): "query", PerToken(): "score column"}
V_PLACES = {PerTensor(): "output", PerHead(): "output", PerChannel(): "output", PerToken(): "probabilities"}


@pytest.mark.parametrize("v_granularity", V_PLACES, ids=repr)
@pytest.mark.parametrize("k_granularity", K_PLACES, ids=repr)
@pytest.mark.parametrize("causal", [False, True])
def test_folded_scales_change_nothing(k_granularity, v_granularity, causal):
    query, k, v = normal(2, 6, 5, 32), normal(2, 3, 20, 32, seed=48), normal(2, 3, 20, 32, seed=49)
    k = quantize(k * torch.tensor([1, 30, 0.01])[:, None, None], E4M3FN, k_granularity)
    v = quantize(v * torch.tensor([1, 1e-3, 50])[:, None, None], "int8", v_granularity, scale_format=E8M0FNU)
    assert (k_folds_into(k), v_folds_into(v)) == (K_PLACES[k_granularity], V_PLACES[v_granularity])
    folded, plain = folded_attention(query, k, v, causal=causal), plain_attention(query, k, v, causal)
    assert (folded - plain).norm() / plain.norm() < 1e-13


def plain_attention(query, k, v, causal):
    """code x scale in float64, so that only the order of the products differs from folding."""
    k, v = (q.scales.double() * quantize_values(q) for q in (k, v))
    return attention(query, k, v, causal=causal)


def quantize_values(q):
    unit = (
        torch.ones_like(q.stored_scales) if q.scale_format is torch.float32 else torch.full_like(q.stored_scales, 127)
    )
    return type(q)(q.payload, unit, q.fmt, q.scale_format, q.blocks, q.shape).dequantize().double()


def test_groups_inside_head_dim_do_not_fold():
    kv = quantize(normal(1, 2, 8, 64), E4M3FN, Group(32))
    assert k_folds_into(kv) is None and v_folds_into(kv) is None
    query = normal(1, 2, 8, 64)
    with pytest.raises(ValueError, match=r"scales of k in blocks \(1, 1, 1, 32\).*dequantize"):
        folded_attention(query, kv, quantize(normal(1, 2, 8, 64), E4M3FN))
    with pytest.raises(ValueError, match="scales of v"):
        folded_attention(query, quantize(normal(1, 2, 8, 64), E4M3FN), kv)
    with pytest.raises(ValueError, match="do not share 2 KV heads evenly"):
        folded_attention(normal(1, 3, 8, 64), *[quantize(normal(1, 2, 8, 64), E4M3FN)] * 2)
    with pytest.raises(ValueError, match="kv_heads, tokens, head_dim"):
        k_folds_into(quantize(normal(8, 64), E4M3FN))


# Rotation, and which axis, judged the same way


@pytest.mark.parametrize("n", [1, 2, 64, 96, 80, 7])
def test_rotation_is_a_blockwise_hadamard_product_and_its_own_inverse(n):
    x = normal(3, n, 5).double()
    block = rotation_block(n)
    matrix = torch.block_diag(*[hadamard(block)] * (n // block))
    assert torch.allclose(rotate(x, axis=1), torch.einsum("ij,ajb->aib", matrix, x), atol=1e-12)
    assert torch.allclose(rotate(rotate(x, 1), 1), x, atol=1e-12)
    assert torch.equal(hadamard(block), hadamard(block).T) and block & (block - 1) == 0
    for bad in (0, 3, 96):
        with pytest.raises(ValueError, match="power of two"):
            hadamard(bad)


def test_rotated_attention_is_the_attention_rotated():
    query, k, v = (normal(1, 2, 12, 64, seed=seed).double() for seed in (50, 51, 52))
    turned = attention(rotate(query), rotate(k), rotate(v))
    assert torch.allclose(rotate(turned), attention(query, k, v), rtol=1e-10, atol=1e-12)


def outlier_attention():
    """K with two channels at +-300 as a bias, V without: what Qwen2.5 does to a KV cache."""
    query, k, v = normal(1, 4, 64, 128), normal(1, 2, 64, 128, seed=53), normal(1, 2, 64, 128, seed=54)
    k[..., 7] += 300.0
    k[..., 90] -= 300.0
    query[..., [7, 90]] *= 0.02
    return query, k, v


def test_k_wants_channels_and_v_wants_tokens():
    query, k, v = outlier_attention()
    axes = (PerToken(), PerChannel())
    k_errors = [attention_output_error(query, k, v, quantize(k, "int8", g).dequantize(), v).overall for g in axes]
    assert k_errors[1] < k_errors[0] / 10
    sink = v.clone()
    sink[..., 0, :] *= 5000  # a token that dwarfs the others takes their int8 codes, when it shares their scale
    v_errors = [relative_error(sink, quantize(sink, "int8", g).dequantize()).quantiles[0.5] for g in axes]
    assert v_errors[0] < 0.02 and v_errors[1] == 1.0


def test_rotation_helps_k_with_outlier_channels():
    query, k, v = outlier_attention()
    plain = quantize(k, "int8", PerToken()).dequantize()
    turned = rotate(quantize(rotate(k), "int8", PerToken()).dequantize())
    before, after = (attention_output_error(query, k, v, restored, v).overall for restored in (plain, turned))
    assert after < before / 2
