"""Lesson 02: mistakes that the records do not know, other codecs as judges, public bugs, claims of the text."""

from __future__ import annotations

import bisect
import dataclasses
import math
import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import torch
from learner import Desk
from wrong_lesson_02 import WRONG

from fp8lab import codec
from fp8lab.course.feedback import feedback
from fp8lab.course.lessons.l02_encode import answers_edges, answers_neighbours, answers_tensor, driving
from fp8lab.course.lessons.l02_encode.driving_points import MIDDLES, VALUES
from fp8lab.course.lessons.l02_encode.planted import codecs
from fp8lab.course.registry import exercise, lesson_exercises
from fp8lab.explore import encode_pictures
from fp8lab.formats import E4M3FN, E4M3FNUZ, E5M2, bracket, exact, value

LESSON = lesson_exercises("02_encode")
THEIRS = {
    E4M3FN: (torch.float8_e4m3fn, ml_dtypes.float8_e4m3fn),
    E5M2: (torch.float8_e5m2, ml_dtypes.float8_e5m2),
    E4M3FNUZ: (torch.float8_e4m3fnuz, ml_dtypes.float8_e4m3fnuz),
}


@pytest.fixture(scope="module")
def desk():
    return Desk("02_encode")


# ---- mistakes


@pytest.mark.parametrize("found", LESSON, ids=lambda e: e.key)
def test_many_other_mistakes_are_tried(found):
    assert len(WRONG[found.key]) >= 10


@pytest.mark.parametrize("seed", [0, 4711])
@pytest.mark.parametrize("key, name", [(key, name) for key, fillings in WRONG.items() for name in fillings])
def test_other_mistakes_are_refused(desk, key, name, seed):
    result = desk.judged(key, WRONG[key][name], seed=seed)
    assert result.state in ("wrong", "error") and result.points == 0


RECORDS = "a = FloatFormat('a', 5, 2, 15, True, 'ieee')\nb = FloatFormat('b', 4, 3, 8, True, 'fnuz')\n"
NAMED = [
    ("2.7", RECORDS + "return a, b, [0x7F, 0xFF]", "0x80 forgotten"),
    ("2.7", RECORDS + "return a, b, (0x80, 0xFF)", "0x7F forgotten"),
    ("2.7", RECORDS + "return a, b, {0x7F, 0x80}", "0xFF forgotten"),
    ("2.7", RECORDS + "return a, b, [0, 0x7F, 0x80, 0xFF]", "0x00 as well"),
    (
        "2.8",
        "middle = (value(low) + value(high)) / 2\nreturn middle * (1 + (1e-12 if low % 2 == 0 else -1e-12))",
        "right for positive pairs only",
    ),
    (
        "2.8",
        "middle = (value(low) + value(high)) / 2\n"
        "return math.nextafter(middle, math.copysign(math.inf if low % 2 == 0 else 0, middle))",
        "right for positive pairs only",
    ),
]


@pytest.mark.parametrize("seed", [0, 4711])
@pytest.mark.parametrize("key, filling, name", NAMED, ids=[f"{key} {name}" for key, _, name in NAMED])
def test_what_people_write_is_called_by_its_name(desk, key, filling, name, seed):
    result = desk.judged(key, filling, seed=seed)
    assert result.misconception and (result.misconception.name, result.exact) == (name, True)


EXCEPTIONS = ([], [0x80], [0x7F, 0xFF], [0x00], [0x7F, 0x80, 0xFF, 0x38], list(range(256)), [0x7F] * 3, [300], [-1])


@pytest.mark.parametrize("listed", EXCEPTIONS, ids=str)
def test_what_is_said_about_the_exceptions_gives_neither_them_nor_their_number_away(desk, listed):
    result = desk.judged("2.7", RECORDS + f"return a, b, {listed}")
    assert result.state == "wrong" and result.difference.total == 1
    assert (result.difference.got, result.difference.want) == ("False", "True")
    for lang in ("en", "zh"):
        shown = feedback(exercise("2.7"), dataclasses.replace(result, misconception=None), lang)
        assert not re.search(r"0x|\d+ of \d+|\d+ 个", repr(shown))


# ---- the references, held against others


def test_the_scalar_reference_is_the_definition():
    values = {code: exact(code) for code in range(256) if exact(code) is not None and code != 0x80}
    for x in [*MIDDLES, *(math.nextafter(m, math.inf) for m in MIDDLES), *VALUES, 17.3, -0.01]:
        want = min(values, key=lambda code: (abs(values[code] - Fraction(x)), code % 2))
        assert answers_neighbours.nearest(x) == want


@pytest.mark.parametrize("fmt, policy", [(f, p) for f, p in driving.POLICIES])
def test_the_scalar_and_the_tensor_reference_are_fp8labs_codec(fmt, policy):
    x = torch.tensor(driving.around([*MIDDLES[::5], *driving.edge_points(fmt)]), dtype=torch.float64)
    x = torch.cat([x, -x, torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-30, -1e-30])])
    want = codec.encode(x, fmt, overflow=policy)
    scalar = torch.tensor([answers_edges.encode(v, fmt, policy) for v in x.tolist()])
    for got in (scalar, answers_tensor.encode_all(x, fmt, policy)):
        same = (got == want) | (torch.isin(got, torch.tensor(fmt.nan_codes)) & x.isnan())
        assert same.all(), x[~same]


