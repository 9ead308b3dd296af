"""Tensors inside larger ones: what lies around them is garbage to whoever reads it, and watched when it is written.

A kernel that reads or writes past its data meets real memory, so its mistake becomes visible instead of being luck.
"""

from __future__ import annotations

import torch

MARGIN = 1 << 13  # elements on either side: beyond what a wrong stride reaches, below where torch starts threads
GARBAGE = 1e6  # times 1 to 97, in turn: larger than every real input, and no two neighbours alike
NAN_CODE = 0x7F
CODE_CANARY = 0xA5  # -0.0625 in E4M3FN: no code that the inputs of this lesson produce by chance alone
FLOAT_CANARY = -77.0


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

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, strides=None) -> None:
        self.canary = CODE_CANARY if dtype == torch.uint8 else FLOAT_CANARY
        span = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if strides else torch.Size(shape).numel()
        self._buffer = torch.full((2 * MARGIN + span,), self.canary, dtype=dtype, device=device)
        strides = strides or torch.empty(shape, device="meta").stride()
        self.view = self._buffer.as_strided(shape, strides, MARGIN)
        inside = torch.zeros_like(self._buffer, dtype=torch.bool)
        inside.as_strided(shape, strides, MARGIN).fill_(True)
        self._outside = ~inside

    def written_elsewhere(self) -> int:
        """How many elements outside the view are no longer what they were."""
        return int((self._buffer[self._outside] != self.canary).sum())
