"""`paged_attention` where numbers end: NaN passes through, and finite answers stay finite, however large what leads
to them is. The oracle is torch's softmax in float32, and float64 within the derived bound.
"""

import math

import numpy as np
import pytest
import torch
from paged_attention_bound import (
    DEVICE,
    DTYPES,
    LENGTHS,
    TABLE,
    assert_close,
    bound,
    by_kernel,
    filled_cache,
    some_queries,
)
from triton_here import needs_triton

from fp8lab.formats import E8M0FNU
from fp8lab.kernels.attend import EVERYTHING, attend_in_torch
from fp8lab.kernels.kvcache import KVCache

# NumPy, of which the interpreter is made, remarks on every overflow and NaN; here they are meant
pytestmark = [needs_triton, pytest.mark.filterwarnings("ignore::RuntimeWarning")]
MOST = torch.finfo(torch.float32).max
BLOCK_SIZE, HEAD_DIM, ONE = 16, 32, 0x38
ORDER = [4, 0, 5, 2, 1, 3]  # which block holds which page


def cache_of(k, v):
    """One sequence, one KV head: the key of token t is [k[t], 0, 0, ...], all of its values are v[t]."""
    k, v = torch.tensor(k), torch.tensor(v)
    cache = KVCache.empty(len(ORDER), BLOCK_SIZE, 1, HEAD_DIM, HEAD_DIM)
    token = torch.arange(len(k))
    at = torch.tensor(ORDER)[token // BLOCK_SIZE], token % BLOCK_SIZE, 0
    cache.k_scales[at], cache.v_scales[at] = k.abs()[:, None], v.abs()[:, None]
    cache.k_codes[(*at, 0)] = (ONE + 0x80 * (k < 0)).byte()
    cache.v_codes[at] = (ONE + 0x80 * (v < 0)).byte()[:, None].expand(-1, HEAD_DIM)
    return cache, torch.tensor([ORDER]), torch.tensor([len(k)])


def both(query, cache, table, lengths, scale, splits):
    """(kernel, torch, float64, allowed error)."""
    given = query, cache, table, lengths
    got = by_kernel(*given, softmax_scale=scale, splits=splits)
    want = attend_in_torch(*given, scale, EVERYTHING).to(query.dtype)
    return got, want, attend_in_torch(*given, scale, EVERYTHING, torch.float64), bound(*given, scale, splits)


def assert_as_torch(q, k, v, dtype, scale=1.0, splits=1, finite=True):
    """Query heads [q, 0, ...] and [q / 2, 0, ...] over the tokens of `cache_of`."""
    query = torch.zeros(1, 2, HEAD_DIM, dtype=dtype)
    query[0, :, 0] = torch.tensor([q, q / 2])
    got, want, exact, allowed = both(query, *cache_of(k, v), scale, splits)
    assert want.isfinite().all() == finite, want[0, :, 0]  # what the case is about
    assert torch.equal(got.isnan(), want.isnan()) and torch.equal(got.isinf(), want.isinf()), (got, want)
    here = want.isfinite() & allowed.isfinite()
    assert ((got.double() - exact).abs() <= allowed)[here].all(), (got[0, :, 0], exact[0, :, 0], allowed)
    return got


dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=str)
splits = pytest.mark.parametrize("splits", [1, 5])


# ---- scores


@dtypes
@splits
@pytest.mark.parametrize("peak", [2.3e38, 2.5e38, 3.3e38, -2.5e38, -3.3e38])
def test_scores_up_to_the_end_of_float32(peak, splits, dtype):
    """In units of log2 they would end at 2.36e38; the largest may be far below 0 as well."""
    rest = [peak - 1e38 if peak > 0 else -MOST] * 69
    got = assert_as_torch(1.0, [*rest[:40], peak, *rest[40:]], [*[5.0] * 40, 2.0, *[5.0] * 29], dtype, splits=splits)
    assert got[0, 0, 0] == 2.0


@dtypes
@splits
def test_all_scores_near_the_lower_end(splits, dtype):
    got = assert_as_torch(1.0, [-3.3e38] * 40, [1.0, 3.0] * 20, dtype, splits=splits)
    assert got[0, 0, 0] == 2.0


