"""Paged decode attention against float64 on a CPU, within a bound derived from the arithmetic it does.

The kernels run under the interpreter, or compiled, on a machine with a GPU.
"""

import math

import pytest
import torch
from triton_here import needs_triton

from fp8lab.formats import E4M3FN, E5M2, E8M0FNU
from fp8lab.kernels.attend import attend_in_torch, paged_attention
from fp8lab.kernels.kvcache import KVCache

pytestmark = needs_triton
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
EVERYTHING = 2**31 - 1
UNIT_ROUNDOFF = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
SMALLEST_STEP = {torch.float32: 2.0**-149, torch.bfloat16: 2.0**-133, torch.float16: 2.0**-24}


def filled_cache(
    fmt=E4M3FN, scale_format=torch.float32, head_dim=64, v_head_dim=None, group_size=32, blocks=20, kv_heads=2, seed=0
):
    cache = KVCache.empty(
        blocks, 16, kv_heads, head_dim, group_size, v_head_dim=v_head_dim, fmt=fmt, scale_format=scale_format
    )
    random = torch.Generator().manual_seed(seed)
    for name in "kv":
        codes, scales = cache.part(name)
        codes.random_(0, fmt.max_code + 1, generator=random)
        codes |= torch.empty_like(codes).random_(0, 2, generator=random) << 7
        power = torch.empty(scales.shape).uniform_(-6, 1, generator=random)
        if scale_format is torch.float32:
            scales.copy_(torch.exp2(power) / fmt.max_finite)
        else:
            scales.copy_((power - math.log2(fmt.max_finite)).round() + 127)
    return cache


def bound(query, cache, table, lengths, scale, dtype):
    """Largest error that float32 sums of `dtype` products can make, per sequence: [batch, 1, 1].

    Scores: head_dim products and sums in float32, K rounded to `dtype`. An error d of every score changes a softmax
    weight by a factor within exp(+-2d). Then weights and V are rounded to `dtype`, summed in float32, and the result
    is rounded.
    """
    wide = attend_pieces(query, cache, table, lengths)
    unit, step, float32 = UNIT_ROUNDOFF[dtype], SMALLEST_STEP[dtype], 2.0**-24
    bounds = []
    for products, largest_v, largest_q, tokens in wide:
        d = products * scale * (unit + (query.shape[2] + 4) * float32) + largest_q * query.shape[2] * scale * step
        relative = math.expm1(2 * d) + 3 * unit + (tokens + 16) * float32
        bounds.append(largest_v * relative * (1 + relative) + tokens * step * (1 + largest_v))
    return torch.tensor(bounds, dtype=torch.float64).view(-1, 1, 1)


def attend_pieces(query, cache, table, lengths):
    """For each sequence: max over tokens of sum |q||k|, max |v|, max |q|, number of tokens."""
    from fp8lab.kernels.attend import read_pages

    shared = query.shape[1] // cache.k_codes.shape[2]
    for row, length in enumerate(lengths.tolist()):
        k = read_pages(cache, "k", table[row].long(), torch.float64)[:length].abs().repeat_interleave(shared, 1)
        v = read_pages(cache, "v", table[row].long(), torch.float64)[:length].abs()
        q = query[row].double().abs()
        products = torch.einsum("hd,thd->ht", q, k)
        yield (products.max().item() if length else 0.0), (v.max().item() if length else 0.0), q.max().item(), length


def some_queries(dtype, heads=8, head_dim=64, seed=1):
    random = torch.Generator().manual_seed(seed)
    return torch.randn(3, heads, head_dim, generator=random).to(dtype)


TABLE = torch.randperm(20, generator=torch.Generator().manual_seed(2))[:18].view(3, 6)
LENGTHS = torch.tensor([90, 0, 33])


def by_kernel(query, cache, table, lengths, **options):
    given = query.to(DEVICE), cache.to(DEVICE), table.to(DEVICE), lengths.to(DEVICE)
    return paged_attention(*given, **options).cpu()


def assert_close(query, cache, table=TABLE, lengths=LENGTHS, window=None, **options):
    got = by_kernel(query, cache, table, lengths, window=window, **options)
    scale = query.shape[2] ** -0.5
    want = attend_in_torch(query, cache, table, lengths, scale, window or EVERYTHING, torch.float64)
    allowed = bound(query, cache, table, lengths, scale, query.dtype)
    assert got.dtype == query.dtype and got.shape == want.shape
    assert ((got.double() - want).abs() <= allowed).all(), ((got.double() - want).abs() / allowed).max()
    return got


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
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
    query, cache = some_queries(torch.float32), filled_cache()
    got = by_kernel(query, cache, TABLE, LENGTHS, softmax_scale=scale)
    want = attend_in_torch(query, cache, TABLE, LENGTHS, scale, EVERYTHING, torch.float64)
    assert ((got.double() - want).abs() <= bound(query, cache, TABLE, LENGTHS, scale, torch.float32)).all()


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
