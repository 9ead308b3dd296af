"""What quantization does to a whole tensor: its values, the codes it uses, the errors it leaves.

    >>> facts = histogram_data(sample("normal"), "E4M3FN")
    >>> facts.codes_total, facts.codes_used <= 254, 20 < facts.sqnr_db < 35
    (254, True, True)

The entropy of the codes is how many bits they would take if an ideal coder stored them: what is missing to the bits of
the format is range or resolution that this tensor pays for and does not use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from fp8lab.elements import ElementFormat, IntegerFormat, decode_elements, element_format
from fp8lab.explore.bits.data import value_order
from fp8lab.formats import E8M0FNU
from fp8lab.granularity import Granularity, Group, PerChannel, PerTensor, PerToken
from fp8lab.metrics import relative_error, sqnr_db
from fp8lab.quantize import quantize

SAMPLE_SHAPE = (1024, 128)  # tokens, channels
OUTLIER_CHANNELS = (7, 33, 64, 110)
GRANULARITIES: dict[str, Granularity] = {
    "per tensor": PerTensor(),
    "per token": PerToken(),
    "per channel": PerChannel(),
    "groups of 64": Group(64),
    "groups of 32": Group(32),
    "groups of 16": Group(16),
}
SCALE_RULES = ("absmax", "percentile", "mse", "1 (none)")
SCALE_FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "power of two": E8M0FNU}


@dataclass(frozen=True)
class HistogramData:
    """A tensor before and after. Arrays are flat float64 and equally long, except where said."""

    name: str
    fmt: ElementFormat
    granularity: str
    rule: str
    scale_format: str
    values: np.ndarray
    restored: np.ndarray
    counts: np.ndarray  # how often each code occurs, in the order of the codes' values
    code_values: np.ndarray  # what those codes stand for before the scale; as long as counts
    scale_range: tuple[float, float]
    sqnr_db: float
    median_relative_error: float
    saturated: float  # share of values whose code is the largest or smallest and whose error exceeds half its step
    bits_per_value: float

    @property
    def errors(self) -> np.ndarray:
        return self.restored - self.values

    @property
    def codes_total(self) -> int:
        """Codes that stand for a finite number."""
        return len(self.counts)

    @property
    def codes_used(self) -> int:
        return int((self.counts > 0).sum())

    @property
    def entropy_bits(self) -> float:
        """Shannon entropy of the codes, in bits per value."""
        shares = self.counts[self.counts > 0] / self.counts.sum()
        return float(-(shares * np.log2(shares)).sum()) + 0.0  # no -0.0

    @property
    def zeros(self) -> float:
        """Share of values that are not zero and became zero."""
        alive = self.values != 0
        return float((self.restored[alive] == 0).mean()) if alive.any() else 0.0


def sample(kind: str, strength: float = 20.0) -> torch.Tensor:
    """A float32 tensor [1024 tokens, 128 channels] to try things on, the same at every call.

    kind  "normal"; "heavy tail" (Student t with 3 degrees of freedom); "outlier channels" (normal, four channels
          `strength` times larger, as K often has)

    ValueError for another kind, or a strength that is not positive and finite.
    """
    if kind not in SAMPLES:
        raise ValueError(f"no sample is called {kind!r}; there are {', '.join(SAMPLES)}")
    if not 0 < strength < float("inf"):
        raise ValueError(f"strength is {strength}; it is a positive factor")
    return SAMPLES[kind](torch.Generator().manual_seed(0), strength)


def _normal(generator: torch.Generator, strength: float) -> torch.Tensor:
    return torch.randn(SAMPLE_SHAPE, generator=generator)


def _heavy_tail(generator: torch.Generator, strength: float) -> torch.Tensor:
    chi_squared = torch.randn((3, *SAMPLE_SHAPE), generator=generator).square().sum(0)
    return torch.randn(SAMPLE_SHAPE, generator=generator) / (chi_squared / 3).sqrt()


def _outlier_channels(generator: torch.Generator, strength: float) -> torch.Tensor:
    x = torch.randn(SAMPLE_SHAPE, generator=generator)
    x[:, list(OUTLIER_CHANNELS)] *= strength
    return x


SAMPLES: dict[str, Callable[[torch.Generator, float], torch.Tensor]] = {
    "normal": _normal,
    "heavy tail": _heavy_tail,
    "outlier channels": _outlier_channels,
}


def histogram_data(
    x: torch.Tensor,
    fmt: ElementFormat | str = "E4M3FN",
    granularity: str = "per tensor",
    rule: str = "absmax",
    scale_format: str = "float32",
    *,
    name: str = "x",
) -> HistogramData:
    """Quantize `x` and gather what happened.

    x             a float tensor without NaN or inf, its last axis the channels
    granularity   a key of GRANULARITIES; rule one of SCALE_RULES, "1 (none)" quantizes x as it is
    scale_format  a key of SCALE_FORMATS

    ValueError for an unknown name, an empty or too flat tensor; what `fp8lab.quantize.quantize` raises.
    """
    for given, known in ((granularity, GRANULARITIES), (rule, SCALE_RULES), (scale_format, SCALE_FORMATS)):
        if given not in known:
            raise ValueError(f"{given!r} is not one of {', '.join(known)}")
    fmt, x = element_format(fmt), torch.as_tensor(x).detach()
    if x.numel() == 0:
        raise ValueError("x is empty: give a tensor with values")
    if x.ndim < 2:
        x = x.reshape(1, -1)
    x = x.to("cpu", torch.float32)
    scale = torch.tensor(1.0) if rule == "1 (none)" else rule
    spread = PerTensor() if rule == "1 (none)" else GRANULARITIES[granularity]
    quantized = quantize(x, fmt, spread, scale, SCALE_FORMATS[scale_format])
    restored, codes = quantized.dequantize(), quantized.codes
    counts, code_values = _count(codes, fmt)
    scales = quantized.scales.flatten()
    return HistogramData(
        name=name,
        fmt=fmt,
        granularity="per tensor" if rule == "1 (none)" else granularity,
        rule=rule,
        scale_format=scale_format,
        values=x.flatten().double().numpy(),
        restored=restored.flatten().double().numpy(),
        counts=counts,
        code_values=code_values,
        scale_range=(float(scales.min()), float(scales.max())),
        sqnr_db=sqnr_db(x, restored),
        median_relative_error=relative_error(x, restored, quantiles=(0.5,)).quantiles[0.5],
        saturated=_saturated(x, restored, codes, fmt),
        bits_per_value=quantized.bits_per_value,
    )


def _count(codes: torch.Tensor, fmt: ElementFormat) -> tuple[np.ndarray, np.ndarray]:
    """How often each finite code occurs and what it stands for, in the order of values."""
    if isinstance(fmt, IntegerFormat):
        largest = int(fmt.max_finite)
        counts = torch.bincount((codes.flatten().long() + largest), minlength=2 * largest + 1)
        return counts.numpy(), np.arange(-largest, largest + 1, dtype=np.float64)
    order = list(value_order(fmt))
    counts = torch.bincount(codes.flatten().long(), minlength=fmt.codes)[order]
    values = decode_elements(torch.tensor(order, dtype=torch.uint8), fmt)
    return counts.numpy(), values.double().numpy()


def _saturated(x: torch.Tensor, restored: torch.Tensor, codes: torch.Tensor, fmt: ElementFormat) -> float:
    """Share of values that lie beyond what their scale can express."""
    at_the_end = decode_elements(codes, fmt).abs() == fmt.max_finite
    return float((at_the_end & (x.abs() > restored.abs() * (1 + 1e-6))).float().mean())
