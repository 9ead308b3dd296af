"""The picture of one rounding: two neighbours, the middle between them, who owns which side, and where x goes.

Above: the interval between the neighbours on a linear axis. Each side of it has the colour of the code that takes it
under the mode that is set; the midpoint carries the colour of its owner. Below: where on the whole
line that interval is.
"""

from __future__ import annotations

from fractions import Fraction

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from fp8lab.codec import encode
from fp8lab.explore import style
from fp8lab.explore.bits.data import bit_data, decimal_text, equals
from fp8lab.explore.number_line import draw_codes, draw_marker, line_position
from fp8lab.explore.rounding.data import RoundingData

LOW, HIGH, LOST = style.EXPONENT, style.MANTISSA, style.KIND_COLOURS["nan"]
MARGIN = 0.30  # of the interval, shown on either side of it
STRIPS = 40  # of the gradient that stands for chance
LIFT = 0.62  # height at which x stands


def rounding_figure(data: RoundingData) -> Figure:
    """Interval and number line of `data`."""
    with style.settings():
        figure = style.new_figure(height=3.9)
        figure.text(0.03, 0.945, headline(data), size=12.5, weight="bold", va="center")
        draw_interval(figure.add_axes((0.06, 0.34, 0.88, 0.56)), data)
        line = figure.add_axes((0.03, 0.06, 0.94, 0.22))
        draw_codes(line, data.fmt)
        draw_marker(line, _place_on_line(data, line), f"x = {number_text(data.x)}")
    return figure


def headline(data: RoundingData) -> str:
    """What becomes of x, in one line of symbols."""
    mode = f"{data.rounding}, {data.overflow}" if data.is_beyond else data.rounding
    likely = {code: chance for code, chance in data.chances.items() if chance}
    ends = [f"0x{code:02X} ({chance:.0%})" for code, chance in likely.items()]
    end = code_text(*likely, data) if len(likely) == 1 else "  or  ".join(ends)
    return f"{number_text(data.x)}  →  {end}    [{mode}]"


def words(data: RoundingData) -> str:
    """The picture in words, for a screen reader or a plain terminal."""
    said = [f"{number_text(data.x)} in {data.fmt.name}, rounding {data.rounding}, overflow {data.overflow}."]
    if data.is_value:
        said.append("It is a value of the format.")
    else:
        said.append(
            f"It lies between {_end_text(data.low, data.low_value)} and {_end_text(data.high, data.high_value)}."
        )
        middle = f"The middle is {decimal_text(data.midpoint)}; x is {_share_text(data)}."
        said.append(middle if 0 <= data.share <= 1 else "x lies beyond.")
    said.append(f"It becomes {headline(data).partition('→')[2].partition('[')[0].strip()}.")
    if data.error is not None:
        said.append(f"Error {float(data.error):.6g}.")
    return " ".join(said)


def _share_text(data: RoundingData) -> str:
    if data.is_tie:
        return "exactly halfway: a tie"
    if f"{data.share:.1%}" == "50.0%":
        return f"just {'above' if data.exact > data.midpoint else 'below'} it"
    return f"{data.share:.1%} of the way"


def number_text(x: float) -> str:
    """x with as many digits as tell it apart from other float64 numbers: "464", "1.0625000000009095"."""
    return f"{x:.17g}" if float(f"{x:.12g}") != x else f"{x:.12g}"


def code_text(code: int, data: RoundingData) -> str:
    facts = bit_data(code, data.fmt)
    return f"{facts.hex} {equals(facts.decimal)}"


def _end_text(code: int | None, value: Fraction) -> str:
    return decimal_text(value) if code is None else f"{decimal_text(value)} (0x{code:02X})"


# The interval ----------------------------------------------------------------------------------------------------


def draw_interval(axes: Axes, data: RoundingData) -> None:
    """From low to high, low at 0 and high at 1."""
    axes.set(xlim=(-MARGIN, 1 + MARGIN), ylim=(-0.75, 1.05), yticks=[], xticks=[])
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.plot([-MARGIN, 1 + MARGIN], [0, 0], color=style.INK, linewidth=1)
    if data.is_value:
        _draw_end(axes, 0.5, data.low, data.low_value, LOW)
        axes.plot([0.5], [LIFT], marker="v", color=style.ACCENT, markersize=10)
        axes.text(0.5, LIFT + 0.14, "x is a value of the format", ha="center", color=style.ACCENT, weight="bold")
        return
    _draw_owners(axes, data)
    _draw_end(axes, 0, data.low, data.low_value, LOW)
    _draw_end(axes, 1, data.high, data.high_value, HIGH)
    _draw_middle(axes, data)
    _draw_x(axes, data)


def _owner(x: Fraction, data: RoundingData) -> int:
    """The code that an exact number between the neighbours becomes."""
    return int(encode(float(x), data.fmt, rounding=data.rounding, overflow=data.overflow))


def _colour(code: int, data: RoundingData) -> str:
    """The colour of the end that a code is; red for what overflow turns it into."""
    return LOW if code == data.low else HIGH if code == data.high else LOST


