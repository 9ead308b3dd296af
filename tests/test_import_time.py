"""`import fp8lab` costs next to nothing beyond `import torch`, and drags nothing of a notebook or a GPU in.

Time is read from `python -X importtime`, which counts only what imports cost, in the interpreter's own clock; the best
of a few processes stands, because a busy machine can only make an import slower.
"""

from __future__ import annotations

import re
import subprocess
import sys

import fp8lab

LIMIT_SECONDS = 0.1
FOREIGN = {"ipywidgets", "matplotlib", "transformers", "triton", "nbval", "IPython", "pytest", "nbformat", "jupytext"}
EVERY_NAME = "import torch, fp8lab; [getattr(fp8lab, name) for name in fp8lab.__all__]"


def imported(statement: str) -> tuple[list[tuple[str, float]], str]:
    """Run a statement in a new Python: (module, its own seconds) as the imports ended, and what was printed."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", statement], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = re.findall(r"^import time: +(\d+) \| +\d+ \| +(\S+)$", done.stderr, re.M)
    return [(name, int(microseconds) / 1e6) for microseconds, name in lines], done.stdout


def seconds_beyond_torch(statement: str) -> float:
    """What the statement's imports cost after `torch` itself has been imported."""
    modules, _ = imported(statement)
    names = [name for name, _ in modules]
    assert "torch" in names and "fp8lab" in names
    return sum(seconds for _, seconds in modules[names.index("torch") + 1 :])


def test_import_and_every_public_name_cost_less_than_a_tenth_of_a_second():
    best = min(seconds_beyond_torch(EVERY_NAME) for _ in range(3))
    print(f"import fp8lab with every public name: {best * 1e3:.1f} ms beyond torch")
    assert best < LIMIT_SECONDS


def test_import_alone_needs_not_even_torch():
    modules, _ = imported("import fp8lab")
    names = {name for name, _ in modules}
    assert "fp8lab" in names and "torch" not in names
    # the finder of an editable install is not ours to answer for
    assert sum(seconds for name, seconds in modules if name.startswith("fp8lab")) < LIMIT_SECONDS


def test_import_drags_in_nothing_of_notebooks_or_gpus():
    show = "; import sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    without = set(imported("import torch" + show)[1].split())
    with_us = set(imported(EVERY_NAME + show)[1].split())
    assert "fp8lab" in with_us
    assert not (with_us - without) & FOREIGN


def test_every_public_name_is_there_and_no_other():
    for name in fp8lab.__all__:
        assert getattr(fp8lab, name) is not None
    assert set(fp8lab.__all__) <= set(dir(fp8lab))
    try:
        fp8lab.quantise  # noqa: B018
    except AttributeError as problem:
        assert "'quantise'" in str(problem)
    else:
        raise AssertionError("a name that does not exist was found")
