"""Keeping scales with their data: what an index or a new shape of the codes means for the scales.

Codes and scales have the same axes, and `blocks` says how far along each axis one scale reaches
(`fp8lab.granularity`). So every change of view is done twice, once on the codes and once, translated, on the scales;
where no translation exists (a slice that cuts a group, a merge of axes that tears one apart) it is refused with a
ValueError that says what would work.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import torch


class View(NamedTuple):
    """The same change of view for both: `codes` and `scales` are indexes, `blocks` belongs to the result."""

    codes: tuple
    scales: tuple
    blocks: tuple[int, ...]


def _written_out(index, ndim: int) -> list:
    """The index with its ellipsis written out as full slices, and full slices up to the last axis."""
    items = list(index) if isinstance(index, tuple) else [index]
    used = sum(item is not None and item is not Ellipsis for item in items)
    if used > ndim:
        raise IndexError(f"too many indices: {used} for a tensor of {ndim} axes")
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can hold one ellipsis ('...') only")
    at = dots[0] if dots else len(items)
    return items[:at] + [slice(None)] * (ndim - used) + items[at + 1 :]


def _slice_axis(item: slice, axis: int, n: int, block: int) -> tuple[slice, int]:
    """Slice of the scales and block of the result, for a slice of the codes along one axis."""
    start, stop, step = item.indices(n)
    if step < 1:
        raise ValueError(f"axis {axis}: a slice needs a step of 1 or more, got {step}")
    if block == 1:
        return item, 1
    length = len(range(start, stop, step))
    if block >= n:  # one scale for the whole axis: any slice keeps it, an empty one keeps none
        return slice(0, min(length, 1)), max(length, 1)
    if length == 0:
        return slice(0, 0), 1
    whole = start % block == 0 and (stop % block == 0 or stop == n) and step == 1
    within = step == 1 and start // block == (stop - 1) // block  # a part of one group: its scale goes along
    if not whole and not within:
        raise ValueError(
            f"axis {axis} ({n} values) is quantized in groups of {block}: the slice {start}:{stop}:{step} "
            f"cuts a group in two; slice at multiples of {block}, inside one group, or dequantize() first"
        )
    return slice(start // block, (stop - 1) // block + 1), min(block, length)


def index_view(index, shape: tuple[int, ...], blocks: tuple[int, ...]) -> View:
    """Translate an index of the codes: integers, slices, ..., None and at most one tensor or list of indices.

    IndexError as torch raises it; ValueError for what would separate codes from their scales.

    >>> index_view((0, slice(64, 128)), (2, 128), (1, 64))
    View(codes=(0, slice(64, 128, None)), scales=(0, slice(1, 2, None)), blocks=(64,))
    """
    codes, scales, new_blocks = [], [], []
    axis = 0
    picks = 0
    for item in _written_out(index, len(shape)):
        if item is None:
            new = (None, None, (1,))
        else:
            new = _index_axis(item, axis, shape[axis], blocks[axis])
            picks += isinstance(new[0], torch.Tensor)
            axis += 1
        codes.append(new[0])
        scales.append(new[1])
        new_blocks.extend(new[2])
    if picks and (picks > 1 or any(isinstance(item, int) for item in codes)):
        raise ValueError("index with one list or tensor at a time, beside slices only: q[rows][:, columns]")
    return View(tuple(codes), tuple(scales), tuple(new_blocks))


def _index_axis(item, axis: int, n: int, block: int) -> tuple:
    if isinstance(item, bool) or (isinstance(item, torch.Tensor) and item.dtype == torch.bool and item.ndim != 1):
        raise TypeError(
            "a mask over several axes would leave a list of values with no layout: index one axis at a time"
        )
    if isinstance(item, slice):
        scales, new_block = _slice_axis(item, axis, n, block)
        return item, scales, (new_block,)
    if isinstance(item, (list, torch.Tensor)) and not (isinstance(item, torch.Tensor) and item.ndim == 0):
        return _pick_axis(torch.as_tensor(item, dtype=None if len(item) else torch.int64), axis, n, block)
    position = item.__index__() if hasattr(item, "__index__") else None
    if position is None:
        raise TypeError(
            f"axis {axis}: index with integers, slices, '...', None or one list of integers, not {type(item).__name__}"
        )
    if not -n <= position < n:
        raise IndexError(f"index {position} is out of range for axis {axis} of length {n}")
    return position, (position % n) // block, ()


def _pick_axis(picked: torch.Tensor, axis: int, n: int, block: int) -> tuple:
    if picked.ndim != 1 or picked.is_floating_point():
        raise TypeError(
            f"axis {axis}: a list of indices is one row of integers or booleans, got shape {tuple(picked.shape)}"
        )
    if picked.dtype == torch.bool and len(picked) != n:
        raise IndexError(f"axis {axis} has {n} entries, the mask {len(picked)}")
    count = int(picked.sum()) if picked.dtype == torch.bool else len(picked)
    if picked.dtype != torch.bool:
        picked = picked.to(torch.int64)
        if count and not (-n <= int(picked.min()) and int(picked.max()) < n):
            raise IndexError(
                f"axis {axis} has {n} entries, the indices run from {int(picked.min())} to {int(picked.max())}"
            )
    if block == 1:
        return picked, picked, (1,)
    if block >= n:
        return picked, slice(0, min(count, 1)), (max(count, 1),)
    raise ValueError(
        f"axis {axis} is quantized in groups of {block}: picking single entries would tear groups apart; use a slice"
    )


def reshape_blocks(shape: tuple[int, ...], blocks: tuple[int, ...], new_shape: tuple[int, ...]) -> tuple[int, ...]:
    """Blocks after a reshape. ValueError when some group would no longer be a block of the new shape.

    >>> reshape_blocks((2, 128), (1, 64), (2, 2, 64)), reshape_blocks((2, 3, 64), (1, 1, 64), (6, 64))
    ((1, 1, 64), (1, 64))
    """
    if 0 in shape:
        return tuple(max(n, 1) for n in new_shape) if 0 in new_shape else blocks
    new_blocks: list[int] = []
    for old_axes, new_axes in _segments(shape, new_shape):
        old = [(shape[i], blocks[i]) for i in old_axes if shape[i] > 1]
        sizes = [new_shape[i] for i in new_axes]
        if [n for n, _ in old] == [n for n in sizes if n > 1]:  # only axes of length 1 come or go
            kept = iter(old)
            new_blocks.extend(next(kept)[1] if n > 1 else 1 for n in sizes)
            continue
        new_blocks.extend(_blocks_of_run(_run_length(old), sizes, shape, blocks, new_shape))
    return tuple(new_blocks)


def _segments(shape: tuple[int, ...], new_shape: tuple[int, ...]):
    """Shortest runs of old and new axes that hold the same values: [(old axes, new axes), ...]."""
    i = j = 0
    while i < len(shape) or j < len(new_shape):
        old, new = [], []
        while not (old or new) or prod(shape[a] for a in old) != prod(new_shape[a] for a in new):
            if i < len(shape) and (
                not old or j == len(new_shape) or prod(shape[a] for a in old) < prod(new_shape[a] for a in new)
            ):
                old.append(i)
                i += 1
            else:
                new.append(j)
                j += 1
        yield old, new


def _run_length(axes: list[tuple[int, int]]) -> int | None:
    """Length of the runs of neighbours that share a scale, in row-major order; None when groups are no such runs."""
    length, open_run = 1, True
    for n, block in reversed(axes):
        if not open_run and block != 1:
            return None
        if block < n:
            if n % block:
                return None
            open_run = False
        length *= block
    return length


def _blocks_of_run(length: int | None, sizes: list[int], shape, blocks, new_shape) -> list[int]:
    rest, result = length, []
    for n in reversed(sizes):
        block = None if rest is None else rest if rest < n else n
        if block is None or rest % block or n % block:
            raise ValueError(
                f"reshape {tuple(shape)} -> {tuple(new_shape)} would tear apart the groups "
                f"{tuple(blocks)} that share a scale: keep the grouped axes whole, or dequantize() first"
            )
        result.append(block)
        rest //= block
    return result[::-1]
