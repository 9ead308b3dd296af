"""An encoder as a learner is handed one: where its codes change, behind a function. All look alike but for the numbers.

`tabulate` makes such tables, outside of a grading kernel.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any


def encoder_of(edges: Sequence[float], codes: Sequence[Any], nan: Any, minus_zero: Any) -> Callable[[float], Any]:
    """The function that gives every x from edges[i - 1] to below edges[i] the code codes[i].

    nan, minus_zero: the codes of NaN, whatever its bits, and of -0.0, which no comparison tells from 0.0.

    >>> sign = encoder_of([0.0], [0x81, 0x01], nan=0x7F, minus_zero=0x80)
    >>> [hex(sign(x)) for x in (-3.0, -0.0, 0.0, math.inf, math.nan)]
    ['0x81', '0x80', '0x1', '0x1', '0x7f']
    """

    def encoder(x: float) -> Any:
        number = float(x)  # from here on nothing is rounded: numpy would compare in the width of x
        if number != number:
            return nan
        if number == 0 and math.copysign(1.0, number) < 0:
            return minus_zero
        return codes[bisect_right(edges, number)]

    return encoder
