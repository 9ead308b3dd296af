"""A seed for every exercise from the one secret of a folder of marks. The secret itself never enters a kernel."""

from __future__ import annotations

import hashlib


def seed_of(secret: int, key: str) -> int:
    """The seed of an exercise's inputs, 63 bits. Who sees some of them learns nothing of the others.

    >>> seed_of(1, "1.1") == seed_of(1, "1.1"), seed_of(1, "1.1") == seed_of(1, "1.2"), seed_of(1, "1.7") < 2**63
    (True, False, True)
    """
    digest = hashlib.sha256(f"fp8lab {secret} {key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
