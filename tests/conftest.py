"""What every test shares: nothing of the machine's own state is read or written, and a missing tool is never silent."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch

# Triton reads this when it is first imported, by whatever test comes first. With a GPU the kernels are compiled
# instead.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # `from browser import ...`, `from oracles import ...` in a test

# Here, not in the tests that use them: a fixture that several files import exists once per file, and a second
# Playwright in one process does not start.
from browser import chromium, lab, learner  # noqa: E402, F401
from tools import lacking  # noqa: E402


@pytest.fixture(autouse=True)
def _own_progress(tmp_path, monkeypatch):
    """No test reads or writes the progress file of the person who runs it."""
    monkeypatch.setenv("FP8LAB_PROGRESS", str(tmp_path / "progress.json"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session", name="lacking")
def _lacking():
    """`tools.lacking`."""
    return lacking
