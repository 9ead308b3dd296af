"""Compile every kernel ahead of time, without a GPU, and print what came out as JSON: run by test_kernels_compile.py.

    python kernel_compiler.py 75 90        every kernel for these capabilities; from sm_89 on the native path as well
    python kernel_compiler.py --refused    what the compiler says of the native path below sm_89
    python kernel_compiler.py --casts      what Triton makes of its own FP8 cast
    python kernel_compiler.py --widest     the kernels that hold a group, with the widest one that they are given
    python kernel_compiler.py --heads      attention at head_dim 256

A process of its own: the tests' process decorates the kernels for the interpreter.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

from fp8lab.formats import E4M3FN, E5M2
from fp8lab.kernels.attend import MOST_SPLITS, tile
from fp8lab.kernels.attention import attend_kernel, merge_kernel
from fp8lab.kernels.bits import format_bits
from fp8lab.kernels.cache import write_kernel
from fp8lab.kernels.group import dequantize_kernel, quantize_kernel
from fp8lab.kernels.launch import WIDEST_COMPILED

CAPABILITIES = (75, 80, 86, 89, 90)
ALIGNED = 16
DTYPES = {"*fp32": torch.float32, "*bf16": torch.bfloat16, "*fp16": torch.float16}


def cases(native: bool = False) -> dict[str, tuple]:
    """name -> (kernel, types of pointers and floats, constants). Every other argument is an int32 divisible by 16.

    The native path with float32 scales only: how a scale is stored is none of its business.
    """
    found = {}
    for fmt in (E4M3FN, E5M2):
        bits = format_bits(fmt)._asdict()
        reading = {k: v for k, v in bits.items() if k != "NAN_CODE"}
        groups = dict(GROUP=64, GROUPS=64, BLOCK=64, EVEN=True)
        writing = dict(QMAX=fmt.max_finite, LARGEST=7.0e35)
        for e8m0 in (False,) if native else (False, True):
            scale = "*u8" if e8m0 else "*fp32"
            label = f"{fmt.name}{'-e8m0' if e8m0 else ''}{'-native' if native else ''}"
            common = dict(E8M0=e8m0, NATIVE=native)
            for x in DTYPES:
                pointers = dict(x_ptr=x, codes_ptr="*u8", scales_ptr=scale)
                constants = {**groups, **bits, **writing, **common}
                found[f"quantize {label} {x}"] = (quantize_kernel, pointers, constants)
                found[f"write {label} {x}"] = (write_kernel, {**pointers, "slots_ptr": "*i64"}, constants)
                pointers = dict(codes_ptr="*u8", scales_ptr=scale, out_ptr=x)
                found[f"dequantize {label} {x}"] = (dequantize_kernel, pointers, {**groups, **reading, **common})
                pointers = dict(
                    q_ptr=x, k_ptr="*u8", k_scale_ptr=scale, v_ptr="*u8", v_scale_ptr=scale,
                    table_ptr="*i32", lengths_ptr="*i32",
                    out_ptr="*fp32", peak_ptr="*fp32", sum_ptr="*fp32", softmax_scale="fp32",
                )  # fmt: skip
                constants = dict(
                    SHARING=4, QUERIES=16, TOKENS=tile(DTYPES[x], 128)[0], K_DIM=128, V_DIM=128,
                    **reading, **common, TF32=x == "*fp16", INTERPRETED=False,
                )  # fmt: skip
                found[f"attend {label} {x}"] = (attend_kernel, pointers, constants)
    for out in () if native else DTYPES:
        pointers = dict(mean_ptr="*fp32", peak_ptr="*fp32", sum_ptr="*fp32", lengths_ptr="*i32", out_ptr=out)
        found[f"merge {out}"] = (merge_kernel, pointers, dict(SPLITS=MOST_SPLITS, V_DIM=128))
    return found


def compile_case(kernel, types: dict, constants: dict, capability: int):
    warps = tile(DTYPES[types["q_ptr"]], constants["K_DIM"])[1] if "q_ptr" in types else 4
    names = kernel.arg_names
    signature = {n: "constexpr" if n in constants else types.get(n, "i32") for n in names}
    aligned = {
        (i,): [["tt.divisibility", ALIGNED]] for i, n in enumerate(names) if signature[n] not in ("constexpr", "fp32")
    }
    source = ASTSource(kernel, signature, {(names.index(n),): value for n, value in constants.items()}, aligned)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": warps})


def resources(compiled, capability: int) -> dict:
    """Registers and spilled bytes as ptxas counts them, the widths of the loads and stores of global memory, and what
    tensor cores multiply."""
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
        "conversions": conversions(ptx),
        "tensor_cores": sorted(set(re.findall(r"\b(?:mma|wgmma)\.[\w.:]*?\.(tf32|bf16|f16)\.", ptx))),
        "true_division": "div.rn.f32" in ptx,
    }


def conversions(ptx: str) -> list[str]:
    """The conversions that pass through float16 or FP8, "cvt.rz.f16.f32": every rounding on the way to a code."""
    return sorted(c for c in set(re.findall(r"\bcvt(?:\.\w+)+", ptx)) if re.search(r"\.f16|\.e[45]m[23]", c))


@triton.jit
def cast_kernel(x_ptr, out_ptr, E4M3: tl.constexpr):
    """Triton's own cast from float32, which the kernels do not use."""
    place = tl.arange(0, 1024)
    x = tl.load(x_ptr + place)
    codes = x.to(tl.float8e4nv) if E4M3 else x.to(tl.float8e5)
    tl.store(out_ptr + place, codes.to(tl.uint8, bitcast=True))


