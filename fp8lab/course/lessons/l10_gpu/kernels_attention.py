"""10.6 as it is got wrong: both kernels with a compile-time FAULT, and the function that launches them.

No mistake here is one of reading: K and V are gathered and dequantized beforehand, which the interpreter does slowly.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from fp8lab.codec import decode
from fp8lab.course.lessons.l10_gpu.driving_launch import launch


@triton.jit
def split_kernel(
    q_ptr, k_ptr, v_ptr, acc_ptr, peak_ptr, sum_ptr, length, per_split, softmax_scale,
    DIM: tl.constexpr, TOKENS: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    head, split = tl.program_id(0), tl.program_id(1)
    heads, splits = tl.num_programs(0), tl.num_programs(1)
    begin = split * per_split
    end = tl.minimum(begin + per_split, length)
    q = tl.load(q_ptr + head * DIM + tl.arange(0, DIM))
    peak = tl.full([1], float("-inf"), tl.float32)
    total = tl.zeros([1], tl.float32)
    acc = tl.zeros([DIM], tl.float32)
    if FAULT == "no maximum subtracted":
        peak = tl.zeros([1], tl.float32)
    for start in range(begin, end, TOKENS):
        position = start + tl.arange(0, TOKENS)
        real = position < end
        place = ((position * heads + head) * DIM)[:, None] + tl.arange(0, DIM)[None, :]
        k = tl.load(k_ptr + place, mask=real[:, None], other=0.0)
        v = tl.load(v_ptr + place, mask=real[:, None], other=0.0)
        score = tl.sum(q[None, :] * k, 1)
        if FAULT != "softmax scale forgotten":
            score = score * softmax_scale
        if FAULT != "score 0 where there is no token":
            score = tl.where(real, score, float("-inf"))
        new_peak = tl.maximum(peak, tl.max(score))
        if FAULT == "no maximum subtracted":
            new_peak = peak
        if FAULT == "maximum of this tile only":
            new_peak = tl.max(score) + 0 * total
        if FAULT == "first peak kept":
            new_peak = tl.where(peak > float("-inf"), peak, tl.max(score))
        weight, shrink = tl.exp(score - new_peak), tl.exp(peak - new_peak)
        if FAULT == "shrink upside down":
            shrink = tl.exp(new_peak - peak)
        shrink_total, shrink_acc = shrink, shrink
        if FAULT == "nothing shrunk" or FAULT == "accumulator not shrunk":
            shrink_acc = tl.zeros([1], tl.float32) + 1.0
        if FAULT == "nothing shrunk" or FAULT == "sum not shrunk":
            shrink_total = tl.zeros([1], tl.float32) + 1.0
        if FAULT == "sums in float16":
            total = (total * shrink + tl.sum(weight.to(tl.float16))).to(tl.float16).to(tl.float32)
            acc = (acc * shrink + tl.sum(weight[:, None] * v, 0)).to(tl.float16).to(tl.float32)
        else:
            total = total * shrink_total + tl.sum(weight)
            acc = acc * shrink_acc + tl.sum(weight[:, None] * v, 0)
        if FAULT == "divided in every step":
            acc = acc / total
        if FAULT != "peak never updated":
            peak = new_peak
    row = head * splits + split
    tl.store(peak_ptr + row + tl.arange(0, 1), peak)
    tl.store(sum_ptr + row + tl.arange(0, 1), total)
    tl.store(acc_ptr + row * DIM + tl.arange(0, DIM), acc)


@triton.jit
def merge_kernel(
    acc_ptr, peak_ptr, sum_ptr, out_ptr, splits, SPLITS: tl.constexpr, DIM: tl.constexpr, FAULT: tl.constexpr
):
    head = tl.program_id(0)
    split, column = tl.arange(0, SPLITS), tl.arange(0, DIM)
    there = split < splits
    row = head * splits + split
    peaks = tl.load(peak_ptr + row, mask=there, other=float("-inf"))
    sums = tl.load(sum_ptr + row, mask=there, other=0.0)
    accs = tl.load(acc_ptr + row[:, None] * DIM + column[None, :], mask=there[:, None], other=0.0)
    weight = tl.exp(peaks - tl.max(peaks))
    if FAULT == "merged on the first peak":
        weight = tl.exp(peaks - tl.sum(tl.where(split == 0, peaks, 0.0)))
    if FAULT == "splits merged without their maxima":
        weight = tl.where(there, 1.0, 0.0)
    out = tl.sum(accs * weight[:, None], 0) / tl.sum(sums * weight)
    if FAULT == "splits averaged":
        own = accs / tl.where(sums > 0.0, sums, 1.0)[:, None]
        out = tl.sum(own, 0) / splits
    if FAULT == "not divided":
        out = tl.sum(accs * weight[:, None], 0)
    if FAULT == "sums not weighted":
        out = tl.sum(accs * weight[:, None], 0) / tl.sum(sums)
    tl.store(out_ptr + head * DIM + column, out)


def rows(codes, scales, table):
    """[tokens, heads, dim] float32, in the order of the table."""
    return (decode(codes) * scales.repeat_interleave(codes.shape[3] // scales.shape[3], 3))[table.long()].flatten(0, 1)


def attend(query, k_codes, k_scales, v_codes, v_scales, table, length, splits, *, fault=""):
    heads, dim = query.shape
    per_split = -(-length // splits)
    if fault == "tail lost":
        per_split = length // splits
    if fault == "a fraction of a token":
        per_split = length / splits
    if fault == "otherwise":
        per_split += 3  # uneven splits are as right as even ones
    if fault == "one split reads all":
        per_split = length
    acc = query.new_empty(heads, splits, dim)
    peak, total = torch.empty_like(acc[..., 0]), torch.empty_like(acc[..., 0])
    launch(
        split_kernel, (heads, splits), query, rows(k_codes, k_scales, table), rows(v_codes, v_scales, table),
        acc, peak, total, length, per_split, dim**-0.5, DIM=dim, TOKENS=8, FAULT=fault,
    )  # fmt: skip
    out = torch.empty_like(query)
    power = triton.next_power_of_2(splits)
    launch(merge_kernel, (heads,), acc, peak, total, out, splits, SPLITS=power, DIM=dim, FAULT=fault)
    return out
