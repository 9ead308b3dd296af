"""2.3 and 2.4: right answers and typical wrong ones for what is too large, and for what is no ordinary number."""

from __future__ import annotations

import math
from collections.abc import Callable

from fp8lab.course.lessons.l02_encode.answers_neighbours import nearest
from fp8lab.formats import E4M3FN, FloatFormat, value


def overflow_code(fmt: FloatFormat, overflow: str) -> int:
    if overflow == "inf" and not fmt.has_inf:
        raise ValueError(f"overflow='inf': {fmt.name} has no infinity; give 'saturate' or 'nan'")
    return {"saturate": fmt.max_code, "nan": fmt.nan_code, "inf": fmt.max_code + 1}[overflow]


def encode_finite(x: float, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> int:
    beyond = overflow_code(fmt, overflow)
    gap = fmt.max_finite - value(fmt.max_code - 1, fmt)
    limit = fmt.max_finite + gap / 2
    if abs(x) > limit or (abs(x) == limit and fmt.max_code % 2 == 1):
        return beyond | fmt.sign_mask if x < 0 else beyond
    return nearest(x, fmt)


def top_gap(fmt: FloatFormat) -> float:
    return fmt.max_finite - value(fmt.max_code - 1, fmt)


def overflowing(test: Callable[[float, FloatFormat], bool]) -> Callable[..., int]:
    """encode_finite with another idea of what overflows: `test(abs(x), fmt)`."""

    def answer(x: float, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> int:
        beyond = overflow_code(fmt, overflow)
        if test(abs(x), fmt):
            return beyond | fmt.sign_mask if x < 0 else beyond
        return nearest(x, fmt)

    return answer


before_rounding = overflowing(lambda size, fmt: size > fmt.max_finite)
next_step = overflowing(lambda size, fmt: size >= fmt.max_finite + top_gap(fmt))
tie_stays = overflowing(lambda size, fmt: size > fmt.max_finite + top_gap(fmt) / 2)
tie_overflows = overflowing(lambda size, fmt: size >= fmt.max_finite + top_gap(fmt) / 2)
numbers_of_e4m3fn = overflowing(lambda size, fmt: size > 464.0)
ieee_maximum = overflowing(lambda size, fmt: size > (248.0 if fmt.bias == 7 else fmt.max_finite + top_gap(fmt) / 2))


def clamped_first(x: float, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> int:
    overflow_code(fmt, overflow)
    return nearest(min(max(x, -fmt.max_finite), fmt.max_finite), fmt)


def sign_lost(x: float, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> int:
    limit = fmt.max_finite + top_gap(fmt) / 2
    if abs(x) > limit or (abs(x) == limit and fmt.max_code % 2 == 1):
        return overflow_code(fmt, overflow)
    return nearest(x, fmt)


def by_size(x: float, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> int:
    """Rounds the size on a table that goes one step further, then looks whether that step was taken."""
    size, top = abs(x), fmt.max_finite
    ghost = top + top_gap(fmt)
    beyond = overflow_code(fmt, overflow)
    tie = size - top == ghost - size
    over = size - top > ghost - size or (tie and (fmt.max_code + 1) % 2 == 0)
    code = beyond if over else nearest(size, fmt)
    return code + fmt.sign_mask if x < 0 and code and not code & fmt.sign_mask else code


# ---- 2.4


def encode(x: float, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> int:
    if math.isnan(x):
        return fmt.nan_code
    code = overflow_code(fmt, overflow) if math.isinf(x) else encode_finite(abs(x), fmt, overflow)
    if math.copysign(1.0, x) < 0 and (code != 0 or fmt.has_negative_zero):
        code |= fmt.sign_mask
    return code


def variant(
    nan: Callable | None = None, inf: Callable | None = None, negative: Callable | None = None
) -> Callable[..., int]:
    """encode with one of its three decisions replaced."""

    def is_negative(x: float, code: int, fmt: FloatFormat) -> bool:
        return math.copysign(1.0, x) < 0 and (code != 0 or fmt.has_negative_zero)

    def answer(x: float, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> int:
        if math.isnan(x):
            return nan(fmt, overflow) if nan else fmt.nan_code
        if math.isinf(x):
            code = inf(fmt, overflow) if inf else overflow_code(fmt, overflow)
        else:
            code = encode_finite(abs(x), fmt, overflow)
        return code | fmt.sign_mask if (negative or is_negative)(x, code, fmt) else code

    return answer


minus_zero_lost = variant(negative=lambda x, code, fmt: x < 0 and (code != 0 or fmt.has_negative_zero))
small_sign_lost = variant(negative=lambda x, code, fmt: math.copysign(1.0, x) < 0 and code != 0)
always_sign_bit = variant(negative=lambda x, code, fmt: math.copysign(1.0, x) < 0)
nan_overflows = variant(nan=lambda fmt, overflow: overflow_code(fmt, overflow))
nan_is_zero = variant(nan=lambda fmt, overflow: 0)
nan_of_e4m3fn = variant(nan=lambda fmt, overflow: 0x7F)
infinity_is_clamped = variant(inf=lambda fmt, overflow: fmt.max_code)
infinity_is_nan = variant(inf=lambda fmt, overflow: fmt.nan_code)
infinity_is_positive = variant(
    negative=lambda x, code, fmt: (
        math.copysign(1.0, x) < 0 and (code != 0 or fmt.has_negative_zero) and not math.isinf(x)
    )
)


def without_abs(x: float, fmt: FloatFormat = E4M3FN, overflow: str = "saturate") -> int:
    """Right without taking the size first: the sign of what rounds to zero is put back."""
    if x != x:
        return fmt.nan_codes[-1]
    if x in (math.inf, -math.inf):
        code = overflow_code(fmt, overflow)
        return code | fmt.sign_mask if x < 0 else code
    code = encode_finite(x, fmt, overflow)
    return fmt.sign_mask if code == 0 and str(x).startswith("-") and fmt.has_negative_zero else code
