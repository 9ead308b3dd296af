"""The record that describes a small binary float format: five fields, from which the rest follows.

    >>> e4m3fn = FloatFormat("E4M3FN", exponent_bits=4, mantissa_bits=3, bias=7, signed=True, special="fn")
    >>> hex(e4m3fn.max_code), e4m3fn.max_finite, [hex(code) for code in e4m3fn.nan_codes]
    ('0x7e', 448.0, ['0x7f', '0xff'])

The *special rule* says what the codes at the end of the range mean:

    ieee   exponent all ones: infinity when the mantissa is 0, else NaN            E5M2, E4M3, E3M4
    fn     exponent and mantissa all ones: NaN; no infinity                        E4M3FN, E8M0FNU
    fnuz   the code of -0 is the only NaN; no infinity, no -0                      E4M3FNUZ, E5M2FNUZ
    none   every code is a finite number                                           E2M1FN, E2M3FN, E3M2FN

A format without mantissa bits (E8M0FNU) has neither subnormals nor a zero: its exponent field 0 is the power 2^-bias.
The registered formats and what their codes mean are in `fp8lab.formats`.
"""

from __future__ import annotations

from dataclasses import dataclass

SPECIALS = ("ieee", "fn", "fnuz", "none")


@dataclass(frozen=True)
class FloatFormat:
    """A binary float format of at most 8 bits.

    Derived, among others: `bits`, `codes` (how many there are, 2^bits), the three masks, `max_finite`, `max_code`,
    `min_normal`, `min_subnormal` (None without mantissa bits), `nan_codes`, `inf_codes`, `has_zero`,
    `has_negative_zero`. A format of your own works everywhere that a registered one does.

    >>> FloatFormat("E3M3", 3, 3, bias=3, signed=True, special="none").max_finite
    30.0

    Raises ValueError when the fields do not make a format: no exponent bits, more than 8 bits, a negative bias, an
    unknown special rule, "fnuz" without a sign bit, or values that float32 cannot hold exactly.
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
                f"{self.name}: {self.exponent_bits} exponent and {self.mantissa_bits} mantissa bits,"
                f" signed={self.signed}; a format has at least 1 exponent bit and at most 8 bits with the sign"
            )
        if self.special not in SPECIALS:
            raise ValueError(f"{self.name}: special={self.special!r} is not one of {', '.join(SPECIALS)}")
        if self.special == "fnuz" and not self.signed:
            raise ValueError(f"{self.name}: the fnuz rule puts NaN at the code of -0 and so needs signed=True")
        largest, smallest = (self.max_code >> self.mantissa_bits) - self.bias, self.min_exponent - self.mantissa_bits
        if self.bias < 0 or largest > 127 or smallest < -149:
            raise ValueError(
                f"{self.name}: bias {self.bias} gives values from 2^{smallest} to 2^{largest} and more:"
                " need a bias of at least 0 and values within float32, 2^-149 to 2^127"
            )

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

    @property
    def nan_codes(self) -> tuple[int, ...]:
        top = self.exponent_mask | self.mantissa_mask
        if self.special == "fnuz":
            return (self.sign_mask,)
        first = {"ieee": self.exponent_mask + 1, "fn": top, "none": top + 1}[self.special]
        return self._both_signs(range(first, top + 1))

    @property
    def inf_codes(self) -> tuple[int, ...]:
        return self._both_signs([self.exponent_mask] if self.has_inf else [])

    def _both_signs(self, magnitudes) -> tuple[int, ...]:
        signs = (0, self.sign_mask) if self.signed else (0,)
        return tuple(sign | magnitude for sign in signs for magnitude in magnitudes)

    @property
    def nan_code(self) -> int | None:
        """The code that `encode` writes for a positive NaN (all ones; fnuz: 0x80); None without NaN."""
        if self.special == "none":
            return None
        return self.sign_mask if self.special == "fnuz" else self.exponent_mask | self.mantissa_mask

    @property
    def max_code(self) -> int:
        """The code of the largest finite value."""
        top = self.exponent_mask | self.mantissa_mask
        return {"ieee": self.exponent_mask - 1, "fn": top - 1, "fnuz": top, "none": top}[self.special]

    @property
    def max_finite(self) -> float:
        exponent, mantissa = self.max_code >> self.mantissa_bits, self.max_code & self.mantissa_mask
        return (1 + mantissa / (1 << self.mantissa_bits)) * 2.0 ** (exponent - self.bias)

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
