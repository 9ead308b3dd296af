"""Microseconds of work on a GPU: CUDA events, with the host kept ahead of the card.

From Python a launch takes longer than a small kernel runs. A card that has nothing else to do waits for it, and the
time between two events is then the host's. So the card first gets other work, and a batch of jobs is queued behind
it; had that work ended before the batch was queued, the batch would not count: it is repeated behind more of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

import torch

BATCH = 16  # jobs queued at once: a queue holds about a thousand launches before the host has to wait
MOST_PASSES = 128
SPARE_BYTES = 1 << 29  # read, never written: no dirty lines in L2 that the jobs would pay for


class Card:
    """The GPU, as much of it as timing needs."""

    def __init__(self) -> None:
        self._spare = torch.zeros(SPARE_BYTES // 4, device="cuda")

    def event(self):
        return torch.cuda.Event(enable_timing=True)

    def wait(self) -> None:
        torch.cuda.synchronize()

    def occupy(self) -> None:
        """Some 0.1 to 2 milliseconds of work."""
        self._spare.sum()


def microseconds(jobs: list[Callable[[], object]], repetitions: int = 100, card: Card | None = None) -> float:
    """Median time that one job takes on the card, over at least `repetitions`, each on the next of `jobs` in turn.

    jobs  the same job on other tensors, together larger than the L2 cache, so that no run finds its data there. They
          must not wait for the card.

    RuntimeError when the host cannot keep ahead, which means that a job waits for the card.
    """
    card = card or Card()
    for job in jobs:  # compiles, and fills the allocator
        job()
    card.wait()
    times: list[float] = []
    batch, passes, turn = BATCH, 2, 0
    while len(times) < repetitions:
        if passes > MOST_PASSES:
            batch, passes = batch // 2, MOST_PASSES // 2
        if not batch:
            raise RuntimeError("a job waits for the GPU, so its time cannot be told from the host's")
        measured, turn = _one_batch(jobs, turn, batch, passes, card)
        times += measured
        passes = passes if measured else passes * 2
    return 1000 * statistics.median(times)


def _one_batch(jobs, turn: int, batch: int, passes: int, card: Card) -> tuple[list[float], int]:
    """(milliseconds of every job, or none if the card ran out of other work before all were queued; next turn)."""
    for _ in range(passes):
        card.occupy()
    ahead = card.event()
    ahead.record()
    pairs = []
    for number in range(turn, turn + batch):
        start, stop = card.event(), card.event()
        start.record()
        jobs[number % len(jobs)]()
        stop.record()
        pairs.append((start, stop))
    late = ahead.query()
    card.wait()
    return [] if late else [start.elapsed_time(stop) for start, stop in pairs], turn + batch
