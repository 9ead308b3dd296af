"""The marks inside a code cell of a lesson: its identity, its holes, and the stub that a learner gets.

# exercise 1.4                                       the first line of a cell with holes
    ### BEGIN SOLUTION 1.4: a float, NaN for 0x7F    a hole opens: its key, and what is expected there
    ...                                              at most six lines
    ### END SOLUTION                                 it closes
# check 1.4                                          the first line of the cell that checks it

In the learner edition a hole is one line: `raise NotImplementedError("exercise 1.4: a float, NaN for 0x7F")`.
nbgrader looks for the words BEGIN SOLUTION and END SOLUTION anywhere in a line, so it finds the same regions.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

MARKED_ROLES = ("exercise", "check")
_KEY = r"[0-9]+\.[0-9]+"
_IDENTITY = re.compile(rf"# ({'|'.join(MARKED_ROLES)}) ({_KEY}(?:-{_KEY})?(?:, {_KEY}(?:-{_KEY})?)*)")
_ALMOST_IDENTITY = re.compile(rf"#+\s*({'|'.join(MARKED_ROLES)})s?\b[\s:]*[0-9]", re.IGNORECASE)
_BEGIN = re.compile(rf"(\s*)### BEGIN SOLUTION ({_KEY}): (\S.*?)\s*")
_END = re.compile(r"(\s*)### END SOLUTION\s*")
_ALMOST_MARKER = re.compile(r"(BEGIN|END)[ _-]*SOLUTION", re.IGNORECASE)


@dataclass(frozen=True)
class Hole:
    """One solution region. `begin` and `end` are the 0-based lines of its markers within the cell."""

    key: str
    expects: str
    indent: str
    lines: tuple[str, ...]
    begin: int
    end: int

    @property
    def stub(self) -> str:
        """The line that stands in the learner edition."""
        message = json.dumps(f"exercise {self.key}: {self.expects}", ensure_ascii=False)
        return f"{self.indent}raise NotImplementedError({message})"


def parse_keys(text: str) -> tuple[str, ...]:
    """The exercise keys that a marker names. ValueError says what is wrong.

    >>> parse_keys("4.1-4.3, 4.8")
    ('4.1', '4.2', '4.3', '4.8')
    """
    keys: list[str] = []
    for part in text.split(", "):
        first, dash, last = part.partition("-")
        if not all(re.fullmatch(_KEY, key) for key in (first, last if dash else first)):
            raise ValueError(f"{text!r} is not a list of exercise keys; write 1.4 or 4.1-4.7 or 4.1, 4.3")
        keys += _key_range(first, last) if dash else [first]
    if len(set(keys)) < len(keys):
        raise ValueError(f"{text!r} names an exercise twice")
    return tuple(keys)


def _key_range(first: str, last: str) -> list[str]:
    lesson, start = first.split(".")
    other_lesson, stop = last.split(".")
    if lesson != other_lesson or int(start) >= int(stop):
        raise ValueError(f"{first}-{last} is not a range of exercise keys; write the lower key first, one lesson only")
    return [f"{lesson}.{number}" for number in range(int(start), int(stop) + 1)]


def identity(source: str) -> tuple[str, tuple[str, ...]]:
    """(role, keys) that the first line of a code cell declares; ("code", ()) for a cell without identity.

    ValueError for a first line that was meant as one and is not exactly that.

    >>> identity("# check 1.4\\ncheck('1.4', f)")
    ('check', ('1.4',))
    """
    first = source.split("\n", 1)[0].rstrip()
    match = _IDENTITY.fullmatch(first)
    if match:
        return match[1], parse_keys(match[2])
    if _ALMOST_IDENTITY.match(first.strip()):
        raise ValueError(f"{first!r} is not a marker; write `# exercise 1.4` or `# check 1.4`, alone on the first line")
    return "code", ()


def find_holes(source: str) -> tuple[tuple[Hole, ...], tuple[tuple[int, str], ...]]:
    """The holes of a code cell, and what is wrong with its markers as (0-based line, message)."""
    holes: list[Hole] = []
    problems: list[tuple[int, str]] = []
    lines = source.split("\n")
    opened: tuple[int, re.Match[str]] | None = None
    for number, line in enumerate(lines):
        begin, end = _BEGIN.fullmatch(line), _END.fullmatch(line)
        if begin:
            if opened:
                problems.append((number, f"a second BEGIN SOLUTION inside the region that opens with {opened[1][0]!r}"))
            opened = (number, begin)
        elif end:
            if opened is None:
                problems.append((number, "END SOLUTION without a BEGIN SOLUTION before it"))
            else:
                problems += _region_problems(lines, opened, number, end)
                start, match = opened
                body = tuple(lines[start + 1 : number])
                holes.append(Hole(match[2], match[3], match[1], body, start, number))
            opened = None
        elif _ALMOST_MARKER.search(line):
            problems.append(
                (
                    number,
                    f"{line.strip()!r} is not a marker; write `### BEGIN SOLUTION 1.4: what is expected` "
                    "and `### END SOLUTION`, each alone on its line",
                )
            )
    if opened:
        problems.append((opened[0], "BEGIN SOLUTION without an END SOLUTION in this cell"))
    return tuple(holes), tuple(problems)


def _region_problems(lines, opened, number, end) -> list[tuple[int, str]]:
    start, begin = opened
    if end[1] != begin[1]:
        return [(number, "END SOLUTION is not indented like its BEGIN SOLUTION")]
    return [
        (inner, "this line of a solution is indented less than its BEGIN SOLUTION")
        for inner in range(start + 1, number)
        if lines[inner].strip() and not lines[inner].startswith(begin[1])
    ]


def make_stub(source: str, holes: tuple[Hole, ...]) -> str:
    """The cell as the learner edition has it: one `raise` for every hole."""
    lines = source.split("\n")
    for hole in sorted(holes, key=lambda h: h.begin, reverse=True):
        lines[hole.begin : hole.end + 1] = [hole.stub]
    return "\n".join(lines)


def without_markers(source: str, holes: tuple[Hole, ...]) -> str:
    """The solved cell without its solution markers: the code as one would write it.

    >>> cell = "def f(x):\\n    ### BEGIN SOLUTION 1.1: a float\\n    return x\\n    ### END SOLUTION"
    >>> print(without_markers(cell, find_holes(cell)[0]))
    def f(x):
        return x
    """
    markers = {number for hole in holes for number in (hole.begin, hole.end)}
    return "\n".join(line for number, line in enumerate(source.split("\n")) if number not in markers)
