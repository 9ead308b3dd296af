"""The state of the rounding explorer as HTML: where x lies, every mode's answer, other libraries' answers."""

from __future__ import annotations

import html
from fractions import Fraction

from fp8lab import formats
from fp8lab.codec import ROUNDINGS
from fp8lab.explore import style
from fp8lab.explore.bits.data import decimal_text
from fp8lab.explore.rounding.data import RoundingData, rounding_data
from fp8lab.explore.rounding.figure import code_text, number_text
from fp8lab.explore.rounding.foreign import foreign_codes
from fp8lab.explore.widget import folded, table


def place(data: RoundingData, say: dict[str, str]) -> str:
    """Where x lies, as a sentence."""
    x = f"<b>{number_text(data.x)}</b>"
    if data.is_value:
        return say["is value"].format(x=x)
    if not 0 <= data.share <= 1:
        return say["beyond"].format(x=x, max=f"{data.fmt.max_finite:g}")
    middle = decimal_text(data.midpoint)
    if data.is_tie:
        where = say["tie"]
    elif abs(data.share - 0.5) < 0.0005:
        where = say["above" if data.exact > data.midpoint else "below"].format(middle=middle)
    else:
        where = say["on the way"].format(share=f"{data.share:.1%}", middle=middle)
    ends = {"low": decimal_text(data.low_value), "high": decimal_text(data.high_value)}
    return say["between"].format(x=x, place=where, **ends)


def every_mode(data: RoundingData, say: dict[str, str]) -> str:
    """A table: rounding mode, result, error. The mode that is set stands in bold."""
    rows = []
    for mode in ROUNDINGS:
        facts = rounding_data(data.x, data.fmt, mode, data.overflow)
        cells = [say[mode], _result(facts, say), _error(facts)]
        rows.append([f"<b>{cell}</b>" for cell in cells] if mode == data.rounding else cells)
    return folded(say["by mode"], table([say["rounding"], say["result"], say["error"]], rows), is_open=True)


def _result(data: RoundingData, say: dict[str, str]) -> str:
    if data.chosen is not None:
        return code_text(data.chosen, data)
    inner, outer = data.chances
    chance = f"{data.chances[outer]:.1%}"
    return say["by chance"].format(outer=code_text(outer, data), inner=code_text(inner, data), chance=chance)


def _error(data: RoundingData) -> str:
    if data.error is None:
        return "–"
    size = f"{float(data.error):+.4g}" if data.error else "0"
    relative = f" ({float(abs(data.error / data.exact)):.2%})" if data.error and data.exact else ""
    return f"{size}{relative}".replace("-", "−", 1)


def elsewhere(data: RoundingData, say: dict[str, str]) -> str:
    """What torch and ml_dtypes return, and where that is another number than the codec's at the same settings."""
    answers = foreign_codes(data.x, data.fmt)
    if not answers:
        return folded(say["elsewhere"], f"<i>{say['nobody']}</i>")
    ours = data.results["nearest_even"]
    rows = []
    for answer in answers:
        same = _same(answer.code, ours, data)
        note = "" if same else style.chip(say["differs"].format(ours=code_text(ours, data)), style.SUBNORMAL)
        rows.append([html.escape(answer.library), answer.source, code_text(answer.code, data), note])
    return folded(say["elsewhere"], table([say["library"], say["from"], say["result"], ""], rows), is_open=True)


def _same(one: int, two: int, data: RoundingData) -> bool:
    """Equal codes, or two codes of NaN: libraries choose different ones."""
    both_nan = {formats.classify(code, data.fmt) for code in (one, two)} == {"nan"}
    return one == two or both_nan


def tie_of(data: RoundingData) -> Fraction:
    """The tie that the buttons go to: the middle of this interval, or the one above where x is itself a value."""
    if not data.is_value:
        return data.midpoint
    above = formats.neighbours(data.low, data.fmt)[1]
    other = above if above is not None else formats.neighbours(data.low, data.fmt)[0]
    value = formats.exact(other, data.fmt)
    return data.midpoint if value is None else (data.low_value + value) / 2
