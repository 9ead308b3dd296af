"""The interpreter, as careless as a GPU: what a GPU leaves undefined is undefined here, and reads are seen.

Triton's interpreter is kinder than a card. Lanes that a mask turns off come back as 0 without `other=`, and `/` is
correctly rounded. While `watched` is on, such lanes hold garbage, a float32 quotient by `/` is one ulp off (PTX allows
div.full.f32 two; a power of two divides exactly on cards, too), and every address that is read is written down.
Compiled kernels are not touched: there the garbage and the ulp are real, and reads are not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from fp8lab.course.drive import NotHere
from fp8lab.course.lessons.l10_gpu.driving_launch import prepare

GARBAGE = {"f": 7.0e6, "i": 41, "u": 41}  # by numpy's kind; the float is larger than every real input


class Reads:
    """The addresses that kernels read; none where kernels are compiled."""

    def __init__(self) -> None:
        self._addresses: list[np.ndarray] = []

    def note(self, pointers: np.ndarray, mask: np.ndarray) -> None:
        self._addresses.append(np.broadcast_to(pointers, mask.shape)[mask].ravel())

    def outside(self, *tensors: torch.Tensor) -> bool:
        """Whether something was read that is no element of any of these tensors."""
        own = np.concatenate([elements(tensor) for tensor in tensors])
        return bool(self._addresses) and not np.isin(np.concatenate(self._addresses), own).all()


def elements(tensor: torch.Tensor) -> np.ndarray:
    """The address of every element, gaps left out: uint64."""
    places = sum(
        np.arange(n).reshape([-1 if axis == at else 1 for at in range(tensor.dim())]) * step
        for axis, (n, step) in enumerate(zip(tensor.shape, tensor.stride()))
    )
    return (np.uint64(tensor.data_ptr()) + np.asarray(places).astype(np.uint64) * tensor.element_size()).ravel()


@contextmanager
def watched(grid: tuple[int, ...] = ()) -> Iterator[Reads]:
    """Interpret kernels as above, and note what they read.

    grid: what `tl.num_programs` says, however few programs are launched.
    """
    reads = Reads()
    builder = _interpreter()
    if builder is None:
        yield reads
        return
    load, divide = builder.create_masked_load, builder.create_fdiv

    def watched_load(pointers: Any, mask: Any, other: Any, *rest: Any) -> Any:
        on = np.broadcast_to(mask.data.astype(bool), pointers.data.shape)
        reads.note(pointers.data, on)
        result = load(pointers, mask, other, *rest)
        if other is None and on.size > 1 and not on.all():  # of one lane, Triton itself loses an `other` of 0
            result.data = np.where(on, result.data, GARBAGE.get(result.data.dtype.kind, 0)).astype(result.data.dtype)
        return result

    def careless_division(left: Any, right: Any) -> Any:
        result = divide(left, right)
        if result.data.dtype == np.float32:
            moves = np.isfinite(result.data) & (result.data != 0) & (np.abs(np.frexp(right.data)[0]) != 0.5)
            result.data = np.where(moves, np.nextafter(result.data, np.float32(0.0)), result.data)
        return result

    own = {"create_masked_load": watched_load, "create_fdiv": careless_division}
    if grid:
        size = (*grid, 1, 1)[:3]
        own["set_grid_dim"] = lambda *launched: type(builder).set_grid_dim(builder, *size)
    vars(builder).update(own)  # found before those of its class
    try:
        yield reads
    finally:
        for name in own:
            delattr(builder, name)


def _interpreter() -> Any:
    """What executes loads, where kernels are interpreted; else None."""
    try:
        prepare()
    except NotHere:
        return None
    from fp8lab.kernels.bits import INTERPRETED

    if not INTERPRETED:
        return None
    from triton.runtime.interpreter import interpreter_builder

    known = all(hasattr(interpreter_builder, name) for name in ("create_masked_load", "create_fdiv", "set_grid_dim"))
    return interpreter_builder if known else None
