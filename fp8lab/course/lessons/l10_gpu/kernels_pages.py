"""10.4 and 10.5 as they are got wrong: kernels with a compile-time FAULT, "" and "otherwise" being right."""

from __future__ import annotations

import triton
import triton.language as tl

from fp8lab.course.lessons.l10_gpu.kernels_group import to_code
from fp8lab.kernels.bits import decode_bits


@triton.jit
def to_value(code):
    return decode_bits(code, MANTISSA=3, BIAS=7, MAX_CODE=0x7E)


@triton.jit
def dequantize_kernel(
    codes_ptr, scales_ptr, out_ptr, width, groups, GROUP: tl.constexpr, BLOCK: tl.constexpr, FAULT: tl.constexpr
):
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real = column < width
    codes = tl.load(codes_ptr + row * width + column, mask=real, other=0)
    place = row * groups + column // GROUP
    if FAULT == "one scale per program":
        place = row * groups + (tl.program_id(1) * BLOCK) // GROUP + 0 * column
    if FAULT == "program for group":
        place = row * groups + tl.program_id(1) + 0 * column
    if FAULT == "remainder":
        place = row * groups + column % GROUP
    if FAULT == "scales of the first row":
        place = column // GROUP
    if FAULT == "whole groups only":
        place = row * (width // GROUP) + column // GROUP
    if FAULT == "scale of the neighbour":
        place = row * groups + (column // GROUP + 1) % groups
    if FAULT == "load without a mask":
        scale = tl.load(scales_ptr + place)
    else:
        scale = tl.load(scales_ptr + place, mask=real, other=1.0)
    value = to_value(codes)
    if FAULT == "byte as a number":
        value = codes.to(tl.float32)
    if FAULT == "signed byte":
        value = codes.to(tl.int8, bitcast=True).to(tl.float32)
    result = value * scale
    if FAULT == "divided":
        result = tl.math.div_rn(value, scale)
    if FAULT == "no scale":
        result = value
    if FAULT == "product in float16":
        result = (value.to(tl.float16) * scale.to(tl.float16)).to(tl.float32)
    if FAULT == "store without a mask":
        tl.store(out_ptr + row * width + column, result)
    elif FAULT == "otherwise":
        tl.store(out_ptr + row * width + column, scale * value, mask=column <= width - 1)
    else:
        tl.store(out_ptr + row * width + column, result, mask=real)


@triton.jit
def write_kernel(
    x_ptr, codes_ptr, scales_ptr, slots_ptr, width, block_size,
    code_block_stride, code_place_stride, scale_block_stride, scale_place_stride,
    GROUP: tl.constexpr, BLOCK: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    token, head, group = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    heads, groups = tl.num_programs(1), tl.num_programs(2)
    lane = tl.arange(0, BLOCK)
    column = group * GROUP + lane
    real = (lane < GROUP) & (column < width)
    x = tl.load(x_ptr + (token * heads + head) * width + column, mask=real, other=0.0).to(tl.float32)
    absmax = tl.max(tl.abs(x))
    scale = tl.where(absmax == 0.0, 1.0, tl.math.div_rn(absmax, 448.0))
    codes = to_code(tl.math.div_rn(x, scale))
    slot = tl.load(slots_ptr + token)
    kept = slot >= 0
    if FAULT == "negative slots written":
        kept = slot > -1000000
    if FAULT == "negative slots to slot 0":
        slot = tl.maximum(slot, 0)
        kept = slot >= 0
    if FAULT == "slot 0 skipped":
        kept = slot > 0
    if FAULT == "mapping ignored":
        slot = slot * 0 + token
    block, place = slot // block_size, slot % block_size
    if FAULT == "block and place swapped":
        block, place = slot % block_size, slot // block_size
    code = block * code_block_stride + place * code_place_stride
    where = block * scale_block_stride + place * scale_place_stride
    if FAULT == "pages follow each other":
        code, where = slot * code_place_stride, slot * scale_place_stride
    if FAULT == "scale blocks follow each other":
        where = slot * scale_place_stride
    if FAULT == "no strides":
        code, where = slot * heads * width, slot * heads * groups
    if FAULT == "strides of the codes for the scales":
        where = code
    if FAULT == "heads on one another":
        code, where = code + column, where + group
    elif FAULT == "group forgotten":
        code, where = code + head * width + lane, where + head * groups
    elif FAULT == "scales by heads alone":
        code, where = code + head * width + column, where + head
    elif FAULT == "scales by groups alone":
        code, where = code + head * width + column, where + group
    else:
        code, where = code + head * width + column, where + head * groups + group
    if FAULT == "otherwise":
        if kept:
            tl.store(codes_ptr + code, codes, mask=real)
            tl.store(scales_ptr + where, scale)
    elif FAULT == "scale of a skipped token":
        tl.store(codes_ptr + code, codes, mask=real & kept)
        tl.store(scales_ptr + where, scale)
    elif FAULT == "tail of the head written":
        tl.store(codes_ptr + code, codes, mask=(lane < GROUP) & kept)
        tl.store(scales_ptr + where, scale, mask=kept)
    elif FAULT == "neighbour group written":
        tl.store(codes_ptr + code, codes, mask=(column < width) & kept)
        tl.store(scales_ptr + where, scale, mask=kept)
    elif FAULT == "only the slot asked":
        tl.store(codes_ptr + code, codes, mask=kept & (lane >= 0))
        tl.store(scales_ptr + where, scale, mask=kept)
    else:
        tl.store(codes_ptr + code, codes, mask=real & kept)
        tl.store(scales_ptr + where, scale, mask=kept)
