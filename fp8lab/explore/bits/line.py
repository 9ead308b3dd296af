"""The number line of a format: all finite codes on a log axis, and the neighbourhood of one of them enlarged below."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import log2

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from fp8lab import formats
from fp8lab.explore import style
from fp8lab.explore.bits.data import BitData, beside, bit_data, decimal_text, power_text, value_order
from fp8lab.formats import FloatFormat

ZERO_SHARE = 0.08  # a log axis has no place for zero: it stands this share of all octaves away from the smallest value
SHORT = 10  # characters of a value before it is rounded for a label
STROKES = {  # class -> height, line width, colour
    "normal": (0.62, 0.7, style.INK),
    "subnormal": (0.62, 1.2, style.SUBNORMAL),
    "zero": (0.8, 0.7, style.MUTED),
}


def draw_lines(figure: Figure, data: BitData, bottom: float, height: float) -> None:
    line = figure.add_axes((0.03, bottom + height * 0.62, 0.94, height * 0.38))
    zoom = figure.add_axes((0.08, bottom, 0.84, height * 0.40))
    draw_line(line, data)
    draw_neighbourhood(zoom, data)
    if data.exact is not None:
        _connect(line, zoom, data)


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


def draw_line(axes: Axes, data: BitData) -> None:
    """All finite codes as strokes on a log line, the current one under a marker."""
    fmt = data.fmt
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
    if data.exact is None:
        text = "an infinity lies beyond the line" if data.kind == "inf" else "NaN has no place on the line"
        colour = style.KIND_COLOURS[data.kind]
        axes.text(0.5, 0.86, text, transform=axes.transAxes, ha="center", va="center", color=colour)
        return
    x = line_position(data.exact, fmt)
    axes.plot([x, x], [0, 0.95], color=style.ACCENT, linewidth=2.2, clip_on=False)
    axes.plot([x], [1.1], marker="v", color=style.ACCENT, markersize=9, clip_on=False)
    side = "left" if x < low + (high - low) * 0.16 else "right" if x > high - (high - low) * 0.16 else "center"
    label = f"{data.decimal}   ({data.position + 1} of {data.positions})"
    axes.text(x, 1.42, label, ha=side, va="bottom", color=style.ACCENT, weight="bold", size=10, clip_on=False)


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


def draw_neighbourhood(axes: Axes, data: BitData) -> None:
    """The current code between its neighbours on a linear line: two steps to either side, the gaps written out."""
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.set(yticks=[], xticks=[], ylim=(-1.1, 1.6))
    if data.exact is None:
        return
    count = 2 if data.fmt.mantissa_bits else 1  # without a mantissa every step doubles: two would crowd the small side
    near = [*reversed(_steps(data, 0, count)), data.code, *_steps(data, 1, count)]
    values = {code: formats.exact(code, data.fmt) for code in near}
    span = max(abs(value - data.exact) for value in values.values())
    places = {code: float((value - data.exact) / span) for code, value in values.items()}
    axes.set(xlim=(-1.12, 1.12))
    axes.plot([-1.12, 1.12], [0, 0], color=style.INK, linewidth=0.9)
    for code, place in places.items():
        _draw_neighbour(axes, bit_data(code, data.fmt), place, current=code == data.code)
    for code, gap in ((data.previous, data.gap_below), (data.next, data.gap_above)):
        if gap is not None:
            _draw_gap(axes, places[code], gap)
    for side, code in ((-1, data.previous), (1, data.next)):
        if code is None or formats.exact(code, data.fmt) is None:
            end = "no value beyond" if code is None else beside(code, data.fmt, None)
            towards = "left" if side < 0 else "right"
            axes.text(side * 1.1, 0.12, end, ha=towards, va="bottom", size=8.5, alpha=style.QUIET)


def _steps(data: BitData, side: int, count: int) -> list[int]:
    """Up to `count` finite codes beside the current one: side 0 goes down, side 1 goes up."""
    found, code = [], data.code
    for _ in range(count):
        code = formats.neighbours(code, data.fmt)[side]
        if code is None or formats.exact(code, data.fmt) is None:
            break
        found.append(code)
    return found


def _draw_neighbour(axes: Axes, data: BitData, place: float, current: bool) -> None:
    colour = style.ACCENT if current else style.SUBNORMAL if data.kind == "subnormal" else style.INK
    axes.plot([place, place], [-0.16, 0.16], color=colour, linewidth=2.4 if current else 1.2)
    weight, size = ("bold", 10) if current else ("normal", 9)
    number = data.decimal if len(data.decimal) <= SHORT else f"{data.value:.5g}"
    if not data.fmt.mantissa_bits:
        number = _as_math(power_text(data.exact))
    if data.kind == "zero" and data.fmt.has_negative_zero:
        number = "−0, 0"  # they share one place
    axes.text(place, -0.32, number, ha="center", va="top", color=colour, weight=weight, size=size)
    axes.text(place, -0.78, data.hex, ha="center", va="top", size=8, alpha=style.QUIET)


def _draw_gap(axes: Axes, place: float, gap: Fraction) -> None:
    arrow = {"arrowstyle": "<->", "color": style.MUTED, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (place, 0.42), (0, 0.42), arrowprops=arrow)
    text = decimal_text(gap) if len(decimal_text(gap)) <= 8 else power_text(gap)
    axes.text(place / 2, 0.5, _as_math(text), ha="center", va="bottom", color=style.INK, size=9)


def _as_math(text: str) -> str:
    """A power such as 2^-9 as matplotlib mathematics."""
    return f"${text.replace('^', '^{')}}}$" if "^" in text else text


def _connect(line: Axes, zoom: Axes, data: BitData) -> None:
    """Two thin lines from the marker to the ends of the enlarged part."""
    x = line_position(data.exact, data.fmt)
    for end in (-1.12, 1.12):
        patch = ConnectionPatch((x, -0.62), (end, 0.95), "data", "data", axesA=line, axesB=zoom)
        patch.set_annotation_clip(False)  # its upper end lies below the line's labels
        patch.set(color=style.ACCENT, linewidth=0.7, alpha=0.45)
        line.figure.add_artist(patch)
