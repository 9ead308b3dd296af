"""A decoder as a learner is handed one: a table behind a function. All of them look alike but for the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def decoder_of(values: Sequence[float]) -> Callable[[int], float]:
    """The function that looks a code up in `values`.

    >>> decoder_of([0.0, 0.5])(1)
    0.5
    """

    def decoder(code: int) -> float:
        return values[code]

    return decoder
