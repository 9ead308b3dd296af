"""Learners whose answers agree more than chance explains. A reason to look, never a verdict.

Two learners who work alone agree now and then: on what is short, on what half the class writes, on what the solution
says. For every pair the whole record is weighed: how much more probable are their agreements *and* disagreements if a
share of the answers has one source than if none has? The ratio is averaged over three such shares. For a pair that has
copied nothing its mean is 1, so it exceeds R with a chance of at most 1 / R (Markov's inequality); R is the number of
pairs in the class times 2 ** MARGIN. What the class writes counts, and how much there was to write:

    chance that another learner writes the same = (others who do + PRIOR * 2 ** -length) / (others + PRIOR)
    and never below 2 ** -length and 1 / learners, whichever is less; 1 for the form of our own solution

where `length` grows with the size of the answer and, for an identical text, with the names and comments that it brings.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from fp8lab.grading.fingerprint import Fingerprint
from fp8lab.grading.verdict import Entry

MARGIN = 7.0  # bits: in fewer than one class in a hundred a pair is named by chance
PRIOR = 8.0  # learners' worth of belief in the length, before the class has spoken
BITS_PER_NODE = 0.1  # choices in a node of a syntax tree: most are forced by the exercise and by the language
MOST_BITS_OF_FORM = 12.0  # however long it is, there may be one way that comes to everybody's mind
BITS_PER_NAME = 1.0  # in a name of one's own: half would write `scale` or `s`
BITS_PER_WORD = 2.0  # in a word of a comment
MOST_BITS = 40.0  # of one answer
SHARES = (0.05, 0.3, 0.8)  # of the answers that two learners may have from one source
MOST_TOGETHER = 32  # learners with one form: what more of them write is the natural way, and is not followed up
LEAST_BITS = 5.0  # of an agreement with which a comparison of two learners begins
LEVELS = ("text", "form")


@dataclass(frozen=True)
class Shared:
    """One exercise in which learners agree. level: "text" for the very same text, "form" but for names and layout."""

    lesson: str
    key: str
    level: str
    learners: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Alike:
    """Learners whose answers should be looked at side by side.

    bits  by how much the closest pair among them exceeds chance, as a power of two
    """

    learners: tuple[str, ...]
    shared: tuple[Shared, ...]
    bits: float


Place = tuple[str, str]  # lesson, exercise key


@dataclass(frozen=True)
class _Answer:
    fingerprint: Fingerprint
    file: str  # the same for copies of one file


def alike(entries: Iterable[Entry]) -> list[Alike]:
    """Groups of learners who agree beyond chance, the most striking first.

    Copies of one file count once, and not against each other: they are found by their bytes.
    """
    table = _answers(entries)
    if len(table) < 2:
        return []
    chance = _Chance(table)
    threshold = math.log2(len(table) * (len(table) - 1) / 2) + MARGIN
    weighed = {pair: chance.weight(*pair) for pair in chance.candidates()}
    found = {pair: bits for pair, bits in weighed.items() if bits >= threshold}
    groups = [_group(members, found, table) for members in _components(found)]
    return sorted(groups, key=lambda group: (-group.bits, group.learners))


def _answers(entries: Iterable[Entry]) -> dict[str, dict[Place, _Answer]]:
    """Learner -> place -> answer."""
    table: dict[str, dict[Place, _Answer]] = defaultdict(dict)
    for number, entry in enumerate(entries):
        for mark in entry.report.marks:
            if mark.fingerprint:
                file = entry.content or f"entry {number}"
                table[entry.student][entry.report.lesson, mark.key] = _Answer(mark.fingerprint, file)
    return dict(table)


class _Chance:
    """How often a form turns up in this class."""

    def __init__(self, table: Mapping[str, Mapping[Place, _Answer]]) -> None:
        self.table = table
        files: dict[tuple[Place, str, str], set[str]] = defaultdict(set)
        people: dict[tuple[Place, str, str], list[str]] = defaultdict(list)
        everybody: dict[Place, set[str]] = defaultdict(set)
        for student, answers in table.items():
            for place, answer in answers.items():
                everybody[place].add(answer.file)
                for level in LEVELS:
                    spot = place, level, getattr(answer.fingerprint, level)
                    files[spot].add(answer.file)
                    people[spot].append(student)
        self.count = Counter({spot: len(several) for spot, several in files.items()})
        self.total = {place: len(several) for place, several in everybody.items()}
        self.people = people

    def candidates(self) -> set[tuple[str, str]]:
        """Pairs that share something which is neither short nor common nor ours."""
        pairs: set[tuple[str, str]] = set()
        for (place, level, _), students in self.people.items():
            if 2 <= len(students) <= MOST_TOGETHER:
                print_ = self.table[students[0]][place].fingerprint
                if not print_.ours and -math.log2(self.probability(place, level, print_)) >= LEAST_BITS:
                    pairs.update(tuple(sorted(pair)) for pair in combinations(students, 2))
        return pairs

    def probability(self, place: Place, level: str, fingerprint: Fingerprint) -> float:
        """That a further learner gives the same answer, by what all but two of the class do and by its length."""
        if fingerprint.ours:
            return 1.0
        by_length = 2.0 ** -length(fingerprint, level)
        others = max(0, self.count[place, level, getattr(fingerprint, level)] - 2)
        total = max(0, self.total[place] - 2)
        return max(min(by_length, 1 / (total + 2)), (others + PRIOR * by_length) / (total + PRIOR))

    def weight(self, first: str, second: str) -> float:
        """Bits in favour of a common source. Half of those who copy are taken to leave the text as it is."""
        logs = [0.0] * len(SHARES)
        one, two = self.table[first], self.table[second]
        for place in one.keys() & two.keys():
            if one[place].file == two[place].file:
                continue
            level = agreement(one[place].fingerprint, two[place].fingerprint)
            p = self.probability(place, level, one[place].fingerprint) if level else 0.0
            for number, share in enumerate(SHARES):
                ratio = 1.0 - share + (share / 2 / p if level else 0.0) if p < 1 else 1.0
                logs[number] += math.log2(ratio)
        most = max(logs)
        return most + math.log2(sum(2.0 ** (value - most) for value in logs) / len(logs))


def length(fingerprint: Fingerprint, level: str) -> float:
    """How much there was to choose, in bits.

    >>> length(Fingerprint("t", "f", size=40, names=2, words=3), "form")
    4.0
    >>> length(Fingerprint("t", "f", size=40, names=2, words=3), "text")
    12.0
    """
    bits = min(BITS_PER_NODE * fingerprint.size, MOST_BITS_OF_FORM)
    if level == "text":
        bits += BITS_PER_NAME * fingerprint.names + BITS_PER_WORD * fingerprint.words
    return min(bits, MOST_BITS)


def agreement(first: Fingerprint, second: Fingerprint) -> str:
    """The closest level on which two answers agree: "text", "form", or "" for none."""
    return next((level for level in LEVELS if getattr(first, level) == getattr(second, level)), "")


def _components(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Who is connected with whom, over any number of steps."""
    group: dict[str, set[str]] = {}
    for first, second in pairs:
        joined = group.get(first, {first}) | group.get(second, {second})
        for student in joined:
            group[student] = joined
    return sorted({tuple(sorted(members)) for members in group.values()})


def _group(
    members: tuple[str, ...], found: Mapping[tuple[str, str], float], table: Mapping[str, Mapping[Place, _Answer]]
) -> Alike:
    inside = set(members)
    bits = max(value for (first, _), value in found.items() if first in inside)
    places = sorted({place for student in members for place in table[student]}, key=_in_order)
    shared = [line for place in places for line in _shared(place, members, table)]
    return Alike(members, tuple(shared), bits)


def _in_order(place: Place) -> tuple:
    return place[0], [int(part) if part.isdigit() else 0 for part in place[1].split(".")]


def _shared(place: Place, members: tuple[str, ...], table: Mapping[str, Mapping[Place, _Answer]]) -> Iterable[Shared]:
    """The agreements of the group in one exercise: a line per form that two of them have and that is not ours."""
    lesson, key = place
    forms: dict[str, list[str]] = defaultdict(list)
    for student in members:
        if place in table[student] and not table[student][place].fingerprint.ours:
            forms[table[student][place].fingerprint.form].append(student)
    for students in forms.values():
        if len(students) > 1:
            prints = [table[student][place].fingerprint for student in students]
            level = "text" if len({p.text for p in prints}) == 1 else "form"
            yield Shared(lesson, key, level, tuple(students), prints[0].size)