@pytest.mark.parametrize("fmt", THEIRS, ids=str)
def test_the_tensor_reference_is_torch_and_ml_dtypes_on_every_bf16(fmt):
    x = driving.all_bfloat16()
    theirs, numpys = THEIRS[fmt]
    got = answers_tensor.encode_all(x, fmt, "inf" if fmt.has_inf else "nan")
    inside = (x.float().abs() <= fmt.max_finite) & ~x.isnan()  # beyond, libraries have policies of their own
    assert inside.sum() > 30_000
    assert torch.equal(got[inside], x.to(theirs).view(torch.uint8)[inside])
    with np.errstate(invalid="ignore"):
        numpy_codes = x.float().numpy().astype(numpys)
    nan, want_nan = codec.decode(got, fmt).isnan().numpy(), np.isnan(numpy_codes.astype(np.float32))
    assert np.array_equal(nan, want_nan)
    assert np.array_equal(got.numpy()[~nan], numpy_codes.view(np.uint8)[~nan])


# ---- public bugs: the right byte, and a broken encoder that has the bug

half_first = answers_tensor.build(prepare=lambda x: x.half())
float32_first = answers_tensor.through_float32
FLOAT32 = torch.tensor([1.0625001, 1.8131605], dtype=torch.float32).double().tolist()
BEYOND = torch.nextafter(torch.tensor(464.0), torch.tensor(1e9)).item()
BUGS = {
    "bitstring#342": (232.03683398099045, E4M3FN, "saturate", 0x77, half_first),
    "triton#11753": (FLOAT32[0], E4M3FN, "saturate", 0x39, half_first),
    "onnxruntime#16938": (FLOAT32[1], E4M3FN, "saturate", 0x3F, answers_tensor.truncation),
    "triton#5925, 9.0": (9.0, E5M2, "saturate", 0x48, answers_tensor.ties_to_upper),
    "triton#5925, 1.125": (1.125, E5M2, "saturate", 0x3C, answers_tensor.ties_to_upper),
    "ao#1912, 464": (464.0, E4M3FN, "nan", 0x7E, answers_tensor.overflow_before_rounding),
    "pytorch#178817, saturate": (
        BEYOND,
        E4M3FN,
        "saturate",
        0x7E,
        lambda x, f, p: answers_tensor.encode_all(x, f, "nan"),
    ),
    "pytorch#178817, nan": (BEYOND, E4M3FN, "nan", 0x7F, lambda x, f, p: answers_tensor.encode_all(x, f, "saturate")),
    "sglang#40581, 256": (256.0, E4M3FN, "nan", 0x78, answers_tensor.build(over=lambda size, fmt: size >= 248)),
    "sglang#40581, 300": (300.0, E4M3FN, "nan", 0x79, answers_tensor.build(over=lambda size, fmt: size >= 248)),
    "saturn-vectors#101": (672.0, E4M3FN, "saturate", 0x7E, lambda x, f, p: answers_tensor.encode_all(x, f, "nan")),
    "onnx#5764, triton#10745": (-1e-5, E4M3FNUZ, "nan", 0x00, answers_tensor.fnuz_zero_is_nan),
    "torch and ml_dtypes on float64": (1.0625 + 2.0**-40, E4M3FN, "saturate", 0x39, float32_first),
    "the same near zero": (2.0**-10 * (1 + 2.0**-40), E4M3FN, "saturate", 0x01, float32_first),
}


@pytest.mark.parametrize("bug", BUGS)
def test_public_bugs(desk, bug):
    x, fmt, policy, byte, broken = BUGS[bug]
    tensor = torch.tensor([x], dtype=torch.float64)
    for encode in (desk.answer("2.5"), broken):
        assert (encode(tensor, fmt, policy).item() == byte) == (encode is not broken)
    assert desk.answer("2.4")(x, fmt, policy) == byte == codec.encode(tensor, fmt, overflow=policy).item()


# ---- 2.6: the planted codecs


@pytest.mark.parametrize("seed", range(5))
def test_a_codec_is_called_right_if_and_only_if_it_is(seed):
    x = torch.tensor([*driving.around([*MIDDLES, 464.0, -464.0]), *VALUES, 0.0, -0.0, math.inf, -math.inf, 500.0])
    x = torch.tensor([*driving.around([*MIDDLES, 464.0, -464.0]), *x.tolist()], dtype=torch.float64)
    want_codes, want_values = codec.encode(x).tolist(), codec.decode(list(range(256))).tolist()
    for planted in codecs(seed):
        values = [float(planted.decode(code)) for code in range(256)]
        decodes = all(repr(a) == repr(b) for a, b in zip(values, want_values, strict=True))
        encodes = [int(planted.encode(v)) for v in x.tolist()] == want_codes and planted.encode(math.nan) in (
            0x7F,
            0xFF,
        )
        assert (decodes and encodes) == planted.right, planted.name


