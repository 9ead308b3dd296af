"""What lies beside each other at some depth below the submissions: questions that are answered by names alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fp8lab.grading.identify import gradable, lesson_in_name, nameless, student_in_name
from fp8lab.grading.layouts import canvas, layout_of
from fp8lab.grading.source import Item, foreign_archive, is_notebook, is_zip


def is_platform(works: list[str]) -> bool:
    """Whether these names are a platform's for sure: one's own may look like Canvas's, but not of two accounts."""
    layout = layout_of(works)
    claims = [claim for name in works if (claim := canvas(name))]
    several = len({claim.who.id for claim in claims}) > 1 and all(claim.rank > 99 for claim in claims)
    return layout in ("moodle", "blackboard") or (layout == "canvas" and several)


def tops_of(items: Iterable[Item], depth: int) -> dict[str, list[Item]]:
    """Name -> all that lies at or below it, `depth` folders down."""
    tops: dict[str, list[Item]] = {}
    for item in items:
        if len(item.path) > depth:
            tops.setdefault(item.path[depth], []).append(item)
    return tops


def is_folder(group: list[Item], depth: int) -> bool:
    return any(item.folder or len(item.path) > depth + 1 for item in group)


def works_of(tops: dict[str, list[Item]], depth: int) -> list[str]:
    """Names of folders, notebooks and zips."""
    return [top for top, group in tops.items() if is_notebook(top) or is_zip(top) or is_folder(group, depth)]


def files_of(items: Iterable[Item], depth: int) -> list[str]:
    """Names of the notebooks and zips that lie in no folder."""
    names = [item.name for item in items if len(item.path) == depth + 1 and not item.folder]
    return [name for name in names if is_notebook(name) or is_zip(name)]


def labels_of(items: Iterable[Item], depth: int, strict: bool = False) -> dict[str, list[Item]] | None:
    """Learner -> notebooks, if this is a class in no platform's layout; None if a file tells nobody's name.

    strict: only a name beside a lesson's is a learner's.
    """
    labels: dict[str, list[Item]] = defaultdict(list)
    for top, group in tops_of(items, depth).items():
        found = [item for item in group if is_notebook(item.name) and not item.folder]
        if top in gradable() and is_folder(group, depth):
            inner = labels_of(group, depth + 1, False)  # the folder tells the lesson
            if inner is None:
                return None
            for label, below in inner.items():
                labels[label] += below
        elif is_folder(group, depth):
            labels[top] += found
        elif found and (nameless(stem_of(top)) or (strict and lesson_in_name(stem_of(top)) is None)):
            return None
        elif found:
            labels[student_in_name(stem_of(top))] += found
    return labels


def stem_of(name: str) -> str:
    """A file's name without its ending.

    >>> stem_of("ann.tar.gz"), stem_of("01_decode.ipynb"), stem_of("folder")
    ('ann', '01_decode', 'folder')
    """
    ending = foreign_archive(name)
    return name[: -len(ending)] if ending else name.rpartition(".")[0] or name
