"""The record of one code against oracles: ml_dtypes for values and order, arithmetic for formulas and decimals."""

from __future__ import annotations

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from fp8lab.explore import bit_data
from fp8lab.explore.bits import nearest_code
from fp8lab.explore.bits.data import decimal_text, fraction_text, presets, siblings, value_order
from fp8lab.explore.bits.entry import read_binary, read_hex, read_value
from fp8lab.formats import FORMATS, get_format

ML_DTYPES = {
    "E4M3FN": ml_dtypes.float8_e4m3fn, "E5M2": ml_dtypes.float8_e5m2, "E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "E5M2FNUZ": ml_dtypes.float8_e5m2fnuz, "E3M2FN": ml_dtypes.float6_e3m2fn, "E2M3FN": ml_dtypes.float6_e2m3fn,
    "E2M1FN": ml_dtypes.float4_e2m1fn, "E8M0FNU": ml_dtypes.float8_e8m0fnu, "E4M3": ml_dtypes.float8_e4m3,
    "E3M4": ml_dtypes.float8_e3m4,
}  # fmt: skip
EVERY_FORMAT = pytest.mark.parametrize("name", list(FORMATS))
EVERY_CODE = [(name, code) for name, fmt in FORMATS.items() for code in range(fmt.codes)]


def foreign_values(name: str) -> np.ndarray:
    """What ml_dtypes says that the codes mean, float64."""
    return np.arange(FORMATS[name].codes, dtype=np.uint8).view(ML_DTYPES[name]).astype(np.float64)


@pytest.mark.parametrize(
    "code, name, pattern, kind, decimal, implicit",
    [  # OCP OFP8 v1.0, table 2; MX v1.0, section 5.3; and the bytes of the syllabus
        (0x78, "E4M3FN", "0 1111 000", "normal", "256", 1),
        (0x7E, "E4M3FN", "0 1111 110", "normal", "448", 1),
        (0x7F, "E4M3FN", "0 1111 111", "nan", "NaN", None),
        (0x01, "E4M3FN", "0 0000 001", "subnormal", "0.001953125", 0),
        (0x07, "E4M3FN", "0 0000 111", "subnormal", "0.013671875", 0),
        (0x08, "E4M3FN", "0 0001 000", "normal", "0.015625", 1),
        (0x80, "E4M3FN", "1 0000 000", "zero", "-0", 0),
        (0xF8, "E4M3FN", "1 1111 000", "normal", "-256", 1),
        (0x7B, "E5M2", "0 11110 11", "normal", "57344", 1),
        (0x7C, "E5M2", "0 11111 00", "inf", "inf", None),
        (0xFC, "E5M2", "1 11111 00", "inf", "-inf", None),
        (0x80, "E4M3FNUZ", "1 0000 000", "nan", "NaN", None),
        (0x7, "E2M1FN", "0 11 1", "normal", "6", 1),
        (0x7F, "E8M0FNU", "01111111", "normal", "1", 1),
    ],
)
def test_known_codes(code, name, pattern, kind, decimal, implicit):
    data = bit_data(code, name)
    assert (data.pattern, data.kind, data.decimal, data.implicit) == (pattern, kind, decimal, implicit)


def test_every_code_of_every_format_has_the_value_that_ml_dtypes_gives():
    compared = 0
    for name in FORMATS:
        for code, want in enumerate(foreign_values(name)):
            got = bit_data(code, name).value
            assert got == want or (math.isnan(got) and math.isnan(want)), (name, hex(code))
            assert math.copysign(1, got) == math.copysign(1, want) or math.isnan(got), (name, hex(code))
            compared += 1
    assert compared == 7 * 256 + 3 * 0 + 64 + 64 + 16


def test_the_formula_computes_to_the_exact_value():
    for name, code in EVERY_CODE:
        data = bit_data(code, name)
        left, sign, right = data.formula.replace("≈", "=").partition("=")
        if data.exact is None:
            assert not sign and data.reason in data.formula
            continue
        product = Fraction(1)
        for factor in left.split(" × "):
            product *= _factor(factor.strip())
        assert product == data.exact, (name, hex(code), data.formula)


