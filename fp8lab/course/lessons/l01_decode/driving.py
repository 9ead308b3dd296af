"""How the exercises of lesson 01 are exercised. Knows inputs, not answers.

All 256 bytes are always tried. The seed sets their order (the telling ones first, so that the first difference that a
learner sees is an instructive one), and for 1.7 it breaks further decoders.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from fp8lab.course.arrays import as_array
from fp8lab.course.drive import Drive, outcome
from fp8lab.course.lessons.l01_decode.driving_table import decoder_of
from fp8lab.course.lessons.l01_decode.driving_work import busiest_line

LANDMARKS = (0x38, 0x78, 0x7E, 0x7F, 0xFF, 0x08, 0x07, 0x01, 0x00, 0x80, 0xF8, 0xB8)
PROPERTIES = ("sign", "junction", "order", "nan", "boundary")
CLASSES = ("zero", "subnormal", "normal", "nan")
MOST_RUNS = 8  # of one line of Python while all 256 codes are decoded; any loop over the codes runs a line 256 times
ENDLESS = 100_000  # of one line: the values of no loop are worth waiting for any longer

OUTSIDE = (-1, 256, 1000, -8)
NO_INTEGERS = (120.0, True, False, "0x78", None, np.float32(120.0), 7.5, np.bool_(True))
NUMPY_INTEGERS = (np.uint8(0xF8), np.int64(0x78), np.uint16(0x7E), np.int8(0x35))


def bits_text(byte: int) -> str:
    """A byte in hex and in its fields.

    >>> bits_text(0x78)
    '0x78 = 0 1111 000'
    """
    bits = f"{byte:08b}"
    return f"0x{byte:02X} = {bits[0]} {bits[1:5]} {bits[5:]}"


def byte_order(seed: int) -> list[int]:
    """All 256 bytes, the landmarks first and the others in the order that the seed draws."""
    drawn = np.random.default_rng(seed).permutation(256)
    return [*LANDMARKS, *(int(byte) for byte in drawn if byte not in LANDMARKS)]


def split(byte: int) -> tuple[int, int, int]:
    """The fields of a byte: the inputs of 1.2 and 1.3."""
    return byte >> 7, byte >> 3 & 15, byte & 7


def byte_inputs(seed: int) -> dict[str, Any]:
    return {"byte": byte_order(seed)}


# ---- 1.1 fields


def field_inputs(seed: int) -> dict[str, Any]:
    return {"byte": byte_order(seed), "outside": OUTSIDE, "no integer": NO_INTEGERS, "numpy": NUMPY_INTEGERS}


def drive_fields(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    triples = [_three(answer(byte)) for byte in inputs["byte"]]
    columns = zip(("sign", "exponent", "mantissa"), zip(*triples))
    arrays: dict[str, Any] = {name: list(column) for name, column in columns}
    for name in ("numpy", "outside", "no integer"):
        arrays[name] = [_answer_or_error(answer, given) for given in inputs[name]]
    return arrays


def _three(result: Any) -> tuple[Any, Any, Any]:
    """Three fields, or three times the name of what is not three fields."""
    if isinstance(result, (tuple, list, np.ndarray)):
        return tuple(result) if len(result) == 3 else (f"<{type(result).__name__} of {len(result)}>",) * 3
    return (f"<{type(result).__name__}>",) * 3


def _answer_or_error(answer: Any, given: Any) -> str:
    """What `fields` says about an unusual argument, as text: "1 15 0", or the name of an error."""
    try:
        result = outcome(answer, given)
    except AssertionError:
        return "AssertionError"
    return result if isinstance(result, str) else " ".join(str(as_array(field)) for field in _three(result))


# ---- 1.2 to 1.4 and 1.6, code by code


def normal_inputs(seed: int) -> dict[str, Any]:
    fields = [split(byte) for byte in byte_order(seed)]
    return {"fields": [(s, e, m) for s, e, m in fields if e > 0 and (e, m) != (15, 7)]}


def subnormal_inputs(seed: int) -> dict[str, Any]:
    return {"fields": [(s, m) for s, e, m in map(split, byte_order(seed)) if e == 0]}


def drive_values(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {"value": [answer(*fields) for fields in inputs["fields"]]}


def drive_decode(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {"value": [answer(byte) for byte in inputs["byte"]]}


def drive_classify(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    classes = [answer(byte) for byte in inputs["byte"]]
    count = Counter(name for name in classes if isinstance(name, str))
    return {"class": classes, "count": [count[name] for name in CLASSES]}


# ---- 1.5 all at once


def drive_all(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    made, runs = busiest_line(_table, answer, limit=ENDLESS)
    arrays = {"runs": f"<= {MOST_RUNS}" if runs <= MOST_RUNS else f"> {MOST_RUNS}"}
    if made is None:
        return arrays
    result, what = made
    values = as_array(result)
    if values.shape == (256,):
        values = values[inputs["byte"]]
    return {"value": values, "type": what, **arrays}


def _table(answer: Any) -> tuple[Any, str]:
    """What the answer returns, and as which type; an array as plain numbers, so that nothing comes of it uncounted."""
    result = answer()
    is_array = isinstance(result, np.ndarray) and result.dtype.kind == "f"
    what = "numpy float" if is_array else f"{type(result).__name__} {getattr(result, 'dtype', '')}".strip()
    return as_array(result) if is_array else result, what


# ---- 1.7 the auditor


def audit_inputs(seed: int) -> dict[str, Any]:
    """Tables of decoders, most of them faulty, and what each of them does: the labels stay outside of a kernel."""
    from fp8lab.course.lessons.l01_decode.planted import faulty_decoders

    decoders = faulty_decoders(seed)
    return {"tables": [list(d.values) for d in decoders], "labels": [d.label for d in decoders]}


def drive_audit(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """One row per decoder, one column per property: whether the answer says that it is violated."""
    found = [_names(answer(decoder_of(values))) for values in inputs["tables"]]
    unknown = {name for names in found if isinstance(names, set) for name in names} - set(PROPERTIES)
    rows = [
        [name in names for name in PROPERTIES] if isinstance(names, set) else [names] * len(PROPERTIES)
        for names in found
    ]
    return {"violated": rows, "unknown names": sorted(unknown)}


def _names(result: Any) -> set[str] | str:
    if isinstance(result, (set, frozenset, list, tuple)) and all(isinstance(name, str) for name in result):
        return set(result)
    return f"<{type(result).__name__}>"


FIELDS = {"fields": "1.1"}
VALUES = {**FIELDS, "normal_value": "1.2", "subnormal_value": "1.3"}
DRIVES = {
    drive.key: drive
    for drive in (
        Drive("1.1", "fields", field_inputs, drive_fields),
        Drive("1.2", "normal_value", normal_inputs, drive_values),
        Drive("1.3", "subnormal_value", subnormal_inputs, drive_values),
        Drive("1.4", "decode_byte", byte_inputs, drive_decode, VALUES),
        Drive("1.5", "decode_all", byte_inputs, drive_all, {**VALUES, "decode_byte": "1.4"}),
        Drive("1.6", "classify", byte_inputs, drive_classify, {**VALUES, "decode_byte": "1.4"}),
        Drive("1.7", "audit", audit_inputs, drive_audit, hidden=("labels",)),
    )
}
