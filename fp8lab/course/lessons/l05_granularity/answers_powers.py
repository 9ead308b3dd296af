"""5.6: powers of two, rounded up and otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from fp8lab.codec import encode
from fp8lab.formats import E8M0FNU


def upwards(scale: torch.Tensor) -> torch.Tensor:
    mantissa, exponent = torch.frexp(scale)
    return exponent - (mantissa == 0.5).int()


def held(exponent: torch.Tensor) -> torch.Tensor:
    return (exponent + 127).clamp(0, 254).to(torch.uint8)


def coded(exponent: Callable = upwards, code: Callable = held) -> Callable:
    """to_e8m0 with one part replaced."""
    return lambda scale: code(exponent(scale))


to_e8m0 = coded()
rounded_down = coded(lambda scale: torch.frexp(scale).exponent - 1)
always_the_next = coded(lambda scale: torch.frexp(scale).exponent)
by_log2_in_float32 = coded(lambda scale: scale.log2().ceil().int())
nearest_exponent = coded(lambda scale: scale.double().log2().round().int())
without_bias = coded(code=lambda exponent: exponent.clamp(0, 254).to(torch.uint8))
bias_128 = coded(code=lambda exponent: (exponent + 128).clamp(0, 254).to(torch.uint8))
bias_7 = coded(code=lambda exponent: (exponent + 7).clamp(0, 254).to(torch.uint8))
wraps_around = coded(code=lambda exponent: (exponent + 127).to(torch.uint8))
up_to_nan = coded(code=lambda exponent: (exponent + 127).clamp(0, 255).to(torch.uint8))
of_the_reciprocal = coded(lambda scale: -upwards(scale))


def as_a_cast_does(scale):
    """Nearest power of two by value, ties to even: what a plain cast to E8M0 gives."""
    return encode(scale, E8M0FNU)


def by_bits(scale):
    """Right: the exponent field of float32, and one more where any mantissa bit is set."""
    bits = scale.contiguous().view(torch.int32)
    normal = (bits >> 23) + ((bits & 0x7FFFFF) != 0).int()
    return torch.where(scale > 2.0**-127, normal.clamp(max=254), 0).to(torch.uint8)


def by_fractions(scale):
    """Right: by comparing, one scale after the other."""

    def code(x: float) -> int:
        exponent = math.frexp(x)[1] - 1
        return min(max(exponent + (2.0**exponent < x), -127), 127) + 127

    return torch.tensor([code(x) for x in scale.flatten().tolist()], dtype=torch.uint8).reshape(scale.shape)
