"""What the tests of `paged_attention` share: caches to read, the kernel and the torch path, and the error that is
allowed, derived from the arithmetic of the kernel."""

from __future__ import annotations

import math

import torch

from fp8lab.formats import E4M3FN
from fp8lab.kernels.attend import EVERYTHING, attend_in_torch, paged_attention, read_pages
from fp8lab.kernels.kvcache import KVCache

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
FLOAT32 = 2.0**-24
# unit roundoff and smallest step of what is multiplied: float32, bfloat16, and TF32 for float16
OPERAND = {
    torch.float32: (2.0**-24, 2.0**-149),
    torch.bfloat16: (2.0**-8, 2.0**-133),
    torch.float16: (2.0**-11, 2.0**-136),
}
RESULT = {**OPERAND, torch.float16: (2.0**-11, 2.0**-24)}
TABLE = torch.randperm(20, generator=torch.Generator().manual_seed(2))[:18].view(3, 6)
LENGTHS = torch.tensor([90, 0, 33])


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


def some_queries(dtype, heads=8, head_dim=64, seed=1):
    random = torch.Generator().manual_seed(seed)
    return torch.randn(3, heads, head_dim, generator=random).to(dtype)


def by_kernel(query, cache, table, lengths, **options):
    given = query.to(DEVICE), cache.to(DEVICE), table.to(DEVICE), lengths.to(DEVICE)
    return paged_attention(*given, **options).cpu()


def bound(query, cache, table, lengths, scale, splits=1):
    """Largest error for a query of this dtype, per sequence: [batch, 1, 1].

    A score: K rounded to an operand, head_dim products and sums in float32, a multiplication; then the largest is
    subtracted, and the step to units of log2 and exp2 follow. An error d of every score changes a softmax weight by a
    factor within exp(+-2d). The weights, their sum and the mean, tile after tile and split after split, are float32;
    weights and V are rounded to operands, and the result to its dtype.
    """
    (unit, step), (last, last_step) = OPERAND[query.dtype], RESULT[query.dtype]
    bounds = []
    for products, largest_v, largest_q, tokens in attend_pieces(query, cache, table, lengths):
        d = products * scale * (unit + (query.shape[2] + 8) * FLOAT32) + largest_q * query.shape[2] * scale * step
        relative = math.expm1(2 * d) if d < 300 else math.inf
        relative += 3 * unit + last + (3 * tokens + 2 * splits + 32) * FLOAT32
        bounds.append(largest_v * relative * (1 + relative) + tokens * step * (2 + largest_v) + last_step)
    return torch.tensor(bounds, dtype=torch.float64).view(-1, 1, 1)


def attend_pieces(query, cache, table, lengths):
    """For each sequence: max over tokens of sum |q||k|, max |v|, max |q|, number of tokens."""
    shared = query.shape[1] // cache.k_codes.shape[2]
    for row, length in enumerate(lengths.tolist()):
        k = read_pages(cache, "k", table[row].long(), torch.float64)[:length].abs().repeat_interleave(shared, 1)
        v = read_pages(cache, "v", table[row].long(), torch.float64)[:length].abs()
        q = query[row].double().abs()
        products = torch.einsum("hd,thd->ht", q, k)
        yield (products.max().item() if length else 0.0), (v.max().item() if length else 0.0), q.max().item(), length


def assert_close(query, cache, table=TABLE, lengths=LENGTHS, window=None, scale=None, **options):
    """The kernel against float64. Returns what the kernel gave."""
    got = by_kernel(query, cache, table, lengths, window=window, softmax_scale=scale, **options)
    scale = scale or query.shape[2] ** -0.5
    want = attend_in_torch(query, cache, table, lengths, scale, window or EVERYTHING, torch.float64)
    allowed = bound(query, cache, table, lengths, scale, options.get("splits") or 1)
    assert got.dtype == query.dtype and got.shape == want.shape
    assert ((got.double() - want).abs() <= allowed).all(), ((got.double() - want).abs() / allowed).max()
    return got
