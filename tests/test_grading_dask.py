"""A class on a Dask cluster: real schedulers and workers, one killed in mid-run, and all that can be missing."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from contextlib import contextmanager

import psutil
import pytest
from grading_class import TIMEOUT, graded, rows, sandbox_problem
from submissions import CRASH, IEEE_HABIT, Notebook

from fp8lab.grading import cluster as cluster_module
from fp8lab.grading.cluster import ClusterError, Job, dask_cluster, machine, on_worker, unfit

SEED = 4
BLOCKED = "import sys; sys.modules['fp8lab'] = None"
SECONDS = 60  # until a scheduler or a worker of our own must be there


def make_class(root):
    """More notebooks than the cluster takes at a time, so that some wait when a worker dies."""
    Notebook().solve().save(root / "solved" / "01_decode.ipynb")
    Notebook(lang="zh").solve("1.1", "1.2").save(root / "half" / "01_decode.ipynb")
    Notebook().solve().write("1.4", IEEE_HABIT).save(root / "ieee" / "01_decode.ipynb")
    Notebook().solve().write("1.2", "def normal_value(:").save(root / "syntax" / "01_decode.ipynb")
    Notebook().solve().write("1.6", f"def classify(b): {CRASH}").save(root / "exits" / "01_decode.ipynb")
    Notebook().save(root / "untouched" / "01_decode.ipynb")
    for number in range(6):
        Notebook().solve(f"1.{number + 1}").save(root / f"only{number}" / "01_decode.ipynb")


def environment(**more):
    path = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": path, "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "warning", **more}


@contextmanager
def started(*lines: list[str], folder, **more):
    """Processes that run meanwhile, and are ended with all that they have started."""
    running = []
    try:
        for line in lines:
            running.append(subprocess.Popen([sys.executable, *line], cwd=folder, env=environment(**more)))
        yield running
    finally:
        for process in running:
            with_children = [*psutil.Process(process.pid).children(recursive=True), process]
            for one in with_children:
                try:
                    one.kill()
                except psutil.NoSuchProcess:
                    pass
            process.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def tool(name, before=""):
    """The command line of a tool of Dask, in which `before` is run first."""
    run = f"import runpy, sys; runpy.run_module('distributed.cli.dask_{name}', run_name='__main__')"
    return ["-c", f"{before}\n{run}"]


@contextmanager
def scheduler(folder, before=""):
    """The address of a scheduler without workers."""
    address = f"tcp://127.0.0.1:{free_port()}"
    line = [*tool("scheduler", before), "--host", address, "--no-dashboard"]
    with started(line, folder=folder):
        wait_until(lambda: answers(address))
        yield address


def worker(address, *options, before=""):
    """The command line of a worker with one thread, in which `before` is run first."""
    return [*tool("worker", before), address, "--no-dashboard", "--nthreads", "1", *options]


def answers(address) -> bool:
    host, port = address.removeprefix("tcp://").split(":")
    with socket.socket() as one:
        return one.connect_ex((host, int(port))) == 0


def wait_until(true) -> None:
    stop = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < stop, "waited in vain"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def local():
    """Two worker processes, each grading one notebook at a time."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as found:
        yield found


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    """The class, and the table that this machine alone gives it."""
    folder = tmp_path_factory.mktemp("class")
    make_class(folder / "in")
    graded(folder / "in", folder / "out", seed=SEED)
    return folder / "in", (folder / "out" / "grades.csv").read_bytes()


def test_a_worker_killed_in_mid_run_costs_nobody_a_mark(local, classroom, tmp_path):
    submissions, table = classroom
    seen, killed = [], []

    def progress(done, total):
        seen.append((done, total))
        if killed or done < 2:
            return
        busy = [n for n in local.workers.values() if local.scheduler.workers[n.worker_address].processing]
        if busy:  # in the middle of a job, with others waiting
            killed.append(busy[0].worker_address)
            os.kill(busy[0].process.pid, signal.SIGKILL)

    with dask_cluster(local.scheduler_address, sandbox=not sandbox_problem()) as cluster:
        assert (cluster.workers, cluster.slots) == (2, 2)
        grades = graded(
            submissions, tmp_path / "out", seed=SEED, workers=2, executor=cluster.executor, progress=progress
        )
    assert killed and killed[0] not in local.scheduler.workers
    assert grades.broken == () and grades.exit_code == 0
    assert (tmp_path / "out" / "grades.csv").read_bytes() == table
    assert seen[0] == (0, 12) and seen[-1] == (12, 12) and len(seen) > 4, "no live progress"
    assert grades.ran == 12
    wait_until(lambda: len(local.scheduler_info["workers"]) == 2)  # its nanny has started another


def test_the_command_grades_on_a_cluster(local, classroom, tmp_path):
    submissions, table = classroom
    done = command(submissions, "--out", tmp_path / "out", "--seed", SEED, "--dask", local.scheduler_address)
    assert done.returncode == 0, done.stderr
    assert "2 workers, 2 notebooks at a time" in done.stderr
    assert "12 notebooks run" in done.stdout
    assert (tmp_path / "out" / "grades.csv").read_bytes() == table


def command(*arguments, **more):
    line = [sys.executable, "-m", "fp8lab.cli", "grade", *map(str, arguments), "--timeout", str(TIMEOUT)]
    line += ["--no-sandbox"] if sandbox_problem() else []
    return subprocess.run(line, capture_output=True, text=True, env=environment(**more))


# ---- what is missing is said in a line


