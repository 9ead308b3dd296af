"""Quantize a tensor: a format, a granularity, a rule for the scales, a format for the scales.

    code  = nearest code to float32(x / scale), ties to even, saturating;   value = code x scale

x is taken in float32 (float64 is rounded to it first), the division is a true division, and the scale was rounded to
its storage format before. The same record serves an int8 cache per token, an FP8 cache per head, groups of 64 with
bfloat16 scales, MX and NVFP4 (`fp8lab.mx`). Results carry no gradient. Not here: zero points, and scales learned by
training.

    >>> import torch
    >>> kv = torch.tensor([[1.0, -3.0, 0.5, 448.0], [0.0, 0.0, 0.0, -0.25]])
    >>> q = quantize(kv, "int8", PerToken())
    >>> q.codes.tolist(), q.nbytes
    ([[0, -1, 0, 127], [0, 0, 0, -127]], 16)
"""

from __future__ import annotations

import torch

from fp8lab.elements import INT4, INT8, ElementFormat, IntegerFormat, code_dtype, element_format, encode_elements, pack
from fp8lab.formats import E4M3FN
from fp8lab.granularity import Granularity, Group, PerChannel, PerHead, PerTensor, PerToken, scale_shape, spread
from fp8lab.grouped import group_size_of_rows, quantize_rows
from fp8lab.quantized import QuantizedTensor
from fp8lab.quantizer_input import real_tensor, refuse_uncompiled
from fp8lab.rules import group_absmax, group_percentile, mse_scales, ocp_scales
from fp8lab.scales import (
    StorageFormat,
    check_scales,
    effective_scales,
    first_index,
    from_multiplier,
    largest_scale,
    storage_format,
    store,
    stored_dtype,
    to_multiplier,
)

__all__ = [
    "quantize",
    "QuantizedTensor",
    "PerTensor",
    "PerHead",
    "PerToken",
    "PerChannel",
    "Group",
    "IntegerFormat",
    "INT8",
    "INT4",
    "to_multiplier",
    "from_multiplier",
]

WHOLE_TENSOR = PerTensor()
RULES = ("absmax", "percentile", "mse", "ocp")
GRANULARITIES = (PerTensor, PerHead, PerToken, PerChannel, Group)


def quantize(
    x: torch.Tensor,
    fmt: ElementFormat | str = E4M3FN,
    granularity: Granularity = WHOLE_TENSOR,
    scale: str | torch.Tensor = "absmax",
    scale_format: StorageFormat | str = torch.float32,
    *,
    tensor_scale: None | str | torch.Tensor = None,
    percentile: float = 99.9,
    nonfinite: str = "raise",
    out: QuantizedTensor | None = None,
    compiled: bool = False,
) -> QuantizedTensor:
    """Codes and scales of x.

    x             float tensor of any shape, dtype, layout and device; its gradient history is left behind
    fmt           element format: a `FloatFormat`, "int8", "int4", or a format's name
    granularity   who shares a scale: `PerTensor()`, `PerHead(axis)`, `PerToken()`, `PerChannel()`, `Group(size, axis)`
    scale         "absmax", "percentile" (of |x|, see `percentile`), "mse", "ocp" (`fp8lab.rules`), or the scales
                  themselves: one for each group, in the shape of the scales or without its axes of length 1
    scale_format  how scales are stored: torch.float32, torch.bfloat16, E8M0FNU (rounded up), E4M3FN
    tensor_scale  with E4M3FN scales, one more float32 scale for the whole tensor: "absmax" or a positive number
    nonfinite     "raise": ValueError naming the first NaN, inf or value beyond float32. "propagate": the groups that
                  hold one get scale NaN and codes 0 and dequantize to NaN; other groups do not notice
    out           an earlier result of the same shape and formats whose memory is used again
    compiled      ask for compiled loops (absmax, 8-bit codes, scales along the last axis): the same bytes; needs a C++
                  compiler (on a GPU torch.compile), and a second or two for the first call; ValueError for others

    TypeError for what is no tensor of float16, bfloat16, float32 or float64. A float8 tensor holds codes already:
    see `QuantizedTensor.from_parts`.

    A group of zeros has scale 1 and dequantizes to exact zeros; every other scale is at least 2^-126 (2^-9 in
    E4M3FN) and small enough for code x scale to stay finite.

    >>> quantize(torch.zeros(2, 64), "E4M3FN", Group(64)).scales.tolist()
    [[1.0], [1.0]]
    """
    fmt, storage = element_format(fmt), storage_format(scale_format)
    x = real_tensor(x, "quantize")
    _check_arguments(granularity, scale, tensor_scale, percentile, nonfinite)
    shape, blocks = tuple(x.shape), granularity.blocks(tuple(x.shape))
    if tensor_scale is not None and storage != E4M3FN:
        raise ValueError(
            "tensor_scale widens the range of E4M3FN scales: use it with scale_format=E4M3FN, or leave it out"
        )
    size = group_size_of_rows(shape, blocks)
    fast = size and fmt.bits == 8 and isinstance(scale, str) and scale == "absmax" and tensor_scale is None
    if compiled:
        refuse_uncompiled(fmt, granularity, blocks, scale, storage, tensor_scale)
    made = (
        _room(shape, blocks, fmt, storage, x.device) if out is None else _checked_out(out, shape, blocks, fmt, storage)
    )
    if (
        fast
        and (compiled or x.device.type == "cpu")
        and quantize_rows(x, size, fmt, storage, made.payload, made.stored_scales, compiled)
    ):
        return made
    return _quantize_plain(x, made, scale, tensor_scale, percentile, nonfinite)


