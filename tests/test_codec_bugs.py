"""Public bugs of FP8 codecs, each with the byte that is right, and with an encoder that has the bug and fails.

The broken encoders are written here from the bug's description; a case that no broken encoder fails would test nothing.
Bugs of scales are in test_scale_bugs.py and test_scale_sharing_bugs.py. triton#8322 (the interpreter's own FP8 casts)
has no case: this package never uses them, its kernels are held to the codec byte by byte in test_kernels_group.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fp8lab import decode, encode
from fp8lab.formats import E4M3FN, E5M2, FORMATS, bracket, decode_table, exact, get_format, value

ABOVE_464 = float(np.nextafter(np.float32(464), np.float32(np.inf)))


# ---- broken encoders


def nearest(x: float, fmt, tie: str = "even", overflow: str = "saturate") -> int:
    """A plain search for the nearest code, with the rule for ties as an argument (the right one is "even")."""
    fmt = get_format(fmt)
    if math.isnan(x):
        return fmt.nan_code
    low, high = bracket(max(-fmt.max_finite, min(fmt.max_finite, x)), fmt)
    below, above = x - value(low, fmt), value(high, fmt) - x
    if below == above and low != high:
        outer, inner = (high, low) if x > 0 else (low, high)
        return {"even": low if low % 2 == 0 else high, "away": outer, "zero": inner}[tie]
    return low if below < above else high


def via_float16(x: float, fmt) -> int:
    """Rounds to float16 first, then to nearest even."""
    return nearest(float(np.float16(x)), fmt)


def via_float32(x: float, fmt) -> int:
    return nearest(float(np.float32(x)), fmt)


def via_bfloat16(x: float, fmt) -> int:
    return nearest(torch.tensor(x).bfloat16().item(), fmt)


def truncating(x: float, fmt) -> int:
    return encode(x, fmt, rounding="toward_zero").item()


def ties_away(x: float, fmt) -> int:
    return nearest(x, fmt, tie="away")


def ties_to_zero(x: float, fmt) -> int:
    return nearest(x, fmt, tie="zero")


def nan_from_the_largest_value(x: float, fmt) -> int:
    """Overflow from the largest value on, not from the tie beyond it; and NaN where saturation was asked for."""
    return get_format(fmt).nan_code if abs(x) > get_format(fmt).max_finite else nearest(x, fmt)


def saturating_always(x: float, fmt) -> int:
    return nearest(x, fmt)


def ieee_range(x: float, fmt) -> int:
    """The all-ones exponent is kept free, as in IEEE 754: 240 is taken for the largest E4M3 value."""
    return nearest(max(-240.0, min(240.0, x)), fmt)


def minus_zero_kept(x: float, fmt) -> int:
    """Sign bit set on an underflow in a format whose code for -0 is NaN."""
    code = nearest(x, fmt)
    return code | 0x80 if math.copysign(1, x) < 0 else code


def wraps_around(x: float, fmt) -> int:
    """The exponent overflows into the sign: no clamp at all."""
    return int(x) & 0xFF


# ---- bug, input, format, policy, the right byte, the encoder that fails

CASES = [
    ("ao#1912: just above the tie", ABOVE_464, "E4M3FN", "saturate", 0x7E, nan_from_the_largest_value),
    ("pytorch#178817: 480 saturates", 480.0, "E4M3FN", "saturate", 0x7E, nan_from_the_largest_value),
    ("pytorch#178817: infinity saturates", math.inf, "E4M3FN", "saturate", 0x7E, nan_from_the_largest_value),
    ("pytorch#178817: above the tie is NaN", ABOVE_464, "E4M3FN", "nan", 0x7F, saturating_always),
    ("pytorch#178817: 480 is NaN", 480.0, "E4M3FN", "nan", 0x7F, saturating_always),
    ("pytorch#178817: infinity is NaN", math.inf, "E4M3FN", "nan", 0x7F, saturating_always),
    ("ao#1912: 464 is a tie, to the even 448", 464.0, "E4M3FN", "nan", 0x7E, nan_from_the_largest_value),
    ("sglang#40581: 256 is an ordinary number", 256.0, "E4M3FN", "saturate", 0x78, ieee_range),
    ("sglang#40581: 300 goes to 288", 300.0, "E4M3FN", "saturate", 0x79, ieee_range),
    ("saturn-vectors#101: 672 saturates", 672.0, "E4M3FN", "saturate", 0x7E, wraps_around),
    ("bitstring#342: not by way of float16", 232.03683398099045, "E4M3FN", "saturate", 0x77, via_float16),
    ("onnxruntime#16938: rounded, not cut", 1.8131605, "E4M3FN", "saturate", 0x3F, truncating),
    ("triton#11753: not by way of float16", float(np.float32(1.0625001)), "E4M3FN", "saturate", 0x39, via_float16),
    ("not by way of bfloat16", float(np.float32(1.0625001)), "E4M3FN", "saturate", 0x39, via_bfloat16),
    ("float64 not by way of float32", 1.0625 + 2**-40, "E4M3FN", "saturate", 0x39, via_float32),
    ("float64 above the smallest tie", 2**-10 * (1 + 2**-40), "E4M3FN", "saturate", 0x01, via_float32),
    ("triton#5925: 9.0 is a tie of E5M2", 9.0, "E5M2", "saturate", 0x48, ties_away),
    ("triton#5925: 1.125 is a tie of E5M2", 1.125, "E5M2", "saturate", 0x3C, ties_away),
    ("tt-metal#51971: just above a quarter", float(np.float32(0.25000006)), "E2M1FN", "saturate", 1, truncating),
    *((f"aiter#3992: FP4 tie {x}", x, "E2M1FN", "saturate", code, ties_away) for x, code in ((0.25, 0), (1.25, 2))),
    *((f"aiter#3992: FP4 tie {x}", x, "E2M1FN", "saturate", code, ties_away) for x, code in ((2.5, 4), (5.0, 6))),
    *((f"aiter#3992: FP4 tie {x}", x, "E2M1FN", "saturate", code, ties_to_zero) for x, code in ((0.75, 2), (1.75, 4))),
    ("aiter#3992: FP4 tie 3.5", 3.5, "E2M1FN", "saturate", 6, ties_to_zero),
    ("onnx#5764: underflow is 0, not NaN", -1e-5, "E4M3FNUZ", "saturate", 0x00, minus_zero_kept),
    ("triton#10745: -0 is 0, not NaN", -0.0, "E4M3FNUZ", "saturate", 0x00, minus_zero_kept),
    ("onnx#5764: the same in E5M2FNUZ", -1e-9, "E5M2FNUZ", "saturate", 0x00, minus_zero_kept),
]


@pytest.mark.parametrize(("x", "fmt", "overflow", "code", "broken"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_public_bug(x, fmt, overflow, code, broken):
    assert encode(x, fmt, overflow=overflow).item() == code
    single = np.float32(x)
    if math.isinf(x) or float(single) == x:
        assert encode(single, fmt, overflow=overflow).item() == code
        assert encode(torch.full((3000,), x), fmt, overflow=overflow).tolist() == [code] * 3000
    wrong = broken(x, fmt) if not (broken is wraps_around and math.isinf(x)) else None
    assert wrong != code, f"{broken.__name__} passes: this case tests nothing"


def test_the_plain_search_is_right_where_no_bug_is_built_in():
    """The broken encoders above are right but for their bug."""
    for fmt in (E4M3FN, E5M2, FORMATS["E2M1FN"]):
        x = np.random.default_rng(0).normal(size=400) * fmt.max_finite / 3
        assert encode(x, fmt).tolist() == [nearest(float(number), fmt) for number in x]


def test_fp4_ties_as_the_issue_lists_them():
    """aiter#3992 lists values: 0.25, 1.25, 2.5, 5 go to 0, 1, 2, 4 and 0.75, 1.75, 3.5 to 1, 2, 4."""
    codes = encode([0.25, 1.25, 2.5, 5.0, 0.75, 1.75, 3.5], "E2M1FN")
    assert decode(codes, "E2M1FN").tolist() == [0.0, 1.0, 2.0, 4.0, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("name", FORMATS)
def test_encode_of_decode_is_the_code(name):
    """aiter#3992: for every code of every format; a codec whose encoder reads the wrong table fails."""
    fmt = FORMATS[name]
    codes = [code for code in range(fmt.codes) if exact(code, fmt) is not None]
    assert encode(decode(codes, fmt), fmt).tolist() == codes
    shifted = decode_table(fmt)[codes] * (0.5 if fmt.has_zero else 2)
    assert encode(shifted, fmt).tolist() != codes


# ---- decoders


def read_as_fn(code: int) -> float:
    return value(code, E4M3FN)


def read_as_fnuz(code: int) -> float:
    return value(code, FORMATS["E4M3FNUZ"])


def read_as_e5m2(code: int) -> float:
    return value(code, E5M2)


def shifted_into_float32(code: int) -> float:
    """The code in the place of float32's exponent: right for 1 to 254."""
    return (torch.tensor([code], dtype=torch.int32) << 23).view(torch.float32).item()


DECODED = [
    ("vllm#45562: byte 38", 0x38, "E4M3FN", 1.0, read_as_fnuz),
    ("vllm#45562: byte 38 in FNUZ", 0x38, "E4M3FNUZ", 0.5, read_as_fn),
    ("vllm#32976: byte 7E", 0x7E, "E4M3FN", 448.0, read_as_fnuz),
    ("vllm#32976: byte 7E in FNUZ", 0x7E, "E4M3FNUZ", 224.0, read_as_fn),
    ("onnx#5764: byte 80 in FNUZ", 0x80, "E4M3FNUZ", math.nan, read_as_fn),
    ("triton#10745: byte 80 in E5M2FNUZ", 0x80, "E5M2FNUZ", math.nan, read_as_e5m2),
    ("E4M3FN byte 80 is -0", 0x80, "E4M3FN", -0.0, read_as_fnuz),
    ("TransformerEngine#3262: scale 0", 0, "E8M0FNU", 2.0**-127, shifted_into_float32),
    ("TransformerEngine#3262: scale 255", 255, "E8M0FNU", math.nan, shifted_into_float32),
]


@pytest.mark.parametrize(("code", "fmt", "right", "broken"), [c[1:] for c in DECODED], ids=[c[0] for c in DECODED])
def test_public_bug_of_a_decoder(code, fmt, right, broken):
    assert repr(decode(code, fmt).item()) == repr(right)
    assert repr(decode([code] * 3000, fmt)[-1].item()) == repr(right)
    assert repr(broken(code)) != repr(right), f"{broken.__name__} passes: this case tests nothing"


def test_a_shift_is_right_between_the_ends_of_e8m0():
    """TransformerEngine#3262: which is why 134, or any other ordinary scale, does not show it."""
    codes = list(range(1, 255))
    assert decode(codes, "E8M0FNU").tolist() == [shifted_into_float32(code) for code in codes]
    assert decode(134, "E8M0FNU").item() == 128.0


def test_the_format_travels_with_the_bytes():
    """vllm#45562: byte 38 is 1.0 in FN and 0.5 in FNUZ; the same byte is half the value on 252 codes."""
    assert decode(0x38).item() == 1.0 and decode(0x38, "E4M3FNUZ").item() == 0.5
    assert math.isnan(decode(0x80, "E4M3FNUZ").item())
    fn, fnuz = decode_table("E4M3FN"), decode_table("E4M3FNUZ")
    assert (fn == 2 * fnuz).sum().item() == 253  # the 252 nonzero codes, and 00
    assert decode([0x7F, 0xFF], "E4M3FNUZ").tolist() == [240.0, -240.0]
    assert decode(0x7E).item() == 448.0 and decode(0x7E, "E4M3FNUZ").item() == 224.0


def test_fnuz_saturates_at_its_own_maximum():
    """vllm#32976: FNUZ storage with 448 as the largest value."""
    assert encode(300.0, "E4M3FNUZ").item() == 0x7F and decode(0x7F, "E4M3FNUZ").item() == 240.0
    clamped_at_448 = encode(min(300.0, 448.0), "E4M3FNUZ", overflow="nan").item()
    assert clamped_at_448 == 0x80


def test_e8m0_just_below_a_power_of_two():
    """chop#5: floor(log2(31.999998)) in float32 is 5; the exponent is 4."""
    x = np.float32(31.999998)
    assert encode(x, "E8M0FNU", rounding="toward_zero").item() - 127 == 4
    assert math.floor(np.float32(np.log2(x))) == 5
    assert encode(x, "E8M0FNU").item() - 127 == 5


def test_e8m0_up_does_not_saturate():
    """mlx#4353, vllm#49435: the scale of 537.6 is 1.2: 1 by nearest, which saturates, 2 upward, which does not."""
    scale = 537.6 / 448
    nearest_scale = decode(encode(scale, "E8M0FNU"), "E8M0FNU").item()
    upward = decode(encode(scale, "E8M0FNU", rounding="toward_positive"), "E8M0FNU").item()
    assert (nearest_scale, upward) == (1.0, 2.0)
    assert encode(537.6 / nearest_scale, overflow="nan").item() == 0x7F
    assert encode(537.6 / upward, overflow="nan").item() == 0x78


def test_codes_are_uint8_so_that_torch_can_move_them():
    """pytorch#180855: index_copy_ on float8 is not implemented on a CPU; on our codes it works."""
    index, both = torch.tensor([2]), encode([[1.0, 448.0]])
    try:  # the bug, as long as torch has it
        cache = torch.zeros(4, 2).to(torch.float8_e4m3fn).index_copy_(0, index, both.view(torch.float8_e4m3fn))
    except (NotImplementedError, RuntimeError) as problem:
        assert "index_copy" in str(problem)
    else:
        assert cache.view(torch.uint8)[2].tolist() == both[0].tolist()
    cache = torch.zeros(4, 2, dtype=torch.uint8)
    cache.index_copy_(0, index, both)
    assert decode(cache)[2].tolist() == [1.0, 448.0]


def test_truncation_is_seen_in_codes_not_in_closeness():
    """vllm#45361: a store that truncates is close everywhere, and wrong on half of the codes."""
    x = torch.randn(4096, generator=torch.Generator().manual_seed(0)) * 20
    cut = encode(x, rounding="toward_zero")
    assert torch.allclose(decode(cut), x, rtol=0.13, atol=2**-9)
    assert 0.4 < (cut != encode(x)).float().mean().item() < 0.6
