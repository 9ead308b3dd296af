"""The two functions that the lesson hands to its reader: a scale from an absmax, and what a cache gives back."""

from __future__ import annotations

import torch

from fp8lab.elements import decode_elements, element_format, encode_elements

QMAX, TINY = 448.0, 2.0**-126  # largest E4M3FN value (OCP OFP8 v1.0, table 1); smallest normal float32


def scale_of(absmax: torch.Tensor, fmt: str = "E4M3FN") -> torch.Tensor:
    """The scale that puts absmax on the largest code: value = code × scale. A group of zeros gets 1.

    >>> scale_of(torch.tensor([448.0, 0.0])).tolist()
    [1.0, 1.0]
    """
    return torch.where(absmax > 0, (absmax / element_format(fmt).max_finite).clamp(min=TINY), 1.0)


def stored(x: torch.Tensor, scale: torch.Tensor, fmt: str = "E4M3FN") -> torch.Tensor:
    """What a cache gives back of x: codes of x / scale, times scale. `scale` broadcasts against x.

    >>> stored(torch.tensor([17.0, -1000.0]), torch.tensor(2.0)).tolist()
    [16.0, -896.0]
    """
    fmt = element_format(fmt)
    return decode_elements(encode_elements((x / scale).float(), fmt), fmt) * scale
