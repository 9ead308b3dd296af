"""What other libraries make of the same number: torch's cast, and ml_dtypes where it is installed.

Their overflow policies differ (torch's float8_e4m3fn gave NaN up to 2.12 and saturates since 2.13; ml_dtypes gives NaN)
and their array casts round float64 twice, through float32. So the answers are shown beside ours, not judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from fp8lab.formats import FloatFormat

DTYPES = {  # format -> name of the dtype in torch and in ml_dtypes
    "E4M3FN": "float8_e4m3fn",
    "E5M2": "float8_e5m2",
    "E4M3FNUZ": "float8_e4m3fnuz",
    "E5M2FNUZ": "float8_e5m2fnuz",
    "E8M0FNU": "float8_e8m0fnu",
    "E4M3": "float8_e4m3",
    "E3M4": "float8_e3m4",
    "E2M1FN": "float4_e2m1fn",
    "E2M3FN": "float6_e2m3fn",
    "E3M2FN": "float6_e3m2fn",
}


@dataclass(frozen=True)
class Foreign:
    """One answer: who gave it, from which type of number, and the code."""

    library: str
    source: str
    code: int


def foreign_codes(x: float, fmt: FloatFormat) -> tuple[Foreign, ...]:
    """The codes that torch and ml_dtypes give for `x`; empty for a format that neither of them has here."""
    return (*_torch_codes(x, fmt), *_ml_dtypes_codes(x, fmt))


def _torch_codes(x: float, fmt: FloatFormat) -> list[Foreign]:
    dtype = getattr(torch, DTYPES.get(fmt.name, ""), None)
    if dtype is None or fmt.bits != 8:
        return []
    library = f"torch {torch.__version__.split('+')[0]}"
    sources = {"float32": torch.float32, "float64": torch.float64}
    codes = {name: torch.tensor([x], dtype=source).to(dtype).view(torch.uint8) for name, source in sources.items()}
    return [Foreign(library, name, int(code)) for name, code in codes.items()]


def _ml_dtypes_codes(x: float, fmt: FloatFormat) -> list[Foreign]:
    try:
        import ml_dtypes
    except ImportError:
        return []
    dtype = getattr(ml_dtypes, DTYPES.get(fmt.name, ""), None)
    if dtype is None:
        return []
    library = f"ml_dtypes {ml_dtypes.__version__}"
    array = np.array([x]).astype(dtype)
    return [
        Foreign(library, "float64 array", int(array.view(np.uint8)[0])),
        Foreign(library, "Python float", int(np.array(dtype(x)).view(np.uint8))),
    ]
