"""5.8: scales where they fold, and where they do not."""

from __future__ import annotations

from collections.abc import Callable

import torch


def k_where_it_folds(query, codes, scale):
    if scale.shape[-1] > 1:
        return (query * scale) @ codes.mT
    return query @ codes.mT * scale.mT


def v_where_it_folds(probabilities, codes, scale):
    if scale.shape[-2] > 1:
        return (probabilities * scale.mT) @ codes
    return probabilities @ codes * scale


def refuse(scale: torch.Tensor) -> None:
    if scale.shape[-2] > 1 and scale.shape[-1] > 1:
        raise ValueError(f"scales {tuple(scale.shape)} change along tokens and channels: dequantize first")


def folding(
    scores: Callable = k_where_it_folds, output: Callable = v_where_it_folds, check: Callable = refuse
) -> Callable:
    """folded_attention with one part replaced."""

    def folded_attention(query, k_codes, k_scale, v_codes, v_scale):
        check(k_scale), check(v_scale)
        found = scores(query, k_codes, k_scale) * query.shape[-1] ** -0.5
        return output(found.softmax(-1), v_codes, v_scale)

    return folded_attention


def k_by_query_row(query, codes, scale):
    """A scale of each token, put on the query of the same number where the sizes allow it."""
    if scale.shape[-2] > 1 and scale.shape[-2] == query.shape[-2]:
        return query @ codes.mT * scale
    return k_where_it_folds(query, codes, scale)


def v_on_the_output_row(probabilities, codes, scale):
    """V's token scales on the rows of the output, where the sizes allow it."""
    if scale.shape[-2] > 1 and scale.shape[-2] == probabilities.shape[-2]:
        return probabilities @ codes * scale
    return v_where_it_folds(probabilities, codes, scale)


def v_averaged(probabilities, codes, scale):
    """One number for all tokens: their mean."""
    return probabilities @ codes * scale.mean(-2, keepdim=True)


def v_before_the_softmax(query, k_codes, k_scale, v_codes, v_scale):
    refuse(k_scale), refuse(v_scale)
    scores = k_where_it_folds(query, k_codes, k_scale) * query.shape[-1] ** -0.5
    if v_scale.shape[-2] > 1:
        return (scores * v_scale.mT).softmax(-1) @ v_codes
    return scores.softmax(-1) @ v_codes * v_scale


def v_renormalised(probabilities, codes, scale):
    if scale.shape[-2] > 1:
        weighted = probabilities * scale.mT
        return (weighted / weighted.sum(-1, keepdim=True)) @ codes
    return probabilities @ codes * scale


def one_group(scale: torch.Tensor) -> torch.Tensor:
    """Of scales in groups only the first of each token is used."""
    return scale[..., :1] if scale.shape[-1] > 1 and scale.shape[-2] > 1 else scale


def refuse_tokens(scale: torch.Tensor) -> None:
    """Only scales that are one number per head are let through."""
    if scale.shape[-2] > 1 or scale.shape[-1] > 1:
        raise ValueError(f"scales {tuple(scale.shape)} change along the cache: dequantize first")


folded_attention = folding()
dequantized_first = folding(lambda q, codes, s: q @ (codes * s).mT, lambda p, codes, s: p @ (codes * s))
k_scale_dropped = folding(lambda q, codes, s: q @ codes.mT)
v_scale_dropped = folding(output=lambda p, codes, s: p @ codes)
k_divided = folding(lambda q, codes, s: (q / s) @ codes.mT if s.shape[-1] > 1 else q @ codes.mT / s.mT)
k_scale_twice = folding(lambda q, codes, s: k_where_it_folds(q, codes, s * s))
scale_of_the_query_row = folding(k_by_query_row)
scale_of_the_output_row = folding(output=v_on_the_output_row)
mean_of_v_scales = folding(output=v_averaged)
sum_made_one_again = folding(output=v_renormalised)
groups_accepted = folding(
    lambda q, codes, s: k_where_it_folds(q, codes, one_group(s)),
    lambda p, codes, s: v_where_it_folds(p, codes, one_group(s)),
    check=lambda scale: None,
)
token_scales_refused = folding(check=refuse_tokens)


def by_einsum(query, k_codes, k_scale, v_codes, v_scale):
    """Right: the shape of the scale decides which factor takes it; the others are multiplied by ones."""
    refuse(k_scale), refuse(v_scale)
    heads, tokens, head_dim = k_codes.shape
    of_query = k_scale if k_scale.shape[-1] > 1 else torch.ones(1, 1, 1)
    of_column = torch.ones(1, 1, 1) if k_scale.shape[-1] > 1 else k_scale
    scores = torch.einsum("hqd,htd->hqt", query * of_query, k_codes) * of_column.transpose(-1, -2)
    probabilities = (scores / head_dim**0.5).softmax(-1)
    in_tokens = v_scale if v_scale.shape[-2] > 1 else torch.ones(1, 1, 1)
    in_output = torch.ones(1, 1, 1) if v_scale.shape[-2] > 1 else v_scale
    return torch.einsum("hqt,htd->hqd", probabilities * in_tokens.transpose(-1, -2), v_codes) * in_output


def in_float64(query, k_codes, k_scale, v_codes, v_scale):
    return folded_attention(*(x.double() for x in (query, k_codes, k_scale, v_codes, v_scale)))
