"""Three histograms over one axis, and a strip of all codes: what comes in, what is stored, what is lost.

The axis is linear, or logarithmic on both sides of zero (linear within 1/4096 of the largest value), where formats show
what they spend their codes on.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure

from fp8lab.elements import IntegerFormat
from fp8lab.explore import style
from fp8lab.explore.histogram.data import HistogramData

BINS = 160
LINEAR_PART = 2.0**-12  # of the largest value; within it the two-sided log axis is linear
AXES = ("linear", "log")
LEFT, WIDTH = 0.115, 0.86


def histogram_figure(data: HistogramData, axis: str = "linear") -> Figure:
    """Values, stored codes and errors of `data` over one axis ("linear" or "log"), and the codes that are used."""
    if axis not in AXES:
        raise ValueError(f"axis is {axis!r}; it is one of {', '.join(AXES)}")
    with style.settings():
        figure = style.new_figure(height=6.0)
        figure.text(0.02, 0.968, headline(data), size=11.5, weight="bold", va="center")
        edges = bin_edges(data, axis)
        heights = ((0.735, 0.185), (0.515, 0.185), (0.295, 0.185))
        panels = [figure.add_axes((LEFT, bottom, WIDTH, height)) for bottom, height in heights]
        draw_values(panels[0], data, edges)
        draw_stored(panels[1], data, edges)
        draw_errors(panels[2], data, edges)
        for panel in panels:
            _set_axis(panel, edges, axis)
        for panel in panels[:-1]:
            panel.tick_params(labelbottom=False)
        panels[-1].set_xlabel(f"value of x ({axis} axis)", size=9.5)
        draw_codes_used(figure.add_axes((LEFT, 0.095, WIDTH, 0.06)), data)
    return figure


def headline(data: HistogramData) -> str:
    return f"{data.name} → {data.fmt.name}, {_settings(data)}:  SQNR {data.sqnr_db:.1f} dB"


def _settings(data: HistogramData) -> str:
    if data.rule == "1 (none)":
        return "scale 1"
    kind = "" if data.scale_format == "float32" else f", {data.scale_format} scale"
    return f"{data.rule} {data.granularity}{kind}"


def words(data: HistogramData) -> str:
    """The picture in words and numbers, for a screen reader or a plain terminal."""
    low, high = data.scale_range
    scales = f"scale {low:.4g}" if low == high else f"scales {low:.4g} to {high:.4g}"
    return (
        f"{len(data.values)} values of {data.name}, largest {np.abs(data.values).max():.4g}, in {data.fmt.name}, "
        f"{_settings(data)}: {scales}. Codes used: {data.codes_used} of {data.codes_total}; entropy "
        f"{data.entropy_bits:.2f} of {data.fmt.bits} bits; {data.bits_per_value:.2f} bits per value with scales. SQNR "
        f"{data.sqnr_db:.1f} dB, median relative error {data.median_relative_error:.2%}; {data.zeros:.2%} became zero, "
        f"{data.saturated:.2%} saturated."
    )


def bin_edges(data: HistogramData, axis: str) -> np.ndarray:
    """Edges of equally wide bins on that axis, symmetric about zero, over all values and restored values."""
    largest = max(np.abs(data.values).max(), np.abs(data.restored).max()) or 1.0
    if axis == "linear":
        return np.linspace(-largest, largest, BINS + 1)
    smallest = largest * LINEAR_PART
    places = np.linspace(-_fold(largest, smallest), _fold(largest, smallest), BINS + 1)
    return _unfold(places, smallest)


def _fold(x, smallest: float):
    """Linear within `smallest`, then one unit an octave."""
    size = np.abs(x) / smallest
    return np.sign(x) * np.where(size < 1, size, 1 + np.log2(np.maximum(size, 1)))


def _unfold(place, smallest: float):
    size = np.abs(place)
    return np.sign(place) * smallest * np.where(size < 1, size, 2.0 ** (np.maximum(size, 1) - 1))


def _set_axis(axes: Axes, edges: np.ndarray, axis: str) -> None:
    largest = edges[-1]
    if axis == "log":
        smallest = largest * LINEAR_PART
        axes.set_xscale("function", functions=(lambda x: _fold(x, smallest), lambda x: _unfold(x, smallest)))
        ticks = [largest * 2.0**-step for step in (0, 3, 6, 9)]
        ticks = [-tick for tick in ticks] + [0.0] + ticks[::-1]
        axes.set_xticks(ticks, [f"{tick:.2g}".replace("-", "−") for tick in ticks], size=8.5)
        axes.minorticks_off()
    axes.set_xlim(edges[0] * 1.01, edges[-1] * 1.01)
    axes.tick_params(labelsize=8.5, length=3)


def _steps(axes: Axes, edges: np.ndarray, heights: np.ndarray, colour: str) -> None:
    axes.stairs(heights, edges, fill=True, color=colour, alpha=0.75, linewidth=0)
    axes.set_ylim(0, heights.max() * 1.3 or 1)  # room for the note
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def draw_values(axes: Axes, data: HistogramData, edges: np.ndarray) -> None:
    """How many values lie in each bin."""
    counts, _ = np.histogram(data.values, edges)
    _steps(axes, edges, counts, style.MANTISSA)
    _name(axes, "values", f"{len(data.values):,} values")


def draw_stored(axes: Axes, data: HistogramData, edges: np.ndarray) -> None:
    """How many restored values lie in each bin. Square-root height: a comb of few codes keeps its small teeth."""
    counts, _ = np.histogram(data.restored, edges)
    _steps(axes, edges, np.sqrt(counts), style.EXPONENT)
    _name(axes, "restored", "code × scale (√ height)")


def draw_errors(axes: Axes, data: HistogramData, edges: np.ndarray) -> None:
    """The root mean square error in each bin of values: flat for a uniform grid, growing with |x| for a float grid."""
    which = np.clip(np.digitize(data.values, edges) - 1, 0, len(edges) - 2)
    counts = np.bincount(which, minlength=len(edges) - 1)
    squares = np.bincount(which, weights=data.errors**2, minlength=len(edges) - 1)
    rms = np.sqrt(np.divide(squares, counts, out=np.zeros(len(counts)), where=counts > 0))
    _steps(axes, edges, rms, style.SIGN)
    _name(axes, "error", f"RMS per bin, at most {rms.max():.2g}")


def draw_codes_used(axes: Axes, data: HistogramData) -> None:
    """A cell for each code in the order of values, darker the more often it occurs; empty where it never does."""
    shown = np.ma.masked_equal(data.counts[None, :], 0)
    ramp = LinearSegmentedColormap.from_list("used", ["#B9E3D3", style.EXPONENT])
    axes.pcolormesh(shown, cmap=ramp, norm=LogNorm(1, max(2, int(data.counts.max()))), edgecolors="face")
    axes.set(yticks=[], xlim=(0, data.codes_total), ylim=(0, 1))
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)
    ends = f"{data.code_values[-1]:g}"
    axes.set_xticks([0, data.codes_total / 2, data.codes_total], [f"−{ends}", "0", ends], size=8.5)
    axes.tick_params(length=2)
    kind = "integers" if isinstance(data.fmt, IntegerFormat) else "codes in value order"
    used = f"{kind}: {data.codes_used} of {data.codes_total} used"
    axes.set_xlabel(f"{used},  entropy {data.entropy_bits:.2f} of {data.fmt.bits} bits", size=9.5)
    _name(axes, "codes", "")


def _name(axes: Axes, name: str, note: str) -> None:
    """The panel's name on its left, its measure in its upper corner."""
    axes.text(-0.015, 0.5, name, transform=axes.transAxes, ha="right", va="center", weight="bold", size=10)
    if note:
        axes.text(0.995, 0.97, note, transform=axes.transAxes, ha="right", va="top", size=9, alpha=style.QUIET)
