"""Compile the solved kernels of lesson 10 ahead of time, without a GPU: test_lesson_10_gpu.py runs it on its own.

python lesson_kernel_compiler.py FILE CAPABILITY...     FILE holds the code cells of the solution edition
"""

from __future__ import annotations

import importlib.util
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

F, U, L, N = "*fp32", "*u8", "*i64", "i32"
CASES = {
    "absmax_kernel": (dict(x_ptr=F, absmax_ptr=F), dict(GROUP=64)),
    "quantize_kernel": (dict(x_ptr=F, codes_ptr=U, scales_ptr=F), dict(GROUP=64)),
    "quantize_ragged_kernel": (dict(x_ptr=F, codes_ptr=U, scales_ptr=F), dict(GROUP=24, BLOCK=32)),
    "dequantize_kernel": (dict(codes_ptr=U, scales_ptr=F, out_ptr=F), dict(GROUP=24, BLOCK=128)),
    "write_kernel": (dict(x_ptr=F, codes_ptr=U, scales_ptr=F, slots_ptr=L), dict(GROUP=16, BLOCK=16)),
    "split_kernel": (
        dict(q_ptr=F, k_ptr=U, k_scale_ptr=F, v_ptr=U, v_scale_ptr=F, table_ptr=L, acc_ptr=F, peak_ptr=F, sum_ptr=F,
             softmax_scale="fp32"), dict(DIM=64, GROUP=32, TOKENS=8),
    ),
    "merge_kernel": (dict(acc_ptr=F, peak_ptr=F, sum_ptr=F, out_ptr=F), dict(SPLITS=4, DIM=64)),
    "encode_kernel": (dict(x_ptr=F, codes_ptr=U), dict(BLOCK=1024)),
}  # fmt: skip


def main(path: str, capabilities: list[str]) -> None:
    spec = importlib.util.spec_from_file_location("lesson", path)
    lesson = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lesson)
    for capability in map(int, capabilities):
        for name, (types, constants) in CASES.items():
            kernel = getattr(lesson, name)
            signature = {n: "constexpr" if n in constants else types.get(n, N) for n in kernel.arg_names}
            values = {(kernel.arg_names.index(n),): value for n, value in constants.items()}
            compiled = triton.compile(ASTSource(kernel, signature, values), target=GPUTarget("cuda", capability, 32))
            print(capability, name, len(compiled.asm["cubin"]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
