"""Reading raw evidence: arrays that a learner's process sent, of which nothing is known.

A record's `facts` take what they need with `numbers` and `texts`. What is not of the form expected comes back as Odd,
whose text equals nothing that a reference shows.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np

MOST, LONGEST = 4096, 200  # elements along an axis without a given length; characters of a text


class Odd(Exception):
    """An array is missing, or is not what an honest drive writes down. The text says what was found."""


def numbers(arrays: Mapping[str, np.ndarray], name: str, dtype: type, shape: tuple[int | None, ...]) -> np.ndarray:
    """The array `name`, if it has exactly this dtype and shape; None stands for any length up to 4096.

    >>> numbers({"x": np.array([1.5])}, "x", np.float64, (1,))
    array([1.5])

    Raises Odd for everything else.
    """
    array = _found(arrays, name)
    lengths = len(array.shape) == len(shape) and all(
        have == want or want is None and have <= MOST for have, want in zip(array.shape, shape)
    )
    if array.dtype != np.dtype(dtype) or not lengths:
        raise Odd(_odd(name, array))
    return array


def texts(arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int, ...]) -> list[str]:
    """The texts of the array `name`, flat. Raises Odd for another shape, for numbers, and for long texts."""
    array = _found(arrays, name)
    if array.shape != shape or not _is_text(array):
        raise Odd(_odd(name, array))
    return array.ravel().tolist()


def _found(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in arrays:
        raise Odd(f"<no {name}>")
    return arrays[name]


def _is_text(array: np.ndarray) -> bool:
    """Whether these are texts that are not long, of characters that there are: Python raises for others."""
    if array.dtype.kind != "U" or not 0 < array.dtype.itemsize <= 4 * LONGEST:
        return False
    return bool((np.ascontiguousarray(array.ravel()).view(np.uint32) <= sys.maxunicode).all())


def _odd(name: str, array: np.ndarray) -> str:
    """What was found, in a text that no reference shows; the name of a type, as drives write it, as it is."""
    if array.shape == () and _is_text(array):
        return f"<{array.item().strip('<>')}>"
    return f"<{array.dtype.kind}{array.dtype.itemsize}{list(array.shape)[:4]}>"
