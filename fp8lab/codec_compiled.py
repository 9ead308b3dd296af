"""encode and decode through torch.compile: the same bytes, several times faster on large tensors.

    >>> from fp8lab import codec_compiled
    >>> codec_compiled.encode(torch.tensor([256.0, 300.0, 1e9])).tolist()     # doctest: +SKIP
    [120, 121, 126]

Asked for by name and never used behind your back, because the first call per format and policy compiles for some
seconds and needs a C++ compiler (on a GPU: Triton). Worth it above some hundred thousand elements, with `out=`: fresh
memory costs more than the work. Another size does not compile again; another torch.set_num_threads does.

Left out, with an error that says so: float64 and the other rounding modes (`fp8lab.encode` has them), E8M0FNU.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch

from fp8lab.codec import check_options, refuse_inexpressible
from fp8lab.codec_arguments import codes_tensor, output_tensor, real_tensor
from fp8lab.compiling import compile_alone, run_compiled
from fp8lab.float_format import FloatFormat
from fp8lab.formats import E4M3FN, get_format
from fp8lab.rounding import decode_bits, encode_nearest, nearest_is_possible

_WIDEN_BLOCK = 1 << 18  # elements of 16 bits per thread, widened to float32 before the compiled loop


def encode(x, fmt: FloatFormat | str = E4M3FN, *, overflow: str = "saturate", out: torch.Tensor | None = None):
    """`fp8lab.encode` with rounding to nearest even: float32, bfloat16 or float16 in, uint8 codes out.

    16-bit input is widened block by block first: the compiler turns it into one element at a time otherwise.
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
    source, encoder = x.reshape(-1), _encoder(fmt, overflow)
    target = codes.view(-1) if codes.is_contiguous() else torch.empty_like(source, dtype=torch.uint8)
    if not source.numel():
        return codes
    if x.dtype == torch.float32 or x.device.type != "cpu":
        run_compiled(encoder, source.float(), target)
    else:
        wide = torch.empty(min(len(source), _WIDEN_BLOCK * torch.get_num_threads()))
        for start in range(0, len(source), len(wide)):
            block, codes_here = source[start : start + len(wide)], target[start : start + len(wide)]
            run_compiled(encoder, wide[: len(block)].copy_(block), codes_here)
    return codes if codes.is_contiguous() else codes.copy_(target.view(x.shape))


def decode(codes, fmt: FloatFormat | str = E4M3FN, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """`fp8lab.decode`, for every format. RuntimeError without a compiler."""
    fmt = get_format(fmt)
    codes = codes_tensor(codes, fmt)
    values = output_tensor(out, codes.shape, torch.float32, codes)
    source = codes.reshape(-1)
    target = values.view(-1) if values.is_contiguous() else torch.empty_like(source, dtype=torch.float32)
    if source.numel():
        run_compiled(_decoder(fmt), source, target)
    return values if values.is_contiguous() else values.copy_(target.view(codes.shape))


@cache
def _encoder(fmt: FloatFormat, overflow: str) -> Callable:
    def encoder(source, target):
        target.copy_(encode_nearest(source, fmt, overflow))

    return compile_alone(encoder)


@cache
def _decoder(fmt: FloatFormat) -> Callable:
    def decoder(source, target):
        target.copy_(decode_bits(source, fmt))

    return compile_alone(decoder)
