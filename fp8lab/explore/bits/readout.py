"""The state of the bit explorer as HTML: formula, facts, and the same byte read by other formats. Pure functions."""

from __future__ import annotations

import re
from fractions import Fraction

from fp8lab.explore import style
from fp8lab.explore.bits.data import BitData, bit_data, decimal_text, equals, format_label, power_text, siblings
from fp8lab.explore.widget import folded, table
from fp8lab.formats import FloatFormat

DOT = " &nbsp;·&nbsp; "


def formula(data: BitData, say: dict[str, str]) -> str:
    """The rule with this code's numbers, each on the colour of its field, and the class."""
    badge = f"<span class='fp8-class'>{kind_chip(data, say)}</span>"
    if data.exact is None:
        reason = say["is inf" if data.kind == "inf" else f"{data.fmt.special} nan"]
        return f"<div class='fp8-formula'><b>{data.decimal}</b>{badge} <small>{reason}</small></div>"
    factors = [f"(−1)<sup>{style.chip(str(data.sign), style.SIGN)}</sup>"] if data.fmt.signed else []
    factors.append(f"2<sup>{style.chip(str(data.used_exponent), style.EXPONENT)}−{data.fmt.bias}</sup>")
    if data.fmt.mantissa_bits:
        implicit, mantissa = style.chip(str(data.implicit), style.MUTED), style.chip(str(data.mantissa), style.MANTISSA)
        factors.append(f"({implicit} + {mantissa}/{1 << data.fmt.mantissa_bits})")
    return f"<div class='fp8-formula'>{' × '.join(factors)} <b>{equals(data.decimal)}</b>{badge}</div>"


def facts(data: BitData, say: dict[str, str]) -> str:
    """Exact value, ulp, place in the order, and both neighbours."""
    if data.exact is None:
        return ""
    first = [
        f"{say['exact']} <b>{raised(data.fraction)}</b>",
        f"{say['ulp']} <b>{raised(power_text(data.ulp))}</b>",
        say["place"].format(n=data.position + 1, all=data.positions),
    ]
    second = [
        f"{say['before']} {neighbour(data.previous, data.fmt, data.gap_below, say)}",
        f"{say['after']} {neighbour(data.next, data.fmt, data.gap_above, say)}",
    ]
    return f"<div class='fp8-facts'>{DOT.join(first)}<br>{DOT.join(second)}</div>"


def neighbour(code: int | None, fmt: FloatFormat, gap: Fraction | None, say: dict[str, str]) -> str:
    if code is None:
        return f"<i>{say['none']}</i>"
    other = bit_data(code, fmt)
    text = f"<span class='fp8-mono'>{other.hex}</span> {equals(other.decimal)}"
    return text if gap is None else f"{text} ({say['gap']} {decimal_text(gap)})"


def same_byte(data: BitData, say: dict[str, str]) -> str:
    """What the same byte means in every other format of as many bits, as a table."""
    readings = [bit_data(data.code, fmt) for fmt in siblings(data.fmt)]
    if len(readings) == 1:
        return ""
    rows = [
        [
            format_label(other.fmt),
            f"<span class='fp8-mono'>{other.pattern}</span>",
            other.decimal,
            kind_chip(other, say),
        ]
        for other in readings
    ]
    head = [say["format"], say["bits"], say["value"], say["class"]]
    return folded(f"{data.hex}: {say['same byte']}", table(head, rows, first_is_current=True), is_open=True)


def kind_chip(data: BitData, say: dict[str, str]) -> str:
    return style.chip(say[data.kind], style.KIND_COLOURS[data.kind])


def label(text: str, colour: str) -> str:
    """The name above a field's buttons; nothing for an empty text."""
    return f"<span class='fp8-label'>{style.chip(text, colour)}</span>" if text else ""


def raised(text: str) -> str:
    """A power such as 2^-9 with its exponent raised."""
    return re.sub(r"\^(-?\d+)", r"<sup>\1</sup>", text).replace("<sup>-", "<sup>−")
