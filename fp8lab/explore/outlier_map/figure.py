"""The picture: two heat maps, channels across and tokens down, before and after rotation; below each its channels.

The map shows sizes or errors on one logarithmic colour scale for both sides. The line below is the largest value of the
map in each channel, so that a channel that is one pixel wide cannot be overlooked.
"""

from __future__ import annotations

import math

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
    if view not in VIEWS:
        raise ValueError(f"view is {view!r}; it is one of {', '.join(VIEWS)}")
    maps = [getattr(side, view) for side in (data.before, data.after)]
    norm = colour_scale(maps)
    with style.settings():
        figure = style.new_figure(height=4.5)
        figure.text(0.075, 0.945, headline(data), size=10, weight="bold", va="center")
        for place, (title, side, values) in enumerate(
            zip(("as it is", "rotated"), (data.before, data.after), maps, strict=True)
        ):
            left = 0.075 + 0.435 * place
            draw_map(figure.add_axes((left, 0.36, 0.41, 0.47)), values, norm, f"{title}: {side_text(side)}")
            draw_channels(figure.add_axes((left, 0.12, 0.41, 0.2)), values, norm)
        figure.axes[0].set_ylabel("token")
        figure.axes[1].set_ylabel("largest", size=9.5)
        for axes in figure.axes[2:]:
            axes.set_yticklabels([])
        draw_scale(figure.add_axes((0.93, 0.36, 0.013, 0.47)), norm, "|K|" if view == "size" else "|error|")
    return figure


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
    axes.imshow(shown, norm=norm, cmap=COLOURS, aspect="auto", interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks(range(0, len(values), max(1, len(values) // 4)))
    axes.set_title(title, size=10)
    axes.tick_params(labelsize=8.5)


def decades(norm: LogNorm) -> dict[float, str]:
    """log10 and label of the powers of ten on the scale; every second one where there are many."""
    powers = range(math.ceil(math.log10(norm.vmin)), math.floor(math.log10(norm.vmax)) + 1)
    return {float(power): f"{10.0**power:g}" for power in powers[:: 2 if len(powers) > 4 else 1]}


def draw_channels(axes: Axes, values: np.ndarray, norm: LogNorm) -> None:
    """The largest value of each channel, on the scale of the colours. Logarithms on a plain axis: a logarithmic one
    takes matplotlib ten times as long."""
    largest = np.log10(np.maximum(values.max(0), norm.vmin))
    low, high = math.log10(norm.vmin), math.log10(norm.vmax)
    edges = np.arange(len(largest) + 1) - 0.5
    axes.stairs(largest, edges, baseline=low, fill=True, color=style.EXPONENT, alpha=0.75, linewidth=0)
    axes.set(xlim=(-0.5, len(largest) - 0.5), ylim=(low, high + 0.15), xlabel="channel")
    axes.set_xticks(range(0, len(largest), max(1, len(largest) // 4)))
    ticks = decades(norm)
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.tick_params(labelsize=8.5)


def draw_scale(axes: Axes, norm: LogNorm, label: str) -> None:
    """What the colours mean."""
    low, high = math.log10(norm.vmin), math.log10(norm.vmax)
    axes.imshow(np.linspace(1, 0, 128)[:, None], cmap=COLOURS, aspect="auto", extent=(0, 1, low, high))
    ticks = decades(norm)
    axes.set_yticks(list(ticks), list(ticks.values()), size=8.5)
    axes.yaxis.tick_right()
    axes.set_xticks([])
    axes.set_xlabel(label, size=9)
    for side in axes.spines.values():
        side.set_visible(False)
