"""What a test does where a tool is missing: it says what to install. Under CI=true that is a failure."""

from __future__ import annotations

import importlib
import os
import shutil
from types import ModuleType

import pytest


def lacking(reason: str) -> None:
    """lacking("no bwrap here: apt-get install bubblewrap") skips the test, and fails it under CI=true."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{reason} (CI=true: a missing tool is a failure)", pytrace=False)
    pytest.skip(reason)


def need_package(name: str) -> ModuleType:
    """The module `name`, for tests that use one that fp8lab itself does not need."""
    try:
        return importlib.import_module(name)
    except ImportError:
        lacking(f"{name.partition('.')[0]} is not installed: pip install {name.partition('.')[0]}")
        raise


def need_compiler() -> None:
    """For tests that compile C++."""
    if not any(shutil.which(name) for name in (os.environ.get("CXX", "g++"), "g++", "clang++")):
        lacking("no C++ compiler: apt-get install g++")
