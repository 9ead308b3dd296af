"""5.5: axes for K and V by the attention output, and by what is mistaken for it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch

from fp8lab.metrics import attention, attention_output_error
from fp8lab.quantize import quantize


def worst_head(query, k, v, kept_k, kept_v) -> float:
    exact = attention(query, k, v, causal=False)
    error = attention(query, kept_k, kept_v, causal=False) - exact
    return (error.norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))).max().item()


def choosing(error: Callable = worst_head, pick: Callable = min, named: Callable = lambda pair: pair) -> Callable:
    """choose_axes with one part replaced."""

    def choose_axes(query, k, v, ways, fmt="int4"):
        table = {}
        ks, vs = ({name: quantize(x, fmt, way).dequantize() for name, way in ways.items()} for x in (k, v))
        for k_way, v_way in itertools.product(ways, ways):
            table[k_way, v_way] = float(error(query, k, v, ks[k_way], vs[v_way]))
        best = pick(table, key=table.get)
        return *named(best), table[best]

    return choose_axes


def _relative(error: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    return error.norm() / exact.norm()


def of_the_tensors(query, k, v, kept_k, kept_v):
    return _relative(kept_k - k, k) + _relative(kept_v - v, v)


def over_all_heads(query, k, v, kept_k, kept_v):
    exact = attention(query, k, v, causal=False)
    return _relative(attention(query, kept_k, kept_v, causal=False) - exact, exact)


def mean_of_heads(query, k, v, kept_k, kept_v):
    exact = attention(query, k, v, causal=False)
    error = attention(query, kept_k, kept_v, causal=False) - exact
    return (error.norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))).mean()


def not_relative(query, k, v, kept_k, kept_v):
    exact = attention(query, k, v, causal=False)
    return (attention(query, kept_k, kept_v, causal=False) - exact).norm(dim=(-2, -1)).max()


def of_the_scores(query, k, v, kept_k, kept_v):
    exact, made = (query.double() @ x.double().mT for x in (k, kept_k))
    return ((made - exact).norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))).max()


def k_alone(query, k, v, kept_k, kept_v):
    return worst_head(query, k, v, kept_k, v)


def v_alone(query, k, v, kept_k, kept_v):
    return worst_head(query, k, v, k, kept_v)


def causal(query, k, v, kept_k, kept_v):
    return attention_output_error(query, k, v, kept_k, kept_v).worst


choose_axes = choosing()
by_tensor_error = choosing(of_the_tensors)
over_all = choosing(over_all_heads)
mean_over_heads = choosing(mean_of_heads)
absolute_error = choosing(not_relative)
by_scores = choosing(of_the_scores)
v_left_exact = choosing(k_alone)
k_left_exact = choosing(v_alone)
with_a_mask = choosing(causal)
the_worst_pair = choosing(pick=max)
names_swapped = choosing(named=lambda pair: pair[::-1])


def one_way_for_both(query, k, v, ways, fmt="int4"):
    """The same axes for K and for V."""
    table = {}
    for way in ways:
        kept = [quantize(x, fmt, ways[way]).dequantize() for x in (k, v)]
        table[way] = worst_head(query, k, v, *kept)
    best = min(table, key=table.get)
    return best, best, table[best]


def by_metric(query, k, v, ways, fmt="int4"):
    """Right: with fp8lab's own measure."""
    return choosing(lambda *tensors: attention_output_error(*tensors, causal=False).worst)(query, k, v, ways, fmt)


def by_sorting(query, k, v, ways, fmt="int4"):
    kept_k, kept_v = ({name: quantize(x, fmt, way).dequantize() for name, way in ways.items()} for x in (k, v))
    found = sorted((worst_head(query, k, v, kept_k[a], kept_v[b]), a, b) for a in ways for b in ways)
    return found[0][1], found[0][2], found[0][0]
