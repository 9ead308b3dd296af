"""The registered formats, and what a code means in them: fields, class, exact value, neighbours, spacing.

    >>> value(0x78), classify(0x7F), fields(0x78)
    (256.0, 'nan', Fields(sign=0, exponent=15, mantissa=0))

Sources: OCP 8-bit Floating Point Specification (OFP8) v1.0, tables 1 and 2; OCP Microscaling Formats (MX) v1.0,
section 5.3 (element types) and 5.4 (E8M0); Noune et al., arXiv:2206.02915, for fnuz. "e4m3" alone is ambiguous: in
torch and CUDA it means E4M3FN (largest value 448); here, as in ml_dtypes, `E4M3` is the IEEE-like one (largest 240),
and `get_format("e4m3")` refuses to guess.

Left out: formats wider than 8 bits, packed storage (a 4-bit code takes a byte of its own here), block formats (a group
of codes with a shared scale: see `fp8lab.quantize`).
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left, bisect_right
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import torch

from fp8lab.float_format import FloatFormat

# OCP OFP8 v1.0, table 1
E4M3FN = FloatFormat("E4M3FN", 4, 3, bias=7, signed=True, special="fn")
E5M2 = FloatFormat("E5M2", 5, 2, bias=15, signed=True, special="ieee")
# AMD gfx942, Graphcore: one more exponent step, no -0, one NaN
E4M3FNUZ = FloatFormat("E4M3FNUZ", 4, 3, bias=8, signed=True, special="fnuz")
E5M2FNUZ = FloatFormat("E5M2FNUZ", 5, 2, bias=16, signed=True, special="fnuz")
# OCP MX v1.0, section 5.3: FP6, FP6, FP4; section 5.4: the shared scale
E3M2FN = FloatFormat("E3M2FN", 3, 2, bias=3, signed=True, special="none")
E2M3FN = FloatFormat("E2M3FN", 2, 3, bias=1, signed=True, special="none")
E2M1FN = FloatFormat("E2M1FN", 2, 1, bias=1, signed=True, special="none")
E8M0FNU = FloatFormat("E8M0FNU", 8, 0, bias=127, signed=False, special="fn")
# For comparison: what an IEEE habit expects of four and three exponent bits
E4M3 = FloatFormat("E4M3", 4, 3, bias=7, signed=True, special="ieee")
E3M4 = FloatFormat("E3M4", 3, 4, bias=3, signed=True, special="ieee")

FORMATS: dict[str, FloatFormat] = {
    fmt.name: fmt for fmt in (E4M3FN, E5M2, E4M3FNUZ, E5M2FNUZ, E3M2FN, E2M3FN, E2M1FN, E8M0FNU, E4M3, E3M4)
}


def get_format(fmt: str | FloatFormat) -> FloatFormat:
    """The format of that name (upper or lower case); a FloatFormat is returned as it is.

    >>> get_format("e5m2") is E5M2
    True

    "E4M3" is the IEEE-like one in exactly this spelling; in any other it is refused, because most who write "e4m3" mean
    E4M3FN. ValueError for it and for an unknown name, TypeError for anything else.
    """
    if isinstance(fmt, FloatFormat):
        return fmt
    if not isinstance(fmt, str):
        raise TypeError(f"format {fmt!r} is a {type(fmt).__name__}: give a FloatFormat or a name: {', '.join(FORMATS)}")
    if fmt.upper() not in FORMATS:
        raise ValueError(f"unknown format {fmt!r}: known are {', '.join(FORMATS)}")
    if fmt.upper() == E4M3.name != fmt:
        raise ValueError(
            f"format {fmt!r} is ambiguous: write E4M3FN for the one of torch, CUDA and OCP (largest value 448), or"
            " exactly 'E4M3' for the IEEE-like one of ml_dtypes (largest value 240)"
        )
    return FORMATS[fmt.upper()]


class Fields(NamedTuple):
    """The bit fields of a code, as unsigned integers (the exponent as stored, bias not subtracted)."""

    sign: int
    exponent: int
    mantissa: int


def _integer(code: int, fmt: FloatFormat) -> int:
    try:
        number = None if isinstance(code, bool) else operator.index(code)
    except TypeError:
        number = None
    if number is None:
        expected = f"a code of {fmt.name} is an integer 0..{fmt.codes - 1}"
        raise TypeError(f"code {code!r} is a {type(code).__name__}: {expected}")
    if not 0 <= number < fmt.codes:
        raise ValueError(f"code {number} is outside 0..{fmt.codes - 1}, the codes of {fmt.name}")
    return number


def fields(code: int, fmt: FloatFormat | str = E4M3FN) -> Fields:
    """Sign, exponent and mantissa of a code.

    >>> fields(0xF8)
    Fields(sign=1, exponent=15, mantissa=0)

    ValueError outside the codes of the format, TypeError for what is not an integer (bool included).
    """
    fmt = get_format(fmt)
    code = _integer(code, fmt)
    return Fields(
        sign=int(bool(code & fmt.sign_mask)),
        exponent=(code & fmt.exponent_mask) >> fmt.mantissa_bits,
        mantissa=code & fmt.mantissa_mask,
    )


class Meaning(NamedTuple):
    """What a code stands for: its class, its value as a fraction (None for NaN and infinity) and as a float."""

    kind: str
    exact: Fraction | None
    value: float


@cache
def _meanings(fmt: FloatFormat) -> tuple[Meaning, ...]:
    return tuple(_meaning(code, fmt) for code in range(fmt.codes))


def _meaning(code: int, fmt: FloatFormat) -> Meaning:
    sign, exponent, mantissa = fields(code, fmt)
    unit = -1.0 if sign else 1.0
    if code in fmt.nan_codes:
        return Meaning("nan", None, math.nan if fmt.special == "fnuz" else math.copysign(math.nan, unit))
    if code in fmt.inf_codes:
        return Meaning("inf", None, unit * math.inf)
    normal = exponent != 0 or not fmt.has_zero
    power = exponent - fmt.bias if normal else fmt.min_exponent
    significand = int(normal) + Fraction(mantissa, 1 << fmt.mantissa_bits)
    exact = (-1) ** sign * significand * Fraction(2) ** power
    kind = "normal" if normal else "subnormal" if mantissa else "zero"
    return Meaning(kind, exact, math.copysign(float(exact), unit))


def classify(code: int, fmt: FloatFormat | str = E4M3FN) -> str:
    """The class of a code: "zero", "subnormal", "normal", "inf" or "nan".

    >>> [classify(code) for code in (0x80, 0x07, 0x78, 0x7F)], classify(0x7C, E5M2)
    (['zero', 'subnormal', 'normal', 'nan'], 'inf')
    """
    fmt = get_format(fmt)
    return _meanings(fmt)[_integer(code, fmt)].kind


def exact(code: int, fmt: FloatFormat | str = E4M3FN) -> Fraction | None:
    """The value of a code as an exact fraction (both zeros are Fraction(0)); None for NaN and infinity.

    >>> exact(0x01), exact(0x07) / exact(0x08)
    (Fraction(1, 512), Fraction(7, 8))
    """
    fmt = get_format(fmt)
    return _meanings(fmt)[_integer(code, fmt)].exact


def value(code: int, fmt: FloatFormat | str = E4M3FN) -> float:
    """The value of a code as a Python float, which holds it exactly; the signs of -0 and of NaN are kept.

    >>> value(0x7E), value(0x80), value(0xFC, E5M2)
    (448.0, -0.0, -inf)
    """
    fmt = get_format(fmt)
    return _meanings(fmt)[_integer(code, fmt)].value


@cache
def _table(fmt: FloatFormat) -> torch.Tensor:
    return torch.tensor([meaning.value for meaning in _meanings(fmt)], dtype=torch.float32)


def decode_table(fmt: FloatFormat | str = E4M3FN) -> torch.Tensor:
    """The values of all codes, float32, shape [codes]: a fresh copy, yours to change.

    >>> decode_table()[0x78].item(), decode_table(E2M1FN).tolist()[:8]
    (256.0, [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    """
    return _table(get_format(fmt)).clone()


@cache
def _magnitudes(fmt: FloatFormat) -> tuple[Fraction, ...]:
    """The values of the finite codes without sign bit: ascending, and the position is the code."""
    return tuple(exact(code, fmt) for code in range(fmt.max_code + 1))


def neighbours(code: int, fmt: FloatFormat | str = E4M3FN) -> tuple[int | None, int | None]:
    """The codes of the next smaller and the next larger value; None where there is none. Infinities count as values.

    >>> neighbours(0x08), neighbours(0x7E), neighbours(0x7B, E5M2)
    ((7, 9), (125, None), (122, 124))

    The two zeros are one point of the line: each has (smallest negative, smallest positive) as neighbours, and is the
    neighbour of the values of its own sign. NaN has no place in the order: (None, None).
    """
    fmt = get_format(fmt)
    kind, code = classify(code, fmt), _integer(code, fmt)
    if kind == "nan":
        return None, None
    last = fmt.max_code + 1 if fmt.has_inf else fmt.max_code
    magnitude, negative = code & ~fmt.sign_mask, bool(code & fmt.sign_mask)
    if kind == "zero":
        return (fmt.sign_mask | 1 if fmt.signed else None), 1
    outer = code + 1 if magnitude < last else None
    inner = code - 1 if magnitude > 0 else None
    if negative and magnitude == 1 and not fmt.has_negative_zero:
        inner = 0
    return (outer, inner) if negative else (inner, outer)


def _real(x, fmt: FloatFormat) -> tuple[bool, Fraction]:
    """Sign bit and size of a finite real number."""
    if not isinstance(x, (int, Fraction)):
        x = float(x)
        if not math.isfinite(x):
            raise ValueError(f"x = {x} has no place on the line of finite {fmt.name} values: give a finite number")
        return math.copysign(1.0, x) < 0, abs(Fraction(x))
    return x < 0, abs(Fraction(x))


def bracket(x: float | int | Fraction, fmt: FloatFormat | str = E4M3FN) -> tuple[int | None, int | None]:
    """The finite codes on both sides of a real number: value(low) <= x <= value(high), as close as they can be.

    >>> bracket(17.0), bracket(16.0), bracket(449.0)
    ((88, 89), (88, 88), (126, None))

    A representable x is its own bracket; beyond the last finite value the outer side is None. Between the smallest
    negative value and zero the zero is -0 where the format has one. ValueError for NaN and infinity.
    """
    fmt = get_format(fmt)
    negative, size = _real(x, fmt)
    if negative and not fmt.signed:
        return (0, 0) if size == 0 and fmt.has_zero else (None, 0)
    magnitudes = _magnitudes(fmt)
    near = bisect_right(magnitudes, size) - 1
    far = bisect_left(magnitudes, size)
    low, high = (near if near >= 0 else None), (far if far < len(magnitudes) else None)
    if not negative:
        return low, high
    return _negated(high, fmt), _negated(low, fmt)


def _negated(code: int | None, fmt: FloatFormat) -> int | None:
    if code is None or (code == 0 and fmt.special == "fnuz"):
        return code
    return code | fmt.sign_mask


def ulp(x: float | int | Fraction, fmt: FloatFormat | str = E4M3FN) -> float:
    """The spacing of the format at x: 2^(e - mantissa bits) for 2^e <= |x| < 2^(e+1), at least that of the subnormals.

    >>> ulp(1.0), ulp(448.0), ulp(0.0) == 2**-9
    (0.125, 32.0, True)

    Beyond the largest value the spacing of its binade holds. ValueError for NaN and infinity.
    """
    fmt = get_format(fmt)
    _, size = _real(x, fmt)
    size = min(max(size, Fraction(fmt.min_normal)), Fraction(fmt.max_finite))
    exponent = size.numerator.bit_length() - size.denominator.bit_length()  # floor(log2(size)), or one more
    if Fraction(2) ** exponent > size:
        exponent -= 1
    return 2.0 ** (exponent - fmt.mantissa_bits)
