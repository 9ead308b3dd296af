"""What an answer is handed where it must not learn which is which (1.7, 2.6), and what is made of its raw results."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest

from fp8lab.course.drive import Evidence, gather
from fp8lab.course.exercise import judge
from fp8lab.course.lessons.l01_decode import planted as decoders
from fp8lab.course.lessons.l01_decode.driving_table import decoder_of
from fp8lab.course.lessons.l02_encode import driving, planted
from fp8lab.course.lessons.l02_encode.driving_tables import encoder_of
from fp8lab.course.lessons.l02_encode.tabulate import number, position
from fp8lab.course.registry import LESSONS, exercise, lesson_drives

HIDING = [drive for lesson in LESSONS for drive in lesson_drives(lesson).values() if drive.hidden]


# ---- the inputs


def test_two_exercises_hide_something():
    assert {drive.key: drive.hidden for drive in HIDING} == {"1.7": ("labels",), "2.6": ("names",)}


@pytest.mark.parametrize("drive", HIDING, ids=lambda drive: drive.key)
def test_what_is_handed_over_is_data_and_travels_as_json(drive):
    visible = drive.visible(5)
    assert set(drive.inputs(5)) - set(visible) == set(drive.hidden)
    sent = json.dumps(visible)
    assert json.dumps(json.loads(sent)) == sent  # every bit of every float, and nothing that JSON changes
    for label in (text for name in drive.hidden for text in drive.inputs(5)[name]):
        assert label not in sent


def test_decoders_are_told_apart_by_their_numbers_only():
    handed = [decoder_of(values) for values in lesson_drives("01_decode")["1.7"].visible(5)["tables"]]
    assert len({_looks(decoder) for decoder in handed}) == 1
    for decoder, made in zip(handed, decoders.faulty_decoders(5), strict=True):
        assert [repr(decoder(code)) for code in range(256)] == [repr(value) for value in made.values]


def test_codecs_are_told_apart_by_their_numbers_only():
    shown = [driving._functions(codec) for codec in driving.codec_inputs(5)["codecs"]]
    assert len({(_looks(decode), _looks(encode)) for decode, encode in shown}) == 1
    assert len({tuple(sorted(codec)) for codec in driving.codec_inputs(5)["codecs"]}) == 1


def _looks(function) -> tuple:
    """All that can be asked of a function without calling it; of what it encloses, the types."""
    inside = tuple(type(cell.cell_contents).__name__ for cell in function.__closure__)
    own = (type(function), function.__qualname__, function.__module__, function.__doc__, function.__code__)
    kinds = tuple("number" if kind in ("int", "uint8") else kind for kind in inside)
    return (*own, kinds, tuple(vars(function)), function.__defaults__)


@pytest.mark.parametrize("seed", range(4))
def test_the_types_of_a_codec_do_not_say_whether_it_is_right(seed):
    speaks = [(codec.numpy, codec.right) for codec in planted.codecs(seed)]
    assert (speaks.count((True, True)), speaks.count((False, True))) == (1, 2)
    assert speaks.count((True, False)) == 10


# ---- encoders as tables


@pytest.fixture(scope="module")
def points() -> list[float]:
    """Thousands of numbers: values and ties of two tables, their neighbours, those in float32, and others."""
    rng = random.Random(0)
    ties = planted.turning_points([v / 2 for v in planted.right_values()])
    near = [number(position(x) + step) for x in ties for step in (-2, -1, 0, 1, 2)]
    float32 = [float(np.nextafter(np.float32(x), np.float32(to))) for x in ties for to in (-1e9, 1e9)]
    rough = [x * (1 + sign * 2.0**-k) for x in ties for sign in (1, -1) for k in (20, 24, 25, 26, 30, 40)]
    drawn = [rng.choice((-1, 1)) * 2.0 ** rng.uniform(-14, 11) for _ in range(2000)]
    wild = [number(rng.randint(-position(math.inf), position(math.inf))) for _ in range(500)]
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan, 5e-324, -5e-324, 464.5, -464.5, 465.0, 1e300]
    return [*special, *near, *float32, *rough, *drawn, *wild]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_tabulated_encoder_is_the_encoder(points, seed):
    assert len(points) > 10_000
    checked = set()
    for codec, (name, data) in zip(planted.codecs(seed), planted.tables(seed), strict=True):
        encode = encoder_of(data["edges"], data["codes"], data["nan"], data["minus zero"])
        assert [x for x in points if encode(x) != int(codec.encode(x))] == [], name
        checked.add(codec.encode)
    assert len(checked) > 25


@pytest.mark.parametrize("number_of", [np.float32, np.float64, int, np.int64, __import__("torch").tensor])
def test_a_tabulated_encoder_takes_other_numbers(number_of):
    right = next(data for name, data in planted.tables(0) if name == "correct: table")
    encode = encoder_of(right["edges"], right["codes"], right["nan"], right["minus zero"])
    assert [encode(number_of(x)) for x in (17, 19, -17, 448, 0)] == [0x58, 0x5A, 0xD8, 0x7E, 0x00]


def test_places_are_in_the_order_of_numbers():
    numbers = sorted(random.Random(1).uniform(-500, 500) for _ in range(500))
    assert [number(position(x)) for x in numbers] == numbers
    assert sorted(map(position, numbers)) == [position(x) for x in numbers]


# ---- facts about raw results


def raw(key: str, answer, seed: int = 3) -> Evidence:
    return gather(exercise(key).drive, answer, seed)


def judged(key: str, **arrays):
    """The verdict on the reference's evidence with some arrays replaced; None takes one out."""
    found = exercise(key)
    whole = {**raw(key, found.reference).arrays, **{name.replace("_", " "): array for name, array in arrays.items()}}
    return judge(found, Evidence(key, "arrays", {n: a for n, a in whole.items() if a is not None}), 3)


