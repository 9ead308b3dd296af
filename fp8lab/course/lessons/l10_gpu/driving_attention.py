"""How 10.6 is exercised: two caches of different sizes, with scores that overflow, rise, or all lie far below zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from fp8lab.course.lessons.l10_gpu.driving_launch import device, kernels_of, launches, refuse_untouched
from fp8lab.course.lessons.l10_gpu.driving_points import generator, random_codes
from fp8lab.course.lessons.l10_gpu.driving_watch import watched


def attention_inputs(seed: int) -> dict[str, Any]:
    return {"cases": (_ordinary(seed), _extreme(seed + 1))}


def _ordinary(seed: int) -> dict[str, Any]:
    """Two heads, one with ordinary scores, one so far apart that exp overflows; two lengths, two numbers of splits.

    In the second run one split is empty, and one lane of the merge is off.
    """
    random = generator(seed)
    blocks, block_size, heads, dim = 9, 4, 2, 32
    while True:
        cache = _cache(random, blocks, block_size, heads, dim)
        table = torch.randperm(blocks, generator=random).int()
        k = _dequantized(cache[0], cache[1])[table.long()].flatten(0, 1)[:19]
        query = torch.stack([torch.randn(dim, generator=random), k[2, 1]])  # token 2 is what the second head looks for
        score = (k * query).sum(2) * dim**-0.5
        strength = torch.tensor([1.5, 150.0]) / score.abs().amax(0)
        score = score * strength
        far = score[8:10, 1].max() < 50  # the second tile of its split is further below than exp can bridge
        if far and score[8:10, 0].max() > score[:8, 0].max() + 0.3:  # and for the first head it brings a new peak
            break
    return {"query": query * strength[:, None], "cache": cache, "table": table, "runs": ((19, 2), (4, 3))}


TILE, LENGTH = 8, 33
RISE = (0x00, 0x76, 0x7E)  # codes of 0, 224 and 448: in the first tile, in the rest of split 0, in split 1
FAR_BELOW, HIGHEST = -230.0, 200.0  # the scores where the code is 0x7E


def _extreme(seed: int) -> dict[str, Any]:
    """Two heads: the scores of one all lie below -200, those of the other rise by 100 from tile to tile.

    The scores come from the first element of each vector, the other elements move them by little. Split 0 ends in a
    tile of one token.
    """
    random = generator(seed)
    blocks, block_size, heads, dim = 12, 3, 2, 16
    cache = _cache(random, blocks, block_size, heads, dim)
    cache[3] *= 0.1  # V is small, for scores of hundreds leave fewer bits to the weights
    table = torch.randperm(blocks, generator=random).int()
    position = torch.arange(blocks * block_size)
    first = torch.tensor(RISE)[(position >= TILE).long() + (position >= -(-LENGTH // 2)).long()].byte()
    page, place = table.long()[position // block_size], position % block_size
    cache[0][page, place, :, 0] = torch.stack([torch.full_like(first, RISE[2]), first], 1)
    cache[1][:, :, :, 0] = 2.0**-7
    query = torch.randn(heads, dim, generator=random) * 0.3
    query[:, 0] = torch.tensor([FAR_BELOW, HIGHEST]) * dim**0.5 / (448.0 * 2.0**-7)
    return {"query": query, "cache": cache, "table": table, "runs": ((LENGTH, 2),)}


def _cache(random: torch.Generator, blocks: int, block_size: int, heads: int, dim: int) -> list[torch.Tensor]:
    """Codes of K, scales of K, codes of V, scales of V: two groups in each vector."""
    cache = []
    for _ in "kv":
        codes = random_codes(int(torch.randint(2**31, (1,), generator=random)), blocks, block_size, heads, dim)
        cache += [codes, torch.rand(blocks, block_size, heads, 2, generator=random) * 0.01 + 0.005]
    return cache


def _dequantized(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    from fp8lab.codec import decode

    return decode(codes) * scales.repeat_interleave(codes.shape[3] // scales.shape[3], 3)


def drive_attention(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    refuse_untouched(answer, *kernels_of(answer), holes=3)
    arrays: dict[str, Any] = {}
    for case in inputs["cases"]:
        query, table = case["query"].to(device()), case["table"].to(device())
        cache = [tensor.to(device()) for tensor in case["cache"]]
        with watched(), launches() as seen:
            arrays |= {
                f"{length} tokens in {splits} splits": answer(query, *cache, table, length, splits)
                for length, splits in case["runs"]
            }
        if case is inputs["cases"][0]:
            length, splits = case["runs"][0]
            told = _of_splits([args for grid, args in seen if grid == (len(query), splits)], length)
    return arrays | told


def _of_splits(launched: list[dict[str, Any]], length: int) -> dict[str, Any]:
    """What the launches of `split_kernel` say that the result does not: each split has tokens, so each has a peak."""
    peaks, sums, shares = ([args.get(name) for args in launched] for name in ("peak_ptr", "sum_ptr", "per_split"))
    return {
        "one split reads all": any(isinstance(share, (int, np.integer)) and share >= length for share in shares),
        "peaks at -inf": sum(int(peak.isneginf().sum()) for peak in peaks if torch.is_tensor(peak)),
        "sums that are NaN": sum(int(total.isnan().sum()) for total in sums if torch.is_tensor(total)),
    }
