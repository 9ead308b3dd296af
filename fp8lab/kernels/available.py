"""Whether the Triton kernels can run on a tensor; where they cannot, every launcher computes the same in torch."""

from __future__ import annotations

from functools import cache

import torch


@cache
def why_not() -> str:
    """Why the kernels cannot run at all: a sentence, or "" when they can.

    Triton is Linux only and compiles for a GPU; with TRITON_INTERPRET=1 set before the first import it also runs on
    a CPU.
    """
    try:
        from fp8lab.kernels.bits import INTERPRETED
    except ImportError as problem:
        return f"Triton is not installed ({problem}): pip install triton (Linux only)"
    import triton

    if INTERPRETED and isinstance(triton.language.sum, triton.JITFunction):  # its own functions are not interpreted
        return "TRITON_INTERPRET=1 was set after Triton had been imported: restart Python, set it first"
    if not INTERPRETED and not torch.cuda.is_available():
        return "no GPU, and TRITON_INTERPRET=1 was not set before fp8lab.kernels was first used"
    return ""


def kernels_run_on(tensor: torch.Tensor) -> bool:
    """True for a tensor on a GPU, and for one on a CPU when the interpreter is on."""
    if why_not():
        return False
    from fp8lab.kernels.bits import INTERPRETED

    return tensor.is_cuda or INTERPRETED
