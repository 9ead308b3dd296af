"""How fast the codec is, in multiples of a memory copy: encode and decode 2^24 values on one core and on two.

    python benchmarks/codec.py [--n 24] [--rounds 25] [--threads 1 2] [--json FILE]

Ways are interleaved: every round runs each of them once, a copy of the input first. The best round of each counts for
the goals, which other people's load disturbs least; the ratio of a median round (each way against the copy of its own
round) stands beside it. Bytes are compared before anything is timed. ml_dtypes and gfloat get fewer values (2^20,
2^16), their times are scaled up. Each thread count has a process of its own.

The bound: encoding float32 moves 5 bytes per value where the copy moves 8, so 1.6 is the most that memory allows;
bfloat16 3 against 4, so 1.33; decoding to float32 1.6 again, against a copy of float32. That holds where the copy
writes past the caches. Where it does not, each line that it writes is read first: it moves 12 bytes (bfloat16: 6), and
what does write past them may reach 2.4 (bfloat16: 2).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import gfloat
import ml_dtypes
import numpy as np
import torch
from gfloat.formats import format_info_ocp_e4m3

import fp8lab
from fp8lab import codec_compiled
from fp8lab.compiling import run_compiled
from fp8lab.formats import E4M3FN

E4M3, LIMIT = torch.float8_e4m3fn, 448.0
GOALS = [  # what, job, way, at least, of the way (None: of the copy)
    ("compiled encode, out=, is 1.4 x the copy", "encode float32", "fp8lab compiled, out=", 1.4, None),
    ("compiled decode, out=, is 1.2 x the copy", "decode", "fp8lab compiled, out=", 1.2, None),
    ("eager encode is as fast as torch's clamp and cast", "encode float32", "fp8lab", 1.0, "torch clamp + cast"),
    ("the same with out=", "encode float32", "fp8lab, out=", 1.0, "torch clamp + cast, out="),
    ("the same from bfloat16", "encode bfloat16", "fp8lab", 1.0, "torch clamp + cast"),
    ("eager decode, out=, is 5 x torch's cast", "decode", "fp8lab, out=", 5.0, "torch cast"),
]


class Way:
    """A function to time, and how many values one call handles."""

    def __init__(self, call: Callable, values: int) -> None:
        self.call, self.values, self.seconds = call, values, []


def gfloat_encode(x: np.ndarray) -> np.ndarray:
    return gfloat.encode_ndarray(format_info_ocp_e4m3, gfloat.round_ndarray(format_info_ocp_e4m3, x, sat=True))


def fused(function: Callable, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The same arithmetic under torch.compile, for comparison: what our own loops gain."""
    run_compiled(function, source, target)
    return target


def encode_ways(x: torch.Tensor) -> dict[str, Way]:
    n, copy, clamped = len(x), torch.empty_like(x), torch.empty_like(x)
    out = torch.empty(n, dtype=torch.uint8)
    cast = torch.empty(n, dtype=torch.uint8).view(E4M3)
    small, tiny = x[: 1 << 20].float().numpy(), x[: 1 << 16].double().numpy()
    if x.dtype == torch.bfloat16:
        small = small.astype(ml_dtypes.bfloat16)
    return {
        "copy": Way(lambda: copy.copy_(x), n),
        "torch clamp + cast": Way(lambda: x.clamp(-LIMIT, LIMIT).to(E4M3).view(torch.uint8), n),
        "torch clamp + cast, out=": Way(
            lambda: cast.copy_(torch.clamp(x, -LIMIT, LIMIT, out=clamped)).view(torch.uint8), n
        ),
        "fp8lab": Way(lambda: fp8lab.encode(x), n),
        "fp8lab, out=": Way(lambda: fp8lab.encode(x, out=out), n),
        "torch.compile, out=": Way(lambda: fused(codec_compiled.fused_encoder(E4M3FN, "saturate"), x, out), n),
        "fp8lab compiled, out=": Way(lambda: codec_compiled.encode(x, out=out), n),
        "ml_dtypes astype": Way(lambda: small.astype(ml_dtypes.float8_e4m3fn).view(np.uint8), len(small)),
        "gfloat arrays": Way(lambda: gfloat_encode(tiny).astype(np.uint8), len(tiny)),
    }


