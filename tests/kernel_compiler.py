"""Compile every kernel ahead of time, without a GPU, and print what came out as JSON: run by test_kernels_compile.py.

A process of its own: the tests' process decorates the kernels for the interpreter.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

from fp8lab.formats import E4M3FN, E5M2
from fp8lab.kernels.attend import tile
from fp8lab.kernels.attention import attend_kernel, merge_kernel
from fp8lab.kernels.bits import format_bits
from fp8lab.kernels.cache import write_kernel
from fp8lab.kernels.group import dequantize_kernel, quantize_kernel

CAPABILITIES = (75, 80, 86, 89, 90)
ALIGNED = 16


def cases() -> dict[str, tuple]:
    """name -> (kernel, types of pointers and floats, constants). Every other argument is an int32 divisible by 16."""
    found = {}
    for fmt in (E4M3FN, E5M2):
        bits = format_bits(fmt)._asdict()
        reading = {k: v for k, v in bits.items() if k != "NAN_CODE"}
        groups = dict(GROUP=64, GROUPS=64, BLOCK=64, EVEN=True)
        writing = dict(QMAX=fmt.max_finite, LARGEST=7.0e35)
        for e8m0 in (False, True):
            scale = "*u8" if e8m0 else "*fp32"
            label = f"{fmt.name}{'-e8m0' if e8m0 else ''}"
            for x in ("*fp32", "*bf16", "*fp16"):
                pointers = dict(x_ptr=x, codes_ptr="*u8", scales_ptr=scale)
                found[f"quantize {label} {x}"] = (
                    quantize_kernel,
                    pointers,
                    {**groups, **bits, **writing, "E8M0": e8m0},
                )
                found[f"write {label} {x}"] = (
                    write_kernel, {**pointers, "slots_ptr": "*i64"}, {**groups, **bits, **writing, "E8M0": e8m0}
                )  # fmt: skip
                pointers = dict(codes_ptr="*u8", scales_ptr=scale, out_ptr=x)
                found[f"dequantize {label} {x}"] = (dequantize_kernel, pointers, {**groups, **reading, "E8M0": e8m0})
                pointers = dict(
                    q_ptr=x, k_ptr="*u8", k_scale_ptr=scale, v_ptr="*u8", v_scale_ptr=scale,
                    table_ptr="*i32", lengths_ptr="*i32",
                    out_ptr="*fp32", peak_ptr="*fp32", sum_ptr="*fp32", score_scale="fp32",
                )  # fmt: skip
                constants = dict(
                    SHARING=4,
                    QUERIES=16,
                    TOKENS=tile(x == "*fp32")[0],
                    K_DIM=128,
                    V_DIM=128,
                    **reading,
                    E8M0=e8m0,
                    INTERPRETED=False,
                )
                found[f"attend {label} {x}"] = (attend_kernel, pointers, constants)
    for out in ("*fp32", "*bf16", "*fp16"):
        pointers = dict(partial_ptr="*fp32", peak_ptr="*fp32", sum_ptr="*fp32", out_ptr=out)
        found[f"merge {out}"] = (merge_kernel, pointers, dict(SPLITS=16, V_DIM=128))
    return found


def compile_case(kernel, types: dict, constants: dict, capability: int):
    warps = tile(types["q_ptr"] == "*fp32")[1] if "q_ptr" in types else 4
    names = kernel.arg_names
    signature = {n: "constexpr" if n in constants else types.get(n, "i32") for n in names}
    aligned = {
        (i,): [["tt.divisibility", ALIGNED]] for i, n in enumerate(names) if signature[n] not in ("constexpr", "fp32")
    }
    source = ASTSource(kernel, signature, {(names.index(n),): value for n, value in constants.items()}, aligned)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": warps})


def resources(compiled, capability: int) -> dict:
    """Registers and spilled bytes as ptxas counts them, and the widths of the loads and stores of global memory."""
    ptx = compiled.asm["ptx"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "k.ptx").write_text(ptx)
        command = [
            get_ptxas(capability).path,
            "-v",
            f"--gpu-name=sm_{capability}{'a' if capability == 90 else ''}",
            "k.ptx",
            "-o",
            "k.o",
        ]
        report = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr
    return {
        "registers": int(re.search(r"Used (\d+) registers", report)[1]),
        "spilled": sum(int(n) for n in re.findall(r"(\d+) bytes spill", report)),
        "loads": sorted(set(re.findall(r"ld\.global(?:\.[a-z]\w*)*?\.((?:v\d\.)?b\d+)", ptx))),
        "stores": sorted(set(re.findall(r"st\.global(?:\.[a-z]\w*)*?\.((?:v\d\.)?b\d+)", ptx))),
        "shared": compiled.metadata.shared,
        "fp16_path": "cvt.rn.f16.f32" in ptx or "cvt.rn.satfinite.e4m3" in ptx,
        "true_division": "div.rn.f32" in ptx,
    }


if __name__ == "__main__":
    wanted = sys.argv[1:] or [str(c) for c in CAPABILITIES]
    for capability in map(int, wanted):
        for name, case in cases().items():
            print(
                json.dumps(
                    {"kernel": name, "sm": capability, **resources(compile_case(*case, capability), capability)}
                ),
                flush=True,
            )
