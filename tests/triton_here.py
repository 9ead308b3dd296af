"""Triton, or a reason to skip that stands: it is made for Linux, so macOS and Windows skip, and so does a Linux without
it. Under CI=true a Linux without Triton is a missing tool: the tests run, and fail.

    @needs_triton                on a test
    pytestmark = needs_triton    on a file
"""

from __future__ import annotations

import os
import sys

import pytest

WHY = "Triton is not installed; it is made for Linux: pip install triton"


def has_triton() -> bool:
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True


def owed() -> bool:
    """Whether this machine must have it."""
    return sys.platform == "linux" and os.environ.get("CI", "").lower() == "true"


needs_triton = pytest.mark.skipif(not has_triton() and not owed(), reason=WHY)
