"""`paged_attention`: the launcher of the attention kernels, and the same computation in plain torch."""

from __future__ import annotations

from numbers import Real

import torch

from fp8lab.codec import decode
from fp8lab.kernels.arguments import float_tensor, integer_tensor, on_one_device, whole_number
from fp8lab.kernels.available import current_device_of, kernels_run_on, refuse_native_elsewhere
from fp8lab.kernels.kvcache import KVCache
from fp8lab.scales import first_index, load

FEWEST_TOKENS_PER_SPLIT = 256
MOST_SPLITS = 128  # what merge_kernel joins in registers
EVERYTHING = torch.iinfo(torch.int32).max
SMALLEST_SCALE = torch.finfo(torch.float32).tiny  # scores are computed in float32
LARGEST_SCALE = torch.finfo(torch.float32).max


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
    block_table    [batch, pages] int32 or int64: which block holds each page of a sequence. Pages that are not read,
                   beyond its length or before its window, may hold anything (-1)
    lengths        [batch] int32 or int64: tokens in the cache, the newest is the query's own
    softmax_scale  a finite number above 0; default head_dim ** -0.5
    window         how many of the last tokens are seen (sliding window); default all
    splits         programs that share one sequence, at most 128; default by its length
    native         FP8 is read by the instructions of the GPU, sm_89 or newer

    Returns [batch, query_heads, v_head_dim] in the dtype of the query; zeros for a sequence of length 0; no gradient.
    On a GPU, or under the interpreter, by the kernel; elsewhere by torch in float32. All sums are float32. The kernel
    multiplies K, V and weights rounded to as many bits as the query has: 24, 8 for bfloat16, 11 for float16 (as TF32,
    whose range is float32's, because K and V may lie beyond 65504, where float16 ends); torch does not round them.

    Where torch finds NaN or infinity, so does the kernel: a NaN in the query, in a key or in a scale reaches what it
    reaches there, and scores that overflow float32 do the same. Where torch's answer is finite, so is the kernel's,
    however large K, V and scores are, unless rounding decides: for a score, or a result, within the error of rounding
    of the largest number.

    Raises ValueError or TypeError naming the argument that does not fit; what lengths and block_table hold is read,
    and refused, on a CPU only.
    """
    query, table, lengths = _checked(query, cache, block_table, lengths)
    window = EVERYTHING if window is None else min(whole_number("window", window), EVERYTHING)
    splits = splits if splits is None else whole_number("splits", splits, most=MOST_SPLITS)
    scale = query.shape[2] ** -0.5 if softmax_scale is None else _checked_scale(softmax_scale)
    refuse_native_elsewhere(native, query.device)
    if not query.is_cuda:  # on a GPU these reads would make the host wait
        _check_reads(cache, table, lengths, window)
    if kernels_run_on(query):
        with current_device_of(query):
            return _launch(query, cache, table, lengths, scale, window, splits, native)
    return attend_in_torch(query, cache, table, lengths, scale, window).to(query.dtype)


def _checked_scale(softmax_scale: object) -> float:
    """As a float. NaN and infinity have no softmax, 0 looks at nothing, and a negative one looks away."""
    if isinstance(softmax_scale, bool) or not isinstance(softmax_scale, Real):
        raise TypeError(f"softmax_scale must be a number or None; given {type(softmax_scale).__name__}")
    try:
        scale, given = float(softmax_scale), softmax_scale
    except OverflowError:  # 10**400; its digits are of no use in a message
        scale, given = float("inf"), "a number beyond float64"
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:  # NaN, too
        raise ValueError(
            f"softmax_scale must be a finite number above 0, from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}; "
            f"given {given}: the default is head_dim ** -0.5"
        )
    return scale


def tile(dtype: torch.dtype, head_dim: int) -> tuple[int, int]:
    """(tokens of K and V that a program holds at once, warps) for a query of `dtype`.

    bfloat16 32 and 4. Operands of float16 are TF32, twice as large, on tensor cores from sm_80 on: half the tokens.
    Products of float32 are taken one by one, which needs registers: twice the warps. Chosen by what compiles for sm_75
    to sm_90 without spilling at head_dim 128; at 256 it still fits the shared memory of every such card
    (tests/test_kernels_compile.py).
    """
    few = dtype != torch.bfloat16 or head_dim > 128
    return 16 if few else 32, 8 if dtype == torch.float32 else 4


def read_pages(cache: KVCache, name: str, blocks: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """K ("k") or V ("v") of some blocks, dequantized: [len(blocks) * block_size, kv_heads, head_dim]."""
    codes, scales = cache.part(name)
    values = decode(codes[blocks], cache.fmt).to(dtype)
    group = min(cache.group_size, values.shape[-1])
    wide = load(scales[blocks], cache.scale_format).to(dtype).repeat_interleave(group, -1)
    return (values * wide[..., : values.shape[-1]]).flatten(0, 1)


@torch.no_grad()
def attend_in_torch(query, cache, block_table, lengths, scale: float, window: int, dtype=torch.float32) -> torch.Tensor:
    """The definition: gather, dequantize, softmax, all in `dtype`. [batch, query_heads, v_head_dim]."""
    batch, heads, _ = query.shape
    out = torch.zeros(batch, heads, cache.v_codes.shape[3], dtype=dtype, device=query.device)
    shared = heads // cache.k_codes.shape[2]
    for row, length in enumerate(lengths.tolist()):
        if length == 0:
            continue
        first = max(length - window, 0)
        skipped = first // cache.block_size  # pages before the window
        pages = block_table[row, skipped : -(-length // cache.block_size)].long()
        seen = slice(first - skipped * cache.block_size, length - skipped * cache.block_size)
        k = read_pages(cache, "k", pages, dtype)[seen].repeat_interleave(shared, 1)  # [tokens, heads, head_dim]
        v = read_pages(cache, "v", pages, dtype)[seen].repeat_interleave(shared, 1)
        weights = torch.softmax(torch.einsum("hd,thd->ht", query[row].to(dtype), k) * scale, dim=-1)
        out[row] = torch.einsum("ht,thd->hd", weights, v)
    return out


def _launch(query, cache, table, lengths, scale, window, splits, native) -> torch.Tensor:
    import triton

    from fp8lab.kernels.attention import attend_kernel, merge_kernel
    from fp8lab.kernels.bits import INTERPRETED, format_bits

    batch, heads, k_width = query.shape
    kv_heads, v_width = cache.k_codes.shape[2], cache.v_codes.shape[3]
    query = query if query.stride(2) == 1 else query.contiguous()
    table = table if table.stride(1) == 1 else table.contiguous()
    lengths = lengths.contiguous()
    room = table.shape[1] * cache.block_size  # on a GPU the host must not wait to learn the longest length
    longest = min(room if query.is_cuda else max(lengths.tolist(), default=0), window)
    splits = splits or max(1, min(MOST_SPLITS, longest // FEWEST_TOKENS_PER_SPLIT))
    per_split = max(triton.cdiv(longest, splits), 1)

    mean = torch.empty(batch, heads, splits, v_width, dtype=torch.float32, device=query.device)
    peaks = torch.empty(batch, heads, splits, dtype=torch.float32, device=query.device)
    sums = torch.empty_like(peaks)
    out = torch.empty(batch, heads, v_width, dtype=query.dtype, device=query.device)
    if out.numel() == 0:
        return out
    bits = format_bits(cache.fmt)._asdict()
    del bits["NAN_CODE"]
    strides = [s for name in "kv" for tensor in cache.part(name) for s in tensor.stride()[:3]]
    v_dim = triton.next_power_of_2(v_width)
    tokens, warps = tile(query.dtype, max(k_width, v_width))
    tf32 = query.dtype == torch.float16 and not torch.version.hip  # AMD: where there is TF32, it is another one
    attend_kernel[(batch, kv_heads, splits)](
        query, cache.k_codes, cache.k_scales, cache.v_codes, cache.v_scales, table, lengths, mean, peaks, sums,
        scale, window, cache.block_size, k_width, v_width,
        min(cache.group_size, k_width), min(cache.group_size, v_width), kv_heads,
        per_split, query.stride(0), query.stride(1), table.stride(0), *strides,
        SHARING=heads // kv_heads, QUERIES=max(16, triton.next_power_of_2(heads // kv_heads)), TOKENS=tokens,
        K_DIM=max(16, triton.next_power_of_2(k_width)), V_DIM=max(16, v_dim), **bits,
        E8M0=cache.k_scales.dtype == torch.uint8, NATIVE=native, TF32=tf32, INTERPRETED=INTERPRETED,
        num_warps=warps,
    )  # fmt: skip
    merge_kernel[(batch * heads,)](
        mean, peaks, sums, lengths, out, heads, splits, v_width, SPLITS=triton.next_power_of_2(splits), V_DIM=v_dim
    )
    return out


def _checked(query, cache, table, lengths) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    if not isinstance(cache, KVCache):
        raise TypeError(f"cache must be a KVCache; given a {type(cache).__name__}: KVCache.empty makes one")
    query = float_tensor("query", query)
    kv_heads, head_dim = cache.k_codes.shape[2:]
    if query.ndim != 3:
        raise ValueError(f"query must have axes [batch, query_heads, head_dim]; given {list(query.shape)}")
    if query.shape[2] != head_dim or query.shape[1] % kv_heads:
        raise ValueError(
            f"query [batch, query_heads, head_dim] = {list(query.shape)} does not fit a cache of {kv_heads} KV heads "
            f"of {head_dim}: head_dim must be {head_dim} and query_heads a multiple of {kv_heads}"
        )
    table = integer_tensor("block_table", table, 2, len(query), "query")
    lengths = integer_tensor("lengths", lengths, 1, len(query), "query")
    on_one_device(query=query, cache=cache.k_codes, block_table=table, lengths=lengths)
    return query, table, lengths


def _check_reads(cache: KVCache, table: torch.Tensor, lengths: torch.Tensor, window: int) -> None:
    """ValueError unless every length has its pages, and every page that is read is a block of the cache."""
    blocks, size, room = len(cache.k_codes), cache.block_size, table.shape[1] * cache.block_size
    if len(lengths) and (int(lengths.max()) > room or int(lengths.min()) < 0):
        raise ValueError(f"lengths must be in 0..{room} (pages x block_size); given {lengths.tolist()}")
    page = torch.arange(table.shape[1])
    first, end = (lengths - window).clamp(min=0) // size, (lengths + size - 1) // size
    read = (page >= first[:, None]) & (page < end[:, None])
    wrong = read & ((table < 0) | (table >= blocks))
    if bool(wrong.any()):
        row, column = first_index(wrong)
        raise ValueError(
            f"block_table must name blocks 0..{blocks - 1} in every page that is read; given {int(table[row, column])} "
            f"in page {column} of sequence {row}, whose length is {int(lengths[row])}"
        )
