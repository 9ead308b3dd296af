"""Other people's codecs as oracles: ml_dtypes, gfloat and torch's float8, each behind encode(x, name) -> codes."""

from __future__ import annotations

import gfloat
import ml_dtypes
import numpy as np
import torch
from gfloat import Domain, FormatInfo, RoundMode

from oracles.exact import SPECS

ML_DTYPES = {
    "E4M3FN": ml_dtypes.float8_e4m3fn,
    "E5M2": ml_dtypes.float8_e5m2,
    "E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "E3M2FN": ml_dtypes.float6_e3m2fn,
    "E2M3FN": ml_dtypes.float6_e2m3fn,
    "E2M1FN": ml_dtypes.float4_e2m1fn,
    "E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "E4M3": ml_dtypes.float8_e4m3,
    "E3M4": ml_dtypes.float8_e3m4,
}
TORCH_DTYPES = {
    "E4M3FN": torch.float8_e4m3fn,
    "E5M2": torch.float8_e5m2,
    "E4M3FNUZ": torch.float8_e4m3fnuz,
    "E5M2FNUZ": torch.float8_e5m2fnuz,
}
GFLOAT_MODES = {
    "nearest_even": RoundMode.TiesToEven,
    "nearest_away": RoundMode.TiesToAway,
    "toward_zero": RoundMode.TowardZero,
    "toward_positive": RoundMode.TowardPositive,
}


def gfloat_info(name: str) -> FormatInfo:
    spec = SPECS[name]
    high_nans = {"E5M2": 3, "E4M3": 7, "E3M4": 15, "E4M3FN": 1, "E8M0FNU": 1}.get(name, 0)
    return FormatInfo(
        name,
        (1 if spec.sign else 0) + spec.exponent_bits + spec.mantissa_bits,
        spec.mantissa_bits + 1,
        bias=spec.bias,
        is_signed=bool(spec.sign),
        domain=Domain.Finite if spec.inf is None else Domain.Extended,
        has_nz=spec.negative_zero,
        num_high_nans=high_nans,
        has_subnormals=bool(spec.mantissa_bits),
        is_twos_complement=False,
    )


def gfloat_encode(x: np.ndarray, name: str, rounding: str = "nearest_even", saturate: bool = True) -> np.ndarray:
    info = gfloat_info(name)
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = gfloat.round_ndarray(info, x.astype(np.float64), GFLOAT_MODES[rounding], saturate)
    return gfloat.encode_ndarray(info, rounded).astype(np.uint8)


def gfloat_decode(codes: np.ndarray, name: str) -> np.ndarray:
    return np.array([gfloat.decode_float(gfloat_info(name), int(code)).fval for code in codes])


def ml_encode(x: np.ndarray, name: str) -> np.ndarray:
    """Overflow to infinity, else NaN, else saturation."""
    with np.errstate(invalid="ignore", over="ignore"):
        return x.astype(ML_DTYPES[name]).view(np.uint8)


def ml_decode(codes: np.ndarray, name: str) -> np.ndarray:
    return codes.astype(np.uint8).view(ML_DTYPES[name]).astype(np.float64)


def torch_encode(x: np.ndarray, name: str) -> np.ndarray:
    """Saturating: clamped here, since torch releases differ."""
    limit = torch.finfo(TORCH_DTYPES[name]).max
    return torch.from_numpy(x).clamp(-limit, limit).to(TORCH_DTYPES[name]).view(torch.uint8).numpy()


def torch_decode(codes: np.ndarray, name: str) -> np.ndarray:
    return torch.from_numpy(codes.astype(np.uint8)).view(TORCH_DTYPES[name]).double().numpy()


def nan_codes(name: str) -> np.ndarray:
    return np.flatnonzero(np.isnan(ml_decode(np.arange(256 if name not in SMALL else SMALL[name]), name)))


SMALL = {"E3M2FN": 64, "E2M3FN": 64, "E2M1FN": 16}


def mismatches(got: np.ndarray, want: np.ndarray, name: str) -> np.ndarray:
    """Positions where codes differ, every NaN code being the same."""
    nans = nan_codes(name)
    return np.flatnonzero((got != want) & ~(np.isin(got, nans) & np.isin(want, nans)))
