"""encode and decode, compiled: the same bytes, several times faster on large tensors.

    >>> from fp8lab import codec_compiled
    >>> codec_compiled.encode(torch.tensor([256.0, 300.0, 1e9])).tolist()     # doctest: +SKIP
    [120, 121, 126]

Asked for by name and never used behind your back, because the first call per format and policy compiles for a second or
two and needs a C++ compiler: our own loops on a CPU (`fp8lab.native`), kept for the next process. On a GPU it is
torch.compile, which needs Triton. Worth it above some ten thousand elements, with `out=`: fresh memory costs more than
the work.

Left out, with an error that says so: float64 and the other rounding modes (`fp8lab.encode` has them), E8M0FNU codes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch

from fp8lab import native
from fp8lab.codec import check_options, refuse_inexpressible
from fp8lab.codec_arguments import codes_tensor, output_tensor, real_tensor
from fp8lab.compiling import compile_alone, run_compiled
from fp8lab.float_format import FloatFormat
from fp8lab.formats import E4M3FN, get_format
from fp8lab.rounding import decode_bits, encode_nearest, nearest_is_possible


def encode(x, fmt: FloatFormat | str = E4M3FN, *, overflow: str = "saturate", out: torch.Tensor | None = None):
    """`fp8lab.encode` with rounding to nearest even: float32, bfloat16 or float16 in, uint8 codes out.

    TypeError for float64, ValueError for a format that only `fp8lab.encode` handles, RuntimeError without a compiler.
    """
    fmt = get_format(fmt)
    check_options(fmt, overflow)
    if not nearest_is_possible(fmt):
        raise ValueError(f"{fmt.name} has no compiled encoder: use fp8lab.encode")
    x = real_tensor(x)
    if x.dtype == torch.float64:
        raise TypeError("the compiled encoder takes float32, bfloat16 and float16; fp8lab.encode rounds float64 once")
    codes = output_tensor(out, x.shape, torch.uint8, x)
    refuse_inexpressible(x, fmt)
    source = x.reshape(-1).contiguous()
    target = codes.view(-1) if codes.is_contiguous() else torch.empty_like(source, dtype=torch.uint8)
    if source.numel() and source.device.type == "cpu":
        native.encode(source, target, fmt, overflow)
    elif source.numel():
        run_compiled(fused_encoder(fmt, overflow), source, target)
    return codes if codes.is_contiguous() else codes.copy_(target.view(x.shape))


def decode(codes, fmt: FloatFormat | str = E4M3FN, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """`fp8lab.decode`. RuntimeError without a compiler; ValueError for a format whose values reach below float32's
    normal range, other than E8M0FNU (no registered one does)."""
    fmt = get_format(fmt)
    if fmt.min_exponent < (-126 if fmt.has_zero else -127):
        raise ValueError(f"{fmt.name} has no compiled decoder: use fp8lab.decode")
    codes = codes_tensor(codes, fmt)
    values = output_tensor(out, codes.shape, torch.float32, codes)
    source = codes.reshape(-1).contiguous()
    target = values.view(-1) if values.is_contiguous() else torch.empty_like(source, dtype=torch.float32)
    if source.numel() and source.device.type == "cpu":
        native.decode(source, target, fmt)
    elif source.numel():
        run_compiled(fused_decoder(fmt), source, target)
    return values if values.is_contiguous() else values.copy_(target.view(codes.shape))


@cache
def fused_encoder(fmt: FloatFormat, overflow: str) -> Callable:
    """The eager arithmetic under torch.compile, (source, uint8 target), for `run_compiled`: any device."""

    def encoder(source, target):
        target.copy_(encode_nearest(source.float(), fmt, overflow))

    return compile_alone(encoder)


@cache
def fused_decoder(fmt: FloatFormat) -> Callable:
    """(uint8 source, float32 target), as above."""

    def decoder(source, target):
        target.copy_(decode_bits(source, fmt))

    return compile_alone(decoder)
