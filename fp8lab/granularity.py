"""Granularity: which values of a tensor share one scale.

Every granularity is one rule, `blocks(shape)`: how far along each axis a scale reaches. A block of 1 means "each
index has its own scale", a block as long as the axis means "one scale for the whole axis", anything between is a
group. All the rest follows: there are `ceil(n / block)` scales along an axis, so scales always have as many axes as
the data and broadcast against it group by group.

    shape of K or V        granularity            blocks           shape of the scales
    [B, H, T, D]           PerTensor()            (B, H, T, D)     [1, 1, 1, 1]
    [B, H, T, D]           PerHead()              (B, 1, T, D)     [1, H, 1, 1]
    [L, B, H, T, D]        PerHead((0, 2))        (1, B, 1, T, D)  [L, 1, H, 1, 1]
    [B, H, T, D]           PerToken()             (1, 1, 1, D)     [B, H, T, 1]
    [B, H, T, D]           PerChannel()           (1, 1, T, 1)     [B, H, 1, D]
    [B, H, T, D]           Group(64)              (1, 1, 1, 64)    [B, H, T, ceil(D / 64)]
    [B, H, T, D]           Group(32, axis=-2)     (1, 1, 32, 1)    [B, H, ceil(T / 32), D]

The last group of an axis may be short (head_dim 96 with groups of 64). What is missing is never filled with anything
that could enter an absmax. Not here: zero points (every grid of this package is symmetric) and groups that straddle
two rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import torch

Axes = int | tuple[int, ...]


def _named(axes: Axes, owner: str) -> tuple[int, ...]:
    """The axes as a tuple of whole numbers. TypeError names the granularity."""
    given = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    if any(isinstance(axis, bool) or not isinstance(axis, int) for axis in given):
        raise TypeError(f"{owner}: an axis is a whole number such as -1, or a tuple of them; given {axes!r}")
    return given


def _axes(axes: Axes, ndim: int, owner: str) -> tuple[int, ...]:
    """Axes counted from the front, each once. IndexError names the granularity and the shape's rank."""
    given = _named(axes, owner)
    for axis in given:
        if not -ndim <= axis < ndim:
            what = f"give an axis in {-ndim}..{ndim - 1}" if ndim else "a single number takes PerTensor()"
            raise IndexError(f"{owner} needs axis {axis}, but the tensor has {axes_text(ndim)}: {what}")
    resolved = tuple(axis % ndim for axis in given)
    if len(set(resolved)) != len(resolved):
        raise ValueError(f"{owner} names the same axis twice in {given}: name each axis once")
    return resolved


def axes_text(ndim: int) -> str:
    """
    >>> axes_text(0), axes_text(1), axes_text(2)
    ('no axes', '1 axis', '2 axes')
    """
    return {0: "no axes", 1: "1 axis"}.get(ndim, f"{ndim} axes")


@dataclass(frozen=True)
class PerTensor:
    """One scale for everything.

    >>> PerTensor().blocks((2, 3))
    (2, 3)
    """

    def blocks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(max(n, 1) for n in shape)


@dataclass(frozen=True)
class PerHead:
    """One scale for each index of `axis` (several axes: for each combination), shared over all other axes.

    The default axis -3 is the KV head of [..., kv_heads, tokens, head_dim]. `PerHead((0, 2))` on
    [layers, batch, kv_heads, tokens, head_dim] gives a [layers, kv_heads] array of scales.

    >>> PerHead().blocks((2, 8, 100, 64))
    (2, 1, 100, 64)
    """

    axis: Axes = -3

    def __post_init__(self):
        _named(self.axis, repr(self))

    def blocks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        own = _axes(self.axis, len(shape), repr(self))
        return tuple(1 if i in own else max(n, 1) for i, n in enumerate(shape))


def _shared(over: Axes, shape: tuple[int, ...], owner: str) -> tuple[int, ...]:
    shared = _axes(over, len(shape), owner)
    return tuple(max(n, 1) if i in shared else 1 for i, n in enumerate(shape))


