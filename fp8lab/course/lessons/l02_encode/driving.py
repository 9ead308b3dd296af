"""How the exercises of lesson 02 are exercised. Knows inputs, not answers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from fp8lab.course.arrays import as_array
from fp8lab.course.drive import Drive
from fp8lab.course.lessons.l01_decode.driving_table import decoder_of
from fp8lab.course.lessons.l01_decode.driving_work import busiest_line
from fp8lab.course.lessons.l02_encode.driving_points import (
    E5M2_VALUES,
    FINITE,
    MIDDLES,
    POSITIVE_MIDDLES,
    VALUES,
    around,
    code_of,
    code_text,
    some_reals,
)
from fp8lab.course.lessons.l02_encode.driving_tables import encoder_of
from fp8lab.formats import E4M3FN, E4M3FNUZ, E5M2, FloatFormat, value

# ---- 2.1 neighbours


def neighbour_inputs(seed: int) -> dict[str, Any]:
    special = [17.0, 0.0, -0.0, 448.0, -448.0, 500.0, -1e9, 1e-30, -1e-30]
    large = [240.0, 250.0, 57344.0, 60000.0, -70000.0, -1e-30, 0.0]
    return {
        "E4M3FN": special + list(VALUES[::-1]) + list(MIDDLES) + some_reals(seed, 40),
        "E5M2": large + some_reals(seed, 40, E5M2),
    }


def drive_neighbours(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    arrays = {}
    for fmt in (E4M3FN, E5M2):
        pairs = [answer(x, fmt) for x in inputs[fmt.name]]
        arrays[f"low {fmt}"] = [code_text(low, fmt) for low, _ in pairs]
        arrays[f"high {fmt}"] = [code_text(high, fmt) for _, high in pairs]
    return arrays


# ---- 2.2 nearest


def nearest_inputs(seed: int) -> dict[str, Any]:
    tie_points = [17.0, 19.0, -17.0, -19.0, *MIDDLES]
    small = [
        E5M2_VALUES[i] + (E5M2_VALUES[i + 1] - E5M2_VALUES[i]) * part for i in (0, 1, 3, 60) for part in (0.5, 0.51)
    ]
    return {"E4M3FN": around(tie_points) + list(VALUES[::9]) + some_reals(seed, 60), "E5M2": small}


def drive_nearest(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {f"code {fmt}": [code_text(answer(x, fmt), fmt) for x in inputs[fmt.name]] for fmt in (E4M3FN, E5M2)}


# ---- 2.3 and 2.4: what happens at the edges

POLICIES = ((E4M3FN, "saturate"), (E4M3FN, "nan"), (E5M2, "saturate"), (E5M2, "inf"), (E5M2, "nan"), (E4M3FNUZ, "nan"))


def edge_points(fmt: FloatFormat) -> list[float]:
    """The largest value, the halfway point behind it, the first value that does not exist; and far beyond."""
    top, below = fmt.max_finite, value(fmt.max_code - 1, fmt)
    gap = top - below
    return [top + gap / 2, top + gap, top, below + gap / 2, top + gap / 4, top + 0.75 * gap]


def overflow_inputs(seed: int) -> dict[str, Any]:
    cases = []
    rng = np.random.default_rng(seed)
    for fmt, policy in POLICIES:
        far = [1e9, 1e30, fmt.max_finite * float(rng.uniform(1.2, 9.0))]
        points = [x for x in around(edge_points(fmt)) + far]
        cases += [(x, fmt, policy) for x in points + [-x for x in points] + some_reals(seed, 6, fmt)]
    return {"cases": cases + [(500.0, E4M3FN, "inf"), (-1e9, E4M3FNUZ, "inf")]}


def encode_inputs(seed: int) -> dict[str, Any]:
    tiny = [-1e-5, -1e-30, 1e-30, -(2.0**-10), -(2.0**-12), 5e-324, -5e-324]
    ordinary = [0.0, -0.0, 1.0, -1.0, 448.0, -448.0, 300.0, *some_reals(seed, 12)]
    ends = [math.inf, -math.inf, math.nan, -math.nan, 500.0, -500.0, 1e30, -1e30]
    cases = [(x, fmt, policy) for fmt, policy in POLICIES for x in tiny + ordinary + ends]
    return {"cases": cases + [(math.inf, E4M3FN, "inf"), (-math.inf, E4M3FNUZ, "inf"), (math.nan, E5M2, "inf")]}


def drive_cases(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {"code": [code_of(answer, x, fmt, policy) for x, fmt, policy in inputs["cases"]]}


# ---- 2.5 a whole tensor

MOST_RUNS = 200  # of one line: a loop over the 127 values is slow but fair; one over the elements is not


def all_bfloat16() -> torch.Tensor:
    """Every one of the 65,536 bit patterns of bfloat16; two ties that everybody can check by hand come first."""
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    ties = torch.tensor([17.0, 19.0], dtype=torch.bfloat16).view(torch.int16)
    return torch.cat([ties, every[~torch.isin(every, ties)]]).view(torch.bfloat16)


def tensor_inputs(seed: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    block = torch.randn(6, 10, generator=generator) * 60
    wide = torch.tensor(around(POSITIVE_MIDDLES) + around(edge_points(E4M3FN)), dtype=torch.float64)
    drawn = torch.randn(4000, generator=generator, dtype=torch.float64) * 2.0 ** torch.arange(-9, 9).repeat(223)[:4000]
    return {
        "bf16": all_bfloat16(),
        "float64": torch.cat([wide, drawn]),
        "shaped": {
            "transposed": block.T[::2],
            "0-d": torch.tensor(19.0),
            "empty": torch.empty(0, 4),
            "gradient": block.clone().requires_grad_(),
            "float16": block.half(),
        },
    }


def drive_tensor(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Every call whose codes are compared is counted; whichever runs a line too often is the last."""
    before = inputs["bf16"].clone()
    calls = _calls(inputs)
    answer(before[:4].clone())
    for x, fmt, policy in calls.values():  # tables that are made once are made here, uncounted
        answer(x.detach().flatten()[:4].clone(), fmt, policy)
    arrays: dict[str, Any] = {"runs": f"<= {MOST_RUNS}"}
    for name, call in calls.items():
        codes, runs = busiest_line(_coded, answer, *call, limit=MOST_RUNS)
        if runs > MOST_RUNS:
            return {"runs": f"> {MOST_RUNS}"}
        arrays[name] = codes
    arrays["input unchanged"] = torch.equal(before.view(torch.int16), inputs["bf16"].view(torch.int16))
    return arrays


