"""The pictures of lesson 05: who shares a scale, who pays, which axis by which measure, powers of two, folding.

Their facts are in `fp8lab.explore.granularity_facts`. Labels are numbers, names and symbols, so that both languages
share them.
"""

from __future__ import annotations

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from fp8lab.explore import style
from fp8lab.explore.granularity_facts import HEAD_SIZES, RULES, axis_table, head_errors
from fp8lab.explore.still import Still
from fp8lab.granularity import PerHead, PerTensor

# ---- who shares a scale

SHARED = (  # title, how many scales along tokens and channels of one head, shape of the scales
    ("per tensor", "1, 1", lambda head, t, c: 0),
    ("per head", "H, 1, 1", lambda head, t, c: head),
    ("per token", "H, T, 1", lambda head, t, c: head * 8 + t),
    ("per channel", "H, 1, D", lambda head, t, c: head * 12 + c),
    ("channel × 4 tokens", "H, T/4, D", lambda head, t, c: head * 24 + t // 4 * 12 + c),
    ("token × 6 channels", "H, T, D/6", lambda head, t, c: head * 16 + t * 2 + c // 6),
)
SHADES = (style.EXPONENT, style.MANTISSA, style.SUBNORMAL, style.SIGN, style.MUTED)


def sharing_picture() -> Still:
    """Two heads of 8 tokens and 12 channels, six times: neighbours of one colour share a scale."""
    with style.settings():
        figure = style.new_figure(2.9)
        for place, (title, shape, group) in enumerate(SHARED):
            axes = figure.add_axes((0.085 + 0.154 * place, 0.12, 0.14, 0.68))
            for head in range(2):
                for t in range(8):
                    for c in range(12):
                        number = group(head, t, c)
                        colour = SHADES[(number * (3 if place < 4 else 2)) % len(SHADES)]
                        box = Rectangle((c, 9 * head + t), 0.9, 0.9, facecolor=colour, alpha=0.75, linewidth=0)
                        axes.add_patch(box)
            axes.set(xlim=(-0.3, 12.2), ylim=(17.3, -0.3), xticks=[], yticks=[])
            for side in axes.spines.values():
                side.set_visible(False)
            axes.set_title(f"{title}\n[{shape}]", size=9, loc="center")
            axes.set_xlabel("channels", size=9)
            if place == 0:
                axes.set_yticks([4, 13], ["head 0\ntokens", "head 1\ntokens"], size=9)
                axes.tick_params(length=0)
    names = ", ".join(title for title, *_ in SHARED)
    return Still(figure, f"Two heads, tokens down, channels across; one colour is one scale: {names}")


# ---- who pays


def heads_picture() -> Still:
    """Median error of each head, one scale for all and one for each; above it what a report would say."""
    told = []
    with style.settings():
        figure = style.new_figure(2.9)
        ways = (("one scale per tensor", PerTensor()), ("one scale per head", PerHead()))
        for place, (title, way) in enumerate(ways):
            each, overall, sqnr = head_errors(way)
            axes = figure.add_axes((0.09 + 0.48 * place, 0.17, 0.42, 0.62))
            for head, error in enumerate(each):
                colour = style.ACCENT if error > 0.1 else style.EXPONENT
                axes.bar([head], [error], 0.62, color=colour, alpha=0.8)
                axes.text(head, error * 1.15, f"{error:.1%}", ha="center", va="bottom", size=9.5)
            axes.axhline(overall, color=style.INK, linewidth=1.2, linestyle=(0, (4, 3)))
            axes.set(yscale="log", ylim=(0.01, 4))
            axes.set_yticks([0.01, 0.1, 1.0], ["1 %", "10 %", "100 %"])
            axes.minorticks_off()
            axes.set_xticks(range(4), [f"×{size:g}" for size in HEAD_SIZES])
            axes.set_xlabel("head, by the size of its values")
            axes.set_title(f"{title}\nSQNR {sqnr:.1f} dB, median of all values {overall:.1%} (dashed)", size=10)
            told.append(f"{title}: SQNR {sqnr:.1f} dB, heads " + ", ".join(f"{e:.1%}" for e in each))
        figure.axes[0].set_ylabel("median relative error")
    return Still(figure, "; ".join(told))


# ---- two measures, two winners


def measures_picture() -> Still:
    """K in E4M3FN and int8: SQNR of the tensor across, error of the attention output up; one point for each axis."""
    told = []
    with style.settings():
        figure = style.new_figure(3.3)
        for place, (fmt, colour) in enumerate((("E4M3FN", style.EXPONENT), ("int8", style.MANTISSA))):
            axes = figure.add_axes((0.09 + 0.49 * place, 0.16, 0.4, 0.74))
            table = axis_table(fmt)
            _draw_measures(axes, {name: row[:2] for name, row in table.items()}, colour, LEFT[fmt])
            axes.set_title(f"K in {fmt}")
            best = max(table, key=lambda name: table[name][0]), min(table, key=lambda name: table[name][1])
            told.append(f"K in {fmt}: highest SQNR {best[0]}, smallest output error {best[1]}")
        figure.axes[0].set_ylabel("error of the attention output")
    return Still(figure, "; ".join(told))


LEFT = {"E4M3FN": ("tensor", "channel", "token × 32 channels"), "int8": ("channel", "channel × 32 tokens")}  # labels


def _draw_measures(axes: Axes, points: dict[str, tuple[float, float]], colour: str, left: tuple[str, ...]) -> None:
    for name, (sqnr, error) in points.items():
        axes.plot([sqnr], [error], "o", color=colour, markersize=8)
        side = ("right", -8) if name in left else ("left", 8)
        place = {"textcoords": "offset points", "ha": side[0], "va": "center", "size": 9}
        axes.annotate(name, (sqnr, error), (side[1], -10 if sqnr > 42 and error > 0.02 else 0), **place)
    axes.set(yscale="log", xlim=(25, 48), ylim=(5e-3, 0.3), xlabel="SQNR of K (dB): better →")
    axes.set_yticks([0.01, 0.03, 0.1], ["1 %", "3 %", "10 %"])
    axes.minorticks_off()


# ---- powers of two


def powers_picture() -> Still:
    """Stored scale over wanted scale, for absmax over two octaves; below 1 the largest value clips."""
    wanted = torch.logspace(0, 2, 1025, base=2)[:-1]
    looks = {"2^n, up": style.EXPONENT, "2^n, nearest": style.MANTISSA, "2^n, down": style.SIGN}
    with style.settings():
        figure = style.new_figure(2.5)
        for place, (name, colour) in enumerate(looks.items()):
            axes = figure.add_axes((0.085 + 0.31 * place, 0.21, 0.28, 0.65))
            ratio = RULES[name](wanted) / wanted
            clips = bool((ratio < 1).any())
            axes.axhspan(0.4, 1, color=style.ACCENT, alpha=0.12, linewidth=0)
            ratio[1:][ratio.diff().abs() > 0.2] = torch.nan
            axes.plot(wanted, ratio, color=colour, linewidth=2.4)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log", base=2)
            axes.set(xlim=(1, 4), ylim=(0.45, 2.2), xlabel="wanted scale, absmax ÷ 448")
            axes.set_xticks([1, 1.5, 2, 3, 4], ["1", "1.5", "2", "3", "4"])
            axes.set_yticks([0.5, 1, 2], ["0.5", "1", "2"] if place == 0 else [])
            axes.minorticks_off()
            axes.set_title(name.replace("2^n", "$2^n$"))
            if clips:
                axes.text(1.1, 1.75, "below 1: absmax clips", size=9, color=style.ACCENT)
        figure.axes[0].set_ylabel("stored ÷ wanted")
    return Still(
        figure,
        "Scales rounded up to powers of two lie 1 to 2 times above the wanted ones and nothing clips; rounded to "
        "nearest or down they lie below for part of each octave or all of it, and absmax clips",
    )


# ---- where scales fold

PLACES = (
    ("scale changes along", "K goes into", "V goes into", "products per head and step"),
    ("nothing: per head", "softmax scale", "output", "1"),
    ("channels", "query", "output", "head_dim"),
    ("tokens", "score column", "probabilities", "tokens"),
    ("both: groups", "nowhere", "nowhere", "tokens × head_dim"),
)
PRODUCTS = (  # what is cached in grey, what a scale may be put on in blue
    ("query", style.MANTISSA),
    ("· codes of K", style.MUTED),
    ("→ scores → softmax →", style.INK),
    ("probabilities", style.MANTISSA),
    ("· codes of V", style.MUTED),
    ("→ output", style.MANTISSA),
)


def fold_picture() -> Still:
    """The table of places, with the two products drawn above it."""
    left = (0.02, 0.29, 0.51, 0.72)
    with style.settings():
        figure = style.new_figure(3.1)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.axis("off")
        x = 0.02
        for text, colour in PRODUCTS:
            drawn = axes.text(x, 0.9, text, color=colour, size=11.5, weight="bold", va="center")
            x += drawn.get_window_extent(figure.canvas.get_renderer()).width / figure.bbox.width + 0.014
        for row, cells in enumerate(PLACES):
            y = 0.74 - 0.155 * row
            if row:
                axes.plot([0.02, 0.98], [y + 0.078, y + 0.078], color=style.MUTED, linewidth=0.6, alpha=0.6)
            for place, cell in zip(left, cells):
                colour = style.ACCENT if cell == "nowhere" else style.INK
                bold = row == 0 or cell == "nowhere"
                axes.text(place, y, cell, va="center", size=10.5, color=colour, weight="bold" if bold else "normal")
    told = "; ".join(f"{what}: K {k}, V {v}" for what, k, v, _ in PLACES[1:])
    return Still(figure, f"Where a scale folds: {told}")
