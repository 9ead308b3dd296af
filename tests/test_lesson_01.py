"""Lesson 01: mistakes that the records do not know, the measure of "no loop", planted faults, pictures, speed."""

from __future__ import annotations

import functools
import math
import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from learner import Desk
from mistakes_01 import AUDIT_LINES, WRONG

from fp8lab import formats
from fp8lab.course.check import verdict
from fp8lab.course.lessons.l01_decode import driving, planted
from fp8lab.course.lessons.l01_decode.driving_table import decoder_of
from fp8lab.course.lessons.l01_decode.driving_work import CannotBeCounted, busiest_line
from fp8lab.course.registry import exercise, lesson_exercises
from fp8lab.explore import decode_pictures


@pytest.fixture(scope="module")
def desk():
    desk = Desk("01_decode")
    desk.globals["functools_reduce"] = functools.reduce
    return desk


@pytest.mark.parametrize("key", WRONG)
def test_many_other_mistakes_are_tried(key):
    assert len(WRONG[key]) >= 5
    assert key in [e.key for e in lesson_exercises("01_decode")]


@pytest.mark.parametrize("seed", [0, 4711])
@pytest.mark.parametrize("key, filling", [(key, f) for key, fillings in WRONG.items() for f in fillings])
def test_other_mistakes_are_refused(desk, key, filling, seed):
    result = desk.judged(key, filling, seed=seed)
    assert result.state in ("wrong", "error") and result.points == 0


@pytest.mark.parametrize("seed", [0, 4711])
@pytest.mark.parametrize("name, line", [(name, line) for name, lines in AUDIT_LINES.items() for line in lines])
def test_an_auditor_with_one_weak_property_is_refused(desk, name, line, seed):
    cell = desk.lesson.exercise_cell("1.7").source
    own = next(text for text in cell.split("\n") if f'holds["{name}"]' in text and "BEGIN" not in text)
    namespace = dict(desk.globals)
    exec(cell.replace(own, "    " + line), namespace)
    assert verdict(exercise("1.7"), namespace["audit"], seed).state == "wrong"


TYPE = "if not isinstance(byte, int):\n    raise TypeError(byte)\n"
RANGE = "if not 0 <= byte <= 255:\n    raise ValueError(byte)\n"
CUT = "return byte >> 7, byte >> 3 & 15, byte & 7"
ORDER = 'holds["order"] = not any(after <= before for before, after in zip(value[:0x7E], value[1:0x7F]))'
NAMED = [
    ("1.1", TYPE + RANGE + CUT, "isinstance(byte, int)"),
    ("1.1", TYPE + CUT, "isinstance(byte, int) and no range"),
    ("1.2", "return (-1) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa // 8)", "integer division"),
    (
        "1.4",
        "if exponent == 15:\n    return math.inf if mantissa == 0 else math.nan\nif exponent == 0:\n"
        "    return subnormal_value(sign, mantissa)\nreturn normal_value(sign, exponent, mantissa)",
        "IEEE habit, without its sign",
    ),
    (
        "1.4",
        "if exponent == 15 and mantissa == 7:\n    return math.inf\nif exponent == 0:\n"
        "    return subnormal_value(sign, mantissa)\nreturn normal_value(sign, exponent, mantissa)",
        "infinity for NaN",
    ),
    (
        "1.6",
        "if exponent == 15 and mantissa == 7:\n    return 'NaN'\nif exponent:\n    return 'normal'\n"
        "return 'subnormal' if mantissa else 'zero'",
        "NaN in capitals",
    ),
]


@pytest.mark.parametrize("seed", [0, 4711])
@pytest.mark.parametrize("key, filling, name", NAMED, ids=[f"{key} {name}" for key, _, name in NAMED])
def test_what_people_write_is_called_by_its_name(desk, key, filling, name, seed):
    result = desk.judged(key, filling, seed=seed)
    assert result.misconception and (result.misconception.name, result.exact) == (name, True)


def test_an_order_that_runs_on_to_0x7f_is_called_by_its_name(desk):
    source = desk.lesson.exercise_cell("1.7").source
    assert ORDER in source
    namespace = dict(desk.globals)
    exec(source.replace("value[:0x7E], value[1:0x7F]", "value[:0x7F], value[1:0x80]"), namespace)
    result = verdict(exercise("1.7"), namespace["audit"], 0)
    assert (result.misconception.name, result.exact) == ("order runs on to 0x7F", True)
    assert "0x7F -> 448.0" in result.input


# ---- the oracle


def test_the_references_are_e4m3fn(desk):
    want = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    one, table = desk.answer("1.4"), desk.answer("1.5")()
    for got in (np.array([one(b) for b in range(256)]), table):
        assert np.array_equal(got, want, equal_nan=True)
        assert np.array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(want)[~np.isnan(want)])


@pytest.mark.parametrize("byte, value", [
    (0x78, 256.0), (0x7E, 448.0), (0x7F, math.nan), (0xFF, math.nan), (0x01, 2.0**-9), (0xF8, -256.0), (0x08, 2.0**-6),
    (0x07, 0.875 * 2.0**-6), (0x80, -0.0), (0x00, 0.0), (0x38, 1.0), (0xFE, -448.0),
])  # fmt: skip
def test_known_answers(desk, byte, value):
    assert repr(desk.answer("1.4")(byte)) == repr(value)


