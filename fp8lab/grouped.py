"""The fast way for the common layout: groups along the last axis, as a KV cache has them.

Two things make the plain way slow: fresh memory (page faults cost more than the arithmetic) and walking over the whole
tensor once per operation. So the eager path takes rows a block at a time, small enough to stay in the cache of a core,
in buffers that are used again; the compiled path, which is asked for and never sprung on anybody, does all steps of a
group at once: in our own C++ loops on a CPU (`fp8lab.native`), under torch.compile elsewhere. Both give the same codes
and the same scales as the plain way, bit for bit: code = RNE(float32(x / scale)), a true division, by the stored scale.
"""

from __future__ import annotations

import math

import torch

from fp8lab import native
from fp8lab.compiled import dequantize_compiled, quantize_compiled
from fp8lab.elements import ElementFormat, decode_elements, encode_elements
from fp8lab.formats import E4M3FN
from fp8lab.scales import StorageFormat, largest_scale, load, store

BLOCK_VALUES = 1 << 18  # float32 values worked on at a time by a thread, 1 MiB: more saves no time, fewer cost calls
FEW_VALUES = 1 << 15  # a smaller block would be slower, and save no memory worth speaking of


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

    False, with nothing of use written, when a group holds NaN or inf (or a value beyond float32).
    """
    width, plain = x.shape[-1], x.dtype == torch.float32
    x, codes, stored = x.reshape(-1, width), codes.view(-1, width), stored.view(-1, stored.shape[-1])
    if compiled and x.device.type == "cpu":
        return native.quantize(x.contiguous(), codes, stored, size, fmt, storage)
    qmax = float(fmt.max_finite)
    # A scale that is not capped is at most 2^-8 too small: below this, everything rounds to max_finite or less.
    inside = qmax * largest_scale(storage, qmax) if storage != E4M3FN else 0.0
    rows = _rows_at_a_time(x, compiled and plain)
    room = 0 if compiled and plain else min(rows, len(x)) * width
    buffer = torch.empty(room, dtype=torch.float32, device=x.device)
    for columns, groups, length in _parts(width, size):
        values, target = (t[:, columns].unflatten(-1, (-1, length)).split(rows) for t in (x, codes))
        work = None if not room else buffer[: values[0].numel()].view(values[0].shape)
        for block, block_codes, kept in zip(values, target, stored[:, groups].split(rows)):
            here = work if block is not values[-1] or work is None else work[: len(block)]
            if compiled:
                wide = block if plain else here.copy_(block)
                finite = bool(quantize_compiled(wide, block_codes, kept, fmt, storage).isfinite())
            else:
                finite = _quantize_block(block, block_codes, kept, here, fmt, storage, qmax, inside)
            if not finite:
                return False
    return True


def _rows_at_a_time(x: torch.Tensor, whole: bool) -> int:
    if whole or x.device.type != "cpu":
        return len(x)
    little = max(x.nbytes // 128, FEW_VALUES)  # float32 values that take 1/32 of the memory of x
    return max(1, min(BLOCK_VALUES * torch.get_num_threads(), little) // x.shape[-1])


def _quantize_block(values, target, kept, work, fmt: ElementFormat, storage, qmax: float, inside: float) -> bool:
    """One block, [rows, groups, length], by way of one buffer of its shape that stays in the cache."""
    plain = values.dtype == torch.float32
    absmax = (torch.abs(values, out=work) if plain else work.copy_(values).abs_()).amax(-1)
    smallest, largest = (bound.item() for bound in absmax.aminmax())
    if not math.isfinite(largest):
        return False
    kept.copy_(scales_of_absmax(absmax, storage, qmax) if smallest == 0 else store(absmax / qmax, storage, qmax))
    divisor = load(kept, storage).unsqueeze(-1)
    scaled = torch.div(values, divisor, out=work) if plain else work.copy_(values).div_(divisor)
    encode_elements(scaled, fmt, out=target, inside=largest <= inside)
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
