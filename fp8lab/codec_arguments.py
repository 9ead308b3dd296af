"""What `encode` and `decode` accept: lists, numpy arrays and tensors become tensors, anything doubtful is refused.

Refused, because each hides a mistake: bools, floats where codes belong, integer arrays where real numbers belong (they
are codes more often than values), numbers that float64 cannot hold exactly, outputs of another shape, dtype or device.
"""

from __future__ import annotations

import numbers

import numpy as np
import torch

from fp8lab.float_format import FloatFormat

FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def codes_tensor(codes, fmt: FloatFormat) -> torch.Tensor:
    """The codes as a uint8 tensor of the same shape, all of them codes of the format."""
    expected = f"codes of {fmt.name} are integers 0..{fmt.codes - 1}"
    if isinstance(codes, torch.Tensor):
        if codes.dtype not in INTEGERS:
            hint = "; pass x.view(torch.uint8)" if "float8" in str(codes.dtype) else ""
            raise TypeError(f"{expected}: got a tensor of {codes.dtype}{hint}")
        if codes.layout != torch.strided:
            raise TypeError(f"{expected}, in a strided tensor: got {codes.layout}; call .to_dense() first")
        _check_range(codes.detach(), fmt, expected)
        return codes.to(torch.uint8)
    array = _codes_array(codes, expected)
    _check_range(array, fmt, expected)
    return torch.from_numpy(array.astype(np.uint8))


def _codes_array(codes, expected: str) -> np.ndarray:
    if isinstance(codes, (bytes, bytearray, memoryview)):
        return np.frombuffer(codes, np.uint8)
    if isinstance(codes, (list, tuple)):
        for leaf in _leaves(codes):
            if isinstance(leaf, (bool, np.bool_)) or not isinstance(leaf, (numbers.Integral, np.ndarray, torch.Tensor)):
                raise TypeError(f"{expected}: got {leaf!r}, a {type(leaf).__name__}")
        if not any(True for _ in _leaves(codes)):
            return _array(codes, "codes").astype(np.uint8)  # numpy makes an empty list float64
    array = _array(codes, "codes")
    if array.dtype == object and all(isinstance(item, int) for item in array.flat):
        raise ValueError(f"{expected}: got an integer of more than 64 bits")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{expected}: got {array.dtype} from a {type(codes).__name__}")
    return array


def _check_range(codes, fmt: FloatFormat, expected: str) -> None:
    if 0 in codes.shape or (codes.dtype in (torch.uint8, np.uint8) and fmt.bits == 8):
        return
    low, high = int(codes.min()), int(codes.max())
    if low < 0 or high >= fmt.codes:
        raise ValueError(f"{expected}: got {low if low < 0 else high}")


def real_tensor(x) -> torch.Tensor:
    """x as a detached, strided float tensor; Python numbers and lists become float64, which loses nothing."""
    expected = "encode takes real numbers (float32, bfloat16, float16, float64)"
    if isinstance(x, torch.Tensor):
        if x.dtype not in FLOATS:
            raise TypeError(f"{expected}: got a tensor of {x.dtype}{_dtype_hint(str(x.dtype))}")
        if x.layout != torch.strided:
            raise TypeError(f"{expected} in a strided tensor: got {x.layout}; call .to_dense() first")
        return x.detach()
    if isinstance(x, (list, tuple, int, float)):
        return torch.from_numpy(_float64_array(x, expected))
    array = _array(x, "x")
    if array.dtype.name == "bfloat16":  # ml_dtypes
        array = array.astype(np.float32)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise TypeError(f"{expected}: got {array.dtype} from a {type(x).__name__}{_dtype_hint(array.dtype.name)}")
    return torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("="), order="C"))


def _dtype_hint(dtype: str) -> str:
    if "float8" in dtype or "float6" in dtype or "float4" in dtype:
        return "; these are codes already: widen them to float32 first"
    if "int" in dtype:
        return "; widen to float64 if these are values, call decode if they are codes"
    return ""


def _float64_array(x, expected: str) -> np.ndarray:
    for leaf in _leaves(x):
        if isinstance(leaf, (bool, np.bool_)) or not isinstance(leaf, (numbers.Integral, float, np.floating)):
            raise TypeError(f"{expected}: got {leaf!r}, a {type(leaf).__name__}")
        if isinstance(leaf, numbers.Integral) and not _is_float64(int(leaf)):
            raise ValueError(f"{expected}: the integer {leaf} is not a float64; choose a neighbour that is")
        if isinstance(leaf, np.longdouble) and leaf.dtype.itemsize > 8:
            raise TypeError(f"{expected}: got {leaf!r}, wider than float64")
    return _array(x, "x", np.float64)


def _is_float64(number: int) -> bool:
    try:
        return int(float(number)) == number
    except OverflowError:
        return False


def _leaves(items):
    if not isinstance(items, (list, tuple)):
        yield items
        return
    for item in items:
        yield from _leaves(item)


def _array(items, name: str, dtype=None) -> np.ndarray:
    if np.ma.is_masked(items):
        raise TypeError(f"{name} is an array with masked elements: fill them first (x.filled)")
    try:
        return np.asarray(items, dtype=dtype)
    except ValueError as error:
        raise ValueError(f"{name}: not a rectangular array ({error})") from None


def output_tensor(out, shape: torch.Size, dtype: torch.dtype, source: torch.Tensor) -> torch.Tensor:
    """`out` if it fits, a new tensor if it is None."""
    if out is None:
        return torch.empty(shape, dtype=dtype, device=source.device)
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"out is a {type(out).__name__}: give a {dtype} tensor of shape {list(shape)}, or None")
    if out.dtype != dtype:
        raise TypeError(f"out is a tensor of {out.dtype}: this result is {dtype}")
    if out.shape != shape or out.device != source.device:
        raise ValueError(
            f"out has shape {list(out.shape)} on {out.device}: this result has shape {list(shape)} on {source.device}"
        )
    if out.requires_grad:
        raise ValueError("out requires a gradient, and codes have none: pass a tensor that does not")
    if _share_memory(out, source):
        raise ValueError("out shares memory with the input, which would be overwritten while it is read: pass another")
    return out


def _share_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    if not a.numel() or not b.numel():
        return False
    first, second = a.untyped_storage(), b.untyped_storage()
    return (
        first.data_ptr() < second.data_ptr() + second.nbytes() and second.data_ptr() < first.data_ptr() + first.nbytes()
    )


def first_index(mask: torch.Tensor) -> str:
    """The first True as an index to print: "[2, 5]", or "" for a 0-d tensor."""
    return str(mask.nonzero()[0].tolist()) if mask.dim() else ""
