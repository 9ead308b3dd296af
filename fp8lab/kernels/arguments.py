"""What the launchers take. Every refusal names the argument, what was given and what is accepted."""

from __future__ import annotations

import operator

import torch

from fp8lab.elements import IntegerFormat
from fp8lab.formats import E4M3FN, E5M2, E8M0FNU, FloatFormat, get_format
from fp8lab.scales import storage_format

KERNEL_FORMATS = (E4M3FN, E5M2)
FLOATS = (torch.float32, torch.bfloat16, torch.float16)
INTEGERS = (torch.int32, torch.int64)


def strided_tensor(name: str, given: object) -> torch.Tensor:
    """`given` without its gradient, and with its signs in memory, where a kernel reads them: `x.conj().imag` shares
    the memory of x and is marked as negated. TypeError for what is no dense tensor.

    >>> strided_tensor("k", [1.0])
    Traceback (most recent call last):
    ...
    TypeError: k must be a torch tensor; given a list: pass torch.as_tensor(k)
    """
    if not isinstance(given, torch.Tensor):
        raise TypeError(f"{name} must be a torch tensor; given a {type(given).__name__}: pass torch.as_tensor({name})")
    if given.layout != torch.strided:
        raise TypeError(f"{name} must be a dense tensor; given {given.layout}: pass {name}.to_dense()")
    return given.detach().resolve_neg()


def float_tensor(name: str, given: object) -> torch.Tensor:
    """The same, of a dtype that the kernels read. TypeError for others."""
    tensor = strided_tensor(name, given)
    if tensor.dtype not in FLOATS:
        hint = "" if tensor.is_complex() else f": pass {name}.float()"
        raise TypeError(f"{name} must be float32, bfloat16 or float16; given {tensor.dtype}{hint}")
    return tensor


def integer_tensor(name: str, given: object, ndim: int, rows: int, of_what: str) -> torch.Tensor:
    """The same, of whole numbers, with `ndim` axes and `rows` rows. ValueError for other dtypes and shapes."""
    tensor = strided_tensor(name, given)
    if tensor.dtype not in INTEGERS or tensor.ndim != ndim or len(tensor) != rows:
        axes = "1 axis" if ndim == 1 else f"{ndim} axes"
        raise ValueError(
            f"{name} must be int32 or int64 with {axes} and one row per {of_what} ({rows}); "
            f"given {tensor.dtype} {list(tensor.shape)}"
        )
    return tensor


def on_one_device(**given: torch.Tensor) -> None:
    """ValueError unless all are on the same device."""
    if len({tensor.device for tensor in given.values()}) > 1:
        where = ", ".join(f"{name} on {tensor.device}" for name, tensor in given.items())
        raise ValueError(f"{', '.join(given)} must be on one device; given {where}")


def whole_number(name: str, number: object, least: int = 1, most: int | None = None) -> int:
    """As an int. ValueError unless it is a whole number from `least` to `most`; True and 2.0 are none.

    >>> whole_number("splits", 129, most=128)
    Traceback (most recent call last):
    ...
    ValueError: splits must be a whole number from 1 to 128; given 129
    """
    try:
        value = None if isinstance(number, (bool, torch.Tensor)) else operator.index(number)
    except TypeError:
        value = None
    if value is None or value < least or (most is not None and value > most):
        room = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {room}; given {number!r}")
    return value


def kernel_format(fmt: FloatFormat | str) -> FloatFormat:
    """The format, if the kernels hold its codes. ValueError otherwise, TypeError for what names no format.

    >>> kernel_format("e5m2").name
    'E5M2'
    """
    found = fmt if isinstance(fmt, IntegerFormat) else get_format(fmt)
    if found not in KERNEL_FORMATS:
        names = " or ".join(known.name for known in KERNEL_FORMATS)
        raise ValueError(f"the kernels hold codes in {names}; given {found.name}: fp8lab.quantize has other formats")
    return found


def kernel_scale_format(scale_format: torch.dtype | FloatFormat | str) -> torch.dtype | FloatFormat:
    """torch.float32 or E8M0FNU, also by name. ValueError for what the kernels do not store.

    >>> kernel_scale_format("float32"), kernel_scale_format("E8M0FNU") is E8M0FNU
    (torch.float32, True)
    """
    accepted = f"the kernels store scales as torch.float32 or E8M0FNU; given {scale_format!r}"
    try:
        found = storage_format(scale_format)
    except ValueError as problem:
        raise ValueError(accepted) from problem
    if found is not torch.float32 and found != E8M0FNU:
        raise ValueError(accepted)
    return found
