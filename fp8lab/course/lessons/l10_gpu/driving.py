"""How the exercises of lesson 10 are exercised. Knows inputs, not answers; launches kernels where they can run."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from fp8lab.course.drive import Drive
from fp8lab.course.lessons.l10_gpu.driving_arena import Output, Watched, observed, surrounded
from fp8lab.course.lessons.l10_gpu.driving_launch import (
    Device,
    InTorch,
    Named,
    device,
    kernels_of,
    launch,
    launches,
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
    tied,
)
from fp8lab.course.lessons.l10_gpu.driving_watch import watched

# ---- 10.1 to 10.3: rows of groups, in a buffer whose rows are further apart than they are wide

WHOLE, GROUP, TAIL = 64, 24, 10
RAGGED = 2 * GROUP + TAIL


def absmax_inputs(seed: int) -> dict[str, Any]:
    x = groups_of_all_sizes(seed, 3, 32, 16)
    x[:, 0] = -9.0 * x[:, :17].abs().amax(1)  # the first group is not the same one element further on
    x[2, 21] = -70000.0  # beyond float16
    return {"x": x, "group": 16}


def drive_absmax(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    x, group = surrounded(inputs["x"].to(device()), pad=5), inputs["group"]
    rows, groups = len(x), x.shape[1] // group
    absmax = Output("absmax", (rows, groups), torch.float32, own=(0, 0))
    return observed(answer, (rows, groups), x, absmax, x.stride(0), GROUP=group)


def quantize_inputs(seed: int) -> dict[str, Any]:
    x = groups_of_all_sizes(seed, 2, 2 * WHOLE, WHOLE)
    x[0, :WHOLE], x[1, WHOLE:] = tied(seed, WHOLE), 0.0
    return {"x": x, "group": WHOLE}


def drive_quantize(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    x, group = surrounded(inputs["x"].to(device()), pad=7), inputs["group"]
    codes, scales = _outputs(*x.shape, group)
    return observed(answer, scales.shape, x, codes, scales, x.stride(0), GROUP=group)


def ragged_inputs(seed: int) -> dict[str, Any]:
    return {"x": groups_of_all_sizes(seed, 2, RAGGED, GROUP), "group": GROUP}


def drive_ragged(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(answer, InTorch):
        prepare()
        refuse_untouched(answer, holes=2)
    x, group = surrounded(inputs["x"].to(device()), pad=40), inputs["group"]
    codes, scales = _outputs(*x.shape, group)
    return observed(answer, scales.shape, x, codes, scales, x.shape[1], x.stride(0), GROUP=group, BLOCK=32)


def _outputs(rows: int, width: int, group: int) -> tuple[Output, Output]:
    return (
        Output("codes", (rows, width), torch.uint8, own=(0, slice(group))),
        Output("scales", (rows, -(-width // group)), torch.float32, own=(0, 0)),
    )


# ---- 10.4 back again, several groups per program

TILE = 64


def dequantize_inputs(seed: int) -> dict[str, Any]:
    width, group = 2 * TILE + 22, GROUP
    groups = -(-width // group)
    scales = torch.exp2(torch.rand(2, groups, generator=generator(seed)) * 12 - 9)
    return {"codes": random_codes(seed, 2, width), "scales": scales, "group": group}


def drive_dequantize(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    codes, scales = surrounded(inputs["codes"].to(device())), surrounded(inputs["scales"].to(device()))
    (rows, width), groups = codes.shape, scales.shape[1]
    out = Output("out", (rows, width), torch.float32, own=(0, slice(TILE)))
    grid = rows, -(-width // TILE)
    return observed(answer, grid, codes, scales, out, width, groups, GROUP=inputs["group"], BLOCK=TILE)


# ---- 10.5 into the pages: K and V of a block side by side, a gap behind every place

HEADS, WIDTH, PAGE_GROUP, PAGE_BLOCK = 2, 20, 12, 16
BLOCKS, BLOCK_SIZE = 5, 4
PLACE = HEADS * WIDTH + 8, HEADS * 2 + 1  # elements from one place of a block to the next: codes, scales


def page_inputs(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    slot = int(random.choice((6, 9, 11, 13, 14)))
    x = groups_of_all_sizes(seed, 3 * HEADS, WIDTH, PAGE_GROUP).view(3, HEADS, WIDTH)
    return {"launches": ((x[:2], [slot, -1]), (x[2:], [0]))}


def drive_pages(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    arrays = {}
    groups = -(-WIDTH // PAGE_GROUP)
    for name, (x, slots) in zip(("", " of slot 0"), inputs["launches"]):
        block, place = divmod(slots[0], BLOCK_SIZE)
        sizes = (("codes", HEADS * WIDTH, torch.uint8, PAGE_GROUP), ("scales", HEADS * groups, torch.float32, 1))
        codes, scales = (
            Output(what, (BLOCKS, BLOCK_SIZE, size), kind, (block, place, slice(own)), (2 * BLOCK_SIZE * step, step, 1))
            for (what, size, kind, own), step in zip(sizes, PLACE)
        )
        x = surrounded(x.reshape(1, -1).to(device())).view(x.shape)
        found = observed(
            answer, (len(x), HEADS, groups), x, codes, scales, torch.tensor(slots, device=device()), WIDTH, BLOCK_SIZE,
            *codes.strides[:2], *scales.strides[:2], GROUP=PAGE_GROUP, BLOCK=PAGE_BLOCK,
        )  # fmt: skip
        arrays |= {key + name: array for key, array in found.items()}
    return arrays


# ---- 10.6 attention

DIM = 32


def attention_inputs(seed: int) -> dict[str, Any]:
    """Two heads, one with ordinary scores, one so far apart that exp overflows; two lengths, two numbers of splits.

    In the second run one split is empty, and one lane of the merge is off.
    """
    random = generator(seed)
    blocks, block_size, heads = 9, 4, 2
    while True:
        cache = []
        for _ in "kv":
            codes = random_codes(int(torch.randint(2**31, (1,), generator=random)), blocks, block_size, heads, DIM)
            cache += [codes, torch.rand(blocks, block_size, heads, 2, generator=random) * 0.01 + 0.005]
        table = torch.randperm(blocks, generator=random).int()
        k = _dequantized(cache[0], cache[1])[table.long()].flatten(0, 1)[:19]
        query = torch.stack([torch.randn(DIM, generator=random), k[2, 1]])  # token 2 is what the second head looks for
        score = (k * query).sum(2) * DIM**-0.5
        strength = torch.tensor([1.5, 150.0]) / score.abs().amax(0)
        score = score * strength
        far = score[8:10, 1].max() < 50  # the second tile of its split is further below than exp can bridge
        if far and score[8:10, 0].max() > score[:8, 0].max() + 0.3:  # and for the first head it brings a new peak
            break
    return {"query": query * strength[:, None], "cache": cache, "table": table, "runs": ((19, 2), (4, 3))}


def _dequantized(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    from fp8lab.codec import decode

    return decode(codes) * scales.repeat_interleave(codes.shape[3] // scales.shape[3], 3)


def drive_attention(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    refuse_untouched(answer, *kernels_of(answer), holes=3)
    query, table = inputs["query"].to(device()), inputs["table"].to(device())
    cache = [tensor.to(device()) for tensor in inputs["cache"]]
    with watched(), launches() as seen:
        arrays = {
            f"{length} tokens in {splits} splits": answer(query, *cache, table, length, splits)
            for length, splits in inputs["runs"]
        }
    length, splits = inputs["runs"][0]
    return arrays | _of_splits([args for grid, args in seen if grid == (len(query), splits)], length)


def _of_splits(launched: list[dict[str, Any]], length: int) -> dict[str, Any]:
    """What the launches of `split_kernel` say that the result does not: each split has tokens, so each has a peak."""
    peaks, sums, shares = ([args.get(name) for args in launched] for name in ("peak_ptr", "sum_ptr", "per_split"))
    return {
        "one split reads all": any(isinstance(share, (int, np.integer)) and share >= length for share in shares),
        "peaks at -inf": sum(int(peak.isneginf().sum()) for peak in peaks if torch.is_tensor(peak)),
        "sums that are NaN": sum(int(total.isnan().sum()) for total in sums if torch.is_tensor(total)),
    }


# ---- 10.7 bytes and floors


def bytes_inputs(seed: int) -> dict[str, Any]:
    """No time lies below its floor: each is longer than 8 bytes per value take, and no job here moves as many."""
    random = np.random.default_rng(seed)
    cases = [(1024, 32, 128, 64, 7.5, 2**30, 520.0), (1, 8, 96, 64, 2.5, 2**28, 180.0)]
    for dim, group in ((80, 32), (128, 128), (64, 16)):
        tokens, heads, copied = (int(random.integers(*ends)) for ends in ((2, 9999), (1, 33), (2**26, 2**32)))
        copy_microseconds = 2 * copied / random.uniform(0.3e6, 4.0e6)
        least = 8 * tokens * heads * dim / (2 * copied / copy_microseconds)
        cases.append((tokens, heads, dim, group, float(least * random.uniform(1, 4)), copied, float(copy_microseconds)))
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
