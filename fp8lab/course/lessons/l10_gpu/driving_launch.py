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
from types import FunctionType, ModuleType
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
    "Kernels run on the CPU, under Triton's interpreter: results as on a GPU, with the exceptions below; no word "
    "on speed. Not measured on a GPU.",
    "内核在 CPU 上由 Triton 解释器运行：结果与 GPU 一致（例外见下文），快慢不作数。没有在 GPU 上测过。",
)
COMPILED = Text(
    "Kernels are compiled for this GPU: {card} ({capability}).",
    "内核为这块 GPU 编译：{card}（{capability}）。",
)
OUTSIDE = Text(
    "the kernel read or wrote memory that is not its own; CUDA is lost to this process. Restart it, run from the top.",
    "内核读写了不属于它的内存，这个进程里的 CUDA 已经不可用。请重启内核进程，从头运行。",
)
COMPILED_ONLY = Text(
    "a function of Triton that only compiled code has (tl.extra, libdevice): Triton's interpreter cannot call it",
    "这里用到的 Triton 函数只有编译后的代码才有（tl.extra、libdevice），解释器无法调用它",
)

SOME_LEFT = Text("{left} of {holes} holes still empty: {line}", "{holes} 处空白中还有 {left} 处没有填：{line}")


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


class Device:
    """A device function of this package by name, imported when it is asked for and not before."""

    def __init__(self, module: str, function: str) -> None:
        self.module, self.__name__ = module, function

    def load(self) -> Any:
        prepare()
        return getattr(importlib.import_module(f"{__package__}.{self.module}"), self.__name__)


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
    for seen in _SEEN:
        seen.append((grid, dict(zip(getattr(kernel, "arg_names", ()), args))))
    with quiet():
        try:
            kernel[grid](*args, **constants)
            if torch.cuda.is_initialized():  # a launch returns early: its error belongs here, not further on
                torch.cuda.synchronize()
        except Exception as problem:
            raise _innermost(problem) from None


Launched = tuple[tuple[int, ...], dict[str, Any]]  # the grid, and the arguments by name
_SEEN: list[list[Launched]] = []


@contextmanager
def launches() -> Iterator[list[Launched]]:
    """What every `launch` inside was given."""
    seen: list[Launched] = []
    _SEEN.append(seen)
    try:
        yield seen
    finally:
        _SEEN.remove(seen)


@contextmanager
def quiet() -> Iterator[None]:
    """The interpreter computes in numpy, which comments on every overflow; a GPU does not."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def refuse_untouched(*functions: Any, holes: int = 1) -> None:
    """Raise the NotImplementedError of the first empty hole in the source of `functions`, as calling them would.

    holes: how many the exercise has. When some of them are filled, the error says which one is not: that is no longer
    an exercise that nobody has attempted.
    """
    left = [text for function in functions for text in _empty_holes(function)]
    if left and len(left) < holes:
        said = SOME_LEFT.format(left=len(left), holes=holes, line=f'raise NotImplementedError("{left[0]}")')
        raise NotImplementedError(f"{said.en} / {said.zh}")
    if left:
        raise NotImplementedError(left[0])


def _empty_holes(function: Any) -> list[str]:
    """What the holes in the source of a function, or of a kernel, say."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(getattr(function, "fn", function))))
    except (OSError, TypeError, SyntaxError):
        return []  # no source, so no compiler either: the interpreter will meet the hole itself
    raised = sorted((node for node in ast.walk(tree) if isinstance(node, ast.Raise)), key=lambda node: node.lineno)
    calls = [node.exc for node in raised if isinstance(node.exc, ast.Call) and node.exc.args]
    return [
        str(call.args[0].value)
        for call in calls
        if getattr(call.func, "id", "") == "NotImplementedError" and isinstance(call.args[0], ast.Constant)
    ]


def kernels_of(function: Any) -> list[Any]:
    """The kernels that a function of the learner's speaks of."""
    code, names = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    found = [names.get(name) for name in code.co_names] if code else []
    return [value for value in found if isinstance(getattr(value, "fn", None), FunctionType)]


def stands_on(function: Any, package: str) -> bool:
    """Whether a device function calls one of `package`, itself or through others."""
    python = function.fn
    names = python.__code__.co_names
    found = [python.__globals__.get(name) for name in names]
    found += [vars(module).get(name) for module in found if isinstance(module, ModuleType) for name in names]
    called = [value for value in found if isinstance(getattr(value, "fn", None), FunctionType) and value != function]
    return any(value.fn.__module__.startswith(package) or stands_on(value, package) for value in called)


def _innermost(problem: BaseException) -> BaseException:
    """What the learner's line raised, out of the interpreter's wrapping; and what a fault on a GPU means."""
    while type(problem).__name__ == "InterpreterError" and problem.__cause__ is not None:
        problem = problem.__cause__
    if any(word in str(problem) for word in ("illegal memory access", "misaligned address")):
        return RuntimeError(f"{str(problem).splitlines()[0]}: {OUTSIDE.en} / {OUTSIDE.zh}")
    if "@triton.jit" in str(problem):  # the interpreter's word for functions that it does not have
        return RuntimeError(f"{COMPILED_ONLY.en} / {COMPILED_ONLY.zh}").with_traceback(problem.__traceback__)
    return problem
