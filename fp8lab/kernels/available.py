"""Whether the Triton kernels can run on a tensor; where they cannot, every launcher computes the same in torch."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

import torch

NATIVE_CAPABILITY = (8, 9)  # PTX ISA, cvt: .e4m3x2 and .e5m2x2 require sm_89 or higher


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


def why_not_native(device: torch.device) -> str:
    """Why the card's own FP8 conversions cannot be had for tensors on `device`: a sentence, or "" when they can."""
    if device.type != "cuda":
        return f"the tensors are on {device}, and the conversions are instructions of a GPU"
    if why_not():
        return why_not()
    from fp8lab.kernels.bits import INTERPRETED

    if INTERPRETED:
        return "Triton's interpreter is on (TRITON_INTERPRET), whose FP8 casts are wrong (triton#8322)"
    if torch.version.hip:
        return "the instructions are NVIDIA's, and this is an AMD GPU"
    major, minor = torch.cuda.get_device_capability(device)
    if (major, minor) < NATIVE_CAPABILITY:
        return f"{torch.cuda.get_device_name(device)} is sm_{major}{minor}; FP8 instructions exist from sm_89 on"
    return ""


def refuse_native_elsewhere(native: bool, device: torch.device) -> None:
    """ValueError when native=True is asked for where there is no such path: never a silent other one."""
    reason = why_not_native(device) if native else ""
    if reason:
        raise ValueError(
            f"native=True is not possible here: {reason}. native=False (the default) gives the same bytes anywhere"
        )


def current_device_of(tensor: torch.Tensor) -> AbstractContextManager:
    """Triton launches on the current GPU, which need not be the one that holds the tensor."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()
