"""How 4.8 to 4.10 are exercised: whole tensors, real bytes, and a ledger."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from fp8lab.course.arrays import as_array
from fp8lab.course.lessons.l01_decode.driving_work import busiest_line
from fp8lab.course.lessons.l04_grouped_kv.driving_sim import Inputs, normal, unchanged

MANY, MANY_SIZE = (2, 3, 5, 96), 3  # 960 groups, 32 in each row: neither may be looped over
MANY_GROUPS = f"{list(MANY)} in groups of {MANY_SIZE}"
LIMITS = (16, 200)  # of the busiest line: none of them; those of a row
RUNS = "runs of the busiest line"

# ---- 4.8 without a loop


def tensor_inputs(seed: int) -> Inputs:
    heads = normal(seed, 2, 3, 5, 96) * torch.tensor([1.0, 1e-3, 30.0]).reshape(3, 1, 1)
    rows = normal(seed + 1, 6, 7)
    rows[2] = 0
    negative = -normal(seed + 2, 4, 10).abs() - 0.1
    return {
        "cases": {
            "[2, 3, 5, 96] in groups of 64": (heads, 64, {}),
            "[6, 7] in groups of 3, a row of zeros": (rows, 3, {}),
            "[2, 5] in groups of 1": (normal(seed + 3, 2, 5), 1, {}),
            "[3, 40] in groups of 64": (normal(seed + 4, 3, 40), 64, {}),
            "[4, 10] negative, in groups of 4": (negative, 4, {}),
            "float16 [3, 12], large, in groups of 5": ((3e4 * normal(seed + 5, 3, 12)).clamp(-6e4, 6e4).half(), 5, {}),
            "bfloat16 [5, 9] in groups of 4": (normal(seed + 6, 5, 9).bfloat16(), 4, {}),
            "transposed [8, 6] in groups of 4": (normal(seed + 7, 6, 8).T, 4, {}),
            "every second token, in groups of 4": (normal(seed + 8, 2, 8, 6)[:, ::2], 4, {}),
            MANY_GROUPS: (normal(seed + 10, *MANY), MANY_SIZE, {}),
            "qmax 7, eps 0.5": (torch.cat([normal(seed + 9, 2, 6), torch.zeros(1, 6)]), 4, {"qmax": 7, "eps": 0.5}),
        }
    }


def drive_tensor(answer: Any, inputs: Inputs) -> Inputs:
    """Every call whose codes are compared is counted; one that loops over all groups is the last."""
    answer(normal(1, 2, 4), 4)  # what is made once is made here, uncounted
    most = 0
    arrays: Inputs = {RUNS: _at_most(most)}
    for name, (kv, size, settings) in inputs["cases"].items():
        given = kv.clone() if kv.is_contiguous() else kv.clone(memory_format=torch.preserve_format)
        made, runs = busiest_line(_quantized, answer, given, size, settings, limit=LIMITS[-1])
        most = runs if runs > most else most
        arrays[RUNS] = _at_most(most)
        if made is None:
            return {RUNS: arrays[RUNS]}
        codes, arrays[f"scales, {name}"] = made
        arrays[f"codes, {name}"] = codes
        arrays[f"input unchanged, {name}"] = unchanged(kv, given)
    return arrays


def _quantized(answer: Any, kv: torch.Tensor, size: int, settings: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales as plain numbers: all that comes of the answer happens while it is counted."""
    codes, scales = answer(kv, size, **settings)
    return as_array(_typed(codes, torch.int8)), as_array(scales)


def _at_most(runs: int) -> str:
    return next((f"<= {limit}" for limit in LIMITS if runs <= limit), f"> {LIMITS[-1]}")


def _typed(codes: Any, dtype: torch.dtype) -> Any:
    """The codes, or what they are instead of a tensor of that dtype."""
    if not isinstance(codes, torch.Tensor):
        return f"<{type(codes).__name__}>"
    return codes if codes.dtype == dtype else f"<tensor of {codes.dtype}>"


# ---- 4.9 real bytes


def byte_inputs(seed: int) -> Inputs:
    exact = torch.tensor([[448.0, 17.0, 19.0, -0.01, 232.0, 216.0], [1.75, 0.0, -0.75, 1.0, 0.5, -1.75]])
    return {
        "cases": {
            "known numbers, one group": (exact, 6),
            "[3, 4, 10] in groups of 4": (normal(seed, 3, 4, 10), 4),
            "[2, 96] in groups of 64": (normal(seed + 1, 2, 96) * 100, 64),
            "a row of zeros": (torch.cat([torch.zeros(1, 5), normal(seed + 2, 1, 5)]), 5),
            "bfloat16 [4, 6] in groups of 8": (normal(seed + 3, 4, 6).bfloat16(), 8),
        }
    }


def drive_bytes(answer: Any, inputs: Inputs) -> Inputs:
    arrays = {}
    for name, (kv, size) in inputs["cases"].items():
        codes, scales, restored = answer(kv.clone(), size)
        arrays[f"scales, {name}"] = scales
        arrays[f"codes, {name}"] = _one_zero(_typed(codes, torch.uint8))
        arrays[f"restored, {name}"] = restored
    return arrays


def _one_zero(codes: Any) -> Any:
    """0x80 and 0x00 are the same number: whether a zero keeps its sign is not asked here."""
    return torch.where(codes == 0x80, 0, codes.int()) if isinstance(codes, torch.Tensor) else codes


# ---- 4.10 the ledger

KNOWN = [(128, 128, 8, 4), (128, 64, 8, 4), (128, 32, 8, 1), (128, 16, 8, 1), (128, 64, 4, 4), (96, 64, 8, 4)]


def ledger_inputs(seed: int) -> Inputs:
    generator = torch.Generator().manual_seed(seed)
    drawn = []
    for _ in range(12):
        head_dim = int(torch.randint(5, 260, (1,), generator=generator))
        size = int(torch.randint(1, head_dim + 20, (1,), generator=generator))
        bits, wide = ((4, 8)[_drawn(2, generator)], (1, 2, 4)[_drawn(3, generator)])
        drawn.append((head_dim, size, bits, wide))
    odd = [(80, 32, 8, 4), (7, 3, 4, 2), (128, 1, 8, 4), (128, 4, 8, 4), (2, 1, 8, 4), (5, 2, 8, 4), (65, 64, 4, 1)]
    return {"cases": KNOWN + odd + drawn}


def _drawn(count: int, generator: torch.Generator) -> int:
    return int(torch.randint(count, (1,), generator=generator))


def drive_ledger(answer: Any, inputs: Inputs) -> Inputs:
    made = [answer(*case) for case in inputs["cases"]]
    names = ("bytes of a row", "times smaller", "smallest group that saves")
    return {name: [entry[i] for entry in made] for i, name in enumerate(names)}
