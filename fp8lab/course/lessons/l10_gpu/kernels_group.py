"""10.1 to 10.3 as they are got wrong: kernels with a compile-time FAULT. "" is right, "otherwise" right and different.

Imports Triton: only `driving_launch.Named` and `Device` reach in here, when something is launched.
"""

from __future__ import annotations

import triton
import triton.language as tl

from fp8lab.kernels.bits import encode_bits


@triton.jit
def to_code(x):
    return encode_bits(x, MANTISSA=3, BIAS=7, MAX_CODE=0x7E, NAN_CODE=0x7F)


@triton.jit
def absmax_kernel(x_ptr, absmax_ptr, row_stride, GROUP: tl.constexpr, FAULT: tl.constexpr):
    row, group = tl.program_id(0), tl.program_id(1)
    lane = tl.arange(0, GROUP)
    start = row * row_stride + group * GROUP
    if FAULT == "rows without gaps":
        start = row * tl.num_programs(1) * GROUP + group * GROUP
    if FAULT == "a group is one element":
        start = row * row_stride + group
    if FAULT == "first group only":
        start = row * row_stride
    if FAULT == "rows and groups swapped":
        start = group * row_stride + row * GROUP
    x = tl.load(x_ptr + start + lane).to(tl.float32)
    if FAULT == "signed":
        absmax = tl.max(x)
    elif FAULT == "through float16":
        absmax = tl.max(tl.abs(x.to(tl.float16))).to(tl.float32)
    elif FAULT == "sum":
        absmax = tl.sum(tl.abs(x))
    elif FAULT == "otherwise":
        absmax = tl.maximum(tl.max(x), -tl.min(x))
    else:
        absmax = tl.max(tl.abs(x))
    place = row * tl.num_programs(1) + group
    if FAULT == "one result per row":
        place = row
    if FAULT == "results without a row stride":
        place = row + group
    if FAULT == "results stand the other way":
        place = group * tl.num_programs(0) + row
    if FAULT == "results with the stride of x":
        place = row * row_stride + group
    if FAULT == "one result per row, with the stride of x":
        place = row * row_stride
    tl.store(absmax_ptr + place, absmax)


@triton.jit
def quantize_kernel(x_ptr, codes_ptr, scales_ptr, row_stride, GROUP: tl.constexpr, FAULT: tl.constexpr):
    row, group = tl.program_id(0), tl.program_id(1)
    groups = tl.num_programs(1)
    lane = tl.arange(0, GROUP)
    x = tl.load(x_ptr + row * row_stride + group * GROUP + lane).to(tl.float32)
    absmax = tl.max(tl.abs(x))
    scale = tl.where(absmax == 0.0, 1.0, tl.math.div_rn(absmax, 448.0))
    if FAULT == "a group of zeros":
        scale = tl.math.div_rn(absmax, 448.0)
    if FAULT == "eps added":
        scale = tl.math.div_rn(absmax + 1e-8, 448.0)
    if FAULT == "240":
        scale = tl.where(absmax == 0.0, 1.0, tl.math.div_rn(absmax, 240.0))
    if FAULT == "float16 scale":
        scale = scale.to(tl.float16).to(tl.float32)
    if FAULT == "scale inverted":
        scale = tl.where(absmax == 0.0, 1.0, tl.math.div_rn(448.0, absmax))
    if FAULT == "plain division" or FAULT == "scale by plain division":
        scale = tl.where(absmax == 0.0, 1.0, absmax / 448.0)
    if FAULT == "inverse, then divided":
        scale = tl.where(absmax == 0.0, 1.0, tl.math.div_rn(448.0, absmax))
    if FAULT == "absmax for scale":
        scale = tl.where(absmax == 0.0, 1.0, absmax)
    scaled = tl.math.div_rn(x, scale)
    if FAULT == "plain division" or FAULT == "codes by plain division":
        scaled = x / scale
    if FAULT == "scale inverted" or FAULT == "multiplied":
        scaled = x * scale
    if FAULT == "reciprocal":
        scaled = x * tl.math.div_rn(1.0, scale)
    if FAULT == "not scaled":
        scaled = x
    if FAULT == "division in float16":
        scaled = (x.to(tl.float16) / scale.to(tl.float16)).to(tl.float32)
    if FAULT == "scale 0 for zeros":
        scaled = tl.where(absmax == 0.0, 0.0, scaled)
        scale = tl.where(absmax == 0.0, 0.0, scale)
    codes = to_code(scaled)
    if FAULT == "integer cast":
        codes = scaled.to(tl.int32).to(tl.uint8)
    place = row * groups * GROUP + group * GROUP
    if FAULT == "codes with the stride of x":
        place = row * row_stride + group * GROUP
    if FAULT == "codes without their group":
        place = row * groups * GROUP
    tl.store(codes_ptr + place + lane, codes)
    place = row * groups + group
    if FAULT == "one scale per row":
        place = row
    if FAULT == "scale of the neighbour":
        place = row * groups + (group + 1) % groups
    tl.store(scales_ptr + place, scale)