@dataclass(frozen=True)
class PerToken:
    """One scale for each vector along the last axis: per (token, head) on [..., kv_heads, tokens, head_dim].

    `over` names the axes a scale is shared over; `PerToken(over=(-3, -1))` shares it between heads as well.

    >>> PerToken().blocks((2, 8, 100, 64))
    (1, 1, 1, 64)
    """

    over: Axes = -1

    def __post_init__(self):
        _named(self.over, repr(self))

    def blocks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return _shared(self.over, shape, repr(self))


@dataclass(frozen=True)
class PerChannel:
    """One scale for each channel (index of the last axis), shared over the tokens: what K with outlier channels
    wants (KIVI).

    `over` names the axes a scale is shared over, by default the tokens of [..., tokens, head_dim].

    >>> PerChannel().blocks((2, 8, 100, 64))
    (1, 1, 100, 1)
    """

    over: Axes = -2

    def __post_init__(self):
        _named(self.over, repr(self))

    def blocks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return _shared(self.over, shape, repr(self))


@dataclass(frozen=True)
class Group:
    """One scale for each run of `size` neighbours along `axis`; the last run may be short. ValueError for a size
    below 1.

    >>> Group(64).blocks((8, 96))
    (1, 64)
    """

    size: int
    axis: int = -1

    def __post_init__(self):
        if isinstance(self.size, bool) or not isinstance(self.size, int):
            raise TypeError(f"a group size is a whole number of values, got {self.size!r}")
        if self.size < 1:
            raise ValueError(f"a group holds at least 1 value, got size {self.size}")
        if len(_named(self.axis, repr(self))) != 1 or isinstance(self.axis, (tuple, list)):
            raise TypeError(f"a group runs along one axis, a whole number such as -1; given axis={self.axis!r}")

    def blocks(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        (own,) = _axes(self.axis, len(shape), repr(self))
        return tuple(min(self.size, max(n, 1)) if i == own else 1 for i, n in enumerate(shape))


Granularity = PerTensor | PerHead | PerToken | PerChannel | Group


def scale_shape(shape: tuple[int, ...], blocks: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of the scales of data with this shape: ceil(n / block) along each axis.

    >>> scale_shape((8, 96), (1, 64))
    (8, 2)
    """
    return tuple(-(-n // block) for n, block in zip(shape, blocks))


def group_values(x: torch.Tensor, blocks: tuple[int, ...], fill: float) -> torch.Tensor:
    """The values of each group in one row: [*scale_shape, values of a full group], short groups filled up with `fill`.

    >>> group_values(torch.arange(6.).reshape(2, 3), (1, 2), fill=-1).tolist()
    [[[0.0, 1.0], [2.0, -1.0]], [[3.0, 4.0], [5.0, -1.0]]]
    """
    counts = scale_shape(tuple(x.shape), blocks)
    padding = [c * b - n for n, c, b in zip(x.shape, counts, blocks)]
    if any(padding):
        pad = [side for amount in reversed(padding) for side in (0, amount)]
        x = torch.nn.functional.pad(x, pad, value=fill)
    ndim = len(counts)
    split = x.reshape([side for pair in zip(counts, blocks) for side in pair])  # [count0, block0, count1, block1, ...]
    grouped = split.permute([2 * i for i in range(ndim)] + [2 * i + 1 for i in range(ndim)])
    return grouped.reshape(*counts, prod(blocks))


def spread(scales: torch.Tensor, shape: tuple[int, ...], blocks: tuple[int, ...]) -> torch.Tensor:
    """Scales repeated so that they broadcast against data of this shape (axes with one scale keep length 1).

    >>> spread(torch.tensor([[1., 2.]]), (4, 3), (4, 2)).tolist()
    [[1.0, 1.0, 2.0]]
    """
    for axis, (n, block) in enumerate(zip(shape, blocks)):
        if 1 < block < n:
            scales = scales.repeat_interleave(block, dim=axis).narrow(axis, 0, n)
    return scales
