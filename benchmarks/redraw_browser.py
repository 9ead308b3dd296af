"""From the key to the new picture on the screen: 95 % of redraws should take under 150 ms once the data are there.

    python benchmarks/redraw_browser.py [--keep]     --keep writes results/redraw_browser.json

Needs what the browser tests need (JupyterLab, Playwright, Chromium). Lessons 04 and 05 are opened in a real JupyterLab,
their explorer is taken through many settings by keys and menus, and the browser keeps the time: event, kernel, page,
painted frame. Every setting is new to the explorer. "new data" are redraws that measure another tensor first.
Run it on an idle machine; the load is printed with the figures.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from browser import CHROMIUM_FLAGS, Lab, Learner, chromium_path
from playwright.sync_api import sync_playwright
from redraws import Redraws, quantile, quantiles

from fp8lab.explore.groupsize.words import EN as SIZE
from fp8lab.explore.outlier_map.words import EN as MAP

ROOT = Path(__file__).resolve().parent.parent
KEPT = Path(__file__).resolve().parent / "results" / "redraw_browser.json"
GOAL_MS, SHARE = 150, 0.95
LEFT, RIGHT = "ArrowLeft", "ArrowRight"


def explorer_of(learner: Learner, lesson: str, cell: str) -> Redraws:
    page = learner.open(ROOT / "notebooks" / "en" / f"{lesson}.ipynb")
    page.run("setup")
    page.run(cell)
    return Redraws(page.cell(cell))


def group_sizes(learner: Learner) -> Iterator[tuple[str, list[float]]]:
    """All ten group sizes in all six formats, on both axes; then other tensors."""
    redraws = explorer_of(learner, "04_grouped_kv", "04_grouped_kv-24")
    size = redraws.slider(SIZE["place"])
    for _ in range(3):
        redraws.press(size, RIGHT)  # to the end: seen again below
    direction, taken = LEFT, []
    for axis in ("error", "sqnr"):
        if axis == "sqnr":
            taken.append(redraws.choose(redraws.menu(SIZE["metric"]), SIZE[axis]))
        for way in ("E4M3FN, 2^n", "int8", "E4M3FN, no scale", "int4", "E2M1FN"):
            taken.append(redraws.choose(redraws.menu(SIZE["way"]), SIZE[way]))
            taken += [redraws.press(size, direction) for _ in range(9)]
            direction = RIGHT if direction == LEFT else LEFT
    yield "group size, format, axis", taken
    yield "outlier strength (new data)", [redraws.press(redraws.slider(SIZE["strength"]), RIGHT) for _ in range(6)]
    yield "number of outliers (new data)", [redraws.press(redraws.slider(SIZE["outliers"]), RIGHT) for _ in range(3)]


def outlier_maps(learner: Learner) -> Iterator[tuple[str, list[float]]]:
    """All strengths in two formats and three granularities (each is new data), and the other map of each."""
    redraws = explorer_of(learner, "05_granularity", "05_granularity-35")
    strength, view = redraws.slider(MAP["strength"]), redraws.menu(MAP["view"])
    for _ in range(4):
        redraws.press(strength, LEFT)
    new, seen = [], []
    direction, map_shown = RIGHT, "size"
    for fmt in ("int8", "E4M3FN"):
        new.append(redraws.choose(redraws.menu(MAP["fmt"]), fmt))
        for axis in ("channel", "tensor", "token × 32 channels"):
            new.append(redraws.choose(redraws.menu(MAP["axis"]), MAP[axis]))
            for _ in range(9):
                new.append(redraws.press(strength, direction))
                map_shown = "error" if map_shown == "size" else "size"
                seen.append(redraws.choose(view, MAP[map_shown]))
            direction = RIGHT if direction == LEFT else LEFT
    yield "the other map", seen
    yield "strength, format, granularity (new data)", new


def main(arguments: list[str]) -> int:
    """Measure and print; the exit code says only whether it ran, since speed depends on the machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    load, figures = os.getloadavg()[0], {}
    print(f"load {load:.1f} on {os.cpu_count()} cores; goal: {SHARE:.0%} of redraws under {GOAL_MS} ms")
    with tempfile.TemporaryDirectory() as home, sync_playwright() as tool:
        lab = Lab(Path(home))
        browser = tool.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_FLAGS)
        try:
            for name, run in (("group-size explorer", group_sizes), ("outlier map", outlier_maps)):
                learner = Learner(lab, browser)
                for what, taken in run(learner):
                    late = quantile(taken, SHARE)
                    verdict = "" if "new data" in what else f": {'reached' if late < GOAL_MS else 'MISSED'}"
                    print(f"  {name}, {what}: {quantiles(taken)}{verdict}", flush=True)
                    figures[f"{name}, {what}"] = {
                        "redraws": len(taken),
                        **{f"{share:.0%}": round(quantile(taken, share), 1) for share in (0.5, 0.9, SHARE, 0.99)},
                        "slowest": round(max(taken), 1),
                    }
                learner.close()
        finally:
            browser.close()
            lab.stop()
    print(f"load at the end {os.getloadavg()[0]:.1f}")
    if options.keep:
        record = {
            "when": datetime.date.today().isoformat(), "cores": os.cpu_count(), "unit": "ms",
            "load": [round(load, 2), round(os.getloadavg()[0], 2)], "goal": {f"{SHARE:.0%}": GOAL_MS},
            "figures": figures,
        }  # fmt: skip
        KEPT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"kept in {KEPT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
