"""4.1 to 4.7: the class with the readable double loop, right, and with one part of it replaced."""

from __future__ import annotations

from collections.abc import Callable

import torch

INT8_MAX = 127


def finite(x: torch.Tensor) -> torch.Tensor:
    values = x.detach().float()
    if not bool(values.isfinite().all()):
        raise ValueError("the input holds NaN, inf or values beyond float32: no scale fits them")
    return values


class FP8KVCacheSim(torch.nn.Module):
    """As in the lesson; what a hole decides in the middle of a method is a method here, to be replaced."""

    def __init__(self, fp8_qmax: int = INT8_MAX, kv_group_size: int = 64, eps: float = 1e-8) -> None:
        super().__init__()
        if not 1 <= fp8_qmax <= INT8_MAX:
            raise ValueError(f"fp8_qmax is {fp8_qmax}; an int8 container holds 1..{INT8_MAX} on both sides of zero")
        if kv_group_size <= 0 or not eps > 0:
            raise ValueError(f"kv_group_size {kv_group_size} is at least 1, eps {eps} is above 0")
        self.fp8_qmax, self.kv_group_size, self.eps = fp8_qmax, kv_group_size, eps
        self.fp8_shape = self.kv_shape = None
        for name, dtype in (("fp8_q", torch.int8), ("kv_q", torch.int8)):
            self.register_buffer(name, torch.empty(0, dtype=dtype), persistent=False)
        for name in ("fp8_scale", "kv_scale"):
            self.register_buffer(name, torch.empty(0), persistent=False)

    def absmax_of(self, values):
        return values.abs().max()

    def scale_for(self, absmax):
        return self.fp8_qmax / absmax.clamp(min=self.eps)

    def codes_of(self, values, scale):
        return (values * scale).round().clamp(-self.fp8_qmax, self.fp8_qmax).to(torch.int8)

    def shape_of(self, x, codes, scale):
        return tuple(x.shape)

    def groups_in(self, kv):
        return -(-kv.shape[-1] // self.kv_group_size)

    def restore_group(self, restored, codes, scales, r, g):
        start, stop = g * self.kv_group_size, (g + 1) * self.kv_group_size
        restored[r, start:stop] = codes[r, start:stop].float() / scales[r, g]

    def quantize_fp8(self, x):
        values = finite(x).flatten()
        absmax = self.absmax_of(values) if values.numel() else values.new_zeros(())
        scale = self.scale_for(absmax)
        codes = self.codes_of(values, scale)
        self.fp8_shape = self.shape_of(x, codes, scale)
        self.fp8_q, self.fp8_scale = codes.view_as(x), scale
        return self.fp8_q, self.fp8_scale

    def dequantize_fp8(self):
        if self.fp8_shape is None:
            raise RuntimeError("nothing to dequantize: call quantize_fp8(x) first")
        return (self.fp8_q.float() / self.fp8_scale).reshape(self.fp8_shape)

    def measured(self, rows, r, group):
        """The values that a group's scale is made from: its own."""
        return group

    def quantize_kv_cache(self, kv):
        if kv.ndim < 2:
            raise ValueError(f"a KV tensor has at least 2 axes, [..., tokens, head_dim], got shape {tuple(kv.shape)}")
        rows, size = finite(kv).flatten(0, -2), self.kv_group_size
        n_groups = self.groups_in(kv)
        codes, scales = torch.zeros_like(rows, dtype=torch.int8), rows.new_zeros(len(rows), n_groups)
        for r, row in enumerate(rows):
            for g in range(n_groups):
                group = row[g * size : (g + 1) * size]
                scales[r, g] = self.scale_for(self.absmax_of(self.measured(rows, r, group)))
                codes[r, g * size : (g + 1) * size] = self.codes_of(group, scales[r, g])
        self.kv_q, self.kv_scale = codes.view_as(kv), scales.reshape(*kv.shape[:-1], n_groups)
        self.kv_shape = tuple(kv.shape)
        return self.kv_q, self.kv_scale

    def dequantize_kv_cache(self):
        if self.kv_shape is None:
            raise RuntimeError("nothing to dequantize: call quantize_kv_cache(kv) first")
        codes, scales = self.kv_q.flatten(0, -2), self.kv_scale.flatten(0, -2)
        restored = torch.zeros_like(codes, dtype=torch.float32)
        for r in range(codes.shape[0]):
            for g in range(scales.shape[1]):
                self.restore_group(restored, codes, scales, r, g)
        return restored.reshape(self.kv_shape)

    def mse(self, original, restored):
        if original.shape != restored.shape:
            raise ValueError(f"shapes differ: original {tuple(original.shape)}, restored {tuple(restored.shape)}")
        return self.error(original, restored)

    def error(self, original, restored):
        return (original.float() - restored.float()).square().mean()


def build(**parts: Callable) -> type:
    """The class with some of its methods replaced."""
    return type("FP8KVCacheSim", (FP8KVCacheSim,), parts)


# ---- 4.1


def abs_in_place(self, values):
    return values.abs_().max()


signed_max = build(absmax_of=lambda self, v: v.max())
abs_of_max = build(absmax_of=lambda self, v: v.max().abs())
peak_to_peak = build(absmax_of=lambda self, v: v.max() - v.min())
mean_size = build(absmax_of=lambda self, v: v.abs().mean())
row_maxima = build(absmax_of=lambda self, v: v.abs().amax(-1))
eps_on_top = build(absmax_of=lambda self, v: v.abs().max() + self.eps)
absmax_in_place = build(absmax_of=abs_in_place)
plain_number = build(absmax_of=lambda self, v: v.abs().max().item())
by_both_ends = build(absmax_of=lambda self, v: torch.maximum(v.max(), -v.min()))
by_norm = build(absmax_of=lambda self, v: torch.linalg.vector_norm(v, ord=float("inf")))
clamped_already = build(absmax_of=lambda self, v: v.abs().amax().clamp(min=self.eps))

# ---- 4.2

inverse = build(scale_for=lambda self, a: a.clamp(min=self.eps) / self.fp8_qmax)
eps_added = build(scale_for=lambda self, a: self.fp8_qmax / (a + self.eps))
without_eps = build(scale_for=lambda self, a: self.fp8_qmax / a)
qmax_128 = build(scale_for=lambda self, a: 128 / a.clamp(min=self.eps))
qmax_100 = build(scale_for=lambda self, a: 100 / a.clamp(min=self.eps))
qmax_448 = build(scale_for=lambda self, a: 448 / a.clamp(min=self.eps))
always_127 = build(scale_for=lambda self, a: 127 / a.clamp(min=self.eps))
two_sided = build(scale_for=lambda self, a: (2 * self.fp8_qmax + 1) / a.clamp(min=self.eps))
eps_on_the_scale = build(scale_for=lambda self, a: (self.fp8_qmax / a).clamp(min=self.eps))
scale_by_number = build(scale_for=lambda self, a: torch.tensor(self.fp8_qmax / max(float(a), self.eps)))
scale_by_reciprocal = build(scale_for=lambda self, a: a.clamp(min=self.eps).reciprocal() * self.fp8_qmax)

# ---- 4.3


def codes_by(rounding: Callable, low: int | None = None, high: int | None = None, cast=torch.int8) -> type:
    """Round by another rule, clamp to other ends, cast to another dtype."""

    def codes_of(self, values, scale):
        ends = -self.fp8_qmax if low is None else low, self.fp8_qmax if high is None else high
        return rounding(values * scale).clamp(*ends).to(cast)

    return build(codes_of=codes_of)


def scaled_in_place(self, values, scale):
    return values.mul_(scale).round().clamp(-self.fp8_qmax, self.fp8_qmax).to(torch.int8)


truncate = codes_by(torch.trunc)
floor = codes_by(torch.floor)
half_up = codes_by(lambda v: torch.floor(v + 0.5))
half_away = codes_by(lambda v: torch.trunc(v + 0.5 * torch.sign(v)))
to_minus_128 = codes_by(torch.round, -128, 127)
ends_of_int8 = codes_by(torch.round, -127, 127)
unsigned = codes_by(torch.round, 0)
float_codes = codes_by(torch.round, cast=torch.float32)
wrapped = build(codes_of=lambda self, v, s: (v * s).round().to(torch.int8))
divided = build(codes_of=lambda self, v, s: (v / s).round().clamp(-self.fp8_qmax, self.fp8_qmax).to(torch.int8))
codes_in_place = build(codes_of=scaled_in_place)
clamped_first = build(codes_of=lambda self, v, s: torch.round(torch.clamp(s * v, -self.fp8_qmax, self.fp8_qmax)).char())

# ---- 4.4

shape_of_codes = build(shape_of=lambda self, x, codes, scale: tuple(codes.shape))
shape_of_scale = build(shape_of=lambda self, x, codes, scale: tuple(scale.shape))
shape_without_last = build(shape_of=lambda self, x, codes, scale: tuple(x.shape[:-1]))
shape_as_matrix = build(shape_of=lambda self, x, codes, scale: (-1, x.shape[-1] if x.ndim else 1))
shape_reversed = build(shape_of=lambda self, x, codes, scale: tuple(x.shape)[::-1])
shape_as_size = build(shape_of=lambda self, x, codes, scale: x.size())

# ---- 4.5

floored_groups = build(groups_in=lambda self, kv: kv.shape[-1] // self.kv_group_size)
one_group_more = build(groups_in=lambda self, kv: kv.shape[-1] // self.kv_group_size + 1)
one_group = build(groups_in=lambda self, kv: 1)
rounded_groups = build(groups_in=lambda self, kv: max(1, round(kv.shape[-1] / self.kv_group_size)))
group_size_as_number = build(groups_in=lambda self, kv: self.kv_group_size)
groups_of_the_tokens = build(groups_in=lambda self, kv: -(-kv.shape[-2] // self.kv_group_size))
fractional_groups = build(groups_in=lambda self, kv: kv.shape[-1] / self.kv_group_size)
scale_of_the_row = build(measured=lambda self, rows, r, group: rows[r])
scale_of_the_tensor = build(measured=lambda self, rows, r, group: rows)
groups_by_range = build(groups_in=lambda self, kv: len(range(0, kv.shape[-1], self.kv_group_size)))

# ---- 4.6


def restored_with(pick: Callable, part: Callable = lambda codes, scale: codes.float() / scale, tail=True) -> type:
    """Restore with another scale, by another formula, or only where a group is full."""

    def restore_group(self, restored, codes, scales, r, g):
        start, stop = g * self.kv_group_size, (g + 1) * self.kv_group_size
        if tail or stop <= codes.shape[1]:
            restored[r, start:stop] = part(codes[r, start:stop], pick(scales, r, g))

    return build(restore_group=restore_group)


def own(scales, r, g):
    return scales[r, g]


multiplied_back = restored_with(own, lambda codes, scale: codes.float() * scale)
scale_of_the_group_before = restored_with(lambda scales, r, g: scales[r, g - 1])
scale_of_the_next_group = restored_with(lambda scales, r, g: scales[r, min(g + 1, scales.shape[1] - 1)])
first_scale_of_the_row = restored_with(lambda scales, r, g: scales[r, 0])
first_scale_of_all = restored_with(lambda scales, r, g: scales[0, 0])
scale_of_the_first_row = restored_with(lambda scales, r, g: scales[0, g])
tail_forgotten = restored_with(own, tail=False)
codes_as_they_are = restored_with(own, lambda codes, scale: codes.float())
whole_numbers = restored_with(own, lambda codes, scale: (codes.float() / scale).round())
by_reciprocal = restored_with(own, lambda codes, scale: codes * (1 / scale))

# ---- 4.7

mse_zero = build(error=lambda self, x, y: torch.zeros(()))
mean_absolute = build(error=lambda self, x, y: (x.float() - y.float()).abs().mean())
summed = build(error=lambda self, x, y: (x.float() - y.float()).square().sum())
rooted = build(error=lambda self, x, y: (x.float() - y.float()).square().mean().sqrt())
square_of_mean = build(error=lambda self, x, y: (x.float() - y.float()).mean().square())
per_row = build(error=lambda self, x, y: (x.float() - y.float()).square().mean(-1))
on_codes = build(error=lambda self, x, y: (x.float() - self.kv_q.float()).square().mean())
on_hidden_codes = build(error=lambda self, x, y: (x.float() - self.fp8_q.float()).square().mean())
in_half = build(error=lambda self, x, y: (x - y).square().mean())
by_library = build(error=lambda self, x, y: torch.nn.functional.mse_loss(y.double(), x.double()))
