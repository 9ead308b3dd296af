"""Formats against their specifications, against exact fractions, and against ml_dtypes, gfloat and torch."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact as oracle
from oracles import foreign

from fp8lab.formats import (
    E2M1FN,
    E4M3,
    E4M3FN,
    E4M3FNUZ,
    E5M2,
    E8M0FNU,
    FORMATS,
    FloatFormat,
    bracket,
    classify,
    decode_table,
    exact,
    fields,
    get_format,
    neighbours,
    ulp,
    value,
)

NAMES = list(FORMATS)

# OCP OFP8 v1.0, table 1 (values typed from the page) and OCP MX v1.0, tables 3 to 6
SPECIFICATION = {
    "E4M3FN": {"max": 448.0, "min_normal": 2**-6, "min_subnormal": 2**-9, "max_subnormal": 0.875 * 2**-6},
    "E5M2": {"max": 57344.0, "min_normal": 2**-14, "min_subnormal": 2**-16, "max_subnormal": 0.75 * 2**-14},
    "E3M2FN": {"max": 28.0, "min_normal": 0.25, "min_subnormal": 0.0625, "max_subnormal": 0.1875},
    "E2M3FN": {"max": 7.5, "min_normal": 1.0, "min_subnormal": 0.125, "max_subnormal": 0.875},
    "E2M1FN": {"max": 6.0, "min_normal": 1.0, "min_subnormal": 0.5, "max_subnormal": 0.5},
}
# The table of the formats: max code, NaN codes, infinities, finite codes, distinct finite values
CODES = {
    "E4M3FN": (0x7E, {0x7F, 0xFF}, set(), 254, 253),
    "E5M2": (0x7B, {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF}, {0x7C, 0xFC}, 248, 247),
    "E4M3FNUZ": (0x7F, {0x80}, set(), 255, 255),
    "E5M2FNUZ": (0x7F, {0x80}, set(), 255, 255),
    "E3M2FN": (0x1F, set(), set(), 64, 63),
    "E2M3FN": (0x1F, set(), set(), 64, 63),
    "E2M1FN": (0x07, set(), set(), 16, 15),
    "E8M0FNU": (0xFE, {0xFF}, set(), 255, 255),
    "E4M3": (0x77, {*range(0x79, 0x80), *range(0xF9, 0x100)}, {0x78, 0xF8}, 240, 239),
    "E3M4": (0x6F, {*range(0x71, 0x80), *range(0xF1, 0x100)}, {0x70, 0xF0}, 224, 223),
}


@pytest.mark.parametrize("name", SPECIFICATION)
def test_constants_of_the_specification(name):
    fmt, spec = FORMATS[name], SPECIFICATION[name]
    assert fmt.max_finite == spec["max"] == value(fmt.max_code, fmt)
    assert fmt.min_normal == spec["min_normal"]
    assert fmt.min_subnormal == spec["min_subnormal"] == value(1, fmt)
    subnormals = [value(code, fmt) for code in range(fmt.codes) if classify(code, fmt) == "subnormal"]
    assert max(subnormals) == spec["max_subnormal"]


def test_e8m0_of_the_specification():
    assert E8M0FNU.max_finite == 2.0**127 and E8M0FNU.min_normal == 2.0**-127 == value(0, E8M0FNU)
    assert value(127, E8M0FNU) == 1.0 and value(134, E8M0FNU) == 128.0 and math.isnan(value(255, E8M0FNU))
    assert E8M0FNU.min_subnormal is None and not E8M0FNU.has_zero and not E8M0FNU.has_negative_zero


@pytest.mark.parametrize("name", NAMES)
def test_special_codes(name):
    fmt = FORMATS[name]
    max_code, nans, infs, finite, distinct = CODES[name]
    assert fmt.max_code == max_code
    assert set(fmt.nan_codes) == nans and fmt.has_nan == bool(nans)
    assert set(fmt.inf_codes) == infs and fmt.has_inf == bool(infs)
    values = [exact(code, fmt) for code in range(fmt.codes)]
    assert sum(number is not None for number in values) == finite
    assert len({number for number in values if number is not None}) == distinct
    assert fmt.has_negative_zero == (name not in ("E4M3FNUZ", "E5M2FNUZ", "E8M0FNU"))


@pytest.mark.parametrize("name", NAMES)
def test_every_code_is_the_exact_value(name):
    fmt = FORMATS[name]
    for code in range(fmt.codes):
        want = oracle.value(code, name)
        assert exact(code, fmt) == want, hex(code)
        if want is not None:
            assert Fraction(value(code, fmt)) == want
            assert math.copysign(1, value(code, fmt)) == (-1 if code & oracle.SPECS[name].sign else 1)


@pytest.mark.parametrize(
    ("who", "decoder", "names"),
    [
        ("ml_dtypes", foreign.ml_decode, NAMES),
        ("gfloat", foreign.gfloat_decode, NAMES),
        ("torch", foreign.torch_decode, list(foreign.TORCH_DTYPES)),
    ],
)
def test_every_code_against_others(who, decoder, names):
    compared = 0
    for name in names:
        codes = np.arange(FORMATS[name].codes)
        got, want = decode_table(name).double().numpy(), decoder(codes, name)
        same = (got == want) & (np.signbit(got) == np.signbit(want)) | (np.isnan(got) & np.isnan(want))
        assert same.all(), f"{name}: {codes[~same]}"
        compared += len(codes)
    assert compared == (4 * 256 if who == "torch" else 7 * 256 + 2 * 64 + 16)
    print(f"\n{compared} codes of {len(names)} formats decoded: 0 mismatches against {who}")


def test_decode_table_is_yours_to_change():
    decode_table()[0x78] = 0
    assert decode_table()[0x78] == 256 and decode_table().dtype == torch.float32


def test_classes_of_e4m3fn():
    classes = [classify(code) for code in range(256)]
    counts = {name: classes.count(name) for name in ("zero", "subnormal", "normal", "nan", "inf")}
    assert counts == {"zero": 2, "subnormal": 14, "normal": 238, "nan": 2, "inf": 0}


@pytest.mark.parametrize("name", NAMES)
def test_classes_follow_the_values(name):
    fmt = FORMATS[name]
    for code in range(fmt.codes):
        number = value(code, fmt)
        if math.isnan(number):
            want = "nan"
        elif math.isinf(number):
            want = "inf"
        elif number == 0:
            want = "zero"
        else:
            want = "normal" if abs(number) >= fmt.min_normal else "subnormal"
        assert classify(code, fmt) == want, hex(code)


@pytest.mark.parametrize("name", NAMES)
def test_fields_put_together_give_the_code(name):
    fmt = FORMATS[name]
    for code in range(fmt.codes):
        sign, exponent, mantissa = fields(code, fmt)
        assert code == (sign << (fmt.exponent_bits + fmt.mantissa_bits) | exponent << fmt.mantissa_bits | mantissa)
        assert exponent < 1 << fmt.exponent_bits and mantissa < 1 << fmt.mantissa_bits and sign in (0, 1)


@pytest.mark.parametrize("name", NAMES)
def test_neighbours_walk_the_whole_line(name):
    """From the smallest value upward by `next` every distinct value is met once, in order; and back by `previous`."""
    fmt = FORMATS[name]
    values = sorted({value(code, fmt) for code in range(fmt.codes) if not math.isnan(value(code, fmt))})
    start = next(code for code in range(fmt.codes) if value(code, fmt) == values[0])
    for pick, order in ((1, values), (0, values[::-1])):
        code, met = start, []
        while code is not None:
            met.append(value(code, fmt))
            previous, code = code, neighbours(code, fmt)[pick]
        assert met == order
        start = previous
    for code in fmt.nan_codes:
        assert neighbours(code, fmt) == (None, None)


@pytest.mark.parametrize("name", NAMES)
def test_both_zeros_have_the_same_neighbours(name):
    fmt = FORMATS[name]
    zeros = [code for code in range(fmt.codes) if value(code, fmt) == 0]
    assert len(zeros) == (0 if name == "E8M0FNU" else 1 if name.endswith("UZ") else 2)
    for code in zeros:
        low, high = neighbours(code, fmt)
        assert value(low, fmt) == -fmt.min_subnormal and value(high, fmt) == fmt.min_subnormal


@pytest.mark.parametrize("name", NAMES)
def test_bracket_encloses_as_closely_as_can_be(name):
    fmt = FORMATS[name]
    finite = sorted({exact(code, fmt) for code in range(fmt.codes)} - {None})
    for low, high in zip(finite, finite[1:]):
        for x in (low + (high - low) / 3, (low + high) / 2):
            below, above = bracket(x, fmt)
            assert (exact(below, fmt), exact(above, fmt)) == (low, high)
            assert neighbours(below, fmt)[1] == above or exact(above, fmt) == 0 or exact(below, fmt) == 0
    for code in range(fmt.codes):
        if exact(code, fmt) is not None:
            assert bracket(value(code, fmt), fmt) == (code, code)
    assert bracket(2 * fmt.max_finite, fmt) == (fmt.max_code, None)
    outside = (None, 0) if not fmt.signed else (None, fmt.max_code | fmt.sign_mask)
    assert bracket(-2 * fmt.max_finite, fmt) == outside


def test_bracket_of_small_negatives_ends_at_minus_zero():
    assert bracket(-(2**-12)) == (0x81, 0x80) and bracket(2**-12) == (0x00, 0x01)
    assert bracket(-(2**-12), E4M3FNUZ) == (0x81, 0x00)
    assert bracket(-0.0) == (0x80, 0x80) and bracket(-0.0, E4M3FNUZ) == (0, 0)
    assert bracket(np.float32(17)) == (88, 89) and bracket(torch.tensor(17.0)) == (88, 89)


@pytest.mark.parametrize("name", NAMES)
def test_ulp_is_the_gap_to_the_next_value(name):
    fmt = FORMATS[name]
    for code in range(fmt.max_code):
        gap = exact(code + 1, fmt) - exact(code, fmt)
        assert Fraction(ulp(value(code, fmt), fmt)) == gap
        assert Fraction(ulp(exact(code, fmt) + gap / 3, fmt)) == gap
        if fmt.signed:
            assert Fraction(ulp(-value(code, fmt), fmt)) == gap
    assert ulp(10 * fmt.max_finite, fmt) == ulp(fmt.max_finite, fmt)


@given(st.fractions())
def test_ulp_and_bracket_of_any_fraction(x):
    low, high = bracket(x)
    if low is not None and high is not None:
        assert exact(low) <= x <= exact(high)
        assert exact(high) - exact(low) in (0, Fraction(ulp(x)))


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_no_place_on_the_line(x):
    for function in (bracket, ulp):
        with pytest.raises(ValueError, match="finite number"):
            function(x)


@pytest.mark.parametrize("function", [fields, classify, exact, value, neighbours])
def test_codes_are_checked(function):
    for wrong in (-1, 256, 2**70):
        with pytest.raises(ValueError, match=r"outside 0\.\.255, the codes of E4M3FN"):
            function(wrong)
    with pytest.raises(ValueError, match=r"outside 0\.\.15"):
        function(16, E2M1FN)
    for wrong in (1.0, True, "7", None, np.float32(1), np.bool_(True), torch.tensor(1.5)):
        with pytest.raises(TypeError, match=r"integer 0\.\.255"):
            function(wrong)
    assert function(np.uint8(0x78)) == function(0x78) == function(torch.tensor(0x78))


def test_get_format():
    assert get_format("e4m3fn") is E4M3FN and get_format("E4M3FN") is E4M3FN and get_format(E5M2) is E5M2
    assert get_format("E4M3") is E4M3 and E4M3.max_finite == 240 and get_format("e4m3fnuz").name == "E4M3FNUZ"
    for guess in ("e4m3", "E4m3"):
        with pytest.raises(ValueError, match=f"{guess}.* is ambiguous: write E4M3FN .*CUDA.* exactly 'E4M3' for"):
            get_format(guess)
    with pytest.raises(ValueError, match="unknown format 'e4m3fnx': known are E4M3FN, E5M2"):
        get_format("e4m3fnx")
    with pytest.raises(TypeError, match="FloatFormat or a name"):
        get_format(torch.float8_e4m3fn)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("X", 0, 3, 7, True, "fn"), "at least 1 exponent bit"),
        (("X", 4, -1, 7, True, "fn"), "at least 1 exponent bit"),
        (("X", 5, 3, 7, True, "fn"), "at most 8 bits"),
        (("X", 4, 3, 7, True, "ocp"), "special='ocp' is not one of ieee, fn, fnuz, none"),
        (("X", 4, 3, 7, False, "fnuz"), "needs signed=True"),
        (("X", 4, 3, -1, True, "fn"), "bias of at least 0"),
        (("X", 4, 3, 150, True, "fn"), "within float32"),
        (("X", 8, 0, 100, False, "fn"), "within float32"),
    ],
)
def test_fields_that_make_no_format(arguments, message):
    with pytest.raises(ValueError, match=message):
        FloatFormat(*arguments)


def test_a_format_is_a_frozen_hashable_value():
    twin = FloatFormat("E4M3FN", 4, 3, 7, True, "fn")
    assert twin == E4M3FN and hash(twin) == hash(E4M3FN) and twin != E5M2
    assert pickle.loads(pickle.dumps(E5M2)) == E5M2 == copy.deepcopy(E5M2)
    with pytest.raises(AttributeError):
        E4M3FN.bias = 8
    assert str(E4M3FN) == "E4M3FN"
