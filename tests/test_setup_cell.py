"""The setup cell, run by interpreters that do not have fp8lab: bare virtual environments with stand-ins."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fp8lab.course.setup import setup_cell

VERSION = "0.1.0"
NEEDED = ("torch", "numpy", "matplotlib", "ipywidgets")
TELL = """
import json, sys, fp8lab
print(json.dumps({"check": check, "file": fp8lab.__file__, "version": fp8lab.__version__}))
"""


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    """A virtual environment with pip and empty stand-ins for what fp8lab needs."""
    folder = tmp_path_factory.mktemp("venv") / "v"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    for name in NEEDED:
        (site_of(folder) / f"{name}.py").write_text("", encoding="utf-8")
    return folder


@pytest.fixture
def venv(pristine, tmp_path) -> Path:
    """A copy that a test may change."""
    shutil.copytree(pristine, tmp_path / "v", symlinks=True)
    return tmp_path / "v"


def site_of(venv: Path) -> Path:
    return next(venv.glob("lib/python*/site-packages"), venv / "Lib" / "site-packages")


def package(folder: Path, version: str = VERSION) -> Path:
    """A stand-in fp8lab in `folder`, whose `start` returns what it was called with."""
    course = folder / "fp8lab" / "course"
    course.mkdir(parents=True)
    (folder / "fp8lab" / "__init__.py").write_text(f'__version__ = "{version}"\n', encoding="utf-8")
    (course / "__init__.py").write_text("def start(**said):\n    return said\n", encoding="utf-8")
    return folder


def checkout(folder: Path, version: str = VERSION) -> Path:
    package(folder, version)
    (folder / "pyproject.toml").write_text('[project]\nname = "fp8lab"\n', encoding="utf-8")
    return folder


def wheel(folder: Path, scratch: Path, version: str = VERSION) -> Path:
    """A wheel of the stand-in that says it requires packages which exist nowhere."""
    source = package(scratch / f"wheel-{version}", version)
    info = f"fp8lab-{version}.dist-info"
    path = folder / f"fp8lab-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in source.rglob("*.py"):
            archive.write(file, file.relative_to(source).as_posix())
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        metadata = f"Metadata-Version: 2.1\nName: fp8lab\nVersion: {version}\nRequires-Dist: numpy>=999\n"
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/RECORD", "")
    return path


def run_cell(
    venv: Path, folder: Path, index: Path | None = None, times: int = 1, *, published: bool = True
) -> subprocess.CompletedProcess:
    """Run the cell in `folder` with the environment's Python; the package index is the folder `index`, or nothing."""
    python = next(p for p in (venv / "bin" / "python", venv / "Scripts" / "python.exe") if p.exists())
    cell = setup_cell("01_decode", "zh", VERSION, published=published)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON"))}
    environment.update(PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull, PYTHONIOENCODING="utf-8")
    if index:
        environment["PIP_FIND_LINKS"] = str(index)
    folder.mkdir(parents=True, exist_ok=True)
    script = (cell + "\n") * times + TELL
    return subprocess.run(
        [str(python), "-c", script], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
    )


def told(result: subprocess.CompletedProcess) -> dict:
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def installed(venv: Path) -> dict[str, bytes]:
    """Every file of the environment's site-packages that is not fp8lab's, with its bytes."""
    root = site_of(venv)
    files = [p for p in root.rglob("*") if p.is_file() and p.suffix != ".pyc"]
    return {str(p.relative_to(root)): p.read_bytes() for p in files if "fp8lab" not in p.relative_to(root).parts[0]}


def test_an_installed_package_of_the_right_version_is_used(venv, tmp_path):
    package(site_of(venv))
    checkout(tmp_path / "checkout")
    said = told(run_cell(venv, tmp_path / "checkout" / "notebooks"))
    assert Path(said["file"]).is_relative_to(site_of(venv))
    assert said["check"] == {"lesson": "01_decode", "lang": "zh"}


def test_a_checkout_above_the_notebook_comes_next(venv, tmp_path):
    checkout(tmp_path / "checkout")
    said = told(run_cell(venv, tmp_path / "checkout" / "notebooks" / "zh"))
    assert Path(said["file"]).is_relative_to(tmp_path / "checkout")


def test_a_checkout_of_the_right_version_wins_over_an_installed_wrong_one(venv, tmp_path):
    package(site_of(venv), "0.0.9")
    checkout(tmp_path / "checkout")
    said = told(run_cell(venv, tmp_path / "checkout" / "notebooks"))
    assert (said["version"], Path(said["file"]).is_relative_to(tmp_path / "checkout")) == (VERSION, True)


def test_a_folder_that_is_called_fp8lab_is_no_checkout(venv, tmp_path):
    (tmp_path / "work" / "fp8lab").mkdir(parents=True)
    wheel(tmp_path / "work", tmp_path)
    said = told(run_cell(venv, tmp_path / "work"))
    assert Path(said["file"]).is_relative_to(site_of(venv))


