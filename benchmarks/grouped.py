"""Grouped quantization of a KV cache, [2, 8, 4096, 128] in groups of 64: ladder from the double loop to compiled loops.

    python benchmarks/grouped.py [--rounds 15] [--threads 1 2] [--shape 2 8 4096 128] [--skip-compile]

Every contender does the same job, E4M3FN codes and float32 scales, in one interleaved run with memcpy: each round times
each of them once, the best round counts, and the figure is input bytes per second over those of memcpy (one read and
one write of the input). Codes and scales of every path are compared byte for byte before anything is timed. The double
loop is timed on a few rows and scaled up. Peak memory is that of a process that does nothing else, input included.

From bfloat16 the peers compute in bfloat16, which gives other codes and scales; what they take for the same bytes, from
a float32 copy made first, stands beside it.

Goals are for float32. The bound on them is 1.58: codes and scales are fewer bytes than a copy (bfloat16: 1.31). Where
the copy does not write past the caches it is 2.36 (bfloat16: 1.96): see benchmarks/codec.py.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable

import torch

from fp8lab.formats import E4M3FN, exact
from fp8lab.quantize import Group, quantize

SIZE = 64
FLOAT32_GOALS = {"eager, out=": 0.24, "compiled, out=": 0.8, "dequantize compiled, out=": 1.4}
LADDER_GOAL, MEMORY_GOAL = 15_000, 1.6
PEERS, SAME = ("torchao", "optimum-quanto"), "same bytes"
PEAK = """
import ctypes, torch
from fp8lab.quantize import Group, quantize
def status(key):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(key))
quantize(torch.randn(8192, 128, dtype=torch.{dtype}), "E4M3FN", Group({size}))  # pages of code, threads
trim = ctypes.CDLL(None).malloc_trim
trim(0)  # memory freed since the start would hide what comes now
before = status("VmRSS")
x = torch.empty({shape}, dtype=torch.{dtype})
for part in x.view(-1, x.shape[-1]).split(4096):
    part.copy_(torch.randn(part.shape))
trim(0)  # the random numbers are not part of the job
open("/proc/self/clear_refs", "w").write("5")  # the high-water mark starts again here
q = quantize(x, "E4M3FN", Group({size}))
print((status("VmHWM") - before) / x.nbytes)
"""


def double_loop(x: torch.Tensor, size: int = SIZE) -> tuple[torch.Tensor, torch.Tensor]:
    """The readable way: a loop over groups, a loop over values, a search for the nearest of 127 grid points."""
    grid = [float(exact(code, E4M3FN)) for code in range(0x7F)]
    rows = x.reshape(-1, x.shape[-1])
    codes = torch.zeros(rows.shape, dtype=torch.uint8)
    scales = torch.ones(len(rows), rows.shape[1] // size)
    for row in range(len(rows)):
        for group in range(rows.shape[1] // size):
            values = rows[row, group * size : (group + 1) * size].float()
            scale = values.abs().max() / E4M3FN.max_finite
            scales[row, group] = scale
            for i in range(size):
                scaled = float(values[i] / scale)
                code = min(range(0x7F), key=lambda c: (abs(grid[c] - abs(scaled)), c & 1))
                codes[row, group * size + i] = code | (0x80 if scaled < 0 else 0)
    return codes.reshape(x.shape), scales.reshape(*x.shape[:-1], -1)


def torchao_way() -> Callable | None:
    """torchao's own two functions; None when it is not installed."""
    try:
        from torchao.quantization.quant_primitives import _choose_scale_float8, _quantize_affine_float8
    except ImportError:
        return None

    def run(x):
        block = [1] * (x.ndim - 1) + [SIZE]
        scales = _choose_scale_float8(x, block)
        return _quantize_affine_float8(x, scales).view(torch.uint8), scales

    return run


def quanto_way() -> Callable | None:
    """optimum-quanto's absmax scale and symmetric quantizer, a row for each group; None when it is not installed."""
    try:
        from optimum.quanto import absmax_scale, qfloat8_e4m3fn
    except ImportError:
        return None

    def run(x):
        groups = x.view(-1, SIZE)
        scales = absmax_scale(groups, qfloat8_e4m3fn, axis=0)
        codes = torch.ops.quanto.quantize_symmetric(groups, dtype=torch.float8_e4m3fn, axis=0, scale=scales)
        return codes.view(torch.uint8).view(x.shape), scales.view(*x.shape[:-1], -1)

    return run


def contenders(x: torch.Tensor, compiled: bool) -> dict[str, Callable]:
    """Name -> call, all returning (codes, scales) but memcpy and the dequantizers, which restore x's own dtype."""
    target, restored = torch.empty_like(x), torch.empty_like(x)
    mine, theirs = quantize(x, E4M3FN, Group(SIZE)), quantize(x, E4M3FN, Group(SIZE))

    def ours(**options):
        q = quantize(x, E4M3FN, Group(SIZE), **options)
        return q.payload, q.stored_scales

    calls = {
        "memcpy": lambda: target.copy_(x),
        "eager, out=": lambda: ours(out=mine),
        "eager, fresh memory": ours,
        "dequantize eager, out=": lambda: mine.dequantize(out=restored),
    }
    if compiled:
        calls["compiled, out="] = lambda: ours(out=theirs, compiled=True)
        calls["compiled, fresh memory"] = lambda: ours(compiled=True)
        calls["dequantize compiled, out="] = lambda: mine.dequantize(out=restored, compiled=True)
    for name, way in (("torchao", torchao_way()), ("optimum-quanto", quanto_way())):
        if way is None:
            print(f"  {name} is not installed: left out (pip install --no-deps torchao optimum-quanto)")
        else:
            calls[name] = lambda way=way: way(x)
            if x.dtype != torch.float32:  # left to themselves they compute in x's dtype, which gives other codes
                calls[f"{name}, from float32"] = lambda way=way: way(x.float())
    return calls


