"""How 5.1 to 5.4 are exercised: one scale, one per head, one per token, one per channel."""

from __future__ import annotations

from typing import Any

import torch

from fp8lab.codec import encode
from fp8lab.course.lessons.l05_granularity.driving_ruler import scale_of

Inputs = dict[str, Any]
HEADS = (1.0, 1e-3, 30.0, 1e-5)  # heads of one layer whose sizes differ: the case that a median does not show


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def sized(seed: int, *shape: int, axis: int = 0, sizes: tuple[float, ...] = HEADS) -> torch.Tensor:
    """Normal numbers whose indices of `axis` differ in size; which is which depends on the seed."""
    order = torch.randperm(len(sizes), generator=torch.Generator().manual_seed(seed + 99))
    factors = torch.tensor(sizes)[order].repeat(-(-shape[axis] // len(sizes)))[: shape[axis]]
    return normal(seed, *shape) * factors.reshape([-1 if i == axis % len(shape) else 1 for i in range(len(shape))])


def plain(value: Any) -> Any:
    """A tensor as it is, anything else described: a list of numbers is no scale."""
    return value if isinstance(value, torch.Tensor) else f"<{type(value).__name__}>"


# ---- 5.1 one scale, and how to report it


def tensor_inputs(seed: int) -> Inputs:
    """An odd number of values in each head, so that a median is one of them."""
    small = torch.tensor([[[448.0, 17.0, 19.0]], [[1.0, 0.3, -0.7]]])
    negative = normal(seed + 2, 3, 5, 7)
    negative[1, 2, 3] = -20.0
    return {
        "cases": {
            "two heads of one token": (small, "E4M3FN"),
            "four heads, sizes 1, 1e-3, 30, 1e-5": (sized(seed, 4, 15, 31), "E4M3FN"),
            "the same in int8": (sized(seed, 4, 15, 31), "int8"),
            "largest value negative": (negative, "E4M3FN"),
            "three equal heads": (normal(seed + 3, 3, 11, 9), "int8"),
        }
    }


def drive_tensor(answer: Any, inputs: Inputs) -> Inputs:
    arrays: Inputs = {}
    for name, (kv, fmt) in inputs["cases"].items():
        given = kv.clone()
        scale, median, worst = answer(given, fmt)
        arrays[f"scale, {name}"] = scale.reshape(-1) if isinstance(scale, torch.Tensor) else scale
        arrays[f"median, {name}"] = median
        arrays[f"worst, {name}"] = worst
        arrays[f"input unchanged, {name}"] = torch.equal(kv, given)
    return arrays


# ---- 5.2 one scale per layer and head


def head_inputs(seed: int) -> Inputs:
    """Caches in several layouts; in the last one a wrong axis has the right length."""
    layers, batch = torch.tensor([1.0, 5.0]).reshape(2, 1, 1, 1, 1), _heads(seed, (2, 2, 4, 5, 6), 2)
    return {
        "cases": {
            "[layers, kv_heads, tokens, head_dim], head_axis 1": (_heads(seed, (2, 3, 4, 6), 1), 1),
            "[layers, batch, kv_heads, tokens, head_dim], head_axis -3": (layers * batch, -3),
            "[layers, tokens, kv_heads, head_dim], head_axis -2": (_heads(seed + 1, (3, 7, 4, 6), 2), -2),
            "kv_heads = tokens, head_axis -2": (_heads(seed + 2, (2, 4, 4, 6), 2), -2),
        }
    }


def _heads(seed: int, shape: tuple[int, ...], axis: int) -> torch.Tensor:
    """Another order of sizes in every layer; the largest value of the whole is negative."""
    cache = torch.stack([sized(seed + 7 * layer, *shape[1:], axis=axis - 1) for layer in range(shape[0])])
    peak = cache.abs().flatten().argmax()
    cache.view(-1)[peak] = -1.5 * cache.view(-1)[peak].abs()
    return cache


def drive_heads(answer: Any, inputs: Inputs) -> Inputs:
    arrays: Inputs = {}
    for name, (cache, axis) in inputs["cases"].items():
        scales, restored = answer(cache.clone(), axis)
        arrays[f"scales, {name}"] = plain(scales)
        arrays[f"restored, {name}"] = plain(restored)
    return arrays


# ---- 5.3 one more token


ARRIVALS = {  # name -> tokens in the cache, size of the new one
    "the first token": (0, 1.0),
    "a second token": (1, 1.0),
    "10 times larger": (4, 10.0),
    "a sink, ×5000": (3, 5e3),
    "1000 times smaller": (2, 1e-3),
}


def token_inputs(seed: int) -> Inputs:
    """(codes, scales, token): caches of 0, 1 and 4 tokens; the new token is smaller, equal, or far larger."""
    cases = {}
    for number, (name, (tokens, factor)) in enumerate(ARRIVALS.items()):
        kv = sized(seed + 10 * number, 4, tokens + 1, 6, sizes=(1.0, 0.02, 7.0, 100.0))
        kv[:, -1] *= factor
        scales = scale_of(kv[:, :-1].abs().amax(-1, keepdim=True)) if tokens else torch.empty(4, 0, 1)
        cases[name] = (encode(kv[:, :-1] / scales), scales, kv[:, -1])
    zero = torch.cat([normal(seed + 77, 2, 5), torch.zeros(1, 5)])
    cases["one head all zeros"] = (torch.empty(3, 0, 5, dtype=torch.uint8), torch.empty(3, 0, 1), zero)
    return {"cases": cases}


def drive_tokens(answer: Any, inputs: Inputs) -> Inputs:
    arrays: Inputs = {}
    for name, (codes, scales, token) in inputs["cases"].items():
        given = codes.clone(), scales.clone(), token.clone()
        more_codes, more_scales = answer(*given)
        kept = all(torch.equal(a, b) for a, b in zip(given, (codes, scales, token), strict=True))
        arrays[f"scales, {name}"] = plain(more_scales)
        arrays[f"codes, {name}"] = bytes_only(more_codes)
        arrays[f"inputs unchanged, {name}"] = kept
    return arrays


def bytes_only(codes: Any) -> Any:
    """uint8 codes with one zero (0x80 and 0x00 are one number); else what they are instead."""
    if not isinstance(codes, torch.Tensor):
        return f"<{type(codes).__name__}>"
    return torch.where(codes == 0x80, 0, codes.int()) if codes.dtype == torch.uint8 else f"<tensor of {codes.dtype}>"


# ---- 5.4 one scale per channel


def channel_inputs(seed: int) -> Inputs:
    """K [kv_heads, tokens, head_dim] with outlier channels, whole groups of tokens and groups that are not full yet."""
    loud = sized(seed, 2, 8, 5, axis=2, sizes=(1.0, 20.0, 0.1, 300.0, 3.0))
    ragged = sized(seed + 1, 2, 11, 6, axis=2, sizes=(1.0, 20.0, 0.1)) * torch.tensor([1.0, 50.0]).reshape(2, 1, 1)
    square = sized(seed + 2, 2, 4, 4, axis=2) + torch.tensor([0.0, 0.0, 0.0, 300.0])
    return {
        "cases": {
            "8 tokens in groups of 4": (loud, 4, "int8"),
            "11 tokens in groups of 4: 3 wait": (ragged, 4, "int8"),
            "4 tokens, 4 channels, one group": (-square, 4, "E4M3FN"),
            "3 tokens in groups of 4: all wait": (normal(seed + 3, 2, 3, 5), 4, "int8"),
            "6 tokens in groups of 2, int4": (loud[:, :6], 2, "int4"),
        }
    }


def drive_channels(answer: Any, inputs: Inputs) -> Inputs:
    arrays: Inputs = {}
    for name, (k, size, fmt) in inputs["cases"].items():
        scales, restored = answer(k.clone(), size, fmt)
        arrays[f"scales, {name}"] = plain(scales)
        arrays[f"restored, {name}"] = plain(restored)
    return arrays
