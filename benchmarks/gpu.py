"""How near the kernels come to the copy bandwidth of the card they run on.

    python benchmarks/gpu.py                  table on the screen, JSON beside this file in results/
    python benchmarks/gpu.py --quick          fewer repetitions

In one run: `torch.Tensor.copy_` of the same number of bytes as the limit, the kernels on both paths (integer bits;
from sm_89 on the native FP8 instructions, whose bytes are first held against the integers'), and torch.compile of
the eager code as the peer; for attention, scaled_dot_product_attention on 16-bit K and V of the same shape. Times
are CUDA events, the median of many runs, queued behind other work so that the host's time is not among them
(fp8lab/kernels/timing.py); every run takes the next of several sets of tensors that together are larger than the L2
cache. What does not fit into the card's memory is named, not measured. Without a GPU it says so, and prints what can
be counted without one: the bytes each job moves, and the floor that they set.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from fp8lab.formats import E4M3FN, E5M2, E8M0FNU
from fp8lab.kernels import KVCache, paged_attention, quantize_group, why_not, write_kv
from fp8lab.kernels.available import why_not_native
from fp8lab.kernels.timing import Card, microseconds

RESULTS = Path(__file__).parent / "results"
WRITE_SHAPES = [(1024, 32, 128), (4096, 32, 128), (16384, 8, 128)]  # tokens, kv_heads, head_dim
ATTENTION_SHAPES = [(8, 32, 8, 128, 32768), (32, 32, 8, 128, 8192)]  # batch, query heads, kv_heads, head_dim, tokens
BLOCK_SIZE = 16
GROUP = 64
COMPARED_ROWS = 1 << 18  # of 64 random numbers, on both paths
QUOTED = (
    "quoted, not measured here: FP8 KV write on an H200 4.2 TB/s, 87 % of peak (sglang#19103); "
    "1024x32x128 K+V bf16 to FP8 in 6.0 us (same source)"
)


@dataclass(frozen=True)
class Row:
    """One measured job: microseconds, bytes moved, and what part of the copy's rate that is."""

    job: str
    shape: str
    way: str
    microseconds: float
    bytes: int
    gb_per_s: float
    of_copy: float


