"""make and CI: targets, the language of `make lab`, what is said without a Python, when things are installed again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

TARGETS = ("lab", "test", "build", "bench", "clean", "help")


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
