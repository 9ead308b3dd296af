"""How the warm-up of lesson 00 is exercised. Knows inputs, not answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from fp8lab.course.drive import Drive


def bit_counts(seed: int) -> dict[str, Any]:
    """Widths of real formats first, then a few that the seed draws."""
    return {"bits": [8, 16, 1, 4, *(int(n) for n in np.random.default_rng(seed).permutation(np.arange(2, 33))[:8])]}


def drive_patterns(answer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    return {"patterns": [answer(bits) for bits in inputs["bits"]]}


DRIVES = {"0.1": Drive("0.1", "patterns", bit_counts, drive_patterns)}
