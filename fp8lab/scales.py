"""Scales: one convention, four ways to store them, and no scale that is zero, negative or not finite.

Inside this package a scale is what codes are multiplied by:  value = code x scale,  code = round(value / scale).
Others write the reciprocal (codes = value x scale, as `FP8KVCacheSim` does): `to_multiplier` and `from_multiplier`
convert, by name, because a mix-up of the two crashes nothing and ruins everything.

A scale is rounded to the format it is stored in *before* any value is divided by it; a scale rounded afterwards is a
different ruler from the one that measured (ones(64) came back as 1.75: transformers#46763). Storage formats:
    float32, bfloat16   round to nearest
    E8M0FNU             a power of two, rounded up, so that absmax never exceeds the grid (OCP MX v1.0 leaves this
                        open; rounding to nearest saturates, mlx#4353)
    E4M3FN              round to nearest; the narrow range, 2^-9 to 448, wants a second float32 scale for the whole
                        tensor (NVFP4)
float16 is refused: below 6e-5 it keeps fewer and fewer bits, below 3e-8 nothing.
"""

from __future__ import annotations

import math
from functools import cache

import torch

from fp8lab.codec import decode, encode
from fp8lab.formats import E4M3FN, E8M0FNU, FORMATS, FloatFormat, get_format

SCALE_FLOOR = 2.0**-126  # smallest normal float32: x / scale neither overflows nor loses bits above it
FLOAT32_MAX = torch.finfo(torch.float32).max
E4M3FN_OVERFLOW = 464.0  # OCP OFP8 v1.0: midpoint between 448 and the 480 that E4M3FN does not have
StorageFormat = torch.dtype | FloatFormat
_NAMED = {"float32": torch.float32, "fp32": torch.float32, "bfloat16": torch.bfloat16, "bf16": torch.bfloat16}


def storage_format(given: StorageFormat | str) -> StorageFormat:
    """The storage format of scales: torch.float32, torch.bfloat16, E8M0FNU or E4M3FN, also by name. ValueError for
    others.

    >>> storage_format("bf16"), storage_format("e8m0fnu").name
    (torch.bfloat16, 'E8M0FNU')
    """
    accepted = "accepted are float32, bfloat16, E8M0FNU and E4M3FN"
    if isinstance(given, str) and given.lower() in _NAMED:
        return _NAMED[given.lower()]
    if given in (torch.float32, torch.bfloat16):
        return given
    if given is torch.float16 or (isinstance(given, str) and given.lower() in ("float16", "fp16", "half")):
        raise ValueError(f"scales in float16 overflow above 65504 and vanish below 6e-8: {accepted}")
    if isinstance(given, (str, FloatFormat)):
        if isinstance(given, FloatFormat) or given.upper() in FORMATS:
            fmt = get_format(given)
            if fmt in (E8M0FNU, E4M3FN):
                return fmt
    raise ValueError(f"no storage format for scales: {given!r}; {accepted}")


def storage_name(storage: StorageFormat) -> str:
    """Name that `storage_format` reads back.

    >>> storage_name(torch.bfloat16)
    'bfloat16'
    """
    return storage.name if isinstance(storage, FloatFormat) else str(storage).removeprefix("torch.")


def smallest_scale(storage: StorageFormat) -> float:
    """Floor of the scales in that storage: 2^-126, or 2^-9 where E4M3FN has nothing smaller."""
    return 2.0**-9 if storage == E4M3FN else SCALE_FLOOR


@cache
def largest_scale(storage: StorageFormat, qmax: float) -> float:
    """Largest storable scale for which qmax x scale is still a finite float32.

    >>> largest_scale(E8M0FNU, 448.0) == 2.0**119, largest_scale(E4M3FN, 6.0)
    (True, 448.0)
    """
    if storage == E4M3FN:
        return E4M3FN.max_finite
    limit = FLOAT32_MAX / qmax  # exact enough in float64; rounded down below
    if storage == E8M0FNU:
        return min(2.0 ** math.floor(math.log2(limit)), E8M0FNU.max_finite)
    mantissa, exponent = math.frexp(limit)
    bits = 8 if storage is torch.bfloat16 else 24
    return math.ldexp(math.floor(math.ldexp(mantissa, bits)), exponent - bits)


