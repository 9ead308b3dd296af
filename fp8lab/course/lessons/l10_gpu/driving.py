"""How the exercises of lesson 10 are exercised. Knows inputs, not answers; launches kernels where they can run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from fp8lab.course.drive import Drive
from fp8lab.course.lessons.l10_gpu.driving_arena import Output, Watched, observed, surrounded
from fp8lab.course.lessons.l10_gpu.driving_attention import attention_inputs, drive_attention
from fp8lab.course.lessons.l10_gpu.driving_launch import (
    Device,
    InTorch,
    Named,
    device,
    launch,
    prepare,
    refuse_untouched,
    stands_on,
)
from fp8lab.course.lessons.l10_gpu.driving_points import (
    generator,
    groups_of_all_sizes,
    hard_numbers,
    hexadecimal,
    random_codes,
    random_scales,
    tied,
)
from fp8lab.course.lessons.l10_gpu.driving_watch import watched

# ---- 10.1 to 10.3: rows of groups, in a buffer whose rows are further apart than they are wide
#
# Every kernel is launched on two cases of different sizes: in one of them a literal may happen to be the right number.

SECOND = ", second case"  # behind the names of its arrays


def on_both(one: Callable[[Any, dict[str, Any]], dict[str, Any]]) -> Callable[[Any, dict[str, Any]], dict[str, Any]]:
    """The drive that runs `one` on each of two cases."""

    def drive(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for behind, case in zip(("", SECOND), inputs["cases"]):
            found |= {name + behind: array for name, array in one(answer, case).items()}
        return found

    return drive


def absmax_inputs(seed: int) -> dict[str, Any]:
    x = groups_of_all_sizes(seed, 3, 32, 16)
    x[:, 0] = -9.0 * x[:, :17].abs().amax(1)  # the first group is not the same one element further on
    x[2, 21] = -70000.0  # beyond float16
    other = groups_of_all_sizes(seed + 1, 2, 24, 8)
    other[0, 8:16] *= 1e-25  # the square of these is 0 in float32, and that of the next infinite
    other[1, 16:] *= 1e25
    return {"cases": ({"x": x, "group": 16, "pad": 5}, {"x": other, "group": 8, "pad": 9})}


@on_both
def drive_absmax(answer: Any, case: dict[str, Any]) -> dict[str, Any]:
    x, group = surrounded(case["x"].to(device()), case["pad"]), case["group"]
    rows, groups = len(x), x.shape[1] // group
    absmax = Output("absmax", (rows, groups), torch.float32, own=(0, 0))
    return observed(answer, (rows, groups), x, absmax, x.stride(0), GROUP=group)


WHOLE = 64


def quantize_inputs(seed: int) -> dict[str, Any]:
    x = groups_of_all_sizes(seed, 2, 2 * WHOLE, WHOLE)
    x[0, :WHOLE], x[1, WHOLE:] = tied(seed, WHOLE), 0.0
    other = groups_of_all_sizes(seed + 1, 3, 48, 16)
    other[0, :16] *= 1e-20  # has a scale of its own, as every group but one of zeros
    other[1, 16:32] = 0.0
    other[:, 17] = -0.0  # and its code keeps the sign, in a group of zeros, too
    return {"cases": ({"x": x, "group": WHOLE, "pad": 7}, {"x": other, "group": 16, "pad": 21})}


@on_both
def drive_quantize(answer: Any, case: dict[str, Any]) -> dict[str, Any]:
    x, group = surrounded(case["x"].to(device()), case["pad"]), case["group"]
    codes, scales = _outputs(*x.shape, group)
    return observed(answer, scales.shape, x, codes, scales, x.stride(0), GROUP=group)


GROUP, TAIL = 24, 10


def ragged_inputs(seed: int) -> dict[str, Any]:
    """The second case is wider, and its width a multiple of GROUP: the last group is whole."""
    x = groups_of_all_sizes(seed, 2, 2 * GROUP + TAIL, GROUP)
    x[1, 2 * GROUP :] = 0.0  # nothing that pads it may be larger
    other = groups_of_all_sizes(seed + 1, 3, 60, 12)
    return {
        "cases": ({"x": x, "group": GROUP, "block": 32, "pad": 40}, {"x": other, "group": 12, "block": 16, "pad": 23})
    }


def drive_ragged(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(answer, InTorch):
        prepare()
        refuse_untouched(answer, holes=2)
    return _drive_ragged(answer, inputs)


@on_both
def _drive_ragged(answer: Any, case: dict[str, Any]) -> dict[str, Any]:
    x, group = surrounded(case["x"].to(device()), case["pad"]), case["group"]
    codes, scales = _outputs(*x.shape, group)
    sizes = x.shape[1], x.stride(0)
    return observed(answer, scales.shape, x, codes, scales, *sizes, GROUP=group, BLOCK=case["block"])


def _outputs(rows: int, width: int, group: int) -> tuple[Output, Output]:
    return (
        Output("codes", (rows, width), torch.uint8, own=(0, slice(group))),
        Output("scales", (rows, -(-width // group)), torch.float32, own=(0, 0)),
    )


# ---- 10.4 back again, several groups per program

TILE = 64


def dequantize_inputs(seed: int) -> dict[str, Any]:
    """Every code, and a scale that is tiny. In the second case program 0 has the end of a row, and rows behind it."""
    codes, scales = random_codes(seed, 2, 2 * TILE + 22), random_scales(seed, 2, 7)
    codes.view(-1)[22 : 22 + 256] = torch.randperm(256, generator=generator(seed)).byte()
    other = random_scales(seed + 1, 3, 4)
    other[0, 1] = 1e-12
    second = {"codes": random_codes(seed + 1, 3, 20), "scales": other, "group": 6, "block": 32}
    return {"cases": ({"codes": codes, "scales": scales, "group": GROUP, "block": TILE}, second)}


@on_both
def drive_dequantize(answer: Any, case: dict[str, Any]) -> dict[str, Any]:
    codes, scales = surrounded(case["codes"].to(device())), surrounded(case["scales"].to(device()))
    (rows, width), groups, block = codes.shape, scales.shape[1], case["block"]
    out = Output("out", (rows, width), torch.float32, own=(0, slice(block)))
    grid = rows, -(-width // block)
    return observed(answer, grid, codes, scales, out, width, groups, GROUP=case["group"], BLOCK=block)


# ---- 10.5 into the pages: K and V of a block side by side, a gap behind every place


def page_inputs(seed: int) -> dict[str, Any]:
    """-1 marks a token that is not kept, and so does every other negative slot."""
    slot = int(np.random.default_rng(seed).choice((6, 9, 11, 13, 14)))
    first = _tokens(seed, 2, 2, 20, 12) | {"slots": [slot, -1], "block": 16, "blocks": 5, "block_size": 4}
    second = _tokens(seed + 1, 3, 3, 10, 4) | {"slots": [0, 7, -3], "block": 8, "blocks": 4, "block_size": 3}
    return {"cases": (first, second)}


def _tokens(seed: int, tokens: int, heads: int, width: int, group: int) -> dict[str, Any]:
    x = groups_of_all_sizes(seed, tokens * heads, width, group).view(tokens, heads, width)
    x[:, :, 1] = -0.0
    return {"x": x, "group": group}


@on_both
def drive_pages(answer: Any, case: dict[str, Any]) -> dict[str, Any]:
    x, group, block_size = case["x"], case["group"], case["block_size"]
    tokens, heads, width = x.shape
    groups = -(-width // group)
    block, place = divmod(case["slots"][0], block_size)
    codes, scales = (
        Output(
            what, (case["blocks"], block_size, size), kind, (block, place, slice(own)),
            (2 * block_size * (size + gap), size + gap, 1),
        )
        for what, size, kind, own, gap in (
            ("codes", heads * width, torch.uint8, group, 8),
            ("scales", heads * groups, torch.float32, 1, heads + 1),  # a head of a place has no more than its share
        )
    )  # fmt: skip
    x = surrounded(x.reshape(1, -1).to(device())).view(x.shape)
    return observed(
        answer, (tokens, heads, groups), x, codes, scales, torch.tensor(case["slots"], device=device()), width,
        block_size, *codes.strides[:2], *scales.strides[:2], GROUP=group, BLOCK=case["block"],
    )  # fmt: skip


# ---- 10.7 bytes and floors


def bytes_inputs(seed: int) -> dict[str, Any]:
    """No time lies below its floor, each is longer than 8 bytes per value take, but for the last: a time that cannot be
    true has a fraction above 1, and that is how one finds out."""
    random = np.random.default_rng(seed)
    cases = [(1024, 32, 128, 64, 7.5, 2**30, 520.0), (1, 8, 96, 64, 2.5, 2**28, 180.0)]
    for dim, group in ((80, 32), (128, 128), (64, 16)):
        tokens, heads, copied = (int(random.integers(*ends)) for ends in ((2, 9999), (1, 33), (2**26, 2**32)))
        copy_microseconds = 2 * copied / random.uniform(0.3e6, 4.0e6)
        least = 8 * tokens * heads * dim / (2 * copied / copy_microseconds)
        cases.append((tokens, heads, dim, group, float(least * random.uniform(1, 4)), copied, float(copy_microseconds)))
    cases.append((1024, 32, 128, 64, 5.0, 2**30, 520.0))
    return {"cases": cases}


RESULTS = ("bytes moved", "floor in microseconds", "fraction of the copy bandwidth")


def drive_bytes(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    results = [answer(*case) for case in inputs["cases"]]
    for result in results:
        if not isinstance(result, (tuple, list)) or len(result) != len(RESULTS):
            given = len(result) if isinstance(result, (tuple, list)) else type(result).__name__
            raise TypeError(f"roofline returns three numbers, ({', '.join(RESULTS)}); given {given}")
    return {name: [float(result[i]) for result in results] for i, name in enumerate(RESULTS)}


# ---- 10.8 integer bits

COUNT = 1024


def bits_inputs(seed: int) -> dict[str, Any]:
    return {"x": hard_numbers(seed, COUNT)}


def drive_bits(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    x, codes = inputs["x"].to(device()), Watched((COUNT,), torch.uint8, device())
    answer = answer.load() if isinstance(answer, Device) else answer
    if isinstance(answer, (InTorch, Named)):
        launch(answer, (1,), x, codes.view, BLOCK=COUNT)
        return {"codes": hexadecimal(codes.view), "calls fp8lab.kernels": False}
    prepare()
    refuse_untouched(answer, holes=2)
    if not hasattr(answer, "fn"):
        raise TypeError(f"a device function is a function under @triton.jit; given {type(answer).__name__}")
    from fp8lab.course.lessons.l10_gpu.driving_kernel import elementwise_kernel

    with watched():
        launch(elementwise_kernel, (1,), x, codes.view, FUNCTION=answer, BLOCK=COUNT)
    return {"codes": hexadecimal(codes.view), "calls fp8lab.kernels": stands_on(answer, "fp8lab.kernels")}


DRIVES = {
    drive.key: drive
    for drive in (
        Drive("10.1", "absmax_kernel", absmax_inputs, drive_absmax),
        Drive("10.2", "quantize_kernel", quantize_inputs, drive_quantize),
        Drive("10.3", "quantize_ragged_kernel", ragged_inputs, drive_ragged),
        Drive("10.4", "dequantize_kernel", dequantize_inputs, drive_dequantize),
        Drive("10.5", "write_kernel", page_inputs, drive_pages),
        Drive("10.6", "attend", attention_inputs, drive_attention),
        Drive("10.7", "roofline", bytes_inputs, drive_bytes),
        Drive("10.8", "code_of", bits_inputs, drive_bits),
    )
}
