"""A host and a GPU that are two clocks: what timing code measures can be told from what it should."""

from __future__ import annotations


class Simulated:
    """A host and a card, each with its own clock in microseconds; the card does what was queued, in order."""

    def __init__(self, occupied: float = 300.0) -> None:
        self.host = self.card = 0.0
        self.occupied = occupied
        self.calls = 0

    def work(self, host: float, card: float) -> None:
        self.host += host
        self.card = max(self.card, self.host) + card

    def job(self, host: float, card: float):
        def run():
            self.calls += 1
            self.work(host, card)

        return run

    def event(self):
        return Event(self)

    def wait(self) -> None:
        self.host = max(self.host, self.card)

    def occupy(self) -> None:
        self.work(5.0, self.occupied)


class Event:
    def __init__(self, machine: Simulated) -> None:
        self.machine = machine

    def record(self) -> None:
        self.machine.work(1.0, 0.0)
        self.at = self.machine.card

    def query(self) -> bool:
        return self.at <= self.machine.host

    def elapsed_time(self, later: Event) -> float:
        return (later.at - self.at) / 1000
