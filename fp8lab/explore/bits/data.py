"""Everything there is to know about one code of a format, as a record. No drawing, no widget.

>>> facts = bit_data(0x78)
>>> facts.pattern, facts.kind, facts.formula
('0 1111 000', 'normal', '(-1)^0 × 2^(15-7) × (1 + 0/8) = 256')
>>> facts.previous, facts.next, facts.gap_below, facts.gap_above
(119, 121, Fraction(16, 1), Fraction(32, 1))
>>> bit_data(0x03).formula
'(-1)^0 × 2^(1-7) × (0 + 3/8) = 0.005859375'
>>> bit_data(0x7F).reason
'every bit after the sign is 1'
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import torch

from fp8lab import formats
from fp8lab.codec import encode
from fp8lab.formats import FORMATS, FloatFormat, get_format

LONGEST_DECIMAL = 24  # characters of an exact decimal before it is shortened to ≈
COURSE_BYTE = 0x78  # the first lesson's question: 256 in E4M3FN, infinity to an IEEE habit
LARGEST_PLAIN = 1 << 40  # a numerator or denominator beyond this is written with powers of two


@dataclass(frozen=True)
class Bit:
    """One bit of a code: which field it belongs to, its place in the code, and what it adds to the field."""

    field: str  # "sign", "exponent", "mantissa"
    place: int  # 0 is the lowest bit of the code
    weight: int  # in its field: 8, 4, 2, 1
    value: int  # 0 or 1


@dataclass(frozen=True)
class BitData:
    """One code and what it stands for. `exact`, neighbours, gaps and `position` are None where there is no number."""

    fmt: FloatFormat
    code: int
    sign: int
    exponent: int
    mantissa: int
    kind: str  # "zero", "subnormal", "normal", "inf", "nan"
    value: float
    exact: Fraction | None
    implicit: int | None  # the bit before the mantissa that is not stored; None for inf and NaN
    previous: int | None  # the code of the next smaller value, and of the next larger one; an infinity counts
    next: int | None
    position: int | None  # place among the finite codes in value order, from 0
    positions: int  # how many finite codes there are

    @property
    def bits(self) -> tuple[Bit, ...]:
        """The bits of the code, highest first."""
        return tuple(_bit(self.fmt, self.code, place) for place in reversed(range(self.fmt.bits)))

    @property
    def pattern(self) -> str:
        """The bits with a space between fields: "0 1111 000"."""
        groups = {name: "" for name in ("sign", "exponent", "mantissa")}
        for bit in self.bits:
            groups[bit.field] += str(bit.value)
        return " ".join(group for group in groups.values() if group)

    @property
    def hex(self) -> str:
        return f"0x{self.code:0{(self.fmt.bits + 3) // 4}X}"

    @property
    def used_exponent(self) -> int:
        """The stored exponent that the rule uses: zero and subnormals use 1, as if they were the smallest normals."""
        return self.exponent if self.implicit else 1

    @property
    def gap_below(self) -> Fraction | None:
        """Distance to the previous value; None where there is none or it is infinite."""
        return _distance(self, self.previous)

    @property
    def gap_above(self) -> Fraction | None:
        """Distance to the next value; None where there is none or it is infinite."""
        return _distance(self, self.next)

    @property
    def ulp(self) -> Fraction | None:
        """The worth of the last mantissa bit at this exponent."""
        return None if self.exact is None else Fraction(formats.ulp(self.exact, self.fmt))

    @property
    def decimal(self) -> str:
        """The value in decimal: exact where that takes at most 24 characters, else ≈ and seven digits."""
        if self.exact is None:
            return {"nan": "NaN"}.get(self.kind, "-inf" if self.sign else "inf")
        return "-0" if self.kind == "zero" and self.sign else decimal_text(self.exact)

    @property
    def fraction(self) -> str:
        """The exact value as a fraction, with powers of two where a number gets long."""
        return self.decimal if self.exact is None or self.kind == "zero" else fraction_text(self.exact)

    @property
    def reason(self) -> str:
        """Why this code is no finite number; empty for a number."""
        if self.kind == "inf":
            return "the exponent is all ones and the mantissa is zero"
        if self.kind == "nan":
            return _NAN_REASON[self.fmt.special]
        return ""

    @property
    def formula(self) -> str:
        """The rule of the format with this code's numbers in it."""
        if self.implicit is None:
            return f"{self.decimal}: {self.reason}"
        factors = [f"(-1)^{self.sign}"] if self.fmt.signed else []
        factors.append(f"2^({self.used_exponent}-{self.fmt.bias})")
        if self.fmt.mantissa_bits:
            factors.append(f"({self.implicit} + {self.mantissa}/{1 << self.fmt.mantissa_bits})")
        return f"{' × '.join(factors)} {equals(self.decimal)}"


