"""Launchers: quantize and dequantize in groups, and write K and V into a paged cache.

Each checks what it is given, runs the kernel where it can and the torch path where it cannot, and returns the same
bytes either way. Kernels round by integer bits on every card; native=True asks for the FP8 instructions of a GPU
from sm_89 on, which give the same bytes, and is refused where there are none. It is never chosen by itself.
"""

from __future__ import annotations

import torch

from fp8lab.formats import E4M3FN, FloatFormat, get_format
from fp8lab.granularity import Group
from fp8lab.kernels.available import current_device_of, kernels_run_on, refuse_native_elsewhere
from fp8lab.kernels.kvcache import KVCache, is_e8m0, kernel_format, whole_number
from fp8lab.quantize import quantize
from fp8lab.quantized import QuantizedTensor
from fp8lab.scales import largest_scale

INPUT_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def quantize_group(
    x: torch.Tensor,
    group_size: int,
    fmt: FloatFormat | str = E4M3FN,
    scale_format: torch.dtype | FloatFormat = torch.float32,
    *,
    native: bool = False,
) -> QuantizedTensor:
    """Quantize along the last axis in groups with absmax scales: what `fp8lab.quantize(x, fmt, Group(group_size))`
    gives, in one pass.

    x            [..., width] float32, bfloat16 or float16; any strides
    fmt          E4M3FN or E5M2
    scale_format torch.float32 or E8M0FNU (rounded up to a power of two)
    native       by the FP8 instructions of the GPU that holds x, sm_89 or newer

    A group with NaN or infinity becomes NaN and no other does: the kernel does not stop a GPU to look. TypeError or
    ValueError for other dtypes and formats, and for native=True where there are no such instructions.

    >>> quantize_group(torch.tensor([[1.0, 448.0, 0.0]]), 2).codes.tolist()
    [[56, 126, 0]]
    """
    x, fmt, e8m0 = _checked(x, group_size, fmt, scale_format)
    refuse_native_elsewhere(native, x.device)
    if not kernels_run_on(x) or x.numel() == 0:
        return quantize(x, fmt, Group(group_size), scale_format=scale_format, nonfinite="propagate")
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
    scales = torch.empty(*x.shape[:-1], per_row, dtype=torch.uint8 if e8m0 else torch.float32, device=x.device)
    groups, block = tile_shape(size, total, INTERPRETED)
    even = width % block == 0 and size == block and rows.stride(0) == width
    with current_device_of(x):
        quantize_kernel[(triton.cdiv(total, groups),)](
            rows, codes, scales, width, per_row, total, rows.stride(0),
            GROUP=size, GROUPS=groups, BLOCK=block, EVEN=even, **format_bits(fmt)._asdict(),
            QMAX=fmt.max_finite, LARGEST=largest_scale(scale_format, fmt.max_finite), E8M0=e8m0, NATIVE=native,
        )  # fmt: skip
    return QuantizedTensor(codes, scales, fmt, scale_format, Group(group_size).blocks(tuple(x.shape)), tuple(x.shape))


def dequantize_group(q: QuantizedTensor, dtype: torch.dtype = torch.float32, *, native: bool = False) -> torch.Tensor:
    """code x scale, rounded once to float32, bfloat16 or float16: the values of `q.dequantize(dtype)`.

    ValueError when `q` is not what `quantize_group` makes (other formats, groups on other axes, a tensor scale), and
    for native=True (see `quantize_group`) where it cannot be had.

    >>> dequantize_group(quantize_group(torch.tensor([[1.0, 448.0]]), 2)).tolist()
    [[1.0, 448.0]]
    """
    if dtype not in INPUT_DTYPES:
        raise TypeError(f"dequantize_group writes float32, bfloat16 or float16; given {dtype}")
    if any(block != 1 for block in q.blocks[:-1]) or q.tensor_scale is not None:
        raise ValueError(
            f"dequantize_group takes groups along the last axis without a tensor scale; given {q!r}: use q.dequantize()"
        )
    kernel_format(q.fmt)
    e8m0 = is_e8m0(q.scale_format)
    refuse_native_elsewhere(native, q.device)
    if not kernels_run_on(q.payload) or not q.shape or 0 in q.shape:
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
            **bits, E8M0=e8m0, NATIVE=native,
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
    a CPU, when a slot lies beyond the cache.
    """
    _check_write(k, v, cache, slot_mapping)
    refuse_native_elsewhere(native, k.device)
    k, v = k.detach(), v.detach()
    for x, name in ((k, "k"), (v, "v")):
        if len(x) and kernels_run_on(x):
            with current_device_of(x):
                _launch_write(x, *cache.part(name), cache, slot_mapping, native)
        elif len(x):
            _write_in_torch(x, *cache.part(name), cache, slot_mapping)


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


def _write_in_torch(x, codes, scales, cache: KVCache, slots) -> None:
    kept = slots >= 0
    q = quantize(x[kept], cache.fmt, Group(cache.group_size), scale_format=cache.scale_format, nonfinite="propagate")
    block, place = slots[kept] // cache.block_size, slots[kept] % cache.block_size
    codes[block, place] = q.codes
    scales[block, place] = q.stored_scales


def _checked(x, group_size, fmt, scale_format) -> tuple[torch.Tensor, FloatFormat, bool]:
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"x must be a torch tensor; given a {type(x).__name__}: pass torch.as_tensor(x)")
    if x.dtype not in INPUT_DTYPES:
        raise TypeError(f"x must be float32, bfloat16 or float16; given {x.dtype}: use fp8lab.quantize for float64")
    if x.ndim == 0:
        raise ValueError("x has no axis to take groups along; given a 0-d tensor: use x.reshape(1)")
    whole_number("group_size", group_size)
    return x.detach(), kernel_format(get_format(fmt)), is_e8m0(scale_format)


def _check_write(k, v, cache: KVCache, slots) -> None:
    page = cache.k_codes.shape[2]
    for x, name in ((k, "k"), (v, "v")):
        width = cache.part(name)[0].shape[3]
        if x.dtype not in INPUT_DTYPES:
            raise TypeError(f"{name} must be float32, bfloat16 or float16; given {x.dtype}")
        if x.ndim != 3 or tuple(x.shape[1:]) != (page, width):
            raise ValueError(
                f"{name} must be [tokens, kv_heads, head_dim] = [*, {page}, {width}]; given {list(x.shape)}"
            )
    if slots.dtype not in (torch.int32, torch.int64) or tuple(slots.shape) != (len(k),) or len(v) != len(k):
        raise ValueError(
            f"slot_mapping must be int32 or int64 with one slot per token of k and v ({len(k)} and {len(v)}); "
            f"given {slots.dtype} {list(slots.shape)}"
        )
    if len({t.device for t in (k, v, slots, cache.k_codes)}) > 1:
        raise ValueError(
            f"k, v, slot_mapping and cache must be on one device; given {k.device}, {v.device}, {slots.device}"
        )
    room = len(cache.k_codes) * cache.block_size
    if not slots.is_cuda and len(slots) and int(slots.max()) >= room:  # on a GPU this read would make the host wait
        raise ValueError(f"slot_mapping holds slot {int(slots.max())}; the cache has {room} (blocks x block_size)")
