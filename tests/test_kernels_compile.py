"""Every kernel compiles for every generation that the course names, from a T4 to an H100, on a machine without a GPU.

What ptxas says of the result is held too: nothing spills, memory moves 16 bytes at a time, divisions are true ones,
and no value passes through float16 on its way to FP8, on the integer path and from sm_89 on the native one.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fake_gpu import SHARED_MEMORY
from triton_here import needs_triton

from fp8lab import encode

pytestmark = needs_triton
SCRIPT = Path(__file__).parent / "kernel_compiler.py"
CAPABILITIES = (75, 80, 86, 89, 90)
KERNELS = 51  # 4 kernels x 2 formats x 2 kinds of scales x 3 dtypes, and the merge x 3
NATIVE_KERNELS = 24  # 4 kernels x 2 formats x 3 dtypes
ENCODE = {"E4M3FN-native": "cvt.rn.satfinite.e4m3x2.f32", "E5M2-native": "cvt.rn.satfinite.e5m2x2.f32"}
DECODE = {"E4M3FN-native": "cvt.rn.f16x2.e4m3x2", "E5M2-native": "cvt.rn.f16x2.e5m2x2"}


def compiler_says(folder: Path, *words: str) -> list[dict]:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(folder)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words], env=environment, capture_output=True, text=True, timeout=800
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module", params=CAPABILITIES, ids=lambda c: f"sm_{c}")
def compiled(request, tmp_path_factory):
    return compiler_says(tmp_path_factory.mktemp("triton"), str(request.param))


def multiplied(dtype: str, capability: int) -> list[str]:
    """What tensor cores are given for such a query. A float32 query is multiplied exactly, and so is every other
    before sm_80, whose tensor cores take float16 only; float16's range is too small for K and V."""
    return [] if dtype == "*fp32" or capability < 80 else ["tf32" if dtype == "*fp16" else "bf16"]


@pytest.mark.slow
def test_all_compile_without_spills_at_full_width(compiled):
    native = sum("native" in c["kernel"] for c in compiled)
    assert len(compiled) - native == KERNELS and native == (NATIVE_KERNELS if compiled[0]["sm"] >= 89 else 0)
    spilled = [c for c in compiled if c["spilled"]]
    assert not spilled, spilled
    for case in compiled:
        kernel, label, dtype = (case["kernel"].split() + [""])[:3]
        assert "v4.b32" in case["loads"], case  # 16 bytes a thread
        if kernel in ("quantize", "write", "dequantize"):
            assert "v4.b32" in case["stores"], case
        if kernel in ("quantize", "write"):
            assert case["true_division"], case
            allowed = {"cvt.f32.f16"} if dtype == "*fp16" else set()  # the input is float16: widened, exactly
            encoding = {ENCODE[label]} if label in ENCODE else set()
            assert set(case["conversions"]) <= allowed | encoding and encoding <= set(case["conversions"]), case
        if kernel in ("dequantize", "attend"):
            assert (DECODE.get(label) in case["conversions"]) == (label in DECODE), case
        if kernel == "attend":
            assert case["tensor_cores"] == multiplied(dtype, case["sm"]), case
        assert case["shared"] <= 64 * 1024, case  # a T4 has 64 KiB per block


@pytest.mark.slow
def test_the_widest_group_fits_registers(tmp_path):
    """What is wider is left to torch: it spills, and from four times as many values on it takes half a minute to
    compile."""
    said = compiler_says(tmp_path, "--widest")
    assert len(said) == 2 * 3 * 3 and not [case for case in said if case["spilled"]], said


def test_attention_at_head_dim_256_fits_shared_memory(tmp_path):
    """32 tokens of bfloat16 would not, on sm_86 and sm_89."""
    said = compiler_says(tmp_path, "--heads")
    assert len(said) == 9 and not [case for case in said if case["shared"] > SHARED_MEMORY[case["sm"]]], said


def test_the_native_path_is_refused_by_the_compiler_below_sm_89(tmp_path):
    """Should a launcher ever ask for it. E5M2 is only read there, by float16, whose upper half it is."""
    for case in compiler_says(tmp_path, "--refused"):
        kernel, label, _ = case["kernel"].split()
        if label == "E4M3FN-native":
            assert "type fp8e4nv not supported in this architecture" in case["said"], case
        elif kernel in ("quantize", "write"):
            assert "requires .target sm_89 or higher" in case["said"], case
        else:
            assert case["said"] == "", case


def test_the_cast_of_triton_itself_passes_through_float16_on_sm_89(tmp_path):
    """Why native.py writes the instruction down. When this fails, a newer Triton is right: say so in lesson 10."""
    for case in compiler_says(tmp_path, "--casts"):
        kind = "e4m3x2" if case["e4m3"] else "e5m2x2"
        if case["sm"] == 89:
            assert case["conversions"] == [f"cvt.rn.satfinite.{kind}.f16x2", "cvt.rz.f16.f32"], case
        else:
            assert case["conversions"] == [f"cvt.rn.satfinite.{kind}.f32"], case


def test_cut_to_float16_first_a_number_beside_a_tie_goes_the_wrong_way():
    """The example that the module and the lesson give, in numpy: 1.0625001 is above the middle of 0x38 and 0x39."""
    x = np.nextafter(np.float32(1.0625), np.float32(2))
    cut = (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)  # toward zero, 10 bits of mantissa are left
    assert f"{x:.8g}" == "1.0625001" and cut == np.float16(cut) == 1.0625
    assert encode([float(x), float(cut)]).tolist() == [0x39, 0x38]
