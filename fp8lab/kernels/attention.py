"""Decode attention over a paged FP8 cache: one query token per sequence reads all the keys and values it may see.

The sequence is split into runs of tokens that different programs read at the same time. Each keeps an online
softmax: the largest score so far, the sum of the exponentials, the weighted mean of V. `merge_kernel` joins the runs.
Query heads that share a KV head (GQA) are one tile, so K and V are read once for all of them.

K is multiplied by its scales before the dot product: groups inside head_dim lie along the contraction and cannot be
folded into the score. What is multiplied is as exact as the query, and reaches as far as float32 (see `operand`).

No step leaves float32 where the answer does not: the mean is kept, not the sum, so that many large values do not
overflow; the largest score is subtracted before the step to units of log2, in which exp2 works; a score of -inf (a
product below -3.4e38) has weight 0 next to any other. NaN, and +inf as the largest score, end as NaN, as in softmax.
"""

from __future__ import annotations

import triton
import triton.language as tl

from fp8lab.kernels.bits import load_scale, narrow, to_values, widen

LOG2_E = tl.constexpr(1.4426950408889634)


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
def operand(value, dtype: tl.constexpr):
    """float32 as it enters a dot product with a query of `dtype`: nearest, ties to even, what is finite stays finite.

    float32 stays as it is. bfloat16 has float32's range. For a float16 query it is TF32, the upper 19 bits of
    float32: float16's 11 bits of precision, so that the query is held exactly, without float16's end at 65504, beyond
    which K, V and their scales may lie.
    """
    if dtype == tl.float32:
        return value
    else:
        DROP: tl.constexpr = 16 if dtype == tl.bfloat16 else 13
        LAST: tl.constexpr = 0x7F800000 - (1 << (DROP - 1))  # from here on nearest is infinity; above lie inf and NaN
        bits = value.to(tl.uint32, bitcast=True)
        carry = tl.where((bits & 0x7FFFFFFF) < LAST, ((1 << (DROP - 1)) - 1) + ((bits >> DROP) & 1), 0)
        kept = (bits + carry) >> DROP
        if dtype == tl.bfloat16:
            return kept.to(tl.uint16).to(tl.bfloat16, bitcast=True)
        else:
            return (kept << DROP).to(tl.float32, bitcast=True)


@triton.jit
def dot(a, b, TF32: tl.constexpr, INTERPRETED: tl.constexpr):
    """Products of operands, summed in float32. The interpreter multiplies bfloat16 as if its bits were integers, so
    there the (exact) float32 values are multiplied instead. TF32 says that nothing is lost by multiplying as such."""
    if INTERPRETED:
        return tl.dot(widen(a), widen(b))
    return tl.dot(a, b, input_precision="tf32" if TF32 else "ieee")


@triton.jit
def above_minus_infinity(peak):
    """What is subtracted from scores before exp2: `peak`, or 0 where all are -inf, whose weights are then 0."""
    return tl.where(peak == float("-inf"), 0.0, peak)


