"""The project's own files against each other: packaging, pins, conda, style."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import pkgutil
import re
import subprocess
import sys

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import fp8lab

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXTRAS = {"lab", "grade", "author", "hf", "gpu", "cluster", "test"}


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pins(root):
    """Name -> requirement, of every line of constraints.txt."""
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    assert len({canonicalize_name(r.name) for r in found}) == len(found), "a package is pinned twice"
    return {canonicalize_name(r.name): r for r in found}


# --- packaging ----------------------------------------------------------------------------------------------------


def test_core_requirements_have_floors_and_no_ceilings(project):
    """Installing fp8lab on a platform image must change no package that is there."""
    core = {r.name: r for r in map(Requirement, project["project"]["dependencies"])}
    assert set(core) == {"torch", "numpy", "matplotlib", "ipywidgets"}
    for requirement in core.values():
        assert {s.operator for s in requirement.specifier} <= {">=", "!="}, f"{requirement} has a ceiling"
    assert core["torch"].specifier == SpecifierSet(">=2.4")
    assert core["ipywidgets"].specifier == SpecifierSet(">=7.7,!=8.1.9")


@pytest.mark.parametrize(
    "there",
    [
        {"torch": "2.11.0+cu128", "numpy": "2.1.3", "matplotlib": "3.10.0", "ipywidgets": "7.7.1"},  # Colab
        {"torch": "2.10.0", "numpy": "1.26.4", "matplotlib": "3.9.2", "ipywidgets": "8.1.5"},  # ModelScope
    ],
)
def test_platform_images_satisfy_the_core_requirements(project, there):
    for requirement in map(Requirement, project["project"]["dependencies"]):
        assert requirement.specifier.contains(there[requirement.name], prereleases=True), requirement


def test_extras_are_those_of_the_design(project):
    assert set(project["project"]["optional-dependencies"]) == EXTRAS


def test_the_version_is_written_once(project, root):
    assert "version" in project["project"]["dynamic"]
    assert importlib.metadata.version("fp8lab") == fp8lab.__version__
    assert f'"{fp8lab.__version__}"' not in (root / "pyproject.toml").read_text(encoding="utf-8")


def test_python_versions_are_declared_once_and_the_same(project):
    assert project["project"]["requires-python"] == ">=3.10"
    named = {c.rsplit(" ", 1)[1] for c in project["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)}
    assert named == {"3.10", "3.11", "3.12", "3.13"}


def test_the_licence_is_where_the_metadata_say(project, root):
    assert project["project"]["license"] == "MIT"
    for name in project["project"]["license-files"]:
        assert (root / name).read_text(encoding="utf-8").startswith("MIT License")


def test_the_packaged_lessons_are_package_data(project, root):
    patterns = project["tool"]["setuptools"]["package-data"]["fp8lab.course"]
    sources = {path.stem for path in (root / "solutions").glob("[0-9][0-9]_*.md")}
    packed = {path.stem for pattern in patterns for path in (root / "fp8lab" / "course").glob(pattern)}
    assert sources, "there is no lesson in solutions/"
    assert sources == packed, "run make build"


def test_every_module_imports():
    """pytest passes over a module that cannot be imported when it looks for doctests; this does not."""
    needs = {"triton": "fp8lab.kernels", "jupytext": "fp8lab.course.myst", "rich": "fp8lab.grading"}
    absent = tuple(place for package, place in needs.items() if importlib.util.find_spec(package) is None)
    names = [module.name for module in pkgutil.walk_packages(fp8lab.__path__, "fp8lab.", onerror=lambda name: None)]
    assert "fp8lab.codec" in names
    wanted = [name for name in names if not name.startswith(absent)]
    script = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    done = subprocess.run([sys.executable, "-c", script, *wanted], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


# --- pins ---------------------------------------------------------------------------------------------------------


def test_pins_are_exact_and_of_no_platform(pins):
    for pin in pins.values():
        (specifier,) = pin.specifier
        assert specifier.operator == "==", pin
        assert Version(specifier.version).local is None, f"{pin} names a local build"


def test_pins_satisfy_what_the_project_asks_for(project, pins):
    asked = list(project["project"]["dependencies"])
    for extra in ("lab", "grade", "author", "gpu", "test"):
        asked += project["project"]["optional-dependencies"][extra]
    for requirement in map(Requirement, asked):
        name = canonicalize_name(requirement.name)
        if name != "fp8lab" and name != "tomli":  # tomli is for Python 3.10, where the pins do not reach
            (specifier,) = pins[name].specifier
            assert requirement.specifier.contains(specifier.version), f"{requirement} against {pins[name]}"


def test_reference_outputs_are_made_with_known_torch_and_triton(pins):
    assert str(pins["torch"].specifier) == "==2.13.0"
    assert str(pins["triton"].specifier) == "==3.7.1"  # the one that goes with torch 2.13


@pytest.mark.skipif(
    sys.version_info < (3, 11) or sys.platform != "linux",
    reason="the pins cover all packages for CPython 3.11 and newer on Linux, where CI runs and outputs are made",
)
def test_every_package_that_the_tests_install_is_pinned(pins):
    """A package that fp8lab[test] brings and that is not pinned would move under the reference outputs."""
    unpinned = {name for name in closure("fp8lab", "test") - {"fp8lab"} if name not in pins}
    gpu_only = {name for name in unpinned if name.startswith(("nvidia-", "cuda-"))}
    assert unpinned - gpu_only == set()


def closure(name: str, *extras: str) -> set[str]:
    """The names of all installed packages that `name[extras]` needs here, with `name` itself."""
    found, todo = set(), [(canonicalize_name(name), frozenset(extras))]
    seen = set()
    while todo:
        current, wanted = todo.pop()
        if (current, wanted) in seen:
            continue
        seen.add((current, wanted))
        try:
            requires = importlib.metadata.requires(current) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # an extra that is not installed
        found.add(current)
        for requirement in map(Requirement, requires):
            if requirement.marker and not any(requirement.marker.evaluate({"extra": e}) for e in (wanted or {""})):
                continue
            todo.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return found


# --- conda --------------------------------------------------------------------------------------------------------


def test_environment_yml_installs_this_package_with_its_extras(project, root):
    environment = yaml.safe_load((root / "environment.yml").read_text(encoding="utf-8"))
    assert environment["name"] == "fp8lab"
    assert environment["channels"] == ["conda-forge"]

    conda = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (python,) = [entry for entry in conda if entry.startswith("python")]
    allowed = SpecifierSet(python.removeprefix("python"))
    asked = SpecifierSet(project["project"]["requires-python"])
    for minor in range(8, 16):
        version = f"3.{minor}"
        assert not allowed.contains(version) or asked.contains(version), f"conda may take Python {version}"
        assert allowed.contains(version) == (10 <= minor <= 13), version
    assert "pip" in conda, "conda warns when pip is used and not listed"

    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    (line,) = pip
    extras = re.fullmatch(r"-e \.\[([a-z,]+)\]", line)
    assert extras, f"{line!r} does not install this folder"
    assert set(extras[1].split(",")) <= set(project["project"]["optional-dependencies"])
    assert {"lab", "grade"} <= set(extras[1].split(",")), "a hub image must open and grade the lessons"


# --- style ---------------------------------------------------------------------------------------------------------


def test_the_code_is_clean(root):
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--output-format=concise", "--no-cache", "."],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
