"""Made-up data of lesson 05, and what measuring them gives: the numbers that its text and pictures show.

    four_heads        heads of very different size
    attention_case    outlier channels in K that queries hardly read, a sink token, V of uneven tokens
    biased_case       two channels of K with a constant of ±300

Queries, keys and values are normal numbers otherwise; nothing here comes from a model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch

from fp8lab.codec import decode, encode
from fp8lab.formats import E8M0FNU
from fp8lab.granularity import Granularity, Group, PerChannel, PerTensor, PerToken
from fp8lab.metrics import attention_output_error, relative_error, sqnr_db
from fp8lab.quantize import quantize
from fp8lab.rotate import rotate

HEAD_SIZES = (1.0, 1e-3, 30.0, 1e-5)
LOUD = (7, 33, 64, 110)  # outlier channels of the made-up keys
BIASED = ((5, 300.0), (77, -300.0))  # two channels with a constant, as the K bias of Qwen2.5 has them
WAYS: dict[str, Granularity] = {
    "tensor": PerTensor(),
    "token": PerToken(),
    "channel": PerChannel(),
    "channel × 32 tokens": Group(32, axis=-2),
    "token × 32 channels": Group(32),
}
DRAWS = 32


# ---- data


def four_heads(seed: int = 0) -> torch.Tensor:
    """Normal numbers [4 heads, 256 tokens, 128 channels]; the heads are of size 1, 1e-3, 30 and 1e-5."""
    x = torch.randn(4, 256, 128, generator=torch.Generator().manual_seed(seed))
    return x * torch.tensor(HEAD_SIZES).reshape(4, 1, 1)


def attention_case(seed: int = 0, tokens: int = 256) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """query [2, 8, 128], k and v [2, tokens, 128], made up. K: four channels are 20 times larger, and queries hardly
    read them (a tenth); token 0 is a sink that gets nearly half of the attention. V: tokens of different size, the
    sink's next to nothing."""
    generator = torch.Generator().manual_seed(seed)
    query, k, v = (torch.randn(2, n, 128, generator=generator) for n in (8, tokens, tokens))
    k[..., LOUD] *= 20
    query[..., LOUD] *= 0.1
    query[..., 10] += 4
    k[:, 0, 10] += 16
    v *= (0.7 * torch.randn(2, tokens, 1, generator=generator)).exp()
    v[:, 0] *= 0.05
    return query, k, v


def biased_case(seed: int = 0, tokens: int = 256) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """query, k, v of normal numbers, but two channels of k carry a constant of ±300."""
    generator = torch.Generator().manual_seed(seed)
    query, k, v = (torch.randn(2, n, 128, generator=generator) for n in (8, tokens, tokens))
    for channel, constant in BIASED:
        k[..., channel] += constant
    return query, k, v


# ---- measurements, each the mean over DRAWS draws

Row = tuple[float, float, float, float]


@cache
def axis_draws(fmt: str, way: str) -> tuple[Row, ...]:
    """For each draw: SQNR of K in dB, output error with that K, SQNR of V, output error with that V.

    The error is that of the worst head, the other tensor is exact. Data: `attention_case`; way: a key of WAYS.
    """
    rows = []
    for seed in range(DRAWS):
        query, k, v = attention_case(seed)
        kept_k, kept_v = (quantize(x, fmt, WAYS[way]).dequantize() for x in (k, v))
        with_k = attention_output_error(query, k, v, kept_k, v, causal=False).worst
        with_v = attention_output_error(query, k, v, k, kept_v, causal=False).worst
        rows.append((sqnr_db(k, kept_k), with_k, sqnr_db(v, kept_v), with_v))
    return tuple(rows)


def axis_table(fmt: str) -> dict[str, Row]:
    """Way -> the mean over all draws of what `axis_draws` gives."""
    return {name: tuple(sum(column) / DRAWS for column in zip(*axis_draws(fmt, name))) for name in WAYS}


def draws_in_which_worse(fmt: str, way: str, other: str) -> int:
    """In how many of the draws K stored one way gives a larger output error than stored the other way."""
    return sum(a[1] > b[1] for a, b in zip(axis_draws(fmt, way), axis_draws(fmt, other)))


CHANGES: dict[str, tuple[Callable, Callable]] = {  # name -> (before the store, after it)
    "as it is": (lambda k: k, lambda k, kept: kept),
    "rotated": (rotate, lambda k, kept: rotate(kept)),
    "channel means removed": (lambda k: k - k.mean(-2, keepdim=True), lambda k, kept: kept + k.mean(-2, keepdim=True)),
}


@cache
def rotation_table(fmt: str, case: Callable = attention_case) -> dict[str, float]:
    """Change of K before it is stored, one scale per token -> output error of the worst head (V exact)."""
    found = dict.fromkeys(CHANGES, 0.0)
    for seed in range(DRAWS):
        query, k, v = case(seed)
        for name, (before, after) in CHANGES.items():
            kept = after(k, quantize(before(k), fmt, PerToken()).dequantize())
            found[name] += attention_output_error(query, k, v, kept, v, causal=False).worst / DRAWS
    return found


def _nearest(scale: torch.Tensor) -> torch.Tensor:
    return decode(encode(scale, E8M0FNU), E8M0FNU)


RULES: dict[str, Callable] = {  # name -> scale as it is stored
    "float32": lambda scale: scale,
    "bfloat16": lambda scale: scale.bfloat16().float(),
    "2^n, up": lambda scale: 2.0 ** scale.double().log2().ceil().float(),
    "2^n, nearest": _nearest,
    "2^n, down": lambda scale: 2.0 ** scale.double().log2().floor().float(),
}


def power_errors() -> dict[str, tuple[float, float, float]]:
    """Rule -> (relative RMS error, that of the worst vector, share of vectors that clip); 4096 normal vectors."""
    x = torch.randn(4096, 128, generator=torch.Generator().manual_seed(0))
    found = {}
    for name, rule in RULES.items():
        absmax = x.abs().amax(-1, keepdim=True)
        scale = rule(absmax / 448)
        miss = decode(encode(x / scale)) * scale - x
        worst = (miss.norm(dim=-1) / x.norm(dim=-1)).max().item()
        clipped = (absmax / scale > 464).float().mean().item()  # 464: what still rounds to 448
        found[name] = ((miss.norm() / x.norm()).item(), worst, clipped)
    return found


def read_by_another(rule: str) -> float:
    """Relative RMS error when scales were used as float32 and are read as that rule stores them: same data."""
    x = torch.randn(4096, 128, generator=torch.Generator().manual_seed(0))
    scale = x.abs().amax(-1, keepdim=True) / 448
    restored = decode(encode(x / scale)) * RULES[rule](scale)
    return ((restored - x).norm() / x.norm()).item()


def head_errors(way: Granularity) -> tuple[list[float], float, float]:
    """(median relative error of each of the four heads, of all values, SQNR in dB) in E4M3FN."""
    x = four_heads()
    kept = quantize(x, "E4M3FN", way).dequantize()
    each = [relative_error(a, b, (0.5,)).quantiles[0.5] for a, b in zip(x, kept)]
    return each, relative_error(x, kept, (0.5,)).quantiles[0.5], sqnr_db(x, kept)
