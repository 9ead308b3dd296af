"""Whatever an answer returns, as plain numpy arrays: the only thing that a verdict looks at.

An object of the learner's own class never reaches a comparison (its `__eq__` could say yes to everything): it becomes
numbers, or its type's name as text, and travels as bytes.
"""

from __future__ import annotations

import base64
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

KINDS = "biufU"  # bool, int, unsigned, float, text: what can be compared
NUMBER = "number "  # how a number is spelled in an array of texts, so that the text "2.0" is no number


def as_array(value: Any) -> np.ndarray:
    """`value` as a numpy array of bool, int, float or text.

    Torch tensors of every dtype (gradient, device and layout dropped; bfloat16, float16 and float8 widened to float32,
    exactly), numpy, lists, tuples, scalars, None and strings. Sets are sorted. What is none of these becomes the text
    "<its type>", which no reference equals.

    >>> as_array(torch.tensor([1.5], dtype=torch.bfloat16, requires_grad=True))
    array([1.5], dtype=float32)
    >>> as_array(None)
    array('<None>', dtype='<U6')
    >>> as_array({"b", "a"})
    array(['a', 'b'], dtype='<U1')
    """
    if isinstance(value, torch.Tensor):
        return _tensor_array(value)
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    if value is None:
        return np.asarray("<None>")
    if isinstance(value, (list, tuple)):
        return _list_array(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        value = float(value) if value.bit_length() < 1024 else math.copysign(math.inf, value)  # too long for int64
    if isinstance(value, (np.ndarray, np.generic, bool, int, float, str)):
        array = np.asarray(value)
        if type(array) is np.ndarray and array.dtype.kind in KINDS:
            return np.array(array, order="C")  # a copy: later changes of the learner's array do not reach it
        return _exotic_array(array)
    return np.asarray(f"<{type(value).__name__}>")


def _tensor_array(tensor: torch.Tensor) -> np.ndarray:
    plain = tensor.detach().to("cpu")
    if plain.dtype.is_complex or plain.is_quantized:
        return np.asarray(f"<{tensor.dtype}>")
    if plain.dtype.is_floating_point and plain.dtype not in (torch.float32, torch.float64):
        plain = plain.to(torch.float32)
    return np.array(plain.resolve_conj().resolve_neg().numpy(), order="C")


def _list_array(values: list | tuple) -> np.ndarray:
    """A list of numbers or of texts; a mixture (results and names of errors) becomes text, exactly."""
    items = [as_array(item) for item in values]
    if not items:
        return np.empty(0)
    if len({item.shape for item in items}) > 1:
        return np.asarray(f"<ragged {type(values).__name__}>")
    texts = [item.dtype.kind == "U" for item in items]
    if any(texts) and not all(texts):
        items = [item if text else spell_numbers(item) for item, text in zip(items, texts, strict=True)]
    return np.stack(items)


def spell_numbers(array: np.ndarray) -> np.ndarray:
    """Numbers as texts that compare as the numbers do.

    >>> spell_numbers(np.array([2]))
    array(['number 2.0'], dtype='<U10')
    """
    return np.array([NUMBER + repr(float(number)) for number in array.ravel()], dtype=str).reshape(array.shape)


def _exotic_array(array: np.ndarray) -> np.ndarray:
    """numpy beyond bool, int, float, text: ml_dtypes floats are widened, a subclass is stripped, the rest is named."""
    plain = np.asarray(array).view(np.ndarray)
    if plain.dtype.kind in KINDS:
        return np.array(plain, order="C")
    if plain.dtype.kind == "V" and plain.dtype.names is None:
        try:
            return plain.astype(np.float32)
        except (TypeError, ValueError):
            pass
    if plain.dtype.kind == "O":
        flat = _list_array(plain.ravel().tolist())
        return flat.reshape(plain.shape) if flat.size == plain.size else flat
    return np.asarray(f"<numpy {plain.dtype}>")


def to_json(array: np.ndarray) -> dict[str, Any]:
    """An array as dtype, shape and base64 bytes.

    >>> from_json(to_json(np.array([0.0, -0.0])))
    array([ 0., -0.])
    """
    little = array.astype(array.dtype.newbyteorder("<"))
    return {"dtype": little.dtype.str, "shape": list(array.shape), "data": base64.b64encode(little.tobytes()).decode()}


def from_json(data: Mapping[str, Any]) -> np.ndarray:
    """The array that `to_json` wrote.

    ValueError for other dtypes than bool, int, float, text, for a wrong size, and for texts of what are no characters.
    """
    dtype = np.dtype(data["dtype"])
    if dtype.kind not in KINDS:
        raise ValueError(f"dtype {data['dtype']!r} is not one of bool, int, float, text")
    raw = base64.b64decode(data["data"], validate=True)
    array = np.frombuffer(raw, dtype=dtype).reshape([int(n) for n in data["shape"]]).copy()
    if dtype.kind == "U" and (array.ravel().view(dtype.byteorder + "u4") > sys.maxunicode).any():
        raise ValueError("a text holds numbers that are no characters")  # Python could not read it
    return array