_NAN_REASON = {
    "ieee": "the exponent is all ones and the mantissa is not zero",
    "fn": "every bit after the sign is 1",
    "fnuz": "only the sign bit is 1, where -0 would be",
}


def bit_data(code: int, fmt: FloatFormat | str = "E4M3FN") -> BitData:
    """The record of `code` in `fmt` (a format or its name). ValueError for a code that the format does not have."""
    fmt = get_format(fmt)
    sign, exponent, mantissa = formats.fields(code, fmt)
    kind = formats.classify(code, fmt)
    finite = kind not in ("inf", "nan")
    order = value_order(fmt)
    previous, following = formats.neighbours(code, fmt)
    return BitData(
        fmt=fmt,
        code=int(code),
        sign=sign,
        exponent=exponent,
        mantissa=mantissa,
        kind=kind,
        value=formats.value(code, fmt),
        exact=formats.exact(code, fmt),
        implicit=(0 if kind in ("zero", "subnormal") else 1) if finite else None,
        previous=previous,
        next=following,
        position=order.index(code) if finite else None,
        positions=len(order),
    )


@cache
def value_order(fmt: FloatFormat) -> tuple[int, ...]:
    """The finite codes of `fmt` from the most negative value to the largest; -0 stands before +0."""
    finite = [code for code in range(fmt.codes) if formats.classify(code, fmt) not in ("inf", "nan")]
    return tuple(sorted(finite, key=lambda code: (formats.exact(code, fmt), not formats.fields(code, fmt).sign)))


def nearest_code(x: float, fmt: FloatFormat | str = "E4M3FN") -> int:
    """The code of the value nearest to the real number `x`, ties to even, saturating at both ends. NaN and infinity go
    to the format's own codes; ValueError where it has none, or has no such sign."""
    fmt = get_format(fmt)
    infinite = x in (float("inf"), float("-inf"))
    if infinite and not fmt.has_inf:
        raise ValueError(f"{fmt.name} has no code for infinity; its largest number is {fmt.max_finite:g}")
    if x != x and not fmt.has_nan:
        raise ValueError(f"{fmt.name} has no code for NaN")
    if x <= 0 and not fmt.signed:
        raise ValueError(f"{fmt.name} has only positive numbers, from {formats.value(0, fmt):g}")
    return int(encode(torch.tensor(x, dtype=torch.float64), fmt, overflow="inf" if infinite else "saturate"))


def siblings(fmt: FloatFormat) -> tuple[FloatFormat, ...]:
    """The registered formats with as many bits as `fmt`: the same byte can be read by each of them. Itself first, then
    those that split the byte in the same way."""
    others = [other for other in FORMATS.values() if other.bits == fmt.bits and other != fmt]
    return (fmt, *sorted(others, key=lambda other: abs(other.exponent_bits - fmt.exponent_bits)))


def format_label(fmt: FloatFormat) -> str:
    """The format's name for a menu; a bare "E4M3" would leave open which one."""
    return f"{fmt.name} (IEEE-like)" if fmt.special == "ieee" and fmt.name != "E5M2" else fmt.name


