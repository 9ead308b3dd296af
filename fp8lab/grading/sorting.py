"""Items -> who handed in what: containers (a folder, a zip, a folder named after a lesson) are sorted by their layout.

What a zip in a folder of submissions is, its content tells: a class (a platform's layout, or two names beside each
other with the same lesson), or the work of one learner who packed it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import tzinfo

from fp8lab.grading import notebook as notebooks
from fp8lab.grading.beside import files_of, is_folder, is_platform, stem_of, tops_of, works_of
from fp8lab.grading.identify import gradable, nameless, student_in_name
from fp8lab.grading.layouts import Claim, Who, blackboard, canvas, layout_of, moodle, read_receipt, unsure_logins
from fp8lab.grading.looking import Looker
from fp8lab.grading.notebook import Unreadable
from fp8lab.grading.source import Item, foreign_archive, is_notebook, is_zip

PLATFORM, CLASS = "platform", "class"
DOUBTFUL = "looks like a download of a class beside learners' own work; keep downloads in a folder of their own"
MOST_OF_ONE = 200  # notebooks in a zip of one learner
RECEIPT_BYTES = 1 << 20  # a learner's comment of any length is in it


@dataclass(frozen=True)
class Submission:
    """One file of one learner, or the fact that there is none.

    student  what the tables call the learner
    path     relative to the submissions, for the table; "" when there is no file
    item     its bytes; None if it is not to be opened
    lesson   its name, or None when nobody can tell
    problem  why it cannot be graded; "" if it can
    when     time of the hand-in in seconds since 1970, as `clock` tells; None when nobody knows
    order    of the files of one learner and lesson the greatest is the newest
    late     the platform says so
    who      what the layout tells of the learner
    place    the folder or zip in which it was found
    notes    remarks for the instructor's table
    """

    student: str
    path: str = ""
    item: Item | None = None
    lesson: str | None = None
    lang: str = "en"
    problem: str = ""
    when: float | None = None
    clock: str = ""
    order: tuple[int, float] = (0, 0.0)
    late: bool = False
    who: Who = Who("")
    place: str = ""
    notes: tuple[str, ...] = ()

    def read(self) -> bytes:
        """The bytes of the file. Unreadable or OSError when they cannot be had any more."""
        if self.item is None:
            raise Unreadable(self.problem or "no file")
        return self.item.read(notebooks.MAX_BYTES)


class Sorter:
    """Sorts items into submissions. zone: of times that do not tell theirs.

    found, strange, warnings  the submissions; what was left aside; what an instructor should know
    """

    def __init__(self, zone: tzinfo | None = None) -> None:
        self.zone = zone
        self.looker = Looker(zone)
        self.found: list[Submission] = []
        self.strange: list[str] = []
        self.warnings: list[str] = []

    # ---- containers

    def archive(self, item: Item, name: str) -> None:
        """A zip of a class; or of one learner, if a file in it tells no name. Unreadable if it cannot be listed."""
        inner = self.looker.inside(item)
        depth, _ = self.looker.content(item, name, strict=False)
        if any(nameless(stem_of(file)) for file in files_of(inner, depth)):
            self._work(Who(student_in_name(stem_of(name))), inner, None, "")
        else:
            self._class(inner, depth, "")

    def container(self, items: Iterable[Item], depth: int = 0, place: str = "") -> None:
        """What lies beside each other, `depth` folders below the submissions.

        Downloads of whole classes lie beside downloads only. Beside a learner's work, a zip or folder that looks like
        one may be that of somebody who named things so: it is nobody's, or its own learner's.
        """
        tops = tops_of(items, depth)
        layout = layout_of(works_of(tops, depth))
        receipts = self._receipts(tops, depth) if layout == "blackboard" else {}
        claims = {top: _claim(layout, top, place, receipts) for top in tops}
        kinds = {top: "claimed" if claims[top] else self._kind(tops[top], depth) for top in tops}
        classes = {top for top, kind in kinds.items() if kind in (PLATFORM, CLASS)}
        alone = not any(kind in ("claimed", "one") for kind in kinds.values()) and self._distinct(tops, kinds)
        for top, group in tops.items():
            inside = "/".join(filter(None, (place, top)))
            if claims[top] is not None:
                self._work(claims[top].who, group, claims[top], place)
            elif top in classes and not alone:
                self._doubtful(top, group, kinds[top], depth, place)
            elif top in gradable() and is_folder(group, depth):
                refused = [item for item in group if item.problem and len(item.path) == depth + 1]
                self.found += [self._submission(Who(top), item, None, place) for item in refused]
                self.container([item for item in group if len(item.path) > depth + 1], depth + 1, inside)
            elif top in classes and is_folder(group, depth):
                self.container(group, depth + 1, inside)
            elif is_folder(group, depth):
                self._work(Who(student_in_name(stem_of(top)) if is_notebook(top) else top), group, None, place)
            else:
                for item in group:
                    self._single(item, place, top in classes)
        self._warn_of_case(tops)

    def _kind(self, group: list[Item], depth: int) -> str:
        """What lies under one name: PLATFORM or CLASS, "one" learner's work, or "" for what does not tell."""
        item = group[0]
        if is_folder(group, depth):
            if item.path[depth] in gradable():
                return ""
            return PLATFORM if is_platform(works_of(tops_of(group, depth + 1), depth + 1)) else "one"
        if not is_zip(item.name) or item.problem:
            return "one" if is_notebook(item.name) else ""
        try:
            inner = self.looker.inside(item)
            start, several = self.looker.content(item, item.name, strict=True)
        except (Unreadable, OSError):
            return ""
        return PLATFORM if is_platform(works_of(tops_of(inner, start), start)) else CLASS if several else "one"

    def _distinct(self, tops: dict[str, list[Item]], kinds: dict[str, str]) -> bool:
        """Whether no two zips hold the same lesson of the same name: those are learners' who named files alike."""
        seen: set[tuple[str, str]] = set()
        for top in (top for top, kind in kinds.items() if kind == CLASS):
            item = tops[top][0]
            works = self.looker.works(self.looker.inside(item), self.looker.content(item, item.name, True)[0])
            if works & seen:
                return False
            seen |= works
        return True

    def _doubtful(self, top: str, group: list[Item], kind: str, depth: int, place: str) -> None:
        """What looks like a class and lies beside learners' work."""
        who = Who(student_in_name(stem_of(top)) if not is_folder(group, depth) else top)
        if kind == CLASS:
            self.warnings.append(f"{'/'.join(group[0].path[: depth + 1])}: taken for the work of one learner")
            for item in group:
                self._work(who, self.looker.inside(item), None, place)
        else:
            self._refuse(who, Item(group[0].path[: depth + 1]), DOUBTFUL, place)

    def _class(self, inner: list[Item], depth: int, place: str) -> None:
        """The content of a zip, from `depth` on; what lies above it beside the folder around everything is told."""
        tops = tops_of(inner, depth)
        taken = {item for group in tops.values() for item in group}
        self.strange += [item.shown for item in inner if item not in taken and not item.folder]
        self.container(inner, depth, place)

    def _single(self, item: Item, place: str, of_class: bool) -> None:
        """A file beside others, in no platform's layout."""
        who = Who(student_in_name(stem_of(item.name)))
        if is_notebook(item.name) or item.problem:
            self.found.append(self._submission(who, item, None, place))
        elif foreign_archive(item.name):
            self._work(who, [item], None, place)
        elif is_zip(item.name):
            try:
                inner = self.looker.inside(item)
                start, several = self.looker.content(item, item.name, strict=True)
            except (Unreadable, OSError) as problem:
                self._refuse(who, item, str(problem), place)
                return
            if several and of_class:
                self._class(inner, start, item.shown)
            else:
                self._work(who, inner, None, place)
        else:
            self.strange.append(item.shown)

    def _receipts(self, tops: dict[str, list[Item]], depth: int) -> dict[str, tuple[str, str]]:
        receipts: dict[str, tuple[str, str]] = {}
        for name, group in tops.items():
            if name.lower().endswith(".txt") and not is_folder(group, depth):
                try:
                    text = group[-1].read(RECEIPT_BYTES).decode("utf-8", "replace")
                except (Unreadable, OSError):
                    continue
                if found := read_receipt(name, text):
                    receipts[found[0]] = found[1]
        unsure = unsure_logins(tops, receipts)
        if unsure:
            heads = ", ".join(sorted(unsure))
            self.warnings.append(f"without Blackboard's .txt files nobody can tell the user names in {heads}")
        return {**unsure, **receipts}

    def _warn_of_case(self, tops: Iterable[str]) -> None:
        same: dict[str, list[str]] = defaultdict(list)
        for top in tops:
            same[top.casefold()].append(top)
        for names in same.values():
            if len(names) > 1:
                self.warnings.append(f"names that differ only in case: {', '.join(names)}")

    # ---- a learner's

    def _work(self, who: Who, items: Iterable[Item], claim: Claim | None, place: str) -> None:
        """All that one learner handed in; or the fact that it is nothing."""
        before = len(self.found)
        foreign = [item for item in items if self._add(who, item, claim, place)]
        nothing = len(self.found) == before
        for item in foreign:
            problem = f"a {foreign_archive(item.name)} archive; only .zip is read: unpack it"
            if nothing:
                self._refuse(who, item, problem, place, claim)
            else:
                self.strange.append(item.shown)
        if len(self.found) == before:
            self.found.append(Submission(who.name, who=who, place=place))

    def _add(self, who: Who, item: Item, claim: Claim | None, place: str) -> bool:
        """Put an item to its learner. True for an archive of a kind that is not read."""
        if claim is not None and claim.receipt:
            return False
        if is_notebook(item.name) or (item.problem and item.folder):
            self.found.append(self._submission(who, item, claim, place))
        elif is_zip(item.name):
            before = len(self.found)
            try:
                inside = self.looker.inside(item)
                if (count := sum(is_notebook(inner.name) for inner in inside)) > MOST_OF_ONE:
                    raise Unreadable(f"{count:,} notebooks in it; at most {MOST_OF_ONE} of one learner are read")
            except (Unreadable, OSError) as problem:
                self._refuse(who, item, str(problem), place, claim)
                return False
            foreign = [inner for inner in inside if self._add(who, inner, claim, place)]
            if len(self.found) == before:
                also = f"; {', '.join(inner.name for inner in foreign)} is not looked into" if foreign else ""
                self._refuse(who, item, f"no notebook in it{also}", place, claim)
        elif item.problem:
            self.strange.append(f"{item.shown} ({item.problem})")
        elif foreign_archive(item.name):
            return True
        elif claim is not None and not item.folder and claim.file:
            self.strange.append(item.shown)
        return False

    def _refuse(self, who: Who, item: Item, problem: str, place: str, claim: Claim | None = None) -> None:
        bare = replace(item, reader=None, problem=item.problem or problem)
        self.found.append(self._submission(who, bare, claim, place))

    def _submission(self, who: Who, item: Item, claim: Claim | None, place: str) -> Submission:
        """What can be told about a file without running it."""
        own = claim.file if claim and claim.file and item.name.endswith(claim.file) else item.name
        lesson, lang, problem = self.looker.look(item, own)
        when, clock, order = item.when, item.clock, (0, item.when or 0.0)
        if who.layout in ("canvas", "moodle"):  # the members carry the time of the download
            when, clock = None, ""
        if claim is not None and claim.rank:
            order = (claim.rank, item.when or 0.0)
        if claim is not None and claim.when is not None:
            when, clock = claim.when.replace(tzinfo=self.zone).timestamp(), "Blackboard's attempt"
        if item.copy > 1:
            self.warnings.append(f"more than one file of this name in the archive: {item.shown}")
        opened = None if problem else item
        late = claim is not None and claim.late
        return Submission(
            who.name, item.shown, opened, lesson, lang or "en", problem, when, clock, order, late, who, place
        )


def _claim(layout: str, name: str, place: str, receipts: dict[str, tuple[str, str]]) -> Claim | None:
    if layout == "canvas":
        return canvas(name)
    if layout == "moodle":
        return moodle(name, place)
    return blackboard(name, receipts) if layout == "blackboard" else None
