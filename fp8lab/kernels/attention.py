"""Decode attention over a paged FP8 cache: one query token per sequence reads all the keys and values it may see.

The sequence is split into runs of tokens that different programs read at the same time. Each keeps an online
softmax: the largest score so far, the sum of the exponentials, the weighted sum of V. `merge_kernel` joins the runs.
Query heads that share a KV head (GQA) are one tile, so K and V are read once for all of them.

K is multiplied by its scales before the dot product: groups inside head_dim lie along the contraction and cannot be
folded into the score. Scores are kept in units of log2, so that exp2 serves.
"""

from __future__ import annotations

import triton
import triton.language as tl

from fp8lab.kernels.bits import load_scale, narrow, to_values


@triton.jit
def load_page_rows(
    codes_ptr, scales_ptr, block, place, head, real, width, group_size,
    code_block_stride, code_slot_stride, code_head_stride,
    scale_block_stride, scale_slot_stride, scale_head_stride,
    DIM: tl.constexpr, MANTISSA: tl.constexpr, BIAS: tl.constexpr, MAX_CODE: tl.constexpr, E8M0: tl.constexpr,
    NATIVE: tl.constexpr,
):  # fmt: skip
    """Rows of K or V as float32 [tokens, DIM], each group of columns with its own scale; 0 where there is no token."""
    column = tl.arange(0, DIM)
    mask = real[:, None] & (column < width)[None, :]
    row = block * code_block_stride + place * code_slot_stride + head * code_head_stride
    codes = tl.load(codes_ptr + row[:, None] + column[None, :], mask=mask, other=0)
    row = block * scale_block_stride + place * scale_slot_stride + head * scale_head_stride
    scale = load_scale(scales_ptr + row[:, None] + (column // group_size)[None, :], mask, E8M0)
    return to_values(codes, MANTISSA, BIAS, MAX_CODE, NATIVE) * scale


@triton.jit
def dot(a, b, INTERPRETED: tl.constexpr):
    """Products of the inputs' own dtype, summed in float32. The interpreter multiplies bfloat16 as if its bits were
    integers, so there the (exact) float32 values are multiplied instead."""
    if INTERPRETED:
        return tl.dot(a.to(tl.float32), b.to(tl.float32))
    return tl.dot(a, b, input_precision="ieee")


@triton.jit
def attend_kernel(
    q_ptr, k_ptr, k_scale_ptr, v_ptr, v_scale_ptr, table_ptr, lengths_ptr, out_ptr, peak_ptr, sum_ptr,
    score_scale, window, block_size, k_width, v_width, k_group, v_group, kv_heads, tokens_per_split,
    q_batch_stride, q_head_stride, table_stride,
    kcb, kcs, kch, ksb, kss, ksh, vcb, vcs, vch, vsb, vss, vsh,
    SHARING: tl.constexpr, QUERIES: tl.constexpr, TOKENS: tl.constexpr, K_DIM: tl.constexpr, V_DIM: tl.constexpr,
    MANTISSA: tl.constexpr, BIAS: tl.constexpr, MAX_CODE: tl.constexpr, E8M0: tl.constexpr,
    NATIVE: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """One split of one sequence and KV head: out [batch, heads, splits, v_width] float32 not yet divided by `sum`."""
    batch, head, split = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64), tl.program_id(2)
    dtype = q_ptr.dtype.element_ty
    length = tl.load(lengths_ptr + batch)
    first = tl.maximum(length - window, 0)
    begin = first + split * tokens_per_split
    end = tl.minimum(begin + tokens_per_split, length)

    query = tl.arange(0, QUERIES)
    q_head = head * SHARING + query
    column = tl.arange(0, K_DIM)
    q_mask = (query < SHARING)[:, None] & (column < k_width)[None, :]
    q = tl.load(
        q_ptr + batch * q_batch_stride + q_head[:, None] * q_head_stride + column[None, :], mask=q_mask, other=0.0
    )

    peak = tl.full([QUERIES], float("-inf"), tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    acc = tl.zeros([QUERIES, V_DIM], tl.float32)
    for start in range(begin, end, TOKENS):
        position = start + tl.arange(0, TOKENS)
        real = position < end
        block = tl.load(table_ptr + batch * table_stride + position // block_size, mask=real, other=0).to(tl.int64)
        place = (position % block_size).to(tl.int64)
        k = load_page_rows(k_ptr, k_scale_ptr, block, place, head, real, k_width, k_group, kcb, kcs, kch, ksb, kss, ksh,
                           K_DIM, MANTISSA, BIAS, MAX_CODE, E8M0, NATIVE)  # fmt: skip
        score = dot(q, tl.trans(narrow(k, dtype)), INTERPRETED) * score_scale
        score = tl.where(real[None, :], score, float("-inf"))
        new_peak = tl.maximum(peak, tl.max(score, 1))
        weight = tl.exp2(score - new_peak[:, None])
        shrink = tl.exp2(peak - new_peak)
        v = load_page_rows(v_ptr, v_scale_ptr, block, place, head, real, v_width, v_group, vcb, vcs, vch, vsb, vss, vsh,
                           V_DIM, MANTISSA, BIAS, MAX_CODE, E8M0, NATIVE)  # fmt: skip
        acc = acc * shrink[:, None] + dot(narrow(weight, dtype), narrow(v, dtype), INTERPRETED)
        total = total * shrink + tl.sum(weight, 1)
        peak = new_peak

    row = (batch * kv_heads * SHARING + q_head) * tl.num_programs(2) + split
    tl.store(peak_ptr + row, peak, mask=query < SHARING)
    tl.store(sum_ptr + row, total, mask=query < SHARING)
    column = tl.arange(0, V_DIM)
    out_mask = (query < SHARING)[:, None] & (column < v_width)[None, :]
    tl.store(out_ptr + row[:, None] * v_width + column[None, :], acc, mask=out_mask)


@triton.jit
def merge_kernel(partial_ptr, peak_ptr, sum_ptr, out_ptr, splits, v_width, SPLITS: tl.constexpr, V_DIM: tl.constexpr):
    """Join the splits of one query head. A sequence of length 0 has seen nothing: zeros."""
    row = tl.program_id(0).to(tl.int64)
    split, column = tl.arange(0, SPLITS), tl.arange(0, V_DIM)
    there = split < splits
    peaks = tl.load(peak_ptr + row * splits + split, mask=there, other=float("-inf"))
    highest = tl.maximum(tl.max(peaks, 0), -3.0e38)  # a number also when no split has seen a token
    weight = tl.exp2(peaks - highest)
    total = tl.sum(weight * tl.load(sum_ptr + row * splits + split, mask=there, other=0.0), 0)
    mask = there[:, None] & (column < v_width)[None, :]
    partial = tl.load(partial_ptr + (row * splits + split)[:, None] * v_width + column[None, :], mask=mask, other=0.0)
    joined = tl.sum(partial * weight[:, None], 0)
    out = tl.where(total > 0.0, tl.math.div_rn(joined, tl.where(total > 0.0, total, 1.0) + tl.zeros_like(joined)), 0.0)
    tl.store(out_ptr + row * v_width + column, narrow(out, out_ptr.dtype.element_ty), mask=column < v_width)
