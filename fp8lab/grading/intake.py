"""Submissions, however they were collected -> who handed in what. Nothing is run, nothing unpacked, no link followed.

    submissions/alice/01_decode.ipynb          a folder per learner, nested as deep as they like, zips in it looked into
    submissions/bob_01_decode.ipynb            or a file per learner; the lesson's name is not part of theirs
    submissions/carol.zip                      or what a learner has packed
    submissions/01_decode/dave.ipynb           a folder named after a lesson groups learners
    submissions.zip                            all of this as a zip, or as Canvas, Moodle or Blackboard give it out
    submissions/week1.zip                      or several of those in a folder

Which lesson a notebook is, see `identify`; whose a file is, see `layouts`; who is expected, see `roster`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path

from fp8lab.course.text import Text
from fp8lab.grading import MARKS_FOLDER
from fp8lab.grading.identify import gradable, identify, lesson_in_name
from fp8lab.grading.layouts import SHOWN, Who
from fp8lab.grading.notebook import Unreadable
from fp8lab.grading.remarks import NOT_LISTED, counted, some
from fp8lab.grading.roster import Person, Roster
from fp8lab.grading.sorting import Sorter, Submission
from fp8lab.grading.source import clean, file_item, foreign_archive, is_notebook, walk

__all__ = [
    "Intake",
    "Submission",
    "collect",
    "gradable",
    "identify",
    "lesson_in_name",
    "lessons_of",
    "mismatch",
    "with_roster",
]
NAMED = 4  # people in the line about names that may not agree


@dataclass(frozen=True)
class Intake:
    """What was found.

    submissions  one per file, and one per learner who has none
    strange      names of files that are no notebooks
    warnings     what an instructor should know besides
    errors       submissions that fit several learners on the roster, so that they are nobody's
    layouts      which layout was recognised where, a line each
    people       learner -> their line on the roster
    strangers    learners who handed in something and match nobody on the roster
    idle         learners on the roster of whom nothing came
    """

    submissions: tuple[Submission, ...]
    strange: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    people: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    strangers: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()


def collect(root: Path, avoid: Path | None = None, zone: tzinfo | None = None) -> Intake:
    """All submissions in a folder, a zip or a single notebook.

    avoid  a folder not to look into
    zone   of times that do not tell theirs, as in zips; by default this machine's

    ValueError when `root` is none of these, OSError when it is a folder that cannot be listed.
    """
    sorter = Sorter(zone)
    marks = []
    if (root / MARKS_FOLDER).is_dir():
        raise ValueError(
            f"{root} holds marks, in {MARKS_FOLDER}: give the folder of the submissions, and another --out"
        )
    if root.is_dir():
        items = walk(root, avoid)
        marks = [item.shown for item in items if item.marks]
        sorter.container([item for item in items if not item.marks])
    elif not root.exists():
        raise ValueError(f"{root} does not exist")
    elif foreign := foreign_archive(root.name):
        raise ValueError(f"{root} is a {foreign} archive; .zip and folders are read: unpack it and give the folder")
    elif is_notebook(root.name):
        sorter.container([file_item(root.resolve(), (clean(root.name),))])
    else:
        try:
            sorter.archive(file_item(root.resolve(), ()), clean(root.name))
        except Unreadable as problem:
            hint = "" if root.suffix.lower() == ".zip" else "; accepted are a folder, a .zip and a .ipynb"
            raise ValueError(f"{root}: {problem}{hint}") from None
    found = _labelled(sorter.found)
    warnings = [f"{path}: marks of an earlier run, not looked into" for path in (*marks, *sorter.looker.marks)]
    warnings += sorter.warnings
    return Intake(found, tuple(sorter.strange), tuple(warnings), (), _layouts(found, root.name))


def _labelled(found: Iterable[Submission]) -> tuple[Submission, ...]:
    """The submissions with names for their learners: equal only where nothing tells them apart."""
    found = list(found)
    ids: dict[tuple[str, str], set[str]] = defaultdict(set)
    for submission in found:
        ids[_bare(submission.who), submission.who.scope].add(submission.who.id)
    return tuple(replace(s, student=_label(s.who, len(ids[_bare(s.who), s.who.scope]) > 1)) for s in found)


def _bare(who: Who) -> str:
    return clean(who.login or who.name or who.id) or "(no name)"


def _label(who: Who, several: bool) -> str:
    return f"{_bare(who)} ({who.id})" if several and who.id else _bare(who)


def _layouts(found: Iterable[Submission], name: str) -> tuple[str, ...]:
    groups: dict[tuple[str, str], list[Submission]] = defaultdict(list)
    for submission in found:
        groups[submission.place, submission.who.layout].append(submission)
    lines = []
    for (place, layout), mine in groups.items():
        files = sum(bool(s.path) for s in mine)
        learners = len({s.student for s in mine})
        lines.append(f"{place or name}: {SHOWN[layout]}: {counted(files, 'file')}, {counted(learners, 'learner')}")
    return tuple(lines)


def with_roster(intake: Intake, roster: Roster) -> Intake:
    """The same submissions under the names of the roster, and everybody on it who handed in nothing.

    What fits nobody keeps its name and gets a note; what fits several, too, and is an error.
    """
    matches = {who: roster.match(who) for who in dict.fromkeys(s.who for s in intake.submissions)}
    rivals: dict[tuple[Person, str, str], list[Who]] = defaultdict(list)
    for who, match in matches.items():
        if match.person and who.id:  # two accounts of one platform cannot be one person
            rivals[match.person, who.layout, who.scope].append(who)
    contested = {who: same for same in rivals.values() if len(same) > 1 for who in same}
    taken = {person.label for person in roster.people}
    found, errors, missing, strangers = [], [], [], []
    for submission in intake.submissions:
        who, people = submission.who, matches[submission.who].people
        if len(people) == 1 and who not in contested:
            found.append(replace(submission, student=people[0].label))
            continue
        label = submission.student + (f" ({NOT_LISTED})" if submission.student in taken else "")
        if people:
            rivalry = f" as {', '.join(_label(w, True) for w in contested[who])} do" if who in contested else ""
            fitting = " and ".join(person.label for person in people)
            errors.append(f"{label}: fits {fitting} on the roster{rivalry}; not guessed whose it is")
        else:
            missing.append(f"{label}: {NOT_LISTED}")
            strangers += [submission.student] if submission.path else []
        note = "fits several on the roster, not guessed whose it is" if people else NOT_LISTED
        found.append(replace(submission, student=label, notes=(*submission.notes, note)))
    there = {submission.student for submission in found}
    found += [Submission(person.label, who=Who(person.label)) for person in roster.people if person.label not in there]
    came = {submission.student for submission in found if submission.path}
    idle = tuple(person.label for person in roster.people if person.label not in came)
    warnings = (*intake.warnings, *dict.fromkeys(missing))
    people = {person.label: person.columns for person in roster.people}
    return replace(
        intake,
        submissions=tuple(found),
        warnings=warnings,
        errors=tuple(dict.fromkeys(errors)),
        people=people,
        strangers=tuple(dict.fromkeys(strangers)),
        idle=idle,
    )


def mismatch(intake: Intake, roster: str) -> Text | None:
    """The line to say when hand-ins match nobody on `roster` and people on it are missing: names may not agree."""
    if not (intake.strangers and intake.idle):
        return None
    came, gone = len(intake.strangers), len(intake.idle)
    who, absent = some(intake.strangers, NAMED), some(intake.idle, NAMED)
    return Text(
        f"{counted(came, 'learner')} who handed in {'matches' if came == 1 else 'match'} nobody on the roster ({who}); "
        f"{gone:,} on the roster handed in nothing ({absent}): check the names in {roster}",
        f"{came} 名学员交了作业却对不上名单（{who}），名单上有 {gone} 人没有交（{absent}）：请核对 {roster} 里的姓名",
    )


def lessons_of(submissions: Iterable[Submission]) -> tuple[str, ...]:
    """The lessons that anybody handed in, in order."""
    found = {submission.lesson for submission in submissions}
    return tuple(lesson for lesson in gradable() if lesson in found)
