"""Write K and V straight into a paged FP8 cache: quantized on the way, found again through the slot of each token.

slot = block * block_size + place in the block;  a negative slot is a token that is not kept (padding)
"""

from __future__ import annotations

import triton
import triton.language as tl

from fp8lab.kernels.bits import group_absmax, scale_of, store_scale, to_codes, widen


@triton.jit
def write_kernel(
    x_ptr, codes_ptr, scales_ptr, slots_ptr,
    heads, width, groups_per_head, total, block_size,
    token_stride, head_stride,
    code_block_stride, code_slot_stride, code_head_stride,
    scale_block_stride, scale_slot_stride, scale_head_stride,
    GROUP: tl.constexpr, GROUPS: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr,
    MANTISSA: tl.constexpr, BIAS: tl.constexpr, MAX_CODE: tl.constexpr, NAN_CODE: tl.constexpr,
    QMAX: tl.constexpr, LARGEST: tl.constexpr, E8M0: tl.constexpr, NATIVE: tl.constexpr,
):  # fmt: skip
    """x [tokens, heads, width] -> codes [blocks, block_size, heads, width], scales [blocks, block_size, heads,
    groups]."""
    index = tl.program_id(0).to(tl.int64) * GROUPS + tl.arange(0, GROUPS).to(tl.int64)  # (token, head, group)
    group = index % groups_per_head
    head = (index // groups_per_head) % heads
    token = index // (groups_per_head * heads)
    slot = tl.load(slots_ptr + token, mask=index < total, other=-1).to(tl.int64)
    kept = slot >= 0
    block, place = slot // block_size, slot % block_size

    lane = tl.arange(0, BLOCK)
    column = group[:, None] * GROUP + lane[None, :]
    if (
        EVEN
    ):  # heads divide into whole groups of a power of two: a mask per row lets the compiler move 16 bytes at a time
        real = tl.broadcast_to(kept[:, None], [GROUPS, BLOCK])
    else:
        real = kept[:, None] & (lane < GROUP)[None, :] & (column < width)
    source = (token * token_stride + head * head_stride)[:, None] + column
    x = widen(tl.load(x_ptr + source, mask=real, other=0.0))

    scale = scale_of(group_absmax(x, 1), QMAX, LARGEST, E8M0)
    x = tl.math.div_rn(x, scale[:, None] + tl.zeros_like(x))
    codes = to_codes(x, MANTISSA, BIAS, MAX_CODE, NAN_CODE, NATIVE)
    codes = tl.where((scale == scale)[:, None], codes, tl.zeros_like(codes))  # a lost group holds zeros, as in torch
    target = block * code_block_stride + place * code_slot_stride + head * code_head_stride
    tl.store(codes_ptr + target[:, None] + column, codes, mask=real)
    target = block * scale_block_stride + place * scale_slot_stride + head * scale_head_stride
    store_scale(scales_ptr + target + group, scale, kept, E8M0)
