"""The number line of a format: all finite codes on a log axis, and the neighbourhood of one of them enlarged below."""

from __future__ import annotations

from fractions import Fraction

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from fp8lab import formats
from fp8lab.explore import style
from fp8lab.explore.bits.data import BitData, beside, bit_data, decimal_text, power_text
from fp8lab.explore.number_line import draw_codes, draw_marker, line_position

SHORT = 10  # characters of a value before it is rounded for a label


def draw_lines(figure: Figure, data: BitData, bottom: float, height: float) -> None:
    line = figure.add_axes((0.03, bottom + height * 0.62, 0.94, height * 0.38))
    zoom = figure.add_axes((0.08, bottom, 0.84, height * 0.40))
    draw_line(line, data)
    draw_neighbourhood(zoom, data)
    if data.exact is not None:
        _connect(line, zoom, data)


def draw_line(axes: Axes, data: BitData) -> None:
    """All finite codes on a log line, the current one under a marker."""
    draw_codes(axes, data.fmt)
    if data.exact is None:
        text = "an infinity lies beyond the line" if data.kind == "inf" else "NaN has no place on the line"
        colour = style.KIND_COLOURS[data.kind]
        axes.text(0.5, 0.86, text, transform=axes.transAxes, ha="center", va="center", color=colour)
        return
    label = f"{data.decimal}   ({data.position + 1} of {data.positions})"
    draw_marker(axes, line_position(data.exact, data.fmt), label)


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
