"""Nobody gets a mark without an answer: every attack on garbage answers ends with 0 points, and spoils no batch.

Most of these would not even be run (tests/test_gate.py). Here they are, to see what is behind the gate.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from attacks import (
    ATTACKS,
    attacked,
    checks_deleted_and_silenced,
    equal_to_everything,
    reference_read,
    skip_comments,
)
from grading_class import graded, points, rows, sandbox_problem, verdicts
from submissions import GARBAGE, Notebook

import fp8lab
from fp8lab.grading import launch

PACKAGE = Path(fp8lab.__file__).parent
WHOLE = {
    "checks deleted and showtraceback silenced": checks_deleted_and_silenced,
    "skip comments and tags": skip_comments,
    "equal to everything": equal_to_everything,
}


def name_of(number: int) -> str:
    return f"mallory{number:02}"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """All attacks in one batch, with an honest learner before and after them, and files beside the notebooks."""
    folder = tmp_path_factory.mktemp("attacks")
    root = folder / "submissions"
    notebooks = [attacked(code) for code in ATTACKS.values()] + [make() for make in WHOLE.values()]
    for number, notebook in enumerate(notebooks):
        path = notebook.save(root / name_of(number) / "01_decode.ipynb")
        (path.parent / "conftest.py").write_text("import os; os._exit(0)")
        (path.parent / "fp8lab.py").write_text("check = lambda *a: True")
        (path.parent / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
    for student in ("aaa", "zzz"):
        Notebook().solve().save(root / student / "01_decode.ipynb")
    grades = graded(root, folder / "out", gate=False)
    assert grades.broken == ()
    return rows(folder / "out" / "grades.csv")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(ATTACKS) + len(WHOLE)), ids=[*ATTACKS, *WHOLE])
def test_no_points_for_an_attack(table, number):
    found = verdicts(table, name_of(number))
    assert len(found) == len(GARBAGE)
    assert points(table, name_of(number)) == 0, found


@pytest.mark.slow
def test_honest_learners_of_the_batch_lose_nothing(table):
    for student in ("aaa", "zzz"):
        assert set(verdicts(table, student).values()) == {"passed"}


@pytest.mark.slow
def test_one_bad_cell_costs_the_others_nothing(tmp_path):
    """The worst cells, in a notebook that is otherwise solved."""
    for name in ("hard exit", "loop that ignores SIGINT", "60 MB printed", "stdin asked"):
        notebook = Notebook().solve().write("1.7", f"{ATTACKS[name].strip()}\n{GARBAGE['1.7']}")
        notebook.save(tmp_path / "in" / name / "01_decode.ipynb")
    graded(tmp_path / "in", tmp_path / "out", gate=False)
    table = rows(tmp_path / "out" / "grades.csv")
    found = {name: verdicts(table, name).pop("1.7") for name in {row["student"] for row in table}}
    assert found == {
        "hard exit": "crashed",
        "loop that ignores SIGINT": "timeout",
        "60 MB printed": "wrong",
        "stdin asked": "error",
    }
    assert {row["verdict"] for row in table if row["exercise"] != "1.7"} == {"passed"}


# ---- what only a sandbox can keep from them


@pytest.fixture
def boxed(lacking):
    if sandbox_problem():
        lacking(f"needs a sandbox: {sandbox_problem()}")


def telling(code: str) -> Notebook:
    """Lesson 01, solved, but for 1.7, which tells what `code` has found: `result`, in an error message."""
    return Notebook().solve().write("1.7", f"{code}\ndef audit(decoder):\n    raise RuntimeError(f'<{{result}}>')")


def outcome_of(code: str, tmp_path: Path) -> dict[str, dict[str, str]]:
    """Exercise key -> row of the table for `telling(code)`."""
    telling(code).save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    graded(tmp_path / "in", tmp_path / "out", gate=False)
    return {row["exercise"]: row for row in rows(tmp_path / "out" / "grades.csv")}


def test_the_reference_is_not_on_the_disk(boxed, tmp_path):
    reference_read(str(PACKAGE.parent)).save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    reference_read("/").save(tmp_path / "in" / "bob" / "01_decode.ipynb")
    graded(tmp_path / "in", tmp_path / "out", timeout=60.0, gate=False)
    table = rows(tmp_path / "out" / "grades.csv")
    assert verdicts(table, "ann")["1.4"] == "wrong"
    assert verdicts(table, "bob")["1.4"] in ("wrong", "timeout")


def test_the_same_cheat_without_a_sandbox_is_why_there_is_one(tmp_path):
    """If this fails, the attack above proves nothing."""
    reference_read(str(PACKAGE.parent)).save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    graded(tmp_path / "in", tmp_path / "out", sandbox=False, timeout=60.0, gate=False)
    assert verdicts(rows(tmp_path / "out" / "grades.csv"), "ann")["1.4"] == "passed"


PROBES = {
    "no network": """
