"""The fast way for the common layout: groups along the last axis, as a KV cache has them.

Two things make the plain way slow: fresh memory (page faults cost more than the arithmetic) and walking over the whole
tensor once per operation. So the eager path takes rows a block at a time, small enough to stay in the cache of a core,
in buffers that are used again; the compiled path, which is asked for and never sprung on anybody, does all steps of a
group at once: in our own C++ loops on a CPU (`fp8lab.native`), under torch.compile elsewhere. Both give the same codes
and the same scales as the plain way, bit for bit: code = RNE(float32(x / scale)), a true division, by the stored scale.
"""

from __future__ import annotations

import torch

from fp8lab import native
from fp8lab.compiled import dequantize_compiled, quantize_compiled
from fp8lab.elements import ElementFormat, decode_elements, encode_elements
from fp8lab.scales import StorageFormat, load, store

BLOCK_VALUES = 1 << 19  # float32 values worked on at a time, 2 MiB: best of 2^14 to 2^22 (benchmarks/grouped.py)
ROUNDS_DOWN = 1 + 2.0**-7  # this much above the largest finite value still rounds to it, in all 8-bit formats


def group_size_of_rows(shape: tuple[int, ...], blocks: tuple[int, ...]) -> int:
    """Values per group when scales reach along the last axis only, else 0.

    >>> group_size_of_rows((8, 96), (1, 64)), group_size_of_rows((8, 96), (8, 1))
    (64, 0)
    """
    return blocks[-1] if shape and all(block == 1 for block in blocks[:-1]) and 0 not in shape else 0


def _parts(width: int, size: int) -> list[tuple[slice, slice, int]]:
    """(columns, groups, group length) of the full groups and of the short last one."""
    full = width // size
    parts = [(slice(0, full * size), slice(0, full), size)] if full else []
    return parts + ([(slice(full * size, width), slice(full, full + 1), width % size)] if width % size else [])


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
    width, plain = x.shape[-1], x.dtype == torch.float32
    x, codes, stored = x.reshape(-1, width), codes.view(-1, width), stored.view(-1, stored.shape[-1])
    if compiled and x.device.type == "cpu":
        return native.quantize(x.contiguous(), codes, stored, size, fmt, storage)
    rows = _rows_at_a_time(x, compiled and plain)
    buffer = (
        None if compiled and plain else torch.empty(min(rows, len(x)) * width, dtype=torch.float32, device=x.device)
    )
    for top in range(0, len(x), rows):
        here = slice(top, top + rows)
        for columns, groups, length in _parts(width, size):
            values = x[here, columns].unflatten(-1, (-1, length))  # [rows, groups, length]
            target, kept = codes[here, columns].unflatten(-1, (-1, length)), stored[here, groups]
            work = None if buffer is None else buffer[: values.numel()].view(values.shape)
            if compiled:
                wide = values if plain else work.copy_(values)
                finite = bool(quantize_compiled(wide, target, kept, fmt, storage).isfinite())
            else:
                finite = _quantize_block(values, target, kept, work, fmt, storage)
            if not finite:
                return False
    return True


def _rows_at_a_time(x: torch.Tensor, whole: bool) -> int:
    if whole or x.device.type != "cpu":
        return len(x)
    return max(1, BLOCK_VALUES * min(x.element_size(), 4) // (4 * x.shape[-1]))  # the buffer: small beside x


def _quantize_block(values, target, kept, work, fmt: ElementFormat, storage: StorageFormat) -> bool:
    """One block, [rows, groups, length], by way of one buffer of its shape that stays in the cache."""
    plain = values.dtype == torch.float32
    absmax = torch.abs(values, out=work).amax(-1) if plain else work.copy_(values).abs_().amax(-1)
    if not bool(absmax.amax().isfinite()):
        return False
    kept.copy_(scales_of_absmax(absmax, storage, float(fmt.max_finite)))
    divisor = load(kept, storage).unsqueeze(-1)
    inside = float((absmax / divisor.squeeze(-1)).amax()) <= fmt.max_finite * ROUNDS_DOWN
    scaled = torch.div(values, divisor, out=work) if plain else work.copy_(values).div_(divisor)
    encode_elements(scaled, fmt, out=target, inside=inside)
    return True


def dequantize_rows(
    codes: torch.Tensor, scales: torch.Tensor, size: int, fmt: ElementFormat, out: torch.Tensor, compiled: bool = False
) -> torch.Tensor:
    """Fill out [*, D], any float dtype, with code x scale, from codes [*, D] and float32 scales [*, groups]."""
    width, plain = codes.shape[-1], out.dtype == torch.float32
    codes, scales, values = codes.view(-1, width), scales.reshape(-1, scales.shape[-1]), out.view(-1, width)
    if compiled and out.device.type == "cpu":
        native.dequantize(codes, scales.contiguous(), values, size, fmt)
        return out
    rows = _rows_at_a_time(values, compiled and plain)
    buffer = None if plain else torch.empty(min(rows, len(codes)), width, dtype=torch.float32, device=codes.device)
    for top in range(0, len(codes), rows):
        here = slice(top, top + rows)
        work = values[here] if plain else buffer[: len(codes[here])]
        if not compiled:
            decode_elements(codes[here], fmt, out=work)
        for columns, groups, length in _parts(width, size):
            part, ruler = work[:, columns].unflatten(-1, (-1, length)), scales[here, groups]
            if compiled:
                dequantize_compiled(codes[here, columns].unflatten(-1, (-1, length)), ruler, part, fmt)
            else:
                part.mul_(ruler.unsqueeze(-1))
        if not plain:
            values[here] = work
    return out
