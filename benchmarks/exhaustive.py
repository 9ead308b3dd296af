"""Every float32 there is, all 2^32 bit patterns, through the codec, against an exact oracle, torch and ml_dtypes.

    PYTHONPATH=tests python benchmarks/exhaustive.py [--formats E4M3FN E5M2 ...] [--workers 2] [--json FILE]

The oracle (tests/oracles/exact.py) knows, from fractions, the last float32 that goes to each code, and writes the
expected codes interval by interval. Compared with it, byte for byte: `fp8lab.encode` and the compiled encoder,
saturating and not (NaN, in E5M2 infinity). torch is clamped first and compared saturating; ml_dtypes does not saturate;
in both every NaN code counts as NaN. An interrupted run goes on where it stopped; other code or versions start afresh.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import ml_dtypes
import numpy as np
import torch

import fp8lab
from fp8lab import codec_compiled, rounding
from fp8lab.formats import FORMATS

try:
    from oracles import exact, foreign
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
except ImportError as error:
    raise SystemExit(
        f"{error}. Run it as PYTHONPATH=tests python benchmarks/exhaustive.py (make bench does), with rich installed."
    ) from None

NAMES = ("E4M3FN", "E5M2", "E4M3FNUZ", "E5M2FNUZ")
CHUNK_BITS = 24  # 256 chunks of 2^24 patterns
CHUNKS = 1 << (32 - CHUNK_BITS)
SAMPLES = [1 << power for power in range(33 - CHUNK_BITS)]


def not_saturating(name: str) -> str:
    return "inf" if FORMATS[name].has_inf else "nan"


def check_chunk(name: str, chunk: int, compiled: bool) -> dict[str, dict]:
    """Mismatches of one chunk, per comparison: how many, and the first as [bit pattern, got, want]."""
    torch.set_num_threads(1)
    first = chunk << CHUNK_BITS
    bits = np.arange(first, first + (1 << CHUNK_BITS), dtype=np.uint32)
    x = torch.from_numpy(bits.view(np.float32))
    saturated, other = np.empty(len(bits), np.uint8), np.empty(len(bits), np.uint8)
    exact.fill(name, "saturate", first, saturated)
    exact.fill(name, not_saturating(name), first, other)
    found = {}
    for overflow, want in (("saturate", saturated), (not_saturating(name), other)):
        found[f"encode {overflow}"] = differences(fp8lab.encode(x, name, overflow=overflow).numpy(), want, first)
        if compiled:
            codes = codec_compiled.encode(x, name, overflow=overflow).numpy()
            found[f"compiled {overflow}"] = differences(codes, want, first)
    found["torch saturate"] = differences(foreign.torch_encode(x.numpy(), name), saturated, first, name)
    found[f"ml_dtypes {not_saturating(name)}"] = differences(foreign.ml_encode(x.numpy(), name), other, first, name)
    return found


def differences(got: np.ndarray, want: np.ndarray, first: int, name: str | None = None) -> dict:
    if np.array_equal(got, want):
        return {"count": 0, "first": None}
    where = np.flatnonzero(got != want) if name is None else foreign.mismatches(got, want, name)
    if not len(where):
        return {"count": 0, "first": None}
    return {"count": len(where), "first": [first + int(where[0]), int(got[where[0]]), int(want[where[0]])]}


# ---- what is kept between runs


def fingerprint() -> str:
    """Of everything the result depends on: the code under test, the oracle, the versions of the others."""
    digest = hashlib.sha256(f"{torch.__version__} {ml_dtypes.__version__} {np.__version__} {CHUNK_BITS}".encode())
    folder = Path(rounding.__file__).parent
    names = ("float_format", "formats", "rounding", "codec", "codec_arguments", "codec_compiled")
    names = [*(f"{name}.py" for name in names), "native/__init__.py", "native/build.py", "native/kernels.cpp"]
    for path in [*(folder / name for name in names), Path(exact.__file__), Path(foreign.__file__)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def load(path: Path, fresh: bool) -> dict:
    """{"fingerprint", "done": {format: {chunk: result}}, "seconds": {format: ...}}."""
    if path.exists() and not fresh:
        try:
            state = json.loads(path.read_text())
        except json.JSONDecodeError:
            state = {}
        if state.get("fingerprint") == fingerprint():
            return state
    return {"fingerprint": fingerprint(), "done": {}, "seconds": {}}


def save(path: Path, state: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".part")
    whole.write_text(json.dumps(state))
    os.replace(whole, path)


# ---- the run


def run_format(name: str, state: dict, path: Path, arguments: argparse.Namespace, progress: Progress) -> None:
    done = state["done"].setdefault(name, {})
    chosen = range(0, CHUNKS, CHUNKS // arguments.sample)
    task = progress.add_task(name, total=len(chosen), completed=sum(str(chunk) in done for chunk in chosen))
    begin, before = time.perf_counter(), state["seconds"].get(name, 0.0)
    spawn = multiprocessing.get_context("spawn")  # torch and fork do not mix
    with ProcessPoolExecutor(arguments.workers, mp_context=spawn) as pool:
        jobs = {
            pool.submit(check_chunk, name, chunk, not arguments.no_compiled): chunk
            for chunk in chosen
            if str(chunk) not in done
        }
        try:
            for job in as_completed(jobs):
                done[str(jobs[job])] = job.result()
                state["seconds"][name] = before + time.perf_counter() - begin
                progress.advance(task)
                if len(done) % 8 == 0:
                    save(path, state)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            save(path, state)


def summary(name: str, state: dict) -> dict:
    chunks = state["done"][name].values()
    comparisons = {}
    for who in next(iter(chunks)):
        firsts = [chunk[who]["first"] for chunk in chunks if chunk[who]["first"]]
        count = sum(chunk[who]["count"] for chunk in chunks)
        comparisons[who] = {"mismatches": count, "first": min(firsts, default=None)}
    return {
        "patterns": len(chunks) << CHUNK_BITS,
        "seconds": round(state["seconds"].get(name, 0.0), 1),
        "comparisons": comparisons,
    }


def report(name: str, row: dict) -> bool:
    print(f"{name}: {row['patterns']:,} float32 bit patterns, {row['seconds']} s")
    for who, result in row["comparisons"].items():
        line = f"  {who:20s} {result['mismatches']:,} mismatches"
        if result["first"]:
            bits, got, want = result["first"]
            line += f"; first at {bits:#010x}: {got:#04x}, exact {want:#04x}"
        print(line)
    return not any(result["mismatches"] for result in row["comparisons"].values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--formats", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--state", type=Path, default=Path("build/exhaustive.json"), help="where progress is kept")
    parser.add_argument("--fresh", action="store_true", help="forget the progress of an earlier run")
    parser.add_argument("--sample", type=int, default=CHUNKS, choices=SAMPLES, help="chunks, evenly spread; 256: all")
    parser.add_argument("--no-compiled", action="store_true", help="without the compiled encoder (no C++ compiler)")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    arguments = parser.parse_args()
    state = load(arguments.state, arguments.fresh)
    columns = (TextColumn("{task.description:9}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    rows, clean = {}, True
    with Progress(*columns) as progress:
        for name in arguments.formats:
            run_format(name, state, arguments.state, arguments, progress)
            rows[name] = summary(name, state)
    for name, row in rows.items():
        clean &= report(name, row)
    if arguments.json:
        about = {"date": time.strftime("%Y-%m-%d"), "torch": torch.__version__, "numpy": np.__version__}
        about |= {"ml_dtypes": ml_dtypes.__version__, "workers": arguments.workers, "cores": os.cpu_count()}
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({"environment": about, "formats": rows}, indent=1) + "\n")
    if not clean:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
