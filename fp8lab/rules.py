"""Scale rules: from the values of a group to the scale that its codes will be multiplied by, before it is rounded
for storage.

    absmax       absmax / qmax: nothing clips, the largest value lands on the largest code
    percentile   the p-th percentile of |x| / qmax: values above it clip (nearest rank: the value is one of the
                 group's own)
    mse          the best of 49 scales around absmax / qmax, a sixteenth of an octave apart, by squared error
    ocp          2^(floor(log2 absmax) - emax), the OCP MX v1.0 rule (section 6.3): the largest value can clip (32 x
                 957 -> 896)

All rules work on float32 and stay inside its range: no square, no product of two large values.
"""

from __future__ import annotations

import math

import torch

from fp8lab.elements import ElementFormat, IntegerFormat, decode_elements, encode_elements
from fp8lab.granularity import group_values, scale_shape
from fp8lab.scales import StorageFormat, effective_scales, largest_scale, store

FLOAT32_BIAS, FLOAT32_MANTISSA_BITS = 127, 23  # IEEE 754 binary32
# Above absmax / qmax a scale clips nothing but can put the values on luckier codes (E2M1FN: absmax on 4 rather than
# on 6).
MSE_RATIOS = sorted((2.0 ** (step / 16) for step in range(-32, 17)), key=lambda ratio: abs(math.log2(ratio)))


def group_absmax(x: torch.Tensor, blocks: tuple[int, ...]) -> torch.Tensor:
    """Largest |x| of each group, NaN where the group holds one. Shape: that of the scales.

    >>> group_absmax(torch.tensor([[1.0, -3.0, 2.0]]), (1, 2)).tolist()
    [[3.0, 2.0]]
    """
    counts = scale_shape(tuple(x.shape), blocks)
    if x.numel() == 0:
        return x.new_zeros(counts)
    magnitude = x.abs()
    if all(block in (1, n) for n, block in zip(x.shape, blocks)):
        shared = [i for i, block in enumerate(blocks) if block > 1]
        return magnitude.amax(dim=shared, keepdim=True) if shared else magnitude
    return group_values(magnitude, blocks, fill=0.0).amax(-1)


def group_percentile(x: torch.Tensor, blocks: tuple[int, ...], absmax: torch.Tensor, percentile: float) -> torch.Tensor:
    """The |x| of rank ceil(percentile / 100 x count) in each group; absmax where that is 0 but the group is not.

    >>> x = torch.tensor([[1.0, -2.0, 3.0, 100.0]])
    >>> group_percentile(x, (1, 4), torch.tensor([[100.0]]), 75).tolist()
    [[3.0]]
    """
    grouped = group_values(x.abs(), blocks, fill=-1.0).sort(-1).values  # fillers first
    fillers = (grouped < 0).sum(-1, keepdim=True)
    counts = grouped.shape[-1] - fillers
    rank = (counts * (percentile / 100)).ceil().to(torch.int64).clamp(min=1)
    clip = grouped.gather(-1, fillers + rank - 1).squeeze(-1)
    return torch.where(clip > 0, clip, absmax)


def mse_scales(
    x: torch.Tensor,
    blocks: tuple[int, ...],
    absmax: torch.Tensor,
    fmt: ElementFormat,
    storage: StorageFormat,
    unit: torch.Tensor | None,
) -> torch.Tensor:
    """For each group the scale, among `MSE_RATIOS` x absmax / qmax, whose rounded and stored form gives the least
    squared error.

    Ties go to the ratio nearest to 1. `unit` is the float32 scale of the whole tensor, when there is one; the result
    is in its units.
    """
    qmax = float(fmt.max_finite)
    grouped = group_values(x, blocks, fill=0.0)  # zeros are exact at every scale
    base = absmax / qmax if unit is None else absmax / qmax / unit
    store(base, storage, qmax)  # refuses what does not fit, which the clamp below would hide
    best = torch.full_like(absmax, torch.inf)
    chosen = base.clone()
    for ratio in MSE_RATIOS:
        candidate = (base * ratio).clamp(max=largest_scale(storage, qmax))
        rounded = effective_scales(store(candidate, storage, qmax), storage, unit, qmax)
        scaled = grouped / rounded.unsqueeze(-1)
        miss = scaled - decode_elements(encode_elements(scaled, fmt), fmt)
        error = miss.square().sum(-1) * (rounded / absmax).square()  # relative to absmax: squares stay in range
        better = error < best
        chosen = torch.where(better, candidate, chosen)
        best = torch.where(better, error, best)
    return chosen


def ocp_scales(absmax: torch.Tensor, fmt: ElementFormat) -> torch.Tensor:
    """2^(floor(log2 absmax) - emax) with the exponent taken by frexp: log2 in float32 errs just below powers of two.

    >>> from fp8lab.formats import E4M3FN
    >>> ocp_scales(torch.tensor([957.0, 31.999998]), E4M3FN).tolist()
    [2.0, 0.0625]
    """
    if isinstance(fmt, IntegerFormat):
        raise ValueError(f"the OCP rule is written for float element formats, not {fmt.name}: use scale='absmax'")
    emax = math.frexp(fmt.max_finite)[1] - 1
    exponent = torch.frexp(absmax).exponent - 1 - emax
    biased = (exponent + FLOAT32_BIAS).clamp(1, 2 * FLOAT32_BIAS)  # below 2^-126 the floor of the scales takes over
    return (biased.to(torch.int32) << FLOAT32_MANTISSA_BITS).view(torch.float32)
