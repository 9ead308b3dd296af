"""The counting of 1.5, 2.5 and 4.8: hidden loops are beyond the limit or not to be counted, whatever others do."""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
import os
import queue
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from hidden_loops import EVASIONS, another_process, compiled_as, in_a_thread, plain, switched_off_and_on

from fp8lab.course.drive import gather
from fp8lab.course.exercise import judge
from fp8lab.course.lessons.l01_decode import driving, driving_work
from fp8lab.course.lessons.l01_decode.driving_work import CannotBeCounted, busiest_line, watch_threads
from fp8lab.course.registry import exercise
from fp8lab.formats import E4M3FN


def is_found_out(function, *args):
    """Whether the work of a call is beyond the limit, or is said to be hidden."""
    try:
        return busiest_line(function, *args)[1] > driving.MOST_RUNS
    except CannotBeCounted:
        return True


@pytest.fixture
def watched(monkeypatch):
    """As in a grading kernel: every thread that is started later is traced."""
    before = threading.gettrace()
    monkeypatch.setattr(driving_work, "_watching", False)  # afterwards, too
    watch_threads()
    yield
    threading.settrace(before)


@pytest.mark.parametrize("way", EVASIONS)
def test_a_hidden_loop_is_beyond_the_limit(way):
    if way == "a fork" and not hasattr(os, "fork"):
        pytest.skip("no fork here")
    if way == "raw thread" and sys.version_info < (3, 12):
        pytest.skip("an older Python does not tell; its name is flagged for review")
    assert is_found_out(EVASIONS[way])
    assert busiest_line(lambda: np.arange(256) ** 2)[1] == 1  # and nothing of it stays


def test_a_pool_that_was_started_before(watched):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        assert is_found_out(lambda: pool.submit(plain).result())


def test_a_thread_that_waits_in_its_loop(watched):
    asked, answered = queue.Queue(), queue.Queue()

    def serve():
        while asked.get():
            out = []
            for code in range(256):
                out.append(code)
            answered.put(out)

    server = threading.Thread(target=serve, daemon=True)
    server.start()

    def ask():
        asked.put(True)
        return answered.get()

    assert is_found_out(ask)
    asked.put(False)
    server.join()


def test_a_raw_thread_that_was_started_before(watched):
    import _thread

    asked, answered = queue.Queue(), queue.Queue()
    _thread.start_new_thread(lambda: [answered.put(0), asked.get(), answered.put(plain())], ())
    answered.get()

    def ask():
        asked.put(True)
        return answered.get()

    assert is_found_out(ask)


def test_threads_that_are_traced_are_not_suspected(watched):
    for _ in range(50):
        assert busiest_line(in_a_thread)[1] >= 256


def test_honest_work_is_not_suspected(watched):
    def in_torch():
        codes = torch.arange(256)
        size = torch.where(codes > 7, torch.ldexp(1 + (codes & 7) / 8, (codes >> 3) - 7), codes / 512)
        return torch.cat([size, -size]).reshape(2, -1).to(torch.float64).numpy()

    def in_numpy():
        table = np.concatenate([np.linspace(0, 1, 128), np.full(128, np.nan)])
        return np.nan_to_num(np.apply_over_axes(np.sum, table.reshape(2, 128), [0])).astype(np.float32)

    for work in (in_torch, in_numpy):
        assert busiest_line(work)[1] <= driving.MOST_RUNS, work.__name__


def test_code_of_a_library_is_known_by_its_module():
    """Whatever numpy and the standard library run a thousand times is theirs."""
    import textwrap

    text = "a line\n" * 1000
    assert busiest_line(lambda: textwrap.fill(text, 20))[1] <= driving.MOST_RUNS


# ---- what others do meanwhile is their business


@pytest.fixture
def busy():
    """Others start threads and processes, and measure loops, all the time; what they have counted so far."""
    over, counts = threading.Event(), []

    def start_threads():
        while not over.wait(0.0005):
            worker = threading.Thread(target=plain)
            worker.start()
            worker.join()

    def start_processes():
        while not over.wait(0.01):
            subprocess.run([sys.executable, "-S", "-c", ""], check=True)

    def measure():
        while not over.wait(0.0005):
            counts.append(busiest_line(plain)[1])

    others = [threading.Thread(target=work) for work in (start_threads, start_processes, measure, measure)]
    for other in others:
        other.start()
    yield counts
    over.set()
    for other in others:
        other.join()


def test_what_others_do_changes_no_count(busy):
    before = threading.gettrace(), sys.gettrace()
    for _ in range(200):
        assert busiest_line(lambda: np.arange(256) ** 2)[1] == 1
        assert busiest_line(plain)[1] > driving.MOST_RUNS
        assert busiest_line(in_a_thread)[1] > driving.MOST_RUNS
        assert is_found_out(another_process if len(busy) % 50 == 0 else switched_off_and_on)
    assert busy and min(busy) >= 256
    assert sys.gettrace() is before[1]


