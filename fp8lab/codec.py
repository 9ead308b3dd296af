"""Values to codes and back, for every format of `fp8lab.formats`.

    >>> decode([0x78, 0x7E]).tolist(), encode([256.0, 300.0, 1e9]).tolist()
    ([256.0, 448.0], [120, 121, 126])
"""

from __future__ import annotations

import numpy as np
import torch

from fp8lab.formats import E4M3FN, FloatFormat, _table, get_format

OVERFLOWS = ("saturate", "nan", "inf")
ROUNDINGS = ("nearest_even", "nearest_away", "toward_zero", "toward_positive", "stochastic")


def _codes_tensor(codes, fmt: FloatFormat) -> torch.Tensor:
    expected = f"codes of {fmt.name} are integers 0..{fmt.codes - 1}"
    if isinstance(codes, (list, tuple)):
        _refuse_bools(codes, expected)
    if not isinstance(codes, torch.Tensor):
        array = np.frombuffer(codes, np.uint8) if isinstance(codes, (bytes, bytearray)) else np.asarray(codes)
        if array.size == 0 and isinstance(codes, (list, tuple)):
            array = array.astype(np.uint8)
        if array.dtype == object and all(isinstance(item, int) for item in array.flat):
            raise ValueError(f"{expected}: got an integer beyond 64 bits")
        if array.dtype.kind not in "iu":
            raise TypeError(f"{expected}: got {array.dtype} from a {type(codes).__name__}")
        _check_range(array, fmt, expected)
        return torch.from_numpy(array.astype(np.uint8))
    if codes.dtype not in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        hint = "; for a float8 tensor pass x.view(torch.uint8)" if "float8" in str(codes.dtype) else ""
        raise TypeError(f"{expected}: got a tensor of {codes.dtype}{hint}")
    _check_range(codes, fmt, expected)
    return codes.to(torch.uint8)


def _refuse_bools(items, expected: str) -> None:
    for item in items:
        if isinstance(item, (list, tuple)):
            _refuse_bools(item, expected)
        elif isinstance(item, (bool, np.bool_)):
            raise TypeError(f"{expected}: got the bool {item}")


def _check_range(codes, fmt: FloatFormat, expected: str) -> None:
    if codes.dtype in (torch.uint8, np.uint8) and fmt.bits == 8:
        return
    if 0 in codes.shape:
        return
    low, high = int(codes.min()), int(codes.max())
    if low < 0 or high >= fmt.codes:
        raise ValueError(f"{expected}: got {low if low < 0 else high}")


def decode(codes, fmt: FloatFormat | str = E4M3FN, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """The float32 values of codes."""
    fmt = get_format(fmt)
    codes = _codes_tensor(codes, fmt)
    result = _table(fmt).to(codes.device)[codes.long()]
    return result if out is None else out.copy_(result)


def encode(
    x,
    fmt: FloatFormat | str = E4M3FN,
    *,
    overflow: str = "saturate",
    rounding: str = "nearest_even",
    generator: torch.Generator | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The uint8 codes of real numbers."""
    fmt = get_format(fmt)
    if overflow == "inf" and not fmt.has_inf:
        raise ValueError(f"overflow='inf': {fmt.name} has no infinity; use 'saturate'" + (" or 'nan'" if fmt.has_nan else ""))
    if overflow == "nan" and not fmt.has_nan:
        raise ValueError(f"overflow='nan': {fmt.name} has no NaN; use 'saturate'")
    if overflow not in OVERFLOWS or rounding not in ROUNDINGS:
        raise ValueError(f"overflow={overflow!r}, rounding={rounding!r}: overflow is one of {OVERFLOWS}, rounding one of {ROUNDINGS}")
    x = x.detach() if isinstance(x, torch.Tensor) else torch.from_numpy(np.asarray(x, dtype=np.float64))
    codes = _encode_float64(x.double(), fmt, overflow, rounding, generator)
    return codes if out is None else out.copy_(codes)


def _encode_float64(x, fmt, overflow, rounding, generator):
    nan = x.isnan()
    if nan.any() and not fmt.has_nan:
        raise ValueError(f"x holds NaN and {fmt.name} has no code for it")
    if not fmt.signed and bool((x <= 0).any()):
        raise ValueError(f"{fmt.name} has neither zero nor negative values")
    negative = torch.signbit(x)
    size = torch.where(nan, 1.0, x.abs()).clamp(max=2.0**200)
    exponent = torch.where(size > 0, torch.frexp(size).exponent - 1, fmt.min_exponent).clamp(min=fmt.min_exponent)
    steps = torch.ldexp(size, fmt.mantissa_bits - exponent)
    whole = steps.floor()
    part = steps - whole
    index = whole.long() + ((exponent.long() - fmt.min_exponent) << fmt.mantissa_bits)
    if not fmt.has_zero:
        index -= 1
    if rounding == "nearest_even":
        up = (part > 0.5) | ((part == 0.5) & ((index & 1) == 1))
    elif rounding == "nearest_away":
        up = part >= 0.5
    elif rounding == "toward_zero":
        up = torch.zeros_like(nan)
    elif rounding == "toward_positive":
        up = (part > 0) & ~negative
    else:
        up = torch.rand(x.shape, dtype=torch.float64, device=x.device, generator=generator) < part
    index = (index + up).clamp(min=0)
    over = index > fmt.max_code
    limit = {"saturate": fmt.max_code, "nan": fmt.nan_code, "inf": fmt.exponent_mask}[overflow]
    index = torch.where(over, limit, index)
    if fmt.has_nan:
        index = torch.where(nan, fmt.nan_code, index)
    signs = negative & ((index > 0) if not fmt.has_negative_zero else torch.ones_like(nan))
    if fmt.special == "fnuz":
        signs &= index != fmt.nan_code
    if fmt.signed:
        index = torch.where(signs, index | fmt.sign_mask, index)
    return index.to(torch.uint8)