def _calls(inputs: dict[str, Any]) -> dict[str, tuple[torch.Tensor, FloatFormat, str]]:
    """The arguments of all calls, by the name of what is compared."""
    calls = {f"bf16 {policy}": (inputs["bf16"], E4M3FN, policy) for policy in ("saturate", "nan")}
    calls["float64"] = (inputs["float64"], E4M3FN, "nan")
    calls |= {name: (x, E4M3FN, "saturate") for name, x in inputs["shaped"].items()}
    return calls | {f"bf16 {fmt}": (inputs["bf16"], fmt, policy) for fmt, policy in ((E5M2, "inf"), (E4M3FNUZ, "nan"))}


def _coded(answer: Any, x: torch.Tensor, fmt: FloatFormat, policy: str) -> np.ndarray:
    """The codes as plain numbers: all that comes of the answer happens while it is counted."""
    return as_array(_codes(answer(x, fmt, policy), fmt))


def _codes(result: Any, fmt: FloatFormat) -> Any:
    """A uint8 tensor with its NaN codes made one; anything else is described, not repaired."""
    if not isinstance(result, torch.Tensor):
        return f"<{type(result).__name__}>"
    if result.dtype != torch.uint8:
        return f"<tensor of {result.dtype}>"
    codes = result.detach().cpu().numpy().copy()
    codes[np.isin(codes, fmt.nan_codes)] = fmt.nan_code
    return codes


# ---- 2.6 an independent check


def codec_inputs(seed: int) -> dict[str, Any]:
    """Codecs as numbers, three of them right, and what each of them is: the names stay outside of a kernel."""
    from fp8lab.course.lessons.l02_encode.planted import tables

    names, codecs = zip(*tables(seed))
    return {"codecs": list(codecs), "names": list(names)}