def write_bytes(tokens: int, heads: int, dim: int, scale_bytes: int) -> int:
    """K and V: 16 bits read, codes and scales written, slots read."""
    return 2 * tokens * heads * (2 * dim + dim + -(-dim // GROUP) * scale_bytes) + 8 * tokens


def attention_bytes(
    batch: int, heads: int, kv_heads: int, dim: int, tokens: int, code_bytes: int, scale_bytes: int
) -> int:
    """K and V with their scales read once; queries and results are small beside them but counted."""
    per_vector = dim * code_bytes + -(-dim // GROUP) * scale_bytes
    return batch * (2 * tokens * kv_heads * per_vector + 2 * heads * dim * 2)


def sets_beyond_l2(bytes_each: int) -> int:
    """How many sets of tensors of this size are at least three times the L2 cache."""
    return max(2, -(-3 * torch.cuda.get_device_properties(0).L2_cache_size // bytes_each))


def sixteen_bits() -> torch.dtype:
    """bfloat16, or float16 on a card without bfloat16 arithmetic (T4): asked of the capability, since
    torch.cuda.is_bf16_supported() says True of an emulation, too."""
    return torch.bfloat16 if torch.cuda.get_device_capability() >= (8, 0) else torch.float16


def paths() -> list[tuple[bool, str]]:
    """(native, label) of the paths that this card has."""
    has_native = not why_not_native(torch.device("cuda"))
    return [(False, ""), (True, ", native FP8")] if has_native else [(False, "")]


def differing_bytes() -> dict[str, int]:
    """Codes on which the two paths differ, of every bfloat16 number and of random ones, in groups of 64."""
    found = {}
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32, device="cuda").to(torch.int16).view(torch.bfloat16)
    for fmt in (E4M3FN, E5M2):
        inputs = every.view(-1, 64), torch.randn(COMPARED_ROWS, 64, device="cuda") * 3
        pairs = [(quantize_group(x, 64, fmt, native=n).codes for n in (False, True)) for x in inputs]
        found[fmt.name] = sum(int((one != other).sum()) for one, other in pairs)
    return found


def copy_rate(bytes_moved: int, repetitions: int, card: Card) -> float:
    """Bytes per microsecond of a copy that reads and writes `bytes_moved` in all."""
    sources = [
        torch.randint(0, 255, (bytes_moved // 2,), dtype=torch.uint8, device="cuda")
        for _ in range(sets_beyond_l2(bytes_moved))
    ]
    targets = [torch.empty_like(source) for source in sources]
    jobs = [lambda s=s, t=t: t.copy_(s) for s, t in zip(sources, targets)]
    return 2 * (bytes_moved // 2) / microseconds(jobs, repetitions, card)


def eager_write(k: torch.Tensor, v: torch.Tensor, cache: KVCache, slots: torch.Tensor) -> None:
    """The same job in plain torch operations: what torch.compile gets to fuse."""
    block, place = slots // BLOCK_SIZE, slots % BLOCK_SIZE
    for x, name in ((k, "k"), (v, "v")):
        codes, scales = cache.part(name)
        groups = x.float().unflatten(-1, (-1, GROUP))
        absmax = groups.abs().amax(-1)
        scale = torch.where(absmax == 0, 1.0, (absmax / E4M3FN.max_finite).clamp(min=2.0**-126))
        scaled = (groups / scale[..., None]).clamp(-E4M3FN.max_finite, E4M3FN.max_finite)
        codes[block, place] = scaled.to(torch.float8_e4m3fn).view(torch.uint8).flatten(-2)
        scales[block, place] = scale


def measure_write(tokens: int, heads: int, dim: int, repetitions: int, card: Card) -> list[Row]:
    shape = f"{tokens}x{heads}x{dim}"
    moved = write_bytes(tokens, heads, dim, 4)
    limit = copy_rate(moved, repetitions, card)
    count = sets_beyond_l2(moved)
    k = [torch.randn(2, tokens, heads, dim, dtype=sixteen_bits(), device="cuda") for _ in range(count)]
    slots = torch.randperm(tokens, device="cuda")
    rows = [Row("copy", shape, "torch copy_", moved / limit, moved, limit / 1000, 1.0)]

    def job(way: Callable, storage, scale_bytes: int, label: str) -> None:
        caches = [
            KVCache.empty(tokens // BLOCK_SIZE, BLOCK_SIZE, heads, dim, GROUP, scale_format=storage, device="cuda")
            for _ in range(count)
        ]
        jobs = [lambda x=x, c=c: way(x[0], x[1], c, slots) for x, c in zip(k, caches)]
        took, size = microseconds(jobs, repetitions, card), write_bytes(tokens, heads, dim, scale_bytes)
        rows.append(Row("write K and V", shape, label, took, size, size / took / 1000, size / took / limit))

    for native, label in paths():
        way = functools.partial(write_kv, native=native)
        job(way, torch.float32, 4, f"fp8lab, float32 scales{label}")
        job(way, E8M0FNU, 1, f"fp8lab, E8M0 scales{label}")
    if torch.cuda.get_device_capability() >= (8, 9):
        job(torch.compile(eager_write), torch.float32, 4, "torch.compile of eager")
    return rows


def measure_attention(
    batch: int, heads: int, kv_heads: int, dim: int, tokens: int, repetitions: int, card: Card
) -> list[Row]:
    shape = f"batch {batch}, {heads}/{kv_heads} heads of {dim}, {tokens} tokens"
    moved = attention_bytes(batch, heads, kv_heads, dim, tokens, 1, 4)
    limit = copy_rate(moved, repetitions, card)
    rows = []

    def row(way: str, job: Callable[[], object], size: int) -> None:
        took = microseconds([job], repetitions, card)
        rows.append(Row("decode attention", shape, way, took, size, size / took / 1000, size / took / limit))

    dtype = sixteen_bits()
    query = torch.randn(batch, heads, dim, dtype=dtype, device="cuda")
    pages = -(-tokens // BLOCK_SIZE)
    cache = KVCache.empty(batch * pages, BLOCK_SIZE, kv_heads, dim, GROUP, device="cuda")
    for name in "kv":
        cache.part(name)[0].random_(0, 0x78)
        cache.part(name)[1].uniform_(0.001, 0.01)
    table = torch.randperm(batch * pages, device="cuda").view(batch, pages).int()
    lengths = torch.full((batch,), tokens, dtype=torch.int32, device="cuda")
    for native, label in paths():
        attend = functools.partial(paged_attention, query, cache, table, lengths, native=native)
        row(f"fp8lab, FP8 pages{label}", attend, moved)
    k, v = torch.randn(2, batch, kv_heads, tokens, dim, dtype=dtype, device="cuda")
    peer = torch.nn.functional.scaled_dot_product_attention
    job = functools.partial(peer, query[:, :, None], k, v, enable_gqa=True)
    row(f"torch SDPA, {str(dtype)[6:]}", job, attention_bytes(batch, heads, kv_heads, dim, tokens, 2, 0))
    return rows


def machine() -> dict[str, str]:
    import triton

    driver = "unknown (no nvidia-smi)"
    if shutil.which("nvidia-smi"):
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        driver = " ".join(subprocess.run(asked, capture_output=True, text=True).stdout.split())

    return {
        "card": torch.cuda.get_device_name(),
        "capability": "sm_{}{}".format(*torch.cuda.get_device_capability()),
        "driver": driver,
        "torch": torch.__version__,
        "cuda": torch.version.cuda or f"HIP {torch.version.hip}",
        "triton": triton.__version__,
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
    }


def counted() -> str:
    """What is known without a card: bytes, and the microseconds that 4.8 TB/s (H200, by its data sheet) would need
    for them."""
    lines = [
        "not measured: no GPU here. Counted from the code, with the floor that 4.8 TB/s (H200 data sheet) would set:"
    ]
    for shape in WRITE_SHAPES:
        size = write_bytes(*shape, 4)
        lines.append(f"  write K and V {'x'.join(map(str, shape)):<16} {size:>12,} bytes  floor {size / 4.8e6:8.1f} us")
    for shape in ATTENTION_SHAPES:
        small, large = attention_bytes(*shape, 1, 4), attention_bytes(*shape, 2, 0)
        lines.append(f"  attention {shape} {small:>14,} bytes in FP8, {large / small:.3f} x as many in bfloat16")
    return "\n".join([*lines, QUOTED])


def interpreted() -> bool:
    from fp8lab.kernels.bits import INTERPRETED

    return INTERPRETED


def measure(repetitions: int) -> tuple[list[Row], list[str]]:
    """(what was measured, a line for every shape that the card has no memory for)."""
    rows, left_out, card = [], [], Card()
    jobs = [(measure_write, shape) for shape in WRITE_SHAPES] + [(measure_attention, s) for s in ATTENTION_SHAPES]
    for way, shape in jobs:
        try:
            rows += way(*shape, repetitions, card)
        except torch.cuda.OutOfMemoryError:
            left_out.append(f"not measured: {way.__name__}{shape} does not fit into this card's memory")
        torch.cuda.empty_cache()
    return rows, left_out


def says(differing: dict[str, int] | None) -> str:
    """Whether the native path gives the bytes of the integers."""
    if differing is None:
        return f"native FP8: none here ({why_not_native(torch.device('cuda'))})"
    if any(differing.values()):
        return f"native FP8: WRONG, codes that differ from the integer path: {differing}"
    return "native FP8: every byte as on the integer path"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 repetitions instead of 200")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print(counted())
        return 0
    if why_not() or interpreted():
        print(f"not measured: {why_not() or 'TRITON_INTERPRET is set, and its interpreter is no GPU: unset it'}")
        return 1
    differing = differing_bytes() if len(paths()) > 1 else None
    rows, left_out = measure(20 if args.quick else 200)
    about = machine()
    print(", ".join(f"{k} {v}" for k, v in about.items()))
    for row in rows:
        print(
            f"{row.job:<17} {row.shape:<44} {row.way:<24} {row.microseconds:9.1f} us "
            f"{row.gb_per_s:8.0f} GB/s {row.of_copy:6.1%} of copy"
        )
    print("\n".join([*left_out, says(differing), QUOTED]))
    RESULTS.mkdir(exist_ok=True)
    name = about["card"].lower().replace(" ", "-")
    path = RESULTS / f"gpu-{name}.json"
    path.write_text(
        json.dumps(
            {
                "machine": about,
                "quoted": QUOTED,
                "native path, differing bytes": differing,
                "left out": left_out,
                "rows": [asdict(r) for r in rows],
            },
            indent=1,
        )
        + "\n"
    )
    print(f"written to {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path.name}")
    return 1 if differing and any(differing.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
