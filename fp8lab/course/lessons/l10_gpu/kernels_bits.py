"""10.8 as it is got wrong: a device function with a compile-time FAULT, and the kernel around it."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def faulty_kernel(x_ptr, codes_ptr, BLOCK: tl.constexpr, FAULT: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(codes_ptr + place, round_by_bits(tl.load(x_ptr + place), FAULT))


@triton.jit
def round_by_bits(x, FAULT: tl.constexpr):
    if FAULT == "through float16":
        x = x.to(tl.float16).to(tl.float32)
    bits = x.to(tl.uint32, bitcast=True)
    sign = (bits >> 24) & 0x80
    magnitude = bits & 0x7FFFFFFF
    odd = (magnitude >> 20) & 1
    normal = ((magnitude + 0x7FFFF + odd) >> 20) - 960
    if FAULT == "truncation" or FAULT == "truncation everywhere":
        normal = (magnitude >> 20) - 960
    if FAULT == "half away from zero":
        normal = ((magnitude + 0x80000) >> 20) - 960
    if FAULT == "half toward zero":
        normal = ((magnitude + 0x7FFFF) >> 20) - 960
    if FAULT == "sum before the and":
        normal = ((magnitude + 0x7FFFF + (magnitude >> 20) & 1) >> 20) - 960
    if FAULT == "bias 8":
        normal = ((magnitude + 0x7FFFF + odd) >> 20) - 952
    if FAULT == "bias not moved":
        normal = (magnitude + 0x7FFFF + odd) >> 20
    if FAULT == "bias in the mantissa's place":
        normal = ((magnitude + 0x7FFFF + odd) >> 20) - 120
    if FAULT == "carry lost":
        normal = (((magnitude >> 23) - 120) << 3) | (((magnitude + 0x7FFFF + odd) >> 20) & 7)
    size = magnitude.to(tl.float32, bitcast=True)
    subnormal = (size + 16384.0).to(tl.uint32, bitcast=True) - 0x46800000
    if FAULT == "subnormals flushed":
        subnormal = magnitude * 0
    if FAULT == "subnormals as normals":
        subnormal = normal
    if FAULT == "subnormals truncated" or FAULT == "truncation everywhere":
        subnormal = (size * 512.0).to(tl.uint32)
    if FAULT == "subnormals half up":
        subnormal = (size * 512.0 + 0.5).to(tl.uint32)
    if FAULT == "otherwise":
        subnormal = (size + 16384.0).to(tl.uint32, bitcast=True) & 0xF
    code = tl.where(magnitude < 0x3C800000, subnormal, normal)
    if FAULT == "240":
        code = tl.where(magnitude >= 0x43700000, 0x77, code)
    elif FAULT == "inf and large are NaN":
        code = tl.where(magnitude > 0x43E80000, 0x7F, code)
    elif FAULT == "480 is 0x7F":
        code = tl.where(magnitude > 0x43F00000, 0x7E, code)
    elif FAULT == "otherwise":
        code = tl.minimum(code, 0x7E)
    elif FAULT != "large wraps":
        code = tl.where(magnitude >= 0x43E00000, 0x7E, code)
    if FAULT != "NaN saturates":
        code = tl.where(magnitude > 0x7F800000, 0x7F, code)
    if FAULT == "infinity is NaN":
        code = tl.where(magnitude >= 0x7F800000, 0x7F, code)
    if FAULT == "sign lost":
        return code.to(tl.uint8)
    if FAULT == "native cast":
        return x.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
    if FAULT == "sign bit by value":
        return (code | tl.where(x < 0, 0x80, 0)).to(tl.uint8)
    return (code | sign).to(tl.uint8)