def _factor(text: str) -> Fraction:
    """The worth of "(-1)^0", "2^(15-7)" or "(1 + 3/8)"."""
    if text.startswith("(-1)^"):
        return Fraction(-1) ** int(text[5:])
    if text.startswith("2^("):
        used, bias = text[3:-1].split("-")
        return Fraction(2) ** (int(used) - int(bias))
    whole, part = text.strip("()").split(" + ")
    return Fraction(whole) + Fraction(part)


def test_bits_say_their_field_place_and_weight():
    for name, code in EVERY_CODE:
        data = bit_data(code, name)
        assert sum(bit.value << bit.place for bit in data.bits) == code
        for field in ("sign", "exponent", "mantissa"):
            assert sum(bit.weight * bit.value for bit in data.bits if bit.field == field) == getattr(data, field)


@EVERY_FORMAT
def test_neighbours_gaps_and_positions_against_sorted_foreign_values(name):
    values = foreign_values(name)
    line = sorted({value for value in values if not math.isnan(value)})  # -0 and 0 are one
    finite = [value for value in line if math.isfinite(value)]
    places = [bit_data(code, name).position for code in value_order(FORMATS[name])]
    assert places == list(range(len(places)))
    for code, value in enumerate(values):
        data = bit_data(code, name)
        if math.isnan(value):
            assert (data.previous, data.next, data.position, data.ulp) == (None,) * 4
            continue
        at = line.index(value)
        for neighbour, gap, other in ((data.previous, data.gap_below, at - 1), (data.next, data.gap_above, at + 1)):
            want = line[other] if 0 <= other < len(line) else None
            assert (None if neighbour is None else values[neighbour]) == want
            both_finite = want in finite and value in finite
            assert gap == (abs(Fraction(want) - Fraction(value)) if both_finite else None)


@EVERY_FORMAT
def test_decimals_and_fractions_are_exact_and_bytes_never_need_rounding(name):
    for code in range(FORMATS[name].codes):
        data = bit_data(code, name)
        if data.exact is None:
            continue
        if name != "E8M0FNU":
            assert "≈" not in data.decimal, data
        if "≈" in data.decimal:
            assert math.isclose(float(data.decimal[2:]), data.exact, rel_tol=1e-6)
        else:
            assert Fraction(Decimal(data.decimal)) == data.exact
        factor, _, power = data.fraction.partition("2^")
        if power:
            assert Fraction(factor.strip(" ×") or 1) * Fraction(2) ** int(power) == data.exact
        else:
            assert Fraction(data.fraction) == data.exact


def test_long_numbers_are_shortened_with_an_approximation_sign():
    assert decimal_text(Fraction(1, 2**100)).startswith("≈ 7.888609e-31")
    assert fraction_text(Fraction(-3, 2**60)) == "-3 × 2^-60" and fraction_text(Fraction(2**100)) == "2^100"
    assert fraction_text(Fraction(-1, 2**60)) == "-2^-60"


@pytest.mark.parametrize(
    "code, name, error",
    [
        (256, "E4M3FN", ValueError), (-1, "E4M3FN", ValueError), (16, "E2M1FN", ValueError), (0, "E9M9", ValueError),
        (1.0, "E4M3FN", TypeError), (True, "E4M3FN", TypeError),
    ],
)  # fmt: skip
def test_codes_and_formats_that_do_not_exist_are_refused(code, name, error):
    with pytest.raises(error):
        bit_data(code, name)


