"""The pictures of lesson 01: one byte under five readings, the rulers around zero, the map of all 256 codes.

Facts first, as plain data (`readings`, `rulers`, `code_map`), which tests hold against the exact formats; then a figure
of them. Labels are numbers, codes and symbols, so that both languages share them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from fp8lab.explore import style
from fp8lab.explore.still import Still
from fp8lab.formats import E4M3, E4M3FN, E4M3FNUZ, E5M2, FloatFormat, fields, value

FORMATS = (
    ("E5M2", "OCP OFP8", E5M2),
    ("E4M3", "IEEE-like", E4M3),
    ("E4M3FNUZ", "AMD MI300", E4M3FNUZ),
    ("E4M3FN", "OCP OFP8", E4M3FN),
)
LAST_RULER_CODE = 0x18  # 2^-4: three binades of the ruler, the subnormals among them


# ---- one byte, five readings


@dataclass(frozen=True)
class Reading:
    """What one convention makes of a byte. `widths` are the bits of its fields from the top, with their names."""

    name: str
    source: str
    widths: tuple[tuple[str, int], ...]
    formula: str
    value: float


def readings(byte: int) -> tuple[Reading, ...]:
    """The byte as a signed integer and in four float formats.

    >>> [r.value for r in readings(0x78)]
    [120.0, 32768.0, inf, 128.0, 256.0]
    """
    signed = byte - 256 if byte & 0x80 else byte
    integer = Reading("int8", "two's complement", (("integer", 8),), "", float(signed))
    return integer, *(_reading(byte, *entry) for entry in FORMATS)


def _reading(byte: int, name: str, source: str, fmt: FloatFormat) -> Reading:
    widths = (("sign", 1), ("exponent", fmt.exponent_bits), ("mantissa", fmt.mantissa_bits))
    number = value(byte, fmt)
    sign, exponent, mantissa = fields(byte, fmt)
    if not math.isfinite(number):
        formula = "1" * fmt.exponent_bits + r" $\rightarrow$ " + ("NaN" if math.isnan(number) else r"$\infty$")
    else:
        power, whole = max(exponent, 1) - fmt.bias, int(exponent > 0)
        minus = "-" if sign else ""
        formula = rf"${minus}2^{{{power}}}\times({whole}+\frac{{{mantissa}}}{{{1 << fmt.mantissa_bits}}})$"
    return Reading(name, source, widths, formula, number)


def readings_picture(byte: int = 0x78) -> Still:
    """Five rows: the same eight bits, cut and read in five ways."""
    rows = readings(byte)
    with style.settings():
        figure = style.new_figure(3.5)
        axes = figure.add_axes((0.01, 0.02, 0.98, 0.96))
        axes.axis("off")
        axes.set(xlim=(0, 21.0), ylim=(len(rows) * 1.25, -0.25))
        for number, reading in enumerate(rows):
            _draw_reading(axes, byte, reading, number * 1.25)
    told = "; ".join(f"{r.name} ({r.source}) reads {_plain(r.value)}" for r in rows)
    return Still(figure, f"The byte 0x{byte:02X} = {byte:08b} under five readings: {told}.")


def _draw_reading(axes: Axes, byte: int, reading: Reading, top: float) -> None:
    middle = top + 0.5
    axes.text(0.1, middle - 0.02, reading.name, va="center", size=12, weight="bold")
    axes.text(0.1, middle + 0.48, reading.source, va="center", size=8, alpha=style.QUIET)
    left, bit = 4.1, 7
    for field, width in reading.widths:
        colour = style.FIELD_COLOURS.get(field, style.MUTED)
        for _ in range(width):
            _draw_bit(axes, left, top + 0.05, byte >> bit & 1, colour)
            left, bit = left + 0.92, bit - 1
        left += 0.34
    axes.text(13.2, middle, reading.formula, va="center", size=12)
    axes.text(20.9, middle, f"{_plain(reading.value)}", va="center", ha="right", size=15, weight="bold")


def _draw_bit(axes: Axes, left: float, top: float, bit: int, colour: str) -> None:
    look = "round,pad=0,rounding_size=0.12"
    face = colour if bit else "none"
    axes.add_patch(
        FancyBboxPatch((left, top), 0.8, 0.9, boxstyle=look, edgecolor=colour, facecolor=face, linewidth=1.3)
    )
    ink = style.WHITE_TEXT if bit else colour
    axes.text(left + 0.4, top + 0.47, str(bit), ha="center", va="center", color=ink, size=11, weight="bold")


def _plain(number: float) -> str:
    return {math.inf: "∞", -math.inf: "−∞"}.get(
        number, "NaN" if math.isnan(number) else f"{number:,g}".replace("-", "−")
    )


# ---- the rulers around zero


def rulers() -> dict[str, tuple[float, ...]]:
    """Values of the codes 0x00 to LAST_RULER_CODE: as the format has them, with exponent -7 for field 0, and without
    subnormals (field 0 means zero).

    >>> rulers()["2^-6 * m/8"][7:10] == (7 / 512, 8 / 512, 9 / 512)
    True
    """
    codes = range(LAST_RULER_CODE + 1)
    right = tuple(value(code) for code in codes)
    return {
        "2^-6 * m/8": right,
        "2^-7 * m/8": tuple(right[code] / 2 if code < 8 else right[code] for code in codes),
        "0": tuple(0.0 if code < 8 else right[code] for code in codes),
    }


def rulers_picture() -> Still:
    """Three rulers, one above the other: the right one has no gap where the subnormals end."""
    with style.settings():
        figure = style.new_figure(2.9)
        axes = figure.add_axes((0.17, 0.2, 0.81, 0.74))
        for row, (rule, values) in enumerate(rulers().items()):
            _draw_ruler(axes, row, rule, values)
        axes.set(xlim=(-0.6 / 512, 33 / 512), ylim=(2.75, -0.75))
        ticks = [0, 8, 16, 32]
        axes.set_xticks([t / 512 for t in ticks], ["0", r"$2^{-6}$", r"$2^{-5}$", r"$2^{-4}$"])
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    alt = (
        "Three rulers from 0 to 2^-4. If exponent field 0 means 2^-6 * m/8, the marks are evenly spaced by 2^-9 from 0 "
        "up to 2^-5. If it means 2^-7 * m/8, they are twice as dense up to 0.0068, and a gap follows, up to 2^-6. "
        "If it means 0, nothing lies between 0 and 2^-6."
    )
    return Still(figure, alt)


def _draw_ruler(axes: Axes, row: int, rule: str, values: Sequence[float]) -> None:
    low, high = values[:8], values[8:]
    axes.hlines(row, 0, values[-1], color=style.INK, linewidth=0.8)
    axes.vlines(high, row - 0.28, row, color=style.INK, linewidth=1.4)
    axes.vlines(low, row - 0.28, row, color=style.SUBNORMAL, linewidth=2.2)
    power = rule.replace("2^-6 * m/8", r"$2^{-6}\cdot\frac{m}{8}$").replace("2^-7 * m/8", r"$2^{-7}\cdot\frac{m}{8}$")
    axes.text(
        -1.2 / 512, row - 0.1, rf"0000 $\rightarrow$ {power}", ha="right", va="center", size=11, color=style.SUBNORMAL
    )
    step, hole = 1 / 512, high[0] - low[-1]
    if hole > 1.5 * step:
        middle = (low[-1] + high[0]) / 2
        axes.annotate(
            "", (low[-1], row - 0.14), (high[0], row - 0.14), arrowprops={"arrowstyle": "<->", "color": style.ACCENT}
        )
        axes.text(
            middle, row + 0.06, f"{hole / step:g} × $2^{{-9}}$", ha="center", va="top", size=9, color=style.ACCENT
        )


# ---- the map of all codes

MAP_COLOURS = {**style.KIND_COLOURS, "normal": style.MANTISSA, "zero": style.INK}
PALE = 0.4  # opacity of the many normal codes, so that the few others are seen first


def code_map(classify: Callable[[int], str]) -> Mapping[str, tuple[int, ...]]:
    """The codes of every class that `classify` names, in the order in which the classes appear.

    >>> from fp8lab import formats
    >>> {kind: len(codes) for kind, codes in code_map(formats.classify).items()}
    {'zero': 2, 'subnormal': 14, 'normal': 238, 'nan': 2}
    """
    found: dict[str, list[int]] = {}
    for code in range(256):
        found.setdefault(str(classify(code)), []).append(code)
    return {kind: tuple(codes) for kind, codes in found.items()}


def code_map_picture(classify: Callable[[int], str]) -> Still:
    """All 256 codes in 16 × 16 squares, coloured by the class that `classify` gives them."""
    found = code_map(classify)
    with style.settings():
        figure = style.new_figure(4.3)
        axes = figure.add_axes((0.07, 0.02, 0.47, 0.9))
        for kind, codes in found.items():
            for code in codes:
                _draw_square(axes, code, kind)
        axes.set(xlim=(-0.05, 16), ylim=(16, -0.05), aspect="equal")
        axes.xaxis.tick_top()
        axes.set_xticks([i + 0.5 for i in range(16)], [f"_{i:X}" for i in range(16)], size=8)
        axes.set_yticks([i + 0.5 for i in range(16)], [f"{i:X}_" for i in range(16)], size=8)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        _draw_counts(figure.add_axes((0.6, 0.1, 0.38, 0.74)), found)
    told = ", ".join(f"{len(codes)} {kind}" for kind, codes in found.items())
    return Still(figure, f"Map of the 256 codes, 16 by 16, coloured by class: {told}.")


def _draw_square(axes: Axes, code: int, kind: str) -> None:
    row, column = divmod(code, 16)
    axes.add_patch(Rectangle((column + 0.05, row + 0.05), 0.9, 0.9, **_look(kind)))


def _look(kind: str) -> dict[str, object]:
    opacity = PALE if kind == "normal" else 1.0
    return {"facecolor": MAP_COLOURS.get(kind, style.ACCENT), "edgecolor": "none", "alpha": opacity}


def _draw_counts(axes: Axes, found: Mapping[str, tuple[int, ...]]) -> None:
    axes.axis("off")
    axes.set(xlim=(0, 10), ylim=(max(len(found), 4), 0))
    for row, (kind, codes) in enumerate(found.items()):
        axes.add_patch(Rectangle((0, row + 0.27), 0.62, 0.32, **_look(kind)))
        axes.text(2.4, row + 0.45, str(len(codes)), ha="right", va="center", size=15, weight="bold")
        axes.text(2.9, row + 0.38, kind, va="center", size=11)
        axes.text(2.9, row + 0.75, _spans(codes), va="center", size=8, alpha=style.QUIET)


def _spans(codes: Sequence[int]) -> str:
    """Codes as runs: "00  80" or "01–07  81–87"; the first runs only when there are many."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    shown = "  ".join(f"{a:02X}" if a == b else f"{a:02X}–{b:02X}" for a, b in runs[:3])
    return shown + ("  …" if len(runs) > 3 else "")
