"""How long an explorer takes from a control's change to the new picture: 95 % of redraws should take under 150 ms.

    python benchmarks/redraw.py

Every explorer is moved through many settings, each new to it, in this process: what the kernel does, without the way to
the browser (`redraw_browser.py` has that). A setting that was seen before is timed apart; explorers that keep their
pictures answer it at once.
"""

from __future__ import annotations

import itertools
import os
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

from fp8lab.explore.bits import bit_explorer
from fp8lab.explore.groupsize.widget import WAYS, groupsize_explorer
from fp8lab.explore.histogram import histogram_explorer
from fp8lab.explore.outlier_map.widget import FORMATS, STRENGTHS, outlier_explorer
from fp8lab.explore.rounding import rounding_explorer

GOAL_MS, SHARE = 150, 0.95
Moves = list[dict[str, Any]]


def explorers() -> Iterator[tuple[str, Any, Moves]]:
    """(name, explorer, the changes to go through)."""
    yield "bits", bit_explorer(), [{"code": code} for code in range(0, 256, 7)]
    yield "rounding", rounding_explorer(), [{"x": 0.01 * 1.4**step} for step in range(30)]
    yield "histogram", histogram_explorer(), [{"fmt": fmt} for fmt in ("INT8", "E5M2", "E4M3FN", "E2M1FN", "INT4")] * 2
    sizes = groupsize_explorer()
    moves = [{"place": p} for p in sizes.data.places] + [{"way": w} for w in WAYS] + [{"metric": "sqnr"}]
    yield "groupsize", sizes, moves
    settings = itertools.product(STRENGTHS[::2], FORMATS)
    yield "outlier map", outlier_explorer(), [{"strength": strength, "fmt": fmt} for strength, fmt in settings]


def milliseconds(explorer: Any, change: dict[str, Any]) -> float:
    began = time.perf_counter()
    explorer._move(**change)
    return 1000 * (time.perf_counter() - began)


def main() -> int:
    print(f"load {os.getloadavg()[0]:.1f}; goal: {SHARE:.0%} of redraws under {GOAL_MS} ms")
    for name, explorer, moves in explorers():
        taken = sorted(milliseconds(explorer, change) for change in moves)
        late = taken[min(int(SHARE * len(taken)), len(taken) - 1)]
        again = statistics.median(milliseconds(explorer, change) for change in moves[-3:])
        verdict = "reached" if late < GOAL_MS else "MISSED"
        print(
            f"  {name:<12} {len(taken):3} new settings: median {statistics.median(taken):6.1f} ms, "
            f"{SHARE:.0%} within {late:6.1f} ms ({verdict}); seen before {again:6.1f} ms"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
