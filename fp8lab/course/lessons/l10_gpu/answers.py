"""Lesson 10: the right answers, in torch, and the wrong ones by name. Importing this needs no Triton.

A reference is what `fp8lab.quantize` and softmax in float64 say, not another kernel: it holds where none runs, too.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from fp8lab.codec import decode, encode
from fp8lab.course.lessons.l10_gpu.driving_launch import Device, InTorch, Named, prepare, quiet
from fp8lab.formats import E4M3FN
from fp8lab.granularity import Group
from fp8lab.quantize import quantize


@InTorch
def absmax(grid, x, out, row_stride, *, GROUP):
    rows, groups = grid
    out[:rows, :groups] = x.unflatten(1, (-1, GROUP)).abs().amax(2)[:rows, :groups]


@InTorch
def quantized(grid, x, codes, scales, *sizes, GROUP, BLOCK=None):
    rows, groups = grid
    q = quantize(x, E4M3FN, Group(GROUP))
    codes[:rows, : groups * GROUP] = q.codes[:rows, : groups * GROUP]
    scales[:rows, :groups] = q.stored_scales[:rows, :groups]


@InTorch
def dequantized(grid, codes, scales, out, width, groups, *, GROUP, BLOCK):
    rows, end = grid[0], grid[1] * BLOCK
    out[:rows, :end] = (decode(codes) * scales.repeat_interleave(GROUP, 1)[:, :width])[:rows, :end]


@InTorch
def written(grid, x, codes, scales, slots, width, block_size, *strides, GROUP, BLOCK):
    tokens, heads, groups = grid
    for token, slot in enumerate(slots.tolist()[:tokens]):
        if slot >= 0:
            q = quantize(x[token], E4M3FN, Group(GROUP))
            for target, values, kept in ((codes, q.codes, groups * GROUP), (scales, q.stored_scales, groups)):
                place = target[slot // block_size, slot % block_size].view(values.shape)
                place[:heads, :kept] = values[:heads, :kept]


@InTorch
def coded(grid, x, codes, *, BLOCK):
    codes.copy_(encode(x, E4M3FN))


def attention(query, k_codes, k_scales, v_codes, v_scales, table, length, splits):
    """[heads, dim]: gather the pages, dequantize, softmax, all in float64."""
    k, v = (_read(c, s, table)[:length] for c, s in ((k_codes, k_scales), (v_codes, v_scales)))
    scores = torch.einsum("hd,thd->ht", query.double(), k) * query.shape[1] ** -0.5
    return torch.einsum("ht,thd->hd", scores.softmax(1), v).float()


def _read(codes, scales, table):
    wide = scales.repeat_interleave(codes.shape[3] // scales.shape[3], 3)
    return (decode(codes).double() * wide)[table.long()].flatten(0, 1)


def attention_as(fault: str) -> Callable[..., torch.Tensor]:
    """Attention by kernels that have this fault ("otherwise": none)."""

    def answer(*arguments):
        prepare()
        from fp8lab.course.lessons.l10_gpu.kernels_attention import attend

        with quiet():
            return attend(*arguments, fault=fault)

    answer.__name__ = f"attend: {fault}"
    return answer


def absmax_as(fault: str) -> Named:
    return Named("kernels_group", "absmax_kernel", fault)


def quantize_as(fault: str) -> Named:
    return Named("kernels_group", "quantize_kernel", fault)


def ragged_as(fault: str) -> Named:
    return Named("kernels_group", "quantize_ragged_kernel", fault)


def dequantize_as(fault: str) -> Named:
    return Named("kernels_pages", "dequantize_kernel", fault)


def write_as(fault: str) -> Named:
    return Named("kernels_pages", "write_kernel", fault)


def bits_as(fault: str) -> Named:
    return Named("kernels_bits", "faulty_kernel", fault)


given_code = Device("kernels_group", "to_code")


# ---- 10.7


def roofline(tokens, kv_heads, head_dim, group_size, microseconds, copied, copy_microseconds):
    groups = -(-head_dim // group_size)
    moved = 2 * tokens * kv_heads * (2 * head_dim + head_dim + 4 * groups) + 8 * tokens
    rate = 2 * copied / copy_microseconds
    return moved, moved / rate, moved / microseconds / rate


def roofline_as(
    per_vector: Callable[[int, int], int] = lambda dim, groups: 3 * dim + 4 * groups,
    *,
    both: int = 2,
    slots: int = 8,
    copy: float = 2,
    whole_groups: bool = False,
    fraction: Callable[[float, float], float] = lambda floor, took: floor / took,
) -> Callable[..., tuple[float, float, float]]:
    """`roofline` with other ideas of what is moved and of what a copy moves."""

    def answer(tokens, kv_heads, head_dim, group_size, microseconds, copied, copy_microseconds):
        groups = head_dim // group_size if whole_groups else -(-head_dim // group_size)
        moved = both * tokens * kv_heads * per_vector(head_dim, groups) + slots * tokens
        floor = moved / (copy * copied / copy_microseconds)
        return moved, floor, fraction(floor, microseconds)

    return answer


def in_gigabytes(tokens, kv_heads, head_dim, group_size, microseconds, copied, copy_microseconds):
    """Right, by way of GB/s and of K and V counted one after the other."""
    vectors = tokens * kv_heads
    one = vectors * head_dim * 2 + vectors * head_dim + vectors * 4 * -(head_dim // -group_size)
    gigabytes = (one + one + 8 * tokens) / 1e9
    limit = (copied + copied) / 1e9 / (copy_microseconds * 1e-6)
    return gigabytes * 1e9, gigabytes / limit * 1e6, gigabytes / (microseconds * 1e-6) / limit
