"""Error and bytes of six ways to store a KV tensor, for every group size: measured, not derived.

>>> facts = groupsize_data(synthetic("K", 20.0, 4), "E4M3FN", "64")
>>> facts.places[-4:], f"{facts.chosen.error:.3f}", facts.chosen.bytes_per_value
(('64', 'token', 'head', 'tensor'), '0.021', 1.0625)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from fp8lab.formats import E8M0FNU
from fp8lab.granularity import Granularity, Group, PerHead, PerTensor, PerToken
from fp8lab.quantize import quantize
from fp8lab.threads import one_thread

SHAPE = (2, 64, 128)  # heads, tokens, head_dim: small enough for torch to stay on one thread
KINDS = ("K", "V")
MOST_VALUES = 65_536  # of a tensor that is handed in: every n-th token of a longer one
STRONGEST = 1e6


@dataclass(frozen=True)
class Way:
    """One curve: an element format, and how its scales are stored (None: there is no scale)."""

    fmt: str
    storage: object = torch.float32


WAYS: dict[str, Way] = {
    "int8": Way("int8"),
    "E4M3FN": Way("E4M3FN"),
    "E4M3FN, 2^n": Way("E4M3FN", E8M0FNU),
    "E4M3FN, no scale": Way("E4M3FN", None),
    "int4": Way("int4"),
    "E2M1FN": Way("E2M1FN"),
}


@dataclass(frozen=True)
class Point:
    """One way at one group size. error: median of |restored - x| / |x|; sqnr_db: inf where nothing is lost."""

    error: float
    sqnr_db: float
    bytes_per_value: float


Curves = Mapping[str, tuple[Point, ...]]


@dataclass(frozen=True)
class GroupsizeData:
    """All curves of a tensor, and the errors of the way and the group size that are chosen."""

    name: str
    shape: tuple[int, ...]
    places: tuple[str, ...]  # "1", "2", …, "token", "head", "tensor"
    curves: Curves
    way: str
    place: str
    relative: np.ndarray  # |error| / |x| of every value that is not 0, at the chosen setting

    @property
    def chosen(self) -> Point:
        return self.curves[self.way][self.places.index(self.place)]

    @property
    def lost(self) -> float:
        """Share of the values that became 0, or are wrong by as much as they are large."""
        return float((self.relative >= 1).mean()) if self.relative.size else 0.0

    @property
    def exact(self) -> float:
        """Share of the values that came back unchanged, but for the last bits of float32."""
        return float((self.relative < 1e-6).mean()) if self.relative.size else 0.0


def synthetic(kind: str = "K", strength: float = 20.0, outliers: int = 4, seed: int = 0) -> torch.Tensor:
    """Normal numbers [2 heads, 64 tokens, 128 channels] in which some are `strength` times larger.

    kind  "K": whole channels, as in keys; "V": whole tokens, as a sink or a delimiter may be

    ValueError for another kind, a strength that is not positive and finite, or more outliers than there is room for.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it is one of {', '.join(KINDS)}")
    if not 0 < strength <= STRONGEST:
        raise ValueError(f"strength is {strength}; it is a factor above 0, at most {STRONGEST:g}")
    room = SHAPE[-1] if kind == "K" else SHAPE[-2]
    if not 0 <= outliers <= room:
        raise ValueError(f"{outliers} outliers in {kind}; give 0 to {room}")
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(SHAPE, generator=generator)
    places = torch.randperm(room, generator=generator)[:outliers]
    x[(..., places) if kind == "K" else (slice(None), places)] *= strength
    return x


def places_of(shape: tuple[int, ...]) -> dict[str, Granularity]:
    """Label -> granularity: powers of two below head_dim, then one scale per token, per head, for the tensor."""
    head_dim = shape[-1]
    sizes = [2**k for k in range(head_dim.bit_length()) if 2**k < head_dim]
    wide: dict[str, Granularity] = {"token": PerToken()}
    if len(shape) >= 3:
        wide["head"] = PerHead()
    return {**{str(size): Group(size) for size in sizes}, **wide, "tensor": PerTensor()}


