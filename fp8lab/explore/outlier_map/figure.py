"""The picture: two heat maps, channels across and tokens down, before and after rotation; below each its channels.

The map shows sizes or errors on one logarithmic colour scale for both sides. The line below is the largest value of the
map in each channel, so that a channel that is one pixel wide cannot be overlooked.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from fp8lab.explore import style
from fp8lab.explore.outlier_map.data import OutlierData, Side

VIEWS = ("size", "error")
COLOURS = "viridis"  # even steps of lightness, also for the colour-blind
OCTAVES = 14  # of the colour scale, at most


def outlier_figure(data: OutlierData, view: str = "size") -> Figure:
    """Maps of "size" (what the cache sees) or "error" (what storing does, in the original coordinates)."""
    figure = frame(data.before.size.shape, view)
    dress(figure, data.before.size.shape, view)
    fill(figure, data, view)
    return figure


def outlier_svg(data: OutlierData, view: str = "size") -> str:
    """The same as inline SVG, quickly: what all maps of a shape share is drawn once, its axes are made once."""
    figure = _kept_frame(data.before.size.shape, view)
    try:
        fill(figure, data, view)
        return style.laid_over(_dressed(data.before.size.shape, view), style.svg(figure, words(data)))
    finally:
        style.emptied(figure)


@lru_cache(maxsize=16)
def _dressed(shape: tuple[int, int], view: str) -> str:
    figure = frame(shape, view)
    dress(figure, shape, view)
    return style.svg(figure, "")


@lru_cache(maxsize=16)
def _kept_frame(shape: tuple[int, int], view: str) -> Figure:
    return frame(shape, view)


# Three steps: the places of the axes and their limits; what is the same for every setting; what a setting shows.


def frame(shape: tuple[int, int], view: str) -> Figure:
    """A figure of five axes without marks: map and channels of either side, colour scale."""
    if view not in VIEWS:
        raise ValueError(f"view is {view!r}; it is one of {', '.join(VIEWS)}")
    tokens, channels = shape
    with style.settings():
        figure = style.new_figure(height=4.5)
        for left in (0.075, 0.51):
            style.bare_axes(figure, (left, 0.36, 0.41, 0.47)).set_ylim(tokens - 0.5, -0.5)
            style.bare_axes(figure, (left, 0.12, 0.41, 0.2)).set_ylim(0, 1)
        style.bare_axes(figure, (0.93, 0.36, 0.013, 0.47)).set(xlim=(0, 1), ylim=(0, 1))
    for axes in figure.axes[:4]:
        axes.set_xlim(-0.5, channels - 0.5)
    return figure


def dress(figure: Figure, shape: tuple[int, int], view: str) -> None:
    """Ticks and labels of tokens and channels, and what the colours mean."""
    tokens, channels = shape
    with style.settings():
        for axes in figure.axes[:4]:
            axes.set_axis_on()
            axes.tick_params(labelsize=8.5)
        for axes in (figure.axes[0], figure.axes[2]):
            axes.set_xticks([])
            axes.set_yticks(range(0, tokens, max(1, tokens // 4)))
        for axes in (figure.axes[1], figure.axes[3]):
            axes.set_xticks(range(0, channels, max(1, channels // 4)))
            axes.set_yticks([])
            axes.set_xlabel("channel")
        figure.axes[2].set_yticklabels([])
        figure.axes[0].set_ylabel("token")
        figure.axes[1].set_ylabel("largest", size=9.5, labelpad=30)
        draw_scale(figure.axes[4], "|K|" if view == "size" else "|error|")


def fill(figure: Figure, data: OutlierData, view: str) -> None:
    """Everything that depends on the data and on the setting."""
    maps = [getattr(side, view) for side in (data.before, data.after)]
    norm = colour_scale(maps)
    with style.settings():
        figure.text(0.075, 0.945, headline(data), size=10, weight="bold", va="center")
        for place, (title, side, values) in enumerate(
            zip(("as it is", "rotated"), (data.before, data.after), maps, strict=True)
        ):
            draw_map(figure.axes[2 * place], values, norm, f"{title}: {side_text(side)}")
            draw_channels(figure.axes[2 * place + 1], values, norm)
        draw_decades(figure.axes[1], norm, -0.012, "right")
        draw_decades(figure.axes[4], norm, 1.6, "left")


def colour_scale(maps: list[np.ndarray]) -> LogNorm:
    """From the largest value down to the smallest that is not rare, at most 14 octaves; anything for maps of zeros."""
    values = np.concatenate([m.ravel() for m in maps])
    values = values[values > 0]
    if not values.size:
        return LogNorm(2.0**-OCTAVES, 1.0)
    top = float(values.max())
    low = min(max(float(np.quantile(values, 0.02)), top * 2.0**-OCTAVES), top / 2)
    return LogNorm(low, top, clip=True)


def headline(data: OutlierData) -> str:
    before, after = data.before.output_error, data.after.output_error
    return f"{data.name}, {data.fmt}, a scale per {data.axis}: output error {before:.1%} → {after:.1%} rotated"


def side_text(side: Side) -> str:
    return f"absmax ÷ RMS {side.peak:.1f}, median error {side.median:.1%}"


def words(data: OutlierData) -> str:
    """The picture in words and numbers, for a screen reader or a plain terminal."""
    told = []
    for title, side in (("as it is", data.before), ("rotated", data.after)):
        loud = np.argsort(side.size.max(0))[::-1][:4]
        told.append(
            f"{title}: absmax / RMS {side.peak:.1f}, largest channels {', '.join(map(str, sorted(loud.tolist())))}, "
            f"median relative error {side.median:.1%}, SQNR {side.sqnr_db:.1f} dB, "
            f"attention output {side.output_error:.2%} wrong"
        )
    tokens, channels = data.before.size.shape
    verdict = "helps" if data.helps > 1.1 else "hurts" if data.helps < 1 / 1.1 else "changes little"
    return (
        f"{data.name}, {tokens} tokens × {channels} channels, in {data.fmt}, one scale per {data.axis}. "
        f"{'; '.join(told)}. Rotation {verdict}."
    )


def draw_map(axes: Axes, values: np.ndarray, norm: LogNorm, title: str) -> None:
    shown = np.maximum(values, norm.vmin)  # zeros have no logarithm
    rows, columns = values.shape
    edges = (-0.5, columns - 0.5, rows - 0.5, -0.5)
    axes.imshow(shown, norm=norm, cmap=COLOURS, aspect="auto", interpolation="nearest", extent=edges)
    axes.text(0, 1.03, title, size=10, transform=axes.transAxes)


def decades(norm: LogNorm) -> dict[float, str]:
    """log10 and label of the powers of ten on the scale; every second one where there are many."""
    powers = range(math.ceil(math.log10(norm.vmin)), math.floor(math.log10(norm.vmax)) + 1)
    return {float(power): f"{10.0**power:g}" for power in powers[:: 2 if len(powers) > 4 else 1]}


def height(value: np.ndarray | float, norm: LogNorm) -> np.ndarray | float:
    """0 at the lower end of the colour scale, 1 at its upper end: logarithms on a plain axis, since a logarithmic one
    takes matplotlib ten times as long."""
    low, high = math.log10(norm.vmin), math.log10(norm.vmax)
    return (np.log10(value) - low) / (high - low)


def draw_channels(axes: Axes, values: np.ndarray, norm: LogNorm) -> None:
    """The largest value of each channel, on the scale of the colours."""
    largest = height(np.maximum(values.max(0), norm.vmin), norm)
    edges = np.arange(len(largest) + 1) - 0.5
    for power in decades(norm):
        axes.axhline(height(10.0**power, norm), color=style.MUTED, linewidth=0.7, alpha=0.35)
    axes.stairs(largest, edges, baseline=0, fill=True, color=style.EXPONENT, alpha=0.75, linewidth=0)


def draw_decades(axes: Axes, norm: LogNorm, x: float, align: str) -> None:
    """The powers of ten beside an axis."""
    across = axes.get_yaxis_transform()
    for power, label in decades(norm).items():
        axes.text(x, height(10.0**power, norm), label, size=8.5, ha=align, va="center", transform=across)


def draw_scale(axes: Axes, label: str) -> None:
    """What the colours mean."""
    axes.imshow(np.linspace(1, 0, 128)[:, None], cmap=COLOURS, aspect="auto", extent=(0, 1, 0, 1))
    axes.text(0.5, -0.03, label, size=9, ha="center", va="top")
