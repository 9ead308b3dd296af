"""`fp8lab build`: the lessons' sources -> notebooks of both languages and editions, and the data inside the package.

solutions/NN_topic.md ->  notebooks/{en,zh}/NN_topic.ipynb     learner edition
                          solutions/{en,zh}/NN_topic.ipynb     solution edition, executed
                          fp8lab/course/data/NN_topic.json     the lesson as a record, for what runs from the package
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fp8lab.course.drift import learner_drift, solution_drift
from fp8lab.course.keep import edited, is_kept, keep
from fp8lab.course.notebook import learner_notebook, notebook_text, solution_notebook
from fp8lab.course.source import Lesson, LessonError, Problem, packaged, packaged_names, read_lesson
from fp8lab.course.text import LANGUAGES
from fp8lab.course.validate import unknown_to_records

DATA = Path("fp8lab/course/data")
Report = Callable[[str], None]
Records = Callable[[str], Mapping[str, int]]


def find_root(start: Path | None = None) -> Path:
    """The checkout that holds `start` (default: the current folder), else the one that this package lies in.

    FileNotFoundError when neither is a checkout of the course.
    """
    here = (start or Path.cwd()).resolve()
    package = Path(__file__).resolve().parents[2]
    for folder in (here, *here.parents, package):
        if is_checkout(folder):
            return folder
    raise FileNotFoundError(f"{here} is not in a checkout of fp8lab; go there, or name it with --root")


def is_checkout(folder: Path) -> bool:
    """Whether the folder holds the sources of the course."""
    project = folder / "pyproject.toml"
    return (folder / "solutions").is_dir() and project.is_file() and 'name = "fp8lab"' in project.read_text("utf-8")


def record_points(name: str) -> dict[str, int]:
    """key -> points of the exercise records of a lesson; empty for a lesson without records."""
    from fp8lab.course.registry import LESSONS, lesson_exercises

    return {e.key: e.points for e in lesson_exercises(name)} if name in LESSONS else {}


def lesson_sources(root: Path, wanted: str | None = None) -> list[Path]:
    """The source files, in order. `wanted` chooses one by its name or number. ValueError lists what there is."""
    every = sorted((root / "solutions").glob("*.md"))
    found = [path for path in every if wanted is None or wanted in (path.stem, path.stem[:2], path.name)]
    if wanted is not None and not found:
        raise ValueError(f"there is no lesson {wanted!r}; there are {', '.join(path.stem for path in every) or 'none'}")
    return found


def read_lessons(root: Path, wanted: str | None = None, records: Records = record_points) -> list[Lesson]:
    """The lessons with their points. LessonError holds the problems of all of them."""
    lessons, problems = [], []
    paths = lesson_sources(root, wanted)
    if not paths:
        raise ValueError(f"{root / 'solutions'} holds no lesson, no file like 01_decode.md")
    for path in paths:
        shown = path.relative_to(root).as_posix()
        try:
            lesson = read_lesson(path, shown_as=shown)
        except LessonError as error:
            problems += error.problems
            continue
        points = dict(records(lesson.name))
        problems += [Problem(shown, line, message) for line, message in unknown_to_records(lesson, points)]
        lessons.append(replace(lesson, points=points))
    if problems:
        raise LessonError(problems)
    return lessons


def platform_settings(root: Path) -> dict[str, Any]:
    """[tool.fp8lab] in pyproject.toml: `repository` and `branch`, where the badges lead (no repository, no badges), and
    whether fp8lab is `published` on a package index, so that setup cells may ask it."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    found = project.get("tool", {}).get("fp8lab", {})
    return {
        "repository": found.get("repository", ""),
        "branch": found.get("branch", "main"),
        "published": found.get("published", False) is True,
    }


def generated(root: Path, lesson: Lesson) -> dict[Path, dict[str, Any]]:
    """path -> record of the files of a lesson that are compared byte for byte."""
    settings = platform_settings(root)
    files = {
        root / "notebooks" / lang / f"{lesson.name}.ipynb": learner_notebook(lesson, lang, **settings)
        for lang in LANGUAGES
    }
    return {**files, root / DATA / f"{lesson.name}.json": lesson.to_dict()}


def solutions(root: Path, lesson: Lesson) -> dict[Path, dict[str, Any]]:
    """path -> solution notebook, not executed."""
    published = platform_settings(root)["published"]
    return {
        root / "solutions" / lang / f"{lesson.name}.ipynb": solution_notebook(lesson, lang, published=published)
        for lang in LANGUAGES
    }


def drift(root: Path, lessons: Iterable[Lesson], *, whole: bool = True) -> list[str]:
    """Every difference between the committed files and their sources. `whole`: also files without a source."""
    found = []
    for lesson in lessons:
        for compare, files in ((learner_drift, generated(root, lesson)), (solution_drift, solutions(root, lesson))):
            for path, want in files.items():
                exists = path.exists()
                said = compare(path.read_bytes().decode("utf-8", "replace"), want) if exists else ["does not exist"]
                found += [f"{path.relative_to(root).as_posix()}: {difference}" for difference in said]
    return found + (orphans(root) if whole else [])


