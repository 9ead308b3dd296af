"""3.1 to 3.5: right answers and typical wrong ones for absmax, scale, and the int8 loop."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

SCALE_FLOOR = 2.0**-126  # smallest normal float32


def find_absmax(x: torch.Tensor) -> float:
    return x.abs().amax().item()


def signed_maximum(x: torch.Tensor) -> float:
    return x.max().item()


def size_of_the_maximum(x: torch.Tensor) -> float:
    return abs(x.max().item())


def half_the_range(x: torch.Tensor) -> float:
    return ((x.max() - x.min()) / 2).item()


def root_mean_square(x: torch.Tensor) -> float:
    return x.float().square().mean().sqrt().item()


def last_row_only(x: torch.Tensor) -> float:
    return x[-1].abs().amax().item() if x.dim() else x.abs().item()


def percentile(x: torch.Tensor) -> float:
    return x.detach().double().abs().flatten().quantile(0.99).item()


def still_a_tensor(x: torch.Tensor) -> torch.Tensor:
    return x.abs().amax()


def absmax_of_both_ends(x: torch.Tensor) -> float:
    return torch.maximum(x.amax(), -x.amin()).item()


def absmax_in_numpy(x: torch.Tensor) -> np.floating:
    return np.abs(x.detach().to(torch.float64).numpy()).max()


# ---- 3.2


def conventions(absmax: float, qmax: float) -> tuple[float, float, float]:
    multiplier = qmax / absmax
    scale = absmax / qmax
    return multiplier, scale, multiplier * multiplier


def swapped(absmax: float, qmax: float) -> tuple[float, float, float]:
    return absmax / qmax, qmax / absmax, (absmax / qmax) ** 2


def both_the_same(absmax: float, qmax: float) -> tuple[float, float, float]:
    return qmax / absmax, qmax / absmax, 1.0


def harmless_mix(absmax: float, qmax: float) -> tuple[float, float, float]:
    multiplier, scale, _ = conventions(absmax, qmax)
    return multiplier, scale, multiplier * scale


def mixed_once(absmax: float, qmax: float) -> tuple[float, float, float]:
    multiplier, scale, _ = conventions(absmax, qmax)
    return multiplier, scale, multiplier


def mixed_other_way(absmax: float, qmax: float) -> tuple[float, float, float]:
    multiplier, scale, _ = conventions(absmax, qmax)
    return multiplier, scale, scale * scale


def in_float16(absmax: float, qmax: float) -> tuple[float, float, float]:
    with np.errstate(over="ignore"):
        multiplier, scale = np.float16(qmax / absmax), np.float16(absmax / qmax)
        return float(multiplier), float(scale), float(multiplier) ** 2


def two_qmax(absmax: float, qmax: float) -> tuple[float, float, float]:
    """As if the whole width of the grid had to hold absmax once."""
    multiplier = 2 * qmax / absmax
    return multiplier, 1 / multiplier, multiplier**2


def conventions_as_tensors(absmax: float, qmax: float) -> list[torch.Tensor]:
    scale = torch.tensor(absmax) / qmax
    return [1 / scale, scale, scale**-2]


# ---- 3.3


def quantize_int8(x: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.round(x / scale).clamp(-127, 127).to(torch.int8)


def int8_with(
    rounding: Callable = torch.round, low: int = -127, divide: Callable = lambda x, scale: x / scale
) -> Callable[[torch.Tensor, float], torch.Tensor]:
    return lambda x, scale: rounding(divide(x, scale)).clamp(low, 127).to(torch.int8)


floored = int8_with(torch.floor)
truncated = int8_with(torch.trunc)
half_away = int8_with(lambda q: torch.floor(q.abs() + 0.5) * q.sign())
half_up = int8_with(lambda q: torch.floor(q + 0.5))
down_to_128 = int8_with(low=-128)
multiplied = int8_with(divide=lambda x, scale: x * scale)
by_reciprocal = int8_with(divide=lambda x, scale: x * float(np.float32(1) / np.float32(scale)))


def wraps(x: torch.Tensor, scale: float) -> torch.Tensor:
    """Cast first: what does not fit in eight bits comes back on the other side."""
    wide = torch.round(x / scale).clamp(-(2.0**31), 2.0**31 - 128).to(torch.int32)
    return ((wide + 128) % 256 - 128).to(torch.int8)


def positive_half_lost(x: torch.Tensor, scale: float) -> torch.Tensor:
    """Unsigned: zero is the smallest code."""
    return torch.round(x / scale).clamp(0, 127).to(torch.int8)


def with_rint(x: torch.Tensor, scale: float) -> torch.Tensor:
    q = np.rint(x.numpy().astype(np.float32) / np.float32(scale))
    return torch.from_numpy(np.clip(q, -127, 127).astype(np.int8))


def divided_in_double(x: torch.Tensor, scale: float) -> torch.Tensor:
    return (x.double() / scale).round().clamp(-127, 127).to(torch.int8)


def clamped_first(x: torch.Tensor, scale: float) -> torch.Tensor:
    return (x / torch.tensor(scale, dtype=x.dtype)).clamp(-127, 127).round().to(torch.int8)


# ---- 3.4


def dequantize_int8(codes: torch.Tensor, scale: float) -> torch.Tensor:
    return codes.float() * scale


def divided(codes: torch.Tensor, scale: float) -> torch.Tensor:
    return codes.float() / scale


def read_as_unsigned(codes: torch.Tensor, scale: float) -> torch.Tensor:
    return codes.contiguous().view(torch.uint8).float() * scale


def with_zero_point(codes: torch.Tensor, scale: float) -> torch.Tensor:
    return (codes.float() - 128) * scale


def scale_rounded_to_int8(codes: torch.Tensor, scale: float) -> torch.Tensor:
    """An integer times an integer."""
    return (codes.to(torch.int32) * round(scale)).float()


def half_result(codes: torch.Tensor, scale: float) -> torch.Tensor:
    return codes.half() * torch.tensor(scale).half()


def stays_int8(codes: torch.Tensor, scale: float) -> torch.Tensor:
    return (codes.float() * scale).clamp(-128, 127).to(torch.int8)


def dequantized_in_double(codes: torch.Tensor, scale: float) -> np.ndarray:
    return codes.numpy().astype(np.float64) * scale


# ---- 3.5


def choose_scale(x: torch.Tensor, qmax: float) -> float:
    absmax = find_absmax(x)
    if not math.isfinite(absmax):
        raise ValueError("x holds NaN or infinity: a scale from it would spoil every value of the group")
    return max(absmax / qmax, SCALE_FLOOR) if absmax > 0 else 1.0


def eps_added(x: torch.Tensor, qmax: float) -> float:
    if not x.isfinite().all():
        raise ValueError("not finite")
    return (find_absmax(x) + 1e-8) / qmax if x.any() else 1.0


def floor_too_high(x: torch.Tensor, qmax: float) -> float:
    if not x.isfinite().all():
        raise ValueError("not finite")
    return max(find_absmax(x) / qmax, 1e-6) if x.any() else 1.0


def zero_scale(x: torch.Tensor, qmax: float) -> float:
    if not x.isfinite().all():
        raise ValueError("not finite")
    return find_absmax(x) / qmax


def no_floor(x: torch.Tensor, qmax: float) -> float:
    return zero_scale(x, qmax) or 1.0


def zeros_at_the_floor(x: torch.Tensor, qmax: float) -> float:
    return max(zero_scale(x, qmax), SCALE_FLOOR)


def whatever_comes(x: torch.Tensor, qmax: float) -> float:
    absmax = find_absmax(x)
    return max(absmax / qmax, SCALE_FLOOR) if absmax != 0 else 1.0


def repaired(x: torch.Tensor, qmax: float) -> float:
    return choose_scale(torch.nan_to_num(x, nan=0.0, posinf=3.4e38, neginf=-3.4e38), qmax)


def only_infinity_refused(x: torch.Tensor, qmax: float) -> float:
    if x.isinf().any():
        raise ValueError("infinite")
    return choose_scale(torch.nan_to_num(x), qmax)


def kept_in_float16(x: torch.Tensor, qmax: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float16(choose_scale(x, qmax)))


def chosen_as_a_tensor(x: torch.Tensor, qmax: float) -> torch.Tensor:
    if not bool(torch.isfinite(x).all()):
        raise ValueError("not finite")
    absmax = x.detach().double().abs().amax()
    return torch.where(absmax == 0, 1.0, (absmax / qmax).clamp(min=SCALE_FLOOR)).float()