def store(scales: torch.Tensor, storage: StorageFormat, qmax: float) -> torch.Tensor:
    """float32 scales -> stored: floored, capped, then rounded. NaN (an invalid group) stays NaN.

    ValueError when a scale is too large for E4M3FN, which would clip its whole group.

    >>> store(torch.tensor([1.2, 1.0, 0.0]), E8M0FNU, 448.0).tolist()  # 2^(code - 127): 2, 1, 2^-126
    [128, 127, 1]
    """
    if storage == E4M3FN and bool((scales > E4M3FN_OVERFLOW).any()):
        worst = scales.nan_to_num().max().item()
        raise ValueError(
            f"scale {worst:g} does not fit E4M3FN, whose largest value is 448: pass tensor_scale='absmax' "
            "(as NVFP4 does), or store scales as float32"
        )
    held = scales.clamp(smallest_scale(storage), largest_scale(storage, qmax))
    if storage is torch.float32:
        return held
    if storage is torch.bfloat16:
        return held.to(torch.bfloat16)
    if storage == E4M3FN:
        return encode(held, E4M3FN)
    return exponent_up(held)


def exponent_up(scales: torch.Tensor) -> torch.Tensor:
    """E8M0 codes of positive normal float32 scales, rounded up to a power of two by their bits (log2 errs just below
    one).

    >>> exponent_up(torch.tensor([1.0, 31.999998, 32.0])).tolist()
    [127, 132, 132]
    """
    bits = scales.contiguous().view(torch.int32)
    exponent = (bits >> 23) + ((bits & 0x7FFFFF) != 0)
    return torch.where(scales.isnan(), 0xFF, exponent.clamp(max=0xFE)).to(torch.uint8)


def load(stored: torch.Tensor, storage: StorageFormat) -> torch.Tensor:
    """Stored -> float32 scales, exactly.

    >>> load(torch.tensor([128, 127, 255], dtype=torch.uint8), E8M0FNU).tolist()
    [2.0, 1.0, nan]
    """
    if isinstance(storage, FloatFormat):
        return decode(stored, storage)
    return stored.to(torch.float32)


def effective_scales(
    stored: torch.Tensor, storage: StorageFormat, unit: torch.Tensor | None, qmax: float
) -> torch.Tensor:
    """float32 scales that codes are multiplied by: what is stored, times the scale of the whole tensor when there is
    one.

    The product is held between 2^-126 and the largest scale that keeps qmax x scale finite, like every other scale.

    >>> effective_scales(torch.tensor([2.0]), torch.float32, torch.tensor(0.25), 6.0).tolist()
    [0.5]
    """
    scales = load(stored, storage)
    return scales if unit is None else (scales * unit).clamp_(SCALE_FLOOR, largest_scale(torch.float32, qmax))


def stored_dtype(storage: StorageFormat) -> torch.dtype:
    return torch.uint8 if isinstance(storage, FloatFormat) else storage


def first_index(mask: torch.Tensor) -> tuple[int, ...]:
    """Index of the first True in row-major order."""
    return tuple(int(i) for i in torch.unravel_index(mask.flatten().to(torch.uint8).argmax(), mask.shape))


def check_scales(scales: torch.Tensor, name: str = "scale") -> None:
    """ValueError naming the first scale that is zero, negative or not finite.

    >>> check_scales(torch.tensor([1.0, 0.0]))
    Traceback (most recent call last):
    ...
    ValueError: scale[1] is 0.0: a scale must be positive and finite
    """
    bad = ~((scales > 0) & scales.isfinite())
    if bool(bad.any()):
        index = first_index(bad)
        where = f"[{', '.join(map(str, index))}]" if index else ""
        raise ValueError(f"{name}{where} is {scales[index].item()}: a scale must be positive and finite")


def _reciprocal(scales: torch.Tensor, name: str) -> torch.Tensor:
    given = torch.as_tensor(scales).detach().to(torch.float32)
    check_scales(given, name)
    turned = 1.0 / given
    bad = ~turned.isfinite() | (turned < SCALE_FLOOR)
    if bool(bad.any()):
        index = first_index(bad)
        raise ValueError(
            f"1 / {given[index].item()} is no normal float32: rescale the data first (accepted: 2^-126 to 2^126)"
        )
    return turned


def to_multiplier(scales: torch.Tensor) -> torch.Tensor:
    """Scales of this package (value = code x scale) -> the reciprocal convention (code = round(value x multiplier)).

    float32, rounded once. ValueError for zero, negative or non-finite scales and where the reciprocal is not a
    normal float32.

    >>> to_multiplier(torch.tensor([0.25, 4.0])).tolist()
    [4.0, 0.25]
    """
    return _reciprocal(scales, "scale")


def from_multiplier(multipliers: torch.Tensor) -> torch.Tensor:
    """The reciprocal convention (code = round(value x multiplier)) -> scales of this package. Errors as
    `to_multiplier`.

    >>> from_multiplier(torch.tensor([127.0 / 254.0])).tolist()
    [2.0]
    """
    return _reciprocal(multipliers, "multiplier")
