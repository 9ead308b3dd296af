"""What makes the first check slow on a learner's machine is not there: no compiler is imported, no thread waits.

How long checks take is `benchmarks/check_latency.py`'s to say.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from fp8lab.course.drive import Drive, gather
from fp8lab.course.registry import LESSONS

HEAVY = ("torch._dynamo", "torch._inductor", "sympy", "torch.distributed.fsdp")  # a second and more to import
EVERY_CHECK = """
import sys
from fp8lab.course.check import Check
from fp8lab.course.progress import Progress
from fp8lab.course.registry import lesson_exercises
check = Check("en", Progress(None))
for exercise in lesson_exercises({lesson!r}):
    for answer in (lambda *args, **kwargs: None, exercise.reference):
        check(exercise.key, answer)
print(*[name for name in {heavy!r} if name in sys.modules])
"""


@pytest.mark.parametrize("lesson", [name for name in LESSONS if name != "10_gpu"])  # Triton brings its own compiler
def test_checking_wrong_and_right_answers_imports_no_compiler(lesson):
    script = EVERY_CHECK.format(lesson=lesson, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == []


def interrupted() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("answer", [torch.get_num_threads, lambda: 1 // 0, interrupted])
def test_an_answer_is_driven_on_one_thread_and_the_threads_come_back(answer):
    drive = Drive("9.9", "threads", lambda seed: {}, lambda answer, inputs: {"threads": answer()})
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        try:
            found = gather(drive, answer, 0)
        except KeyboardInterrupt:
            assert answer is interrupted
        else:
            assert found.state == "error" or found.arrays["threads"] == 1
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
