"""Every kernel compiles for every generation that the course names, from a T4 to an H100, on a machine without a GPU.

What ptxas says of the result is held too: nothing spills, memory moves 16 bytes at a time, divisions are true ones,
and no value passes through float16 on its way to FP8.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is Linux only: pip install triton")

SCRIPT = Path(__file__).parent / "kernel_compiler.py"
CAPABILITIES = (75, 80, 86, 89, 90)
KERNELS_PER_CAPABILITY = 51  # 4 kernels x 2 formats x 2 kinds of scales x 3 dtypes, and the merge x 3


@pytest.fixture(scope="module", params=CAPABILITIES, ids=lambda c: f"sm_{c}")
def compiled(request, tmp_path_factory):
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path_factory.mktemp("triton"))
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(request.param)], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_all_compile_without_spills_at_full_width(compiled):
    assert len(compiled) == KERNELS_PER_CAPABILITY
    spilled = [c for c in compiled if c["spilled"]]
    assert not spilled, spilled
    for case in compiled:
        kernel = case["kernel"].split()[0]
        assert "v4.b32" in case["loads"], case  # 16 bytes a thread
        if kernel in ("quantize", "write", "dequantize"):
            assert "v4.b32" in case["stores"], case
        if kernel in ("quantize", "write"):
            assert case["true_division"] and not case["fp16_path"], case
        assert case["shared"] <= 64 * 1024, case  # a T4 has 64 KiB per block
