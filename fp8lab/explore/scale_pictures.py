"""The pictures of lesson 03: three scales, two rulers, what a wrong scale costs, and when the uniform grid loses.

Facts first (`three_scales`, `sweep`, `crest_points`: plain data that tests measure), then figures of them. Labels are
numbers and symbols, so that both languages share them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from fp8lab.codec import decode, encode
from fp8lab.explore import style
from fp8lab.explore.still import Still
from fp8lab.formats import E4M3FN, value
from fp8lab.metrics import sqnr_db

INT8, FP8 = style.MANTISSA, style.EXPONENT
INT8_MAX = 127.0
NOISE_OF_UNIFORM_STEP = 12.0  # the mean square of an error spread evenly over a step is step^2 / 12


def int8_round_trip(x: torch.Tensor, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """(codes, restored) of the symmetric int8 grid."""
    codes = torch.round(x / scale).clamp(-INT8_MAX, INT8_MAX)
    return codes.to(torch.int8), codes * scale


def fp8_round_trip(x: torch.Tensor, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """(codes, restored) of E4M3FN, saturating."""
    codes = encode(x / scale)
    return codes, decode(codes) * scale


def normal_data(count: int = 4096, seed: int = 0) -> torch.Tensor:
    """Standard normal float32 values, shape [count]."""
    return torch.randn(count, generator=torch.Generator().manual_seed(seed))


@dataclass(frozen=True)
class Attempt:
    """int8 codes of the same data under one scale; `factor` is that scale over absmax / 127."""

    factor: float
    codes: torch.Tensor
    used: int
    sqnr: float


def three_scales(x: torch.Tensor | None = None, factors: tuple[float, ...] = (1 / 4, 1.0, 16.0)) -> list[Attempt]:
    """The same data with a scale too small, right, and too large.

    >>> [(a.factor, a.used) for a in three_scales(torch.tensor([-2.0, -1.0, 0.1, 1.0]), (1.0, 256.0))]
    [(1.0, 4), (256.0, 1)]
    """
    x = normal_data() if x is None else x
    best = x.abs().amax().item() / INT8_MAX
    attempts = []
    for factor in factors:
        codes, restored = int8_round_trip(x, best * factor)
        attempts.append(Attempt(factor, codes, len(codes.unique()), sqnr_db(x, restored)))
    return attempts


def three_scales_picture() -> Still:
    """Histograms of the codes: a spike at each end, the whole grid, a few bars in the middle."""
    attempts = three_scales()
    with style.settings():
        figure = style.new_figure(2.9)
        for number, a in enumerate(attempts):
            axes = figure.add_axes((0.07 + number * 0.32, 0.2, 0.27, 0.58))
            axes.hist(a.codes.tolist(), bins=[c - 0.5 for c in range(-128, 129, 3)] + [128.5], color=INT8)
            axes.set_xlim(-131, 131)
            axes.set_xticks([-127, 0, 127])
            axes.set_xlabel("int8 code")
            axes.set_title(f"scale × {a.factor:g}\n{a.used} codes used, {a.sqnr:.1f} dB")
            if number == 0:
                axes.set_ylabel("values")
    facts = "; ".join(f"scale × {a.factor:g}: {a.used} codes, {a.sqnr:.1f} dB" for a in attempts)
    return Still(figure, f"int8 codes of the same 4096 normal values with three scales. {facts}")


def rulers_picture(absmax: float = 448.0) -> Still:
    """Both grids between 0 and absmax: equal steps, and steps that grow with the value."""
    uniform = [absmax / INT8_MAX * code for code in range(128)]
    floating = [value(code, E4M3FN) * absmax / E4M3FN.max_finite for code in range(0x7F)]
    with style.settings():
        figure = style.new_figure(3.0)
        for row, (low, high) in enumerate(((0.0, absmax), (0.0, absmax / 28))):
            axes = figure.add_axes((0.1, 0.6 - row * 0.46, 0.87, 0.3))
            for height, (points, colour) in enumerate(((floating, FP8), (uniform, INT8))):
                inside = [p for p in points if low <= p <= high * 1.0001]
                axes.vlines(inside, height + 0.1, height + 0.9, color=colour, linewidth=1.2)
            axes.set_xlim(low - 0.01 * high, high * 1.01)
            axes.set_yticks([0.5, 1.5], ["E4M3FN", "int8"])
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
            axes.set_xticks([0, high / 4, high / 2, 3 * high / 4, high])
            if row:
                axes.set_title("the first 1/28, enlarged", pad=2, fontsize=9.5, color=style.MUTED, loc="right")
    counts = [sum(p <= absmax / 28 for p in points) for points in (uniform, floating)]
    words = f"of 128 int8 and 127 E4M3FN values, {counts[0]} and {counts[1]} lie in the first 1/28"
    return Still(figure, f"Grids from 0 to {absmax:g}: {words}")


def sweep(octaves: int = 10, per_octave: int = 4) -> dict[str, list[tuple[float, float]]]:
    """SQNR against the scale, for normal data: (scale over absmax / qmax, dB) per format, from 2^-octaves to
    2^octaves."""
    x = normal_data()
    absmax = x.abs().amax().item()
    factors = [2.0 ** (step / per_octave) for step in range(-octaves * per_octave, octaves * per_octave + 1)]
    ways = {"int8": (int8_round_trip, INT8_MAX), "E4M3FN": (fp8_round_trip, E4M3FN.max_finite)}
    return {
        name: [(factor, sqnr_db(x, round_trip(x, absmax / qmax * factor)[1])) for factor in factors]
        for name, (round_trip, qmax) in ways.items()
    }


def sweep_picture() -> Still:
    """How exactly the scale must be right: a peak for int8, a plateau for FP8."""
    curves = sweep()
    with style.settings():
        figure = style.new_figure(3.2)
        axes = figure.add_axes((0.09, 0.18, 0.89, 0.74))
        for (name, points), colour in zip(curves.items(), (INT8, FP8), strict=True):
            axes.plot([f for f, _ in points], [db for _, db in points], color=colour, linewidth=2, label=name)
        axes.axvline(1, color=style.MUTED, linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks([2.0**e for e in range(-10, 11, 2)])
        axes.set_xlabel("scale / (absmax / qmax)")
        axes.set_ylabel("SQNR (dB)")
        axes.legend(loc="upper right")
        axes.set_ylim(-2, 46)
    best = ", ".join(f"{name} at most {max(db for _, db in points):.1f} dB" for name, points in curves.items())
    return Still(figure, f"SQNR against the scale for normal data, from 1/1024 to 1024 times absmax / qmax: {best}")


@dataclass(frozen=True)
class CrestPoint:
    """Data with one measured pair: crest = absmax / rms, and the SQNR of both formats at scale absmax / qmax."""

    name: str
    crest: float
    int8_db: float
    fp8_db: float


def uniform_grid_db(crest: float) -> float:
    """SQNR that a uniform grid of 127 steps to absmax promises: 10 log10(12 · 127²) - 20 log10(crest).

    >>> round(uniform_grid_db(1.0), 1), round(uniform_grid_db(10.0), 1)
    (52.9, 32.9)
    """
    return 10 * math.log10(NOISE_OF_UNIFORM_STEP * INT8_MAX**2) - 20 * math.log10(crest)


def crest_point(name: str, x: torch.Tensor) -> CrestPoint:
    """Measured on x."""
    absmax, rms = x.abs().amax().item(), x.double().square().mean().sqrt().item()
    integer = int8_round_trip(x, absmax / INT8_MAX)[1]
    floating = fp8_round_trip(x, absmax / E4M3FN.max_finite)[1]
    return CrestPoint(name, absmax / rms, sqnr_db(x, integer), sqnr_db(x, floating))


def crest_points(seed: int = 0) -> list[CrestPoint]:
    """Data from a flat box to normal values with one outlier of growing size."""
    g = torch.Generator().manual_seed(seed)
    data = {"uniform": torch.rand(16384, generator=g) * 2 - 1, "normal": torch.randn(16384, generator=g)}
    for size in (8.0, 12.0, 20.0, 40.0):
        x = torch.randn(16384, generator=g)
        x[0] = size
        data[f"outlier {size:g}"] = x
    return [crest_point(name, x) for name, x in data.items()]


def crest_picture() -> Still:
    """Prediction as lines, measurement as dots: int8 falls with the crest factor, FP8 does not care."""
    points = crest_points()
    with style.settings():
        figure = style.new_figure(3.4)
        axes = figure.add_axes((0.09, 0.17, 0.89, 0.75))
        line = [2.0 ** (step / 8) for step in range(0, 48)]
        axes.plot(
            line, [uniform_grid_db(c) for c in line], color=INT8, linewidth=1.5, label="int8: 52.9 - 20 log crest"
        )
        axes.axhline(31.5, color=FP8, linewidth=1.5, label="E4M3FN: 31.5")
        for p in points:
            axes.plot([p.crest], [p.int8_db], "o", color=INT8)
            axes.plot([p.crest], [p.fp8_db], "s", color=FP8)
            axes.annotate(p.name, (p.crest, p.int8_db), (6, 5), textcoords="offset points", color=style.INK)
        axes.set_xscale("log", base=2)
        axes.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
        axes.set_xlabel("crest factor: absmax / rms")
        axes.set_ylabel("SQNR (dB)")
        axes.set_ylim(14, 56)
        axes.legend(loc="upper right")
    facts = "; ".join(f"{p.name}: crest {p.crest:.1f}, int8 {p.int8_db:.1f}, E4M3FN {p.fp8_db:.1f}" for p in points)
    return Still(figure, f"SQNR in dB against the crest factor. {facts}")
