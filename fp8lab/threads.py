"""One thread for work that consists of many small operations.

torch hands even a small product to all its threads, and they wait for each other. On a machine that has something else
to do, that takes longer than the work: a check of lesson 05 took 0.2 s on one thread and up to 12 s on two.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """torch works on one thread inside, and on as many as before afterwards, whatever happens inside.

    >>> before = torch.get_num_threads()
    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