import socket
try:
    socket.create_connection(("192.0.2.1", 80), timeout=2); result = "sent"
except OSError as problem:
    result = problem.strerror""",
    "nothing written outside": """
import os, pathlib, sys
tried = [sys.prefix, sys.base_prefix, "/usr", "/", "/etc", "/dev", os.path.dirname(os.__file__), {home!r}, {work!r}]
def attempt(folder):
    try:
        pathlib.Path(folder, "mallory").write_text("x"); return True
    except OSError:
        return False
result = [folder for folder in tried if attempt(folder)]""",
    "no environment of the instructor": "import os\nresult = os.environ.get('FP8LAB_SECRET_OF_THE_INSTRUCTOR')",
    "no other submission": "import os\nresult = os.path.exists({work!r})",
    "no numerics, no answers, no makers of secrets": """
import os, sys
found = {os.path.relpath(os.path.join(where, name), folder)
         for folder in sys.path for where, _, names in os.walk(os.path.join(folder, "fp8lab"))
         for name in names if name.endswith(".py")}
result = sorted(name for name in found if name.count(os.sep) == 1 or "lessons" in name and "driving" not in name)""",
    "no process of the grader": "import os\nresult = [p for p in os.listdir('/proc') if p.isdigit() and int(p) > 200]",
}
HARMLESS = {
    "no network": "RuntimeError: <Network is unreachable>",
    "nothing written outside": "RuntimeError: <[]>",
    "no environment of the instructor": "RuntimeError: <None>",
    "no other submission": "RuntimeError: <False>",
    "no numerics, no answers, no makers of secrets": "RuntimeError: <['fp8lab/__init__.py', 'fp8lab/course/lessons/"
    "__init__.py', 'fp8lab/course/lessons/l01_decode/__init__.py', 'fp8lab/threads.py']>",
    "no process of the grader": "RuntimeError: <[]>",
}


@pytest.fixture(scope="module")
def probed(tmp_path_factory):
    """All probes in one batch."""
    folder = tmp_path_factory.mktemp("probes")
    os.environ["FP8LAB_SECRET_OF_THE_INSTRUCTOR"] = "hunter2"
    for name, code in PROBES.items():
        code = code.strip().replace("{home!r}", repr(str(Path.home()))).replace("{work!r}", repr(str(folder)))
        telling(code).save(folder / "in" / name / "01_decode.ipynb")
    graded(folder / "in", folder / "out", sandbox=True, gate=False)
    del os.environ["FP8LAB_SECRET_OF_THE_INSTRUCTOR"]
    assert not list(folder.rglob("mallory"))
    return rows(folder / "out" / "grades.csv")


@pytest.mark.parametrize("probe", PROBES)
def test_what_a_submission_cannot_reach(boxed, request, probe):
    mine = [row for row in request.getfixturevalue("probed") if row["student"] == probe]
    assert {row["verdict"] for row in mine if row["exercise"] != "1.7"} == {"passed"}
    assert next(row["note"] for row in mine if row["exercise"] == "1.7").startswith(HARMLESS[probe])


@pytest.mark.skipif(sys.platform != "linux", reason="memory and processes are watched through /proc")
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("hoard = []\nwhile True: hoard.append(b'x' * 50_000_000)", "used more than"),
        (
            "import os, time\nfor _ in range(150):\n    if os.fork() == 0: time.sleep(30); os._exit(0)\ntime.sleep(5)",
            "processes",
        ),
    ],
    ids=["memory", "processes"],
)
def test_bombs_are_stopped(tmp_path, monkeypatch, code, reason):
    monkeypatch.setattr(launch, "MEMORY", 2**30)
    found = outcome_of(code + "\nresult = 1", tmp_path)
    assert found["1.7"]["verdict"] == "crashed" and reason in found["1.7"]["note"]
    assert {row["verdict"] for key, row in found.items() if key != "1.7"} == {"passed"}


def test_nothing_is_left_running(boxed, tmp_path):
    """A daemon that has left its session, started by a submission that then ends its kernel."""
    code = "import os, subprocess\nsubprocess.Popen(['sleep', '987'], start_new_session=True)\nos._exit(0)"
    outcome_of(code, tmp_path)
    commands = [Path("/proc", pid, "cmdline") for pid in os.listdir("/proc") if pid.isdigit()]
    assert not [path for path in commands if path.exists() and path.read_bytes() == b"sleep\x00987\x00"]
