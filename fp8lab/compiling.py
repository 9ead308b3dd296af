"""torch.compile, asked for: one cache per function, any number of rows, and one clear error without a compiler.

For accelerators: a CPU has `fp8lab.native`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

import torch


def compile_alone(function: FunctionType) -> Callable:
    """torch.compile of a copy with a code object of its own: the limit on recompilations counts per code object."""
    code = function.__code__.replace()
    copy = FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)
    return torch.compile(copy, fullgraph=True)


def run_compiled(function: Callable, *tensors: torch.Tensor) -> torch.Tensor | None:
    """The compiled function on tensors whose first lengths may differ from call to call.

    RuntimeError, saying what to install, when nothing can be compiled here.
    """
    for tensor in tensors:
        torch._dynamo.maybe_mark_dynamic(tensor, 0)
    try:
        with torch._dynamo.config.patch(specialize_int=True):  # the numbers of a format are constants, not inputs
            return function(*tensors)
    except torch._dynamo.exc.TorchDynamoException as error:
        raise RuntimeError(
            "torch.compile failed: it needs a working C++ compiler (install g++ or clang, or set CXX), and Triton on a"
            " GPU; fp8lab.encode, fp8lab.decode and quantize(compiled=False) need neither. It said:"
            f" {str(error).splitlines()[0]}"
        ) from error
