"""Lesson 10 and a GPU that is not here: what can be told of it on a CPU. Results and speed are not among it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from triton_here import needs_triton

from fp8lab.course.lessons.l10_gpu import answers, driving_launch, driving_measure
from fp8lab.course.lessons.l10_gpu.driving_launch import device, launch, where_kernels_run
from fp8lab.course.source import read_lesson

ROOT = Path(__file__).resolve().parents[1]
CAPABILITIES = ("75", "80", "86", "89", "90")
no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU: nothing to pretend")


# ---- where kernels run


@pytest.fixture
def card(monkeypatch):
    """card(interpreted): there is a GPU, and kernels were decorated so."""
    from fp8lab.kernels import bits

    def pretend(interpreted: bool):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "Some Card")
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (7, 5))
        monkeypatch.setattr(bits, "INTERPRETED", interpreted)

    return pretend


@no_gpu
def test_without_a_gpu_kernels_run_on_the_cpu_and_nothing_is_measured():
    assert device() == torch.device("cpu")
    assert driving_measure.measured_write(16, 2, 64, 32) is None


@needs_triton
@no_gpu
@pytest.mark.parametrize("said", ["", "0", "1", "true", "false"])
def test_with_a_gpu_it_counts_how_kernels_were_decorated_not_what_a_variable_says_by_now(card, monkeypatch, said):
    monkeypatch.setenv("TRITON_INTERPRET", said)
    card(interpreted=False)
    assert device() == torch.device("cuda")
    card(interpreted=True)
    assert device() == torch.device("cpu")


@needs_triton
@no_gpu
def test_the_interpreter_is_never_timed_not_on_a_machine_with_a_gpu_either(card):
    """It would take the tensors of a GPU, and its seconds would be printed as if they were the card's."""
    card(interpreted=True)
    assert driving_measure.measured_write(16, 2, 64, 32) is None
    assert "Not measured on a GPU" in where_kernels_run("en")


@needs_triton
@no_gpu
def test_the_card_is_named(card, monkeypatch):
    card(interpreted=False)
    monkeypatch.setattr(driving_launch, "prepare", lambda: None)
    assert where_kernels_run("en") == "Kernels are compiled for this GPU: Some Card (sm_75)."
    assert where_kernels_run("zh") == "内核为这块 GPU 编译：Some Card（sm_75）。"


@needs_triton
@no_gpu
def test_a_fault_on_the_card_is_reported_by_the_launch_that_made_it(monkeypatch):
    """A launch returns before the kernel has run: what it did wrong arrives with the next wait."""

    def wait():
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be ...")

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", wait)
    x, out = torch.zeros(2, 32), torch.zeros(2, 2)
    with pytest.raises(RuntimeError, match="illegal memory access was encountered: the kernel read or wrote.*重启内核"):
        launch(answers.absmax_as(""), (2, 2), x, out, 32, GROUP=16)


# ---- compiled, and launched as far as a card


@needs_triton
@pytest.mark.slow
def test_the_solved_kernels_compile_for_every_generation(tmp_path):
    lesson = read_lesson(ROOT / "solutions" / "10_gpu.md")
    code = [c.source for c in lesson.cells if c.kind == "code" and not c.tags and "check" not in c.source]
    kernels = [c.source for c in lesson.cells if "def encode_kernel" in c.source]
    kept = [c.source for c in lesson.cells if c.role == "exercise"]
    text = "\n\n".join([*code[:2], *kept[:6], *code[2:], *kept[6:], kernels[0].split("\n\n\n")[0]])
    text = text.replace('os.environ["TRITON_INTERPRET"] = "1"', "pass")
    path = tmp_path / "lesson_code.py"
    path.write_text(text, encoding="utf-8")
    said = run_file(ROOT / "tests" / "lesson_kernel_compiler.py", path, tmp_path)
    assert len(said.splitlines()) == 8 * len(CAPABILITIES)
    assert all(int(line.split()[2]) > 1000 for line in said.splitlines())


def run_file(script: Path, lesson: Path, folder: Path, capabilities=CAPABILITIES) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(lesson), *capabilities]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


LAUNCHES = """
import sys
sys.path.insert(0, {tests!r})
from learner import Desk
from fp8lab.course.registry import lesson_exercises
from right_lesson_10 import RIGHT
desk = Desk("10_gpu")
for found in lesson_exercises("10_gpu"):
    given = [desk.answer(found.key), *(desk.answer(found.key, filling) for filling in RIGHT[found.key].values())]
    if CAPABILITY == 75:
        given += [m.answer for m in found.misconceptions] + list(found.variants)
    for answer in given:
        before = len(launched)
        try:
            found.drive.drive(answer, found.drive.inputs(3))
            print(found.key, "launched", len(launched) > before)
        except Exception as problem:
            print(found.key, answer, type(problem).__name__, str(problem)[:300])
"""


@needs_triton
@no_gpu
@pytest.mark.slow
@pytest.mark.parametrize("capability", ["75", "90"])
def test_every_check_launches_on_a_card(tmp_path, capability):
    """Bound to the drive's own tensors and compiled: right kernels of every style; on the oldest card every mistake."""
    script = tmp_path / "launches.py"
    script.write_text(LAUNCHES.format(tests=str(ROOT / "tests")))
    said = run_file(ROOT / "tests" / "fake_gpu.py", script, tmp_path, [capability])
    lines = said.splitlines()
    assert {line for line in lines if line != "10.7 launched False"} == {
        f"10.{n} launched True" for n in (1, 2, 3, 4, 5, 6, 8)
    }, said
    assert len(lines) > (120 if capability == "75" else 30)
