"""Kernels and pytests that are copies of a template: how they end, what a lost template costs, and the long way."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from grading_class import graded, need_templates, rows, verdicts
from kernels import Kernel, alive, gone
from submissions import Notebook

from fp8lab import machine
from fp8lab.grading import ready as ready_module
from fp8lab.grading.ready import COLD, KERNELS, PYTESTS, ready
from fp8lab.grading.sandboxed import LOST, join
from fp8lab.grading.warm import Copy, TemplateLost, templates


@pytest.fixture(autouse=True)
def boxed():
    need_templates()


# ---- ends


@pytest.mark.parametrize("last", ["import os; os._exit(3)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
def test_what_a_kernel_has_started_ends_with_it(tmp_path, last):
    kernel = Kernel(tmp_path, warm=True)
    number = str(9000 + len(last))
    kernel.ask(f"import subprocess; subprocess.Popen(['sleep', '{number}'], start_new_session=True); result = 0")
    assert alive(number)
    kernel.tell(last)
    assert kernel.ended()
    assert gone(number)
    kernel.end()


def test_a_fork_of_the_kernel_ends_when_the_sandbox_does(tmp_path):
    """Here the sandbox ends first."""
    kernel = Kernel(tmp_path, warm=True)
    inside = kernel.process.copy.pid
    kernel.process.holder.process.send_signal(signal.SIGKILL)
    assert kernel.ended()
    assert not os.path.exists(f"/proc/{inside}")
    kernel.end()


def test_a_kernel_that_kills_all_it_can_kills_only_itself(tmp_path):
    kernel, other = (Kernel(tmp_path / name, warm=True) for name in "ab")
    kernel.tell("import os, signal; os.kill(-1, signal.SIGKILL); os.kill(os.getpid(), signal.SIGKILL)")
    assert kernel.ended()
    assert other.ask("result = 1") == 1 and templates._running[KERNELS].runs
    kernel.end()
    other.end()


# ---- templates


def test_a_lost_template_is_no_fault_of_the_submission(tmp_path):
    """The kernels' template is killed while a kernel runs; its successor serves the same notebook."""
    kernel = Kernel(tmp_path / "k", warm=True)
    templates._running[KERNELS].process.kill()
    assert kernel.ended() and kernel.process.returncode == LOST
    kernel.end()
    Notebook().solve().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    grades = graded(tmp_path / "in", tmp_path / "out")
    assert grades.broken == ()
    assert set(verdicts(rows(tmp_path / "out" / "grades.csv"), "ann").values()) == {"passed"}


def test_a_template_that_is_killed_in_mid_run_costs_no_mark(tmp_path):
    code = "import time\ndef classify(byte):\n    time.sleep(0.02)\n    return _right(byte)"
    solved = Notebook().solve()
    right = "".join(solved.cell("1.6")["source"]).replace("def classify", "def _right")
    solved.write("1.6", f"{right}\n{code}").save(tmp_path / "in" / "ann" / "01_decode.ipynb")

    def strike():
        time.sleep(3)
        templates._running[KERNELS].process.kill()

    thread = threading.Thread(target=strike)
    thread.start()
    grades = graded(tmp_path / "in", tmp_path / "out", timeout=30.0)
    thread.join()
    assert grades.broken == ()
    assert set(verdicts(rows(tmp_path / "out" / "grades.csv"), "ann").values()) == {"passed"}


def asleep(folder: Path, name: str, seconds: float) -> Copy:
    """A pytest that takes `seconds`."""
    script = folder / f"test_{name}.py"
    script.write_text(f"import time\ndef test_{name}():\n    time.sleep({seconds})\n")
    output = str(folder / f"{name}.txt")
    request = {"arguments": [script.name], "cwd": str(folder), "env": dict(os.environ), "output": output}
    return Copy(ready(True).pytests, request)


def test_a_pytest_that_dies_costs_no_other(tmp_path):
    victim, *others = [asleep(tmp_path, "long", 600), asleep(tmp_path, "a", 0), asleep(tmp_path, "b", 0)]
    os.kill(victim.pid, signal.SIGKILL)
    assert victim.wait(30) == -signal.SIGKILL
    assert [copy.wait(60) for copy in others] == [0, 0]
    for copy in (victim, *others):
        copy.kill()


def test_a_copy_dies_when_nobody_waits_for_it(tmp_path):
    copy = asleep(tmp_path, "long", 600)
    assert copy.wait(1) is None
    copy._connection.close()
    assert gone(f"/proc/{copy.pid}")


def test_a_template_that_is_not_there_says_so(tmp_path):
    with pytest.raises(TemplateLost, match="does not answer"):
        Copy(str(tmp_path / "nothing"), {})


def test_templates_hold_nothing_of_the_instructor(monkeypatch):
    """The environment of the kernels' template is a kernel's, from its first moment on."""
    monkeypatch.setenv("FP8LAB_SECRET_OF_THE_INSTRUCTOR", "hunter2")
    templates.end()
    ready(True)
    pid = templates._running[KERNELS].process.pid
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"hunter2" not in environment and b"HOME=/home/learner" in environment


# ---- and the long way


def test_cold_where_it_must_be(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(ready_module, "_cold", {})
    monkeypatch.setenv(COLD, "1")
    Notebook().solve().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    graded(tmp_path / "in", tmp_path / "out")
    assert set(verdicts(rows(tmp_path / "out" / "grades.csv"), "ann").values()) == {"passed"}
    assert capsys.readouterr().err.count(f"every kernel starts anew, which takes longer: {COLD} is set") == 1


@pytest.mark.parametrize("what", ["setns", "template"])
def test_a_machine_that_forbids_it_grades_the_long_way(monkeypatch, what):
    """A sandbox whose namespaces are those of the template; a template that does not come up."""
    templates.end()
    if what == "setns":
        monkeypatch.setattr(ready_module, "join", refuse)
    else:
        monkeypatch.setattr(ready_module, "KERNELS", "fp8lab.no_such_template")
    assert ready_module.cold_because() != ""
    templates.end()


def refuse(holder, launch, arguments):
    """What `join` does where the system says no: the process to join is in no sandbox."""
    return join(SimpleNamespace(inside=os.getpid()), launch, arguments)


def test_the_doctor_tells(monkeypatch):
    found = machine.warm_kernels("en")
    assert (found.state, found.required) == ("ok", False)
    monkeypatch.setenv(COLD, "1")
    cold = machine.warm_kernels("en")
    assert cold.state == "note" and f"starts anew, which takes longer: {COLD} is set" in cold.value
    assert "从头启动" in machine.warm_kernels("zh").value


def test_names_of_the_templates():
    """`python -m` finds them."""
    assert all(importlib.util.find_spec(name) for name in (KERNELS, PYTESTS))
