"""What the launchers accept, on both paths, by the kernel and in torch: formats by name, padded block tables, memory
that is not what it seems, inference mode and gradients, any group size; and the cache, what it says of itself."""

import numpy as np
import pytest
import torch
from kernel_paths import path  # noqa: F401
from paged_attention_bound import LENGTHS, TABLE, filled_cache, some_queries

from fp8lab.formats import E4M3FN, E5M2, E8M0FNU
from fp8lab.granularity import Group
from fp8lab.kernels import KVCache, dequantize_group, paged_attention, quantize_group, write_kv
from fp8lab.quantize import quantize
from fp8lab.quantized import QuantizedTensor

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
FORMATS = pytest.mark.parametrize("fmt", ["E4M3FN", "e5m2"])


def tokens(seed=4):
    return torch.randn(2, 5, 2, 96, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def empty_cache(**options):
    return KVCache.empty(4, 16, 2, 96, 64, device=DEVICE, **options)


def slots():
    return torch.tensor([63, 0, 17, 16, 40], device=DEVICE)


def attended(query, cache, table=TABLE, lengths=LENGTHS, **options):
    return paged_attention(query.to(DEVICE), cache.to(DEVICE), table.to(DEVICE), lengths.to(DEVICE), **options).cpu()


# ---- formats by name


@FORMATS
@pytest.mark.parametrize("name, storage", [("E8M0FNU", E8M0FNU), ("float32", torch.float32)])
def test_formats_by_name_are_the_formats(name, storage, fmt):
    x = torch.randn(5, 96, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    want = quantize(x.cpu(), fmt, Group(64), scale_format=storage)
    got = quantize_group(x, 64, fmt, name).to("cpu")
    assert got.fmt is want.fmt and got.scale_format is storage
    assert torch.equal(got.codes, want.codes) and torch.equal(got.stored_scales, want.stored_scales)
    assert torch.equal(dequantize_group(quantize_group(x, 64, fmt, name)).cpu(), want.dequantize())
    made = KVCache.empty(4, 16, 2, 96, 64, fmt=fmt, scale_format=name)
    assert made.fmt is want.fmt and made.scale_format is storage


def test_a_quantized_tensor_put_together_with_the_name_of_its_scales_is_read_as_what_it_says():
    q = quantize(torch.tensor([[3.0, 448.0]]), E4M3FN, Group(2), scale_format=E8M0FNU)
    named = QuantizedTensor(q.payload, q.stored_scales, "E4M3FN", "E8M0FNU", q.blocks, q.shape)
    assert torch.equal(dequantize_group(named), q.dequantize())


# ---- the cache


def test_a_cache_takes_the_name_of_its_format():
    cache = filled_cache(E5M2)
    assert KVCache(cache.k_codes, cache.k_scales, cache.v_codes, cache.v_scales, 32, "e5m2").fmt is E5M2
    assert KVCache.empty(np.int64(4), 16, 2, 64, np.int32(32)).group_size == 32


def test_a_cache_of_no_blocks_knows_the_bytes_of_a_token():
    none, some = KVCache.empty(0, 16, 2, 96, 64), KVCache.empty(3, 16, 2, 96, 64)
    assert none.bytes_per_token == some.bytes_per_token == 2 * 2 * (96 + 2 * 4)
    assert none.nbytes == 0 and some.nbytes == sum(t.nbytes for t in some._tensors())


def test_a_cache_is_itself_and_says_what_it_is_in_one_line():
    cache, other = filled_cache(v_head_dim=48), filled_cache(v_head_dim=48)
    assert cache == cache and cache != other and len({cache, other, cache}) == 2
    assert "\n" not in repr(cache) and len(repr(cache)) < 200
    for word in (
        "20 blocks of 16 tokens",
        "2 KV heads",
        "head_dim 64 and 48 of V",
        "E4M3FN",
        "groups of 32",
        "float32",
    ):
        assert word in repr(cache)


# ---- the block table


@pytest.mark.parametrize("padding", [-1, 20, 2**31 - 1])
def test_pages_that_are_not_read_may_hold_anything(padding):
    query, cache = some_queries(torch.float32), filled_cache()
    padded = TABLE.clone()
    padded[1], padded[2, 3:] = padding, padding
    assert torch.equal(attended(query, cache, padded), attended(query, cache))
    padded[0, :2] = padding  # before a window of 58: token 32 is the first that is seen
    assert torch.equal(attended(query, cache, padded, window=58), attended(query, cache, window=58))
    with pytest.raises(ValueError, match=rf"0..19 .*; given {padding} in page 1 of sequence 0, whose length is 90"):
        paged_attention(query, cache, padded, LENGTHS, window=59)


def test_a_page_within_the_length_must_be_a_block():
    padded = TABLE.clone()
    padded[2, 2] = -1
    with pytest.raises(ValueError, match="blocks 0..19 .*; given -1 in page 2 of sequence 2, whose length is 33"):
        paged_attention(some_queries(torch.float32), filled_cache(), padded, LENGTHS)


# ---- memory that is not what it seems, and gradients


def negated(x):
    """The same numbers as x, in memory that holds their negatives: as `z.conj().imag`, but without gaps."""
    seen = torch._neg_view(-x)
    assert seen.is_neg() and torch.equal(seen, x) and seen.is_contiguous()
    return seen


def test_negated_views_are_read_with_their_signs():
    (k, v), cache, query = tokens(), empty_cache(), some_queries(torch.float32)
    write_kv(negated(k), negated(v), cache, slots())
    want = empty_cache()
    write_kv(k, v, want, slots())
    for one, other in zip(cache._tensors(), want._tensors()):
        assert torch.equal(one, other)
    q = quantize_group(k, 64)
    assert torch.equal(quantize_group(negated(k), 64).codes, q.codes)
    scales = QuantizedTensor(q.payload, negated(q.stored_scales), q.fmt, q.scale_format, q.blocks, q.shape)
    assert torch.equal(dequantize_group(scales), dequantize_group(q))
    assert torch.equal(attended(negated(query), filled_cache()), attended(query, filled_cache()))


def test_a_cache_in_negated_memory_is_refused():
    cache = filled_cache()
    with pytest.raises(ValueError, match="k_scales is a view that negates its memory"):
        KVCache(cache.k_codes, negated(cache.k_scales), cache.v_codes, cache.v_scales, 32)


@pytest.mark.parametrize("cached_in_inference", [True, False])
@pytest.mark.parametrize("called_in_inference", [True, False])
def test_inference_mode_changes_nothing(cached_in_inference, called_in_inference):
    with torch.inference_mode(cached_in_inference):
        cache = empty_cache()
    with torch.inference_mode(called_in_inference):
        (k, v), query = tokens(), torch.ones(1, 4, 96, device=DEVICE)
    table, lengths = torch.tensor([[0, 1, 2, 3]], device=DEVICE), torch.tensor([64], device=DEVICE)
    with torch.inference_mode(called_in_inference and not cached_in_inference):
        write_kv(k, v, cache, slots())
        seen = paged_attention(query, cache, table, lengths)
        back = dequantize_group(quantize_group(k, 64))
    want = quantize(k.cpu(), E4M3FN, Group(64))
    assert torch.equal(cache.k_codes.flatten(0, 1)[slots()].cpu(), want.codes)
    assert torch.equal(cache.k_scales.flatten(0, 1)[slots()].cpu(), want.stored_scales)
    assert torch.equal(back.cpu(), want.dequantize()) and seen.isfinite().all() and not seen.requires_grad


def test_gradients_are_left_behind():
    (k, v), made, query = tokens(), empty_cache(), some_queries(torch.float32)
    scales = [made.k_scales.requires_grad_(), made.v_scales.requires_grad_()]
    cache = KVCache(made.k_codes, scales[0], made.v_codes, scales[1], 64)
    write_kv(k.requires_grad_(), v, cache, slots())
    assert torch.equal(cache.k_scales.detach().flatten(0, 1)[slots()], quantize(k, E4M3FN, Group(64)).stored_scales)
    read = filled_cache()
    grown = KVCache(read.k_codes, read.k_scales.clone().requires_grad_(), read.v_codes, read.v_scales, 32)
    assert not attended(query.requires_grad_(), grown).requires_grad
    q = quantize_group(k, 64)
    assert not q.stored_scales.requires_grad
    q = QuantizedTensor(q.payload, q.stored_scales.requires_grad_(), q.fmt, q.scale_format, q.blocks, q.shape)
    assert not dequantize_group(q).requires_grad


def test_a_group_size_beyond_int64_is_one_group():
    """A larger number than a kernel or torch can be given: the group ends with head_dim."""
    query, (k, v) = some_queries(torch.float32), tokens()
    whole, wide = (KVCache.empty(4, 16, 2, 96, size, device=DEVICE) for size in (96, 10**30))
    for cache in (whole, wide):
        write_kv(k, v, cache, slots())
    assert torch.equal(whole.k_codes, wide.k_codes) and torch.equal(whole.k_scales, wide.k_scales)
    assert torch.equal(quantize_group(k, 10**30).codes, quantize_group(k, 96).codes)
    assert torch.equal(attended(query, filled_cache(group_size=10**30)), attended(query, filled_cache(group_size=64)))


def test_no_query_heads():
    assert attended(some_queries(torch.float32)[:, :0], filled_cache()).shape == (3, 0, 64)
