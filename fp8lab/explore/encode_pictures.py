"""The pictures of lesson 02: who owns a border, where overflow begins, what a biased rule costs, rounding twice.

Each has its facts as plain data (`bins`, `edge`, `drift`), which tests hold against the exact formats, and a figure.
Labels are numbers, codes and symbols, so that both languages share them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from matplotlib.axes import Axes

from fp8lab.codec import decode, encode
from fp8lab.explore import style
from fp8lab.explore.still import Still
from fp8lab.formats import E4M3FN, E4M3FNUZ, E5M2, FloatFormat, ulp, value

EVEN, ODD = style.EXPONENT, style.ACCENT


@dataclass(frozen=True)
class Bin:
    """All numbers that round to `code`: from `low` to `high`, borders included (`closed`) or not."""

    code: int
    value: float
    low: float
    high: float
    closed: bool


def bins(codes: range, fmt: FloatFormat = E4M3FN) -> list[Bin]:
    """The bins of positive codes that have both neighbours.

    >>> bins(range(0x58, 0x5A))
    [Bin(code=88, value=16.0, low=15.5, high=17.0, closed=True),
     Bin(code=89, value=18.0, low=17.0, high=19.0, closed=False)]
    """
    found = []
    for code in codes:
        below, here, above = (value(c, fmt) for c in (code - 1, code, code + 1))
        found.append(Bin(code, here, (below + here) / 2, (here + above) / 2, code % 2 == 0))
    return found


def borders_picture(first: int = 0x57, last: int = 0x5B) -> Still:
    """The bins of a few neighbouring codes: the even codes own both of their borders."""
    with style.settings():
        figure = style.new_figure(2.7)
        axes = figure.add_axes((0.03, 0.2, 0.94, 0.66))
        shown = bins(range(first, last + 1))
        for b in shown:
            _draw_bin(axes, b)
        axes.set_xlim(shown[0].low - 0.4, shown[-1].high + 0.4)
        axes.set_ylim(-0.75, 1.15)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xticks(sorted({x for b in shown for x in (b.low, b.value, b.high)}))
        axes.set_xlabel("x")
        axes.set_title("● the border belongs to this code      ○ it does not", pad=8)
    names = ", ".join(f"0x{b.code:02X} ({b.value:g}) {'with' if b.closed else 'without'} its borders" for b in shown)
    return Still(
        figure,
        f"Number line from {shown[0].low:g} to {shown[-1].high:g}; each code takes the numbers around it: {names}",
    )


def _draw_bin(axes: Axes, b: Bin) -> None:
    colour, height = (EVEN, 0.0) if b.closed else (ODD, 0.45)
    axes.plot([b.low, b.high], [height, height], color=colour, linewidth=5, solid_capstyle="butt")
    face = colour if b.closed else style.PAPER
    axes.plot([b.low, b.high], [height] * 2, "o", color=colour, markerfacecolor=face, markersize=9, markeredgewidth=2)
    axes.plot([b.value], [height], "|", color=style.INK, markersize=16, markeredgewidth=2)
    label = f"0x{b.code:02X} = …{b.code & 7:03b}"
    axes.annotate(
        f"{b.value:g}\n{label}", (b.value, height), (0, 12), textcoords="offset points", ha="center", color=colour
    )


@dataclass(frozen=True)
class Edge:
    """The end of a format: largest value, the border behind it, the value that does not exist, who owns the border."""

    fmt: FloatFormat
    top: float
    border: float
    ghost: float
    border_stays: bool


def edge(fmt: FloatFormat) -> Edge:
    """Read off the codec itself: does the border still come out as the largest value, or as NaN?

    >>> [edge(f).border for f in (E4M3FN, E5M2, E4M3FNUZ)], edge(E4M3FN).border_stays, edge(E5M2).border_stays
    ([464.0, 61440.0, 248.0], True, False)
    """
    top, step = fmt.max_finite, ulp(fmt.max_finite, fmt)
    stays = encode(torch.tensor([top + step / 2], dtype=torch.float64), fmt, overflow="nan").item() == fmt.max_code
    return Edge(fmt, top, top + step / 2, top + step, stays)


def edges_picture() -> Still:
    """The last step of three formats, side by side in units of that step."""
    edges = [edge(fmt) for fmt in (E4M3FN, E5M2, E4M3FNUZ)]
    with style.settings():
        figure = style.new_figure(3.6)
        axes = figure.add_axes((0.13, 0.06, 0.85, 0.84))
        for row, e in enumerate(reversed(edges)):
            _draw_edge(axes, e, row)
        axes.set_xlim(-1.35, 1.6)
        axes.set_ylim(-0.55, 2.6)
        axes.set_xticks([])
        axes.set_yticks(range(3), [e.fmt.name for e in reversed(edges)])
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        axes.set_title("— rounds to the largest value      ┄ overflows: saturate, NaN or inf, as you say")
    facts = "; ".join(
        f"{e.fmt}: largest {e.top:g}, border {e.border:g} {'stays' if e.border_stays else 'overflows'}" for e in edges
    )
    return Still(figure, f"Where overflow begins. {facts}")


def _draw_edge(axes: Axes, e: Edge, row: int) -> None:
    step = e.ghost - e.top
    code = e.fmt.max_code
    axes.plot([-1.3, 0.5], [row, row], color=EVEN, linewidth=4, solid_capstyle="butt")
    axes.plot([0.5, 1.5], [row, row], color=ODD, linewidth=4, linestyle=(0, (1.2, 0.8)))
    for place, number in ((-1, e.top - step), (0, e.top)):
        axes.plot([place], [row], "|", color=style.INK, markersize=18, markeredgewidth=2)
        axes.annotate(
            f"{number:g}\n0x{code + place:02X}", (place, row), (0, 11), textcoords="offset points", ha="center"
        )
    axes.plot([1], [row], "|", color=style.MUTED, markersize=18, markeredgewidth=2)
    ghost = f"({e.ghost:g})\n0x{code + 1:02X} = {'inf' if e.fmt.has_inf else 'NaN'}"
    axes.annotate(ghost, (1, row), (0, 11), textcoords="offset points", ha="center", color=style.MUTED)
    face = EVEN if e.border_stays else style.PAPER
    axes.plot([0.5], [row], "o", color=EVEN, markerfacecolor=face, markersize=10, markeredgewidth=2)
    axes.annotate(f"{e.border:g}", (0.5, row), (0, -19), textcoords="offset points", ha="center", color=EVEN)


RULES = {"nearest_even": EVEN, "nearest_away": ODD, "toward_zero": style.MANTISSA}
LABELS = {"nearest_even": "ties to even", "nearest_away": "ties away from 0", "toward_zero": "truncation"}


def drift(count: int = 4096, seed: int = 0) -> dict[str, torch.Tensor]:
    """Sum of the errors decode(encode(x)) - x of bf16 numbers from 1 to 2, in steps of the format, under three rules.

    One tensor of shape [count] per rule. bf16 has 16 numbers per FP8 step here, so one in sixteen is a tie.
    """
    generator = torch.Generator().manual_seed(seed)
    x = (1 + torch.randint(128, (count,), generator=generator) / 128).to(torch.bfloat16).float()
    step = ulp(1.0)
    return {rule: (decode(encode(x, rounding=rule)) - x).double().cumsum(0) / step for rule in RULES}


def drift_picture(count: int = 4096, seed: int = 0) -> Still:
    """What a rule costs in the long run: errors that cancel, and errors that add up."""
    sums = drift(count, seed)
    with style.settings():
        figure = style.new_figure(3.1)
        left, right = figure.add_axes((0.10, 0.19, 0.37, 0.68)), figure.add_axes((0.58, 0.19, 0.40, 0.68))
        for rule, colour in RULES.items():
            for axes in (left, right) if rule != "toward_zero" else (left,):
                axes.plot(range(1, count + 1), sums[rule].tolist(), color=colour, label=LABELS[rule], linewidth=1.8)
        for axes in (left, right):
            axes.axhline(0, color=style.MUTED, linewidth=0.8)
            axes.set_xlabel("numbers added")
        left.set_ylabel("sum of errors (ulp)")
        left.set_title("three rules")
        right.set_title("the same without truncation")
        left.legend(loc="lower left")
        right.legend(loc="upper left")
    ends = ", ".join(f"{LABELS[rule]} {sums[rule][-1].item():+.0f}" for rule in RULES)
    return Still(figure, f"Sum of rounding errors over {count} bf16 numbers, in ulp, at the end: {ends}")


def twice_picture() -> Still:
    """x = 1.0625 + 2^-40 on its two roads to FP8 (not to scale)."""
    with style.settings():
        figure = style.new_figure(3.3)
        axes = figure.add_axes((0.13, 0.04, 0.85, 0.92))
        rows = {"float64": 2.0, "float32": 1.0, "E4M3FN": 0.0}
        for row in rows.values():
            axes.plot([0, 1], [row, row], color=style.MUTED, linewidth=1)
        _marks(axes, 2.0, [(0.39, "x = 1.0625 + $2^{-40}$", ODD)], 10)
        grid = [(0.06, "1.0625 - $2^{-23}$"), (0.33, "1.0625"), (0.6, "1.0625 + $2^{-23}$")]
        _marks(axes, 1.0, [(place, name, style.INK) for place, name in grid], -20)
        _marks(axes, 0.0, [(0.02, "1.0\n0x38, even", style.INK), (0.98, "1.125\n0x39, odd", style.INK)], -34)
        arrows = [((0.39, 2.0), (0.33, 1.0), ODD), ((0.33, 1.0), (0.02, 0.0), ODD), ((0.39, 2.0), (0.98, 0.0), EVEN)]
        for start, end, colour in arrows:
            look = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 6, "shrinkB": 6}
            axes.annotate("", end, start, arrowprops=look)
        axes.text(0.74, 1.12, "once", color=EVEN, weight="bold")
        axes.text(0.26, 0.4, "twice: a tie", color=ODD, weight="bold")
        axes.set_xlim(-0.09, 1.09)
        axes.set_ylim(-0.62, 2.45)
        axes.set_xticks([])
        axes.set_yticks(list(rows.values()), list(rows))
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
    return Still(
        figure, "1.0625 + 2^-40 goes to 0x39 directly; through float32 it becomes 1.0625, a tie, and goes to 0x38"
    )


def _marks(axes: Axes, row: float, marks: list[tuple[float, str, str]], offset: int) -> None:
    for place, name, colour in marks:
        axes.plot([place], [row], "|", color=colour, markersize=16, markeredgewidth=2)
        axes.annotate(name, (place, row), (0, offset), textcoords="offset points", ha="center", color=colour)


def twins_picture() -> Still:
    """The value of every positive byte read as E4M3FN and as E4M3FNUZ: two stairs, a factor of two apart."""
    with style.settings():
        figure = style.new_figure(3.0)
        axes = figure.add_axes((0.09, 0.18, 0.89, 0.76))
        for fmt, colour, last in ((E4M3FN, EVEN, 0x7E), (E4M3FNUZ, ODD, 0x7F)):
            codes = range(1, last + 1)
            axes.step(
                list(codes), [value(c, fmt) for c in codes], where="mid", color=colour, linewidth=2, label=fmt.name
            )
        for code, colour in ((0x38, style.INK), (0x7E, style.INK)):
            pair = value(code, E4M3FN), value(code, E4M3FNUZ)
            axes.plot([code, code], pair, color=colour, linewidth=1, marker="o", markersize=5)
            axes.annotate(
                f"0x{code:02X}: {pair[0]:g} | {pair[1]:g}",
                (code, pair[1]),
                (-6, -24),
                textcoords="offset points",
                ha="right",
            )
        axes.set_yscale("log", base=2)
        axes.set_xticks(range(0, 0x81, 16), [f"0x{c:02X}" for c in range(0, 0x81, 16)])
        axes.set_xlabel("byte")
        axes.set_ylabel("value")
        axes.legend(loc="upper left")
    return Still(figure, "Values of the bytes 0x01 to 0x7F in E4M3FN and in E4M3FNUZ: everywhere a factor of 2 apart")
