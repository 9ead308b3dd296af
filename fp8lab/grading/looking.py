"""A first look into items: which lesson a notebook is, what a zip holds, and whether that is a class or one learner's.

A learner can pack a zip, or name the files in a folder, so that it looks like a download of a whole class, and would
hand in for others. Hence only what lies beside no single learner's work is taken for one, see `Sorter.container`.
"""

from __future__ import annotations

from datetime import tzinfo

from fp8lab.course.text import LANGUAGES
from fp8lab.grading import notebook as notebooks
from fp8lab.grading.archive import members
from fp8lab.grading.beside import files_of, is_folder, labels_of, stem_of, tops_of, works_of
from fp8lab.grading.identify import gradable, identify, lesson_in_name, nameless
from fp8lab.grading.layouts import layout_of, moodle
from fp8lab.grading.notebook import Unreadable, read_notebook
from fp8lab.grading.source import Item, is_zip


class Looker:
    """Looks once at everything. zone: of times that do not tell theirs. marks: folders of them that were met."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        self.zone = zone
        self._looked: dict[Item, tuple[str | None, str | None, str]] = {}
        self._inside: dict[Item, list[Item]] = {}
        self.marks: list[str] = []

    def look(self, item: Item, name: str) -> tuple[str | None, str | None, str]:
        """(lesson, language, problem) of a file that its learner has called `name`."""
        if item not in self._looked:
            by_name = lesson_in_name(stem_of(name))
            spoken = next((part for part in reversed(item.path[:-1]) if part in LANGUAGES), None)
            try:
                notebook = read_notebook(item.read(notebooks.MAX_BYTES))
            except Unreadable as problem:
                self._looked[item] = by_name, spoken, str(problem)
            except OSError as problem:
                self._looked[item] = by_name, spoken, f"cannot be read: {problem.strerror}"
            else:
                lesson = identify(notebook, by_name)
                problem = "" if lesson else "holds no exercise of this course"
                self._looked[item] = lesson, notebook.lang or spoken, problem
        return self._looked[item]

    def inside(self, item: Item) -> list[Item]:
        """The members of a zip. Unreadable when they cannot be listed."""
        if item not in self._inside:
            found = members(item, self.zone)
            self.marks += [member.shown for member in found if member.marks]
            self._inside[item] = [member for member in found if not member.marks]
        return self._inside[item]

    def content(self, item: Item, name: str, strict: bool) -> tuple[int, bool]:
        """(the depth at which a zip's content begins, whether it is the work of several learners).

        It begins below a folder around everything, unless that is a learner's. strict: a file without a lesson in its
        name is no learner's name, so that versions of one learner's work are not taken for a class.
        """
        inner, depth = self.inside(item), len(item.path)
        tops = tops_of(inner, depth)
        (top, *others) = works_of(tops, depth) or [""]
        folder = top and not others and is_folder(tops[top], depth)
        if folder and top not in gradable() and not moodle(top):
            nobodys = any(nameless(stem_of(file)) for file in files_of(inner, depth + 1))
            same = top.casefold() == stem_of(name).casefold()
            if not nobodys and (same or self._several(inner, depth + 1, strict)):
                return depth + 1, self._several(inner, depth + 1, strict)
        return depth, self._several(inner, depth, strict)

    def works(self, items: list[Item], depth: int, strict: bool = True) -> set[tuple[str, str]]:
        """(learner, lesson) of all notebooks, if this is a class in no platform's layout."""
        labels = labels_of(items, depth, strict) or {}
        return {(label, self.look(i, i.name)[0] or "") for label, mine in labels.items() for i in mine}

    def _several(self, items: list[Item], depth: int, strict: bool) -> bool:
        works = works_of(tops_of(items, depth), depth)
        if layout_of(works) != "plain":
            return True
        zips = [item for item in items if is_zip(item.name) and len(item.path) == depth + 1]
        if len(zips) == len(works) == 1:
            return self._is_class(zips[0])
        if labels_of(items, depth, strict) is None:
            return False
        lessons = [lesson for _, lesson in self.works(items, depth, strict) if lesson]
        return len(zips) > 1 or len(set(lessons)) < len(lessons)

    def _is_class(self, item: Item) -> bool:
        try:
            return self.content(item, item.name, True)[1]
        except (Unreadable, OSError):
            return False
