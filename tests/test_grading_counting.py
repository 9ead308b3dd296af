"""The counting of Python's lines in a grading kernel: hidden loops gain nothing, even where the gate would let them in.

tests/test_counting.py asks the counting itself; here it stands where learners' code has run before it.
"""

from __future__ import annotations

import pytest
from attacks_blind import ATTACKS, FIELDS, notebook, write
from grading_class import graded, rows, verdicts

NEEDS_THE_GATE = {"busiest_line_replaced", "unrolled"}  # other code for the counting; a loop written out
HIDING = [
    attack
    for attack in ATTACKS
    if attack.name not in NEEDS_THE_GATE and any(w in attack.name for w in ("loop", "lies", "profiler"))
    if set(attack.keys) & {"1.5", "2.5", "4.8"}
]
ENDLESS = """
def decode_all():
    n = 0
    while n < 256:
        n -= 1
"""
SOLVED = ("01_decode", "02_encode", "04_grouped_kv")


@pytest.fixture(scope="module")
def table(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("counting")
    for attack in HIDING:
        (folder / "in" / attack.name).mkdir(parents=True)
        attack.build(folder / "in" / attack.name)
    for name in ("endless", "zz honest"):
        (folder / "in" / name).mkdir()
    write(folder / "in" / "endless", notebook({**FIELDS, "1.5": ENDLESS}))
    for lesson in SOLVED:
        solved = (root / "solutions" / "en" / f"{lesson}.ipynb").read_bytes()
        (folder / "in" / "zz honest" / f"{lesson}.ipynb").write_bytes(solved)
    assert graded(folder / "in", folder / "out", gate=False).broken == ()
    return rows(folder / "out" / "grades.csv")


def test_there_are_ways_to_hide_a_loop_in_all_three():
    assert {key for attack in HIDING for key in attack.keys} == {"1.5", "2.5", "4.8"} and len(HIDING) >= 10


@pytest.mark.parametrize("attack", HIDING, ids=lambda attack: attack.name)
def test_a_hidden_loop_gains_nothing(attack, table):
    found = verdicts(table, attack.name)
    assert {found[key] for key in attack.keys} <= {"wrong", "error"}


def test_a_hook_that_is_refused_is_told_to_the_instructor(table):
    notes = {
        name: "".join(row["note"] for row in table if row["student"] == name)
        for name in {row["student"] for row in table}
    }
    assert "tried to reach sys.addaudithook" in notes["loop_in_audit_hook"]
    assert "tried to reach sys.setprofile" in notes["loop_in_profiler"]
    assert "tried to reach" not in notes["plain_loop"]  # Python ends the tracing of a loop; nobody has tried to


def test_a_loop_without_an_end_is_a_loop_and_costs_no_time(table):
    assert verdicts(table, "endless")["1.5"] == "wrong"


def test_honest_work_is_counted_right(table):
    found = verdicts(table, "zz honest")
    assert {key: found[key] for key in ("1.5", "2.5", "4.8")} == dict.fromkeys(("1.5", "2.5", "4.8"), "passed")