def drive_accepts(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {"accepted": [_verdict(answer, *_functions(codec)) for codec in inputs["codecs"]]}


def _functions(codec: dict[str, Any]) -> tuple[Callable[[int], float], Callable[[float], int]]:
    """decode and encode, in Python's types or in numpy's."""
    real, integer = (np.float32, np.uint8) if codec["numpy"] else (float, int)
    codes = [integer(code) for code in codec["codes"]]
    encode = encoder_of(codec["edges"], codes, integer(codec["nan"]), integer(codec["minus zero"]))
    return decoder_of([real(v) for v in codec["values"]]), encode


def _verdict(answer: Any, decode: Callable[[int], float], encode: Callable[[float], int]) -> Any:
    result = answer(decode, encode)
    return bool(result) if isinstance(result, (bool, np.bool_, torch.Tensor)) else f"<{type(result).__name__}>"


# ---- 2.7 other records


def record_inputs(seed: int) -> dict[str, Any]:
    sizes = {fmt.name: around(edge_points(fmt)) + some_reals(seed, 60, fmt) for fmt in (E5M2, E4M3FNUZ)}
    return {name: xs + [0.0, -0.0, -1e-6, math.inf, -math.inf, math.nan] for name, xs in sizes.items()}


def drive_records(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The fields of both records and the bytes that were listed. What they amount to is for the judge (facts.py)."""
    e5m2, fnuz, listed = answer()
    return {**_fields("E5M2", e5m2), **_fields("E4M3FNUZ", fnuz), "exceptions": _listed(listed)}


def _fields(name: str, record: Any) -> dict[str, Any]:
    if not isinstance(record, FloatFormat):
        return {name: f"<{type(record).__name__}>"}
    numbers = (record.exponent_bits, record.mantissa_bits, record.bias, record.signed)
    return {name: [float(number) for number in numbers], f"{name} special": record.special}


def _listed(listed: Any) -> Any:
    """The bytes, sorted, each once; whatever lies outside of 0 to 255 is -1 or 256."""
    try:
        codes = {min(max(operator.index(code), -1), 256) for code in listed}
    except TypeError:
        return f"<{type(listed).__name__}>"
    return np.array(sorted(codes), dtype=np.int64)


# ---- 2.8 rounding twice


def pair_inputs(seed: int) -> dict[str, Any]:
    """Pairs of neighbouring codes, the smaller value first, and among them ties that go down and ties that go up."""
    rng = np.random.default_rng(seed)
    drawn = [int(i) for i in rng.choice(len(VALUES) - 1, 12, replace=False)]
    by_value = {value(code): code for code in FINITE if code != 0x80}
    pairs = [(0x38, 0x39), (0x39, 0x3A), (0x00, 0x01), (0x07, 0x08), (0x7D, 0x7E), (0xB9, 0xB8), (0x81, 0x00)]
    return {"pairs": pairs + [(by_value[VALUES[i]], by_value[VALUES[i + 1]]) for i in drawn]}


def drive_pairs(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The numbers, in full. Many are right: what is true of them is for the judge (facts.py)."""
    numbers = [_number(answer(low, high)) for low, high in inputs["pairs"]]
    return {"x": np.array([x for x, _ in numbers], dtype=np.float64), "type": [kind for _, kind in numbers]}


def _number(x: Any) -> tuple[float, str]:
    """A number as float64, and its type; what is no number becomes NaN."""
    x = x.item() if isinstance(x, (np.generic, np.ndarray, torch.Tensor)) else x
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        return math.nan, f"<{type(x).__name__}>"
    try:
        return float(x), "number"
    except OverflowError:
        return math.inf, "number"


def _drive(key: str, name: str, inputs: Any, drive: Any, hidden: tuple[str, ...] = (), **requires: str) -> Drive:
    return Drive(key=key, name=name, inputs=inputs, drive=drive, requires=requires, hidden=hidden)


DRIVES = {
    drive.key: drive
    for drive in (
        _drive("2.1", "neighbours_of", neighbour_inputs, drive_neighbours),
        _drive("2.2", "nearest", nearest_inputs, drive_nearest, neighbours_of="2.1"),
        _drive("2.3", "encode_finite", overflow_inputs, drive_cases, nearest="2.2", neighbours_of="2.1"),
        _drive("2.4", "encode", encode_inputs, drive_cases, encode_finite="2.3", nearest="2.2", neighbours_of="2.1"),
        _drive("2.5", "encode_all", tensor_inputs, drive_tensor),
        _drive("2.6", "accepts", codec_inputs, drive_accepts, hidden=("names",)),
        _drive("2.7", "other_formats", record_inputs, drive_records),
        _drive("2.8", "double_rounding", pair_inputs, drive_pairs),
    )
}
