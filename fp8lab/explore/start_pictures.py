"""The picture of lesson 00: how many numbers are left between 1 and 4 when 16 bits become 8."""

from __future__ import annotations

import torch

from fp8lab.explore import style
from fp8lab.explore.still import Still
from fp8lab.formats import E4M3FN, decode_table


def marks(low: float, high: float) -> dict[str, tuple[float, ...]]:
    """All values in [low, high) of bfloat16, two bytes, and of E4M3FN, one byte.

    >>> {name: len(values) for name, values in marks(1.0, 2.0).items()}
    {'bfloat16': 128, 'E4M3FN': 8}
    """
    wide = torch.arange(2**15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16).double()
    narrow = decode_table(E4M3FN).double()
    inside = {"bfloat16": wide, "E4M3FN": narrow}
    return {name: tuple(sorted(x for x in all_.tolist() if low <= x < high)) for name, all_ in inside.items()}


def marks_picture(low: float = 1.0, high: float = 4.0) -> Still:
    """Two rulers, one above the other: every number that 16 and 8 bits have between `low` and `high`."""
    found = marks(low, high)
    with style.settings():
        figure = style.new_figure(2.0)
        axes = figure.add_axes((0.17, 0.24, 0.8, 0.74))
        for row, (name, values) in enumerate(found.items()):
            colour = style.MUTED if row == 0 else style.MANTISSA
            axes.vlines(values, row - 0.36, row + 0.2, color=colour, linewidth=0.9 if row == 0 else 2.4)
            axes.text(
                -0.015, row - 0.16, name, ha="right", va="center", weight="bold", transform=axes.get_yaxis_transform()
            )
            count = f"{len(values)} values"
            axes.text(
                -0.015,
                row + 0.16,
                count,
                ha="right",
                va="center",
                alpha=style.QUIET,
                size=9,
                transform=axes.get_yaxis_transform(),
            )
        axes.set(xlim=(low - 0.02, high), ylim=(1.45, -0.55))
        axes.set_yticks([])
        axes.set_xticks([1, 1.5, 2, 2.5, 3, 3.5, 4])
        axes.spines["left"].set_visible(False)
    told = ", ".join(f"{name} has {len(values)}" for name, values in found.items())
    return Still(figure, f"All numbers from {low:g} up to {high:g}, drawn as marks: {told}.")