def failed(done, tmp_path, *words) -> None:
    assert done.returncode == 1 and not (tmp_path / "out").exists()
    assert "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("fp8lab grade:")]
    assert [word for word in words if word not in said[-1]] == [], done.stderr


def test_nobody_answers(classroom, tmp_path, monkeypatch):
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(ClusterError, match=rf"no Dask scheduler answers at {address} within 1 s.*dask scheduler"):
        with dask_cluster(address, seconds=1):
            pass


@pytest.mark.parametrize("address", ["nonsense://here:1", "tcp://127.0.0.1:notaport"])
def test_what_is_no_address(address):
    with pytest.raises(ClusterError, match=re.escape(f"no Dask scheduler answers at {address}")):
        with dask_cluster(address, seconds=1):
            pass


def test_distributed_is_not_installed(classroom, tmp_path):
    hide = "import sys; sys.modules['distributed'] = None; from fp8lab.cli import main; sys.exit(main(sys.argv[1:]))"
    line = [sys.executable, "-c", hide, "grade", classroom[0], "--out", tmp_path / "out", "--dask", "tcp://x:1"]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, env=environment())
    failed(done, tmp_path, "needs distributed", 'pip install "fp8lab[cluster]"')


def test_no_workers_and_workers_that_cannot_grade(classroom, tmp_path):
    """A scheduler without workers; then one that has no fp8lab, one with another torch, one without bwrap."""
    old = "import importlib.metadata as m; v = m.version; m.version = lambda n: '2.4.0' if n == 'torch' else v(n)"
    bare = "import shutil; w = shutil.which; shutil.which = lambda c, *a, **k: None if c == 'bwrap' else w(c, *a, **k)"
    with scheduler(tmp_path) as address:
        with pytest.raises(ClusterError, match=f"has no workers; start some: dask worker {address}"):
            with dask_cluster(address, seconds=1):
                pass
        lines = [
            worker(address, "--no-nanny", "--name", str(n), before=b) for n, b in enumerate((BLOCKED, old, bare, ""))
        ]
        with started(*lines, folder=tmp_path):
            from distributed import Client

            with Client(address, set_as_default=False) as client:
                client.wait_for_workers(4, timeout=SECONDS)
                named = {str(w["name"]): name for name, w in client.scheduler_info(-1)["workers"].items()}
            done = command(classroom[0], "--out", tmp_path / "out", "--dask", address)
    failed(done, tmp_path, "some workers cannot grade")
    about = dict(re.findall(r"(tcp://[\d.:]+\d): (.*?)(?=; tcp://|$)", done.stderr))
    assert set(about) == {named[name] for name in (["0", "1"] if sandbox_problem() else ["0", "1", "2"])}
    assert "no fp8lab there" in about[named["0"]] and 'pip install "fp8lab[grade,cluster]==' in about[named["0"]]
    assert "torch 2.4.0 (here " in about[named["1"]] and socket.gethostname() in about[named["1"]]
    if not sandbox_problem():
        assert "no sandbox: bubblewrap is not installed" in about[named["2"]]


def test_a_scheduler_without_fp8lab(classroom, tmp_path):
    with scheduler(tmp_path, before=BLOCKED) as address, started(worker(address, "--no-nanny"), folder=tmp_path):
        done = command(classroom[0], "--out", tmp_path / "out", "--dask", address)
    failed(done, tmp_path, f"the scheduler at {address}: no fp8lab there", 'pip install "fp8lab[grade,cluster]==')


# ---- each reason, and workers that come later


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"torch": "2.4.0"}, "torch 2.4.0 (here"),
        ({"course": "abc"}, "course abc (here"),
        ({"python": "3.9"}, "python 3.9 (here"),
        ({"nbval": ""}, "nbval not installed"),
        ({"ipykernel": "1.0"}, ""),  # no mark depends on it
        ({"sandbox": "bubblewrap is not installed"}, "no sandbox: bubblewrap"),
    ],
)
def test_who_is_fit(change, words):
    here = machine()
    said = unfit(here, {**here, "sandbox": "", **change})
    assert (words in said) if words else not said


def test_a_worker_that_joins_later_and_is_not_fit_gives_no_marks(classroom, tmp_path):
    class Elsewhere(Executor):
        """Runs jobs as a worker with another course would."""

        def submit(self, work, /, *args, **kwargs):
            future = Future()
            try:
                future.set_result(on_worker({**machine(), "course": "other"}, False, Job(work, args, kwargs)))
            except ClusterError as problem:
                future.set_exception(problem)
            return future

    grades = graded(classroom[0], tmp_path / "out", seed=SEED, workers=2, executor=Elsewhere())
    assert grades.exit_code == 1 and len(grades.broken) == 12 and grades.verdicts.keys() == {"rejected"}
    assert "course" in grades.broken[0] and "(here other)" in grades.broken[0]
    assert {row["points"] for row in rows(tmp_path / "out" / "grades.csv")} == {"0"}
    again = graded(classroom[0], tmp_path / "out", seed=SEED)  # nothing of it was kept
    assert again.exit_code == 0 and (tmp_path / "out" / "grades.csv").read_bytes() == classroom[1]


def test_what_dask_may_log_shows_neither_notebook_nor_seed():
    assert str(Job(print, (b"notebook", 12345), {})) == "a job of fp8lab grade"


def test_importing_the_grader_does_not_import_dask():
    script = "import sys, fp8lab.grading.command; print(*[name for name in sys.modules if 'distributed' == name])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment())
    assert done.returncode == 0 and done.stdout.strip() == ""
    assert cluster_module.ANSWER_SECONDS > 0
