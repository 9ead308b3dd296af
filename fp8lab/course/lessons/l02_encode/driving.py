"""How the exercises of lesson 02 are exercised. Knows inputs, not answers.

Codes are written down as text, `0x59 = 0 1011 001`, so that a difference shows the bits; every NaN code is "NaN",
because libraries disagree on which one they write.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import torch

from fp8lab.course.drive import Drive, outcome
from fp8lab.course.lessons.l02_encode.driving_codecs import codecs
from fp8lab.formats import E4M3FN, E4M3FNUZ, E5M2, FloatFormat, bracket, value

FINITE = tuple(code for code in range(256) if math.isfinite(value(code)))
VALUES = tuple(sorted({value(code) for code in FINITE}))
POSITIVE_MIDDLES = tuple((low + high) / 2 for low, high in zip(VALUES, VALUES[1:]) if low >= 0)
MIDDLES = POSITIVE_MIDDLES + tuple(-middle for middle in POSITIVE_MIDDLES)  # a learner sees the positive ones first
E5M2_VALUES = tuple(value(code, E5M2) for code in range(E5M2.max_code + 1))


def pattern(code: int, fmt: FloatFormat = E4M3FN) -> str:
    """A code in hex and in its fields.

    >>> pattern(0x59)
    '0x59 = 0 1011 001'
    """
    bits = f"{code:08b}"
    split = 1 + fmt.exponent_bits
    return f"0x{code:02X} = {bits[0]} {bits[1:split]} {bits[split:]}"


def code_text(code: Any, fmt: FloatFormat = E4M3FN) -> str:
    """What an answer returned as a code, as text. Whatever counts as an integer is one; 88.0 is not."""
    try:
        number = operator.index(code)
    except TypeError:
        return f"<{type(code).__name__}>"
    if number in fmt.nan_codes:
        return "NaN"
    return pattern(number, fmt) if 0 <= number < fmt.codes else str(number)


def code_of(answer: Any, x: float, fmt: FloatFormat, policy: str) -> str:
    """The code that the answer gives for x, as text; where an error is the right answer, its name."""
    if policy == "inf" and not fmt.has_inf:
        return outcome(lambda: code_text(answer(x, fmt, policy), fmt))
    return code_text(answer(x, fmt, policy), fmt)


def where(x: float, fmt: FloatFormat = E4M3FN) -> str:
    """A number and the codes around it.

    >>> where(17.5), where(-1000.0)
    ('x = 17.5, between 0x58 (16.0) and 0x59 (18.0)', 'x = -1000.0')
    """
    low, high = bracket(x, fmt) if math.isfinite(x) else (None, None)
    low, high = (0 if code == fmt.sign_mask else code for code in (low, high))  # one zero is enough here
    if low is None or high is None:
        return f"x = {x!r}"
    if low == high:
        return f"x = {x!r}, exactly 0x{low:02X}"
    return f"x = {x!r}, between 0x{low:02X} ({value(low, fmt)!r}) and 0x{high:02X} ({value(high, fmt)!r})"


def around(points: Any) -> list[float]:
    """Every point with the float64 just below and just above it."""
    return [float(x) for p in points for x in (p, math.nextafter(p, -math.inf), math.nextafter(p, math.inf))]


def some_reals(seed: int, count: int, fmt: FloatFormat = E4M3FN) -> list[float]:
    """Real numbers inside the range of `fmt`, of every size and of both signs; none is a value of the format."""
    rng = np.random.default_rng(seed)
    lowest = math.log2(fmt.min_subnormal) - 1
    sizes = 2.0 ** rng.uniform(lowest, math.log2(fmt.max_finite), count)
    return [float(x) for x in sizes * rng.choice([-1.0, 1.0], count)]


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


def all_bfloat16() -> torch.Tensor:
    """Every one of the 65,536 bit patterns of bfloat16."""
    return torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)


def tensor_inputs(seed: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    block = torch.randn(6, 10, generator=generator) * 60
    return {
        "bf16": all_bfloat16(),
        "float64": torch.tensor(around(POSITIVE_MIDDLES) + around(edge_points(E4M3FN)), dtype=torch.float64),
        "shaped": {
            "transposed": block.T[::2],
            "0-d": torch.tensor(19.0),
            "empty": torch.empty(0, 4),
            "gradient": block.clone().requires_grad_(),
            "float16": block.half(),
        },
    }


def drive_tensor(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    before = inputs["bf16"].clone()
    arrays = {
        f"bf16 {policy}": _codes(answer(inputs["bf16"], E4M3FN, policy), E4M3FN) for policy in ("saturate", "nan")
    }
    arrays["input unchanged"] = torch.equal(before.view(torch.int16), inputs["bf16"].view(torch.int16))
    arrays["float64"] = _codes(answer(inputs["float64"], E4M3FN, "nan"), E4M3FN)
    for name, x in inputs["shaped"].items():
        arrays[name] = _codes(answer(x, E4M3FN, "saturate"), E4M3FN)
    for fmt, policy in ((E5M2, "inf"), (E4M3FNUZ, "nan")):
        arrays[f"bf16 {fmt}"] = _codes(answer(inputs["bf16"], fmt, policy), fmt)
    return arrays


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
    return {"codecs": codecs(seed)}


def drive_accepts(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {"accepted": [_verdict(answer, codec) for codec in inputs["codecs"]]}


def _verdict(answer: Any, codec: Any) -> Any:
    result = answer(codec.decode, codec.encode)
    return bool(result) if isinstance(result, (bool, np.bool_, torch.Tensor)) else f"<{type(result).__name__}>"


# ---- 2.7 other records


def record_inputs(seed: int) -> dict[str, Any]:
    sizes = {fmt.name: around(edge_points(fmt)) + some_reals(seed, 60, fmt) for fmt in (E5M2, E4M3FNUZ)}
    return {name: xs + [0.0, -0.0, -1e-6, math.inf, -math.inf, math.nan] for name, xs in sizes.items()}


def drive_records(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    from fp8lab.codec import decode, encode

    e5m2, fnuz, exceptions = answer()
    arrays: dict[str, Any] = {}
    for name, fmt in (("E5M2", e5m2), ("E4M3FNUZ", fnuz)):
        if not isinstance(fmt, FloatFormat):
            return {f"{name} record": f"<{type(fmt).__name__}>"}
        arrays[f"{name} largest value"] = fmt.max_finite
        arrays[f"{name} smallest normal"] = fmt.min_normal
        arrays[f"{name} decode"] = decode(np.arange(256) % fmt.codes, fmt)
        x = torch.tensor(inputs[name], dtype=torch.float64)
        codes = encode(x if fmt.has_nan else x.nan_to_num(), fmt, overflow="nan" if fmt.has_nan else "saturate")
        arrays[f"{name} encode"] = _codes(codes, fmt)
    arrays["exceptions"] = sorted({code_text(code, E8) for code in exceptions})
    return arrays


E8 = FloatFormat("any byte", 4, 3, bias=7, signed=True, special="none")

# ---- 2.8 rounding twice


def pair_inputs(seed: int) -> dict[str, Any]:
    """Pairs of neighbouring codes, the smaller value first, and among them ties that go down and ties that go up."""
    rng = np.random.default_rng(seed)
    drawn = [int(i) for i in rng.choice(len(VALUES) - 1, 12, replace=False)]
    by_value = {value(code): code for code in FINITE if code != 0x80}
    pairs = [(0x38, 0x39), (0x39, 0x3A), (0x00, 0x01), (0x07, 0x08), (0x7D, 0x7E), (0xB9, 0xB8), (0x81, 0x00)]
    return {"pairs": pairs + [(by_value[VALUES[i]], by_value[VALUES[i + 1]]) for i in drawn]}


def drive_pairs(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Many inputs are right, so what is written down are facts about them, the same facts for all right ones."""
    facts = [_facts(answer(low, high), low, high) for low, high in inputs["pairs"]]
    names = ("a number between the two", "float32 lands on the middle", "the two codes differ")
    return {name: [fact[i] for fact in facts] for i, name in enumerate(names)}


