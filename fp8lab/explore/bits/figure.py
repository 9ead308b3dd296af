"""The picture of one code: its bits by field, the rule with the numbers in it, and its place among all codes.

`bit_figure` is the whole picture, the one that stays where no widget runs; `line_figure` is the lower half, for a page
that shows the bits by other means. Both are pure: a record in, a figure out. Text is English and symbols.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from fp8lab.explore import style
from fp8lab.explore.bits.data import BitData, equals
from fp8lab.explore.bits.line import draw_lines

BOX, STEP, FIELD_GAP = 0.86, 1.0, 0.85  # of the bit boxes, in units of one box


def bit_figure(data: BitData) -> Figure:
    """Bits, formula and number line of `data`."""
    with style.settings():
        figure = style.new_figure(height=4.6)
        draw_bits(figure.add_axes((0.02, 0.715, 0.96, 0.275)), data)
        draw_formula(figure.add_axes((0.02, 0.585, 0.96, 0.13)), data)
        draw_lines(figure, data, bottom=0.02, height=0.56)
    return figure


def line_figure(data: BitData) -> Figure:
    """The number line alone, with the neighbourhood of `data` enlarged below it."""
    with style.settings():
        figure = style.new_figure(height=2.65)
        draw_lines(figure, data, bottom=0.03, height=0.95)
    return figure


# The bits --------------------------------------------------------------------------------------------------------


def draw_bits(axes: Axes, data: BitData) -> None:
    """One box per bit, coloured by field, filled where the bit is 1; the bit that is not stored is dashed."""
    axes.axis("off")
    left, begun = 0.0, {}
    previous = None
    for bit in data.bits:
        if bit.field != previous:
            if bit.field == "mantissa" and data.implicit is not None:
                _box(axes, left + 0.4, f"{data.implicit}.", style.MUTED, filled=False, dashed=True)
                axes.text(left + 0.4 + BOX / 2, 1.28, "implicit", ha="center", color=style.MUTED, size=8.5)
                left += STEP - 0.1
            left += FIELD_GAP * bool(previous)
            begun[bit.field] = left
        _box(axes, left, str(bit.value), style.FIELD_COLOURS[bit.field], filled=bool(bit.value))
        axes.text(left + BOX / 2, -0.24, str(bit.place), ha="center", va="center", size=8, alpha=style.QUIET)
        left, previous = left + STEP, bit.field
    for field, start in begun.items():
        name, colour = f"{field} = {getattr(data, field)}", style.FIELD_COLOURS[field]
        axes.text(start, 1.28, name, color=colour, weight="bold", size=10)
    axes.set(xlim=(-0.1, 16.9), ylim=(-0.55, 1.75))
    right = 16.8
    axes.text(right, 0.98, f"{data.hex}  in  {data.fmt.name}", ha="right", va="center", size=11, alpha=style.QUIET)
    axes.text(right, 0.18, data.decimal, ha="right", va="center", size=_fit(data.decimal, 20), weight="bold")
    badge = {"boxstyle": "round,pad=0.3", "facecolor": style.KIND_COLOURS[data.kind], "edgecolor": "none"}
    axes.text(right, 1.62, f" {data.kind} ", ha="right", va="center", size=9, color=style.WHITE_TEXT, bbox=badge)


def _box(axes: Axes, left: float, text: str, colour: str, filled: bool, dashed: bool = False) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (left, 0), BOX, BOX, boxstyle="round,pad=0,rounding_size=0.12", linewidth=1.6, edgecolor=colour,
            facecolor=colour if filled else "none", linestyle=(0, (3, 2)) if dashed else "-", clip_on=False,
        )
    )  # fmt: skip
    ink, middle = style.WHITE_TEXT if filled else colour, (left + BOX / 2, BOX / 2 - 0.02)
    axes.text(*middle, text, ha="center", va="center_baseline", color=ink, size=16, weight="bold")


def _fit(text: str, size: float) -> float:
    return size if len(text) <= 10 else max(9.0, size * 10 / len(text))


def draw_formula(axes: Axes, data: BitData) -> None:
    """The rule with the numbers of this code, each number in the colour of its field."""
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    if data.exact is None:
        colour = style.KIND_COLOURS[data.kind]
        axes.text(0.005, 0.5, f"{data.decimal}:  {data.reason}", va="center", size=13, color=colour)
        return
    x = 0.005
    for text, colour in _formula_parts(data):
        drawn = axes.text(x, 0.5, text, va="center", size=15, color=colour)
        x = drawn.get_window_extent().transformed(axes.transData.inverted()).x1


def _formula_parts(data: BitData) -> list[tuple[str, str]]:
    parts = []
    if data.fmt.signed:
        parts += [(rf"$(-1)^{{{data.sign}}}$", style.SIGN), (r"$\;\times\;$", style.INK)]
    parts.append((rf"$2^{{{data.used_exponent}-{data.fmt.bias}}}$", style.EXPONENT))
    if data.fmt.mantissa_bits:
        fraction = rf"$\frac{{{data.mantissa}}}{{{1 << data.fmt.mantissa_bits}}}$"
        parts += [(r"$\;\times\;($", style.INK), (f"${data.implicit}$", style.MUTED), ("$+$", style.INK)]
        parts += [(fraction, style.MANTISSA), (r"$)$", style.INK)]
    return [*parts, (f" {equals(data.decimal)}", style.INK)]
