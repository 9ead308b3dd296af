"""Who agrees with the codec: all codes, all bfloat16 and float16 numbers, all ties with their float32 neighbours.

    PYTHONPATH=tests python benchmarks/agreement.py

One row per format, one column per oracle, mismatches in each; NaN codes count as one. ml_dtypes is compared with its
own overflow (infinity where there is one, else NaN, else the largest value), gfloat and torch saturating. E8M0FNU is
compared from 2^-126 up, and without ties in ml_dtypes: torch and ml_dtypes round ties up there, not to even.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import torch

from fp8lab import decode, encode
from fp8lab.formats import FORMATS

try:
    from oracles import exact, foreign
except ImportError as error:
    raise SystemExit(f"{error}. Run it as PYTHONPATH=tests python benchmarks/agreement.py (make bench does).") from None

ORACLES = ("exact", "ml_dtypes", "gfloat", "torch")


def inputs(name: str) -> dict[str, np.ndarray]:
    """float32 arrays without what the format refuses."""
    patterns = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16)
    values = exact.magnitudes(name)
    ties = np.array([float((low + high) / 2) for low, high in zip(values, values[1:]) if high < 2**128], np.float32)
    near = np.concatenate([ties, np.nextafter(ties, np.float32(np.inf)), np.nextafter(ties, np.float32(0))])
    arrays = {
        "bf16": patterns.view(torch.bfloat16).float().numpy(),
        "fp16": patterns.view(torch.float16).float().numpy(),
        "ties": np.concatenate([near, -near]),
    }
    return {kind: expressible(array, name) for kind, array in arrays.items()}


def expressible(x: np.ndarray, name: str) -> np.ndarray:
    fmt = FORMATS[name]
    if not fmt.has_nan:
        x = x[~np.isnan(x)]
    return x if fmt.signed else x[~(x < 2.0**-126)]


def decoded(name: str) -> dict[str, int]:
    codes = np.arange(FORMATS[name].codes)
    got = decode(codes, name).double().numpy()
    exactly = [exact.value(code, name) for code in codes.tolist()]
    others = {"ml_dtypes": foreign.ml_decode, "gfloat": foreign.gfloat_decode}
    if name in foreign.TORCH_DTYPES:
        others["torch"] = foreign.torch_decode
    finite = np.isfinite(got)
    counts = {"exact": sum(want != (value if ok else None) for want, value, ok in zip(exactly, got, finite))}
    for who, decoder in others.items():
        want = decoder(codes, name)
        same = (got == want) & (np.signbit(got) == np.signbit(want)) | (np.isnan(got) & np.isnan(want))
        counts[who] = int((~same).sum())
    return counts


def encoded(x: np.ndarray, name: str) -> dict[str, int]:
    fmt = FORMATS[name]
    native = "inf" if fmt.has_inf else "nan" if fmt.has_nan else "saturate"
    counts = {"exact": int((encode(x, name).numpy() != exact.round_array(x, name)).sum())}
    counts["gfloat"] = differ(lambda y: encode(y, name), foreign.gfloat_encode, x, name)
    plain = without_e8m0_ties(x, name)
    counts["ml_dtypes"] = differ(lambda y: encode(y, name, overflow=native), foreign.ml_encode, plain, name)
    if name in foreign.TORCH_DTYPES:
        counts["torch"] = differ(lambda y: encode(y, name), foreign.torch_encode, x, name)
    return counts


def without_e8m0_ties(x: np.ndarray, name: str) -> np.ndarray:
    return x if name != "E8M0FNU" else x[np.frexp(x)[0] != 0.75]


def differ(ours: Callable, theirs: Callable, x: np.ndarray, name: str) -> int:
    return len(foreign.mismatches(ours(x).numpy(), theirs(x, name), name))


def main() -> None:
    print(f"{'format':9s} {'what':5s} {'numbers':>8s}" + "".join(f"{who:>11s}" for who in ORACLES) + "   (mismatches)")
    compared, wrong = dict.fromkeys(ORACLES, 0), 0
    for name, fmt in FORMATS.items():
        rows = [("codes", fmt.codes, decoded(name), 0)]
        for kind, x in inputs(name).items():
            rows.append((kind, len(x), encoded(x, name), len(x) - len(without_e8m0_ties(x, name))))
        for kind, numbers, counts, left_out in rows:
            cells = "".join(f"{counts.get(who, '-'):>11}" for who in ORACLES)
            print(f"{name:9s} {kind:5s} {numbers:8,d}{cells}")
            wrong += sum(counts.values())
            for who in counts:
                compared[who] += numbers - (left_out if who == "ml_dtypes" else 0)
    print(f"\n{', '.join(f'{who} {count:,}' for who, count in compared.items())} comparisons: {wrong} mismatches")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
