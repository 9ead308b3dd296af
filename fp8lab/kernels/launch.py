"""Launchers: quantize and dequantize in groups, and write K and V into a paged cache.

Each checks what it is given, runs the kernel where it can and the torch path where it cannot, and returns the same
bytes either way. Kernels round by integer bits on every card; native=True asks for the FP8 instructions of a GPU
from sm_89 on, which give the same bytes, and is refused where there are none. It is never chosen by itself.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from fp8lab.formats import E4M3FN, E8M0FNU, FloatFormat
from fp8lab.granularity import Group, scale_shape
from fp8lab.kernels.arguments import (
    FLOATS,
    float_tensor,
    integer_tensor,
    kernel_format,
    kernel_scale_format,
    on_one_device,
    strided_tensor,
    whole_number,
)
from fp8lab.kernels.available import current_device_of, kernels_run_on, refuse_native_elsewhere
from fp8lab.kernels.kvcache import KVCache
from fp8lab.quantize import quantize
from fp8lab.quantized import QuantizedTensor
from fp8lab.scales import largest_scale, stored_dtype

# Values in one group, which a kernel never cuts in two; torch takes wider ones.
# Compiled: what the 128 threads of a program hold without spilling, in sizes that are multiples of 8 (the tests read
# it from the compiler's report); four times as many take the compiler half a minute.
WIDEST_COMPILED = 1 << 14
WIDEST_INTERPRETED = 1 << 20  # Triton's largest tile (TRITON_MAX_TENSOR_NUMEL)


def quantize_group(
    x: torch.Tensor,
    group_size: int,
    fmt: FloatFormat | str = E4M3FN,
    scale_format: torch.dtype | FloatFormat | str = torch.float32,
    *,
    native: bool = False,
) -> QuantizedTensor:
    """Quantize along the last axis in groups with absmax scales: what `fp8lab.quantize(x, fmt, Group(group_size))`
    gives, in one pass.

    x            [..., width] float32, bfloat16 or float16; any strides
    fmt          E4M3FN or E5M2
    scale_format torch.float32 or E8M0FNU (rounded up to a power of two)
    native       by the FP8 instructions of the GPU that holds x, sm_89 or newer

    A group with NaN or infinity becomes NaN and no other does: the kernel does not stop a GPU to look. A group of more
    values than a program can hold (2^14) is left to torch. TypeError or ValueError for other dtypes and formats, and
    for native=True where there are no such instructions, or the group is too wide for them.

    >>> quantize_group(torch.tensor([[1.0, 448.0, 0.0]]), 2).codes.tolist()
    [[56, 126, 0]]
    """
    x = float_tensor("x", x)
    if x.ndim == 0:
        raise ValueError("x has no axis to take groups along; given a 0-d tensor: use x.reshape(1)")
    group_size = whole_number("group_size", group_size)
    fmt, storage = kernel_format(fmt), kernel_scale_format(scale_format)
    refuse_native_elsewhere(native, x.device)
    if not _runs_in_one_tile(x, min(group_size, x.shape[-1]), native) or x.numel() == 0:
        return quantize(x, fmt, Group(group_size), scale_format=storage, nonfinite="propagate")
    return _launch_quantize(x, group_size, fmt, storage, native)


def _launch_quantize(x, group_size: int, fmt: FloatFormat, storage, native: bool) -> QuantizedTensor:
    import triton

    from fp8lab.kernels.bits import INTERPRETED, format_bits
    from fp8lab.kernels.group import quantize_kernel, tile_shape

    width = x.shape[-1]
    rows = x.reshape(-1, width)  # a copy only when the strides of the leading axes do not collapse into one
    rows = rows if rows.stride(1) == 1 else rows.contiguous()
    size = min(group_size, width)
    per_row = triton.cdiv(width, size)
    total = len(rows) * per_row
    codes = torch.empty(x.shape, dtype=torch.uint8, device=x.device)
    scales = torch.empty(*x.shape[:-1], per_row, dtype=stored_dtype(storage), device=x.device)
    groups, block = tile_shape(size, total, INTERPRETED)
    even = width % block == 0 and size == block and rows.stride(0) == width
    with current_device_of(x):
        quantize_kernel[(triton.cdiv(total, groups),)](
            rows, codes, scales, width, per_row, total, rows.stride(0),
            GROUP=size, GROUPS=groups, BLOCK=block, EVEN=even, **format_bits(fmt)._asdict(), QMAX=fmt.max_finite,
            LARGEST=largest_scale(storage, fmt.max_finite), E8M0=storage == E8M0FNU, NATIVE=native,
        )  # fmt: skip
    return QuantizedTensor(codes, scales, fmt, storage, Group(group_size).blocks(tuple(x.shape)), tuple(x.shape))


def dequantize_group(q: QuantizedTensor, dtype: torch.dtype = torch.float32, *, native: bool = False) -> torch.Tensor:
    """code x scale in float32, then rounded to float32, bfloat16 or float16: the values of `q.dequantize(dtype)`.

    ValueError when `q` is not what `quantize_group` makes (other formats, groups on other axes, a tensor scale), and
    for native=True (see `quantize_group`) where it cannot be had; TypeError for what is no QuantizedTensor.

    >>> dequantize_group(quantize_group(torch.tensor([[1.0, 448.0]]), 2)).tolist()
    [[1.0, 448.0]]
    """
    q = _checked_groups(q)
    if dtype not in FLOATS:
        raise TypeError(f"dequantize_group writes float32, bfloat16 or float16; given {dtype}")
    refuse_native_elsewhere(native, q.device)
    if not q.shape or 0 in q.shape or not _runs_in_one_tile(q.payload, q.blocks[-1], native):
        return q.dequantize(dtype)
    import triton

    from fp8lab.kernels.bits import INTERPRETED, format_bits
    from fp8lab.kernels.group import dequantize_kernel, tile_shape

    bits = format_bits(q.fmt)._asdict()
    del bits["NAN_CODE"]
    width, size, per_row = q.shape[-1], q.blocks[-1], q.stored_scales.shape[-1]
    total = q.stored_scales.numel()
    out = torch.empty(q.shape, dtype=dtype, device=q.device)
    groups, block = tile_shape(size, total, INTERPRETED)
    with current_device_of(out):
        dequantize_kernel[(triton.cdiv(total, groups),)](
            q.payload.contiguous(), q.stored_scales.contiguous(), out, width, per_row, total,
            GROUP=size, GROUPS=groups, BLOCK=block, EVEN=width % block == 0 and size == block,
            **bits, E8M0=q.scale_format == E8M0FNU, NATIVE=native,
        )  # fmt: skip
    return out


def write_kv(
    k: torch.Tensor, v: torch.Tensor, cache: KVCache, slot_mapping: torch.Tensor, *, native: bool = False
) -> None:
    """Quantize new K and V and store codes and scales in their slots of `cache`, in place.

    k, v          [tokens, kv_heads, head_dim] float32, bfloat16 or float16; any strides
    slot_mapping  [tokens] int32 or int64: block * block_size + place; a negative slot is skipped. When two tokens
                  name one slot, which of them stays is undefined.
    native        by the FP8 instructions of the GPU, sm_89 or newer

    ValueError or TypeError when shapes, dtypes or devices do not fit, for native=True where it cannot be had, and, on
    a CPU, when a slot lies beyond the cache. Nothing is written then.
    """
    k, v, slots = _checked_write(k, v, cache, slot_mapping)
    refuse_native_elsewhere(native, k.device)
    sizes = [min(cache.group_size, x.shape[2]) for x in (k, v)]
    by_kernel = [_runs_in_one_tile(x, size, native) for x, size in zip((k, v), sizes)]
    for x, name, kernel in zip((k, v), "kv", by_kernel) if len(slots) else ():
        if kernel:
            with current_device_of(x):
                _launch_write(x, *cache.part(name), cache, slots, native)
        else:
            _write_in_torch(x, *cache.part(name), cache, slots)


def _launch_write(x, codes, scales, cache: KVCache, slots, native: bool) -> None:
    import triton

    from fp8lab.kernels.bits import INTERPRETED, format_bits
    from fp8lab.kernels.cache import write_kernel
    from fp8lab.kernels.group import tile_shape

    x = x if x.stride(2) == 1 else x.contiguous()
    tokens, heads, width = x.shape
    size = min(cache.group_size, width)
    total = tokens * heads * scales.shape[3]
    groups, block = tile_shape(size, total, INTERPRETED)
    write_kernel[(triton.cdiv(total, groups),)](
        x, codes, scales, slots.contiguous(), heads, width, scales.shape[3], total, cache.block_size,
        x.stride(0), x.stride(1), *codes.stride()[:3], *scales.stride()[:3],
        GROUP=size, GROUPS=groups, BLOCK=block, EVEN=width % block == 0 and size == block,
        **format_bits(cache.fmt)._asdict(), QMAX=cache.fmt.max_finite,
        LARGEST=largest_scale(cache.scale_format, cache.fmt.max_finite), E8M0=scales.dtype == torch.uint8,
        NATIVE=native,
    )  # fmt: skip


@torch.inference_mode()  # a kernel writes wherever memory is: into tensors of an inference mode, or with a gradient
def _write_in_torch(x, codes, scales, cache: KVCache, slots) -> None:
    kept = slots >= 0
    q = quantize(x[kept], cache.fmt, Group(cache.group_size), scale_format=cache.scale_format, nonfinite="propagate")
    block, place = slots[kept] // cache.block_size, slots[kept] % cache.block_size
    codes[block, place] = q.codes
    scales[block, place] = q.stored_scales


def _runs_in_one_tile(x: torch.Tensor, group: int, native: bool) -> bool:
    """Whether the kernel takes it: torch does where there is none, and for a group wider than a tile may be."""
    if not kernels_run_on(x):
        return False
    from fp8lab.kernels.bits import INTERPRETED

    widest = WIDEST_INTERPRETED if INTERPRETED else WIDEST_COMPILED
    if native and group > widest:
        raise ValueError(
            f"native=True is not possible here: a group of {group} values is wider than {widest}, what a kernel takes "
            "at once. native=False (the default) gives the same bytes anywhere"
        )
    return group <= widest


def _checked_groups(q: QuantizedTensor) -> QuantizedTensor:
    if not isinstance(q, QuantizedTensor):
        raise TypeError(
            f"q must be a QuantizedTensor, codes with their scales; given a {type(q).__name__}: quantize_group makes "
            "one, QuantizedTensor.from_parts puts one together"
        )
    if any(block != 1 for block in q.blocks[:-1]) or q.tensor_scale is not None:
        raise ValueError(
            f"dequantize_group takes groups along the last axis without a tensor scale; given {q!r}: use q.dequantize()"
        )
    fmt, storage = kernel_format(q.fmt), kernel_scale_format(q.scale_format)
    codes, scales = strided_tensor("q.payload", q.payload), strided_tensor("q.stored_scales", q.stored_scales)
    for name, part, dtype, shape in (
        ("q.payload", codes, torch.uint8, tuple(q.shape)),
        ("q.stored_scales", scales, stored_dtype(storage), scale_shape(q.shape, q.blocks)),
    ):
        if part.dtype != dtype or tuple(part.shape) != shape:  # a kernel would read past its end
            raise ValueError(f"{name} must be {dtype} {list(shape)}; given {part.dtype} {list(part.shape)}")
    on_one_device(payload=codes, stored_scales=scales)
    return replace(q, payload=codes, stored_scales=scales, fmt=fmt, scale_format=storage)


def _checked_write(k, v, cache, slots) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if not isinstance(cache, KVCache):
        raise TypeError(f"cache must be a KVCache; given a {type(cache).__name__}: KVCache.empty makes one")
    k, v = float_tensor("k", k), float_tensor("v", v)
    heads = cache.k_codes.shape[2]
    for x, name in ((k, "k"), (v, "v")):
        width = cache.part(name)[0].shape[3]
        if x.ndim != 3 or tuple(x.shape[1:]) != (heads, width):
            raise ValueError(
                f"{name} must be [tokens, kv_heads, head_dim] = [*, {heads}, {width}]; given {list(x.shape)}"
            )
    if len(v) != len(k):
        raise ValueError(f"k and v must hold the same tokens, one slot per token; given {len(k)} and {len(v)}")
    slots = integer_tensor("slot_mapping", slots, 1, len(k), "token")
    on_one_device(k=k, v=v, slot_mapping=slots, cache=cache.k_codes)
    room = len(cache.k_codes) * cache.block_size
    if not slots.is_cuda and len(slots) and int(slots.max()) >= room:  # on a GPU this read would make the host wait
        raise ValueError(f"slot_mapping holds slot {int(slots.max())}; the cache has {room} (blocks x block_size)")
    return k, v, slots
