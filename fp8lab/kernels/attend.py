"""`paged_attention`: the launcher of the attention kernels, and the same computation in plain torch."""

from __future__ import annotations

import math
from numbers import Real

import torch

from fp8lab.codec import decode
from fp8lab.kernels.available import current_device_of, kernels_run_on, refuse_native_elsewhere
from fp8lab.kernels.kvcache import KVCache, whole_number
from fp8lab.scales import load

LOG2_E = math.log2(math.e)
FEWEST_TOKENS_PER_SPLIT = 256
MOST_SPLITS = 128  # what merge_kernel joins in registers
EVERYTHING = torch.iinfo(torch.int32).max
SMALLEST_SCALE = torch.finfo(torch.float32).tiny  # scores are computed in float32, in units of log2
LARGEST_SCALE = torch.finfo(torch.float32).max / 2
QUERY_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def paged_attention(
    query: torch.Tensor,
    cache: KVCache,
    block_table: torch.Tensor,
    lengths: torch.Tensor,
    *,
    softmax_scale: float | None = None,
    window: int | None = None,
    splits: int | None = None,
    native: bool = False,
) -> torch.Tensor:
    """Attention of one new token per sequence over its FP8 keys and values.

    query          [batch, query_heads, head_dim] float32, bfloat16 or float16; query_heads a multiple of kv_heads (GQA)
    block_table    [batch, pages] int32 or int64: which block holds each page of a sequence
    lengths        [batch] int32 or int64: tokens in the cache, the newest is the query's own
    softmax_scale  a finite number above 0; default head_dim ** -0.5
    window         how many of the last tokens are seen (sliding window); default all
    splits         programs that share one sequence, at most 128; default by its length
    native         FP8 is read by the instructions of the GPU, sm_89 or newer

    Returns [batch, query_heads, v_head_dim] in the dtype of the query; zeros for a sequence of length 0. On a GPU,
    or under the interpreter, by the kernel; elsewhere by torch in float32. Raises ValueError or TypeError naming the
    argument that does not fit; what lengths and block_table hold is read, and refused, on a CPU only.
    """
    _validate(query, cache, block_table, lengths)
    if window is not None:
        whole_number("window", window)
    if splits is not None:
        whole_number("splits", splits, MOST_SPLITS)
    scale = query.shape[2] ** -0.5 if softmax_scale is None else _checked_scale(softmax_scale)
    refuse_native_elsewhere(native, query.device)
    seen = min(window or EVERYTHING, EVERYTHING)
    query = query.detach()
    if kernels_run_on(query):
        with current_device_of(query):
            return _launch(query, cache, block_table, lengths, scale, seen, splits, native)
    return attend_in_torch(query, cache, block_table, lengths, scale, seen).to(query.dtype)


def _checked_scale(softmax_scale: object) -> float:
    """As a float. NaN and infinity have no softmax, 0 looks at nothing, and a negative one looks away."""
    if isinstance(softmax_scale, bool) or not isinstance(softmax_scale, Real):
        raise TypeError(f"softmax_scale must be a number or None; given {type(softmax_scale).__name__}")
    scale = float(softmax_scale)
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:  # NaN, too
        raise ValueError(
            f"softmax_scale must be a finite number above 0, from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}; "
            f"given {softmax_scale}: the default is head_dim ** -0.5"
        )
    return scale


def tile(wide: bool) -> tuple[int, int]:
    """(tokens of K and V that a program holds at once, warps): 32 and 4; of float32, whose exact products need room,
    16 and 8.

    Chosen by what compiles for sm_75 to sm_90 at head_dim 128 without spilling (tests/test_kernels_compile.py).
    """
    return (16, 8) if wide else (32, 4)