def _check_arguments(granularity, scale, tensor_scale, percentile, nonfinite) -> None:
    if not isinstance(granularity, GRANULARITIES):
        raise TypeError(f"granularity is e.g. PerTensor() or Group(64), got {granularity!r}")
    if isinstance(scale, str) and scale not in RULES:
        raise ValueError(
            f"no scale rule is called {scale!r}: known are {', '.join(RULES)}, or pass the scales as a tensor"
        )
    if isinstance(tensor_scale, str) and tensor_scale != "absmax":
        raise ValueError(f"tensor_scale is 'absmax', a positive number or None, got {tensor_scale!r}")
    if not 0 < percentile <= 100:
        raise ValueError(f"a percentile lies above 0 and up to 100, got {percentile}")
    if nonfinite not in ("raise", "propagate"):
        raise ValueError(f"nonfinite is 'raise' or 'propagate', got {nonfinite!r}")


def _room(shape, blocks, fmt, storage, device) -> QuantizedTensor:
    codes = torch.empty(shape, dtype=code_dtype(fmt), device=device) if fmt.bits == 8 else torch.empty(0, device=device)
    stored = torch.empty(scale_shape(shape, blocks), dtype=stored_dtype(storage), device=device)
    return QuantizedTensor(codes, stored, fmt, storage, blocks, shape)


def _checked_out(out: QuantizedTensor, shape, blocks, fmt, storage) -> QuantizedTensor:
    if not isinstance(out, QuantizedTensor):
        raise TypeError(f"out is an earlier QuantizedTensor or None, got a {type(out).__name__}")
    have = (out.shape, out.blocks, out.fmt, out.scale_format)
    if have != (shape, blocks, fmt, storage):
        raise ValueError(f"out was made for {have}, this call needs {(shape, blocks, fmt, storage)}")
    if not (out.payload.is_contiguous() and out.stored_scales.is_contiguous()):
        raise ValueError("out must hold contiguous memory: pass a result of quantize, not a view of one")
    return out


