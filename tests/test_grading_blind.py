"""Attacks that were thought up without knowing the grader: all in one batch, none may gain a point."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys

import pytest
from attacks_blind import ATTACKS, HONEST, OPEN, notebook, write

CONTROL, VICTIM = "zz_control", "zz_victim"  # after the attacks in the alphabet, so that what these leave is there


@pytest.fixture(scope="module")
def marks(root, lacking, tmp_path_factory):
    """{(student, exercise): points} of one batch of all attacks, an honest notebook, and one that is half done."""
    if shutil.which("bwrap") is None:
        lacking("no bwrap here: apt-get install bubblewrap")
    folder, out = tmp_path_factory.mktemp("class"), tmp_path_factory.mktemp("marks")
    for name, content in ((CONTROL, HONEST), (VICTIM, {"1.1": HONEST["1.1"]})):
        (folder / name).mkdir()
        write(folder / name, notebook(content))
    for attack in ATTACKS:
        (folder / attack.name).mkdir()
        attack.build(folder / attack.name)
    command = [sys.executable, "-m", "fp8lab.cli", "grade", str(folder), "--out", str(out), "--timeout", "10"]
    run = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True)
    assert run.returncode in (0, 3), run.stderr  # 3: some could not be read, and have rows
    with open(out / "grades.csv", encoding="utf-8-sig", newline="") as file:
        return {(row["student"], row["exercise"]): float(row["points"]) for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(
            attack,
            id=attack.name,
            marks=[pytest.mark.xfail(strict=True, reason=attack.does)] if attack.name in OPEN else [],
        )
        for attack in ATTACKS
    ],
)
def test_an_attack_gains_nothing(attack, marks):
    gained = {key: marks[attack.name, key] for key in attack.keys}
    assert gained == dict.fromkeys(attack.keys, 0)


def test_honest_work_among_the_attacks_keeps_its_points(marks):
    points = {"1.1": 2, "1.2": 2, "1.3": 2, "1.4": 3, "1.5": 3, "1.6": 2, "1.7": 4}
    assert {key: marks[CONTROL, key] for key in points} == points
    assert {key: marks[VICTIM, key] for key in points} == {**dict.fromkeys(points, 0), "1.1": 2}


def test_every_open_attack_is_one_of_the_list():
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names) and set(names) >= set(OPEN)