def say(**facts) -> None:
    print(json.dumps(facts), flush=True)


def refused(capability: int = 86) -> None:
    """What compiling the native path for an older card raises; "" where nothing is."""
    for name, case in cases(native=True).items():
        if name.endswith("*bf16"):
            with contextlib.redirect_stdout(sys.stderr):  # ptxas's own report
                try:
                    compile_case(*case, capability)
                    said = ""
                except Exception as problem:
                    said = str(problem)
                    while problem := problem.__cause__:  # the device function inside the kernel, and what it called
                        said += f"\n{problem}"
            say(kernel=name, sm=capability, said=said)


def casts() -> None:
    for capability in (89, 90):
        for e4m3 in (True, False):
            compiled = compile_case(cast_kernel, dict(x_ptr="*fp32", out_ptr="*u8"), dict(E4M3=e4m3), capability)
            say(sm=capability, e4m3=e4m3, conversions=conversions(compiled.asm["ptx"]), triton=triton.__version__)


def widest() -> None:
    """Not a power of two, so that there are masks, which take more registers. Odd sizes take even more, and spill."""
    wide = dict(GROUP=WIDEST_COMPILED - 8, GROUPS=1, BLOCK=WIDEST_COMPILED, EVEN=False)
    for capability in (75, 90):
        for name, (kernel, types, constants) in cases().items():
            if "GROUP" in constants and "E4M3FN *" in name:
                compiled = compile_case(kernel, types, {**constants, **wide}, capability)
                say(kernel=name, sm=capability, **resources(compiled, capability))


def heads() -> None:
    for capability in (75, 86, 89):  # the cards with the least shared memory
        for x, dtype in DTYPES.items():
            kernel, types, constants = cases()[f"attend E4M3FN {x}"]
            large = dict(K_DIM=256, V_DIM=256, TOKENS=tile(dtype, 256)[0])
            compiled = compile_case(kernel, types, {**constants, **large}, capability)
            say(kernel=f"attend {x}", sm=capability, shared=compiled.metadata.shared)


def everything(capability: int) -> None:
    for native in (False, True) if capability >= 89 else (False,):
        for name, case in cases(native).items():
            say(kernel=name, sm=capability, **resources(compile_case(*case, capability), capability))


if __name__ == "__main__":
    about = {"--refused": refused, "--casts": casts, "--widest": widest, "--heads": heads}
    for word in sys.argv[1:]:
        about[word]() if word.startswith("--") else everything(int(word))
