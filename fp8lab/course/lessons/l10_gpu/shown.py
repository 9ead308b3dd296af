"""What stands behind a difference, in symbols; and misconceptions made of faults and their explanations.

What is shown begins with the input, as the check's line does, and names behind an arrow what came of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from fp8lab.course.exercise import Misconception
from fp8lab.course.lessons.l10_gpu.driving import SECOND
from fp8lab.course.text import Text


def named(make: Callable[[str], Any], faults: Mapping[str, Text]) -> tuple[Misconception, ...]:
    """A misconception per fault: the kernel that has it, under the fault's own name."""
    return tuple(Misconception(fault, make(fault), explain) for fault, explain in faults.items())


def only_interpreted(faults: Mapping[str, Text]) -> Mapping[str, Text]:
    """Faults that the interpreter, watched, shows for certain; on a card they come to light or not, as it happens."""
    return {} if torch.cuda.is_available() else faults


def _case(inputs: Mapping[str, Any], array: str) -> tuple[Mapping[str, Any], str]:
    """The case that an array is of, and the array's own name."""
    return inputs["cases"][array.endswith(SECOND)], array.removesuffix(SECOND)


def by_group(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    """ "x[1, 30] = -0.5 → codes[1, 30]" or "x[0, 48:58], max|x| = 3.25 → scales[0, 2]"."""
    case, array = _case(inputs, array)
    x, group = case["x"], case["group"]
    if not index:
        return f"x [{', '.join(map(str, x.shape))}], GROUP = {group} → {array}"
    row, column = index
    if array == "codes":
        return f"x[{row}, {column}] = {x[index].item():.9g} → codes[{row}, {column}]"
    begin, end = column * group, min((column + 1) * group, x.shape[1])
    absmax = x[row, begin:end].abs().max().item()
    return f"x[{row}, {begin}:{end}], max|x| = {absmax:.9g} → {array}[{row}, {column}]"


def by_code(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    """ "codes[0, 30] = 0x3A, scales[0, 1] = 0.25 → out[0, 30]"."""
    case, array = _case(inputs, array)
    codes, group = case["codes"], case["group"]
    if not index:
        return f"codes [{', '.join(map(str, codes.shape))}], GROUP = {group} → {array}"
    row, column = index
    scale = case["scales"][row, column // group].item()
    code = f"codes[{row}, {column}] = 0x{codes[index].item():02X}"
    return f"{code}, scales[{row}, {column // group}] = {scale:.9g} → out[{row}, {column}]"


def by_slot(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    """ "slots [9, -1], block_size = 4 → codes[block 2, place 1, 5]"."""
    case, array = _case(inputs, array)
    slots = f"slots {case['slots']}, block_size = {case['block_size']}"
    if not index:
        return f"{slots} → {array}"
    block, place, last = index
    return f"{slots} → {array}[block {block}, place {place}, {last}]"


def by_head(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    """ "19 tokens in 2 splits → out[head 0, 3]"."""
    length, splits = inputs["cases"][0]["runs"][0]
    return f"{array} → out[head {index[0]}, {index[1]}]" if index else f"{length} tokens in {splits} splits → {array}"


def by_case(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    """ "tokens=1, kv_heads=8, ... → bytes moved"."""
    names = ("tokens", "kv_heads", "head_dim", "group_size", "microseconds", "copied", "copy_microseconds")
    if not index:
        return array
    given = ", ".join(f"{name}={number:g}" for name, number in zip(names, inputs["cases"][index[0]]))
    return f"{given} → {array}"


def by_number(inputs: Mapping[str, Any], array: str, index: tuple[int, ...]) -> str:
    """ "x = 17 = 0x41880000 → code"."""
    if not index:
        return f"x [{len(inputs['x'])}] → {array}"
    x = inputs["x"][index]
    return f"x = {x.item():.9g} = 0x{x.view(dtype=x.dtype).numpy().view('u4').item():08X} → code"
