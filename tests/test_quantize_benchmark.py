"""The grouped benchmark runs, compares bytes on every path, and names the peers that are missing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_benchmark_runs_on_a_small_cache(root):
    command = [sys.executable, "benchmarks/grouped.py", "--shape", "2", "64", "128", "--rounds", "2", "--threads", "1"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    for words in ("memcpy", "double loop, scaled up", "compiled, out=", "dequantize compiled, out=", "peak memory"):
        assert words in done.stdout
    assert done.stdout.count("same bytes") >= 8
