"""Launch a kernel, wherever it can run: compiled on a GPU, under Triton's interpreter on a CPU, or not at all.

Importing this needs no Triton. `launch` says calmly when it is missing, and finds a hole that is still empty also in a
kernel that a compiler would only call invalid.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from fp8lab.course.drive import NotHere
from fp8lab.course.text import Text

NO_TRITON = Text(
    "Triton is not installed here (it is made for Linux: `pip install triton`). You can read on; nothing was run.",
    "这里没有安装 Triton（它只支持 Linux：`pip install triton`）。可以继续阅读；没有运行任何内核。",
)
TOO_LATE = Text(
    "Triton was imported before `TRITON_INTERPRET` was set, and there is no GPU: restart the kernel, run from the top.",
    "设置 `TRITON_INTERPRET` 之前就导入了 Triton，而这里没有 GPU：请重启内核，从头运行。",
)
INTERPRETED = Text(
    "Kernels run on the CPU, under Triton's interpreter: right results, no word on speed. Not measured on a GPU.",
    "内核在 CPU 上由 Triton 解释器运行：结果可信，快慢不作数。没有在 GPU 上测过。",
)
COMPILED = Text(
    "Kernels are compiled for this GPU: {card} ({capability}).",
    "内核为这块 GPU 编译：{card}（{capability}）。",
)
OUTSIDE = Text(
    "the kernel read or wrote memory that is not its own; CUDA is lost to this process. Restart it, run from the top.",
    "内核读写了不属于它的内存，这个进程里的 CUDA 已经不可用。请重启内核进程，从头运行。",
)


class InTorch:
    """A function over tensors that does what a kernel does, launched like one, needing no Triton: `kernel[grid](…)`."""

    def __init__(self, compute: Callable[..., None]) -> None:
        self.run = compute
        self.__name__ = compute.__name__

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        return lambda *args, **constants: self.run(grid, *args, **constants)


class Named:
    """A kernel of this package by name and with a FAULT, imported when it is launched and not before."""

    def __init__(self, module: str, kernel: str, fault: str) -> None:
        self.module, self.kernel, self.fault = module, kernel, fault
        self.__name__ = f"{kernel}: {fault}"

    def run(self, *args: Any, **constants: Any) -> None:
        raise TypeError("a kernel is launched with a grid: kernel[grid](...)")

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        found = getattr(importlib.import_module(f"{__package__}.{self.module}"), self.kernel)
        return lambda *args, **constants: found[grid](*args, **constants, FAULT=self.fault)


def device() -> torch.device:
    """Where kernels run here: the GPU that they are compiled for, and else the CPU, under the interpreter.

    What counts is how the kernels were decorated, not what TRITON_INTERPRET says by now.
    """
    if not torch.cuda.is_available():
        return torch.device("cpu")
    try:
        from fp8lab.kernels.bits import INTERPRETED
    except ImportError:  # no Triton: the answers in torch run anywhere
        return torch.device("cpu")
    return torch.device("cpu" if INTERPRETED else "cuda")


def where_kernels_run(lang: str) -> str:
    """One line: compiled for which card, or interpreted on the CPU. NotHere where they do not run at all."""
    prepare()
    if device().type == "cpu":
        return INTERPRETED.get(lang)
    major, minor = torch.cuda.get_device_capability()
    return COMPILED.format(card=torch.cuda.get_device_name(), capability=f"sm_{major}{minor}").get(lang)


def prepare() -> None:
    """Have Triton ready: on a machine without a GPU its interpreter is switched on before it is first imported.

    Raises NotHere when Triton is missing, and when it was imported without its interpreter.
    """
    if "triton" not in sys.modules and not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"  # also in the place of "0": nothing could be compiled for
    from fp8lab.kernels.available import why_not

    try:
        import triton  # noqa: F401
    except ImportError:
        raise NotHere("Triton", NO_TRITON) from None
    if why_not():
        raise NotHere("TRITON_INTERPRET=1", TOO_LATE)


def launch(kernel: Any, grid: tuple[int, ...], *args: Any, **constants: Any) -> None:
    """`kernel[grid](*args, **constants)`; an empty hole and an error inside the kernel arrive as what they are.

    Raises NotImplementedError with the text of an untouched hole, NotHere without Triton, TypeError for what is no
    kernel, and whatever the kernel raises.
    """
    if isinstance(kernel, InTorch):
        return kernel[grid](*args, **constants)
    prepare()
    refuse_untouched(kernel)
    if not hasattr(kernel, "__getitem__") or not hasattr(kernel, "run"):
        raise TypeError(f"a kernel is a function under @triton.jit; given {type(kernel).__name__}")
    with quiet():
        try:
            kernel[grid](*args, **constants)
            if torch.cuda.is_initialized():  # a launch returns early: its error belongs here, not further on
                torch.cuda.synchronize()
        except Exception as problem:
            raise _innermost(problem) from None


@contextmanager
def quiet() -> Iterator[None]:
    """The interpreter computes in numpy, which comments on every overflow; a GPU does not."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def refuse_untouched(kernel: Any) -> None:
    """Raise the NotImplementedError of the first empty hole in the source of `kernel`, as calling it would."""
    function = getattr(kernel, "fn", None)
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return  # no source, so no compiler either: the interpreter will meet the hole itself
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "NotImplementedError" and call.args:
            raise NotImplementedError(ast.literal_eval(call.args[0]))


def _innermost(problem: BaseException) -> BaseException:
    """What the learner's line raised, out of the interpreter's wrapping; and what a fault on a GPU means."""
    while type(problem).__name__ == "InterpreterError" and problem.__cause__ is not None:
        problem = problem.__cause__
    if any(word in str(problem) for word in ("illegal memory access", "misaligned address")):
        return RuntimeError(f"{str(problem).splitlines()[0]}: {OUTSIDE.en} / {OUTSIDE.zh}")
    return problem
