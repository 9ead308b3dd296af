"""A GPU that compiles and never computes: what a launch needs, up to the moment when the card would take over.

Kernels are bound to their real arguments, specialized, compiled by ptxas for the capability asked for, and held to
its limits; then nothing runs and the outputs stay as they were. It finds what breaks before the first instruction on
a card: an argument too many, a type that does not compile there, too much shared memory. Results are not its business.

    python fake_gpu.py SCRIPT CAPABILITY     runs SCRIPT with `CAPABILITY` and `launched` (kernel names) as globals
"""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

SHARED_MEMORY = {75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10}  # per block, CUDA guide


class Driver:
    """What Triton's runtime asks of a driver, answered for a card that is not here."""

    def __init__(self, capability: int) -> None:
        from triton.backends.compiler import GPUTarget

        self.target, self.launched = GPUTarget("cuda", capability, 32), []
        shared = SHARED_MEMORY[capability]
        self.utils = SimpleNamespace(
            get_device_properties=lambda device: {"max_shared_mem": shared},
            load_binary=lambda name, binary, memory, device: (1, 1, 32, 0, 1024),
        )

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def launcher_cls(self, source, metadata):
        def launch(x, y, z, *rest):
            assert x >= 1 and 1 <= y < 65536 and 1 <= z < 65536, (x, y, z)
            self.launched.append(metadata.name)

        return launch


def install(capability: int) -> list[str]:
    """Make Triton compile for such a card, and fp8lab hand it the tensors of the CPU. Returns what was launched."""
    assert not os.environ.get("TRITON_INTERPRET")
    import torch
    import triton

    driver = Driver(capability)
    triton.runtime.driver.set_active(driver)
    torch.cuda.is_available = lambda: True
    torch.cuda.get_device_capability = lambda device=None: divmod(capability, 10)
    torch.cuda.get_device_name = lambda device=None: f"a GPU that is not here (sm_{capability})"
    from fp8lab.course.lessons.l10_gpu import driving_launch
    from fp8lab.kernels import attend, available, launch

    for module in (available, attend, launch):
        module.kernels_run_on = lambda tensor: True
    available.why_not = lambda: ""
    for module in (attend, launch):
        module.refuse_native_elsewhere = lambda native, device: None
    driving_launch.device = lambda: torch.device("cpu")
    return driver.launched


if __name__ == "__main__":
    script, capability = sys.argv[1], int(sys.argv[2])
    names = {"__name__": "fake", "CAPABILITY": capability, "launched": install(capability)}
    exec(compile(open(script, encoding="utf-8").read(), script, "exec"), names)
