"""The wheel on Colab's kernel stack (ipywidgets 7.7.1, IPython 7.34): nothing there changes, and everything works.

A virtual environment gets what Colab's published package list names; torch and what it needs are linked into it rather
than loaded again. Notebooks then run in a kernel of that environment, driven from outside, beside the wheel and nothing
else: as on a platform that opens one .ipynb alone.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import fp8lab

COLAB = {  # Colab's package list of August 2026, as far as a kernel is concerned
    "ipywidgets": "7.7.1",
    "ipython": "7.34.0",
    "ipykernel": "6.17.1",
    "jupyter_client": "7.4.9",
    "traitlets": "5.7.1",
    "numpy": "2.1.3",
    "matplotlib": "3.10.0",
}
CELL_SECONDS = 120
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="torch is linked into the environment with symbolic links"),
]


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory) -> Path:
    """The wheel, built from a copy of the checkout, so that nothing is left behind in it."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, source)
    shutil.copytree(root / "fp8lab", source / "fp8lab", ignore=shutil.ignore_patterns("__pycache__"))
    line = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", "."]
    done = subprocess.run(line, cwd=source, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def fresh(tmp_path_factory, lacking) -> Path:
    """An environment with Colab's stack and torch, without fp8lab: the path of its Python. Tests do not change it."""
    folder = tmp_path_factory.mktemp("colab") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=300)
    python = folder / "bin" / "python"
    asked = [f"{name}=={version}" for name, version in COLAB.items()] + ["setuptools"]
    line = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *asked]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, env=plain_environment())
    if done.returncode:
        lacking(f"Colab's packages cannot be installed here (is there a package index?): {done.stderr[-400:]}")
    (site,) = (folder / "lib").glob("python*/site-packages")
    link_distributions(["torch"], site)
    return python


@pytest.fixture
def colab(fresh, tmp_path) -> Path:
    """The Python of that environment, for one test, which fp8lab may be installed into: it is taken out again."""
    yield fresh
    line = [str(fresh), "-m", "pip", "uninstall", "--yes", "--quiet", "fp8lab"]
    subprocess.run(line, check=True, capture_output=True, timeout=120, env=plain_environment())


def plain_environment() -> dict[str, str]:
    """This process's environment without what would bring packages of the checkout in."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def link_distributions(names: list[str], site: Path) -> None:
    """Link the files of installed distributions, and of all that they require, into another site-packages."""
    todo, done = list(names), set()
    while todo:
        distribution = importlib.metadata.distribution(todo.pop())
        if distribution.name in done:
            continue
        done.add(distribution.name)
        for top in {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}:
            target, place = Path(distribution.locate_file(top)), site / top
            if target.exists() and not place.exists():
                place.symlink_to(target)
        for requirement in map(Requirement, distribution.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                todo.append(requirement.name)


def freeze(python: Path) -> set[str]:
    line = [str(python), "-m", "pip", "freeze", "--all", "--disable-pip-version-check"]
    done = subprocess.run(line, check=True, capture_output=True, text=True, timeout=120, env=plain_environment())
    return set(done.stdout.split("\n"))


def install(python: Path, wheel: Path) -> None:
    line = [str(python), "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run(line, check=True, capture_output=True, timeout=120, env=plain_environment())


def manager(python: Path, home: Path, kind: type):
    """A kernel manager of `kind` for kernels of that Python."""
    from jupyter_client.kernelspec import KernelSpecManager

    spec = home / "kernels" / "colab"
    spec.mkdir(parents=True, exist_ok=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "colab", "language": "python"}))
    specs = KernelSpecManager(kernel_dirs=[str(home / "kernels")], ensure_native_kernel=False)
    return kind(kernel_name="colab", kernel_spec_manager=specs)


def kernel_environment(folder: Path) -> dict[str, str]:
    own = {"IPYTHONDIR": folder / "ipython", "FP8LAB_PROGRESS": folder / "progress.json", "PYTHONNOUSERSITE": "1"}
    return {**plain_environment(), **{name: str(value) for name, value in own.items()}}


def run_notebook(python: Path, notebook: dict, folder: Path):
    """Execute a notebook dict in `folder` with a kernel of `python`; an error in a cell is an error here."""
    import nbformat
    from jupyter_client import AsyncKernelManager
    from nbclient import NotebookClient

    client = NotebookClient(
        nbformat.reads(json.dumps(notebook), as_version=4),
        km=manager(python, folder.parent / "spec", AsyncKernelManager),
        timeout=CELL_SECONDS,
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute(env=kernel_environment(folder), cleanup_kc=True)  # the manager is ours: end its kernel


@contextmanager
def kernel(python: Path, folder: Path) -> Iterator:
    """A running kernel of `python` as a blocking client."""
    from jupyter_client import KernelManager

    running = manager(python, folder.parent / "spec", KernelManager)
    running.start_kernel(env=kernel_environment(folder), cwd=str(folder))
    client = running.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield client
    finally:
        client.stop_channels()
        running.shutdown_kernel(now=True)


def printed(client, code: str) -> str:
    """What `code` prints in the kernel. AssertionError with the traceback if it raises."""
    said: list[str] = []

    def hook(message: dict) -> None:
        if message["msg_type"] == "stream":
            said.append(message["content"]["text"])

    reply = client.execute_interactive(code, timeout=CELL_SECONDS, output_hook=hook)["content"]
    assert reply["status"] == "ok", "\n".join(reply.get("traceback", []))
    return "".join(said).strip()


def lesson(lang: str, *, solved: bool) -> dict:
    from fp8lab.course.notebook import learner_notebook, solution_notebook
    from fp8lab.course.source import packaged

    return (solution_notebook if solved else learner_notebook)(packaged("01_decode"), lang)


def cells_until_setup(notebook: dict) -> dict:
    """The notebook up to and with its setup cell."""
    place = next(n for n, cell in enumerate(notebook["cells"]) if cell["id"] == "setup")
    return {**notebook, "cells": notebook["cells"][: place + 1]}


def test_the_wheel_holds_the_lessons_and_nothing_that_is_not_the_package(wheel, root):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entry = next(name for name in names if name.endswith("entry_points.txt"))
        assert "fp8lab = fp8lab.cli:main" in archive.read(entry).decode()
        for path in (root / "fp8lab").rglob("*"):
            if path.suffix in (".py", ".json"):
                assert path.relative_to(root).as_posix() in names
    assert wheel.name == f"fp8lab-{fp8lab.__version__}-py3-none-any.whl"
    tops = {name.split("/")[0] for name in names}
    assert tops == {"fp8lab", f"fp8lab-{fp8lab.__version__}.dist-info"}


def test_the_environment_is_colabs(fresh):
    """Else this file would test our own stack and say it was Colab's."""
    have = {line.lower() for line in freeze(fresh)}
    for name, version in COLAB.items():
        assert f"{name.replace('_', '-')}=={version}" in {line.replace("_", "-") for line in have}
    assert not any(line.startswith("fp8lab") for line in have)


