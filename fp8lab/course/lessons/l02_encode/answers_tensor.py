"""2.5: right answers and typical wrong ones for a whole tensor at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from fp8lab.course.lessons.l02_encode.answers_edges import encode, overflow_code
from fp8lab.formats import E4M3FN, FloatFormat, decode_table


def values_and_size(x: torch.Tensor, fmt: FloatFormat) -> tuple[torch.Tensor, torch.Tensor]:
    """Non-negative values, the code is the index, and one more that does not exist; and the sizes to look up."""
    values = decode_table(fmt)[: fmt.max_code + 1].double()
    values = torch.cat([values, 2 * values[-1:] - values[-2:-1]])
    return values, x.detach().double().abs().contiguous()


def round_sizes(size: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    middles = (values[1:] + values[:-1]) / 2
    codes = torch.searchsorted(middles, size)
    tie = size == middles[codes.clamp(max=len(middles) - 1)]
    return codes + (tie & (codes % 2 == 1))


def finish(codes: torch.Tensor, x: torch.Tensor, fmt: FloatFormat) -> torch.Tensor:
    negative = torch.signbit(x) & ((codes != 0) | fmt.has_negative_zero)
    codes = torch.where(negative, codes | fmt.sign_mask, codes)
    return torch.where(x.isnan(), fmt.nan_code, codes)


def build(
    rounding: Callable = round_sizes,
    finishing: Callable = finish,
    prepare: Callable[[torch.Tensor], torch.Tensor] = lambda x: x,
    over: Callable | None = None,
) -> Callable[..., torch.Tensor]:
    """encode_all with one part replaced."""

    def answer(x: torch.Tensor, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> torch.Tensor:
        values, size = values_and_size(prepare(x), fmt)
        codes = rounding(size, values)
        beyond = codes > fmt.max_code if over is None else over(size, fmt)
        codes = torch.where(beyond, overflow_code(fmt, overflow), codes)
        return finishing(codes, x, fmt).to(torch.uint8)

    return answer


encode_all = build()


def truncating(size: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return torch.searchsorted(values, size, right=True) - 1


def ties_down(size: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return torch.searchsorted((values[1:] + values[:-1]) / 2, size)


def ties_away(size: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return torch.searchsorted((values[1:] + values[:-1]) / 2, size, right=True)


def sign_by_comparison(codes: torch.Tensor, x: torch.Tensor, fmt: FloatFormat) -> torch.Tensor:
    codes = torch.where((x < 0) & ((codes != 0) | fmt.has_negative_zero), codes | fmt.sign_mask, codes)
    return torch.where(x.isnan(), fmt.nan_code, codes)


def sign_bit_always(codes: torch.Tensor, x: torch.Tensor, fmt: FloatFormat) -> torch.Tensor:
    return torch.where(x.isnan(), fmt.nan_code, torch.where(torch.signbit(x), codes | fmt.sign_mask, codes))


def nan_not_treated(codes: torch.Tensor, x: torch.Tensor, fmt: FloatFormat) -> torch.Tensor:
    negative = torch.signbit(x) & ((codes != 0) | fmt.has_negative_zero)
    return torch.where(negative, codes | fmt.sign_mask, codes)


truncation = build(truncating)
ties_to_lower = build(ties_down)
ties_to_upper = build(ties_away)
minus_zero_lost = build(finishing=sign_by_comparison)
fnuz_zero_is_nan = build(finishing=sign_bit_always)
nan_overflows = build(finishing=nan_not_treated)
through_float32 = build(prepare=lambda x: x.float())
overflow_before_rounding = build(over=lambda size, fmt: size > fmt.max_finite)


def element_by_element(x: torch.Tensor, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> torch.Tensor:
    codes = [encode(number, fmt, overflow) for number in x.flatten().tolist()]
    return torch.tensor(codes, dtype=torch.uint8).reshape(x.shape)


def by_exponent(x: torch.Tensor, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> torch.Tensor:
    """Right without a search: count in units of the last place; torch.round sends ties to even."""
    size = torch.nan_to_num(x.detach().double().abs(), nan=0.0, posinf=2.0**200).clamp(max=2.0**200)
    exponent = torch.where(size > 0, torch.frexp(size).exponent - 1, fmt.min_exponent).clamp(min=fmt.min_exponent)
    steps = torch.round(torch.ldexp(size, fmt.mantissa_bits - exponent)).long()
    codes = steps + ((exponent.long() - fmt.min_exponent) << fmt.mantissa_bits)
    codes = torch.where(codes > fmt.max_code, overflow_code(fmt, overflow), codes)
    return finish(codes, x, fmt).to(torch.uint8)


def in_numpy(x: torch.Tensor, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> torch.Tensor:
    values, size = values_and_size(x, fmt)
    middles = ((values[1:] + values[:-1]) / 2).numpy()
    lower, upper = (np.searchsorted(middles, size.numpy(), side=side) for side in ("left", "right"))
    codes = torch.from_numpy(np.where(lower % 2 == 0, lower, upper)).reshape(x.shape)
    codes = torch.where(codes > fmt.max_code, overflow_code(fmt, overflow), codes)
    return finish(codes, x, fmt).to(torch.uint8)
