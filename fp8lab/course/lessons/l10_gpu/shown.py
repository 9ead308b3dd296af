"""What stands behind a difference, in symbols; and misconceptions made of faults and their explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fp8lab.course.exercise import Misconception
from fp8lab.course.text import Text


def named(make: Callable[[str], Any], faults: Mapping[str, Text]) -> tuple[Misconception, ...]:
    """A misconception per fault: the kernel that has it, under the fault's own name."""
    return tuple(Misconception(fault, make(fault), explain) for fault, explain in faults.items())


def by_group(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    """ "codes[1, 30], group 1, x = -0.5" or "scales[0, 2], absmax = 3.25"."""
    if not index:
        return array
    x, group = inputs["x"], inputs["group"]
    place = f"{array}[{', '.join(map(str, index))}]"
    if array == "codes":
        return f"{place}, group {index[1] // group}, x = {x[index].item():.9g}"
    absmax = x[index[0], index[1] * group :][:group].abs().max()
    return f"{place}, max|x| = {absmax.item():.9g}"


def by_code(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    """ "out[0, 30], group 1, code 0x3A, scale 0.25"."""
    if not index:
        return array
    row, column = index
    group = column // inputs["group"]
    scale = inputs["scales"][row, group].item()
    return f"out[{row}, {column}], group {group}, code 0x{inputs['codes'][index].item():02X}, scale {scale:.9g}"


def by_slot(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    """ "codes[block 2, place 1, 5], slots 9, -1"."""
    slots = inputs["launches"]["slot 0" in array][1]
    if not index:
        return f"{array}; slots {', '.join(map(str, slots))}"
    block, place, last = index
    return f"{array.split()[0]}[block {block}, place {place}, {last}]; slots {', '.join(map(str, slots))}"


def by_head(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    return f"{array}: head {index[0]}, column {index[1]}" if len(index) == 2 else array


def by_case(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    names = ("tokens", "kv_heads", "head_dim", "group_size", "microseconds", "copied", "copy_microseconds")
    if not index:
        return array
    return ", ".join(f"{name}={number:g}" for name, number in zip(names, inputs["cases"][index[0]]))


def by_number(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    """ "x = 17.0 = 0x41880000"."""
    if not index:
        return array
    x = inputs["x"][index]
    return f"x = {x.item():.9g} = 0x{x.view(dtype=x.dtype).numpy().view('u4').item():08X}"