@EVERY_FORMAT
def test_nearest_code_against_an_exhaustive_search(name):
    fmt, rng = FORMATS[name], random.Random(0)
    values = [(Fraction(value), code) for code, value in enumerate(foreign_values(name)) if math.isfinite(value)]
    largest = float(max(value for value, _ in values))
    middles = [float((a + b) / 2) for (a, _), (b, _) in itertools.pairwise(sorted(values))]
    for x in middles + [rng.uniform(-1.5, 1.5) * min(largest, 1e30) for _ in range(100)] + [largest * 2]:
        if x <= 0 and not fmt.signed:
            continue
        best = min(abs(value - Fraction(x)) for value, _ in values)
        winners = {value: code for value, code in values if abs(value - Fraction(x)) == best}
        got = nearest_code(x, fmt)
        assert Fraction(bit_data(got, fmt).value) in winners
        if len(winners) == 2:  # a tie goes to the even code; in E8M0FNU, too, the code is what is even
            assert got % 2 == 0, (x, got)


def test_nearest_code_at_the_ends():
    assert nearest_code(-0.0) == 0x80 and nearest_code(0.0) == 0 and nearest_code(-0.0, "E4M3FNUZ") == 0
    assert nearest_code(1e9) == 0x7E and nearest_code(-1e9) == 0xFE
    assert nearest_code(math.inf, "E5M2") == 0x7C and nearest_code(-math.inf, "E5M2") == 0xFC
    assert bit_data(nearest_code(math.nan)).kind == "nan"
    for x, name, said in ((math.inf, "E4M3FN", "infinity"), (math.nan, "E2M1FN", "NaN"), (-1.0, "E8M0FNU", "positive")):
        with pytest.raises(ValueError, match=said):
            nearest_code(x, name)


def test_what_people_type():
    assert [read_hex(text, "E4M3FN") for text in ("78", "0x7e", " 7Eh ", "1")] == [0x78, 0x7E, 0x7E, 1]
    binary = ("0 1111 000", "0b01111110", "0111_1110", "1")
    assert [read_binary(text, "E4M3FN") for text in binary] == [0x78, 0x7E, 0x7E, 1]
    typed = {"448": 448.0, "-0.1": -0.1, "1/512": 2**-9, "2^-6": 2**-6, "-2**3": -8.0}
    typed |= {"3 × 2^-9": 3 * 2**-9, "1e-3": 1e-3, "−2": -2.0}
    assert {text: read_value(text) for text in typed} == typed
    assert math.isnan(read_value("nan")) and read_value("-inf") == -math.inf


@pytest.mark.parametrize("text", ["", "100", "0x", "g", "-1", "7 8", "1e400/3", "１"])
def test_what_is_no_hexadecimal_code_is_refused(text):
    with pytest.raises(ValueError):
        read_hex(text, "E4M3FN")


@pytest.mark.parametrize("text", ["", "2", "101010101", "0x1"])
def test_what_is_no_binary_code_is_refused(text):
    with pytest.raises(ValueError):
        read_binary(text, "E4M3FN")


@pytest.mark.parametrize("text", ["", "abc", "1/0", "1//2", "2^", "__import__('os')", "1,5"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError):
        read_value(text)


@EVERY_FORMAT
def test_presets_are_what_they_are_called(name):
    fmt = get_format(name)
    found = {label: bit_data(code, fmt) for label, code in presets(fmt)}
    assert found["max"].value == fmt.max_finite and found["min normal"].value == fmt.min_normal
    assert ("NaN" in found) == fmt.has_nan and ("inf" in found) == fmt.has_inf and ("0x78" in found) == (fmt.bits == 8)
    if "min subnormal" in found:
        assert found["min subnormal"].value == fmt.min_subnormal and found["min subnormal"].kind == "subnormal"


def test_siblings_share_the_width_and_ieee_stands_near():
    names = [fmt.name for fmt in siblings(get_format("E4M3FN"))]
    assert names[:3] == ["E4M3FN", "E4M3FNUZ", "E4M3"] and "E5M2" in names and "E2M1FN" not in names
    assert [bit_data(0x78, name).decimal for name in names[:3]] == ["256", "128", "inf"]