def decode_ways(codes: torch.Tensor) -> dict[str, Way]:
    n, source, copy, out = len(codes), torch.empty(len(codes)), torch.empty(len(codes)), torch.empty(len(codes))
    cast, raw = codes.view(E4M3), codes.numpy()
    small, tiny = raw[: 1 << 20].view(ml_dtypes.float8_e4m3fn), raw[: 1 << 16]
    return {
        "copy": Way(lambda: copy.copy_(source), n),
        "torch cast": Way(lambda: cast.to(torch.float32), n),
        "torch cast, out=": Way(lambda: out.copy_(cast), n),
        "fp8lab": Way(lambda: fp8lab.decode(codes), n),
        "fp8lab, out=": Way(lambda: fp8lab.decode(codes, out=out), n),
        "torch.compile, out=": Way(lambda: fused(codec_compiled.fused_decoder(E4M3FN), codes, out), n),
        "fp8lab compiled, out=": Way(lambda: codec_compiled.decode(codes, out=out), n),
        "ml_dtypes astype": Way(lambda: small.astype(np.float32), len(small)),
        "gfloat arrays": Way(lambda: gfloat.decode_ndarray(format_info_ocp_e4m3, tiny), len(tiny)),
    }


def check(ways: dict[str, Way], want: np.ndarray) -> None:
    """Every way gives the same result; also the warm-up."""
    for name, way in ways.items():
        result = way.call()
        if name == "copy":
            continue
        got = np.asarray(result)
        if not np.array_equal(got, want[: way.values]):
            raise SystemExit(f"{name}: {np.count_nonzero(got != want[: way.values])} results differ; nothing was timed")


def measure(ways: dict[str, Way], rounds: int) -> dict[str, dict[str, float]]:
    for _ in range(rounds):
        for way in ways.values():
            begin = time.perf_counter()
            way.call()
            way.seconds.append((time.perf_counter() - begin) / way.values)
    copies = ways["copy"].seconds
    return {
        name: {
            "ns": round(min(way.seconds) * 1e9, 4),
            "ratio": round(min(copies) / min(way.seconds), 4),
            "median_ratio": round(statistics.median(c / s for c, s in zip(copies, way.seconds)), 4),
        }
        for name, way in ways.items()
    }


def run(threads: int, n: int, rounds: int) -> dict[str, dict]:
    torch.set_num_threads(threads)
    x = torch.randn(n, generator=torch.Generator().manual_seed(0)) * 8
    narrow, codes = x.bfloat16(), fp8lab.encode(x)
    jobs = {
        "encode float32": (encode_ways(x), codes.numpy()),
        "encode bfloat16": (encode_ways(narrow), fp8lab.encode(narrow).numpy()),
        "decode": (decode_ways(codes), fp8lab.decode(codes).numpy()),
    }
    results = {}
    for job, (ways, want) in jobs.items():
        check(ways, want)
        results[job] = measure(ways, rounds)
    return results


def report(results: dict[str, dict], threads: int) -> None:
    for job, ways in results.items():
        title = f"{job}, {threads} thread{'s' if threads > 1 else ''}"
        print(f"\n{title:28s} {'ns/value':>14s} {'x copy':>8s} {'median':>8s}")
        for name, row in ways.items():
            print(f"  {name:26s} {row['ns']:14.3f} {row['ratio']:8.3f} {row['median_ratio']:8.3f}")
    print(f"\ngoals, {threads} thread{'s' if threads > 1 else ''}")
    for goal, reached, met in goals(results):
        print(f"  {'met ' if met else 'MISSED'} {reached:6.2f}  {goal}")


def goals(results: dict[str, dict]) -> list[tuple[str, float, bool]]:
    rows = []
    for goal, job, way, least, other in GOALS:
        ways = results[job]
        reached = ways[way]["ratio"] if other is None else ways[other]["ns"] / ways[way]["ns"]
        rows.append((goal, reached, reached >= least))
    return rows


def environment(arguments: argparse.Namespace) -> dict[str, object]:
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "ml_dtypes": ml_dtypes.__version__,
        "values": 1 << arguments.n,
        "rounds": arguments.rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=24, help="2^N values (default 24)")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(run(arguments.threads[0], 1 << arguments.n, arguments.rounds)))
        return
    about = environment(arguments)
    print(", ".join(f"{key} {item}" for key, item in about.items()))
    results = {}
    for threads in arguments.threads:
        command = [sys.executable, __file__, "--child", "--threads", str(threads)]
        command += ["--n", str(arguments.n), "--rounds", str(arguments.rounds)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.returncode)
        results[threads] = json.loads(done.stdout.splitlines()[-1])
        report(results[threads], threads)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"environment": about, "threads": results}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