@pytest.mark.parametrize("key", ["1.5", "2.5", "4.8"])
def test_references_are_right_and_loops_wrong_whatever_others_do(busy, key):
    found = exercise(key)
    loops = [mistake for mistake in found.misconceptions if "loop" in mistake.name or "element by" in mistake.name]
    assert loops
    for seed in range(6):
        assert judge(found, gather(found.drive, found.reference, seed), seed).state == "right"
        result = judge(found, gather(found.drive, loops[0].answer, seed), seed)
        assert (result.state, result.misconception) == ("wrong", loops[0])


def test_what_cannot_be_counted_is_an_error_and_equals_nothing():
    found = exercise("2.5")

    def evades(x, fmt=E4M3FN, overflow="saturate"):
        sys.settrace(None)
        return found.reference(x, fmt, overflow)

    evidence = gather(found.drive, evades, 0)
    assert evidence.state == "error" and "cannot be counted" in evidence.error.message
    assert judge(found, evidence, 0).points == 0
    with pytest.raises(AssertionError, match="cannot be counted"):
        judge(replace(found, reference=evades), gather(found.drive, found.reference, 0), 0)


# ---- limits, and what can be replaced


def test_beyond_its_limit_a_call_ends():
    seen = []
    assert busiest_line(lambda: [seen.append(n) for n in itertools.count()], limit=50) == (None, 51)
    assert len(seen) <= 51


def test_whoever_swallows_the_end_is_beyond_the_limit():
    def swallows():
        try:
            plain()
        except BaseException:
            pass
        return 7

    assert busiest_line(swallows, limit=50) == (None, 51)


def test_a_call_that_is_counted_cannot_count():
    with pytest.raises(CannotBeCounted):
        busiest_line(lambda: busiest_line(plain))
    assert busiest_line(plain)[1] >= 256


REPLACED = {
    "max": ("builtins", "max", lambda *numbers, **options: 1),
    "id": ("builtins", "id", lambda thing: 0),
    "isinstance": ("builtins", "isinstance", lambda *things: True),
    "maxsize": ("sys", "maxsize", 1),
    "settrace": ("sys", "settrace", lambda function: None),
    "gettrace": ("sys", "gettrace", lambda: None),
    "enumerate": ("threading", "enumerate", lambda: []),
    "Thread": ("threading", "_DummyThread", object),
}


@pytest.mark.parametrize("name", REPLACED)
def test_replacing_what_others_use_changes_no_count(name, monkeypatch):
    module, attribute, value = REPLACED[name]

    def answer():
        with monkeypatch.context() as patched:
            patched.setattr(sys.modules[module], attribute, value)
            return plain()

    assert busiest_line(answer)[1] >= 256


def test_a_dictionary_that_loops_when_it_is_asked_is_no_namespace():
    """Code that claims to be a library's is looked up; what it runs in must not be asked, for nobody counts that."""
    asked = []

    class Namespace(dict):
        def get(self, *args):
            asked.append(args)
            return super().get(*args)

    space = Namespace(__name__="functools", __builtins__=__builtins__)
    assert is_found_out(compiled_as(functools.__file__, space)) and not asked


# ---- every call whose result is compared


@pytest.mark.parametrize("seed", range(3))
def test_a_call_is_compared_and_counted_whatever_is_recognised(seed):
    found = exercise("2.5")
    loop = next(m.answer for m in found.misconceptions if m.name == "element by element")
    tells = {
        "traced": lambda x, fmt, policy: sys.gettrace() is not None,
        "large": lambda x, fmt, policy: x.numel() > 300,
        "300": lambda x, fmt, policy: x.numel() == 300,
        "bf16": lambda x, fmt, policy: x.dtype == torch.bfloat16,
        "float64": lambda x, fmt, policy: x.dtype == torch.float64,
        "E4M3FN": lambda x, fmt, policy: fmt is E4M3FN,
    }
    for name, tell in tells.items():
        for shown in (True, False):

            def answer(x, fmt=E4M3FN, overflow="saturate", tell=tell, shown=shown):
                if tell(x, fmt, overflow) is shown:
                    return torch.zeros(x.shape, dtype=torch.uint8)
                return loop(x, fmt, overflow)

            assert judge(found, gather(found.drive, answer, seed), seed).state == "wrong", name


def test_work_that_is_put_off_is_counted():
    found = exercise("2.5")
    loop = next(m.answer for m in found.misconceptions if m.name == "element by element")

    class Later(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return loop(*args[0].given) if function is torch.Tensor.detach else torch.uint8

    def answer(*given):
        later = torch.zeros(1, dtype=torch.uint8).as_subclass(Later)
        later.given = (*given, E4M3FN, "saturate")[:3]
        return later

    evidence = gather(found.drive, answer, 0)
    assert evidence.state == "arrays" and evidence.arrays["runs"] == "> 200"
