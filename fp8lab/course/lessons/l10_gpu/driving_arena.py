"""Tensors inside larger ones: what lies around them is garbage to whoever reads it, and watched when it is written.

A kernel that reads or writes past its data meets real memory, so its mistake becomes visible instead of being luck.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fp8lab.course.arrays import spell_numbers
from fp8lab.course.lessons.l10_gpu.driving_launch import InTorch, device, launch
from fp8lab.course.lessons.l10_gpu.driving_points import hexadecimal
from fp8lab.course.lessons.l10_gpu.driving_watch import Seen, watched

MARGIN = 1 << 13  # elements on either side: beyond what a wrong stride reaches, below where torch starts threads
GARBAGE = 1e6  # times 1 to 97, in turn: larger than almost every real input, and no two neighbours alike
NAN_CODE = 0x7F
# What stands in an output before the launch; large first, so that no maximum with what stands there is right.
CANARIES = {torch.uint8: (0xA5, 0x5B), torch.float32: (2.0**120, -78.0)}
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
        self.buffer = torch.full((2 * MARGIN + span,), self.canary, dtype=dtype, device=device)
        strides = strides or torch.empty(shape, device="meta").stride()
        self.view = self.buffer.as_strided(shape, strides, MARGIN)

    def written_outside(self, part: tuple[Any, ...] = ()) -> int:
        """How many elements outside the view, or outside a part of it, are no longer what they were."""
        inside = torch.zeros_like(self.buffer, dtype=torch.bool)
        inside.as_strided(self.view.shape, self.view.stride(), MARGIN)[part] = True
        return int((self.buffer[~inside] != self.canary).sum())


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

    What program 0 writes counts by itself, because the programs of a grid repair what one of them writes over its
    neighbour. A compiled kernel is launched three times for it: once more with other values in the outputs, so that
    what is still there was never stored, and program 0 alone. Of an interpreted one, every access was seen.
    """
    outputs = [arg for arg in args if isinstance(arg, Output)]

    def run(programs: tuple[int, ...], canary: int) -> tuple[dict[str, Watched], list[torch.Tensor]]:
        written = {output.name: output.watched(canary) for output in outputs}
        given = [written[arg.name].view if isinstance(arg, Output) else arg for arg in args]
        launch(kernel, programs, *given, **constants)
        return written, [arg for arg in given if isinstance(arg, torch.Tensor)]

    with nullcontext(Seen(False)) if isinstance(kernel, InTorch) else watched() as seen:
        first, tensors = run(grid, 0)
    if seen.interpreted:
        stored = {name: seen.wrote(output.view) for name, output in first.items()}
        strays = {o.name: seen.program_0_outside(first[o.name].view[o.own], first[o.name].buffer) for o in outputs}
    else:
        (second, _), (alone, _) = run(grid, 1), run((1,) * len(grid), 0)
        stored = {name: (output.view != output.canary).cpu().numpy() for name, output in second.items()}
        strays = {o.name: alone[o.name].written_outside(o.own) for o in outputs}
    outputs.reverse()  # scales before the codes that follow from them
    arrays = {o.name: _shown(first[o.name], stored[o.name], o.dtype) for o in outputs}
    arrays |= {f"{o.name} written elsewhere": first[o.name].written_outside() for o in outputs}
    arrays |= {f"{o.name} of program 0 written elsewhere": strays[o.name] for o in outputs}
    return arrays | {"read elsewhere": seen.read_outside(*tensors)}


def _shown(output: Watched, stored: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """What a launch left: codes as text, numbers; NOTHING where the output still has what stood there before."""
    values = hexadecimal(output.view) if dtype == torch.uint8 else output.view.cpu().numpy()
    lost = ~stored & (output.view == output.canary).cpu().numpy()
    if not lost.any():
        return values
    return np.where(lost, NOTHING, values if values.dtype.kind == "U" else spell_numbers(values))