def presets(fmt: FloatFormat) -> tuple[tuple[str, int], ...]:
    """Codes worth a visit, as (English name, code)."""
    visits = [("max", fmt.max_code), ("min normal", nearest_code(fmt.min_normal, fmt))]
    if fmt.min_subnormal is not None:
        visits.append(("min subnormal", nearest_code(fmt.min_subnormal, fmt)))
    if fmt.has_inf:
        visits.append(("inf", fmt.inf_codes[0]))
    if fmt.has_nan:
        visits.append(("NaN", fmt.nan_code))
    if fmt.codes > COURSE_BYTE:
        visits.append((f"0x{COURSE_BYTE:02X}", COURSE_BYTE))
    return tuple(visits)


def alt_text(data: BitData) -> str:
    """The picture in words: what a screen reader says and what a plain terminal shows."""
    lines = [f"{data.hex} in {data.fmt.name}: bits {data.pattern}, class {data.kind}.", f"{data.formula}."]
    if data.exact is None:
        return " ".join(lines)
    lines.append(f"Exact value {data.fraction}." if data.fraction != data.decimal else "")
    for name, code, gap in (("Previous", data.previous, data.gap_below), ("Next", data.next, data.gap_above)):
        neighbour = "none" if code is None else beside(code, data.fmt, gap)
        lines.append(f"{name} code {neighbour}.")
    lines.append(f"ulp {power_text(data.ulp)}. Number {data.position + 1} of {data.positions} finite codes by value.")
    return " ".join(line for line in lines if line)


def beside(code: int, fmt: FloatFormat, gap: Fraction | None) -> str:
    """A neighbour in words: "0x77 = 240, 16 away"."""
    other = bit_data(code, fmt)
    return f"{other.hex} {equals(other.decimal)}" + ("" if gap is None else f", {decimal_text(gap)} away")


def decimal_text(exact: Fraction) -> str:
    """The decimal of a dyadic fraction: "0.001953125"; beyond 24 characters "≈ 5.877472e-39"."""
    with localcontext() as context:
        context.prec = 400  # every value of every registered format is exact in far fewer digits
        decimal = Decimal(exact.numerator) / Decimal(exact.denominator)
        text = format(decimal.normalize(), "f")
    return text if len(text) <= LONGEST_DECIMAL else f"≈ {decimal:.6e}".replace("E", "e")


def equals(decimal: str) -> str:
    """The decimal with its sign of equality, or of approximation: "= 256", "≈ 1.7e+38"."""
    return decimal if decimal.startswith("≈") else f"= {decimal}"


def fraction_text(exact: Fraction) -> str:
    """A dyadic fraction: "7/512", "448", and "3 × 2^-127" or "2^100" where plain digits would be long."""
    if exact.denominator <= LARGEST_PLAIN and abs(exact.numerator) <= LARGEST_PLAIN:
        return str(exact)
    odd = exact.numerator // (exact.numerator & -exact.numerator)
    power = (exact / odd).numerator.bit_length() - (exact / odd).denominator.bit_length()
    return f"2^{power}" if odd == 1 else f"{odd} × 2^{power}".replace("-1 × ", "-")


def power_text(exact: Fraction) -> str:
    """A power of two as such: "2^-6"; anything else as `fraction_text`."""
    power = exact.numerator.bit_length() - exact.denominator.bit_length()
    if exact == Fraction(2) ** power:
        return f"2^{power}"
    return fraction_text(exact)


def _bit(fmt: FloatFormat, code: int, place: int) -> Bit:
    value = code >> place & 1
    if place < fmt.mantissa_bits:
        return Bit("mantissa", place, 1 << place, value)
    if place < fmt.mantissa_bits + fmt.exponent_bits:
        return Bit("exponent", place, 1 << (place - fmt.mantissa_bits), value)
    return Bit("sign", place, 1, value)


def _distance(data: BitData, neighbour: int | None) -> Fraction | None:
    other = None if neighbour is None else formats.exact(neighbour, data.fmt)
    return None if other is None or data.exact is None else abs(data.exact - other)
