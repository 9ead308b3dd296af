"""Running a notebook leaves nothing behind."""

from __future__ import annotations

import os
import time

import pytest

from fp8lab.course.execute import ExecutionError, run_cells

CELL = {"cell_type": "code", "id": "one", "metadata": {}, "execution_count": None, "outputs": []}


def notebook(source: str) -> dict:
    return {"cells": [{**CELL, "source": [source]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits for its parent to notice does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat") as status:
            return status.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:  # macOS has no /proc
        return True


@pytest.mark.skipif(os.name != "posix", reason="asks for a process by its id")
@pytest.mark.parametrize("ending", ["", "\nraise ValueError('on purpose')"])
def test_the_kernel_ends_with_the_run(tmp_path, root, ending):
    """A builder of eleven lessons in two languages would else leave 22 kernels running."""
    written = tmp_path / "pid"
    source = f"import os\nopen({str(written)!r}, 'w').write(str(os.getpid())){ending}"
    if ending:
        with pytest.raises(ExecutionError, match="on purpose"):
            run_cells(notebook(source), tmp_path, root)
    else:
        run_cells(notebook(source), tmp_path, root)
    pid = int(written.read_text())
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(pid)
