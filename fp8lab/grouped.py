"""The fast way for the common layout: groups along the last axis, as a KV cache has them.

Two things make the plain way slow: fresh memory (page faults cost more than the arithmetic) and walking over the whole
tensor once per operation. So the eager path takes rows a block at a time, small enough to stay in the cache of a core,
in buffers that are used again; the compiled path, which is asked for and never sprung on anybody, lets torch.compile
fuse the steps. Both give the same codes and the same scales as the plain way, bit for bit:
code = RNE(float32(x / scale)), a true division, by the stored scale.
"""

from __future__ import annotations

import torch

from fp8lab.compiled import dequantize_compiled, quantize_compiled
from fp8lab.elements import ElementFormat, decode_elements, encode_elements
from fp8lab.scales import StorageFormat, load, store

BLOCK_VALUES = 1 << 19  # float32 values worked on at a time: 2 MiB, the size that measured best from 2^15 to 2^21


def group_size_of_rows(shape: tuple[int, ...], blocks: tuple[int, ...]) -> int:
    """Values per group when scales reach along the last axis only, else 0.

    >>> group_size_of_rows((8, 96), (1, 64)), group_size_of_rows((8, 96), (8, 1))
    (64, 0)
    """
    return blocks[-1] if shape and all(block == 1 for block in blocks[:-1]) and 0 not in shape else 0


def _parts(width: int, size: int) -> list[tuple[int, int, int, int]]:
    """Columns of the full groups and of the short last one: (first column, columns, first group, group size)."""
    full = width // size
    parts = [(0, full * size, 0, size)] if full else []
    return parts + ([(full * size, width - full * size, full, width % size)] if width % size else [])


def scales_of_absmax(absmax: torch.Tensor, storage: StorageFormat, qmax: float) -> torch.Tensor:
    """Stored absmax / qmax; 1 for a group of zeros.

    >>> scales_of_absmax(torch.tensor([0.0, 896.0]), torch.float32, 448.0).tolist()
    [1.0, 2.0]
    """
    return store(torch.where(absmax == 0, 1.0, absmax / qmax), storage, qmax)


def quantize_rows(
    x: torch.Tensor,
    size: int,
    fmt: ElementFormat,
    storage: StorageFormat,
    codes: torch.Tensor,
    stored: torch.Tensor,
    compiled: bool = False,
) -> bool:
    """Fill codes [*, D] and stored scales [*, groups] from x [*, D] by the absmax rule. x may be any float dtype.

    False, with the work unfinished, when a group holds NaN or inf (or a value beyond float32).
    """
    width = x.shape[-1]
    x, codes, stored = x.reshape(-1, width), codes.view(-1, width), stored.view(-1, stored.shape[-1])
    rows = len(x) if compiled else max(1, BLOCK_VALUES // width)
    buffer = None if compiled else torch.empty(min(rows, len(x)) * width, dtype=torch.float32, device=x.device)
    for top in range(0, len(x), rows):
        here = slice(top, top + rows)
        for column, columns, group, length in _parts(width, size):
            values = x[here, column : column + columns].unflatten(-1, (-1, length))  # [rows, groups, length]
            target = codes[here, column : column + columns].unflatten(-1, (-1, length))
            kept = stored[here, group : group + columns // length]
            if compiled:
                finite = bool(quantize_compiled(values, target, kept, fmt, storage).amax().isfinite())
            else:
                finite = _quantize_block(values, target, kept, buffer, fmt, storage)
            if not finite:
                return False
    return True


def _quantize_block(values, target, kept, buffer, fmt: ElementFormat, storage: StorageFormat) -> bool:
    """One block, [rows, groups, length], through one buffer that stays in the cache."""
    work = buffer[: values.numel()].view(values.shape)
    plain = values.dtype == torch.float32
    absmax = torch.abs(values, out=work).amax(-1) if plain else work.copy_(values).abs_().amax(-1)
    if not bool(absmax.amax().isfinite()):
        return False
    kept.copy_(scales_of_absmax(absmax, storage, float(fmt.max_finite)))
    divisor = load(kept, storage).unsqueeze(-1)
    scaled = torch.div(values, divisor, out=work) if plain else work.copy_(values).div_(divisor)
    if target.is_contiguous():
        encode_elements(scaled, fmt, out=target)
    else:
        target.copy_(encode_elements(scaled, fmt))
    return True


def dequantize_rows(
    codes: torch.Tensor, scales: torch.Tensor, size: int, fmt: ElementFormat, out: torch.Tensor, compiled: bool = False
) -> torch.Tensor:
    """Fill out [*, D] with code x scale, from codes [*, D] and float32 scales [*, groups]. out may be any float
    dtype."""
    width = codes.shape[-1]
    codes, scales, values = codes.view(-1, width), scales.reshape(-1, scales.shape[-1]), out.view(-1, width)
    rows = len(codes) if compiled else max(1, BLOCK_VALUES // width)
    direct = compiled or out.dtype == torch.float32
    buffer = None if direct else torch.empty(min(rows, len(codes)), width, dtype=torch.float32, device=codes.device)
    for top in range(0, len(codes), rows):
        here = slice(top, top + rows)
        work = values[here] if direct else buffer[: len(codes[here])]
        if not compiled:
            decode_elements(codes[here], fmt, out=work)
        for column, columns, group, length in _parts(width, size):
            part = work[:, column : column + columns].unflatten(-1, (-1, length))
            ruler = scales[here, group : group + columns // length]
            if compiled:
                dequantize_compiled(
                    codes[here, column : column + columns].unflatten(-1, (-1, length)), ruler, part, fmt
                )
            else:
                part.mul_(ruler.unsqueeze(-1))
        if not direct:
            values[here] = work
    return out
