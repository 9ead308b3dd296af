"""4.8 to 4.10: groups without a loop, groups in real E4M3FN, and what the scales cost."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.functional import pad

from fp8lab.codec import decode, encode
from fp8lab.course.lessons.l04_grouped_kv.answers_sim import FP8KVCacheSim
from fp8lab.formats import E4M3FN, E4M3FNUZ, E5M2

# ---- 4.8


def zeros_after(values: torch.Tensor, size: int) -> torch.Tensor:
    """[..., D] -> [..., groups, size]."""
    return pad(values, (0, -values.shape[-1] % size)).unflatten(-1, (-1, size))


def own_absmax(groups: torch.Tensor) -> torch.Tensor:
    return groups.abs().amax(-1, keepdim=True)


def at_once(
    split: Callable = zeros_after,
    measure: Callable = own_absmax,
    rounding: Callable = torch.round,
    floor: Callable = lambda absmax, eps: absmax.clamp(min=eps),
    used: Callable = lambda scales: scales,
    head: Callable = lambda codes, width: codes[..., :width],
    prepare: Callable = lambda kv: kv.detach().float(),
) -> Callable:
    """quantize_groups with one part replaced."""

    def quantize_groups(kv, group_size=64, qmax=127, eps=1e-8):
        values = prepare(kv)
        groups = split(values, group_size)
        scales = qmax / floor(measure(groups), eps)
        codes = rounding(groups * used(scales)).clamp(-qmax, qmax).to(torch.int8)
        return head(codes.flatten(-2), values.shape[-1]), scales.squeeze(-1)

    return quantize_groups


def repeated(values: torch.Tensor, size: int) -> torch.Tensor:
    """The tail filled up with the row's own beginning, as a wrapped index would."""
    missing = -values.shape[-1] % size
    if missing:
        beginning = values.repeat_interleave(1, 0)[..., torch.arange(missing) % values.shape[-1]]
        values = torch.cat([values, beginning], dim=-1)
    return values.unflatten(-1, (-1, size))


def garbage_after(values: torch.Tensor, size: int) -> torch.Tensor:
    """What a buffer of the padded size holds when nobody has written to its end."""
    padded = values.new_full((*values.shape[:-1], values.shape[-1] + -values.shape[-1] % size), 1e4)
    padded[..., : values.shape[-1]] = values
    return padded.unflatten(-1, (-1, size))


def shifted(groups: torch.Tensor) -> torch.Tensor:
    return groups.roll(1, dims=-2).abs().amax(-1, keepdim=True)


def tail_dropped(kv, group_size=64, qmax=127, eps=1e-8):
    full = kv.shape[-1] // group_size * group_size
    codes, scales = quantize_groups(kv[..., :full], group_size, qmax, eps)
    return pad(codes, (0, kv.shape[-1] - full)), scales


def over_the_row_end(kv, group_size=64, qmax=127, eps=1e-8):
    """Groups of the flattened tensor: where a row is no multiple of the group, a group straddles two rows."""
    flat = kv.detach().float().reshape(1, -1)
    codes, scales = quantize_groups(flat, group_size, qmax, eps)
    return codes.reshape(kv.shape), scales.flatten()


def along_the_tokens(kv, group_size=64, qmax=127, eps=1e-8):
    codes, scales = quantize_groups(kv.transpose(-1, -2), group_size, qmax, eps)
    return codes.transpose(-1, -2), scales.transpose(-1, -2)


def with_input_changed(kv, group_size=64, qmax=127, eps=1e-8):
    codes, scales = quantize_groups(kv, group_size, qmax, eps)
    kv.detach().mul_(scales.repeat_interleave(group_size, -1)[..., : kv.shape[-1]])  # x *= scale
    return codes, scales


def group_by_group(kv, group_size=64, qmax=127, eps=1e-8):
    """The double loop."""
    return FP8KVCacheSim(qmax, group_size, eps).quantize_kv_cache(kv)


def column_by_column(kv, group_size=64, qmax=127, eps=1e-8):
    """One loop is left: over the groups of a row."""
    parts = []
    for start in range(0, kv.shape[-1], group_size):
        parts.append(quantize_groups(kv[..., start : start + group_size], group_size, qmax, eps))
    return tuple(torch.cat(made, -1) for made in zip(*parts, strict=True))


quantize_groups = at_once()
padded_with_garbage = at_once(garbage_after)
padded_with_the_beginning = at_once(repeated)
signed_absmax = at_once(measure=lambda groups: groups.amax(-1, keepdim=True))
one_scale_per_row = at_once(measure=lambda g: g.abs().amax((-1, -2), keepdim=True).expand(*g.shape[:-1], 1))
one_scale_per_tensor = at_once(measure=lambda g: g.abs().max().expand(*g.shape[:-1], 1) if g.numel() else own_absmax(g))
neighbours_scale = at_once(used=lambda scales: scales.roll(1, dims=-2))
truncated = at_once(rounding=torch.trunc)
eps_on_top = at_once(floor=lambda absmax, eps: absmax + eps)
in_half_precision = at_once(prepare=lambda kv: kv.detach())


def by_repeating(kv, group_size=64, qmax=127, eps=1e-8):
    """Right: scales spread over the row instead of a row folded into groups."""
    values = kv.detach().to(torch.float32)
    absmax = own_absmax(zeros_after(values, group_size)).squeeze(-1)
    scales = qmax / absmax.clamp(min=eps)
    spread = scales.repeat_interleave(group_size, dim=-1)[..., : values.shape[-1]]
    return torch.round(values * spread).clamp(-qmax, qmax).to(torch.int8), scales


