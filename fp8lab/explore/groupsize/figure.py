"""The picture: error against group size for every way, bytes under it, and beside it the errors of one setting."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from fp8lab.explore import style
from fp8lab.explore.groupsize.data import WAYS, GroupsizeData

METRICS = ("error", "sqnr")
LOOK = {  # colour and line style of each way
    "int8": (style.MANTISSA, "-"),
    "E4M3FN": (style.EXPONENT, "-"),
    "E4M3FN, 2^n": (style.EXPONENT, (0, (4, 2))),
    "E4M3FN, no scale": (style.EXPONENT, (0, (1, 1.4))),
    "int4": (style.SUBNORMAL, "-"),
    "E2M1FN": (style.SIGN, "-"),
}
SMALLEST = 1e-3  # errors below it are not drawn: groups of 1 restore everything exactly
LOUDEST = 60.0  # dB, likewise
PLACES_ON_PAPER = (0.10, 0.36, 0.52, 0.53), (0.10, 0.12, 0.52, 0.19), (0.70, 0.43, 0.28, 0.46), (0.70, 0.03, 0.28, 0.25)
BINS = np.concatenate([[0.0], 2.0 ** np.arange(-12, 0.5, 0.25)])


def groupsize_figure(data: GroupsizeData, metric: str = "error") -> Figure:
    """Curves by "error" (median relative error) or "sqnr", bytes per value, and the histogram of the chosen setting."""
    figure = frame(data.places, metric)
    dress(figure, data.places, metric)
    fill(figure, data, metric)
    return figure


def groupsize_svg(data: GroupsizeData, metric: str = "error") -> str:
    """The same as inline SVG, quickly: what all settings of a tensor share is drawn once, its axes are made once."""
    figure = _kept_frame(data.places, metric)
    try:
        fill(figure, data, metric)
        return style.laid_over(_dressed(data.places, metric), style.svg(figure, words(data)))
    finally:
        style.emptied(figure)


@lru_cache(maxsize=16)
def _dressed(places: tuple[str, ...], metric: str) -> str:
    figure = frame(places, metric)
    dress(figure, places, metric)
    return style.svg(figure, "")


@lru_cache(maxsize=16)
def _kept_frame(places: tuple[str, ...], metric: str) -> Figure:
    return frame(places, metric)


# Three steps: the places of the axes and their limits; what is the same for every setting; what a setting shows.


def frame(places: tuple[str, ...], metric: str) -> Figure:
    """A figure of four axes without marks: curves, bytes, errors, legend."""
    if metric not in METRICS:
        raise ValueError(f"metric is {metric!r}; it is one of {', '.join(METRICS)}")
    with style.settings():
        figure = style.new_figure(height=4.6)
        curves, costs, errors, legend = (style.bare_axes(figure, place) for place in PLACES_ON_PAPER)
    for axes in (curves, costs):
        axes.set_xlim(-0.5, len(places) - 0.5)
    low, high = (math.log10(SMALLEST), math.log10(1.5)) if metric == "error" else (0, LOUDEST)
    curves.set_ylim(low, high)
    costs.set_ylim(0, 3.2)
    errors.set(xlim=(-1, len(BINS) - 1), ylim=(0, 1.06))
    legend.set(xlim=(0, 1), ylim=(len(WAYS) - 0.5, -0.5))
    return figure


def dress(figure: Figure, places: tuple[str, ...], metric: str) -> None:
    """Ticks, labels, lines of reference, legend."""
    curves, costs, errors, legend = figure.axes
    with style.settings():
        _dress_curves(curves, metric)
        _dress_bytes(costs, places)
        _dress_errors(errors)
        for axes in (curves, costs):
            axes.axvline(sum(p.isdigit() for p in places) - 0.5, color=style.MUTED, linewidth=0.8, alpha=0.6)
        for row, (name, (colour, line)) in enumerate(LOOK.items()):
            legend.plot([0.02, 0.15], [row, row], color=colour, linestyle=line, linewidth=1.6)
            legend.text(0.19, row, name.replace("2^n", "power-of-two scale"), va="center", size=9)


def fill(figure: Figure, data: GroupsizeData, metric: str) -> None:
    """Everything that depends on the data and on the setting."""
    curves, costs, errors, legend = figure.axes
    with style.settings():
        figure.text(0.02, 0.955, headline(data), size=11.5, weight="bold", va="center")
        draw_curves(curves, data, metric)
        draw_bytes(costs, data)
        draw_errors(errors, data)
        chosen = list(LOOK).index(data.way)
        colour, line = LOOK[data.way]
        legend.axhspan(chosen - 0.46, chosen + 0.46, color=colour, alpha=0.16, linewidth=0)
        legend.plot([0.02, 0.15], [chosen, chosen], color=colour, linestyle=line, linewidth=2.6)


def headline(data: GroupsizeData) -> str:
    point = data.chosen
    return (
        f"{data.name} → {data.way}, {place_text(data.place)}:  {point.error:.2%},  {decibel(point.sqnr_db)},  "
        f"{point.bytes_per_value:.3g} bytes"
    )


def place_text(place: str) -> str:
    return f"groups of {place}" if place.isdigit() else f"one scale per {place}"


def decibel(value: float) -> str:
    return "exact" if value > 120 else f"{value:.1f} dB"


def words(data: GroupsizeData) -> str:
    """The picture in words and numbers, for a screen reader or a plain terminal."""
    point = data.chosen
    near, far = data.places.index(data.place), len(data.places) - 1
    told = []
    for name, points in data.curves.items():
        told.append(f"{name} {points[near].error:.2%} here, {points[far].error:.2%} with one scale per tensor")
    return (
        f"{data.name}, shape {list(data.shape)}, in {data.way}, {place_text(data.place)}: median relative error "
        f"{point.error:.2%}, SQNR {decibel(point.sqnr_db)}, {point.bytes_per_value:.4g} bytes per value with scales "
        f"({2 / point.bytes_per_value:.3f} times smaller than bf16), {data.exact:.1%} exact, {data.lost:.1%} lost. "
        f"Median relative errors: {'; '.join(told)}."
    )


def heights(data: GroupsizeData, name: str, metric: str) -> list[float]:
    """What is drawn of a curve, errors as log10: NaN where it leaves the picture."""
    points = data.curves[name]
    if metric == "error":
        return [math.log10(p.error) if p.error >= SMALLEST else math.nan for p in points]
    return [p.sqnr_db if p.sqnr_db <= LOUDEST else math.nan for p in points]


def draw_curves(axes: Axes, data: GroupsizeData, metric: str) -> None:
    """Errors as logarithms on a plain axis: a logarithmic one takes matplotlib ten times as long."""
    here = data.places.index(data.place)
    axes.axvline(here, color=style.MUTED, linewidth=6, alpha=0.16)
    for name, (colour, line) in LOOK.items():
        chosen = name == data.way
        values = heights(data, name, metric)
        axes.plot(values, color=colour, linestyle=line, linewidth=2.6 if chosen else 1.6, zorder=3 if chosen else 2)
        if chosen:
            axes.plot([here], [values[here]], "o", color=colour, markersize=9, zorder=4)


def _dress_curves(axes: Axes, metric: str) -> None:
    axes.set_axis_on()
    axes.set_ylabel("median relative error" if metric == "error" else "SQNR (dB)")
    axes.set_xticks([])
    if metric == "error":
        axes.set_yticks([-3, -2, -1, 0], ["0.1 %", "1 %", "10 %", "100 %"])


def draw_bytes(axes: Axes, data: GroupsizeData) -> None:
    """Bytes per value of the chosen way."""
    costs = np.array([p.bytes_per_value for p in data.curves[data.way]])
    here = data.places.index(data.place)
    colour = LOOK[data.way][0]
    _bars(axes, np.arange(len(costs)), costs, 0.62, colour, 0.35)
    _bars(axes, np.array([here]), costs[[here]], 0.62, colour, 0.6)
    for place, cost in enumerate(costs):
        inside = 1.45 < cost < 2  # above the bar the label would lie on the line of bf16
        height, align = (cost - 0.08, "top") if inside else (min(cost, 2.5) + 0.08, "bottom")
        axes.text(place, height, f"{cost:.3g}", ha="center", va=align, size=8)


def _dress_bytes(axes: Axes, places: tuple[str, ...]) -> None:
    """From 2 bytes on, bf16 is as small."""
    axes.set_axis_on()
    axes.axhline(2, color=style.MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.text(len(places) - 0.55, 2.06, "bf16", ha="right", va="bottom", size=8, alpha=style.QUIET)
    axes.set_ylabel("bytes")
    axes.set_yticks([0, 1, 2], ["0", "1", "2"], size=8.5)
    axes.set_xticks(range(len(places)), places, size=9)
    axes.tick_params(length=3)
    axes.set_xlabel("values per scale", size=9.5)


def _bars(axes: Axes, places: np.ndarray, tops: np.ndarray, width: float, colour: str, alpha: float) -> None:
    """Bars as one collection: matplotlib's `bar` takes a millisecond for each."""
    left, right, zero = places - width / 2, places + width / 2, np.zeros(len(places))
    corners = np.stack([np.stack([left, left, right, right], 1), np.stack([zero, tops, tops, zero], 1)], 2)
    axes.add_collection(PolyCollection(corners, facecolor=colour, alpha=alpha, linewidth=0), autolim=False)


def draw_errors(axes: Axes, data: GroupsizeData) -> None:
    """How relative errors are spread, the highest bar at 1: each is a quarter of an octave, the first one all smaller
    errors."""
    counts, _ = np.histogram(np.clip(data.relative, 0, 1), BINS)
    heights = counts / max(1, counts.max())
    axes.stairs(heights, np.arange(len(BINS)) - 0.5, fill=True, color=LOOK[data.way][0], alpha=0.75, linewidth=0)
    median = data.chosen.error
    axes.axvline(-0.5 if median < BINS[1] else _bin(min(median, 1.0)), color=style.ACCENT, linewidth=1.6)
    axes.text(0, 1.02, f"{data.exact:.0%} exact, {data.lost:.0%} lost; — median", size=9.5, transform=axes.transAxes)


def _bin(error: float) -> float:
    return 0.5 + (math.log2(error) + 12) * 4


def _dress_errors(axes: Axes) -> None:
    axes.set_axis_on()
    axes.set_xticks([_bin(share) for share in TICKS], list(TICKS.values()), size=8.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("relative error of a value", size=9.5)


TICKS = {2.0**-12: "≤0.02 %", 0.01: "1 %", 0.1: "10 %", 1.0: "100 %"}
