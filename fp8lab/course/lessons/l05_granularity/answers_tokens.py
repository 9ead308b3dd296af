"""5.3: right and wrong, each a small change of the same lines."""

from __future__ import annotations

from collections.abc import Callable

import torch

from fp8lab.codec import decode, encode
from fp8lab.course.lessons.l05_granularity.driving_ruler import QMAX, scale_of


def own_vector(token: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    return scale_of(token.abs().amax(-1, keepdim=True))


def append_last(cache: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    return torch.cat([cache, new.unsqueeze(1)], dim=1)


def appending(
    make: Callable = own_vector,
    write: Callable = lambda token, scale: encode(token / scale),
    join: Callable = append_last,
    keep: Callable = lambda scale: scale,
) -> Callable:
    """append_token with one part replaced."""

    def append_token(codes, scales, token):
        scale = make(token, scales)  # [kv_heads, 1]
        return join(codes, write(token, scale)), join(scales, keep(scale))

    return append_token


def frozen(token: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    return scales[:, 0] if scales.shape[1] else own_vector(token, scales)


def last_scale(token: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    return scales[:, -1] if scales.shape[1] else own_vector(token, scales)


append_token = appending()
one_for_all_heads = appending(lambda token, scales: scale_of(token.abs().amax()).expand(len(token), 1))
first_scale_for_ever = appending(frozen)
scale_of_the_token_before = appending(last_scale)
never_smaller = appending(lambda token, scales: torch.cat([scales, own_vector(token, scales)[:, None]], 1).amax(1))
signed_absmax = appending(lambda token, scales: scale_of(token.amax(-1, keepdim=True)))
scale_one = appending(lambda token, scales: torch.ones(len(token), 1))
absmax_kept = appending(keep=lambda scale: scale * QMAX)
multiplied = appending(write=lambda token, scale: encode(token * scale))
truncated = appending(write=lambda token, scale: encode(token / scale, rounding="toward_zero"))
put_in_front = appending(join=lambda cache, new: torch.cat([new.unsqueeze(1), cache], dim=1))
scale_in_half = appending(lambda token, scales: own_vector(token, scales).half().float())


def everything_again(codes, scales, token):
    """One scale per head that grows: the old codes are written again under the new scale."""
    before = decode(codes) * scales  # [kv_heads, tokens, head_dim]
    values = append_last(before, token)
    own = scale_of(values.abs().amax((-2, -1), keepdim=True))  # [kv_heads, 1, 1]
    return encode(values / own), own.expand(-1, values.shape[1], 1)


def only_the_codes(codes, scales, token):
    """The scale of the new token is not kept: the last one stands in for it when it is read."""
    scale = own_vector(token, scales)
    kept = scales[:, -1:] if scales.shape[1] else torch.ones(len(token), 1, 1)
    return append_last(codes, encode(token / scale)), torch.cat([scales, kept], 1)


def with_room(codes, scales, token):
    """Right: room for one more token, then its place is filled."""
    heads, tokens, head_dim = codes.shape
    more_codes = torch.zeros(heads, tokens + 1, head_dim, dtype=torch.uint8)
    more_scales = torch.zeros(heads, tokens + 1, 1)
    more_codes[:, :-1], more_scales[:, :-1] = codes, scales
    for head in range(heads):
        scale = scale_of(token[head].abs().max())
        more_codes[head, -1], more_scales[head, -1] = encode(token[head] / scale), scale
    return more_codes, more_scales


def by_quantize(codes, scales, token):
    from fp8lab.quantize import PerToken, quantize

    made = quantize(token.unsqueeze(1), "E4M3FN", PerToken())
    return torch.cat([codes, made.codes], 1), torch.cat([scales, made.scales], 1)
