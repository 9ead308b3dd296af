"""The interpreter, as careless as a GPU: what a GPU leaves undefined is undefined here, and every access is seen.

Triton's interpreter is kinder than a card. Lanes that a mask turns off come back as 0 without `other=`, and `/` is
correctly rounded. While `watched` is on, such lanes hold garbage, a float32 quotient by `/` is one ulp off (PTX allows
div.full.f32 two; a power of two divides exactly on cards, too), and every address that is read or written is noted.
Compiled kernels are not touched: there the garbage and the ulp are real, and nothing is seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from fp8lab.course.drive import NotHere
from fp8lab.course.lessons.l10_gpu.driving_launch import prepare

PATCHED = ("create_masked_load", "create_masked_store", "create_fdiv")
GARBAGE = {"f": 7.0e6, "i": 41, "u": 41}  # by numpy's kind; the float is larger than every real input


class Seen:
    """The addresses that kernels read and wrote. interpreted: False where kernels are compiled and nothing is seen."""

    def __init__(self, interpreted: bool) -> None:
        self.interpreted = interpreted
        self._noted: dict[str, list[np.ndarray]] = {"read": [], "written": [], "written by program 0": []}

    def note(self, kind: str, pointers: np.ndarray, mask: np.ndarray) -> None:
        self._noted[kind].append(np.broadcast_to(pointers, mask.shape)[mask])

    def addresses(self, kind: str) -> np.ndarray:
        """What was "read", "written", or "written by program 0": every address once."""
        return np.unique(np.concatenate([np.empty(0, np.uint64), *self._noted[kind]]))

    def read_outside(self, *tensors: torch.Tensor) -> bool:
        """Whether something was read that is no element of any of these tensors."""
        own = np.concatenate([elements(tensor) for tensor in tensors])
        return not np.isin(self.addresses("read"), own).all()

    def program_0_outside(self, own: torch.Tensor, buffer: torch.Tensor) -> int:
        """How many elements of `buffer` that are none of `own` program 0 wrote."""
        written = self.addresses("written by program 0")
        return int((np.isin(written, elements(buffer)) & ~np.isin(written, elements(own))).sum())

    def wrote(self, tensor: torch.Tensor) -> np.ndarray:
        """bool, of the shape of `tensor`: which of its elements were written."""
        return np.isin(elements(tensor), self.addresses("written")).reshape(tensor.shape)


def elements(tensor: torch.Tensor) -> np.ndarray:
    """The address of every element, gaps left out: uint64, flat."""
    places = sum(
        np.arange(n).reshape([-1 if axis == at else 1 for at in range(tensor.dim())]) * step
        for axis, (n, step) in enumerate(zip(tensor.shape, tensor.stride()))
    )
    return (np.uint64(tensor.data_ptr()) + np.asarray(places).astype(np.uint64) * tensor.element_size()).ravel()


@contextmanager
def watched() -> Iterator[Seen]:
    """Interpret kernels as above, and note what they read and write."""
    builder = _interpreter()
    seen = Seen(builder is not None)
    if builder is None:
        yield seen
        return
    load, store, divide = (getattr(builder, name) for name in PATCHED)

    def watched_load(pointers: Any, mask: Any, other: Any, *rest: Any) -> Any:
        on = np.broadcast_to(mask.data.astype(bool), pointers.data.shape)
        seen.note("read", pointers.data, on)
        result = load(pointers, mask, other, *rest)
        if other is None and on.size > 1 and not on.all():  # of one lane, Triton itself loses an `other` of 0
            result.data = np.where(on, result.data, GARBAGE.get(result.data.dtype.kind, 0)).astype(result.data.dtype)
        return result

    def watched_store(pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        on = np.broadcast_to(mask.data.astype(bool), pointers.data.shape)
        seen.note("written", pointers.data, on)
        if builder.grid_idx == (0, 0, 0):
            seen.note("written by program 0", pointers.data, on)
        return store(pointers, value, mask, *rest)

    def careless_division(left: Any, right: Any) -> Any:
        result = divide(left, right)
        if result.data.dtype == np.float32:
            moves = np.isfinite(result.data) & (result.data != 0) & (np.abs(np.frexp(right.data)[0]) != 0.5)
            result.data = np.where(moves, np.nextafter(result.data, np.float32(0.0)), result.data)
        return result

    vars(builder).update(zip(PATCHED, (watched_load, watched_store, careless_division)))  # found before its class's
    try:
        yield seen
    finally:
        for name in PATCHED:
            delattr(builder, name)


def _interpreter() -> Any:
    """What executes loads and stores, where kernels are interpreted; else None."""
    try:
        prepare()
    except NotHere:
        return None
    from fp8lab.kernels.bits import INTERPRETED

    if not INTERPRETED:
        return None
    from triton.runtime.interpreter import interpreter_builder

    return interpreter_builder if all(hasattr(interpreter_builder, name) for name in PATCHED) else None
