"""`import fp8lab` drags nothing of a notebook, a compiler or a GPU in, and little of anything else.

What it costs in time is a figure of `benchmarks/check_latency.py`: some milliseconds beyond `import torch`. Here its
cause is held: the modules that are imported.
"""

from __future__ import annotations

import re
import subprocess
import sys

import fp8lab

FOREIGN = {"ipywidgets", "matplotlib", "transformers", "triton", "nbval", "IPython", "pytest", "nbformat", "jupytext"}
EVERY_NAME = "import torch, fp8lab; [getattr(fp8lab, name) for name in fp8lab.__all__]"


def imported(statement: str) -> tuple[list[str], str]:
    """Run a statement in a new Python: the modules in the order in which they were imported, and what was printed."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", statement], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return re.findall(r"^import time: +\d+ \| +\d+ \| +(\S+)$", done.stderr, re.M), done.stdout


def test_every_public_name_costs_a_handful_of_modules_beyond_torch():
    names, _ = imported(EVERY_NAME)
    beyond = names[names.index("torch") + 1 :]
    ours = [name for name in beyond if name.split(".")[0] == "fp8lab"]
    others = {name.split(".")[0].lstrip("_") for name in beyond if name not in ours}
    assert 0 < len(ours) < 30, ours
    assert len(others) < 10 and others <= set(sys.stdlib_module_names), others


def test_import_alone_needs_not_even_torch():
    names, _ = imported("import fp8lab")
    assert "torch" not in names
    assert [name for name in names if name.split(".")[0] == "fp8lab"] == ["fp8lab"]


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
    assert not {"annotations", "import_module"} & set(dir(fp8lab))
    try:
        fp8lab.quantise  # noqa: B018
    except AttributeError as problem:
        assert "'quantise'" in str(problem)
    else:
        raise AssertionError("a name that does not exist was found")