@dtypes
@splits
def test_tokens_whose_score_is_minus_infinity_have_weight_0(splits, dtype):
    """A whole tile of them, a whole split of them, first and last."""
    lost, kept = [-1e38] * 40, [0.0, 0.0]
    for k, v in (([*lost, *kept], [9.0] * 40 + [1.0, 3.0]), ([*kept, *lost], [1.0, 3.0] + [9.0] * 40)):
        got = assert_as_torch(1e4, k, v, dtype, splits=splits)
        assert (got == 2.0).all()


@dtypes
@splits
@pytest.mark.parametrize("k", [[-1e38] * 42, [0.0] * 41 + [1e38], [1e38] + [-1e38] * 41], ids=["-", "+", "both"])
def test_scores_that_overflow_are_nan_where_they_are_in_softmax(k, splits, dtype):
    assert_as_torch(1e4, k, [1.0] * 42, dtype, splits=splits, finite=False)


@dtypes
@pytest.mark.parametrize("k, finite", [([0.0, 1.0, 0.5, -1.0] * 9, True), ([0.0, 10.0, 1.0] * 9, False)])
def test_a_huge_softmax_scale(k, finite, dtype):
    assert_as_torch(1.0, k, [float(t) for t in range(len(k))], dtype, scale=1e38, finite=finite)


@dtypes
def test_the_smallest_and_the_largest_softmax_scale(dtype):
    for scale in (torch.finfo(torch.float32).tiny, MOST):
        assert_as_torch(1.0, [0.5, 0.25] * 20, [2.0] * 40, dtype, scale=scale)


def test_a_key_beyond_the_largest_bfloat16_is_not_infinite():
    """Nearest of 3.4e38 is infinity; for a product it is the largest number."""
    assert 3.4e38 < MOST and torch.tensor(3.4e38).bfloat16().isinf()
    assert_as_torch(1.0, [3.4e38, 1.0], [2.0, 5.0], torch.bfloat16)


# ---- values


@dtypes
@splits
@pytest.mark.parametrize("largest", [6e4, 3.3e38])
def test_the_mean_of_large_values_does_not_overflow(largest, splits, dtype):
    """The sum of 90 of them would; in float16 so does the answer itself, in torch as well."""
    finite = dtype != torch.float16 or largest < 65504
    assert_as_torch(1.0, [0.0] * 90, [largest] * 90, dtype, splits=splits, finite=finite)


@dtypes
@pytest.mark.parametrize("size", [1e-38, 1e-30])
def test_tiny_values_keep_what_float32_has_of_them(size, dtype):
    assert_as_torch(1.0, [0.0] * 90, [size, 3 * size] * 45, dtype, splits=2)


# ---- float16: K, V and their scales may lie beyond 65504


@pytest.mark.parametrize("size", [1e5, 1e30])
def test_a_float16_query_over_values_beyond_float16_that_cancel(size):
    assert_as_torch(1.0, [0.0] * 40, [size, -size] * 20, torch.float16)


def test_a_float16_query_over_keys_beyond_float16():
    got = assert_as_torch(2.0**-14, [1e5, 7e4, 0.0] * 10, [float(t) for t in range(30)], torch.float16)
    assert got.isfinite().all()


@dtypes
@pytest.mark.parametrize("power", [17, 40])
def test_e8m0_scales_beyond_float16(power, dtype):
    """Scales 2^17 larger, query and scale so much smaller: V, too, is out of float16's range, its mean is not."""
    cache, query = filled_cache(scale_format=E8M0FNU), some_queries(dtype)
    cache.k_scales.add_(power)
    assert cache.k_scales.max() > 127 + power - 9
    assert_close(query, cache, scale=2.0**-power * 0.125)


# ---- what is multiplied


def float32_of_all_sizes():
    """Random bits; what is near a tie of 8 or of 11 bits; and the upper end, where nearest would be infinity."""
    random = torch.Generator().manual_seed(3)
    anything = torch.randint(-(2**31), 2**31, (50 * 1024,), generator=random)
    top = torch.randint(0, 2**16, (1024, 1), generator=random) << 16
    ties = top + torch.tensor([0x7FFF, 0x8000, 0x8001, 0x0FFF, 0x1000, 0x1001, 0x3000, 0xF000, 0xFFFF, 0])
    bits = torch.cat([anything, ties.flatten(), 0x7F7F0000 + 64 * torch.arange(1024), torch.full((1024,), 0x7F800000)])
    return bits.to(torch.int32).view(torch.float32)


