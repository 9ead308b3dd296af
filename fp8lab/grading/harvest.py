"""Find a learner's exercise cells, wherever editing and editors have put them.

A cell is known by its first-line marker `# exercise 1.4`, then by the function or class that it defines, then by
nbgrader's grade_id, then by its id: in this order, so that a later `decode_byte = other` outside an exercise cell
changes nothing. Cells may have been moved, copied, split, merged, or turned to Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fp8lab.course.gate import refusals
from fp8lab.course.source import Cell, Lesson
from fp8lab.grading.notebook import SubmittedCell, SubmittedNotebook
from fp8lab.grading.pycode import defined_names, for_review, parse, same_code, transformed

MARKER = re.compile(r"^#+[ \t]*(exercise|check)[ \t:]+(\d+\.\d+.*)$", re.IGNORECASE | re.MULTILINE)
KEY_RANGE = re.compile(r"(\d+)\.(\d+)(?:\s*[-–—]\s*(\d+)\.(\d+))?")
FENCE = re.compile(r"\A\s*```[^\n]*\n(.*?)\n?```\s*\Z", re.DOTALL)
MAX_RANGE = 50  # exercises that one marker can name
MAX_MARKER = 200  # characters


@dataclass(frozen=True)
class Fragment:
    """A piece of a submitted cell with one identity: the whole cell, or the part under one marker of a merged cell."""

    position: int
    keys: tuple[str, ...]
    source: str
    names: tuple[str, ...]
    recovered: bool = False

    @property
    def defines(self) -> frozenset[str]:
        return defined_names(self.source)


@dataclass(frozen=True)
class Answer:
    """What a notebook holds for one exercise cell of the lesson.

    sources    the learner's code in document order; () when no cell was found
    untouched  it is the stub as we handed it out
    broken     why it cannot be run: a syntax error, in words; "" if it can
    refused    what in it has no place in an answer, see `course.gate`: then it is not run
    undefined  names that the exercise asks for and the code never defines
    uses       names in it that deserve a look, see `pycode.for_review`
    """

    cell: str
    keys: tuple[str, ...]
    sources: tuple[str, ...] = ()
    untouched: bool = False
    broken: str = ""
    refused: tuple[str, ...] = ()
    undefined: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()

    @property
    def missing(self) -> bool:
        return not self.sources

    @property
    def runs(self) -> bool:
        """Whether there is learner's code to run."""
        return not (self.missing or self.untouched or self.broken or self.refused)


def harvest(notebook: SubmittedNotebook, lesson: Lesson, names: Mapping[str, str]) -> dict[str, Answer]:
    """Lesson cell id -> Answer. names: exercise key -> name of the object that it asks for."""
    pieces = fragments(notebook)
    slots = [cell for cell in lesson.cells if cell.role == "exercise"]
    return {slot.id: _answer(slot, pieces, {names[key] for key in slot.keys}) for slot in slots}


def lesson_by_markers(notebook: SubmittedNotebook, lessons: Mapping[str, Iterable[str]]) -> str | None:
    """The lesson (name -> its keys) that most of the exercise markers belong to; None without any."""
    keys = [key for piece in fragments(notebook) for key in piece.keys]
    counts = {name: sum(key in set(known) for key in keys) for name, known in lessons.items()}
    best = max(counts, key=counts.__getitem__, default=None)
    return best if best is not None and counts[best] else None


def fragments(notebook: SubmittedNotebook) -> list[Fragment]:
    """Every piece of code of the notebook in document order."""
    return [piece for cell in notebook.cells for piece in _pieces(cell)]


def _pieces(cell: SubmittedCell) -> list[Fragment]:
    source = cell.source
    if cell.kind != "code":
        source = FENCE.sub(r"\1", source)
        if not (MARKER.search(source) or re.search(r"^(def|class) ", source, re.MULTILINE)):
            return []
        if isinstance(parse(source), SyntaxError):
            return []
    recovered = cell.kind != "code"
    markers = list(MARKER.finditer(source))
    if not markers:
        return [Fragment(cell.position, (), source, cell.names, recovered)]
    found = []
    for number, marker in enumerate(markers):
        start = 0 if number == 0 else marker.start()
        stop = markers[number + 1].start() if number + 1 < len(markers) else len(source)
        if marker[1].lower() == "exercise":
            names = cell.names if len(markers) == 1 else ()
            found.append(Fragment(cell.position, keys_in(marker[2]), source[start:stop].rstrip(), names, recovered))
    return found


