"""How far a restored tensor is from the original: five measures, and what each of them hides.

    mse              sensitive to large values only: a head 1000 times smaller than its neighbours does not show
    sqnr_db          the same, relative to the signal: 6 dB is one bit
    relative_error   quantiles of |error| / |value|: the median says what a float format always does, so look at the
                     tail and at the worst head (heads scaled 1, 1e-3, 30, 1e-5 with one scale per tensor: the small
                     head is gone, the median 4.6 %)
    cosine           direction only: blind to a wrong scale
    attention_output_error   what a reader of the cache sees, which none of the above predicts: errors of K pass
                             through a softmax

Everything is computed in float64. Tensors may have any dtype and device; the original is always the first argument.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch


def _pair(original: torch.Tensor, restored: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    original, restored = torch.as_tensor(original).detach(), torch.as_tensor(restored).detach()
    if original.shape != restored.shape:
        raise ValueError(f"original and restored differ in shape: {tuple(original.shape)} and {tuple(restored.shape)}")
    if original.numel() == 0:
        raise ValueError(f"nothing to compare: the tensors are empty, shape {tuple(original.shape)}")
    return original.to(torch.float64), restored.to(torch.float64)


def mse(original: torch.Tensor, restored: torch.Tensor) -> float:
    """Mean squared error, in squared units of the data. NaN when either holds NaN. ValueError for unequal or empty
    shapes.

    >>> mse(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    2.0
    """
    original, restored = _pair(original, restored)
    return (original - restored).square().mean().item()


def sqnr_db(original: torch.Tensor, restored: torch.Tensor) -> float:
    """Signal-to-quantization-noise ratio in decibels: 10 log10(sum x^2 / sum error^2). inf without error, -inf
    without signal.

    >>> sqnr_db(torch.tensor([10.0, 0.0]), torch.tensor([9.0, 0.0]))
    20.0
    """
    original, restored = _pair(original, restored)
    signal, noise = original.square().sum().item(), (original - restored).square().sum().item()
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 else -math.inf if signal == 0 else math.nan


@dataclass(frozen=True)
class RelativeError:
    """`quantiles`: of |error| / |value| over all values; `worst`: the largest, over the heads, of each head's own
    quantile (the same numbers without a head axis); `worst_head`: the head whose median is largest (0 without a head
    axis)."""

    quantiles: dict[float, float]
    worst: dict[float, float]
    worst_head: int


def relative_error(
    original: torch.Tensor,
    restored: torch.Tensor,
    quantiles: tuple[float, ...] = (0.5, 0.9, 0.99, 1.0),
    head_axis: int | None = None,
) -> RelativeError:
    """Quantiles of |restored - x| / |x|, no unit, for all values and for the worst head.

    Where x is 0 a restored 0 does not count and anything else counts as inf. Quantiles are by nearest rank: each is
    an error that occurs. IndexError for a head axis that is not there.

    >>> x = torch.tensor([[100.0, 200.0, 400.0], [0.01, 0.02, 0.04]])  # two heads
    >>> error = relative_error(x, torch.tensor([[100.0, 200.0, 400.0], [0.0, 0.0, 0.0]]), quantiles=(0.5,), head_axis=0)
    >>> error.quantiles, error.worst, error.worst_head
    ({0.5: 0.0}, {0.5: 1.0}, 1)
    """
    original, restored = _pair(original, restored)
    if any(not 0 < q <= 1 for q in quantiles):
        raise ValueError(f"quantiles lie above 0 and up to 1, got {quantiles}")
    error = (restored - original).abs()
    relative = torch.where((original == 0) & (error == 0), torch.nan, error / original.abs())
    relative = torch.where(restored.isnan() | original.isnan(), torch.inf, relative)
    if head_axis is None:
        heads = relative.reshape(1, -1)
    else:
        heads = relative.movedim(head_axis, 0).reshape(relative.shape[head_axis], -1)
    per_head = [{q: _nearest_rank(head, q) for q in quantiles} for head in heads]
    overall = {q: _nearest_rank(relative.flatten(), q) for q in quantiles}
    medians = [_nearest_rank(head, 0.5) for head in heads]
    return RelativeError(
        overall, {q: max(head[q] for head in per_head) for q in quantiles}, medians.index(max(medians))
    )


def _nearest_rank(errors: torch.Tensor, quantile: float) -> float:
    counted = errors[~errors.isnan()].sort().values
    if counted.numel() == 0:  # nothing but zeros, all restored
        return 0.0
    rank = math.ceil(quantile * counted.numel() - 1e-9)
    return counted[max(rank, 1) - 1].item()


def cosine(original: torch.Tensor, restored: torch.Tensor, axis: int | None = None) -> float:
    """Cosine of the angle between the two, over everything; with `axis`, the smallest among the vectors along it.

    1 for two zero vectors, 0 when only one is zero.

    >>> cosine(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[2.0, 0.0], [0.0, -2.0]]), axis=-1)
    -1.0
    """
    original, restored = _pair(original, restored)
    if axis is None:
        original, restored, axis = original.flatten(), restored.flatten(), 0
    dot, a, b = (original * restored).sum(axis), original.norm(dim=axis), restored.norm(dim=axis)
    both_zero = (a == 0) & (b == 0)
    return torch.where(both_zero, 1.0, torch.where((a == 0) | (b == 0), 0.0, dot / (a * b))).min().item()


def without_future(scores: torch.Tensor) -> torch.Tensor:
    """Scores [..., queries, tokens] with -inf where a token comes after its query; the last query sees all tokens.

    >>> without_future(torch.zeros(2, 3)).tolist()
    [[0.0, 0.0, -inf], [0.0, 0.0, 0.0]]
    """
    queries, tokens = scores.shape[-2:]
    ahead = torch.ones(queries, tokens, dtype=torch.bool, device=scores.device).triu(tokens - queries + 1)
    return scores.masked_fill(ahead, -torch.inf)


def attention(
    query: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float | None = None, causal: bool = True
) -> torch.Tensor:
    """Attention output in float64: softmax(scale q k^T) v.

    query [..., heads, queries, head_dim]; k, v [..., kv_heads, tokens, head_dim] with heads a multiple of kv_heads
    (query head h reads KV head h // (heads / kv_heads)). `scale` is 1 / sqrt(head_dim) unless given. Causal: the
    last query sees all tokens.

    >>> attention(torch.zeros(1, 1, 2), torch.randn(1, 3, 2), torch.tensor([[[0.0], [3.0], [6.0]]])).tolist()
    [[[3.0]]]
    """
    query, k, v = (t.detach().to(torch.float64) for t in (query, k, v))
    heads, kv_heads = query.shape[-3], k.shape[-3]
    if heads % kv_heads or k.shape[-3:-1] != v.shape[-3:-1] or query.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"query {tuple(query.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)} do not fit: "
            "heads must be a multiple of kv_heads, k and v have the same tokens, query and k the same head_dim"
        )
    k, v = (t.repeat_interleave(heads // kv_heads, dim=-3) for t in (k, v))
    scores = query @ k.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        scores = without_future(scores)
    return scores.softmax(-1) @ v


@dataclass(frozen=True)
class AttentionError:
    """Relative root-mean-square error of the attention output: over all heads, and of the worst query head
    (`worst_head`)."""

    overall: float
    worst: float
    worst_head: int


def attention_output_error(
    query: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    k_restored: torch.Tensor,
    v_restored: torch.Tensor,
    scale: float | None = None,
    causal: bool = True,
) -> AttentionError:
    """||output with restored K and V - output|| / ||output||, no unit; shapes and `scale` as for `attention`.

    >>> q, k, v = torch.ones(1, 1, 2), torch.zeros(1, 4, 2), torch.ones(1, 4, 2)
    >>> attention_output_error(q, k, v, k, 1.5 * v)
    AttentionError(overall=0.5, worst=0.5, worst_head=0)
    """
    if k.shape != k_restored.shape or v.shape != v_restored.shape:
        raise ValueError(
            f"restored tensors keep their shape: k {tuple(k.shape)} and {tuple(k_restored.shape)}, "
            f"v {tuple(v.shape)} and {tuple(v_restored.shape)}"
        )
    exact = attention(query, k, v, scale, causal)
    error = (attention(query, k_restored, v_restored, scale, causal) - exact).movedim(-3, 0).flatten(1)
    exact = exact.movedim(-3, 0).flatten(1)
    heads = _ratio(error.norm(dim=1), exact.norm(dim=1))
    worst = int(heads.argmax())
    return AttentionError(_ratio(error.norm(), exact.norm()).item(), heads[worst].item(), worst)


def _ratio(error: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    """error / size; 0 where nothing went wrong, even with nothing there; inf where the error is NaN."""
    return torch.where(error == 0, 0.0, (error / size).nan_to_num(nan=torch.inf))
