"""5.4: right and wrong, each a small change of the same lines."""

from __future__ import annotations

from collections.abc import Callable

import torch

from fp8lab.course.lessons.l05_granularity.driving_ruler import scale_of, stored


def own_channel(groups: torch.Tensor) -> torch.Tensor:
    return groups.abs().amax(-2)


def shared_over(axis: int) -> Callable:
    """Scales in their usual shape, but all along `axis` the same."""

    def absmax(groups):
        own = own_channel(groups)
        return own.amax(axis, keepdim=True).expand(own.shape) if own.numel() else own

    return absmax


def wait(k: torch.Tensor, full: int, scales: torch.Tensor, fmt: str) -> torch.Tensor:
    return k[:, full:]


def by_channel(absmax: Callable = own_channel, rest: Callable = wait, used: Callable = lambda scales: scales):
    """per_channel with one part replaced."""

    def per_channel(k, size=32, fmt="int8"):
        full = k.shape[1] // size * size
        groups = k[:, :full].unflatten(1, (full // size, size))
        scales = scale_of(absmax(groups), fmt)
        restored = stored(groups, used(scales).unsqueeze(-2), fmt).flatten(1, 2)
        return scales, torch.cat([restored, rest(k, full, scales, fmt)], dim=1)

    return per_channel


def under_the_last(k, full, scales, fmt):
    """The tokens that wait are stored under the scales of the last full group, or their own when there is none."""
    late = k[:, full:]
    last = scales[:, -1:] if scales.shape[1] else scale_of(late.abs().amax(1, keepdim=True), fmt)
    return stored(late, last, fmt)


per_channel = by_channel()
over_the_channels = by_channel(shared_over(-1))
over_the_heads = by_channel(shared_over(0))
over_all_groups = by_channel(shared_over(1))
signed_channels = by_channel(lambda groups: groups.amax(-2))
first_token_only = by_channel(lambda groups: groups[:, :, 0].abs())
tail_dropped = by_channel(rest=lambda k, full, scales, fmt: torch.zeros_like(k[:, full:]))
tail_under_the_last_scale = by_channel(rest=under_the_last)
group_before = by_channel(used=lambda scales: scales.roll(1, dims=1))


def one_scale_per_token(k, size=32, fmt="int8"):
    scales = scale_of(k.abs().amax(-1, keepdim=True), fmt)
    return scales, stored(k, scales, fmt)


def every_size_th_token(k, size=32, fmt="int8"):
    """The axes of `unflatten` the wrong way round: tokens 0, n, 2n, … share a scale instead of neighbours."""
    count = k.shape[1] // size
    groups = k[:, : count * size].unflatten(1, (size, count)).transpose(1, 2)
    scales = scale_of(own_channel(groups), fmt)
    restored = stored(groups, scales.unsqueeze(-2), fmt).transpose(1, 2).flatten(1, 2)
    return scales, torch.cat([restored, k[:, count * size :]], dim=1)


def short_group_too(k, size=32, fmt="int8"):
    """The last tokens get a short group of their own."""
    scales, restored = per_channel(k, size, fmt)
    late = k[:, k.shape[1] // size * size :]
    if not late.shape[1]:
        return scales, restored
    own = scale_of(late.abs().amax(1, keepdim=True), fmt)
    return torch.cat([scales, own], 1), torch.cat([restored[:, : -late.shape[1]], stored(late, own, fmt)], 1)


def by_loop(k, size=32, fmt="int8"):
    """Right: group after group."""
    scales, parts, start = [], [], 0
    while start + size <= k.shape[1]:
        group = k[:, start : start + size]
        own = scale_of(group.abs().amax(1, keepdim=True), fmt)
        scales.append(own)
        parts.append(stored(group, own, fmt))
        start += size
    empty = k.new_empty(k.shape[0], 0, k.shape[2])
    return torch.cat([*scales, empty], 1), torch.cat([*parts, k[:, start:]], 1)


def by_group(k, size=32, fmt="int8"):
    from fp8lab.quantize import Group, quantize

    full = k.shape[1] // size * size
    if not full:
        return k.new_empty(k.shape[0], 0, k.shape[2]), k
    made = quantize(k[:, :full], fmt, Group(size, axis=-2))
    return made.scales, torch.cat([made.dequantize(), k[:, full:]], 1)
