"""What encode and decode accept and refuse: kinds, ranges, options, shapes, strides, gradients."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import torch

from fp8lab import codec_compiled, decode, encode
from fp8lab.formats import FORMATS, decode_table

TABLE = decode_table()


@pytest.mark.parametrize(
    "codes",
    [
        [0x78, 0x7E],
        (0x78, 0x7E),
        b"\x78\x7e",
        bytearray(b"\x78\x7e"),
        np.array([0x78, 0x7E], np.uint8),
        np.array([0x78, 0x7E], np.int64)[::1],
        np.array([0x7E, 0x78], np.uint16)[::-1],
        torch.tensor([0x78, 0x7E], dtype=torch.uint8),
        torch.tensor([0x78, 0x7E]),
        torch.tensor([0x78, 0x7E], dtype=torch.int16),
        [np.uint8(0x78), torch.tensor(0x7E)],
    ],
    ids=lambda codes: type(codes).__name__,
)
def test_decode_takes(codes):
    values = decode(codes)
    assert values.dtype == torch.float32 and values.tolist() == [256.0, 448.0]


def test_decode_keeps_the_shape():
    assert decode(0x78).shape == () and decode(0x78).item() == 256.0
    assert decode([[0x78, 0x7E], [0, 1]]).shape == (2, 2)
    assert decode([]).shape == (0,) and decode([[], []]).shape == (2, 0) and decode(b"").shape == (0,)
    assert decode(torch.zeros(0, 3, dtype=torch.uint8)).shape == (0, 3)
    codes = torch.arange(256, dtype=torch.uint8).view(16, 16)
    assert torch.equal(decode(codes.T).nan_to_num(), TABLE.view(16, 16).T.nan_to_num())


@pytest.mark.parametrize("wrong", [1.0, [1.0], [1, 2.0], np.array([1.0]), torch.tensor([1.0]), True, [0, [True]]])
def test_decode_refuses_floats_and_bools(wrong):
    with pytest.raises(TypeError, match=r"codes of E4M3FN are integers 0\.\.255: got"):
        decode(wrong)


@pytest.mark.parametrize("wrong", [np.array([True]), torch.tensor([True]), "7", None, [None], ["7"], {1}, [1 + 0j]])
def test_decode_refuses_other_kinds(wrong):
    with pytest.raises(TypeError, match=r"codes of E4M3FN are integers 0\.\.255: got"):
        decode(wrong)


@pytest.mark.parametrize("wrong", [-1, 256, [0, 256], np.array([-1]), torch.tensor([0, 300]), 2**70, [-(2**70)], 2**63])
def test_decode_refuses_other_numbers(wrong):
    with pytest.raises(ValueError, match=r"codes of E4M3FN are integers 0\.\.255: got"):
        decode(wrong)


def test_decode_of_small_formats_checks_their_range():
    for fmt, codes in (("E2M1FN", 16), ("E3M2FN", 64)):
        assert len(decode(torch.arange(codes, dtype=torch.uint8), fmt)) == codes
        with pytest.raises(ValueError, match=rf"codes of {fmt} are integers 0\.\.{codes - 1}: got {codes}"):
            decode(torch.tensor([0, codes], dtype=torch.uint8), fmt)


def test_decode_names_the_way_out():
    with pytest.raises(TypeError, match=r"view\(torch.uint8\)"):
        decode(torch.zeros(2, dtype=torch.float8_e4m3fn))
    with pytest.raises(ValueError, match="not a rectangular array"):
        decode([[1, 2], [3]])


@pytest.mark.parametrize(
    "x",
    [
        [256.0, 448.0],
        (256, 448),
        [256, 448.0],
        [np.float32(256), np.float16(448)],
        np.array([256, 448], np.float16),
        np.array([256, 448], np.float32),
        np.array([448.0, 256.0])[::-1],
        np.array([256, 448], ">f4"),
        np.array([256, 448], ml_dtypes.bfloat16),
        torch.tensor([256.0, 448.0]),
        torch.tensor([256.0, 448.0], dtype=torch.float64),
        torch.tensor([256.0, 448.0], dtype=torch.bfloat16),
        torch.tensor([256.0, 448.0], requires_grad=True),
        torch.tensor([256.0, 0.0, 448.0, 0.0])[::2],
    ],
)
def test_encode_takes(x):
    codes = encode(x)
    assert codes.dtype == torch.uint8 and codes.tolist() == [0x78, 0x7E]
    assert not codes.requires_grad and codes.is_contiguous()


def test_encode_keeps_the_shape():
    assert encode(256).shape == () and encode(np.float64(256)).item() == 0x78 and encode(np.array(256.0)).shape == ()
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        assert encode(torch.tensor(256.0, dtype=dtype)).shape == ()
        assert encode(torch.zeros(0, 3, dtype=dtype)).shape == (0, 3)
        x = torch.randn(3, 5, 7, dtype=dtype).transpose(0, 2)
        assert torch.equal(encode(x), encode(x.contiguous())) and encode(x).shape == (7, 5, 3)
        wide = x.expand(2, 7, 5, 3)
        assert torch.equal(encode(wide), encode(wide.contiguous()))
    assert encode([]).shape == (0,) and encode([[], []]).shape == (2, 0)


def test_encode_leaves_its_input_alone():
    x = torch.tensor([1e9, math.nan, -1e9, 1.3])
    before = x.clone()
    encode(x), encode(x, overflow="nan"), encode(x.requires_grad_(), rounding="toward_zero")
    assert torch.equal(x.nan_to_num(), before.nan_to_num())
    frozen = np.array([1.3, 1e9], np.float32)
    frozen.setflags(write=False)
    assert encode(frozen).tolist() == [0x3A, 0x7E]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (torch.tensor([1, 2]), "call decode if they are codes"),
        (torch.tensor([1], dtype=torch.uint8), "call decode if they are codes"),
        (np.array([1, 2]), "call decode if they are codes"),
        (torch.zeros(2, dtype=torch.float8_e4m3fn), "these are codes already"),
        (np.zeros(2, ml_dtypes.float8_e4m3fn), "these are codes already"),
        (torch.tensor([True]), "got a tensor of torch.bool"),
        (torch.tensor([1j]), "complex64"),
        (True, "got True, a bool"),
        ([1.0, True], "got True, a bool"),
        ([1.0, "2"], "a str"),
        (None, "NoneType"),
        ([Fraction(1, 3)], "a Fraction"),
        (np.longdouble(1), "longdouble|float128"),
        ([np.longdouble(1)], "wider than float64"),
        (torch.eye(2).to_sparse(), "to_dense"),
    ],
)
def test_encode_refuses(wrong, message):
    with pytest.raises(TypeError, match=f"encode takes real numbers .*({message})"):
        encode(wrong)


def test_integers_that_no_float64_holds():
    assert encode([2**60, -(2**60)]).tolist() == [0x7E, 0xFE]
    for number in (2**53 + 1, 10**400):
        with pytest.raises(ValueError, match="is not a float64"):
            encode([1.0, number])


@pytest.mark.parametrize("name", FORMATS)
def test_policies_without_a_code_are_refused_even_for_harmless_input(name):
    fmt = FORMATS[name]
    for module_encode in (encode, codec_compiled.encode):
        if not fmt.has_inf:
            with pytest.raises(ValueError, match=f"overflow='inf': {name} has no code for infinity; choose 'saturate'"):
                module_encode([1.0], name, overflow="inf")
        if not fmt.has_nan:
            with pytest.raises(ValueError, match=f"overflow='nan': {name} has no code for NaN; choose 'saturate'"):
                module_encode([1.0], name, overflow="nan")
    if fmt.has_inf:
        assert encode(1.0, name, overflow="inf").item() == encode(1.0, name).item()


@pytest.mark.parametrize("name", ["E2M1FN", "E2M3FN", "E3M2FN"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_nan_without_a_code_is_refused_with_its_place(name, dtype):
    x = torch.ones(2, 3, dtype=dtype)
    x[1, 2] = math.nan
    with pytest.raises(ValueError, match=rf"x\[1, 2\] is NaN, and {name} has no code for NaN: .*nan_to_num.*E4M3FN"):
        encode(x, name)
    with pytest.raises(ValueError, match="x is NaN"):
        encode(math.nan, name)
    fmt = FORMATS[name]
    assert encode([math.inf, -math.inf], name).tolist() == [fmt.max_code, fmt.max_code | fmt.sign_mask]


def test_e8m0_refuses_zero_and_negatives():
    with pytest.raises(ValueError, match=r"x\[1\] is zero, and E8M0FNU has no zero: give zeros the scale 1.0"):
        encode([1.0, 0.0], "E8M0FNU")
    with pytest.raises(ValueError, match="is zero"):
        encode(-0.0, "E8M0FNU")
    with pytest.raises(ValueError, match=r"x\[0, 1\] is negative, and E8M0FNU has no sign bit"):
        encode([[1.0, -2.0]], "E8M0FNU")
    with pytest.raises(ValueError, match="is negative"):
        encode(-math.inf, "E8M0FNU")
    assert encode([math.nan, math.inf], "E8M0FNU").tolist() == [0xFF, 0xFE]


def test_unknown_options():
    with pytest.raises(ValueError, match="overflow='clip': choose one of saturate, nan, inf"):
        encode(1.0, overflow="clip")
    with pytest.raises(ValueError, match="rounding='up': choose one of nearest_even, nearest_away"):
        encode(1.0, rounding="up")
    with pytest.raises(ValueError, match="only 'stochastic' does"):
        encode(1.0, generator=torch.Generator())
    with pytest.raises(ValueError, match="unknown format"):
        encode(1.0, "fp8")


def test_masked_elements_are_not_encoded_as_if_they_were_there():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(TypeError, match="masked"):
        encode(masked)
    assert encode(masked.filled(0.0)).tolist() == [0x38, 0x00]
    assert encode(np.ma.array([1.0])).tolist() == [0x38]


def test_sparse_codes_are_refused():
    with pytest.raises(TypeError, match="to_dense"):
        decode(torch.eye(2, dtype=torch.uint8).to_sparse())
