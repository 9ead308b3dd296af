"""Attacks that were thought up without knowing the grader: all in one batch, none may gain a point."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys

import pytest
from attacks_blind import ATTACKS, HONEST, notebook, write
from grading_class import graded, rows, sandbox_problem

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


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_gains_nothing(attack, marks):
    gained = {key: marks[attack.name, key] for key in attack.keys}
    assert gained == dict.fromkeys(attack.keys, 0)


INSIDE = (  # what these are after is not in a kernel: they gain nothing even if nobody looks at their source
    *("frame_codec", "traceback_codec", "generator_codec", "inspect_codec", "printed_codec", "collected_codec"),
    *("names_of_codecs", "seed_of_decoders", "facts_by_frame", "facts_by_collector", "driver_replaced"),
    *("tensor_item_lies", "collected_value", "collected_classify", "driver_imports_codec", "codec_in_another_process"),
    *("source_of_the_codec", "source_of_the_formats", "guard_told_to_open", "guard_replaced", "import_codec"),
)


@pytest.fixture(scope="module")
def without_gate(lacking, tmp_path_factory):
    """The rows of these attacks, run as they are."""
    if sandbox_problem():
        lacking(f"needs a sandbox: {sandbox_problem()}")
    folder, out = tmp_path_factory.mktemp("open"), tmp_path_factory.mktemp("marks")
    for attack in ATTACKS:
        if attack.name in INSIDE:
            (folder / attack.name).mkdir()
            attack.build(folder / attack.name)
    assert graded(folder, out, timeout=10.0, gate=False).broken == ()
    return {(row["student"], row["exercise"]): row for row in rows(out / "grades.csv")}


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.name in INSIDE], ids=lambda a: a.name)
def test_what_an_attack_is_after_is_not_there(attack, without_gate):
    for key in attack.keys:
        row = without_gate[attack.name, key]
        assert float(row["points"]) == 0 and row["verdict"] in ("wrong", "error"), row


def test_honest_work_among_the_attacks_keeps_its_points(marks):
    points = {"1.1": 2, "1.2": 2, "1.3": 2, "1.4": 3, "1.5": 3, "1.6": 2, "1.7": 4}
    assert {key: marks[CONTROL, key] for key in points} == points
    assert {key: marks[VICTIM, key] for key in points} == {**dict.fromkeys(points, 0), "1.1": 2}


def test_every_attack_has_a_name_of_its_own():
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names) and set(names) >= set(INSIDE)
