"""K of one head before and after rotation, and what comes back of it from a cache: measured, not derived.

>>> facts = outlier_data(synthetic("channels", 20.0), "int4", "token")
>>> f"{facts.before.peak:.0f}, {facts.after.peak:.0f}"  # absmax / RMS
'19, 4'
>>> f"{facts.before.output_error:.0%}, {facts.after.output_error:.0%}"
'22%, 13%'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from fp8lab.granularity import Granularity, Group, PerChannel, PerTensor, PerToken
from fp8lab.metrics import attention_output_error, relative_error, sqnr_db
from fp8lab.quantize import quantize
from fp8lab.rotate import rotate
from fp8lab.threads import one_thread

TOKENS, CHANNELS, QUERIES = 64, 128, 16
KINDS = ("channels", "constant", "token", "none")
FORMATS = ("int4", "int8", "E4M3FN")
AXES: dict[str, Granularity] = {
    "tensor": PerTensor(),
    "token": PerToken(),
    "channel": PerChannel(),
    "channel × 32 tokens": Group(32, axis=-2),
    "token × 32 channels": Group(32),
}
MOST_TOKENS, MOST_CHANNELS, STRONGEST = 256, 512, 1e6


@dataclass(frozen=True)
class Side:
    """One of the two maps. All [tokens, channels], but the error of the output.

    size          |x| as the cache sees it, rotated or not
    error         |restored - x| in the original coordinates: rotated back first
    peak          absmax / RMS of what the cache sees
    median        median of error / |x|, original coordinates; sqnr_db likewise
    output_error  relative error of the attention output, V exact
    """

    size: np.ndarray
    error: np.ndarray
    peak: float
    median: float
    sqnr_db: float
    output_error: float


@dataclass(frozen=True)
class OutlierData:
    """`before` and `after` rotation, for one tensor, format and granularity."""

    name: str
    fmt: str
    axis: str
    before: Side
    after: Side

    @property
    def helps(self) -> float:
        """Output error before / after: above 1 rotation helps. 1 when nothing goes wrong either way."""
        if self.before.output_error == self.after.output_error:
            return 1.0
        return self.before.output_error / self.after.output_error if self.after.output_error else float("inf")


def synthetic(kind: str = "channels", strength: float = 20.0, seed: int = 0) -> torch.Tensor:
    """Normal numbers [64 tokens, 128 channels] with one peculiarity.

    kind  "channels": four channels `strength` times larger; "constant": two channels shifted by ± `strength`;
          "token": token 0 `strength` times larger; "none"

    ValueError for another kind and a strength that is not positive and finite.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it is one of {', '.join(KINDS)}")
    if not 0 < strength <= STRONGEST:
        raise ValueError(f"strength is {strength}; it is a number above 0, at most {STRONGEST:g}")
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(TOKENS, CHANNELS, generator=generator)
    if kind == "channels":
        x[:, [7, 33, 64, 110]] *= strength
    elif kind == "constant":
        x[:, 5] += strength
        x[:, 77] -= strength
    elif kind == "token":
        x[0] *= strength
    return x


def prepared(x: torch.Tensor) -> torch.Tensor:
    """The tensor that is mapped: float32 [tokens, channels] on the CPU; the first head of more, every n-th of many
    tokens.

    ValueError for fewer than 2 axes, no values, more than 512 channels, NaN or infinity.
    """
    x = torch.as_tensor(x).detach()
    if x.ndim < 2 or x.numel() == 0:
        raise ValueError(f"give a K [..., tokens, head_dim] with values, not one of shape {tuple(x.shape)}")
    x = x.reshape(-1, *x.shape[-2:])[0]
    if x.shape[1] > MOST_CHANNELS:
        raise ValueError(f"{x.shape[1]} channels do not fit a map; give at most {MOST_CHANNELS}, e.g. one head")
    step = -(-x.shape[0] // MOST_TOKENS)
    x = x[::step].to("cpu", torch.float32).contiguous()
    if not bool(x.isfinite().all()):
        raise ValueError("the tensor holds NaN, inf or values beyond float32: no scale fits them")
    return x


@cache
def _readers(tokens: int, channels: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Queries [1, 16, channels] and values [1, tokens, channels]: normal numbers, always the same."""
    generator = torch.Generator().manual_seed(1)
    return tuple(torch.randn(1, n, channels, generator=generator) for n in (QUERIES, tokens))


def outlier_data(x: torch.Tensor, fmt: str = "int4", axis: str = "token", *, name: str = "K") -> OutlierData:
    """Store `x` as it is and rotated.

    x     K [..., tokens, head_dim]; the first head is taken
    fmt   one of FORMATS; axis one of AXES

    The attention that judges has random queries, which read all channels alike, and random values; scores are scaled
    to a spread of about one over the tokens, whatever a few tokens do. ValueError for an unknown format or axis, and as
    `prepared`.
    """
    if fmt not in FORMATS:
        raise ValueError(f"fmt is {fmt!r}; it is one of {', '.join(FORMATS)}")
    if axis not in AXES:
        raise ValueError(f"axis is {axis!r}; it is one of {', '.join(AXES)}")
    x = prepared(x)
    with one_thread():
        return OutlierData(name, fmt, axis, *(_side(x, fmt, axis, turned) for turned in (False, True)))


def _side(x: torch.Tensor, fmt: str, axis: str, turned: bool) -> Side:
    seen = rotate(x) if turned else x
    kept = quantize(seen, fmt, AXES[axis]).dequantize()
    restored = rotate(kept) if turned else kept
    query, value = _readers(*x.shape)
    spread = (x - x.median(0).values).norm(dim=1).median().item()  # of q · k over the tokens, for a normal query
    scale = 1 / spread if spread else 1.0
    output = attention_output_error(query, x[None], value, restored[None], value, scale=scale, causal=False)
    rms = seen.square().mean().sqrt()
    return Side(
        seen.abs().numpy(),
        (restored - x).abs().numpy(),
        (seen.abs().max() / rms).item() if rms else 0.0,
        relative_error(x, restored, (0.5,)).quantiles[0.5],
        sqnr_db(x, restored),
        output.overall,
    )
