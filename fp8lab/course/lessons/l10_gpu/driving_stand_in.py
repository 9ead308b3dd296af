"""What stands where Triton is missing (macOS, Windows): enough for every cell of the lesson to define its kernels.

A kernel defined so can be read, not launched: `driving_launch.launch` says that Triton is not here.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fp8lab.course.drive import NotHere
from fp8lab.course.lessons.l10_gpu.driving_launch import NO_TRITON


class UnrunKernel:
    """A decorated function that nobody can run here."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn
        self.__name__ = fn.__name__

    def __getitem__(self, grid: Any) -> Any:
        raise NotHere("Triton", NO_TRITON)

    run = __call__ = __getitem__


class _Anything:
    """`tl.constexpr` in an annotation, `tl.float32` in a default: any name is there and means nothing."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return f"tl.{name}"


triton = SimpleNamespace(
    jit=UnrunKernel, cdiv=lambda a, b: -(-a // b), next_power_of_2=lambda n: 1 << max(n - 1, 0).bit_length()
)
tl = _Anything()
