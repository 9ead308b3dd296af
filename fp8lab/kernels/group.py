"""Quantize and dequantize in groups along the last axis, one pass over the data: absmax, scale, round, store.

One program takes GROUPS groups at once, as a tile [GROUPS, BLOCK]; BLOCK is the group size rounded up to a power of
two, and what lies beyond the group, or beyond the end of a row whose last group is short, is masked off and never
enters an absmax.
"""

from __future__ import annotations

import triton
import triton.language as tl

from fp8lab.kernels.bits import group_absmax, load_scale, narrow, scale_of, store_scale, to_codes, to_values, widen
from fp8lab.kernels.native import CODES_AT_ONCE

TILE = 4096  # values per program: 32 per thread of 128
INTERPRETED_TILE = 1 << 16  # the interpreter pays half a millisecond per program


@triton.jit
def tile_of_groups(
    width,
    groups_per_row,
    total,
    row_stride,
    GROUP: tl.constexpr,
    GROUPS: tl.constexpr,
    BLOCK: tl.constexpr,
    EVEN: tl.constexpr,
):
    """Offsets of a tile of groups into the strided rows, into contiguous codes, and which of them are real.

    EVEN: rows follow each other without gaps and divide into whole groups of a power of two. Then a tile is one run
    of memory, and the compiler can see that it may load 16 bytes at a time.
    """
    group = tl.program_id(0).to(tl.int64) * GROUPS + tl.arange(0, GROUPS).to(tl.int64)
    place = tl.arange(0, BLOCK)
    if EVEN:
        flat = group[:, None] * GROUP + place[None, :]
        return group, flat, flat, tl.broadcast_to((group < total)[:, None], [GROUPS, BLOCK])
    row = group // groups_per_row
    column = (group % groups_per_row)[:, None] * GROUP + place[None, :]
    real = (group < total)[:, None] & (place < GROUP)[None, :] & (column < width)
    return group, row[:, None] * row_stride + column, row[:, None] * width + column, real


@triton.jit
def quantize_kernel(
    x_ptr, codes_ptr, scales_ptr, width, groups_per_row, total, row_stride,
    GROUP: tl.constexpr, GROUPS: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr,
    MANTISSA: tl.constexpr, BIAS: tl.constexpr, MAX_CODE: tl.constexpr, NAN_CODE: tl.constexpr,
    QMAX: tl.constexpr, LARGEST: tl.constexpr, E8M0: tl.constexpr, NATIVE: tl.constexpr,
):  # fmt: skip
    """x [rows, width] of any float dtype -> codes [rows, width] uint8, scales [rows, groups_per_row]."""
    group, source, target, real = tile_of_groups(width, groups_per_row, total, row_stride, GROUP, GROUPS, BLOCK, EVEN)
    x = widen(tl.load(x_ptr + source, mask=real, other=0.0))
    scale = scale_of(group_absmax(x, 1), QMAX, LARGEST, E8M0)
    x = tl.math.div_rn(x, scale[:, None] + tl.zeros_like(x))
    codes = to_codes(x, MANTISSA, BIAS, MAX_CODE, NAN_CODE, NATIVE)
    codes = tl.where((scale == scale)[:, None], codes, tl.zeros_like(codes))  # a lost group holds zeros, as in torch
    tl.store(codes_ptr + target, codes, mask=real)
    store_scale(scales_ptr + group, scale, group < total, E8M0)


@triton.jit
def dequantize_kernel(
    codes_ptr, scales_ptr, out_ptr, width, groups_per_row, total,
    GROUP: tl.constexpr, GROUPS: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr,
    MANTISSA: tl.constexpr, BIAS: tl.constexpr, MAX_CODE: tl.constexpr, E8M0: tl.constexpr,
    NATIVE: tl.constexpr,
):  # fmt: skip
    """codes [rows, width], scales [rows, groups_per_row] -> out [rows, width]: a product in float32, then rounded to
    the dtype of `out`."""
    group, place, _, real = tile_of_groups(width, groups_per_row, total, width, GROUP, GROUPS, BLOCK, EVEN)
    scale = load_scale(scales_ptr + group, group < total, E8M0)
    value = to_values(tl.load(codes_ptr + place, mask=real, other=0), MANTISSA, BIAS, MAX_CODE, NATIVE)
    tl.store(out_ptr + place, narrow(value * scale[:, None], out_ptr.dtype.element_ty), mask=real)


def tile_shape(group_size: int, total: int, interpreted: bool) -> tuple[int, int]:
    """(GROUPS, BLOCK): how many groups a program takes, and the group size rounded up to a power of two.

    A tile holds at least the 4 codes that the native path converts at once.

    >>> tile_shape(64, 10_000, interpreted=False), tile_shape(96, 4, interpreted=False)
    ((64, 64), (4, 128))
    >>> tile_shape(1, 1, interpreted=False)
    (4, 1)
    """
    block = triton.next_power_of_2(group_size)
    wanted = max((INTERPRETED_TILE if interpreted else TILE) // block, 1)
    return max(min(wanted, triton.next_power_of_2(max(total, 1))), CODES_AT_ONCE // block), block
