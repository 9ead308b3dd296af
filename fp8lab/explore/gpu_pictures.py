"""The pictures of lesson 10: bytes that cross the memory bus, lanes over a ragged row, time against bytes.

Facts are plain data (`traffic`, `lanes`, `jobs`, `measured`), which tests count by other means. What was measured comes
from the JSON that `benchmarks/gpu.py` writes; without any, the picture says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from fp8lab.explore import style
from fp8lab.explore.still import Still

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"  # in a checkout; a wheel has none
H200 = 4.8e6  # bytes per microsecond: 4.8 TB/s, NVIDIA's data sheet of the H200
NOT_MEASURED = "not measured on a GPU"
READ, WRITTEN = style.MANTISSA, style.EXPONENT

# ---- bytes per value, step by step


@dataclass(frozen=True)
class Step:
    """One kernel: bytes per value that it reads and writes (a group's absmax and scale are small beside them)."""

    name: str
    read: int
    written: int


def traffic() -> tuple[Step, ...]:
    """What eager PyTorch moves per value to quantize bf16 K or V and write it into a cache.

    >>> sum(step.read + step.written for step in traffic())
    41
    """
    return (
        Step("x.float()", 2, 4),
        Step(".abs()", 4, 4),
        Step(".amax()", 4, 0),
        Step("/ scale", 4, 4),
        Step(".clamp()", 4, 4),
        Step(".to(fp8)", 4, 1),
        Step("cache[slot] = …", 1, 1),
    )


FUSED = Step("one fused kernel", 2, 1)


def traffic_picture() -> Still:
    """Bytes per value of every eager operation, and of one fused kernel."""
    steps = [*traffic(), FUSED]
    with style.settings():
        figure = style.new_figure(3.5)
        axes = figure.add_axes((0.17, 0.15, 0.8, 0.74))
        at = 0
        for row, step in enumerate(steps):
            at = 0 if step is FUSED else at
            height = len(steps) - row - (1.25 if step is FUSED else 1)
            for size, colour in ((step.read, READ), (step.written, WRITTEN)):
                if size:
                    axes.barh(height, size, left=at, color=colour, height=0.72)
                    axes.text(at + size / 2, height, str(size), ha="center", va="center", color=style.WHITE_TEXT)
                at += size
            if row >= len(steps) - 2:
                axes.text(at + 0.4, height, f"= {at}", va="center", fontweight="bold")
        heights = [len(steps) - row - (1.25 if step is FUSED else 1) for row, step in enumerate(steps)]
        axes.set_yticks(heights, [step.name for step in steps])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlim(0, 44)
        axes.set_xlabel("bytes moved per value (counted)")
        _legend(figure, (("read", READ), ("written", WRITTEN)))
    total = sum(step.read + step.written for step in traffic())
    return Still(
        figure,
        f"Bytes moved per value: seven eager PyTorch operations {total}, one fused kernel {FUSED.read + FUSED.written}",
    )


def _legend(figure: Figure, entries: tuple[tuple[str, str], ...]) -> None:
    for number, (word, colour) in enumerate(entries):
        figure.text(0.17 + 0.11 * number, 0.94, f"■ {word}", color=colour)


# ---- lanes over a row whose last group is short


def lanes(width: int, group: int, block: int) -> list[list[str]]:
    """For each group of a row, what each lane of its block stands on: "real", "neighbour" or "behind" the row.

    A lane is "neighbour" when it lies in the row but in the next group.

    >>> [[kinds.count(k) for k in ("real", "neighbour", "behind")] for kinds in lanes(58, 24, 32)]
    [[24, 8, 0], [24, 8, 0], [10, 0, 22]]
    """
    found = []
    for first in range(0, width, group):
        columns = range(first, first + block)
        found.append(["behind" if c >= width else "real" if c < first + group else "neighbour" for c in columns])
    return found


LANE_COLOURS = {"real": style.EXPONENT, "neighbour": style.ACCENT, "behind": style.SUBNORMAL}


def tail_picture(width: int = 58, group: int = 24, block: int = 32) -> Still:
    """A row in memory, and under it the block of lanes that each program lays over its group."""
    rows = lanes(width, group, block)
    end = (len(rows) - 1) * group + block
    with style.settings():
        figure = style.new_figure(2.9)
        axes = figure.add_axes((0.13, 0.17, 0.85, 0.68))
        for column in range(end):
            inside = column < width
            axes.barh(
                len(rows), 0.86, left=column, height=0.6, color=style.MUTED if inside else "none",
                edgecolor=style.MUTED, linewidth=0.6, alpha=(0.45 if (column // group) % 2 else 0.8) if inside else 1,
            )  # fmt: skip
        for number, kinds in enumerate(rows):
            for lane, kind in enumerate(kinds):
                axes.barh(
                    len(rows) - 1 - number, 0.86, left=number * group + lane, height=0.6,
                    color=LANE_COLOURS[kind] if kind == "real" else "none", hatch=None if kind == "real" else "////",
                    edgecolor=style.PAPER if kind == "real" else LANE_COLOURS[kind], linewidth=1,
                )  # fmt: skip
        axes.axvline(width - 0.07, color=style.INK, linewidth=1.2, linestyle=(0, (4, 3)))
        names = ["memory", *(f"program {number}" for number in range(len(rows)))]
        axes.set_yticks(range(len(rows), -1, -1), names)
        axes.set_xticks([*range(0, width, group), width])
        axes.set_xlabel("column")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlim(-0.5, end + 0.5)
        words = {"real": "real", "neighbour": "lane >= GROUP", "behind": "column >= width"}
        for number, (kind, word) in enumerate(words.items()):
            mark = "■" if kind == "real" else "▨"
            figure.text(0.13 + 0.2 * number - (0.1 if number else 0), 0.93, f"{mark} {word}", color=LANE_COLOURS[kind])
    counts = "; ".join(
        f"program {n}: {k.count('real')} real, {k.count('neighbour')} on the neighbour, {k.count('behind')} behind"
        for n, k in enumerate(rows)
    )
    return Still(figure, f"A row of {width} values in groups of {group}, blocks of {block} lanes. {counts}")


# ---- time against bytes


@dataclass(frozen=True)
class Job:
    """A job and the bytes that it must move, counted from its shapes."""

    name: str
    bytes: int


def jobs() -> tuple[Job, ...]:
    """The shapes of `benchmarks/gpu.py`: K and V written in groups of 64 with float32 scales, and attention over them.

    >>> jobs()[0]
    Job(name='write 1024×32×128', bytes=25698304)
    """
    found = []
    for tokens, heads, dim in ((1024, 32, 128), (4096, 32, 128), (16384, 8, 128)):
        per_vector = 2 * dim + dim + 4 * -(-dim // 64)
        found.append(Job(f"write {tokens}×{heads}×{dim}", 2 * tokens * heads * per_vector + 8 * tokens))
    for batch, heads, kv_heads, dim, tokens in ((8, 32, 8, 128, 32768), (32, 32, 8, 128, 8192)):
        size = batch * (2 * tokens * kv_heads * (dim + 4 * -(-dim // 64)) + 4 * heads * dim)
        found.append(Job(f"attend {batch}×{tokens}", size))
    return tuple(found)


@dataclass(frozen=True)
class Point:
    """A measured job: on which card, which way, how long, how many bytes."""

    card: str
    way: str
    bytes: int
    microseconds: float


def measured(folder: Path = RESULTS) -> tuple[Point, ...]:
    """Every row of every gpu-*.json that `benchmarks/gpu.py` has left in `folder`; none when there is none."""
    points = []
    for path in sorted(folder.glob("gpu-*.json")):
        record = json.loads(path.read_text())
        for row in record["rows"]:
            points.append(Point(record["machine"]["card"], row["way"], row["bytes"], row["microseconds"]))
    return tuple(points)


def roofline_picture(folder: Path = RESULTS) -> Still:
    """Time over bytes with the line that no kernel gets below; measured points where there are any."""
    points = measured(folder)
    with style.settings():
        figure = style.new_figure(4.0)
        axes = figure.add_axes((0.1, 0.14, 0.87, 0.76))
        sizes = [6e6, 2e9]
        axes.plot(sizes, [size / H200 for size in sizes], color=style.INK, linewidth=1.4)
        axes.fill_between(sizes, [size / H200 for size in sizes], 1, color=style.MUTED, alpha=0.18, linewidth=0)
        axes.text(8e6, 1.2, "no kernel gets here at 4.8 TB/s (H200 data sheet)", color=style.INK, alpha=style.QUIET)
        _draw_floors(axes)
        for way, marker, colour in (("fp8lab", "o", style.EXPONENT), ("torch", "s", style.MANTISSA)):
            own = [p for p in points if p.way.startswith(way)]
            if own:
                axes.plot([p.bytes for p in own], [p.microseconds for p in own], marker, color=colour, label=way)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(*sizes)
        axes.set_ylim(1, 4000)
        axes.set_xlabel("bytes moved (counted)")
        axes.set_ylabel("microseconds")
        cards = sorted({p.card for p in points})
        axes.set_title(
            f"○ floor, counted    ● measured on {', '.join(cards)}" if points else f"○ floor, counted    {NOT_MEASURED}"
        )
        if points:
            axes.legend(loc="upper left")
    return Still(figure, _described(points, cards))


def _draw_floors(axes) -> None:
    counted = jobs()
    axes.plot(
        [job.bytes for job in counted], [job.bytes / H200 for job in counted], "o", color=style.ACCENT,
        markerfacecolor=style.PAPER, markersize=8, markeredgewidth=1.8, clip_on=False,
    )  # fmt: skip
    seen: dict[int, list[Job]] = {}
    for job in counted:  # two shapes may move nearly the same number of bytes: their names share one line
        near = next((size for size in seen if abs(size / job.bytes - 1) < 0.05), job.bytes)
        seen.setdefault(near, []).append(job)
    for size, group in seen.items():
        floor = size / H200
        text = "\n".join([*(job.name for job in group), f"≥ {floor:.1f} µs"])
        axes.annotate(text, (size, floor), (-8, 10), textcoords="offset points", ha="right", color=style.ACCENT)


def _described(points: tuple[Point, ...], cards: list[str]) -> str:
    floors = ", ".join(f"{job.name}: {job.bytes:,} bytes, at least {job.bytes / H200:.1f} us" for job in jobs())
    state = f"{len(points)} points measured on {', '.join(cards)}" if points else NOT_MEASURED
    return f"Time against bytes moved, with the floor at 4.8 TB/s. {floors}. {state}"