@triton.jit
def attend_kernel(
    q_ptr, k_ptr, k_scale_ptr, v_ptr, v_scale_ptr, table_ptr, lengths_ptr, out_ptr, peak_ptr, sum_ptr,
    softmax_scale, window, block_size, k_width, v_width, k_group, v_group, kv_heads, tokens_per_split,
    q_batch_stride, q_head_stride, table_stride,
    kcb, kcs, kch, ksb, kss, ksh, vcb, vcs, vch, vsb, vss, vsh,
    SHARING: tl.constexpr, QUERIES: tl.constexpr, TOKENS: tl.constexpr, K_DIM: tl.constexpr, V_DIM: tl.constexpr,
    MANTISSA: tl.constexpr, BIAS: tl.constexpr, MAX_CODE: tl.constexpr, E8M0: tl.constexpr,
    NATIVE: tl.constexpr, TF32: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """One split of one sequence and KV head: out [batch, heads, splits, v_width] float32, the mean of V by weight;
    the largest score and the sum of the weights beside it. A split without tokens has -inf, 0, and a mean of 0."""
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
    if dtype == tl.float16:
        q = q.to(tl.float32)

    peak = tl.full([QUERIES], float("-inf"), tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    mean = tl.zeros([QUERIES, V_DIM], tl.float32)
    for start in range(begin, end, TOKENS):
        position = start + tl.arange(0, TOKENS)
        real = position < end
        block = tl.load(table_ptr + batch * table_stride + position // block_size, mask=real, other=0).to(tl.int64)
        place = (position % block_size).to(tl.int64)
        k = load_page_rows(k_ptr, k_scale_ptr, block, place, head, real, k_width, k_group, kcb, kcs, kch, ksb, kss, ksh,
                           K_DIM, MANTISSA, BIAS, MAX_CODE, E8M0, NATIVE)  # fmt: skip
        score = dot(q, tl.trans(operand(k, dtype)), TF32, INTERPRETED) * softmax_scale
        score = tl.where(real[None, :], score, float("-inf"))
        new_peak = tl.maximum(peak, tl.max(score, 1))
        base = above_minus_infinity(new_peak)
        weight = tl.exp2((score - base[:, None]) * LOG2_E)
        before = total * tl.exp2((peak - base) * LOG2_E)
        total = before + tl.sum(weight, 1)  # at least 1 once there is a score, the largest; 0 before that
        share = 1.0 / tl.maximum(total, 1.0)
        v = load_page_rows(v_ptr, v_scale_ptr, block, place, head, real, v_width, v_group, vcb, vcs, vch, vsb, vss, vsh,
                           V_DIM, MANTISSA, BIAS, MAX_CODE, E8M0, NATIVE)  # fmt: skip
        seen = dot(operand(weight * share[:, None], dtype), operand(v, dtype), TF32, INTERPRETED)
        mean = mean * (before * share)[:, None] + seen
        peak = new_peak

    row = (batch * kv_heads * SHARING + q_head) * tl.num_programs(2) + split
    tl.store(peak_ptr + row, peak, mask=query < SHARING)
    tl.store(sum_ptr + row, total, mask=query < SHARING)
    column = tl.arange(0, V_DIM)
    out_mask = (query < SHARING)[:, None] & (column < v_width)[None, :]
    tl.store(out_ptr + row[:, None] * v_width + column[None, :], mean, mask=out_mask)


@triton.jit
def merge_kernel(
    mean_ptr, peak_ptr, sum_ptr, lengths_ptr, out_ptr, heads, splits, v_width,
    SPLITS: tl.constexpr, V_DIM: tl.constexpr,
):  # fmt: skip
    """Join the splits of one query head: the mean of their means. A sequence of length 0 has seen nothing: zeros.
    Where all scores are -inf, 0 / 0 is NaN, as in softmax."""
    row = tl.program_id(0).to(tl.int64)
    split, column = tl.arange(0, SPLITS), tl.arange(0, V_DIM)
    there = split < splits
    peaks = tl.load(peak_ptr + row * splits + split, mask=there, other=float("-inf"))
    weight = tl.exp2((peaks - above_minus_infinity(tl.max(peaks, 0))) * LOG2_E)
    weight = weight * tl.load(sum_ptr + row * splits + split, mask=there, other=0.0)
    seen = tl.load(lengths_ptr + row // heads) > 0
    share = tl.math.div_rn(weight, tl.where(seen, tl.sum(weight, 0), 1.0) + tl.zeros_like(weight))
    mask = there[:, None] & (column < v_width)[None, :]
    mean = tl.load(mean_ptr + (row * splits + split)[:, None] * v_width + column[None, :], mask=mask, other=0.0)
    out = tl.sum(mean * share[:, None], 0)
    out = tl.where(seen, out, 0.0)
    tl.store(out_ptr + row * v_width + column, narrow(out, out_ptr.dtype.element_ty), mask=column < v_width)
