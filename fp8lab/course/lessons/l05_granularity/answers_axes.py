"""5.1 and 5.2: right and wrong, each a small change of the same lines."""

from __future__ import annotations

from collections.abc import Callable

import torch

from fp8lab.course.lessons.l05_granularity.driving_ruler import scale_of, stored

# ---- 5.1


def whole(kv: torch.Tensor) -> torch.Tensor:
    return kv.abs().amax((-3, -2, -1), keepdim=True)


def worst_median(relative: torch.Tensor) -> torch.Tensor:
    return relative.flatten(1).median(dim=1).values.max()


def reporting(absmax: Callable = whole, worst: Callable = worst_median) -> Callable:
    """one_scale with one part replaced."""

    def one_scale(kv, fmt="E4M3FN"):
        scale = scale_of(absmax(kv), fmt)
        relative = ((stored(kv, scale, fmt) - kv) / kv).abs()
        return scale, relative.median(), worst(relative)

    return one_scale


one_scale = reporting()
signed_absmax = reporting(lambda kv: kv.amax((-3, -2, -1), keepdim=True))
one_for_each_head = reporting(lambda kv: kv.abs().amax((-2, -1), keepdim=True))
one_for_each_channel = reporting(lambda kv: kv.abs().amax((-3, -2), keepdim=True))
first_head_only = reporting(lambda kv: kv[:1].abs().amax((-3, -2, -1), keepdim=True))
largest_error = reporting(worst=lambda relative: relative.max())
mean_over_heads = reporting(worst=lambda relative: relative.flatten(1).median(dim=1).values.mean())
median_over_heads = reporting(worst=lambda relative: relative.flatten(1).median(dim=1).values.median())
worst_mean = reporting(worst=lambda relative: relative.flatten(1).mean(dim=1).max())
worst_token = reporting(worst=lambda relative: relative.median(dim=-1).values.max())
smallest = reporting(worst=lambda relative: relative.flatten(1).median(dim=1).values.min())


def with_python_max(kv, fmt="E4M3FN"):
    """Right: scale without axes, a loop over the heads."""
    scale = scale_of(torch.maximum(kv.max(), -kv.min()), fmt)
    relative = (stored(kv, scale, fmt) - kv).abs() / kv.abs()
    return scale, relative.median(), max(head.median().item() for head in relative)


def by_fp8lab(kv, fmt="E4M3FN"):
    from fp8lab.metrics import relative_error
    from fp8lab.quantize import PerTensor, quantize

    made = quantize(kv, fmt, PerTensor())
    error = relative_error(kv, made.dequantize(), (0.5,), head_axis=0)
    return made.scales, error.quantiles[0.5], error.worst[0.5]


# ---- 5.2


def per_layer_and_head(cache: torch.Tensor, axis: int) -> torch.Tensor:
    return cache.abs().amax([a for a in range(1, cache.ndim) if a != axis])


def in_its_place(scales: torch.Tensor, cache: torch.Tensor, axis: int) -> torch.Tensor:
    shape = [1] * cache.ndim
    shape[0], shape[axis] = scales.shape
    return scales.reshape(shape)


def heading(absmax: Callable = per_layer_and_head, spread: Callable = in_its_place, used: Callable = lambda axis: axis):
    """per_head with one part replaced."""

    def per_head(cache, head_axis=-3):
        axis = used(head_axis) % cache.ndim
        scales = scale_of(absmax(cache, axis))
        return scales, stored(cache, spread(scales, cache, axis))

    return per_head


def alike(keep: Callable) -> Callable:
    """[layers, kv_heads] scales in which some are the same: the absmax is taken over more, then repeated."""

    def absmax(cache, axis):
        return keep(per_layer_and_head(cache, axis))

    return absmax


per_head = heading()
one_number_everywhere = heading(alike(lambda a: a.amax().expand(a.shape)))
one_per_layer = heading(alike(lambda a: a.amax(1, keepdim=True).expand(a.shape)))
one_per_head = heading(alike(lambda a: a.amax(0, keepdim=True).expand(a.shape)))
first_layer_for_all = heading(alike(lambda a: a[:1].expand(a.shape)))
signed_heads = heading(lambda cache, axis: cache.amax([a for a in range(1, cache.ndim) if a != axis]))
always_minus_three = heading(used=lambda axis: -3)
always_axis_minus_two = heading(used=lambda axis: -2)
heads_in_reverse = heading(spread=lambda scales, cache, axis: in_its_place(scales.flip(1), cache, axis))
layers_and_heads_swapped = heading(
    spread=lambda scales, cache, axis: in_its_place(scales.T.reshape(scales.shape), cache, axis)
)
first_layer_when_read = heading(
    spread=lambda scales, cache, axis: in_its_place(scales[:1].expand(scales.shape), cache, axis)
)


def first_sequence_only(cache, head_axis=-3):
    """Calibrated on the first entry of the axis after the layers, as if it were the batch."""
    axis = head_axis % cache.ndim
    seen = cache[:, :1] if cache.ndim == 5 else cache
    scales = scale_of(per_layer_and_head(seen, axis))
    return scales, stored(cache, in_its_place(scales, cache, axis))


def by_moving_axes(cache, head_axis=-3):
    """Right: the head axis goes to the second place, the rest is flattened."""
    moved = cache.movedim(head_axis, 1)
    scales = scale_of(moved.flatten(2).abs().amax(-1))
    restored = stored(moved, scales[(...,) + (None,) * (moved.ndim - 2)])
    return scales, restored.movedim(1, head_axis % cache.ndim)


def by_quantize(cache, head_axis=-3):
    from fp8lab.quantize import PerHead, quantize

    made = quantize(cache, "E4M3FN", PerHead((0, head_axis)))
    return made.scales.reshape(cache.shape[0], cache.shape[head_axis]), made.dequantize()
