"""The picture: error against group size for every way, bytes under it, and beside it the errors of one setting."""

from __future__ import annotations

import math

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
BINS = np.concatenate([[0.0], 2.0 ** np.arange(-12, 0.5, 0.25)])


def groupsize_figure(data: GroupsizeData, metric: str = "error") -> Figure:
    """Curves by "error" (median relative error) or "sqnr", bytes per value, and the histogram of the chosen setting."""
    if metric not in METRICS:
        raise ValueError(f"metric is {metric!r}; it is one of {', '.join(METRICS)}")
    with style.settings():
        figure = style.new_figure(height=4.6)
        figure.text(0.02, 0.955, headline(data), size=11.5, weight="bold", va="center")
        draw_curves(figure.add_axes((0.10, 0.36, 0.52, 0.53)), data, metric)
        draw_bytes(figure.add_axes((0.10, 0.12, 0.52, 0.19)), data)
        draw_errors(figure.add_axes((0.70, 0.43, 0.28, 0.46)), data)
        draw_legend(figure.add_axes((0.70, 0.03, 0.28, 0.25)), data)
    return figure


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
    """What is drawn of a curve: NaN where it leaves the picture."""
    points = data.curves[name]
    if metric == "error":
        return [p.error if p.error >= SMALLEST else math.nan for p in points]
    return [p.sqnr_db if p.sqnr_db <= LOUDEST else math.nan for p in points]


def draw_curves(axes: Axes, data: GroupsizeData, metric: str) -> None:
    here = data.places.index(data.place)
    axes.axvline(here, color=style.MUTED, linewidth=6, alpha=0.16)
    for name, (colour, line) in LOOK.items():
        chosen = name == data.way
        values = heights(data, name, metric)
        axes.plot(values, color=colour, linestyle=line, linewidth=2.6 if chosen else 1.6, zorder=3 if chosen else 2)
        if chosen:
            axes.plot([here], [values[here]], "o", color=colour, markersize=9, zorder=4)
    if metric == "error":
        axes.set(yscale="log", ylim=(SMALLEST, 1.5), ylabel="median relative error")
        axes.set_yticks([0.001, 0.01, 0.1, 1.0], ["0.1 %", "1 %", "10 %", "100 %"])
        axes.minorticks_off()
    else:
        axes.set(ylim=(0, LOUDEST), ylabel="SQNR (dB)")
    axes.set_xticks([])
    _set_places(axes, data)


def _set_places(axes: Axes, data: GroupsizeData) -> None:
    axes.set_xlim(-0.5, len(data.places) - 0.5)
    axes.axvline(sum(p.isdigit() for p in data.places) - 0.5, color=style.MUTED, linewidth=0.8, alpha=0.6)


def draw_bytes(axes: Axes, data: GroupsizeData) -> None:
    """Bytes per value of the chosen way; from 2 on, bf16 is as small."""
    costs = [p.bytes_per_value for p in data.curves[data.way]]
    here = data.places.index(data.place)
    colour = LOOK[data.way][0]
    _bars(axes, np.arange(len(costs)), np.array(costs), 0.62, colour, 0.35)
    _bars(axes, np.array([here]), np.array([costs[here]]), 0.62, colour, 0.6)
    for place, cost in enumerate(costs):
        axes.text(place, min(cost, 2.5) + 0.08, f"{cost:.3g}", ha="center", va="bottom", size=8)
    axes.axhline(2, color=style.MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.text(len(costs) - 0.55, 2.06, "bf16", ha="right", va="bottom", size=8, alpha=style.QUIET)
    axes.set(ylim=(0, 3.2), ylabel="bytes")
    axes.set_yticks([0, 1, 2], ["0", "1", "2"], size=8.5)
    axes.set_xticks(range(len(costs)), data.places, size=9)
    axes.tick_params(length=3)
    axes.set_xlabel("values per scale", size=9.5)
    _set_places(axes, data)


def _bars(axes: Axes, places: np.ndarray, tops: np.ndarray, width: float, colour: str, alpha: float) -> None:
    """Bars as one collection: matplotlib's `bar` takes a millisecond for each."""
    left, right, zero = places - width / 2, places + width / 2, np.zeros(len(places))
    corners = np.stack([np.stack([left, left, right, right], 1), np.stack([zero, tops, tops, zero], 1)], 2)
    axes.add_collection(PolyCollection(corners, facecolor=colour, alpha=alpha, linewidth=0), autolim=False)


def draw_errors(axes: Axes, data: GroupsizeData) -> None:
    """How relative errors are spread: each bar is a quarter of an octave, the first one all smaller errors."""
    counts, _ = np.histogram(np.clip(data.relative, 0, 1), BINS)
    shares = counts / max(1, counts.sum())
    axes.stairs(shares, np.arange(len(BINS)) - 0.5, fill=True, color=LOOK[data.way][0], alpha=0.75, linewidth=0)
    axes.set_ylim(0, 1.06 * shares.max() or 1)
    median = data.chosen.error
    where = -0.5 if median < BINS[1] else 0.5 + (math.log2(min(median, 1.0)) + 12) * 4
    axes.axvline(where, color=style.ACCENT, linewidth=1.6)
    axes.set_xlim(-1, len(shares))
    ticks = {0.5 + (math.log2(share) + 12) * 4: label for share, label in TICKS.items()}
    axes.set_xticks(list(ticks), list(ticks.values()), size=8.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("relative error of a value", size=9.5)
    axes.set_title(f"{data.exact:.0%} exact, {data.lost:.0%} lost; — median", size=9.5)


TICKS = {2.0**-12: "≤0.02 %", 0.01: "1 %", 0.1: "10 %", 1.0: "100 %"}


def draw_legend(axes: Axes, data: GroupsizeData) -> None:
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(len(WAYS) - 0.5, -0.5))
    for row, (name, (colour, line)) in enumerate(LOOK.items()):
        chosen = name == data.way
        axes.plot([0.0, 0.13], [row, row], color=colour, linestyle=line, linewidth=2.6 if chosen else 1.6)
        label = name.replace("2^n", "power-of-two scale")
        axes.text(0.17, row, label, va="center", size=9, weight="bold" if chosen else "normal")