def test_the_setup_cell_takes_the_wheel_beside_the_notebook_and_changes_nothing_else(colab, wheel, tmp_path):
    folder = tmp_path / "download"
    folder.mkdir()
    shutil.copy(wheel, folder)
    before = freeze(colab)
    done = run_notebook(colab, cells_until_setup(lesson("en", solved=False)), folder)
    (said,) = [output["text"] for output in done.cells[-1]["outputs"]]
    assert said.startswith(f"fp8lab {fp8lab.__version__} · Python") and said.count("\n") == 1
    after = freeze(colab)
    assert before <= after
    assert {line.split(" ")[0].split("==")[0] for line in after - before} == {"fp8lab"}

    again = run_notebook(colab, cells_until_setup(lesson("zh", solved=False)), folder)
    assert "中文" in again.cells[-1]["outputs"][0]["text"]
    assert freeze(colab) == after, "the second run of the setup cell changed something"


def test_a_setup_cell_that_finds_nothing_stops_the_notebook_with_one_bilingual_line(colab, tmp_path):
    """IPython 7 must show the line, and no traceback; no index is asked."""
    from nbclient.exceptions import CellExecutionError

    from fp8lab.course.setup import setup_cell

    folder = tmp_path / "alone"
    folder.mkdir()
    before = freeze(colab)
    notebook = cells_until_setup(lesson("en", solved=False))
    notebook["cells"][-1]["source"] = setup_cell("01_decode", "en", "999.0")  # there is no such wheel
    with pytest.raises(CellExecutionError) as stopped:
        run_notebook(colab, notebook, folder)
    shown = str(stopped.value).rsplit("------------------\n", 1)[1].strip()  # nbclient puts the cell's source before it
    assert shown.count("\n") == 0
    assert (
        "fp8lab-999.0-py3-none-any.whl, beside this notebook" in shown
        and "restart the kernel" in shown
        and "重启内核" in shown
    )
    assert freeze(colab) == before


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_solution_of_lesson_1_runs_through_with_every_check_right(colab, wheel, tmp_path, lang):
    from fp8lab.course.registry import lesson_exercises

    folder = tmp_path / "work"
    folder.mkdir()
    install(colab, wheel)
    run_notebook(colab, lesson(lang, solved=True), folder)
    records = json.loads((folder / "progress.json").read_text(encoding="utf-8"))["exercises"]
    assert {key: record["right"] for key, record in records.items()} == {
        exercise.key: True for exercise in lesson_exercises("01_decode")
    }


def test_the_untouched_lesson_runs_through_and_says_not_attempted(colab, wheel, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    install(colab, wheel)
    done = run_notebook(colab, lesson("en", solved=False), folder)
    checks = [cell for cell in done.cells if cell["id"].startswith("check-")]
    assert checks
    for cell in checks:
        (output,) = cell["outputs"]
        assert "Not attempted yet." in output["data"]["text/plain"] or "Blocked" in output["data"]["text/plain"]


def test_the_bit_explorer_builds_and_reacts_to_the_messages_of_a_front_end(colab, wheel, tmp_path):
    """A click on a toggle button arrives in the kernel as a comm message; it is sent here as a browser sends it."""
    folder = tmp_path / "work"
    folder.mkdir()
    install(colab, wheel)
    with kernel(colab, folder) as client:
        version = printed(client, "import ipywidgets, IPython; print(ipywidgets.__version__, IPython.__version__)")
        assert version == f"{COLAB['ipywidgets']} {COLAB['ipython']}"
        models = printed(
            client,
            "from fp8lab.explore.bits import bit_explorer\n"
            "explorer = bit_explorer(0x78)\n"
            "display(explorer)\n"
            "print(*(button.model_id for button in explorer.buttons))",
        ).split()
        assert len(models) == 8
        reading = "print(f'{explorer.state.code:02X}', explorer.data.value, explorer.value.value)"
        assert printed(client, reading).split()[:2] == ["78", "256.0"]

        for bit, expected in [(1, "7A"), (2, "7E"), (0, "7F")]:
            update = {"method": "update", "state": {"value": True}, "buffer_paths": []}
            message = client.session.msg("comm_msg", {"comm_id": models[bit], "data": update})
            client.shell_channel.send(message)
            assert printed(client, reading).split()[0] == expected
        assert printed(client, reading).split()[1] == "nan"
