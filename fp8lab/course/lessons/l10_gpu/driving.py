"""How the exercises of lesson 10 are exercised. Knows inputs, not answers; launches kernels where they can run."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from fp8lab.course.drive import Drive
from fp8lab.course.lessons.l10_gpu.driving_arena import Watched, surrounded
from fp8lab.course.lessons.l10_gpu.driving_launch import InTorch, Named, device, launch, prepare, refuse_untouched
from fp8lab.course.lessons.l10_gpu.driving_points import (
    generator,
    groups_of_all_sizes,
    hard_numbers,
    hexadecimal,
    random_codes,
    tied,
)

# ---- 10.1 to 10.3: rows of groups, in a buffer whose rows are further apart than they are wide

WHOLE, GROUP, TAIL = 64, 24, 10
RAGGED = 2 * GROUP + TAIL


def absmax_inputs(seed: int) -> dict[str, Any]:
    x = groups_of_all_sizes(seed, 3, 32, 16)
    x[:, 0] = -9.0 * x[:, :17].abs().amax(1)  # the first group is not the same one element further on
    x[2, 21] = -70000.0  # beyond float16
    return {"x": x, "group": 16}


def drive_absmax(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    x = surrounded(inputs["x"].to(device()), pad=5)
    rows, groups = len(x), x.shape[1] // inputs["group"]
    absmax = Watched((rows, groups), torch.float32, device())
    launch(answer, (rows, groups), x, absmax.view, x.stride(0), GROUP=inputs["group"])
    return {"absmax": absmax.view, "written elsewhere": absmax.written_elsewhere()}


def quantize_inputs(seed: int) -> dict[str, Any]:
    x = groups_of_all_sizes(seed, 2, 2 * WHOLE, WHOLE)
    x[0, :WHOLE], x[1, WHOLE:] = tied(seed, WHOLE), 0.0
    return {"x": x, "group": WHOLE}


def drive_quantize(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    x = surrounded(inputs["x"].to(device()), pad=7)
    rows, groups = len(x), x.shape[1] // inputs["group"]
    codes, scales = Watched(tuple(x.shape), torch.uint8, device()), Watched((rows, groups), torch.float32, device())
    launch(answer, (rows, groups), x, codes.view, scales.view, x.stride(0), GROUP=inputs["group"])
    return _written(codes, scales)


def ragged_inputs(seed: int) -> dict[str, Any]:
    return {"x": groups_of_all_sizes(seed, 2, RAGGED, GROUP), "group": GROUP}


def drive_ragged(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    x = surrounded(inputs["x"].to(device()), pad=40)
    (rows, width), group = x.shape, inputs["group"]
    groups = -(-width // group)
    codes, scales = Watched((rows, width), torch.uint8, device()), Watched((rows, groups), torch.float32, device())
    launch(answer, (rows, groups), x, codes.view, scales.view, width, x.stride(0), GROUP=group, BLOCK=32)
    return _written(codes, scales)


def _written(codes: Watched, scales: Watched) -> dict[str, Any]:
    return {
        "scales": scales.view,
        "codes": hexadecimal(codes.view),
        "codes written elsewhere": codes.written_elsewhere(),
        "scales written elsewhere": scales.written_elsewhere(),
    }


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
    out = Watched((rows, width), torch.float32, device())
    grid = rows, -(-width // TILE)
    launch(answer, grid, codes, scales, out.view, width, groups, GROUP=inputs["group"], BLOCK=TILE)
    return {"out": out.view, "written elsewhere": out.written_elsewhere()}


# ---- 10.5 into the pages: K and V of a block side by side, a gap behind every place

HEADS, WIDTH, PAGE_GROUP = 2, 20, 16
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
        strides = [(2 * BLOCK_SIZE * place, place, 1) for place in PLACE]
        codes = Watched((BLOCKS, BLOCK_SIZE, HEADS * WIDTH), torch.uint8, device(), strides[0])
        scales = Watched((BLOCKS, BLOCK_SIZE, HEADS * groups), torch.float32, device(), strides[1])
        x = surrounded(x.reshape(1, -1).to(device())).view(x.shape)
        mapping = torch.tensor(slots, device=device())
        launch(
            answer, (len(x), HEADS, groups), x, codes.view, scales.view, mapping, WIDTH, BLOCK_SIZE,
            *strides[0][:2], *strides[1][:2], GROUP=PAGE_GROUP, BLOCK=PAGE_GROUP,
        )  # fmt: skip
        arrays |= {key + name: array for key, array in _written(codes, scales).items()}
    return arrays


# ---- 10.6 attention

DIM = 32


def attention_inputs(seed: int) -> dict[str, Any]:
    """Two heads, one with ordinary scores, one so far apart that exp overflows; two lengths, two numbers of splits."""
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
    return {"query": query * strength[:, None], "cache": cache, "table": table, "runs": ((19, 2), (3, 4))}


def _dequantized(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    from fp8lab.codec import decode

    return decode(codes) * scales.repeat_interleave(codes.shape[3] // scales.shape[3], 3)


def drive_attention(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    query, table = inputs["query"].to(device()), inputs["table"].to(device())
    cache = [tensor.to(device()) for tensor in inputs["cache"]]
    return {
        f"{length} tokens in {splits} splits": answer(query, *cache, table, length, splits)
        for length, splits in inputs["runs"]
    }


# ---- 10.7 bytes and floors


def bytes_inputs(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    cases = [(1024, 32, 128, 64, 6.0, 2**30, 520.0), (1, 8, 96, 64, 2.5, 2**28, 180.0)]
    for dim, group in ((80, 32), (128, 128), (64, 16)):
        tokens, heads, copied = (int(random.integers(*ends)) for ends in ((2, 9999), (1, 33), (2**26, 2**32)))
        times = random.uniform(5, 900), random.uniform(50, 5000)
        cases.append((tokens, heads, dim, group, float(times[0]), copied, float(times[1])))
    return {"cases": cases}


def drive_bytes(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    results = [tuple(float(part) for part in answer(*case)) for case in inputs["cases"]]
    names = ("bytes moved", "floor in microseconds", "fraction of the copy bandwidth")
    return {name: [result[i] for result in results] for i, name in enumerate(names)} | {
        "results": [len(result) for result in results]
    }


# ---- 10.8 integer bits

COUNT = 1024


def bits_inputs(seed: int) -> dict[str, Any]:
    return {"x": hard_numbers(seed, COUNT)}


def drive_bits(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    x, codes = inputs["x"].to(device()), Watched((COUNT,), torch.uint8, device())
    if isinstance(answer, (InTorch, Named)):
        launch(answer, (1,), x, codes.view, BLOCK=COUNT)
    else:
        prepare()
        refuse_untouched(answer)
        if not hasattr(answer, "fn"):
            raise TypeError(f"a device function is a function under @triton.jit; given {type(answer).__name__}")
        from fp8lab.course.lessons.l10_gpu.driving_kernel import elementwise_kernel

        launch(elementwise_kernel, (1,), x, codes.view, FUNCTION=answer, BLOCK=COUNT)
    return {"codes": hexadecimal(codes.view)}


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
