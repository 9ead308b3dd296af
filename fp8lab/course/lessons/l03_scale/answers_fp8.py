"""3.6 to 3.8: right answers and typical wrong ones for real FP8, for measures, and for the choice of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from fp8lab.codec import decode, encode
from fp8lab.course.lessons.l03_scale.answers_int8 import choose_scale

Quantized = tuple[torch.Tensor, float]


def quantize_fp8(x: torch.Tensor) -> Quantized:
    scale = choose_scale(x, 448.0)
    return encode(x.float() / scale), scale


def fp8_with(
    qmax: float = 448.0,
    prepare: Callable = lambda q: q,
    divide: Callable = lambda x, scale: x.float() / scale,
    store: Callable = lambda scale: scale,
) -> Callable[[torch.Tensor], Quantized]:
    """quantize_fp8 with one part replaced. `store` rounds the scale after it was used."""

    def answer(x: torch.Tensor) -> Quantized:
        scale = choose_scale(x, qmax)
        return encode(prepare(divide(x.detach(), scale))), store(scale)

    return answer


integers_to_127 = fp8_with(qmax=127.0, prepare=torch.round)
range_of_int8 = fp8_with(qmax=127.0)
range_of_fnuz = fp8_with(qmax=240.0)
rounded_to_integers = fp8_with(prepare=torch.round)
multiplied = fp8_with(divide=lambda x, scale: x.float() * scale)
divided_in_bfloat16 = fp8_with(divide=lambda x, scale: (x.to(torch.bfloat16) / scale).float())
scale_rounded_afterwards = fp8_with(store=lambda scale: float(2.0 ** math.ceil(math.log2(scale))))


def without_scale(x: torch.Tensor) -> Quantized:
    choose_scale(x, 448.0)
    return encode(x.float()), 1.0


def integer_codes(x: torch.Tensor) -> Quantized:
    """An int8 loop with another name: the bytes are two's complement integers."""
    scale = choose_scale(x, 127.0)
    return torch.round(x.detach().float() / scale).to(torch.int8).view(torch.uint8), scale


def with_torchs_cast(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = torch.tensor(choose_scale(x, 448.0))
    return (x.detach().float() / scale).clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8), scale


# ---- 3.7


def measure(x: torch.Tensor, restored: torch.Tensor) -> tuple[float, float, float]:
    x, error = x.double(), (restored.double() - x.double())
    mse = error.square().mean().item()
    sqnr = 10 * math.log10(x.square().mean().item() / mse)
    relative = (error.abs() / x.abs())[x != 0].median().item()
    return mse, sqnr, relative


def measure_with(
    mse: Callable | None = None, sqnr: Callable | None = None, relative: Callable | None = None
) -> Callable[[torch.Tensor, torch.Tensor], tuple[float, float, float]]:
    """measure with one of its three numbers replaced; each replacement sees (x, error) in float64."""

    def answer(x: torch.Tensor, restored: torch.Tensor) -> tuple[float, float, float]:
        right = measure(x, restored)
        pair = x.double(), restored.double() - x.double()
        return tuple(float(other(*pair)) if other else value for other, value in zip((mse, sqnr, relative), right))

    return answer


root_of_mse = measure_with(mse=lambda x, e: e.square().mean().sqrt())
absolute_error = measure_with(mse=lambda x, e: e.abs().mean())
twenty_logs = measure_with(sqnr=lambda x, e: 20 * math.log10(x.square().mean() / e.square().mean()))
natural_log = measure_with(sqnr=lambda x, e: 10 * math.log(x.square().mean() / e.square().mean()))
upside_down = measure_with(sqnr=lambda x, e: 10 * math.log10(e.square().mean() / x.square().mean()))
peak_signal = measure_with(sqnr=lambda x, e: 10 * math.log10(x.abs().amax() ** 2 / e.square().mean()))
relative_to_absmax = measure_with(relative=lambda x, e: (e.abs() / x.abs().amax()).median())
mean_of_ratios = measure_with(relative=lambda x, e: (e.abs() / x.abs())[x != 0].mean())
zeros_counted = measure_with(relative=lambda x, e: (e.abs() / x.abs()).median())


def in_float32(x: torch.Tensor, restored: torch.Tensor) -> tuple[float, float, float]:
    x, error = x.float(), restored.float() - x.float()
    mse, signal = error.square().mean().item(), x.square().mean().item()
    ratio = signal / mse if mse else math.nan
    relative = (error.abs() / x.abs())[x != 0].median().item()
    return mse, 10 * math.log10(ratio) if ratio > 0 else math.nan, relative


def in_float32_unguarded(x: torch.Tensor, restored: torch.Tensor) -> tuple[float, float, float]:
    """Squares of 1e-25 are 0 in float32, and Python divides by that zero."""
    x, error = x.float(), restored.float() - x.float()
    mse = error.square().mean().item()
    return mse, 10 * math.log10(x.square().mean().item() / mse), (error.abs() / x.abs())[x != 0].median().item()


def measure_in_numpy(x: torch.Tensor, restored: torch.Tensor) -> list[np.floating]:
    a, b = (t.detach().double().numpy().ravel() for t in (x, restored))
    error = np.linalg.norm(a - b)
    return [error**2 / a.size, 20 * np.log10(np.linalg.norm(a) / error), np.median(np.abs((a - b)[a != 0] / a[a != 0]))]


# ---- 3.8

CREST = 12.0  # 10 log10(12 * 127^2) - 31.5 dB = 21.4 dB = a factor of 11.7


def predict_winner(x: torch.Tensor) -> str:
    crest = (x.abs().amax() / x.square().mean().sqrt()).item()
    return "int8" if crest < CREST else "fp8"


def by_standard_deviation(x: torch.Tensor) -> str:
    """std measures from the mean; the grid measures from zero."""
    return "int8" if x.abs().amax() / x.std() < CREST else "fp8"


def float_always(x: torch.Tensor) -> str:
    return "fp8"


def int_always(x: torch.Tensor) -> str:
    return "int8"


def turned_round(x: torch.Tensor) -> str:
    return "fp8" if predict_winner(x) == "int8" else "int8"


def by_largest_value(x: torch.Tensor) -> str:
    """Above 127 it does not fit in int8, so it must be FP8."""
    return "int8" if x.abs().amax() <= 127 else "fp8"


def near_zero(x: torch.Tensor) -> str:
    """Whether most values lie near zero: a normal distribution already does."""
    return "fp8" if (x.abs() < x.abs().amax() / 2).double().mean() > 0.7 else "int8"


def by_measuring(x: torch.Tensor) -> str:
    """Right, the long way."""
    absmax = x.abs().amax()
    integer = torch.round(x / (absmax / 127)) * (absmax / 127)
    floating = decode(encode(x / (absmax / 448))) * (absmax / 448)
    return "int8" if (integer - x).square().sum() < (floating - x).square().sum() else "fp8"