def by_fp8lab(kv, group_size=64, qmax=127, eps=1e-8):
    from fp8lab.sim import FP8KVCacheSim as Vectorised

    return Vectorised(qmax, group_size, eps).quantize_kv_cache(kv)


# ---- 4.9

QMAX = 448.0


def real_fp8(
    qmax: float = QMAX,
    store: Callable = lambda scaled: encode(scaled),
    read: Callable = lambda codes: decode(codes),
    back: Callable = lambda values, scales: values / scales,
    make: Callable = lambda qmax, absmax: qmax / absmax,
) -> Callable:
    """grouped_fp8 with one part replaced."""

    def grouped_fp8(kv, group_size=64, eps=1e-8):
        groups = zeros_after(kv.detach().float(), group_size)
        scales = make(qmax, groups.abs().amax(-1, keepdim=True).clamp(min=eps))
        codes = store(groups * scales)
        restored = back(read(codes), scales)
        width = kv.shape[-1]
        return codes.flatten(-2)[..., :width], scales.squeeze(-1), restored.flatten(-2)[..., :width]

    return grouped_fp8


grouped_fp8 = real_fp8()
qmax_127 = real_fp8(127.0)
qmax_240 = real_fp8(240.0)
qmax_480 = real_fp8(480.0)
whole_numbers_only = real_fp8(store=lambda scaled: encode(scaled.round()))
cast_to_uint8 = real_fp8(store=lambda s: s.round().to(torch.int16).to(torch.uint8), read=lambda c: c.float())
codes_taken_for_values = real_fp8(read=lambda codes: codes.float())
multiplied_back = real_fp8(back=lambda values, scales: values * scales)
read_as_fnuz = real_fp8(read=lambda codes: decode(codes, E4M3FNUZ))
in_e5m2 = real_fp8(store=lambda s: encode(s, E5M2), read=lambda c: decode(c, E5M2))
truncating = real_fp8(store=lambda scaled: encode(scaled, rounding="toward_zero"))


def by_torch(kv, group_size=64, eps=1e-8):
    """Right: torch's cast after an explicit clamp, its bytes viewed."""
    groups = zeros_after(kv.detach().float(), group_size)
    scales = QMAX / groups.abs().amax(-1, keepdim=True).clamp(min=eps)
    stored = (groups * scales).clamp(-QMAX, QMAX).to(torch.float8_e4m3fn)
    restored = (stored.float() / scales).flatten(-2)[..., : kv.shape[-1]]
    return stored.view(torch.uint8).flatten(-2)[..., : kv.shape[-1]], scales.squeeze(-1), restored


def by_table(kv, group_size=64, eps=1e-8):
    codes, scales, _ = grouped_fp8(kv, group_size, eps)
    table = decode(torch.arange(256, dtype=torch.uint8), E4M3FN)
    spread = scales.repeat_interleave(group_size, -1)[..., : kv.shape[-1]]
    return codes, scales, table[codes.long()] / spread


# ---- 4.10


def counted(row_bytes: Callable, saves: Callable = lambda cost, plain: cost < plain) -> Callable:
    """ledger with its count of bytes, or what counts as saving, replaced."""

    def ledger(head_dim, group_size, code_bits=8, scale_bytes=4):
        def cost(size):
            return row_bytes(head_dim, size, code_bits, scale_bytes)

        plain = 2 * head_dim
        smallest = next((size for size in range(1, head_dim + 1) if saves(cost(size), plain)), None)
        return cost(group_size), plain / cost(group_size), smallest

    return ledger


def groups(head_dim: int, size: int) -> int:
    return -(-head_dim // size)


ledger = counted(lambda d, size, bits, wide: -(-d * bits // 8) + groups(d, size) * wide)
scales_forgotten = counted(lambda d, size, bits, wide: -(-d * bits // 8))
tail_scale_forgotten = counted(lambda d, size, bits, wide: -(-d * bits // 8) + d // size * wide)
scale_for_each_value = counted(lambda d, size, bits, wide: -(-d * bits // 8) + d * wide)
one_scale = counted(lambda d, size, bits, wide: -(-d * bits // 8) + wide)
bits_for_bytes = counted(lambda d, size, bits, wide: d * bits + groups(d, size) * wide)
a_byte_per_code = counted(lambda d, size, bits, wide: d + groups(d, size) * wide)
half_bytes = counted(lambda d, size, bits, wide: d * bits // 8 + groups(d, size) * wide)
equal_counts = counted(
    lambda d, size, bits, wide: -(-d * bits // 8) + groups(d, size) * wide, lambda cost, plain: cost <= plain
)
full_tail = counted(lambda d, size, bits, wide: -(-groups(d, size) * size * bits // 8) + groups(d, size) * wide)


def by_math(head_dim, group_size, code_bits=8, scale_bytes=4):
    import math

    def cost(size):
        return math.ceil(head_dim * code_bits / 8) + math.ceil(head_dim / size) * scale_bytes

    for size in range(1, head_dim + 1):
        if cost(size) < 2 * head_dim:
            return cost(group_size), 2 * head_dim / cost(group_size), size
    return cost(group_size), 2 * head_dim / cost(group_size), None
