"""One quick measurement for the notebook: writing K and V on this machine's GPU, and a copy beside it.

`benchmarks/gpu.py` does it thoroughly. Without a GPU there is nothing to measure, and None says so.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import torch

REPETITIONS = 50
COPIED = 1 << 28  # bytes: beyond every L2 cache
CACHES = 8  # caches and inputs that are used in turn, so that no run finds its data in L2


def measured_write(
    tokens: int, kv_heads: int, head_dim: int, group_size: int, block_size: int = 16
) -> tuple[float, float, float] | None:
    """(microseconds of one write of K and V, bytes copied, microseconds of that copy); None without a GPU."""
    from fp8lab.kernels import KVCache, kernels_run_on, write_kv

    if not torch.cuda.is_available() or not kernels_run_on(torch.empty(0, device="cuda")):
        return None
    on = {"device": "cuda"}
    blocks = -(-tokens // block_size)
    caches = [KVCache.empty(blocks, block_size, kv_heads, head_dim, group_size, **on) for _ in range(CACHES)]
    pairs = [torch.randn(2, tokens, kv_heads, head_dim, dtype=torch.bfloat16, **on) for _ in range(CACHES)]
    slots = torch.randperm(tokens, **on)
    source = torch.empty(COPIED, dtype=torch.uint8, **on)
    target = torch.empty_like(source)
    writes = [lambda c=c, p=p: write_kv(p[0], p[1], c, slots) for c, p in zip(caches, pairs)]
    return _microseconds(writes), float(COPIED), _microseconds([lambda: target.copy_(source)])


def _microseconds(jobs: list[Callable[[], object]]) -> float:
    for job in jobs:
        job()  # compiles
    torch.cuda.synchronize()
    times = []
    for number in range(REPETITIONS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        jobs[number % len(jobs)]()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) * 1000)
    return statistics.median(times)
