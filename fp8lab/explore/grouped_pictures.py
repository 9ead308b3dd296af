"""The pictures of lesson 04: a ruler for each group, who wears which ruler, why FP8 does not care, what a scale costs.

Each has its facts as plain data (`rulers`, `relative_steps`, `prices`, `group_table`), which tests hold against
`fp8lab.quantize`, and a figure. Labels are numbers, names and symbols, so that both languages share them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from fp8lab.elements import element_format
from fp8lab.explore import style
from fp8lab.explore.still import Still
from fp8lab.formats import E8M0FNU
from fp8lab.granularity import Group, PerToken
from fp8lab.metrics import relative_error, sqnr_db
from fp8lab.quantize import quantize

OUTLIER_CHANNELS = (7, 33, 64, 110)
LOST, KEPT, RULER = style.ACCENT, style.EXPONENT, style.INK
COLOURS = {"int8": style.MANTISSA, "E4M3FN": style.EXPONENT, "int4": style.SUBNORMAL}


def keys_with_outliers(tokens: int = 4096, strength: float = 20.0, seed: int = 0) -> torch.Tensor:
    """Normal numbers [tokens, 128], four channels `strength` times larger: what K of many models looks like."""
    x = torch.randn(tokens, 128, generator=torch.Generator().manual_seed(seed))
    x[:, list(OUTLIER_CHANNELS)] *= strength
    return x


def group_table(sizes: tuple[int, ...] = (128, 64, 32, 16, 8)) -> dict[str, list[tuple[float, float]]]:
    """(median relative error, SQNR in dB) of the keys above for each group size: int8, E4M3FN, and E4M3FN with a
    power-of-two scale.

    >>> [f"{error:.4f}" for error, _ in group_table((128, 16))["int8"]]
    ['0.0705', '0.0105']
    """
    x, found = keys_with_outliers(), {}
    settings = {"int8": torch.float32, "E4M3FN": torch.float32, "E4M3FN, 2^n": E8M0FNU}
    for name, storage in settings.items():
        restored = [quantize(x, name.split(",")[0], Group(size), scale_format=storage).dequantize() for size in sizes]
        found[name] = [(relative_error(x, back, (0.5,)).quantiles[0.5], sqnr_db(x, back)) for back in restored]
    return found


# ---- one row under two rulers


@dataclass(frozen=True)
class Rulers:
    """A row of keys, the int8 step at each value, and which values become zero."""

    group: int
    values: torch.Tensor
    steps: torch.Tensor
    zeros: torch.Tensor


def rulers(group: int, row: int = 3, strength: float = 100.0) -> Rulers:
    """Row `row` of the keys above in int8 with groups of that size; the step is the scale, value = code × scale."""
    x = keys_with_outliers(strength=strength)[row : row + 1]
    made = quantize(x, "int8", Group(group))
    steps = made.scales.repeat_interleave(group, -1)[0, : x.shape[-1]]
    return Rulers(group, x[0], steps, (made.codes[0] == 0) & (x[0] != 0))


def rulers_picture() -> Still:
    """The same row with one ruler and with eight: what lies in the shade becomes zero."""
    shown = [rulers(128), rulers(16)]
    with style.settings():
        figure = style.new_figure(4.3)
        for place, data in enumerate(shown):
            axes = figure.add_axes((0.08, 0.57 - 0.46 * place, 0.9, 0.34))
            _draw_ruler(axes, data)
        axes.set_xlabel("channel of one key vector (head_dim 128)")
    lost = "; ".join(f"in groups of {data.group} {int(data.zeros.sum())} of 128 values become 0" for data in shown)
    return Still(figure, f"One row of keys, four channels 100 times larger, in int8, size on a log axis: {lost}")


def _draw_ruler(axes: Axes, data: Rulers) -> None:
    where = torch.arange(len(data.values))
    for mask, colour, face in ((~data.zeros, KEPT, KEPT), (data.zeros, LOST, "none")):
        chosen = where[mask]
        axes.plot(chosen, data.values[mask].abs(), "o", color=colour, markerfacecolor=face, markersize=4.5)
    edges = [*where.tolist(), len(where)]
    axes.stairs(data.steps / 2, [e - 0.5 for e in edges], baseline=1e-3, fill=True, color=LOST, alpha=0.16)
    axes.stairs(data.steps, [e - 0.5 for e in edges], baseline=None, color=RULER, linewidth=1.6)
    axes.set(yscale="log", xlim=(-1, len(where)), ylim=(2e-3, 600), ylabel="size")
    axes.set_xticks(range(0, len(where) + 1, 16))
    groups = len(where) // data.group
    rulers_text = "1 ruler" if groups == 1 else f"{groups} rulers"
    axes.set_title(f"int8, {rulers_text}   — step   ● kept   ○ becomes 0: {int(data.zeros.sum())} of {len(where)}")


# ---- which values share a scale


def layout_picture(head_dim: int = 96, size: int = 64, tokens: int = 3) -> Still:
    """kv [tokens, head_dim] and its scales [tokens, n_groups]; the last group of a row is short."""
    counts = [min(size, head_dim - start) for start in range(0, head_dim, size)]
    colours = [style.EXPONENT, style.MANTISSA, style.SUBNORMAL, style.ACCENT]
    with style.settings():
        figure = style.new_figure(2.5)
        axes = figure.add_axes((0.02, 0.03, 0.96, 0.94))
        unit, scale_at = 0.62 / head_dim, 0.74
        for token in range(tokens):
            y, start = 0.6 - 0.24 * token, 0
            axes.text(0.0, y + 0.08, f"token {token}", va="center")
            for g, count in enumerate(counts):
                colour = colours[g % len(colours)]
                box = (0.085 + start * unit, y), count * unit - 0.004, 0.16
                axes.add_patch(Rectangle(*box, facecolor=colour, alpha=0.22, edgecolor=colour, linewidth=1.4))
                label = f"group {g}: {count} codes" if token == 0 else f"{start} … {start + count - 1}"
                axes.text(box[0][0] + box[1] / 2, y + 0.08, label, ha="center", va="center", size=9.5)
                mark = (scale_at + 0.13 * g, y + 0.02), 0.11, 0.12
                axes.add_patch(Rectangle(*mark, facecolor=colour, edgecolor=colour))
                name = f"scale[{token}, {g}]"
                place = (mark[0][0] + 0.055, y + 0.08)
                axes.text(*place, name, ha="center", va="center", color=style.WHITE_TEXT, size=8.5)
                start += count
        axes.text(0.085, 0.87, f"kv_q  [{tokens}, {head_dim}] int8, kv_group_size {size}", weight="bold")
        axes.text(scale_at, 0.87, f"kv_scale  [{tokens}, {len(counts)}] float32", weight="bold")
        axes.set(xlim=(0, 1.01), ylim=(0, 1))
        axes.axis("off")
    sizes = " and ".join(map(str, counts))
    return Still(
        figure, f"Each of {tokens} rows of {head_dim} codes has {len(counts)} groups, of {sizes}, and as many scales"
    )


# ---- why FP8 does not care


def relative_steps(name: str, octaves: int = 18, per_octave: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    """(size of a value as a share of its group's absmax, largest relative error near that size), absmax exactly on
    the largest code. Measured: every size is quantized, and the largest error in each eighth of an octave is taken."""
    exponents = -torch.arange(0, octaves, 1 / per_octave, dtype=torch.float64)
    x = torch.cat([2.0 ** exponents.reshape(-1, 1), torch.ones(len(exponents), 1)], dim=1)  # [value, absmax]
    x = x * float(element_format(name).max_finite)
    restored = quantize(x.float(), name, Group(2)).dequantize().double()
    error = ((restored - x.float().double()).abs() / x.float().double())[:, 0]
    window = per_octave // 2
    largest = torch.nn.functional.max_pool1d(error[None, None], 2 * window + 1, 1, window)[0, 0]
    return 2.0**exponents, largest


def steps_picture() -> Still:
    """How wrong a value can be, by its size within the group: a slope for integers, a plateau for floats."""
    with style.settings():
        figure = style.new_figure(3.4)
        axes = figure.add_axes((0.105, 0.17, 0.875, 0.72))
        for name, colour in COLOURS.items():
            share, error = relative_steps(name)
            axes.plot(share, error, color=colour, linewidth=2.2, label=name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=10)
        axes.set(xlim=(1.0, 2.0**-17.9), ylim=(2e-3, 1.6))
        axes.set_xticks([2.0**-k for k in range(0, 18, 2)], ["1", *(f"$2^{{-{k}}}$" for k in range(2, 18, 2))])
        axes.set_yticks([0.01, 0.0625, 1.0], ["1 %", "6.25 %", "100 %"])
        axes.minorticks_off()
        axes.set_xlabel("size of the value ÷ absmax of its group")
        axes.set_ylabel("largest relative error")
        axes.set_title("integers: error ∝ absmax ÷ value      E4M3FN: 1/17 over 15 octaves, whatever the absmax")
        axes.legend(loc="lower right")
    return Still(
        figure,
        "Largest relative error against size over absmax: int8 and int4 double with each halving of the value until "
        "it is lost; E4M3FN stays at 1/17 down to 2^-15 of absmax",
    )


# ---- what a scale costs and buys


@dataclass(frozen=True)
class Price:
    """One way to store the keys: bytes per value with scales, and the median relative error."""

    name: str
    group: int
    bytes_per_value: float
    error: float


def prices(strength: float = 20.0) -> list[Price]:
    """int8, E4M3FN and int4 with float32 scales at group sizes from 128 to 4."""
    x, found = keys_with_outliers(1024, strength), []
    for name in COLOURS:
        for size in (128, 64, 32, 16, 8, 4):
            made = quantize(x, name, PerToken() if size == 128 else Group(size))
            error = relative_error(x, made.dequantize(), (0.5,)).quantiles[0.5]
            found.append(Price(name, size, made.bits_per_value / 8, error))
    return found


def prices_picture() -> Still:
    """Error against bytes, one line for each format; the numbers at the points are group sizes."""
    shown = {1.0: prices(1.0), 20.0: prices(20.0)}
    with style.settings():
        figure = style.new_figure(3.7)
        for place, (strength, found) in enumerate(shown.items()):
            axes = figure.add_axes((0.1 + 0.47 * place, 0.15, 0.42, 0.75))
            _draw_prices(axes, found)
            axes.set_title("no outliers" if strength == 1 else f"4 outlier channels, ×{strength:g}")
            axes.set_xlabel("bytes per value, float32 scales included")
        figure.axes[0].set_ylabel("median relative error")
        figure.axes[0].legend(loc="lower left")
    cheapest = {name: [p for p in shown[20.0] if p.name == name] for name in COLOURS}
    told = "; ".join(f"{name} {c[0].error:.1%} to {c[-1].error:.1%}" for name, c in cheapest.items())
    return Still(figure, f"Error against bytes per value for groups of 128 to 4, with outliers: {told}")


def _draw_prices(axes: Axes, found: list[Price]) -> None:
    for name, colour in COLOURS.items():
        own = [p for p in found if p.name == name]
        axes.plot(
            [p.bytes_per_value for p in own], [p.error for p in own], "o-", color=colour, label=name, markersize=5
        )
        for p in (p for p in own if p.group not in (32, 64)):  # their labels would cover each other
            up = name != "int8"
            axes.annotate(
                str(p.group), (p.bytes_per_value, p.error), (0, 6 if up else -13), textcoords="offset points",
                ha="center", size=8, color=colour,
            )  # fmt: skip
    axes.axvline(2, color=style.MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.text(1.97, 2.2e-3, "bf16", ha="right", color=style.MUTED)
    axes.set(yscale="log", xlim=(0.4, 2.1), ylim=(1.8e-3, 2))
    axes.set_yticks([0.01, 0.1, 1.0], ["1 %", "10 %", "100 %"])
    axes.minorticks_off()
