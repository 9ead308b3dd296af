"""All finite codes of a format on a log axis that has a place for zero: the line that several pictures share."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import log2

from matplotlib.axes import Axes

from fp8lab import formats
from fp8lab.explore import style
from fp8lab.explore.bits.data import value_order
from fp8lab.formats import FloatFormat

ZERO_SHARE = 0.08  # a log axis has no place for zero: it stands this share of all octaves away from the smallest value
STROKES = {  # class -> height, line width, colour
    "normal": (0.62, 0.7, style.INK),
    "subnormal": (0.62, 1.2, style.SUBNORMAL),
    "zero": (0.8, 0.7, style.MUTED),
}


def line_position(exact: Fraction, fmt: FloatFormat) -> float:
    """Where a value stands on the log line: octaves above the smallest magnitude, mirrored for negative numbers."""
    if not exact:
        return 0.0
    away = log2(abs(exact)) - log2(_smallest(fmt)) + _zero_width(fmt)
    return away if exact > 0 else -away


def _smallest(fmt: FloatFormat) -> float:
    return fmt.min_subnormal or fmt.min_normal


def _zero_width(fmt: FloatFormat) -> float:
    return max(1.5, ZERO_SHARE * log2(fmt.max_finite / _smallest(fmt)))


@cache
def _strokes(fmt: FloatFormat) -> dict[str, tuple[float, ...]]:
    """Class -> places on the line."""
    found: dict[str, list[float]] = {"normal": [], "subnormal": [], "zero": []}
    for code in value_order(fmt):
        found[formats.classify(code, fmt)].append(line_position(formats.exact(code, fmt), fmt))
    return {kind: tuple(places) for kind, places in found.items()}


def draw_codes(axes: Axes, fmt: FloatFormat) -> None:
    """All finite codes as strokes on a log axis, with labels; room above it for a marker."""
    strokes = _strokes(fmt)
    for kind, (height, width, colour) in STROKES.items():
        xs = [x for place in strokes[kind] for x in (place, place, None)]
        ys = [y for _ in strokes[kind] for y in (0, height, None)]
        axes.plot(xs, ys, color=colour, linewidth=width, solid_capstyle="butt", clip_on=False)
    low, high = min(strokes["normal"]), max(strokes["normal"])
    margin = (high - low) * 0.012
    axes.set(xlim=(low - margin, high + margin), ylim=(0, 1.9), yticks=[])
    axes.spines["left"].set_visible(False)
    ticks = _line_ticks(fmt)
    axes.set_xticks([line_position(value, fmt) for value in ticks], [_tick_label(value) for value in ticks], size=8.5)
    axes.tick_params(length=3)


def draw_marker(axes: Axes, place: float, label: str) -> None:
    """A marker above a place of the line, its label kept inside the axes."""
    axes.plot([place, place], [0, 0.95], color=style.ACCENT, linewidth=2.2, clip_on=False)
    axes.plot([place], [1.1], marker="v", color=style.ACCENT, markersize=9, clip_on=False)
    low, high = axes.get_xlim()
    share = (place - low) / (high - low)
    side = "left" if share < 0.16 else "right" if share > 0.84 else "center"
    axes.text(place, 1.42, label, ha=side, va="bottom", color=style.ACCENT, weight="bold", size=10, clip_on=False)


def _line_ticks(fmt: FloatFormat) -> list[Fraction]:
    """Smallest, one, largest; where subnormals end; powers of two between them, so that labels do not collide."""
    largest = Fraction(fmt.max_finite)
    bottom, top = round(log2(_smallest(fmt))), int(log2(largest))
    octaves = top - bottom + _zero_width(fmt)
    step = max(1, round(octaves * (2 if fmt.signed else 1) / 14))
    inner = [power for power in range(bottom // step * step, top, step) if bottom + step / 2 < power < top - step / 2]
    positive = [Fraction(2) ** bottom, *(Fraction(2) ** power for power in inner), largest]
    if not fmt.signed:
        return positive
    return [-value for value in reversed(positive)] + [Fraction(0)] + positive


def _tick_label(value: Fraction) -> str:
    if not value or Fraction(1, 2) <= abs(value) < 1000:
        return f"{float(value):g}".replace("-", "−")
    if abs(value) == Fraction(2) ** _log(value):
        return f"${'-' if value < 0 else ''}2^{{{_log(value)}}}$"
    return f"{float(value):,.0f}".replace("-", "−")


def _log(value: Fraction) -> int:
    return abs(value.numerator).bit_length() - value.denominator.bit_length()
