"""One quick measurement for the notebook: writing K and V on this machine's GPU, and a copy beside it.

`benchmarks/gpu.py` does it thoroughly. Where kernels are not compiled for a GPU there is nothing to measure, and None
says so: the interpreter would take the tensors of a GPU, too, and its time means nothing.
"""

from __future__ import annotations

import torch

from fp8lab.course.lessons.l10_gpu.driving_launch import device

REPETITIONS = 50
COPIED = 1 << 28  # bytes: beyond every L2 cache
AT_LEAST = 1 << 28  # bytes of input that are used in turn, so that no run finds its data in L2


def measured_write(
    tokens: int, kv_heads: int, head_dim: int, group_size: int, block_size: int = 16
) -> tuple[float, float, float] | None:
    """(microseconds of one write of K and V, bytes copied, microseconds of that copy); None without a GPU.

    K and V are bfloat16, on a card without bfloat16 arithmetic as well: they are only read.
    """
    if device().type != "cuda":
        return None
    from fp8lab.kernels import KVCache, write_kv
    from fp8lab.kernels.timing import Card, microseconds

    on = {"device": device()}
    sets = max(2, -(-AT_LEAST // (4 * tokens * kv_heads * head_dim)))
    blocks = -(-tokens // block_size)
    caches = [KVCache.empty(blocks, block_size, kv_heads, head_dim, group_size, **on) for _ in range(sets)]
    pairs = [torch.randn(2, tokens, kv_heads, head_dim, dtype=torch.bfloat16, **on) for _ in range(sets)]
    slots = torch.randperm(tokens, **on)
    source = torch.zeros(COPIED, dtype=torch.uint8, **on)
    target = torch.empty_like(source)
    writes = [lambda c=c, p=p: write_kv(p[0], p[1], c, slots) for c, p in zip(caches, pairs)]
    card = Card()
    copied = microseconds([lambda: target.copy_(source)], REPETITIONS, card)
    return microseconds(writes, REPETITIONS, card), float(COPIED), copied
