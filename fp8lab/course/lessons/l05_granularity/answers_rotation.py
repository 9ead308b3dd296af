"""5.7: rotation, right and wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch

from fp8lab.metrics import attention
from fp8lab.rotate import hadamard, rotate


def three_products(query, k, v, h, store):
    return query @ h, store(k @ h), store(v @ h)


def rotating(
    before: Callable = three_products,
    after: Callable = lambda output, h: output @ h,
    matrix: Callable = hadamard,
) -> Callable:
    """rotated_attention with one part replaced."""

    def rotated_attention(query, k, v, store):
        query, k, v = query.double(), k.double(), v.double()
        h = matrix(k.shape[-1])
        return after(attention(*before(query, k, v, h, store), causal=False), h)

    return rotated_attention


rotated_attention = rotating()
query_forgotten = rotating(lambda q, k, v, h, store: (q, store(k @ h), store(v @ h)))
output_left_rotated = rotating(after=lambda output, h: output)
stored_before_rotating = rotating(lambda q, k, v, h, store: (q @ h, store(k) @ h, store(v) @ h))
only_k_rotated = rotating(lambda q, k, v, h, store: (q @ h, store(k @ h), store(v)), after=lambda output, h: output)
not_stored = rotating(lambda q, k, v, h, store: (q @ h, k @ h, v @ h))
v_not_stored = rotating(lambda q, k, v, h, store: (q @ h, store(k @ h), v @ h))
query_stored_too = rotating(lambda q, k, v, h, store: (store(q @ h), store(k @ h), store(v @ h)))
rotated_back_first = rotating(  # right, but every read of the cache pays for it
    lambda q, k, v, h, store: (q, store(k @ h) @ h, store(v @ h) @ h), after=lambda output, h: output
)
not_normalised = rotating(matrix=lambda n: hadamard(n) * n**0.5)


def over_the_tokens(x: torch.Tensor) -> torch.Tensor:
    """The Hadamard matrix along the tokens, as far as their number allows."""
    return rotate(x, axis=-2)


tokens_rotated = rotating(
    lambda q, k, v, h, store: (q, store(over_the_tokens(k)), store(over_the_tokens(v))), after=lambda output, h: output
)


def by_butterflies(query, k, v, store):
    """Right: n log n additions instead of a matrix."""
    query, k, v = (rotate(x.double()) for x in (query, k, v))
    return rotate(attention(query, store(k), store(v), causal=False))


def transposed(query, k, v, store):
    """Right: the matrix is symmetric, so its transpose does the same."""
    query, k, v = query.double(), k.double(), v.double()
    h = hadamard(k.shape[-1])
    output = attention(query @ h.T, store(k @ h.T), store(v @ h.T), causal=False)
    return torch.einsum("htd,cd->htc", output, h)
