"""Runs a solution notebook and keeps what is worth keeping of its outputs.

The reference outputs come from a CPU, a fresh kernel of this very Python, and no progress file. A run is refused when
it would not repeat on another machine or teaches something wrong: an exception, text on stderr, a path of this machine,
the address of an object, a check that does not say "right".
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from fp8lab.course.feedback import MARKS
from fp8lab.course.notebook import KERNEL, UNCOMPARED

CELL_TIMEOUT = 300  # seconds
DROPPED_MIME = "application/vnd.jupyter.widget-view+json"  # a reference to a widget state that is not kept
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}\b")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class ExecutionError(RuntimeError):
    """A notebook that does not run through, or whose outputs must not be committed. `problems` holds every reason."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


def execute(notebook: dict[str, Any], folder: Path, root: Path) -> dict[str, Any]:
    """A solution notebook with the outputs of a run in `folder` (where its file lies), fp8lab taken from `root`.

    ExecutionError names every cell that is at fault; ImportError without nbclient (extra `author`).
    """
    executed = run_cells(notebook, folder, root)
    problems = [problem for cell in executed["cells"] for problem in _faults(cell, root)]
    if problems:
        raise ExecutionError(problems)
    return executed


def run_cells(notebook: dict[str, Any], folder: Path, root: Path) -> dict[str, Any]:
    """Any notebook with the outputs of a run. ExecutionError names the cell that raised, or the dead kernel."""
    nbformat, client_class, manager = _tools()
    node = nbformat.reads(json.dumps(notebook), as_version=4)
    client = client_class(
        node,
        km=manager,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    folder.mkdir(parents=True, exist_ok=True)
    try:
        # stderr: the kernel's own log, not its cells'. cleanup_kc: the manager is ours, so its kernel ends with this.
        client.execute(env=_environment(root), stderr=subprocess.DEVNULL, cleanup_kc=True)
    except Exception as error:
        cell = next((c for c in node.cells if _failed(c)), None)
        where = f"cell {cell.id}" if cell else "the kernel"
        raise ExecutionError([f"{where} stopped the run: {_ANSI.sub('', str(error)).strip()}"]) from None
    cells = [_cleaned(_plain(cell)) for cell in node.cells]
    return {**notebook, "cells": cells, "metadata": {**notebook["metadata"], **KERNEL}}


def _tools():
    try:
        import nbformat
        from ipykernel.kernelspec import RESOURCES, get_kernel_dict
        from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
        from jupyter_client.manager import AsyncKernelManager
        from nbclient import NotebookClient
    except ImportError as error:
        raise ImportError(f"executing a notebook needs nbclient ({error}); pip install 'fp8lab[author]'") from error

    class ThisPython(KernelSpecManager):
        """Whatever kernel a user has installed under the name python3, run the Python that runs the builder."""

        def get_kernel_spec(self, kernel_name):
            return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())

    return nbformat, NotebookClient, AsyncKernelManager(kernel_name="python3", kernel_spec_manager=ThisPython())


def _environment(root: Path) -> dict[str, str]:
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "FP8LAB_PROGRESS": "off",
        "CUDA_VISIBLE_DEVICES": "",
    }


def _failed(cell: Any) -> bool:
    return any(output.output_type == "error" for output in cell.get("outputs", []))


def _plain(value: Any) -> Any:
    """NotebookNode -> dict, all the way down."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _cleaned(cell: dict[str, Any]) -> dict[str, Any]:
    """Texts as lists of lines, as in the file; no timing, no reference to a widget state."""
    cell = {**cell, "source": _lines(cell["source"])}
    if cell["cell_type"] != "code":
        return cell
    cell["metadata"] = {key: value for key, value in cell["metadata"].items() if key != "execution"}
    outputs = []
    for output in cell["outputs"]:
        if "data" in output:
            kept = {mime: value for mime, value in output["data"].items() if mime != DROPPED_MIME}
            output = {**output, "data": {mime: _lines(v) if _is_text(mime) else v for mime, v in kept.items()}}
        if "text" in output:
            output = {**output, "text": _lines(output["text"])}
        outputs.append(output)
    return {**cell, "outputs": outputs}


def _is_text(mime: str) -> bool:
    """What nbformat splits into lines when it writes a file."""
    return mime.startswith("text/") or mime in ("application/javascript", "image/svg+xml")


def _lines(text: Any) -> Any:
    return text.splitlines(True) if isinstance(text, str) else text


def _faults(cell: dict[str, Any], root: Path) -> list[str]:
    """Why the outputs of a cell must not be committed."""
    if cell["cell_type"] != "code":
        return []
    found = []
    tags = cell["metadata"].get("tags", [])
    demo = "check.demo(" in "".join(cell["source"])
    shown = [output_text(output) for output in cell["outputs"]]
    for output, text in zip(cell["outputs"], shown, strict=True):
        if output.get("name") == "stderr":
            found.append(f"writes to stderr, which differs between machines: {text.strip()[:200]}")
        if any(place in text for place in (str(root), str(Path.home()), sys.prefix) if len(place) > 1):
            found.append(f"shows a path of this machine: {text.strip()[:200]}")
        if _ADDRESS.search(text) and not set(tags) & set(UNCOMPARED):
            found.append(f"shows the address of an object: {text.strip()[:200]}")
    if demo and any(text.startswith(MARKS["error"]) for text in shown):
        found.append(f"has a demo that shows nothing: {' '.join(map(_plain_text, shown)).strip()[:400]}")
    if (demo or "check" in tags) and any(text.startswith(MARKS["blocked"]) for text in shown):
        reason = _plain_text(shown[0]).splitlines()[-1].strip(f" {MARKS['blocked']}")  # a demo has no line above it
        found.append(
            f"cannot be run on this machine: {reason} "
            "Build this lesson where it can, the others by name (--lesson), or everything but outputs (--no-execute)"
        )
    elif "check" in tags and not any(text.startswith(MARKS["right"]) for text in shown):
        found.append(f"checks a solution and does not say right: {' '.join(shown).strip()[:400] or 'no output'}")
    return [f"cell {cell['id']} {what}" for what in found]


def _plain_text(shown: str) -> str:
    """What `output_text` says before it goes on in HTML."""
    return shown.split("\n<")[0]


def output_text(output: dict[str, Any]) -> str:
    """What an output says, whatever its kind; pictures say nothing."""
    pieces = [output.get("text", [])]
    pieces += [value for mime, value in output.get("data", {}).items() if not mime.startswith("image/")]
    texts = ["".join(piece) if isinstance(piece, list) else str(piece) for piece in pieces]
    return "\n".join(sorted(filter(None, texts), key=lambda text: text.startswith("<")))