def _draw_owners(axes: Axes, data: RoundingData) -> None:
    step = data.high_value - data.low_value
    if data.rounding == "stochastic":
        outer = _outer_colours(data)
        for strip in range(STRIPS):
            for colour, weight in zip(outer, (1 - (strip + 0.5) / STRIPS, (strip + 0.5) / STRIPS)):
                _shade(axes, strip / STRIPS, (strip + 1) / STRIPS, colour, 0.3 * weight)
        return
    for start, end in ((Fraction(0), Fraction(1, 2)), (Fraction(1, 2), Fraction(1))):
        inside = data.low_value + step * (start + end) / 2
        _shade(axes, float(start), float(end), _colour(_owner(inside, data), data), 0.2)


def _outer_colours(data: RoundingData) -> tuple[str, str]:
    return (LOST if data.low is None else LOW, LOST if data.high is None else HIGH)


def _shade(axes: Axes, start: float, end: float, colour: str, alpha: float) -> None:
    axes.fill_between([start, end], 0, 0.42, color=colour, alpha=alpha, linewidth=0)


def _draw_end(axes: Axes, place: float, code: int | None, value: Fraction, colour: str) -> None:
    """A neighbour: its stroke, value and code. Where the format has no code, the stroke is dashed."""
    missing = code is None
    axes.plot(
        [place, place], [-0.1, 0.42], color=LOST if missing else colour, lw=2.4, ls=(0, (3, 2)) if missing else "-"
    )
    text = "−0, 0" if not value and code is not None else decimal_text(value)
    axes.text(place, -0.18, text, ha="center", va="top", weight="bold", color=LOST if missing else colour, size=11)
    under = "overflow" if missing else f"0x{code:02X}"
    axes.text(place, -0.46, under, ha="center", va="top", alpha=style.QUIET, size=9)


def _draw_middle(axes: Axes, data: RoundingData) -> None:
    axes.plot([0.5, 0.5], [-0.1, 0.42], color=style.INK, linewidth=1, linestyle=(0, (4, 3)), alpha=style.QUIET)
    axes.text(0.5, -0.18, decimal_text(data.midpoint), ha="center", va="top", size=9.5)
    label = "midpoint"
    if data.rounding.startswith("nearest"):
        owner = _owner(data.midpoint, data)
        axes.plot([0.5], [0], marker="o", markersize=8, color=_colour(owner, data), zorder=4)
        label = f"midpoint, goes to 0x{owner:02X}"
    axes.text(0.5, -0.46, label, ha="center", va="top", alpha=style.QUIET, size=9)


def _draw_x(axes: Axes, data: RoundingData) -> None:
    """x above its place, and an arrow to each code that it can become."""
    place = min(max(data.share, -MARGIN + 0.02), 1 + MARGIN - 0.02)
    axes.plot([place, place], [0, LIFT], color=style.ACCENT, linewidth=1.6)
    axes.plot([place], [LIFT], marker="v", color=style.ACCENT, markersize=10, zorder=5)
    beyond = " (far beyond)" if place != data.share else ""
    text = f"x = {number_text(data.x)}{beyond}" + ("   tie" if data.is_tie else "")
    side = "left" if place < 0.12 else "right" if place > 0.88 else "center"
    axes.text(place, LIFT + 0.17, text, ha=side, color=style.ACCENT, weight="bold", clip_on=False)
    for code, chance in data.chances.items():
        if chance:
            _draw_arrow(axes, place, code, chance, data)


def _draw_arrow(axes: Axes, place: float, code: int, chance: float, data: RoundingData) -> None:
    colour = _colour(code, data)
    end = 0.0 if code == data.low else 1.0 if code == data.high else (1 + MARGIN * 0.8 if data.x > 0 else -MARGIN * 0.8)
    bend = (0.25 if abs(end - place) < 0.7 else 0.12) * (-1 if end > place else 1)
    look = {"arrowstyle": "-|>", "mutation_scale": 14, "color": colour, "linewidth": 1.0 + 1.6 * chance}
    axes.add_patch(
        FancyArrowPatch((place, LIFT - 0.06), (end, 0.44), connectionstyle=f"arc3,rad={bend}", clip_on=False, **look)
    )
    if code not in (data.low, data.high):
        name = bit_data(code, data.fmt)
        axes.text(end, 0.3, f"{name.decimal}\n{name.hex}", ha="center", va="top", color=colour, weight="bold", size=10)
    if chance < 1:
        axes.text((place + end) / 2, 0.5, f"{chance:.0%}", ha="center", va="bottom", color=colour, size=9.5)


def _place_on_line(data: RoundingData, line: Axes) -> float:
    """Where x stands on the log line, kept on it at both ends and off zero."""
    low, high = line.get_xlim()
    place = line_position(data.exact, data.fmt)
    smallest = Fraction(data.fmt.min_subnormal or data.fmt.min_normal)
    if data.x and abs(data.exact) < smallest:  # nearer to zero than any value: on the way there, in proportion
        place = float(data.exact / smallest) * line_position(smallest, data.fmt)
    return min(max(place, low), high)
