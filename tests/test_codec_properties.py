"""Laws of the codec on arbitrary numbers (hypothesis): error bound, order, symmetry, repetition."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fp8lab import decode, encode
from fp8lab.codec import ROUNDINGS
from fp8lab.formats import FORMATS, FloatFormat, exact, ulp, value

SIGNED = [fmt for fmt in FORMATS.values() if fmt.signed]
formats = st.sampled_from(SIGNED)
modes = st.sampled_from(["nearest_even", "nearest_away", "toward_zero", "toward_positive"])
relaxed = settings(deadline=None)  # a busy machine is not a failure
reals = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-500, 500) | st.floats(-(2**-8), 2**-8)


@relaxed
@given(formats, reals, st.sampled_from(["nearest_even", "nearest_away"]))
@example(FORMATS["E4M3FN"], 464.0, "nearest_away")
def test_the_error_is_at_most_half_a_step(fmt, x, rounding):
    back = Fraction(decode(encode(x, fmt, rounding=rounding), fmt).item())
    if abs(x) <= fmt.max_finite:
        assert abs(Fraction(x) - back) <= Fraction(ulp(x, fmt)) / 2
    else:
        assert abs(back) == Fraction(fmt.max_finite) and (back > 0) == (x > 0)


@relaxed
@given(formats, st.floats(-1, 1), st.sampled_from(["toward_zero", "toward_positive", "stochastic"]))
def test_directed_modes_stay_within_a_step_and_on_their_side(fmt, share, rounding):
    x = share * fmt.max_finite
    back = decode(encode(x, fmt, rounding=rounding), fmt).item()
    assert abs(Fraction(x) - Fraction(back)) < Fraction(ulp(x, fmt))
    if rounding == "toward_zero":
        assert abs(back) <= abs(x)
    if rounding == "toward_positive":
        assert back >= x


@relaxed
@given(formats, modes, st.lists(reals, min_size=2, max_size=40))
def test_monotone(fmt, rounding, numbers):
    values = decode(encode(sorted(numbers), fmt, rounding=rounding), fmt)
    assert bool((values[1:] >= values[:-1]).all())


@relaxed
@given(formats, st.sampled_from(["nearest_even", "nearest_away", "toward_zero"]), reals)
def test_sign_symmetric(fmt, rounding, x):
    plus, minus = encode(abs(x), fmt, rounding=rounding).item(), encode(-abs(x), fmt, rounding=rounding).item()
    assert minus == (plus | fmt.sign_mask if plus or fmt.has_negative_zero else 0)


@relaxed
@given(formats, st.sampled_from(ROUNDINGS), reals)
def test_idempotent(fmt, rounding, x):
    once = encode(x, fmt, rounding=rounding)
    assert torch.equal(encode(decode(once, fmt), fmt, rounding=rounding), once)


@relaxed
@given(st.sampled_from(SIGNED), st.integers(-8, 8), st.floats(-400, 400))
def test_scaling_by_powers_of_two_commutes_between_subnormals_and_overflow(fmt, power, x):
    scaled = math.ldexp(x, power)
    inside = all(fmt.min_normal <= abs(number) <= fmt.max_finite for number in (x, scaled))
    if inside:
        back, scaled_back = decode(encode(x, fmt), fmt).item(), decode(encode(scaled, fmt), fmt).item()
        if abs(math.ldexp(back, power)) <= fmt.max_finite:
            assert scaled_back == math.ldexp(back, power)


@relaxed
@given(st.sampled_from([torch.float32, torch.bfloat16, torch.float16]), formats, st.lists(reals, max_size=30))
def test_narrow_inputs_are_their_float64_values(dtype, fmt, numbers):
    x = torch.tensor(numbers, dtype=torch.float64).to(dtype)
    assert torch.equal(encode(x, fmt), encode(x.double(), fmt))


@relaxed
@given(st.floats(min_value=2.0**-140, max_value=2.0**129))
def test_e8m0_upward_is_the_smallest_power_that_is_large_enough(x):
    power = value(encode(x, "E8M0FNU", rounding="toward_positive").item(), "E8M0FNU")
    assert (power >= x and power / 2 < x) or power in (2.0**-127, 2.0**127)


@st.composite
def any_format(draw) -> FloatFormat:
    signed = draw(st.booleans())
    exponent_bits = draw(st.integers(1, 5))
    mantissa_bits = draw(st.integers(1, 7 - exponent_bits if signed else 8 - exponent_bits))
    special = draw(st.sampled_from(["ieee", "fn", "fnuz", "none"] if signed else ["ieee", "fn", "none"]))
    if special == "ieee" and exponent_bits == 1:
        special = "none"
    return FloatFormat("any", exponent_bits, mantissa_bits, draw(st.integers(0, 40)), signed, special)


@settings(max_examples=150, deadline=None)
@given(any_format())
def test_every_format_one_can_write_down(fmt):
    """Codes survive decode and encode, midpoints go to the even code: for formats nobody registered."""
    codes = [code for code in range(fmt.codes) if exact(code, fmt) is not None]
    assert encode(decode(codes, fmt), fmt).tolist() == codes
    middles = torch.tensor([float(exact(c, fmt) + exact(c + 1, fmt)) / 2 for c in range(fmt.max_code)]).double()
    want = [code + code % 2 for code in range(fmt.max_code)]
    assert encode(middles, fmt).tolist() == want == encode(middles.float(), fmt).tolist()


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_every_mode_is_in_these_tests(rounding):
    assert encode(1.0, rounding=rounding).item() == 0x38
