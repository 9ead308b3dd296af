"""Tensors inside larger ones: what lies around them is garbage to whoever reads it, and watched when it is written.

A kernel that reads or writes past its data meets real memory, so its mistake becomes visible instead of being luck.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fp8lab.course.arrays import spell_numbers
from fp8lab.course.lessons.l10_gpu.driving_launch import InTorch, device, launch
from fp8lab.course.lessons.l10_gpu.driving_points import hexadecimal
from fp8lab.course.lessons.l10_gpu.driving_watch import watched

MARGIN = 1 << 13  # elements on either side: beyond what a wrong stride reaches, below where torch starts threads
GARBAGE = 1e6  # times 1 to 97, in turn: larger than every real input, and no two neighbours alike
NAN_CODE = 0x7F
CANARIES = {torch.uint8: (0xA5, 0x5B), torch.float32: (-77.0, -78.0)}  # what stands in an output before the launch
NOTHING = "nothing stored / 从未写入"  # feedback.in_language shows a reader one half of it


def surrounded(values: torch.Tensor, pad: int = 0) -> torch.Tensor:
    """`values` [rows, width] as a view in a buffer of garbage; the rows are `width + pad` elements apart."""
    rows, width = values.shape
    step = width + pad
    buffer = torch.arange(2 * MARGIN + rows * step, device=values.device) % 97
    buffer = torch.full_like(buffer, NAN_CODE).byte() if values.dtype == torch.uint8 else (buffer + 1) * GARBAGE
    view = buffer[MARGIN : MARGIN + rows * step].view(rows, step)[:, :width]
    view.copy_(values)
    return view


class Watched:
    """An output of some shape inside a larger buffer of one value; `view` is what a kernel gets to write."""

    def __init__(
        self, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, strides: Any = None, canary: int = 0
    ) -> None:
        self.canary = CANARIES[dtype][canary]
        span = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if strides else torch.Size(shape).numel()
        self._buffer = torch.full((2 * MARGIN + span,), self.canary, dtype=dtype, device=device)
        strides = strides or torch.empty(shape, device="meta").stride()
        self.view = self._buffer.as_strided(shape, strides, MARGIN)

    def written_outside(self, part: tuple[Any, ...] = ()) -> int:
        """How many elements outside the view, or outside a part of it, are no longer what they were."""
        inside = torch.zeros_like(self._buffer, dtype=torch.bool)
        inside.as_strided(self.view.shape, self.view.stride(), MARGIN)[part] = True
        return int((self._buffer[~inside] != self.canary).sum())


@dataclass(frozen=True)
class Output:
    """What `observed` hands to a kernel to write. own: the part that program 0 alone writes."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    own: tuple[Any, ...]
    strides: tuple[int, ...] | None = None

    def watched(self, canary: int = 0) -> Watched:
        return Watched(self.shape, self.dtype, device(), self.strides, canary)


def observed(kernel: Any, grid: tuple[int, ...], *args: Any, **constants: Any) -> dict[str, Any]:
    """Launch `kernel` and say what it wrote, what it wrote elsewhere, and whether it read what is not there.

    Three launches. The second finds other values in the outputs: what is still those was never stored. The third is of
    program 0 alone, because the programs of a grid repair what one of them writes over its neighbour. The interpreter
    tells it of the whole grid even so.
    """
    outputs = [arg for arg in args if isinstance(arg, Output)]

    def run(programs: tuple[int, ...], canary: int) -> tuple[dict[str, Watched], bool]:
        written = {output.name: output.watched(canary) for output in outputs}
        given = [written[arg.name].view if isinstance(arg, Output) else arg for arg in args]
        if isinstance(kernel, InTorch):
            launch(kernel, programs, *given, **constants)
            return written, False
        with watched(grid) as reads:
            launch(kernel, programs, *given, **constants)
        return written, reads.outside(*(arg for arg in given if isinstance(arg, torch.Tensor)))

    (first, outside), (second, _), (alone, _) = run(grid, 0), run(grid, 1), run((1,) * len(grid), 0)
    outputs.reverse()  # scales before the codes that follow from them
    arrays = {o.name: _stored(first[o.name].view, second[o.name].view, o.dtype) for o in outputs}
    arrays |= {f"{o.name} written elsewhere": first[o.name].written_outside() for o in outputs}
    arrays |= {f"{o.name} of program 0 written elsewhere": alone[o.name].written_outside(o.own) for o in outputs}
    return arrays | {"read elsewhere": outside}


def _stored(first: torch.Tensor, second: torch.Tensor, dtype: torch.dtype) -> np.ndarray:
    """What two launches left: codes as text, numbers; NOTHING where either left what it had found."""
    spell: Callable[[torch.Tensor], np.ndarray] = hexadecimal if dtype == torch.uint8 else lambda x: x.cpu().numpy()
    values = spell(first)
    lost = ((first == CANARIES[dtype][0]) & (second == CANARIES[dtype][1])).cpu().numpy()
    if not lost.any():
        return values
    texts = values if values.dtype.kind == "U" else spell_numbers(values)
    return np.where(lost, NOTHING, texts)