def test_counts_of_the_classes(desk):
    classify = desk.answer("1.6")
    assert all(classify(byte) == formats.classify(byte) for byte in range(256))
    assert {k: len(v) for k, v in decode_pictures.code_map(classify).items()} == {
        "zero": 2, "subnormal": 14, "normal": 238, "nan": 2,
    }  # fmt: skip


# ---- no Python loop


def a_for_loop():
    for _ in range(256):
        pass


def a_recursion(n=256):
    return n and a_recursion(n - 1)


LOOPS = {
    "for": a_for_loop,
    "comprehension": lambda: [b for b in range(256)],
    "set comprehension": lambda: {b for b in range(256)},
    "generator": lambda: sum(b for b in range(256)),
    "map": lambda: list(map(lambda b: b + 1, range(256))),
    "sorted with a key": lambda: sorted(range(256), key=lambda b: -b),
    "reduce": lambda: functools.reduce(lambda a, b: a + b, range(256)),
    "vectorize": lambda: np.vectorize(lambda b: b + 1)(np.arange(256)),
    "frompyfunc": lambda: np.frompyfunc(lambda b: b + 1, 1, 1)(np.arange(256)),
    "apply_along_axis": lambda: np.apply_along_axis(lambda b: b + 1, 1, np.zeros((256, 1))),
    "recursion": a_recursion,
    "half of them": lambda: [b for b in range(128)],
    "sixteen exponents": lambda: [np.arange(8) * e for e in range(16)],
    "nested": lambda: [[m for m in range(8)] for e in range(16)],
}


@pytest.mark.parametrize("style", LOOPS)
def test_every_style_of_loop_is_seen(style):
    assert busiest_line(LOOPS[style])[1] > driving.MOST_RUNS


def test_arithmetic_on_a_million_is_no_loop():
    def decode():
        codes = np.arange(1_000_000) % 256
        size = np.where(
            codes > 7,
            np.ldexp(1 + (codes & 7) / 8, (codes >> 3) - 7),
            codes / 512,
        )
        return np.concatenate([size, np.tile(size, 3), np.repeat(size, 2)])

    assert busiest_line(decode)[1] <= driving.MOST_RUNS


def test_counting_leaves_a_debugger_as_it_was():
    def debugger(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        busiest_line(a_for_loop)
        assert sys.gettrace() is debugger
        with pytest.raises(ZeroDivisionError):
            busiest_line(lambda: 1 / 0)
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)


def test_counting_cannot_be_switched_off():
    with pytest.raises(CannotBeCounted):
        busiest_line(lambda: sys.settrace(None))


# ---- planted faults


@pytest.mark.parametrize("seed", range(20))
def test_every_property_is_violated_alone_and_kept_alone(desk, seed):
    found = [desk.answer("1.7")(decoder_of(decoder.values)) for decoder in planted.faulty_decoders(seed)]
    assert found[0] == set(), "the first decoder is the right one"
    for name in driving.PROPERTIES:
        assert sum(name in violated for violated in found) >= 4
        assert {name} in found, f"no decoder violates {name} and nothing else"


def test_seeds_break_other_codes():
    labels = [{d.label for d in planted.faulty_decoders(seed)} for seed in (1, 2)]
    assert len(labels[0] - labels[1]) >= 10
    assert len(planted.faulty_decoders(1)) == 46


def test_a_label_tells_what_the_decoder_does():
    for decoder in planted.known_faults():
        for piece in decoder.label.split(", "):
            code, _, number = piece.partition(" -> ")
            if number.replace(".", "").replace("-", "").isdigit() and "..." not in code:
                assert decoder.values[int(code, 16)] == float(number), decoder.label


# ---- pictures


def test_readings_come_from_the_formats():
    import torch

    byte = torch.tensor(0x78, dtype=torch.uint8)
    got = {r.name: r.value for r in decode_pictures.readings(0x78)}
    assert got["int8"] == byte.view(torch.int8).item() == 120
    assert got["E4M3FN"] == byte.view(torch.float8_e4m3fn).float().item() == 256
    assert got["E5M2"] == byte.view(torch.float8_e5m2).float().item() == 32768
    assert got["E4M3FNUZ"] == byte.view(torch.float8_e4m3fnuz).float().item() == 128
    assert got["E4M3"] == float(np.uint8(0x78).view(ml_dtypes.float8_e4m3)) == math.inf


def test_only_the_right_ruler_has_no_hole():
    holes = {name: values[8] - values[7] for name, values in decode_pictures.rulers().items()}
    assert [name for name, hole in holes.items() if hole == 2**-9] == ["2^-6 * m/8"]


@pytest.mark.parametrize("byte", range(0, 256, 5))
def test_any_byte_can_be_drawn(byte):
    assert f"0x{byte:02X}" in decode_pictures.readings_picture(byte).alt


def test_a_wrong_classifier_gets_its_wrong_map():
    shown = decode_pictures.code_map_picture(lambda byte: "inf" if byte == 0x78 else formats.classify(byte))
    assert "1 inf" in shown.alt and "237 normal" in shown.alt


def test_a_loop_in_another_thread_is_a_loop():
    def plain():
        out = np.zeros(256)
        for code in range(256):
            out[code] = code

    def hidden():
        worker = threading.Thread(target=plain)
        worker.start()
        worker.join()

    before = threading.gettrace()
    assert busiest_line(hidden)[1] > driving.MOST_RUNS
    assert threading.gettrace() is before