def _quantize_plain(
    x, made: QuantizedTensor, scale, tensor_scale, percentile: float, nonfinite: str
) -> QuantizedTensor:
    """Any layout, any rule: whole tensors at a time."""
    fmt, storage, blocks, shape = made.fmt, made.scale_format, made.blocks, made.shape
    qmax = float(fmt.max_finite)
    values = x.to(torch.float32)
    absmax = group_absmax(values, blocks)
    lost = ~absmax.isfinite()
    any_lost = bool(lost.any())
    if any_lost:
        if nonfinite == "raise":
            _refuse_nonfinite(x, values)
        values = torch.where(spread(lost, shape, blocks), 0.0, values)
        absmax = torch.where(lost, 0.0, absmax)
    unit = _tensor_scale(tensor_scale, absmax, storage, qmax)
    if isinstance(scale, str):
        wanted = _rule(scale, values, absmax, made, unit, percentile)
        stored = store(torch.where(absmax == 0, 1.0, wanted), storage, qmax)
    else:
        stored = store(_given_scales(scale, made, qmax), storage, qmax)
    scaled = values / spread(effective_scales(stored, storage, unit, qmax), shape, blocks)
    codes = pack(encode_elements(scaled.contiguous(), fmt), fmt)
    if any_lost:
        stored = torch.where(lost, store(torch.full_like(absmax, torch.nan), storage, qmax), stored)
    if made.payload.shape == codes.shape:
        codes = made.payload.copy_(codes)
    return QuantizedTensor(codes, made.stored_scales.copy_(stored), fmt, storage, blocks, shape, unit)


def _refuse_nonfinite(x: torch.Tensor, values: torch.Tensor) -> None:
    index = first_index(~values.isfinite())
    where, value = f"x[{', '.join(map(str, index))}]" if index else "x", x[index].item()
    if x[index].isfinite():
        raise ValueError(f"{where} is {value:g}, beyond float32 (3.4e38), in which quantize works: rescale the data")
    raise ValueError(f"{where} is {value}: clean the data, or pass nonfinite='propagate' to give up its group only")


def _tensor_scale(given, absmax: torch.Tensor, storage: StorageFormat, qmax: float) -> torch.Tensor | None:
    """float32 scale of the whole tensor. By absmax: the largest group scale lands on the largest storable one."""
    if given is None:
        return None
    if not isinstance(given, str):
        unit = torch.as_tensor(given, dtype=torch.float32, device=absmax.device).detach()
        if unit.numel() != 1:
            raise ValueError(f"tensor_scale is one number for the whole tensor, got shape {tuple(unit.shape)}")
        check_scales(unit, "tensor_scale")
        return unit.reshape(())
    peak = absmax.amax() if absmax.numel() else absmax.new_zeros(())
    unit = peak / (qmax * largest_scale(storage, qmax))
    return torch.where(peak == 0, 1.0, unit.clamp(min=2.0**-126))


def _rule(scale: str, values, absmax, made: QuantizedTensor, unit, percentile: float) -> torch.Tensor:
    """float32 scales, in units of the tensor scale, before they are rounded for storage."""
    qmax = float(made.fmt.max_finite)
    if scale == "mse":
        return mse_scales(values, made.blocks, absmax, made.fmt, made.scale_format, unit) if values.numel() else absmax
    if scale == "ocp":
        wanted = ocp_scales(absmax, made.fmt)
    elif scale == "percentile" and values.numel():
        wanted = group_percentile(values, made.blocks, absmax, percentile) / qmax
    else:
        wanted = absmax / qmax
    return wanted if unit is None else wanted / unit


def _given_scales(scale, made: QuantizedTensor, qmax: float) -> torch.Tensor:
    """Scales handed in, as float32 in the shape of the scales. ValueError when they do not fit or are no scales."""
    wanted = tuple(made.stored_scales.shape)
    given = torch.as_tensor(scale, device=made.device).detach().to(torch.float32)
    bare = tuple(n for n in wanted if n != 1)
    if tuple(given.shape) != wanted and tuple(n for n in given.shape if n != 1) != bare:
        raise ValueError(f"this granularity has scales of shape {wanted}, got {tuple(given.shape)}")
    check_scales(given)
    largest = largest_scale(torch.float32, qmax)
    if given.numel() and bool(given.max() > largest):
        raise ValueError(f"scale {given.max().item():g} x {qmax:g} overflows float32: scales go up to {largest:g} here")
    return given.reshape(wanted)
