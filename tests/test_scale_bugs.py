"""Public bugs of scales and of their use, each with the right codes and values, and with a quantizer that has the bug.

The broken quantizers are written here from the bug's description; a case that none of them fails would test nothing.
Bugs of codecs alone are in test_codec_bugs.py. Where the others are, or why they are nowhere:

    who shares a scale, and scales that travel: test_scale_sharing_bugs.py
    vllm#42580, vllm#51363, flashinfer#4979 (descale dropped on a fast path): test_kernels_attention.py, test_metrics.py
    transformers' frozen first scale, vllm#37554 (warm-up tokens in an absmax), LMCache#1856, TRT-LLM#2699 (prefix
        keys), replicated scales under tensor parallelism: a quantizer without memory has no such state to get wrong
    torchao 0.18 and optimum-quanto 0.2.7 themselves: torchao runs in test_quantize_peers.py where it is installed
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from fp8lab import decode, encode
from fp8lab.formats import E4M3FN, E4M3FNUZ, E8M0FNU
from fp8lab.quantize import QuantizedTensor, quantize

Shown = tuple[list, list]  # codes, restored values


def shown(q: QuantizedTensor) -> Shown:
    return q.codes.tolist(), q.dequantize().tolist()


def with_scale(x: torch.Tensor, scale: float, fmt=E4M3FN, overflow: str = "saturate", read: float | None = None):
    """Codes of x / scale; values by the scale that the reader finds, which should be the same."""
    codes = encode(x / scale, fmt, overflow=overflow)
    return codes.tolist(), (decode(codes, fmt) * (scale if read is None else read)).tolist()


def absmax_scale(x: torch.Tensor, qmax: float = 448.0) -> float:
    return (x.abs().amax() / qmax).item()


# ---- broken quantizers


def zero_scale(x: torch.Tensor) -> Shown:
    """absmax / 448 without a thought for zeros: 0 / 0."""
    return with_scale(x, absmax_scale(x), overflow="nan")


def range_scale(x: torch.Tensor) -> Shown:
    """(max - min) / 255, the asymmetric grid: a constant has no range."""
    scale = (x.amax() - x.amin()) / 255
    codes = ((x - x.amin()) / scale).round()
    return codes.tolist(), (codes * scale + x.amin()).tolist()


def power_up(scale: float) -> float:
    return 2.0 ** math.ceil(math.log2(scale))


def rounded_afterwards(x: torch.Tensor) -> Shown:
    """Divided by the exact scale, read with the power of two that was stored."""
    scale = absmax_scale(x)
    return with_scale(x, scale, read=power_up(scale))


def nearest_power(x: torch.Tensor) -> Shown:
    """A plain E8M0 cast of the scale: nearest, so that absmax may leave the grid."""
    return with_scale(x, decode(encode(absmax_scale(x), E8M0FNU), E8M0FNU).item())


def read_as_exponent(x: torch.Tensor) -> Shown:
    """A float32 scale, of which the reader takes the exponent bits alone."""
    scale = absmax_scale(x)
    return with_scale(x, scale, read=2.0 ** math.floor(math.log2(scale)))


def floor_rule(x: torch.Tensor, log2: Callable, overflow: str) -> Shown:
    exponent = math.floor(log2(x.abs().amax().item()))
    return with_scale(x, 2.0 ** (exponent - 8), overflow=overflow)


def floor_rule_without_clamp(x: torch.Tensor) -> Shown:
    return floor_rule(x, math.log2, "nan")


def log2_in_float32(x: torch.Tensor) -> Shown:
    return floor_rule(x, lambda size: np.log2(np.float32(size)), "saturate")


def cut(x: torch.Tensor) -> Shown:
    codes = x.trunc().clamp(-127, 127)
    return codes.to(torch.int8).tolist(), codes.tolist()


def multiplied(x: torch.Tensor) -> Shown:
    codes = encode(x * 0.5, overflow="nan")
    return codes.tolist(), (decode(codes) * 0.5).tolist()


def unclamped(x: torch.Tensor) -> Shown:
    return with_scale(x, 0.5, overflow="nan")


def fnuz_by_448(x: torch.Tensor) -> Shown:
    return with_scale(x, absmax_scale(x), E4M3FNUZ)


def by_multiplier(x: torch.Tensor) -> Shown:
    """codes = x * (448 / absmax), all in float32."""
    multiplier = torch.tensor(448.0) / x.abs().amax()
    codes = encode(x * multiplier, overflow="nan")
    return codes.tolist(), (decode(codes) / multiplier).tolist()


def by_reciprocal(x: torch.Tensor) -> Shown:
    scale = torch.tensor(0.3)
    codes = encode(x * (1 / scale))
    return codes.tolist(), (decode(codes) * scale).tolist()


def divided_in_bfloat16(x: torch.Tensor) -> Shown:
    codes = encode((x.bfloat16() / 0.9403).float())
    return codes.tolist(), (decode(codes) * torch.tensor(0.9403)).tolist()


def scale_in_float16(x: torch.Tensor) -> Shown:
    """absmax / 448 is 2.9e-8 here: nothing but 2^-24 = 6e-8 and 0 is near it in float16."""
    return with_scale(x, torch.tensor(absmax_scale(x)).half().item())


def added_eps(x: torch.Tensor) -> Shown:
    return with_scale(x, (absmax_scale(x) + 1e-6))


# ---- bug, input, the right call, right codes, right values, the quantizer that fails


def given(scale: float, fmt="E4M3FN") -> Callable[[torch.Tensor], QuantizedTensor]:
    return lambda x: quantize(x, fmt, scale=torch.tensor(scale))


def in_powers(x: torch.Tensor) -> QuantizedTensor:
    return quantize(x, scale_format=E8M0FNU)


def by_ocp(x: torch.Tensor) -> QuantizedTensor:
    return quantize(x, scale="ocp", scale_format=E8M0FNU)


def fl(x: float) -> float:
    return float(np.float32(x))


ZEROS, MINUS_ZEROS, ONES, THREES = torch.zeros(64), torch.full((64,), -0.0), torch.ones(64), torch.full((64,), 3.0)
CASES = {
    "vllm#26174, torchao 0.18, quanto 0.2.7: zeros": (ZEROS, quantize, [0x00] * 64, [0.0] * 64, zero_scale),
    "the same with -0": (MINUS_ZEROS, quantize, [0x80] * 64, [-0.0] * 64, zero_scale),
    "KIVI, LMDeploy: a constant": (THREES, quantize, [0x7E] * 64, [3.0] * 64, range_scale),
    "transformers#46763: ones": (ONES, in_powers, [0x78] * 64, [1.0] * 64, rounded_afterwards),
    "mlx#4353: 640 and 1": (torch.tensor([640.0, 1.0]), in_powers, [0x7A, 0x30], [640.0, 1.0], nearest_power),
    "vllm#49435: 537.6 with scales in E8M0": (torch.tensor([537.6]), in_powers, [0x78], [512.0], nearest_power),
    "vllm#54563: 537.6 with scales in float32": (
        torch.tensor([537.6]),
        quantize,
        [0x7E],
        [fl(448 * fl(fl(537.6) / 448))],
        read_as_exponent,
    ),
    "microxcaling#4: 32 x 957 by the OCP rule": (
        torch.full((32,), 957.0),
        by_ocp,
        [0x7E] * 32,
        [896.0] * 32,
        floor_rule_without_clamp,
    ),
    "chop#5: absmax 31.999998": (torch.tensor([31.999998]), by_ocp, [0x7E], [28.0], log2_in_float32),
    "vllm#45361: an int8 store rounds": (
        torch.tensor([0.5, 1.5, 2.5, -0.6]),
        given(1.0, "int8"),
        [0, 2, 2, -1],
        [0.0, 2.0, 2.0, -1.0],
        cut,
    ),
    "vllm-xpu-kernels#475: multiplied": (
        torch.tensor([1000.0, 0.25, -224.0]),
        given(0.5),
        [0x7E, 0x30, 0xFE],
        [224.0, 0.25, -224.0],
        multiplied,
    ),
    "vllm-xpu-kernels#475: not clamped": (torch.tensor([1000.0]), given(0.5), [0x7E], [224.0], unclamped),
    "vllm#32976: FNUZ over 448": (
        torch.tensor([300.0, 1.25]),
        lambda x: quantize(x, "E4M3FNUZ"),
        [0x7F, 0x40],
        [300.0, 1.25],
        fnuz_by_448,
    ),
    "448 / absmax is infinite below 1.32e-36": (
        torch.tensor([1.3e-36, 0.0]),
        quantize,
        [0x6E, 0x00],
        [112 * 2.0**-126, 0.0],  # the floor of the scales is above absmax / 448
        by_multiplier,
    ),
    "divided, not multiplied by the reciprocal": (
        torch.tensor([7.500000476837158]),
        given(0.3),
        [0x5C],
        [fl(24 * fl(0.3))],
        by_reciprocal,
    ),
    "not divided in bfloat16": (
        torch.tensor([1.0]),
        given(0.9403),
        [0x39],
        [fl(1.125 * fl(0.9403))],
        divided_in_bfloat16,
    ),
    "a scale in float16 clips": (
        torch.tensor([1.3e-5, 1.3e-5 / 448]),
        quantize,
        [0x7E, 0x38],
        [fl(448 * fl(fl(1.3e-5) / 448)), fl(fl(1.3e-5) / 448)],
        scale_in_float16,
    ),
    "an eps added to the scale": (
        torch.tensor([1e-5]),
        quantize,
        [0x7E],
        [fl(448 * fl(fl(1e-5) / 448))],
        added_eps,
    ),
}  # fmt: skip


def same(one: Shown, other: Shown) -> bool:
    """Equal codes, and values equal to the bit (-0 is not 0, NaN is nothing's equal)."""
    return one[0] == other[0] and [repr(v) for v in one[1]] == [repr(v) for v in other[1]]


@pytest.mark.parametrize("bug", CASES)
def test_public_bug(bug):
    x, right, codes, values, broken = CASES[bug]
    assert same(shown(right(x)), (codes, values))
    with np.errstate(all="ignore"):
        assert not same(broken(x), (codes, values)), f"{broken.__name__} passes: this case tests nothing"


FRIENDLY = {  # data on which the bug does not show, where these are not [448, -256, 16, 0]
    cut: [127.0, -64.0, 1.0, 0.0],
    unclamped: [1.0, -0.5, 0.25, 0.0],
    by_reciprocal: [134.4, -76.8, 4.8, 0.0],
    divided_in_bfloat16: [128.0, -32.0, 1.0, 0.0],
}
EVERYWHERE_WRONG = {multiplied: 1 / 4, fnuz_by_448: 240 / 448}  # and how much they leave of the largest value


@pytest.mark.parametrize("broken", {case[-1]: None for case in CASES.values()}, ids=lambda broken: broken.__name__)
def test_a_broken_quantizer_does_its_work_where_its_bug_does_not_show(broken):
    """It would be cheap to fail a case by nonsense."""
    x = torch.tensor(FRIENDLY.get(broken, [448.0, -256.0, 16.0, 0.0]))
    values = torch.tensor(broken(x)[1])
    if broken in EVERYWHERE_WRONG:
        assert values[0].item() == pytest.approx(x[0].item() * EVERYWHERE_WRONG[broken], rel=1e-3)
    else:
        assert torch.allclose(values, x, rtol=0.07, atol=2.0)
