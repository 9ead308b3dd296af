"""A grader that is killed with -9 leaves no process and no folder, and its successor goes on where it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from grading_class import sandbox_problem
from submissions import IEEE_HABIT, WRONG_FIELDS, Notebook

from fp8lab.grading import MARKS_FOLDER
from fp8lab.grading.places import LOCK, PREFIX, own_folder, sweep

LEARNERS = 12
SEED = "11"
LOG = "FP8LAB_TEST_LOG"
COMMAND = """
import os, re, sys
from fp8lab.cli import main
from fp8lab.grading import jobs
true = jobs.grade_notebook
def noted(data, *rest):
    with open(os.environ["FP8LAB_TEST_LOG"], "a") as log:
        log.write(re.search("# learner [0-9]+", data.decode())[0] + "\\n")
    return true(data, *rest)
jobs.grade_notebook = noted
sys.exit(main(sys.argv[1:]))
"""


def make_class(root: Path) -> None:
    """Twelve learners whose notebooks all differ."""
    for number in range(LEARNERS):
        notebook = Notebook().solve(*["1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"][: 1 + number % 7])
        if number % 4 == 3:
            notebook.write("1.1", WRONG_FIELDS)
        if number % 5 == 4:
            notebook.write("1.4", IEEE_HABIT)
        first = notebook.cell("1.1")
        first["source"] = "".join(first["source"]) + f"\n# learner {number:02}"
        notebook.save(root / f"s{number:02}" / "01_decode.ipynb")


def start(folder: Path, out: str, temporary: Path) -> subprocess.Popen:
    temporary.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), LOG: str(folder / f"{out}.log")}
    environment["TMPDIR"] = str(temporary)
    line = [sys.executable, "-c", COMMAND, "grade", str(folder / "in"), "--out", str(folder / out), "--seed", SEED]
    line += ["--no-sandbox"] if sandbox_problem() else []
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen([*line, "--workers", "2"], env=environment, text=True, start_new_session=True, **quiet)


def finish(process: subprocess.Popen) -> str:
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


def reports(folder: Path) -> int:
    return len(list((folder / MARKS_FOLDER / "reports").glob("*.json")))


def descendants(root: int) -> dict[int, str]:
    """The processes below `root`, with what identifies them: a number is given out again."""
    parents: dict[int, int] = {}
    born: dict[int, str] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(name)], born[int(name)] = int(fields[1]), fields[19]
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {pid: born[pid] for pid in found - {root} if pid in born}


def still_there(processes: dict[int, str]) -> list[str]:
    """Command lines of those that have not ended."""
    there = []
    for pid, born in processes.items():
        try:
            fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
            if fields[19] == born and fields[0] != "Z":
                there.append(Path("/proc", str(pid), "cmdline").read_text().replace("\0", " ")[:200])
        except OSError:
            continue
    return there


def until(condition, seconds: float = 120.0) -> bool:
    stop = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > stop:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")
def test_killed_at_half_and_resumed(tmp_path):
    make_class(tmp_path / "in")
    temporary = Path("/tmp") / f"r{os.getpid()}"  # short: sockets lie in it
    try:
        finish(start(tmp_path, "undisturbed", temporary))
        assert list(temporary.glob(f"{PREFIX}*")) == []  # a grader that ends in order cleans up

        victim = start(tmp_path, "out", temporary)
        assert until(lambda: reports(tmp_path / "out") >= LEARNERS // 2)
        below = descendants(victim.pid)
        os.kill(victim.pid, signal.SIGKILL)
        victim.communicate()
        done = reports(tmp_path / "out")
        assert LEARNERS // 2 <= done < LEARNERS
        assert below and until(lambda: not still_there(below), 20), still_there(below)
        assert len(list(temporary.glob(f"{PREFIX}*"))) == 1  # nobody was there to remove it

        said = finish(start(tmp_path, "out", temporary))
        assert f"{LEARNERS - done} notebooks run" in said and f"{done} taken from an earlier run" in said
        assert list(temporary.glob(f"{PREFIX}*")) == []
    finally:
        for leftover in sorted(temporary.rglob("*"), reverse=True):
            leftover.unlink() if not leftover.is_dir() else leftover.rmdir()
        temporary.rmdir()
    for table in ("grades.csv", "summary.csv"):
        assert (tmp_path / "out" / table).read_bytes() == (tmp_path / "undisturbed" / table).read_bytes()

    ran = (tmp_path / "out.log").read_text().splitlines()
    assert len(set(ran)) == LEARNERS
    assert len(ran) - LEARNERS <= 2  # only what was being run when the grader was killed is begun again, one per worker


# ---- folders


def test_a_folder_whose_owner_lives_stays_and_others_go(tmp_path):
    mine = own_folder()
    assert mine.name not in sweep(str(mine.parent)) and mine.exists()
    left = tmp_path / f"{PREFIX}left"
    (left / "k").mkdir(parents=True)
    (left / LOCK).touch()
    (tmp_path / "other").mkdir()
    young = tmp_path / f"{PREFIX}young"
    young.mkdir()
    assert sweep(str(tmp_path)) == [left.name]
    assert not left.exists() and young.exists() and (tmp_path / "other").exists()
    os.utime(young, (1, 1))
    assert sweep(str(tmp_path)) == [young.name]


@pytest.mark.skipif(os.name == "nt", reason="no links without rights")
def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "precious" / "data").mkdir(parents=True)
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "precious")
    assert sweep(str(tmp_path)) == []
    assert (tmp_path / "precious" / "data").exists()
