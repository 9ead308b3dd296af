"""Ways to points without an answer, thought up without a look at the grader: what a determined learner would try.

Every attack is (name, what it does, build, keys): `build(folder)` writes one submission into an empty folder, and
`keys` are the exercises that it is after, none of which it solves. Thirty gained points when they were written.
"""

from __future__ import annotations

import blind_files  # noqa: F401
import blind_kernel  # noqa: F401
import blind_loops  # noqa: F401
import blind_package  # noqa: F401
import blind_verdicts  # noqa: F401
from blind_notebooks import ATTACKS, FIELDS, HONEST, notebook, write

__all__ = ["ATTACKS", "FIELDS", "HONEST", "notebook", "write"]
