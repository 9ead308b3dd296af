"""A small float format is one frozen record of five fields; everything else is derived from them.

    >>> E4M3FN.max_finite, hex(E4M3FN.max_code), E4M3FN.min_normal == 2**-6
    (448.0, '0x7e', True)
    >>> value(0x78), classify(0x7F), fields(0x78)
    (256.0, 'nan', Fields(sign=0, exponent=15, mantissa=0))

The five fields are exponent bits, mantissa bits, bias, signed, and the *special rule*, which says what the codes at the
end of the range mean:

    ieee   exponent all ones: infinity when the mantissa is 0, else NaN            E5M2, E4M3, E3M4
    fn     exponent and mantissa all ones: NaN; no infinity                        E4M3FN, E8M0FNU
    fnuz   the code of -0 is the only NaN; no infinity, no -0                      E4M3FNUZ, E5M2FNUZ
    none   every code is a finite number                                           E2M1FN, E2M3FN, E3M2FN

A format without mantissa bits (E8M0FNU) has neither subnormals nor a zero: its exponent field 0 is the power 2^-bias.

Sources: OCP 8-bit Floating Point Specification (OFP8) v1.0, tables 1 and 2; OCP Microscaling Formats (MX) v1.0,
section 5.3 (element types) and 5.4 (E8M0); the fnuz formats as in Noune et al., arXiv:2206.02915. "e4m3" alone is ambiguous: in torch
and CUDA it means E4M3FN (largest value 448); `E4M3` here is the IEEE-like one (largest value 240), as in ml_dtypes.

Left out: formats wider than 8 bits, packed storage (a 4-bit code takes a byte of its own here), block formats (a group
of codes with a shared scale: see `fp8lab.quantize`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import NamedTuple

import torch

SPECIALS = ("ieee", "fn", "fnuz", "none")


class Fields(NamedTuple):
    """The bit fields of a code, as unsigned integers (the exponent as stored, bias not subtracted)."""

    sign: int
    exponent: int
    mantissa: int


@dataclass(frozen=True)
class FloatFormat:
    """A binary float format of at most 8 bits.

    Derived, among others: `bits`, `codes` (how many there are, 2^bits), the three masks, `max_finite`, `max_code`,
    `min_normal`, `min_subnormal` (None without mantissa bits), `nan_codes`, `inf_codes`, `has_zero`,
    `has_negative_zero`.

    >>> FloatFormat("E3M3", 3, 3, bias=3, signed=True, special="none").max_finite
    30.0

    Raises ValueError when the fields do not make a format: no exponent bits, more than 8 bits, bias below 1, an unknown
    special rule, "fnuz" without a sign bit, or values that float32 cannot hold exactly.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    signed: bool
    special: str

    def __post_init__(self) -> None:
        if self.exponent_bits < 1 or self.mantissa_bits < 0 or self.bits > 8:
            raise ValueError(
                f"{self.name}: {self.exponent_bits} exponent and {self.mantissa_bits} mantissa bits, signed={self.signed}: "
                "need at least 1 exponent bit, no negative count, and at most 8 bits with the sign"
            )
        if self.special not in SPECIALS:
            raise ValueError(f"{self.name}: special={self.special!r} is not one of {', '.join(SPECIALS)}")
        if self.special == "fnuz" and not self.signed:
            raise ValueError(f"{self.name}: the fnuz rule puts NaN at the code of -0 and so needs signed=True")
        top_exponent = (1 << self.exponent_bits) - 1 - self.bias
        if self.bias < 1 or self.bias > 127 or top_exponent > 128:
            raise ValueError(f"{self.name}: bias {self.bias} makes values that float32 cannot hold (need 1 <= bias <= 127)")

    # ---- the shape of a code

    @property
    def bits(self) -> int:
        return self.exponent_bits + self.mantissa_bits + (1 if self.signed else 0)

    @property
    def codes(self) -> int:
        """How many codes there are: 2^bits."""
        return 1 << self.bits

    @property
    def sign_mask(self) -> int:
        return 1 << (self.exponent_bits + self.mantissa_bits) if self.signed else 0

    @property
    def exponent_mask(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    @property
    def mantissa_mask(self) -> int:
        return (1 << self.mantissa_bits) - 1

    # ---- what the codes mean

    @property
    def has_zero(self) -> bool:
        return self.mantissa_bits > 0

    @property
    def has_negative_zero(self) -> bool:
        return self.signed and self.has_zero and self.special != "fnuz"

    @property
    def has_inf(self) -> bool:
        return self.special == "ieee"

    @property
    def has_nan(self) -> bool:
        return bool(self.nan_codes)

    @cached_property
    def nan_codes(self) -> tuple[int, ...]:
        return tuple(code for code in range(self.codes) if classify(code, self) == "nan")

    @cached_property
    def inf_codes(self) -> tuple[int, ...]:
        return tuple(code for code in range(self.codes) if classify(code, self) == "inf")

    @cached_property
    def nan_code(self) -> int | None:
        """The code that `encode` writes for a positive NaN (all ones; fnuz: 0x80); None without NaN."""
        if not self.nan_codes:
            return None
        return self.sign_mask if self.special == "fnuz" else self.exponent_mask | self.mantissa_mask

    @cached_property
    def max_code(self) -> int:
        """The code of the largest finite value."""
        top = self.exponent_mask | self.mantissa_mask
        return {"ieee": self.exponent_mask - 1, "fn": top - 1, "fnuz": top, "none": top}[self.special]

    @cached_property
    def max_finite(self) -> float:
        return value(self.max_code, self)

    @property
    def min_exponent(self) -> int:
        """The exponent of the smallest normal value: 1 - bias (-bias without mantissa bits)."""
        return 1 - self.bias if self.has_zero else -self.bias

    @property
    def min_normal(self) -> float:
        return 2.0**self.min_exponent

    @property
    def min_subnormal(self) -> float | None:
        return 2.0 ** (self.min_exponent - self.mantissa_bits) if self.has_zero else None

    def __str__(self) -> str:
        return self.name


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
    fmt.name: fmt
    for fmt in (E4M3FN, E5M2, E4M3FNUZ, E5M2FNUZ, E3M2FN, E2M3FN, E2M1FN, E8M0FNU, E4M3, E3M4)
}


