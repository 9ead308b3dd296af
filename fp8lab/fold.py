"""Folding: where a scale of K or V can go so that nobody ever multiplies the cache by it.

softmax(c q k^T) v with k = codes x s. A scale that does not change along the axis that a product sums over can be
taken out of the sum. q k^T sums over channels (head_dim), p v sums over tokens:

    scale changes along    K goes into            V goes into          cost
    nothing                the softmax scale c    the output           none: one number per head
    channels               the query              the output           one multiplication per channel, not per token
    tokens                 the score column       the probabilities    one multiplication per token, not per channel
    both (groups)          nowhere                nowhere              dequantize first, or split the sum by group

The probabilities take V's token scales after the softmax; before it they would change its sum.
"""

from __future__ import annotations

import torch

from fp8lab.elements import decode_elements
from fp8lab.metrics import without_future
from fp8lab.quantized import QuantizedTensor


def _changes(cache: QuantizedTensor, axis: int) -> bool:
    return cache.blocks[axis] < cache.shape[axis]


def _check_cache(cache: QuantizedTensor, name: str) -> None:
    if cache.ndim < 3:
        raise ValueError(f"{name} is [..., kv_heads, tokens, head_dim], got shape {cache.shape}")


def k_folds_into(k: QuantizedTensor) -> str | None:
    """ "softmax scale", "query", "score column", or None when the scales must be applied before the product.

    >>> from fp8lab.quantize import quantize, Group, PerHead, PerToken
    >>> k = torch.ones(1, 2, 8, 64)
    >>> [k_folds_into(quantize(k, "int8", g)) for g in (PerHead(), PerToken(), Group(32))]
    ['softmax scale', 'score column', None]
    """
    _check_cache(k, "k")
    over_tokens, over_channels = _changes(k, -2), _changes(k, -1)
    if over_tokens and over_channels:
        return None
    return "score column" if over_tokens else "query" if over_channels else "softmax scale"


def v_folds_into(v: QuantizedTensor) -> str | None:
    """ "output", "probabilities", or None when the scales must be applied before the product.

    >>> from fp8lab.quantize import quantize, PerChannel, PerToken
    >>> v = torch.ones(1, 2, 8, 64)
    >>> [v_folds_into(quantize(v, "int8", g)) for g in (PerChannel(), PerToken())]
    ['output', 'probabilities']
    """
    _check_cache(v, "v")
    if not _changes(v, -2):
        return "output"
    return None if _changes(v, -1) else "probabilities"


def folded_attention(
    query: torch.Tensor, k: QuantizedTensor, v: QuantizedTensor, scale: float | None = None, causal: bool = True
) -> torch.Tensor:
    """Attention output in float64, with products taken over codes and every scale applied where it folds.

    Shapes and `scale` as for `fp8lab.metrics.attention`; equal to it on dequantized K and V up to float64 rounding.
    ValueError for scales that do not fold: dequantize that tensor instead.

    >>> from fp8lab.quantize import quantize, PerToken
    >>> kv = quantize(torch.full((1, 3, 2), 127.0), "int8", PerToken())
    >>> folded_attention(torch.ones(1, 1, 2), kv, kv)
    tensor([[[127.0000, 127.0000]]], dtype=torch.float64)
    """
    k_place, v_place = k_folds_into(k), v_folds_into(v)
    for name, place, cache in (("k", k_place, k), ("v", v_place, v)):
        if place is None:
            raise ValueError(
                f"scales of {name} in blocks {cache.blocks} of {cache.shape} change along both tokens and channels: "
                "dequantize()"
            )
    query = query.detach().to(torch.float64)
    k_codes, k_scale = _per_query_head(k, query.shape[-3])
    v_codes, v_scale = _per_query_head(v, query.shape[-3])  # codes [..., heads, tokens, head_dim]
    if k_place == "query":
        query = query * k_scale  # [..., heads, 1, head_dim]
    scores = query @ k_codes.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if k_place != "query":
        scores = scores * k_scale.transpose(-1, -2)  # [..., heads, 1, tokens], or one number per head
    if causal:
        scores = without_future(scores)
    probabilities = scores.softmax(-1)
    if v_place == "probabilities":
        return (probabilities * v_scale.transpose(-1, -2)) @ v_codes
    return probabilities @ v_codes * v_scale  # [..., heads, 1, head_dim], or one number per head


def _per_query_head(cache: QuantizedTensor, heads: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes as float64 without their scales, and the scales, both repeated for the query heads that share a KV head."""
    codes = decode_elements(cache.codes.contiguous(), cache.fmt).to(torch.float64)
    scales = cache.scales.to(torch.float64)
    repeats = heads // cache.shape[-3]
    if repeats * cache.shape[-3] != heads:
        raise ValueError(f"{heads} query heads do not share {cache.shape[-3]} KV heads evenly")
    wide = scales if scales.shape[-3] == cache.shape[-3] else scales.expand(*scales.shape[:-3], cache.shape[-3], -1, -1)
    return codes.repeat_interleave(repeats, dim=-3), wide.repeat_interleave(repeats, dim=-3)