def test_the_trap_is_one():
    planted = codecs(0)
    faulty = [c for c in planted if not c.right]
    assert (len(planted) - len(faulty), len(faulty)) == (3, 32)  # the text says thirty-two
    passing = [c.name for c in faulty if _round_trip(c)]
    assert len(passing) >= 20, passing


def _round_trip(planted) -> bool:
    numbers = [planted.decode(code) for code in range(256)]
    return all(planted.decode(planted.encode(x)) == x for x in numbers if math.isfinite(x))


def test_the_codecs_come_in_another_order_and_with_other_faults_for_another_seed():
    names = [[c.name for c in codecs(seed)] for seed in (1, 2)]
    assert names[0] != names[1] and set(names[0]) != set(names[1])


# ---- 2.8: many right answers


def test_every_distance_below_half_a_float32_step_is_a_right_answer(desk):
    for shift in range(25, 52):
        answer = f"return middle * (1 + (2.0**-{shift} if (low % 2 == 0) == (middle > 0) else -(2.0**-{shift})))"
        assert desk.judged("2.8", answer).state == "right", shift


# ---- what the text says


def test_counts_that_the_text_names():
    x = driving.all_bfloat16()
    right = answers_tensor.encode_all(x)
    assert (answers_tensor.ties_to_lower(x) != right).sum() == 126
    assert (answers_tensor.minus_zero_lost(x) != right).sum() == 1
    fnuz = answers_tensor.encode_all(x, E4M3FNUZ)
    assert (answers_tensor.fnuz_zero_is_nan(x, E4M3FNUZ) != fnuz).sum() == 14_849
    between = x[(x >= 1) & (x < 2)].float()
    assert len(between) == 128 and sum(v % 0.125 == 0.0625 for v in between.tolist()) == 128 / 16


def test_one_byte_two_values():
    halves = [c for c in range(256) if value(c) == 2 * value(c, E4M3FNUZ)]
    assert len(halves) == 253 and sum(value(c) != 0 for c in halves) == 252


def test_a_sorted_table_of_positive_values_is_in_the_order_of_the_codes(desk):
    table = desk.globals["finite_table"](E4M3FN)
    assert [code for number, code in table if number >= 0] == list(range(0x7F))


def test_one_nan_among_the_thresholds_leads_half_of_the_look_ups_astray():
    table = sorted(value(code) for code in range(0xFF))
    found = [bisect.bisect_left(table, x) for x in VALUES]
    assert sum(table[i] != x for i, x in zip(found, VALUES)) == 126 and len(VALUES) == 253


def test_round_to_odd_makes_the_second_rounding_exact():
    for middle in MIDDLES:
        for x in driving.around([middle]):
            narrow = np.float32(x)
            if float(narrow) != x:  # toward zero, then the last bit is set
                narrow = narrow if abs(float(narrow)) < abs(x) else np.nextafter(narrow, np.float32(0))
                narrow = np.array(np.array(narrow).view(np.uint32) | 1).view(np.float32)
            once = codec.encode(torch.tensor([x], dtype=torch.float64))
            assert torch.equal(codec.encode(torch.tensor([float(narrow)])), once)


# ---- pictures


def test_bins_are_where_the_codec_has_its_borders():
    for b in encode_pictures.bins(range(1, 0x7E)):
        at, beside = (
            codec.encode([b.low, b.high]).tolist(),
            codec.encode([math.nextafter(b.low, b.high), b.value]).tolist(),
        )
        assert beside == [b.code, b.code]
        assert (at == [b.code, b.code]) == b.closed


@pytest.mark.parametrize("fmt", THEIRS, ids=str)
def test_the_edge_is_where_the_format_ends(fmt):
    e = encode_pictures.edge(fmt)
    assert bracket(e.border, fmt) == (fmt.max_code, None)
    assert e.ghost - e.border == e.border - e.top == (e.top - value(fmt.max_code - 1, fmt)) / 2
    assert e.border_stays == (fmt.max_code % 2 == 0)


@pytest.mark.parametrize("seed", range(5))
def test_errors_cancel_only_with_ties_to_even(seed):
    ends = {rule: sums[-1].item() for rule, sums in encode_pictures.drift(4096, seed).items()}
    assert abs(ends["nearest_even"]) < 60 < ends["nearest_away"] < 220
    assert ends["toward_zero"] == pytest.approx(-4096 * 15 / 32, rel=0.05)  # on average 7.5 of 16 bf16 steps


@pytest.mark.parametrize(
    "name", ["borders_picture", "edges_picture", "drift_picture", "twice_picture", "twins_picture"]
)
def test_pictures_draw_and_describe_themselves(name):
    still = getattr(encode_pictures, name)()
    data, _ = still._repr_mimebundle_()
    assert len(data["image/png"]) > 10_000 and len(data["text/plain"]) > 60
