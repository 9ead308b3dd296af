"""How jupyter_client starts the kernel of this process: with the command of the Launch, or as a copy of a template."""

from __future__ import annotations

import os
import signal
import subprocess
from importlib.metadata import EntryPoint
from typing import Any

import ipykernel.kernelspec
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

from fp8lab.grading.launch import Launch
from fp8lab.grading.sandboxed import LOST, Warm

NAME = "fp8lab-grading"


class Provisioner(LocalProvisioner):
    """Starts the kernel as the Launch says, with no way to write to our streams."""

    launch: Launch  # set for the process by `use`: one pytest, one launch

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        if self.launch.template:
            file = self.parent.connection_file
            self.process = Warm(self.launch, [part.format(connection_file=file) for part in self.launch.arguments])
            self.pid, self.pgid = self.process.pid, None
            return self.connection_info
        ours = {"env": dict(self.launch.env), "cwd": self.launch.cwd}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return await super().launch_kernel(cmd, **{**kwargs, **ours, **quiet})

    def roots(self) -> set[int]:
        """The processes whose descendants are the kernel's."""
        process = self.process
        if process is None:
            return set()
        return {process.pid, process.copy.pid} if isinstance(process, Warm) else {process.pid}

    def end(self) -> None:
        """End the kernel and what it has started, and wait until it is gone."""
        if isinstance(self.process, Warm):
            self.process.kill()
        elif self.process is not None:
            if self.pgid and hasattr(os, "killpg"):
                try:
                    os.killpg(self.pgid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.kill()
            self.process.wait()

    @property
    def lost(self) -> bool:
        """Whether it was the template that went, not the kernel."""
        return isinstance(self.process, Warm) and self.process.returncode == LOST


class OurKernelSpec(KernelSpecManager):
    """Whatever kernel a notebook names, there is one."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(
            argv=list(Provisioner.launch.argv),
            display_name="fp8lab grading",
            language="python",
            metadata={"kernel_provisioner": {"provisioner_name": NAME, "config": {}}},
            resource_dir=ipykernel.kernelspec.RESOURCES,
        )


def use(launch: Launch) -> None:
    """Make `launch` the launch of every kernel of this process."""
    Provisioner.launch = launch
    factory = KernelProvisionerFactory.instance()
    factory.provisioners[NAME] = EntryPoint(
        NAME, f"{__name__}:{Provisioner.__name__}", KernelProvisionerFactory.GROUP_NAME
    )