def orphans(root: Path) -> list[str]:
    """Generated files whose source is gone."""
    names = {path.stem for path in lesson_sources(root)}
    folders = [root / tree / lang for tree in ("notebooks", "solutions") for lang in LANGUAGES]
    files = [path for folder in folders for path in sorted(folder.glob("*.ipynb"))]
    files += sorted((root / DATA).glob("*.json"))
    return [
        f"{path.relative_to(root).as_posix()}: has no source solutions/{path.stem}.md"
        for path in files
        if path.stem not in names and not is_kept(path)
    ]


def build(
    root: Path,
    check: bool = False,
    *,
    lesson: str | None = None,
    execute: bool = True,
    report: Report = print,
    records: Records = record_points,
) -> list[str]:
    """Write the editions and return the paths that changed; with `check` write nothing and return the differences.

    A notebook that somebody has worked in is kept beside the new one, and a line says so: see `keep`.
    LessonError for a source that breaks a rule; ExecutionError for a solution that does not run; ValueError for an
    unknown `lesson`. Whatever was written before an error is complete in itself.
    """
    lessons = read_lessons(root, lesson, records)
    if check:
        return drift(root, lessons, whole=lesson is None)
    changed = []
    for path, make in _with_progress(list(_tasks(root, lessons, execute)), root, report):
        record = make()
        kept = keep(path) if path.suffix == ".ipynb" and path.exists() and edited(path.read_bytes(), record) else None
        if _write(path, notebook_text(record)):
            changed.append(path.relative_to(root).as_posix())
        if kept:
            os.utime(kept)  # it holds the work: the newest of two is what a grader takes
            report(f"kept what was written into {path.relative_to(root).as_posix()} as {kept.name}, beside it")
    return changed


def _tasks(root: Path, lessons: list[Lesson], execute: bool) -> Iterator[tuple[Path, Callable[[], dict]]]:
    for lesson in lessons:
        for path, record in generated(root, lesson).items():
            yield path, lambda record=record: record
    for lesson in lessons if execute else ():
        for path, notebook in solutions(root, lesson).items():
            yield path, lambda path=path, notebook=notebook: _executed(path, notebook, root)


def _executed(path: Path, notebook: dict[str, Any], root: Path) -> dict[str, Any]:
    from fp8lab.course.execute import ExecutionError, execute

    try:
        return execute(notebook, path.parent, root)
    except ExecutionError as error:
        shown = path.relative_to(root).as_posix()
        raise ExecutionError([f"{shown}: {problem}" for problem in error.problems]) from None


def _with_progress(tasks: list[tuple[Path, Callable]], root: Path, report: Report) -> Iterator[tuple[Path, Callable]]:
    """The tasks, one by one; a terminal with rich shows a bar, anything else a line for each."""
    if report is print and sys.stdout.isatty():
        try:
            from rich.progress import Progress
        except ImportError:
            pass
        else:
            with Progress() as bar:
                job = bar.add_task("building", total=len(tasks))
                for path, make in tasks:
                    bar.update(job, description=path.relative_to(root).as_posix())
                    yield path, make
                    bar.advance(job)
            return
    for number, (path, make) in enumerate(tasks, 1):
        report(f"[{number}/{len(tasks)}] {path.relative_to(root).as_posix()}")
        yield path, make


def _write(path: Path, text: str) -> bool:
    """Write the file unless it has these bytes already, whole or not at all. Whether it changed."""
    data = text.encode("utf-8")
    if path.exists() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `fp8lab build`."""
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs from its source")
    parser.add_argument("--lesson", metavar="NAME", help="only this lesson: 01_decode, or 01")
    parser.add_argument("--no-execute", action="store_true", help="learner edition and data only: run no solution")
    parser.add_argument("--root", type=Path, help="the checkout (default: the one around the current folder)")


def run(args: argparse.Namespace) -> int:
    """0 done, 1 a lesson is wrong or a file differs, 2 there is nothing to build as asked."""
    from fp8lab.course.execute import ExecutionError

    try:
        root = args.root.resolve() if args.root else find_root()
        if not is_checkout(root):
            raise FileNotFoundError(f"{root} is not a checkout of fp8lab: it needs solutions/ and pyproject.toml")
        found = build(root, args.check, lesson=args.lesson, execute=not args.no_execute)
    except (LessonError, ExecutionError) as error:
        print(error, file=sys.stderr)
        return 1
    except (ValueError, FileNotFoundError, ImportError) as error:
        print(f"fp8lab build: {error}", file=sys.stderr)
        return 2
    if args.check and found:
        print("\n".join(found), file=sys.stderr)
        print(f"{len(found)} differences: run `make build` and commit what it writes", file=sys.stderr)
        return 1
    print("every edition agrees with its source" if args.check else f"{len(found)} files changed")
    return 0


__all__ = [
    "Lesson", "build", "find_root", "learner_notebook", "packaged", "packaged_names", "read_lesson", "solution_notebook"
]  # fmt: skip