def get_format(fmt: str | FloatFormat) -> FloatFormat:
    """The format of that name (upper or lower case); a FloatFormat is returned as it is.

    >>> get_format("e5m2") is E5M2
    True

    ValueError for an unknown name, TypeError for anything else.
    """
    if isinstance(fmt, FloatFormat):
        return fmt
    if not isinstance(fmt, str):
        raise TypeError(f"format {fmt!r} is a {type(fmt).__name__}: give a name ({', '.join(FORMATS)}) or a FloatFormat")
    if fmt.upper() not in FORMATS:
        raise ValueError(f"unknown format {fmt!r}: known are {', '.join(FORMATS)}")
    return FORMATS[fmt.upper()]


def _check_code(code: int, fmt: FloatFormat) -> None:
    if isinstance(code, bool) or not hasattr(code, "__index__"):
        raise TypeError(f"code {code!r} is a {type(code).__name__}: a code is an integer 0..{fmt.codes - 1}")
    if not 0 <= code < fmt.codes:
        raise ValueError(f"code {code} is outside 0..{fmt.codes - 1}, the codes of {fmt.name}")


def fields(code: int, fmt: FloatFormat | str = E4M3FN) -> Fields:
    """Sign, exponent and mantissa of a code.

    >>> fields(0xF8)
    Fields(sign=1, exponent=15, mantissa=0)

    ValueError outside the codes of the format, TypeError for what is not an integer (bool included).
    """
    fmt = get_format(fmt)
    _check_code(code, fmt)
    code = int(code)
    return Fields(
        sign=int(bool(code & fmt.sign_mask)),
        exponent=(code & fmt.exponent_mask) >> fmt.mantissa_bits,
        mantissa=code & fmt.mantissa_mask,
    )


def classify(code: int, fmt: FloatFormat | str = E4M3FN) -> str:
    """"zero", "subnormal", "normal", "inf" or "nan".

    >>> [classify(code) for code in (0x80, 0x07, 0x78, 0x7F)], classify(0x7C, E5M2)
    (['zero', 'subnormal', 'normal', 'nan'], 'inf')
    """
    fmt = get_format(fmt)
    sign, exponent, mantissa = fields(code, fmt)
    top = exponent == fmt.exponent_mask >> fmt.mantissa_bits
    if fmt.special == "ieee" and top:
        return "nan" if mantissa else "inf"
    if fmt.special == "fn" and top and mantissa == fmt.mantissa_mask:
        return "nan"
    if fmt.special == "fnuz" and sign and not exponent and not mantissa:
        return "nan"
    if exponent or not fmt.has_zero:
        return "normal"
    return "subnormal" if mantissa else "zero"


def exact(code: int, fmt: FloatFormat | str = E4M3FN) -> Fraction | None:
    """The value of a code as an exact fraction (both zeros are Fraction(0)); None for NaN and infinity.

    >>> exact(0x01), exact(0x07) / exact(0x08)
    (Fraction(1, 512), Fraction(7, 8))
    """
    fmt = get_format(fmt)
    kind = classify(code, fmt)
    if kind in ("nan", "inf"):
        return None
    sign, exponent, mantissa = fields(code, fmt)
    implicit = 0 if kind in ("subnormal", "zero") else 1
    power = fmt.min_exponent if not implicit else exponent - fmt.bias
    significand = implicit + Fraction(mantissa, 1 << fmt.mantissa_bits)
    return (-1) ** sign * significand * Fraction(2) ** power