def read_pages(cache: KVCache, name: str, blocks: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """K ("k") or V ("v") of some blocks, dequantized: [len(blocks) * block_size, kv_heads, head_dim]."""
    codes, scales = cache.part(name)
    values = decode(codes[blocks], cache.fmt).to(dtype)
    wide = load(scales[blocks], cache.scale_format).to(dtype).repeat_interleave(cache.group_size, -1)
    return (values * wide[..., : values.shape[-1]]).flatten(0, 1)


def attend_in_torch(query, cache, block_table, lengths, scale: float, window: int, dtype=torch.float32) -> torch.Tensor:
    """The definition: gather, dequantize, softmax, all in `dtype`. [batch, query_heads, v_head_dim]."""
    batch, heads, _ = query.shape
    out = torch.zeros(batch, heads, cache.v_codes.shape[3], dtype=dtype, device=query.device)
    shared = heads // cache.k_codes.shape[2]
    for row, length in enumerate(lengths.tolist()):
        if length == 0:
            continue
        pages = block_table[row, : -(-length // cache.block_size)].long()
        first = max(length - window, 0)
        k = read_pages(cache, "k", pages, dtype)[first:length].repeat_interleave(shared, 1)  # [tokens, heads, head_dim]
        v = read_pages(cache, "v", pages, dtype)[first:length].repeat_interleave(shared, 1)
        weights = torch.softmax(torch.einsum("hd,thd->ht", query[row].to(dtype), k) * scale, dim=-1)
        out[row] = torch.einsum("ht,thd->hd", weights, v)
    return out


def _launch(query, cache, block_table, lengths, scale, window, splits, native) -> torch.Tensor:
    import triton

    from fp8lab.kernels.attention import attend_kernel, merge_kernel
    from fp8lab.kernels.bits import INTERPRETED, format_bits

    batch, heads, k_width = query.shape
    kv_heads, v_width = cache.k_codes.shape[2], cache.v_codes.shape[3]
    query = query if query.stride(2) == 1 else query.contiguous()
    table = block_table if block_table.stride(1) == 1 else block_table.contiguous()
    lengths = lengths.contiguous()
    room = table.shape[1] * cache.block_size  # on a GPU the host must not wait to learn the longest length
    longest = min(room if query.is_cuda else max(lengths.tolist(), default=0), window)
    splits = splits or max(1, min(MOST_SPLITS, longest // FEWEST_TOKENS_PER_SPLIT))
    per_split = max(triton.cdiv(longest, splits), 1)

    partial = torch.empty(batch, heads, splits, v_width, dtype=torch.float32, device=query.device)
    peaks = torch.empty(batch, heads, splits, dtype=torch.float32, device=query.device)
    sums = torch.empty_like(peaks)
    out = torch.empty(batch, heads, v_width, dtype=query.dtype, device=query.device)
    if batch == 0:
        return out
    bits = format_bits(cache.fmt)._asdict()
    del bits["NAN_CODE"]
    strides = [s for name in "kv" for tensor in cache.part(name) for s in tensor.stride()[:3]]
    v_dim = triton.next_power_of_2(v_width)
    tokens, warps = tile(query.dtype == torch.float32)
    attend_kernel[(batch, kv_heads, splits)](
        query, cache.k_codes, cache.k_scales, cache.v_codes, cache.v_scales, table, lengths, partial, peaks, sums,
        scale * LOG2_E, window, cache.block_size, k_width, v_width, cache.group_size, cache.group_size, kv_heads,
        per_split, query.stride(0), query.stride(1), table.stride(0), *strides,
        SHARING=heads // kv_heads, QUERIES=max(16, triton.next_power_of_2(heads // kv_heads)), TOKENS=tokens,
        K_DIM=max(16, triton.next_power_of_2(k_width)), V_DIM=max(16, v_dim), **bits,
        E8M0=cache.k_scales.dtype == torch.uint8, NATIVE=native, INTERPRETED=INTERPRETED,
        num_warps=warps,
    )  # fmt: skip
    merge_kernel[(batch * heads,)](
        partial, peaks, sums, out, splits, v_width, SPLITS=triton.next_power_of_2(splits), V_DIM=v_dim
    )
    return out


def _validate(query, cache, block_table, lengths) -> None:
    kv_heads, head_dim = cache.k_codes.shape[2:]
    if query.ndim != 3 or query.dtype not in QUERY_DTYPES:
        raise TypeError(
            "query must be float32, bfloat16 or float16 [batch, query_heads, head_dim]; "
            f"given {query.dtype} {list(query.shape)}"
        )
    if query.shape[2] != head_dim or query.shape[1] % kv_heads:
        raise ValueError(
            f"query [batch, query_heads, head_dim] = {list(query.shape)} does not fit a cache of {kv_heads} KV heads "
            f"of {head_dim}: "
            f"head_dim must be {head_dim} and query_heads a multiple of {kv_heads}"
        )
    for name, tensor, ndim in (("block_table", block_table, 2), ("lengths", lengths, 1)):
        if tensor.dtype not in (torch.int32, torch.int64) or tensor.ndim != ndim or len(tensor) != len(query):
            raise ValueError(
                f"{name} must be int32 or int64 with {ndim} axes and one row per query ({len(query)}); "
                f"given {tensor.dtype} {list(tensor.shape)}"
            )
    if len({t.device for t in (query, block_table, lengths, cache.k_codes)}) > 1:
        raise ValueError(
            f"query, block_table, lengths and cache must be on one device; given {query.device}, {block_table.device}, "
            f"{lengths.device}, {cache.k_codes.device}"
        )
    if not query.is_cuda:  # on a GPU these reads would make the host wait
        room = block_table.shape[1] * cache.block_size
        if len(lengths) and (int(lengths.max()) > room or int(lengths.min()) < 0):
            raise ValueError(f"lengths must be in 0..{room} (pages x block_size); given {lengths.tolist()}")
        if block_table.numel() and (int(block_table.max()) >= len(cache.k_codes) or int(block_table.min()) < 0):
            raise ValueError(
                f"block_table must name blocks 0..{len(cache.k_codes) - 1}; "
                f"given {int(block_table.min())}..{int(block_table.max())}"
            )
