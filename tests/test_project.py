"""The project's own files against each other: packaging, pins, conda, make, both READMEs, style."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pkgutil
import re
import shutil
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
TARGETS = ("lab", "test", "build", "bench", "clean", "help")


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


# --- make and CI --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def make(root, lacking):
    """make("help", LANG="zh") runs make in a copy of the Makefile's folder, where nothing can be broken."""
    program = shutil.which("make")
    if program is None:
        lacking("no make on the PATH; install it: apt-get install make")

    def run(*arguments: str, folder=root, **environment: str) -> subprocess.CompletedProcess:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k not in ("LANG", "LC_ALL")}
        return subprocess.run(
            [program, *arguments], cwd=folder, env={**clean, **environment}, capture_output=True, text=True, timeout=120
        )

    return run


def test_make_alone_is_help_and_help_names_every_target(make):
    done = make()
    assert done.returncode == 0
    for target in TARGETS:
        assert re.search(rf"^  make {target} ", done.stdout, re.M), target
    for variable in ("PYTHON", "PORT", "LANG", "PIP_FLAGS"):
        assert f"{variable}=" in done.stdout


@pytest.mark.parametrize(
    ("environment", "argument", "lang"),
    [
        ({}, None, "en"),
        ({"LANG": "en_US.UTF-8"}, None, "en"),
        ({"LANG": "C.UTF-8"}, None, "en"),
        ({"LANG": "de_DE.UTF-8"}, None, "en"),
        ({"LANG": "zh_CN.UTF-8"}, None, "zh"),
        ({"LANG": "zh_TW"}, None, "zh"),
        ({"LANG": "en_US.UTF-8"}, "LANG=zh", "zh"),
        ({"LANG": "zh_CN.UTF-8"}, "LANG=en", "en"),
    ],
)
def test_make_lab_picks_the_language(make, environment, argument, lang):
    done = make("-n", "lab", "PORT=8899", *filter(None, [argument]), **environment)
    assert done.returncode == 0, done.stderr
    assert f'lab --lang {lang} --port "8899"' in done.stdout


def test_make_without_a_python_says_what_is_missing(make, root, tmp_path):
    shutil.copy(root / "Makefile", tmp_path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    (tmp_path / "bin").mkdir()
    old = tmp_path / "bin" / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")  # what an old Python answers to the question for its version
    old.chmod(0o755)
    done = make("lab", folder=tmp_path, PATH=str(tmp_path / "bin"))
    assert done.returncode != 0
    assert "needs Python 3.10 or newer" in done.stderr and "python3-venv" in done.stderr
    assert "make lab PYTHON=" in done.stderr

    named = make("test", f"PYTHON={tmp_path}/nowhere/python", folder=tmp_path)
    assert named.returncode != 0 and "is missing, older than 3.10, or has no venv" in named.stderr
    assert not (tmp_path / ".venv").exists()


def test_make_takes_python_and_pip_flags_and_installs_again_when_the_pins_change(make, root, tmp_path):
    """With a pip that only writes down how it was called."""
    shutil.copy(root / "Makefile", tmp_path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    fake = tmp_path / "python"
    fake.write_text(
        '#!/bin/sh\ncase "$*" in\n'
        '*"-m venv"*) mkdir -p .venv/bin; cp "$0" .venv/bin/python;;\n'
        '*"-m pip"*) echo "$*" >> calls;;\n'
        "*--version*) echo Python 3.12.0;;\nesac\n"
    )
    fake.chmod(0o755)
    first = make("lab", f"PYTHON={fake}", "PIP_FLAGS=--proxy here", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "making the environment .venv with Python 3.12.0" in first.stdout and "installing fp8lab" in first.stdout
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 1
    assert "--proxy here --constraint constraints.txt --editable .[lab]" in calls[0]

    make("lab", folder=tmp_path)
    assert len((tmp_path / "calls").read_text().splitlines()) == 1, "installed again for nothing"
    later = (tmp_path / ".venv" / "lab.stamp").stat().st_mtime + 5
    os.utime(tmp_path / "constraints.txt", (later, later))
    make("lab", folder=tmp_path)
    assert len((tmp_path / "calls").read_text().splitlines()) == 2, "new pins, old environment"

    assert make("clean", folder=tmp_path).returncode == 0
    assert not (tmp_path / ".venv").exists()


def test_ci_runs_make_test(root, lacking):
    script = root / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = script.read_text(encoding="utf-8").splitlines()
    assert "set -euo pipefail" in lines
    assert lines[-1] == "make test", "pytest's closing line must be the last"
    bash = shutil.which("bash")
    if bash is None:
        lacking("no bash on the PATH")
    assert subprocess.run([bash, "-n", str(script)], capture_output=True, timeout=20).returncode == 0


# --- text ---------------------------------------------------------------------------------------------------------


def blocks(text: str) -> list[str]:
    """The commands and the code of a Markdown text, without comments."""
    found = re.findall(r"^```(?:bash|python)\n(.*?)^```$", text, re.M | re.S)
    return [re.sub(r"\s*#.*$", "", block, flags=re.M).strip() for block in found]


def test_the_readmes_tell_the_same_commands_in_both_languages(root):
    english = (root / "README.md").read_text(encoding="utf-8")
    chinese = (root / "README.zh-CN.md").read_text(encoding="utf-8")
    assert blocks(english) == blocks(chinese)
    assert len(blocks(english)) >= 4
    assert "README.zh-CN.md" in english and "README.md" in chinese


@pytest.mark.parametrize(("name", "lang"), [("README.md", "en"), ("README.zh-CN.md", "zh")])
def test_the_verdict_that_a_readme_shows_is_what_a_learner_sees(root, name, lang):
    from fp8lab.course.check import Check
    from fp8lab.course.progress import Progress
    from fp8lab.course.registry import exercise

    (shown,) = re.findall(r"^```text\n(.*?)^```$", (root / name).read_text(encoding="utf-8"), re.M | re.S)
    (mistake,) = [m for m in exercise("1.4").misconceptions if m.name == "IEEE habit"]
    said = repr(Check(lang, Progress(None))("1.4", mistake.answer))
    assert "".join(shown.split()) == "".join(said.split())


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_every_link_of_a_readme_leads_somewhere(root, name):
    text = (root / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)|<(?:img|source)[^>]* src(?:set)?=\"([^\"]+)\"", text)
    relative = [a or b for a, b in targets if not re.match(r"\w+:", a or b)]
    assert relative
    assert [target for target in relative if not (root / target).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_lessons_that_a_readme_promises_exist_and_none_is_forgotten(root, name):
    linked = re.findall(r"\]\(notebooks/(?:en|zh)/(\d\d_\w+)\.ipynb\)", (root / name).read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(path.stem for path in (root / "solutions").glob("[0-9][0-9]_*.md"))


def test_the_code_is_clean(root):
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--output-format=concise", "--no-cache", "."],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