def prepared(x: torch.Tensor) -> torch.Tensor:
    """The tensor that is measured: float32 on the CPU, every n-th token of a long one.

    ValueError for fewer than 2 axes, no values, NaN or infinity.
    """
    x = torch.as_tensor(x).detach()
    if x.ndim < 2 or x.numel() == 0:
        raise ValueError(f"give a tensor [..., tokens, head_dim] with values, not one of shape {tuple(x.shape)}")
    step = min(max(1, x.numel() // MOST_VALUES), x.shape[-2])
    x = x[..., ::step, :].to("cpu", torch.float32).contiguous()
    if not bool(x.isfinite().all()):
        raise ValueError("the tensor holds NaN, inf or values beyond float32: no scale fits them")
    return x


def measure(x: torch.Tensor) -> Curves:
    """Every way at every place. `x` as `prepared` gives it."""
    with one_thread():
        return _measure(x)


def _measure(x: torch.Tensor) -> Curves:
    places, made = places_of(tuple(x.shape)), {}
    exact = x.double()
    size, signal = exact.abs(), exact.square().sum().item()
    for name, way in WAYS.items():
        if way.storage is None:
            made[name] = (_point(x, exact, size, signal, way, PerTensor()),) * len(places)
        else:
            made[name] = tuple(_point(x, exact, size, signal, way, granularity) for granularity in places.values())
    return made


def _restored(x: torch.Tensor, way: Way, granularity: Granularity) -> tuple[torch.Tensor, float]:
    """(the tensor after the round trip, bytes per value)."""
    if way.storage is None:
        codes = quantize(x, way.fmt, PerTensor(), torch.tensor(1.0))
        return codes.dequantize(), codes.payload.nbytes / x.numel()
    made = quantize(x, way.fmt, granularity, scale_format=way.storage)
    return made.dequantize(), made.bits_per_value / 8


def _point(x, exact, size, signal: float, way: Way, granularity: Granularity) -> Point:
    restored, cost = _restored(x, way, granularity)
    error = (restored.double() - exact).abs()
    noise = error.square().sum().item()
    sqnr = math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal else -math.inf
    return Point(_median(error, size), sqnr, cost)


def _median(error: torch.Tensor, size: torch.Tensor) -> float:
    """As `fp8lab.metrics.relative_error` has it (nearest rank; zeros that stay zero do not count), without sorting."""
    relative = (error / size).flatten()
    relative = relative[~relative.isnan()]
    if not relative.numel():
        return 0.0
    return relative.kthvalue(max(1, math.ceil(0.5 * relative.numel()))).values.item()


def groupsize_data(
    x: torch.Tensor, way: str = "E4M3FN", place: str = "64", *, name: str = "x", curves: Curves | None = None
) -> GroupsizeData:
    """Measure `x` in every way at every group size, and look closely at one of them.

    x       [..., tokens, head_dim], with an axis of heads before them "head" is a place, too
    way     a key of WAYS; place a group size (a power of two below head_dim), "token", "head" or "tensor"
    curves  what `measure` gave for this very tensor, to save the time

    ValueError for an unknown way or place, and as `prepared`.
    """
    x = prepared(x)
    places = places_of(tuple(x.shape))
    if way not in WAYS:
        raise ValueError(f"way is {way!r}; it is one of {'; '.join(WAYS)}")
    if str(place) not in places:
        raise ValueError(f"place is {place!r}; for shape {tuple(x.shape)} it is one of {', '.join(places)}")
    made = measure(x) if curves is None else curves
    with one_thread():
        restored, _ = _restored(x, WAYS[way], places[str(place)])
        exact = x.double()
        relative = ((restored.double() - exact).abs() / exact.abs())[x != 0].numpy()
    return GroupsizeData(name, tuple(x.shape), tuple(places), made, way, str(place), relative)