@triton.jit
def quantize_ragged_kernel(
    x_ptr, codes_ptr, scales_ptr, width, row_stride, GROUP: tl.constexpr, BLOCK: tl.constexpr, FAULT: tl.constexpr
):
    row, group = tl.program_id(0), tl.program_id(1)
    lane = tl.arange(0, BLOCK)
    column = group * GROUP + lane
    real = (lane < GROUP) & (column < width)
    if FAULT == "or for and":
        real = (lane < GROUP) | (column < width)
    loaded = real
    if FAULT == "load without a mask" or FAULT == "no mask at all":
        loaded = lane >= 0
    if FAULT == "neighbour's values":
        loaded = column < width
    if FAULT == "garbage behind the row":
        loaded = lane < GROUP
    if FAULT == "end of the row alone":
        real = column < width
        loaded = real
    if FAULT == "end of the group alone":
        real = lane < GROUP
        loaded = real
    if FAULT == "one too many":
        loaded = (lane < GROUP) & (column <= width)
    if FAULT == "tail dropped":
        loaded = real & (group < width // GROUP)
    if FAULT == "padded with ones":
        x = tl.load(x_ptr + row * row_stride + column, mask=loaded, other=1.0).to(tl.float32)
    elif FAULT == "otherwise":
        x = tl.load(x_ptr + row * row_stride + tl.minimum(column, width - 1)).to(tl.float32)
        x = tl.where(real, x, -0.0)
    elif FAULT == "hidden after the load":
        x = tl.where(real, tl.load(x_ptr + row * row_stride + column).to(tl.float32), 0.0)
    elif FAULT == "without other":
        x = tl.load(x_ptr + row * row_stride + column, mask=loaded).to(tl.float32)
    else:
        x = tl.load(x_ptr + row * row_stride + column, mask=loaded, other=0.0).to(tl.float32)
    absmax = tl.max(tl.abs(x))
    scale = tl.where(absmax == 0.0, 1.0, tl.math.div_rn(absmax, 448.0))
    codes = to_code(tl.math.div_rn(x, scale))
    stored = real
    if FAULT == "store without a mask" or FAULT == "no mask at all":
        stored = lane >= 0
    if FAULT == "store past the row":
        stored = lane < GROUP
    if FAULT == "store past the group":
        stored = column < width
    if FAULT == "tail dropped":
        stored = loaded
    start = row * width
    if FAULT == "rows rounded up to whole groups":
        start = row * tl.num_programs(1) * GROUP
    if FAULT == "codes with the stride of x":
        start = row * row_stride
    tl.store(codes_ptr + start + column, codes, mask=stored)
    tl.store(scales_ptr + row * tl.num_programs(1) + group, scale)