def _facts(x: Any, low: int, high: int) -> tuple[bool, bool, bool]:
    from fp8lab.codec import encode

    x = x.item() if isinstance(x, (np.generic, np.ndarray, torch.Tensor)) else x
    if isinstance(x, bool) or not isinstance(x, (int, float)) or not value(low) < x < value(high):
        return False, False, False
    x = torch.tensor(x, dtype=torch.float64)
    once, twice = encode(x).item(), encode(x.float()).item()
    return True, x.float().item() == (value(low) + value(high)) / 2, once != twice


def _drive(key: str, name: str, inputs: Any, drive: Any, **requires: str) -> Drive:
    return Drive(key=key, name=name, inputs=inputs, drive=drive, requires=requires)


DRIVES = {
    drive.key: drive
    for drive in (
        _drive("2.1", "neighbours_of", neighbour_inputs, drive_neighbours),
        _drive("2.2", "nearest", nearest_inputs, drive_nearest, neighbours_of="2.1"),
        _drive("2.3", "encode_finite", overflow_inputs, drive_cases, nearest="2.2", neighbours_of="2.1"),
        _drive("2.4", "encode", encode_inputs, drive_cases, encode_finite="2.3", nearest="2.2", neighbours_of="2.1"),
        _drive("2.5", "encode_all", tensor_inputs, drive_tensor),
        _drive("2.6", "accepts", codec_inputs, drive_accepts),
        _drive("2.7", "other_formats", record_inputs, drive_records),
        _drive("2.8", "double_rounding", pair_inputs, drive_pairs),
    )
}