def test_a_wheel_beside_the_notebook_comes_next_and_changes_nothing_else(venv, tmp_path):
    (tmp_path / "work").mkdir()
    wheel(tmp_path / "work", tmp_path)
    before = installed(venv)
    said = told(run_cell(venv, tmp_path / "work"))
    assert Path(said["file"]).is_relative_to(site_of(venv))
    assert installed(venv) == before


def test_the_package_index_comes_last_and_changes_nothing_else(venv, tmp_path):
    index = tmp_path / "index"
    index.mkdir()
    wheel(index, tmp_path)
    wheel(index, tmp_path, "0.2.0")
    before = installed(venv)
    said = told(run_cell(venv, tmp_path / "work", index))
    assert said["version"] == VERSION
    assert installed(venv) == before


def test_while_nothing_is_published_whoever_has_the_name_on_an_index_is_not_asked(venv, tmp_path):
    """The index has an fp8lab of this very version: it is not ours."""
    index, work = tmp_path / "index", tmp_path / "work"
    index.mkdir()
    work.mkdir()
    wheel(index, tmp_path)
    result = run_cell(venv, work, index, published=False)
    assert result.returncode and "put its wheel, fp8lab-0.1.0-py3-none-any.whl, beside this notebook" in result.stderr
    assert not list(site_of(venv).glob("fp8lab*"))
    shutil.copy(next(index.iterdir()), work)
    assert told(run_cell(venv, work, published=False))["version"] == VERSION


def test_another_version_is_replaced_and_a_checkout_of_another_version_left_alone(venv, tmp_path):
    package(site_of(venv), "0.0.9")
    checkout(tmp_path / "checkout", "0.3.0")
    index = tmp_path / "index"
    index.mkdir()
    wheel(index, tmp_path)
    said = told(run_cell(venv, tmp_path / "checkout" / "notebooks", index))
    assert (said["version"], Path(said["file"]).is_relative_to(site_of(venv))) == (VERSION, True)


def test_running_it_again_changes_nothing(venv, tmp_path):
    checkout(tmp_path / "checkout")
    once = told(run_cell(venv, tmp_path / "checkout" / "notebooks"))
    assert told(run_cell(venv, tmp_path / "checkout" / "notebooks", times=3)) == once


IN_IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
print("SUCCESS" if shell.run_cell({cell!r}).success else "STOPPED")
"""


WHEEL = "fp8lab-0.1.0-py3-none-any.whl"
TO_DO = {  # what is lacking, whether fp8lab is published -> what to do, in both languages
    ("fp8lab", True): ("run `pip install --no-deps fp8lab==0.1.0`,", "运行 `pip install --no-deps fp8lab==0.1.0`"),
    ("fp8lab", False): (f"put its wheel, {WHEEL}, beside this", f"安装包 {WHEEL} 放到本笔记本旁边"),
    ("torch", True): ("run `pip install torch`,", "运行 `pip install torch`"),
    ("torch", False): ("run `pip install torch`,", "运行 `pip install torch`"),
}


@pytest.mark.parametrize("lacking, published", TO_DO)
def test_what_is_missing_stops_the_notebook_with_one_bilingual_line(tmp_path, lacking, published):
    """In IPython, with `lacking` hidden from this environment and pip unable to find anything."""
    hide = (
        "import importlib.util\n"
        "real = importlib.util.find_spec\n"
        f"importlib.util.find_spec = lambda name, *rest: None if name == {lacking!r} else real(name, *rest)\n"
    )
    script = hide + IN_IPYTHON.format(cell=setup_cell("01_decode", "en", VERSION, published=published))
    environment = {
        **os.environ,
        "PIP_NO_INDEX": "1",
        "PYTHONIOENCODING": "utf-8",
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    *lines, verdict = result.stdout.strip().splitlines()
    assert verdict == "STOPPED", result.stdout + result.stderr
    assert len(lines) == 1 and all(said in lines[0] for said in TO_DO[lacking, published]), lines
    assert ("fp8lab-" in lines[0] or "fp8lab==" in lines[0]) is (lacking == "fp8lab")
    assert "restart the kernel" in lines[0] and "重启内核" in lines[0]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_is_short_plain_python_of_310_and_ends_with_start(lang):
    cell = setup_cell("04_grouped_kv", lang, VERSION)
    ast.parse(cell, feature_version=(3, 10))
    lines = cell.split("\n")
    assert len(lines) <= 32 and max(map(len, lines)) <= 120
    assert "\n".join(lines) != setup_cell("04_grouped_kv", lang, VERSION, published=True)
    assert lines[-2:] == ["from fp8lab.course import start", f'check = start(lesson="04_grouped_kv", lang="{lang}")']
    with pytest.raises(ValueError, match="'fr'"):
        setup_cell("04_grouped_kv", "fr", VERSION)
