"""Timing of GPU work, on a simulated card: what is measured is the card's time, however slow the host is."""

import pytest
import torch
from simulated_card import Simulated

from fp8lab.kernels.timing import microseconds


def naive(jobs, machine):
    """Events around a job on a card that has nothing else to do."""
    start, stop = machine.event(), machine.event()
    start.record()
    jobs[0]()
    stop.record()
    machine.wait()
    return 1000 * start.elapsed_time(stop)


@pytest.mark.parametrize("host", [1.0, 60.0, 400.0, 2000.0])
@pytest.mark.parametrize("card", [2.0, 6.0, 5000.0])
def test_it_is_the_cards_time(host, card):
    machine = Simulated()
    assert microseconds([machine.job(host, card)], 40, machine) == pytest.approx(card)


def test_without_other_work_in_front_it_would_be_the_hosts():
    machine = Simulated()
    assert naive([machine.job(60.0, 6.0)], machine) > 60


def test_jobs_take_turns_and_the_median_counts():
    machine = Simulated()
    slow, fast = machine.job(5.0, 100.0), machine.job(5.0, 10.0)
    assert microseconds([fast, slow, fast], 48, machine) == pytest.approx(10.0)
    assert machine.calls >= 48 + 3


def test_a_job_that_waits_for_the_card_is_refused():
    machine = Simulated()

    def waits():
        machine.work(5.0, 6.0)
        machine.wait()

    with pytest.raises(RuntimeError, match="waits for the GPU"):
        microseconds([waits], 10, machine)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: its clock against a copy of known size")
def test_a_copy_of_twice_the_size_takes_twice_as_long():
    source = torch.zeros(1 << 28, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    half = source.numel() // 2
    whole = microseconds([lambda: target.copy_(source)], 20)
    part = microseconds([lambda: target[:half].copy_(source[:half])], 20)
    assert whole == pytest.approx(2 * part, rel=0.15)