def keys_in(text: str) -> tuple[str, ...]:
    """The keys that a marker names, read generously.

    >>> keys_in("4.1 - 4.3 and 4.8 (done)")
    ('4.1', '4.2', '4.3', '4.8')
    """
    keys: list[str] = []
    for lesson, first, other, last in KEY_RANGE.findall(text[:MAX_MARKER]):
        stop = int(last) if other == lesson and int(first) < int(last) <= int(first) + MAX_RANGE else int(first)
        keys += [f"{int(lesson)}.{number}" for number in range(int(first), stop + 1)]
    return tuple(dict.fromkeys(keys))


def _answer(slot: Cell, pieces: list[Fragment], wanted: set[str]) -> Answer:
    candidates = _candidates(slot, pieces, wanted)
    if not candidates:
        return Answer(slot.id, slot.keys)
    chosen = _chosen(candidates, wanted, slot.stub or "")
    sources = tuple(piece.source for piece in chosen)
    broken = next((why for why in (_broken(piece, slot.stub or "") for piece in chosen) if why), "")
    return Answer(
        slot.id,
        slot.keys,
        sources,
        untouched=all(same_code(source, slot.stub or "") for source in sources),
        broken=broken,
        refused=() if broken else _refused(sources),
        undefined=frozenset(wanted - {name for piece in chosen for name in piece.defines}),
        notes=tuple(_notes(slot, candidates, chosen, wanted)),
        uses=_uses(slot, chosen),
    )


def _refused(sources: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for source in sources for name in refusals(transformed(source))))


def _candidates(slot: Cell, pieces: list[Fragment], wanted: set[str]) -> list[Fragment]:
    """The pieces that belong to the exercise cell, by the best evidence that there is."""
    for recovered in (False, True):  # Markdown only where there is no code
        mine = [piece for piece in pieces if piece.recovered is recovered]
        marked = [piece for piece in mine if set(piece.keys) & set(slot.keys)]
        found = {name for piece in marked for name in piece.defines}
        unmarked = [piece for piece in mine if not piece.keys and piece.defines & (wanted - found)]
        named = [piece for piece in mine if not piece.keys and slot.id in piece.names]
        by_identity = marked + unmarked or named
        if by_identity:
            return sorted(by_identity, key=pieces.index)
    return []


def _chosen(candidates: list[Fragment], wanted: set[str], stub: str) -> list[Fragment]:
    """For every name the last definition that is no stub; pieces that define none of them stay (a split cell)."""
    chosen = [piece for piece in candidates if not piece.defines & wanted]
    for name in wanted:
        defining = [piece for piece in candidates if name in piece.defines]
        written = [piece for piece in defining if not same_code(piece.source, stub)]
        if defining:
            chosen.append((written or defining)[-1])
    return sorted(set(chosen), key=candidates.index)


def _broken(piece: Fragment, stub: str) -> str:
    tree = parse(piece.source)
    if not isinstance(tree, SyntaxError):
        return ""
    where = f" (line {tree.lineno}: {(tree.text or '').strip()[:80]})" if tree.lineno else ""
    return f"{type(tree).__name__}: {tree.msg}{where}"


def _notes(slot: Cell, candidates: list[Fragment], chosen: list[Fragment], wanted: set[str]) -> list[str]:
    notes = []
    left = [piece for piece in candidates if piece not in chosen and piece.defines & wanted]
    if left:
        cells = ", ".join(str(piece.position) for piece in chosen if piece.defines & wanted)
        others = ", ".join(str(piece.position) for piece in left)
        notes.append(f"defined more than once: graded cell {cells}, not cell {others}")
    if any(piece.recovered for piece in chosen):
        notes.append("code recovered from a Markdown cell")
    uses = _uses(slot, chosen)
    if uses:
        notes.append(f"for review: uses {', '.join(uses)}")
    return notes


def _uses(slot: Cell, chosen: list[Fragment]) -> tuple[str, ...]:
    """Names in the learner's code that deserve a look and do not stand in ours."""
    ours = set(for_review(slot.source))
    taken = (name for piece in chosen for name in for_review(piece.source))
    return tuple(name for name in dict.fromkeys(taken) if name not in ours)


def edited_checks(notebook: SubmittedNotebook, lesson: Lesson) -> tuple[str, ...]:
    """Keys whose check cells differ from ours in more than comments and layout. Cells that are gone do not count."""
    ours = {key: cell.source for cell in lesson.cells if cell.role == "check" for key in cell.keys}
    edited = []
    for cell in notebook.cells:
        marker = MARKER.match(cell.source) if cell.kind == "code" else None
        if marker and marker[1].lower() == "check" and not any(same_code(cell.source, code) for code in ours.values()):
            edited += [key for key in keys_in(marker[2]) if key in ours]
    return tuple(dict.fromkeys(edited))