def in_bits(x, bits, smallest):
    """x to nearest in so many bits, ties to even, by float64; subnormal below 2^-126."""
    mantissa, exponent = np.frexp(x)
    step = np.exp2(np.maximum(exponent - bits, smallest).astype(np.float64))
    return np.rint(np.ldexp(mantissa, exponent) / step) * step


@pytest.mark.parametrize("dtype, bits", [(torch.float32, 24), (torch.bfloat16, 8), (torch.float16, 11)])
def test_operands_are_the_nearest_of_as_many_bits_as_the_query_has(dtype, bits):
    """NaN stays NaN, infinity infinity, and what would become infinity stays the largest number."""
    from operand_kernel import operands

    x = float32_of_all_sizes()
    got = operands(x.to(DEVICE), dtype).cpu()
    x = x.double().numpy()
    largest = (2 - 2.0 ** (1 - bits)) * 2.0**127
    assert np.isnan(x).any() and np.isinf(x).any() and (np.abs(x[np.isfinite(x)]) > largest).any() == (bits < 24)
    want = np.where(np.isinf(x), x, np.clip(in_bits(x, bits, -125 - bits), -largest, largest))
    np.testing.assert_array_equal(got.double().numpy(), want)


@pytest.mark.parametrize("dtype, bits", [(torch.float32, 24), (torch.float16, 11)])
def test_keys_that_fit_the_bits_of_the_query_are_multiplied_exactly(dtype, bits):
    """Two keys one step apart, times a scale that makes 1/2 of it. In bfloat16 the step of float16 is lost."""
    query = torch.zeros(1, 1, HEAD_DIM, dtype=dtype)
    query[..., 0] = 1.0
    cache = cache_of([1.0, 1 + 2.0 ** (1 - bits)], [0.0, 1.0])
    got = by_kernel(query, *cache, softmax_scale=2.0 ** (bits - 2))
    assert (got.double() - 1 / (1 + math.exp(-0.5))).abs().max() < 2.0**-10
    assert by_kernel(query.bfloat16(), *cache, softmax_scale=2.0 ** (bits - 2))[0, 0, 0] == 0.5


# ---- NaN, and nothing seen


@dtypes
@splits
@pytest.mark.parametrize("where", ["k_scales", "v_scales", "query"])
def test_nan_reaches_what_it_reaches_in_torch_and_no_more(where, splits, dtype):
    cache, query = filled_cache(), some_queries(dtype)
    allowed = bound(query, cache, TABLE, LENGTHS, 0.125, splits)
    if where == "query":
        query[0, 3, 17] = math.nan
    else:  # token 40 of sequence 0, KV head 1, second group
        getattr(cache, where)[TABLE[0, 2], 8, 1, 1] = math.nan
    got, want, exact, _ = both(query, cache, TABLE, LENGTHS, 0.125, splits)
    reached = {"k_scales": got[0, 4:], "v_scales": got[0, 4:, 32:], "query": got[0, 3]}[where]
    assert reached.isnan().all() and got.isnan().sum() == reached.numel()
    assert torch.equal(got.isnan(), want.isnan())
    assert ((got.double() - exact).abs() <= allowed)[~want.isnan()].all()


@dtypes
def test_nan_outside_the_window_or_the_length_is_not_seen(dtype):
    cache, query = filled_cache(), some_queries(dtype)
    cache.k_scales[TABLE[0, 2], 8], cache.v_scales[TABLE[2, 2], 1:] = math.nan, math.nan
    assert by_kernel(query, cache, TABLE, LENGTHS, window=49).isfinite().all()
    assert by_kernel(query, cache, TABLE, LENGTHS, window=50)[0].isnan().all()


@dtypes
@splits
def test_only_a_query_that_has_seen_nothing_gives_zeros(splits, dtype):
    cache, query = filled_cache(), some_queries(dtype)
    cache.v_scales.fill_(math.nan)
    got = by_kernel(query, cache, TABLE, LENGTHS, splits=splits)
    assert (got[1] == 0).all() and got[[0, 2]].isnan().all()