def check_same(x: torch.Tensor, calls: dict[str, Callable]) -> dict[str, str]:
    """What each contender's codes and scales have to do with ours; ours must be equal on every path."""
    expected = quantize(x, E4M3FN, Group(SIZE))
    verdicts = {}
    for name, call in calls.items():
        if name == "memcpy" or name.startswith("dequantize"):
            continue
        codes, scales = call()
        wrong = int((codes != expected.codes).sum())
        same_scales = bool((scales.float() == expected.scales).all())
        equal = not wrong and same_scales
        verdicts[name] = SAME if equal else f"{wrong} codes differ, scales {'equal' if same_scales else 'differ'}"
        assert equal or name.startswith(PEERS), (name, verdicts[name])
    if "dequantize compiled, out=" in calls:
        values = calls["dequantize eager, out="]().clone()
        assert torch.equal(calls["dequantize compiled, out="](), values)
    return verdicts


def best_times(calls: dict[str, Callable], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(calls, float("inf"))
    for number in range(rounds + 2):  # the first two warm up
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            if number >= 2:
                best[name] = min(best[name], time.perf_counter() - began)
        if sys.stderr.isatty():
            print(f"\r  round {number + 1} of {rounds + 2}", end="", file=sys.stderr, flush=True)
    return best


def time_of_double_loop(x: torch.Tensor, rows: int = 24) -> float:
    few = x.reshape(-1, x.shape[-1])[:rows].clone()
    began = time.perf_counter()
    codes, scales = double_loop(few)
    spent = time.perf_counter() - began
    q = quantize(few, E4M3FN, Group(SIZE))
    assert torch.equal(codes, q.codes) and torch.equal(scales, q.scales)
    return spent * x.numel() / few.numel()


def report(x: torch.Tensor, threads: int, rounds: int, compiled: bool) -> None:
    torch.set_num_threads(threads)
    print(f"\n{x.dtype}, {list(x.shape)}, groups of {SIZE}, {threads} thread{'s' * (threads > 1)}")
    calls = contenders(x, compiled)
    verdicts = check_same(x, calls)
    best = best_times(calls, rounds)
    loop = time_of_double_loop(x)
    memcpy = best["memcpy"]
    print(f"\r  {'':32}{'ms':>9}{'x memcpy':>10}{'x loop':>10}   goal")
    print(f"  {'double loop, scaled up':32}{loop * 1e3:9.0f}{memcpy / loop:10.6f}{1:10}")
    for name, seconds in sorted(best.items(), key=lambda item: -item[1]):
        ratio = memcpy / seconds
        goal = FLOAT32_GOALS.get(name) if x.dtype == torch.float32 else None
        verdict = "" if goal is None else f"{goal:.2f}: {'reached' if ratio >= goal else 'MISSED'}"
        ladder = "" if name == "memcpy" or name.startswith("dequantize") else f"{loop / seconds:10.0f}"
        print(
            f"  {name:32}{seconds * 1e3:9.2f}{ratio:10.3f}{ladder:>10}   {verdict}  {verdicts.get(name, '')}".rstrip()
        )
    ours = [name for name in ("eager, out=", "compiled, out=") if name in best]
    peers = {name: seconds for name, seconds in best.items() if name.startswith(PEERS)}
    steps = ", ".join(f"{name[:-6]} {loop / best[name]:.0f}" for name in ours)
    least = min(loop / best[name] for name in ours)
    verdict = "" if x.dtype != torch.float32 else ": reached" if least >= LADDER_GOAL else ": MISSED"
    print(f"  times the double loop: {steps} (goal {LADDER_GOAL}{verdict})")
    for job, theirs in (
        ("doing the same job", [seconds for name, seconds in peers.items() if verdicts[name] == SAME]),
        ("that gives other codes", [seconds for name, seconds in peers.items() if verdicts[name] != SAME]),
    ):
        if theirs:
            ratios = ", ".join(f"{name[:-6]} {min(theirs) / best[name]:.1f} x" for name in ours)
            print(f"  as fast as the fastest peer {job}: {ratios}")


def report_memory(shape: list[int], dtype: str) -> None:
    program = PEAK.format(shape=shape, dtype=dtype, size=SIZE)
    try:
        peak = float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"  peak memory: not measured here ({error}); it needs Linux's /proc/self/clear_refs")
        return
    verdict = "reached" if peak <= MEMORY_GOAL else "MISSED"
    print(f"  peak memory, eager, {dtype}: {peak:.2f} x input, input included (goal at most {MEMORY_GOAL}: {verdict})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15, help="timed rounds, the best of which counts")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2], help="numbers of threads to measure with")
    parser.add_argument("--shape", type=int, nargs="+", default=[2, 8, 4096, 128], help="shape of the cache")
    parser.add_argument(
        "--skip-compile", action="store_true", help="leave the compiled path out (no C++ compiler here)"
    )
    options = parser.parse_args()
    for threads in options.threads:
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.randn(options.shape, generator=torch.Generator().manual_seed(0)).to(dtype)
            report(x, threads, options.rounds, not options.skip_compile)
    print()
    for dtype in ("float32", "bfloat16"):
        report_memory(options.shape, dtype)


if __name__ == "__main__":
    main()