def test_the_evidence_of_2_8_is_the_numbers_themselves():
    arrays = raw("2.8", exercise("2.8").reference).arrays
    assert set(arrays) == {"x", "type"} and arrays["x"].dtype == np.float64 and set(arrays["type"]) == {"number"}
    assert judged("2.8").state == "right"


NUMBERS = raw("2.8", exercise("2.8").reference).arrays["x"]
ODD_NUMBERS = {
    "none": None,
    "one too few": NUMBERS[:-1],
    "a column": NUMBERS[:, None],
    "float32": NUMBERS.astype(np.float32),
    "bools": np.ones(len(NUMBERS), dtype=bool),
    "texts": np.array(["number 1.0"] * len(NUMBERS)),
    "a number": np.float64(1.0),
    "none of many": np.zeros((0, 5)),
    "NaN": np.full(len(NUMBERS), np.nan),
    "infinite": np.full(len(NUMBERS), np.inf),
    "the facts": np.ones((4, len(NUMBERS))),
}


@pytest.mark.parametrize("odd", ODD_NUMBERS)
def test_odd_evidence_of_2_8_is_wrong(odd):
    array = ODD_NUMBERS[odd]
    assert judged("2.8", x=None if array is None else np.asarray(array)).state == "wrong"


def test_the_facts_of_2_8_cannot_be_sent():
    names = ("a number between the two", "not a float32 number", "float32 lands on the middle", "the two codes differ")
    forged = {name: np.ones(len(NUMBERS), dtype=bool) for name in names}
    assert judge(exercise("2.8"), Evidence("2.8", "arrays", forged), 3).state == "wrong"


@pytest.mark.parametrize("kind", ["<bool>", "", "number 1.0"])
def test_types_other_than_numbers_are_wrong_in_2_8(kind):
    assert judged("2.8", type=np.array([kind] * len(NUMBERS))).state == "wrong"


ODD_RECORDS = {
    "no record": {"E5M2": None},
    "its name": {"E5M2": np.asarray("E5M2")},
    "NaN": {"E5M2": np.array([5, 2, np.nan, 1])},
    "a fraction": {"E5M2": np.array([5, 2, 15.5, 1])},
    "huge": {"E5M2": np.array([5.0, 2.0, 1e300, 1.0])},
    "many bits": {"E5M2": np.array([60.0, 200.0, 15.0, 1.0])},
    "negative": {"E5M2": np.array([-5.0, 2.0, 15.0, 1.0])},
    "too many": {"E5M2": np.array([5.0, 2, 15, 1, 0])},
    "int64": {"E5M2": np.array([5, 2, 15, 1])},
    "another rule": {"E4M3FNUZ_special": np.asarray("e4m3fnuz")},
    "two rules": {"E4M3FNUZ_special": np.array(["fnuz", "fnuz"])},
    "no character": {"E5M2_special": np.frombuffer(b"\xff\xff\xff\x7f", dtype="<U1").reshape(())},
    "a long rule": {"E5M2_special": np.asarray("x" * 100_000)},
    "no exceptions": {"exceptions": None},
    "all bytes": {"exceptions": np.arange(256)},
    "a matrix": {"exceptions": np.array([[0x7F, 0x80, 0xFF]])},
    "floats": {"exceptions": np.array([127.0, 128.0, 255.0])},
    "a million": {"exceptions": np.arange(1_000_000)},
    "beyond": {"exceptions": np.array([0x7F, 0x80, 0xFF, 2**62])},
}


@pytest.mark.parametrize("odd", ODD_RECORDS)
def test_odd_evidence_of_2_7_is_wrong(odd):
    assert judged("2.7").state == "right"
    assert judged("2.7", **ODD_RECORDS[odd]).state == "wrong"


def test_what_is_no_record_is_shown_by_its_type():
    def answer():
        return {}, None, []

    result = judge(exercise("2.7"), raw("2.7", answer), 3)
    assert result.difference.array == "E5M2 largest value" and "<dict>" in result.difference.got