def value(code: int, fmt: FloatFormat | str = E4M3FN) -> float:
    """The value of a code as a Python float, which holds it exactly; the sign of -0 is kept.

    >>> value(0x7E), value(0x80), value(0xFC, E5M2)
    (448.0, -0.0, -inf)
    """
    fmt = get_format(fmt)
    kind = classify(code, fmt)
    sign = -1.0 if fields(code, fmt).sign else 1.0
    if kind == "nan":
        return math.nan
    if kind == "inf":
        return sign * math.inf
    return math.copysign(float(exact(code, fmt)), sign)


@cache
def _table(fmt: FloatFormat) -> torch.Tensor:
    return torch.tensor([value(code, fmt) for code in range(fmt.codes)], dtype=torch.float32)


def decode_table(fmt: FloatFormat | str = E4M3FN) -> torch.Tensor:
    """The values of all codes, float32, shape [codes]: a fresh copy, yours to change.

    >>> decode_table()[0x78].item(), decode_table(E2M1FN).tolist()[:8]
    (256.0, [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    """
    return _table(get_format(fmt)).clone()


@cache
def _magnitudes(fmt: FloatFormat) -> tuple[tuple[Fraction, int], ...]:
    """(value, code) of every finite code without sign bit, ascending."""
    return tuple((exact(code, fmt), code) for code in range(fmt.max_code + 1))


def neighbours(code: int, fmt: FloatFormat | str = E4M3FN) -> tuple[int | None, int | None]:
    """The codes of the next smaller and the next larger value; None where there is none. Infinities count as values.

    >>> neighbours(0x08), neighbours(0x7E), neighbours(0x7B, E5M2)
    ((7, 9), (125, None), (122, 124))

    The two zeros are one point of the line: each has (smallest negative, smallest positive) as neighbours, and is the
    neighbour of the values of its own sign. NaN has no place in the order: (None, None).
    """
    fmt = get_format(fmt)
    kind = classify(code, fmt)
    code = int(code)
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


def bracket(x: float | int | Fraction, fmt: FloatFormat | str = E4M3FN) -> tuple[int | None, int | None]:
    """The finite codes on both sides of a real number: value(low) <= x <= value(high), as close as they can be.

    >>> bracket(17.0), bracket(16.0), bracket(449.0)
    ((88, 89), (88, 88), (126, None))

    A representable x is its own bracket; beyond the last finite value the outer side is None. Between the smallest
    negative value and zero the zero is -0 where the format has one. ValueError for NaN and infinity.
    """
    fmt = get_format(fmt)
    if isinstance(x, float) and not math.isfinite(x):
        raise ValueError(f"x = {x} lies between no two finite values of {fmt.name}: give a finite number")
    negative = math.copysign(1.0, x) < 0 if isinstance(x, float) else x < 0
    if negative and not fmt.signed:
        return None, None if x == 0 else 0
    size, table = abs(Fraction(x)), _magnitudes(fmt)
    below = [code for number, code in table if number <= size]
    above = [code for number, code in table if number >= size]
    near, far = (below[-1] if below else None), (above[0] if above else None)
    if not negative:
        return near, far
    near, far = (None if code is None else _negate(code, fmt) for code in (near, far))
    return far, near


def _negate(code: int, fmt: FloatFormat) -> int:
    return code | fmt.sign_mask if code or fmt.has_negative_zero else code


def ulp(x: float | int | Fraction, fmt: FloatFormat | str = E4M3FN) -> float:
    """The spacing of the format at x: 2^(e - mantissa bits), where 2^e <= |x| < 2^(e+1), not below the subnormals' spacing.

    >>> ulp(1.0), ulp(448.0), ulp(0.0) == 2**-9
    (0.125, 32.0, True)

    Beyond the largest value the spacing of its binade holds. ValueError for NaN and infinity.
    """
    fmt = get_format(fmt)
    if not math.isfinite(x):
        raise ValueError(f"x = {x}: the spacing of {fmt.name} is defined for finite numbers")
    size = min(abs(Fraction(x)), Fraction(fmt.max_finite))
    exponent = fmt.min_exponent
    if size > 0:
        exponent = max(exponent, math.frexp(float(size))[1] - 1)
        if Fraction(2) ** exponent > size > Fraction(2) ** fmt.min_exponent:  # float(size) was rounded up to a power of two
            exponent -= 1
    return 2.0 ** (exponent - fmt.mantissa_bits)
