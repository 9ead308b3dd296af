"""How the exercises of lesson 03 are exercised. Knows inputs, not answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from fp8lab.course.arrays import as_array
from fp8lab.course.drive import Drive, outcome
from fp8lab.course.lessons.l03_scale.driving_data import shapes_of_data


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# ---- 3.1 absmax


def absmax_inputs(seed: int) -> dict[str, Any]:
    block = torch.randn(6, 8, generator=generator(seed))
    lopsided = torch.cat([block.flatten(), torch.tensor([-7.5])])
    first_row = block.clone()
    first_row[0, 3] = -9.0
    return {
        "negative side": lopsided,
        "positive side": -lopsided,
        "all negative": -block.abs() - 1,
        "first row": first_row,
        "transposed": (block * 3).T[::2],
        "0-d": torch.tensor(-2.5),
        "bfloat16": (block * 100).to(torch.bfloat16),
        "float16": torch.cat([block.flatten(), torch.tensor([-65504.0])]).half(),
        "float64": block.double() * 1e100,
        "gradient": block.clone().requires_grad_(),
        "zeros": torch.zeros(4),
        "small": block * 1e-30,
    }


def drive_absmax(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: plain_number(answer(x)) for name, x in inputs.items()}


def plain_number(result: Any) -> Any:
    """A number of Python or numpy as it is; a tensor or an array with one element is none, and described."""
    return f"<{type(result).__name__}>" if isinstance(result, (torch.Tensor, np.ndarray)) else result


# ---- 3.2 two conventions


def convention_inputs(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    drawn = [(float(2.0 ** rng.uniform(-20, 20)), float(rng.choice([127.0, 448.0, 57344.0]))) for _ in range(6)]
    return {
        "cases": [(0.02, 127.0), (0.001, 448.0), (896.0, 448.0), (448.0, 448.0), (127.0, 127.0), (1e6, 127.0), *drawn]
    }


def drive_conventions(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    results = [answer(absmax, qmax) for absmax, qmax in inputs["cases"]]
    return {
        "multiplier": [multiplier for multiplier, _, _ in results],
        "scale": [scale for _, scale, _ in results],
        "mixed": [mixed for _, _, mixed in results],
    }


# ---- 3.3 and 3.4 int8


def int8_inputs(seed: int) -> dict[str, Any]:
    """Tensors with their scales. `ties` divide to exactly k + 1/2, `awkward` nearly so, `beyond` clips."""
    halves = torch.arange(-130, 130) + 0.5
    scale = float(torch.rand((), generator=generator(seed)) * 0.01 + 0.02)
    scale = torch.tensor(scale).item()  # a float32
    block = torch.randn(8, 16, generator=generator(seed))
    return {
        "ties": (torch.tensor([0.5, 1.5, 2.5, -0.6, -0.5, -1.5, -2.5, 126.5, -126.5]), 1.0),
        "halves": (halves * 0.25, 0.25),
        "beyond": (torch.tensor([127.4, 127.6, 130.0, 200.0, 300.0, 1e9, -127.6, -128.0, -129.0, -300.0, -1e9]), 1.0),
        "block": (block, (block.abs().amax() / 127).item()),
        "awkward": (undisputed(halves[3:-3] * scale, scale), scale),
        "small scale": (torch.tensor([1e-6, -3e-6, 0.0, 4e-6]), 3.2e-8),
        "large scale": (torch.tensor([1e8, -3e7, 5e5]), 1e6),
        "transposed": (block.T[::3], 0.05),
        "empty": (torch.empty(0, 3), 1.0),
    }


def undisputed(x: torch.Tensor, scale: float) -> torch.Tensor:
    """The values that get the same code whether they are divided in float32 or in float64: both are fair."""
    return x[torch.round(x / scale) == torch.round(x.double() / scale)]


def drive_quantize_int8(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: int8_codes(answer(x, scale)) for name, (x, scale) in inputs.items()}


def int8_codes(result: Any) -> Any:
    """An int8 tensor as it is; anything else is described."""
    if isinstance(result, torch.Tensor) and result.dtype == torch.int8:
        return result
    return f"<tensor of {result.dtype}>" if isinstance(result, torch.Tensor) else f"<{type(result).__name__}>"


def restore_inputs(seed: int) -> dict[str, Any]:
    codes = torch.randint(-127, 128, (4, 8), generator=generator(seed), dtype=torch.int8)
    return {
        "every code": (torch.arange(-128, 128).to(torch.int8), 0.25),
        "small scale": (codes, 3.2e-8),
        "large scale": (codes, 4321.5),
        "scale of one": (codes, 1.0),
        "transposed": (codes.T, 0.0123),
    }


def drive_dequantize(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: floats(answer(codes, scale)) for name, (codes, scale) in inputs.items()}


def floats(result: Any) -> Any:
    """Floating point results as they are; integers are described, since they cannot hold a fraction."""
    array = as_array(result)
    return array if array.dtype.kind in "fU" else f"<{array.dtype}>"


# ---- 3.5 a scale that is always one


def scale_inputs(seed: int) -> dict[str, Any]:
    block = torch.randn(64, generator=generator(seed))
    block[5] = 3.0
    spoiled = {name: block.clone() for name in ("a NaN", "inf", "-inf")}
    spoiled["a NaN"][7], spoiled["inf"][9], spoiled["-inf"][0] = math.nan, math.inf, -math.inf
    tensors = {
        "normal": block,
        "zeros": torch.zeros(64),
        "negative zeros": torch.full((8,), -0.0),
        "constant 3.0": torch.full((64,), 3.0),
        **{f"absmax near {size:g}": block / 3 * size for size in (1e-4, 1e-5, 1e-7, 1e-8, 1e-20, 1e-36, 1e-38, 1e-42)},
        "absmax near 3e38": block / block.abs().amax() * 3e38,
        **spoiled,
        "bfloat16": block.to(torch.bfloat16),
    }
    return {"cases": [(name, x, qmax) for name, x in tensors.items() for qmax in (127.0, 448.0)]}


def drive_scale(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """An error is the right answer where a value is not finite, and only there is one written down as a result."""
    scales = [answer(x, qmax) if x.isfinite().all() else outcome(answer, x, qmax) for _, x, qmax in inputs["cases"]]
    return {"scale": scales}


# ---- 3.6 real FP8


def fp8_inputs(seed: int) -> dict[str, Any]:
    block = torch.randn(16, 32, generator=generator(seed))
    outlier = block.clone()
    outlier[3, 4] = -300.0
    return {
        "block": block,
        "large": block * 5000,
        "small": block * 1e-6,
        "outlier": outlier,
        "bfloat16": (block * 0.37).to(torch.bfloat16),
        "transposed": block.T[::2],
        "zeros": torch.zeros(8),
        "constant": torch.full((8,), 3.0),
        "gradient": block.clone().requires_grad_(),
        "a NaN": torch.tensor([1.0, math.nan]),
    }


def drive_fp8(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    arrays = {}
    for name, x in inputs.items():
        result = answer(x) if x.isfinite().all() else outcome(answer, x)
        if isinstance(result, str):
            arrays[f"{name} codes"] = result
            continue
        codes, scale = result
        arrays[f"{name} scale"] = scale
        arrays[f"{name} codes"] = uint8_codes(codes)
    return arrays


def uint8_codes(result: Any) -> Any:
    if isinstance(result, torch.Tensor) and result.dtype == torch.uint8:
        return result
    return f"<tensor of {result.dtype}>" if isinstance(result, torch.Tensor) else f"<{type(result).__name__}>"


# ---- 3.7 three measures


def measure_inputs(seed: int) -> dict[str, Any]:
    x = torch.randn(301, generator=generator(seed)) * 2
    noise = torch.randn(301, generator=generator(seed + 1))
    with_zeros = x.clone()
    with_zeros[::4] = 0.0
    return {
        "small noise": (x, x + noise * 0.01),
        "large noise": (x, x + noise),
        "half": (x, x / 2),
        "zeros inside": (with_zeros, with_zeros + noise * 0.05),
        "tiny": (x * 1e-25, (x + noise * 0.1) * 1e-25),
        "huge": (x * 1e25, (x + noise * 0.1) * 1e25),
        "bfloat16": (x.to(torch.bfloat16), (x + noise * 0.2).to(torch.bfloat16)),
        "block": (x[:300].reshape(3, 100)[:, :99], (x + noise * 0.03)[:300].reshape(3, 100)[:, :99]),
    }


def drive_measure(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    results = [answer(x, restored) for x, restored in inputs.values()]
    names = ("mse", "sqnr in dB", "median relative error")
    return {name: [result[i] for result in results] for i, name in enumerate(names)}


# ---- 3.8 who wins


def winner_inputs(seed: int) -> dict[str, Any]:
    return {"data": shapes_of_data(seed)}


def drive_winner(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    winners = [answer(x) for _, x in inputs["data"]]
    return {"winner": [w if w in ("int8", "fp8") else f"<{type(w).__name__}>" for w in winners]}


def _drive(key: str, name: str, inputs: Any, drive: Any, **requires: str) -> Drive:
    return Drive(key=key, name=name, inputs=inputs, drive=drive, requires=requires)


DRIVES = {
    drive.key: drive
    for drive in (
        _drive("3.1", "find_absmax", absmax_inputs, drive_absmax),
        _drive("3.2", "conventions", convention_inputs, drive_conventions),
        _drive("3.3", "quantize_int8", int8_inputs, drive_quantize_int8),
        _drive("3.4", "dequantize_int8", restore_inputs, drive_dequantize),
        _drive("3.5", "choose_scale", scale_inputs, drive_scale, find_absmax="3.1"),
        _drive("3.6", "quantize_fp8", fp8_inputs, drive_fp8, choose_scale="3.5", find_absmax="3.1"),
        _drive("3.7", "measure", measure_inputs, drive_measure),
        _drive("3.8", "predict_winner", winner_inputs, drive_winner),
    )
}
