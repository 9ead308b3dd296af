"""Paged decode attention against float64 on a CPU, within a bound derived from the arithmetic it does.

The kernels run under the interpreter, or compiled, on a machine with a GPU.
"""

import math

import pytest
import torch
from paged_attention_bound import (
    DEVICE,
    DTYPES,
    LENGTHS,
    TABLE,
    assert_close,
    by_kernel,
    filled_cache,
    some_queries,
)
from triton_here import needs_triton

from fp8lab.formats import E4M3FN, E5M2, E8M0FNU
from fp8lab.kernels.attend import paged_attention
from fp8lab.kernels.kvcache import KVCache

pytestmark = needs_triton


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fmt, scale_format", [(E4M3FN, torch.float32), (E4M3FN, E8M0FNU), (E5M2, torch.float32)])
def test_formats_and_dtypes(fmt, scale_format, dtype):
    assert_close(some_queries(dtype), filled_cache(fmt, scale_format))


@pytest.mark.parametrize("splits", [1, 2, 3, 7, 91])
def test_any_number_of_splits(splits):
    assert_close(some_queries(torch.float32), filled_cache(), splits=splits)


@pytest.mark.parametrize("window", [1, 16, 40, 90, 1000])
def test_sliding_window(window):
    assert_close(some_queries(torch.float32), filled_cache(), window=window, splits=2)


@pytest.mark.parametrize(
    "head_dim, v_head_dim, group_size", [(96, 96, 64), (80, 80, 32), (64, 48, 64), (40, 72, 16), (64, 64, 128)]
)
def test_ragged_groups_and_different_widths(head_dim, v_head_dim, group_size):
    cache = filled_cache(head_dim=head_dim, v_head_dim=v_head_dim, group_size=group_size)
    assert_close(some_queries(torch.float32, head_dim=head_dim), cache)


@pytest.mark.parametrize("heads, kv_heads", [(2, 2), (6, 2), (8, 1), (14, 2)])
def test_grouped_query_attention(heads, kv_heads):
    assert_close(some_queries(torch.float32, heads), filled_cache(kv_heads=kv_heads))


def test_a_cache_that_is_a_view_of_a_larger_one():
    large = filled_cache(blocks=40)
    view = KVCache(large.k_codes[::2], large.k_scales[::2], large.v_codes[::2], large.v_scales[::2], 32)
    assert_close(some_queries(torch.float32), view)


def test_a_query_that_is_not_contiguous():
    query = some_queries(torch.float32).repeat_interleave(2, -1)[..., ::2]
    assert not query.is_contiguous()
    assert_close(query, filled_cache())


def test_lengths_that_are_a_view_of_more_numbers():
    """A column of a table of two: read without its stride, 7 would stand for the second sequence's 0."""
    more = torch.stack([LENGTHS, torch.tensor([7, 7, 7])], 1)
    assert not more[:, 0].is_contiguous()
    got = paged_attention(
        some_queries(torch.float32).to(DEVICE), filled_cache().to(DEVICE), TABLE.to(DEVICE), more.to(DEVICE)[:, 0]
    )
    assert torch.equal(got.cpu(), by_kernel(some_queries(torch.float32), filled_cache(), TABLE, LENGTHS))


@pytest.mark.parametrize("integers", [torch.int32, torch.int64])
def test_tables_and_lengths_of_either_width(integers):
    assert_close(some_queries(torch.float32), filled_cache(), TABLE.to(integers), LENGTHS.to(integers))


@pytest.mark.parametrize("scale", [1e-3, 1, 7.5])
def test_a_softmax_scale_of_ones_own(scale):
    assert_close(some_queries(torch.float32), filled_cache(), scale=scale)


def test_a_query_with_a_gradient_is_read_and_leaves_it_behind():
    query = some_queries(torch.float32).requires_grad_()
    assert not assert_close(query.detach(), filled_cache()).requires_grad
    assert not by_kernel(query, filled_cache(), TABLE, LENGTHS).requires_grad


def test_a_sequence_of_no_tokens_sees_nothing():
    assert (assert_close(some_queries(torch.float32), filled_cache())[1] == 0).all()


def test_no_sequences():
    empty = by_kernel(some_queries(torch.float32)[:0], filled_cache(), TABLE[:0], LENGTHS[:0])
    assert empty.shape == (0, 8, 64)


def test_large_scores_do_not_overflow():
    got = assert_close(some_queries(torch.float32) * 1e4, filled_cache())
    assert got.isfinite().all()


def test_the_descale_is_applied():
    """The same codes under 4 x the scales are other keys (vllm#42580: a fast path that forgot the scale)."""
    cache, query = filled_cache(), some_queries(torch.float32)
    larger = KVCache(cache.k_codes, cache.k_scales * 4, cache.v_codes, cache.v_scales, 32)
    torch.testing.assert_close(
        by_kernel(query * 4, cache, TABLE, LENGTHS),
        by_kernel(query, larger, TABLE, LENGTHS),
        rtol=1e-6,
        atol=0,
    )


@pytest.mark.parametrize(
    "change, word",
    [
        (dict(query=torch.zeros(3, 8, 32)), "head_dim"),
        (dict(query=torch.zeros(3, 7, 64)), "multiple of 2"),
        (dict(query=torch.zeros(3, 8, 64, dtype=torch.float64)), "bfloat16"),
        (dict(block_table=TABLE.float()), "block_table"),
        (dict(block_table=TABLE + 10), "blocks 0..19"),
        (dict(block_table=TABLE - 100), "given -"),
        (dict(lengths=LENGTHS[:2]), "lengths"),
        (dict(lengths=LENGTHS + 10), "0..96"),
        (dict(window=0), "window"),
        (dict(window=2.5), "window"),
        (dict(splits=0), "splits"),
        (dict(splits=True), "splits"),
        (dict(splits=129), "from 1 to 128; given 129"),
        (dict(softmax_scale=math.nan), "above 0.*given nan"),
        (dict(softmax_scale=math.inf), "above 0.*given inf"),
        (dict(softmax_scale=0), "above 0.*given 0"),
        (dict(softmax_scale=-0.125), "above 0.*given -0.125"),
        (dict(softmax_scale=1e-60), "above 0.*given 1e-60"),
        (dict(softmax_scale="0.1"), "softmax_scale must be a number or None; given str"),
        (dict(softmax_scale=torch.tensor(0.1)), "given Tensor"),
        (dict(native=True), "native=True is not possible here"),
    ],
)
def test_what_does_not_fit_is_named(change, word):
    given = dict(query=some_queries(torch.float32), cache=filled_cache(), block_table=TABLE, lengths=LENGTHS)
    with pytest.raises((ValueError, TypeError), match=word):
        paged_attention(**{**given, **change})
