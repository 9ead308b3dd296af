"""A fixture that runs every test of the file that imports it twice: by the kernels, and in torch, as where there is no
Triton and no GPU."""

from __future__ import annotations

import pytest
from triton_here import needs_triton

from fp8lab.kernels import attend, launch


@pytest.fixture(params=[pytest.param("kernel", marks=needs_triton), "torch"], autouse=True)
def path(request, monkeypatch):
    """Which of the two it is."""
    if request.param == "torch":
        for module in (attend, launch):
            monkeypatch.setattr(module, "kernels_run_on", lambda tensor: False)
    return request.param
