"""What a lesson must obey before an edition is built from it. Every rule yields (line of the file, what to do).

A rule looks at the parsed lesson only; rules that need the exercise records take their points as an argument.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping

from fp8lab.course.holes import Hole, find_holes
from fp8lab.course.source import Cell, Lesson

MAX_HOLE_LINES = 6
LEAK_LETTERS = 16  # shorter pieces of code occur by chance
LEAK_PROSE = 40
_CJK = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[A-Za-z]{2,}")

Found = tuple[int, str]


def problems_of(lesson: Lesson) -> list[Found]:
    """Everything that the rules find, in order of line."""
    found = [problem for rule in RULES for problem in rule(lesson)]
    return sorted(dict.fromkeys(found))


def unknown_to_records(lesson: Lesson, points: Mapping[str, int]) -> Iterator[Found]:
    """Exercises of the text without a record, and records without an exercise in the text."""
    for cell in _exercises(lesson):
        for key in cell.keys:
            if key not in points:
                yield cell.line, f"exercise {key} has no record; write it in fp8lab/course/lessons/l{lesson.name}"
    for key in points:
        if key not in lesson.keys:
            yield 1, f"the records have exercise {key}, this text does not; write its cell `# exercise {key}`"


def _exercises(lesson: Lesson) -> list[Cell]:
    return [cell for cell in lesson.cells if cell.role == "exercise"]


def _code(lesson: Lesson) -> list[Cell]:
    return [cell for cell in lesson.cells if cell.kind == "code"]


def _holes(lesson: Lesson) -> Iterator[tuple[Cell, Hole]]:
    for cell in _code(lesson):
        for hole in find_holes(cell.source)[0]:
            yield cell, hole


def opening(lesson: Lesson) -> Iterator[Found]:
    """The first cell is the lesson's heading: the setup cell is put after it."""
    first = lesson.cells[0] if lesson.cells else None
    if first is None or first.kind != "markdown" or not first.source.startswith("# "):
        yield (first.line if first else 1), "a lesson begins with a Markdown cell whose first line is its `# heading`"


def markers(lesson: Lesson) -> Iterator[Found]:
    """Markers are well-formed, balanced, and stand in an exercise cell that names their key."""
    for cell in _code(lesson):
        for offset, message in find_holes(cell.source)[1]:
            yield cell.line + offset, message
    for cell, hole in _holes(lesson):
        if cell.role != "exercise":
            yield cell.line + hole.begin, f"a solution region in a cell whose first line is not `# exercise {hole.key}`"
        elif hole.key not in cell.keys:
            named = ", ".join(cell.keys)
            yield cell.line + hole.begin, f"the region is of exercise {hole.key}, the cell's first line says {named}"
    for cell in _exercises(lesson):
        keys = {hole.key for hole in find_holes(cell.source)[0]}
        for key in cell.keys:
            if key not in keys:
                yield cell.line, f"exercise {key} has no `### BEGIN SOLUTION {key}: ...` in this cell"


def hole_size(lesson: Lesson) -> Iterator[Found]:
    """A hole is one to six lines, blank lines not counted."""
    for cell, hole in _holes(lesson):
        count = sum(bool(line.strip()) for line in hole.lines)
        if count == 0:
            yield cell.line + hole.begin, f"the solution of exercise {hole.key} is empty"
        if count > MAX_HOLE_LINES:
            message = f"the hole of exercise {hole.key} has {count} lines; at most {MAX_HOLE_LINES}, so split it"
            yield cell.line + hole.begin, message


def syntax(lesson: Lesson) -> Iterator[Found]:
    """Both editions are plain Python, and a hole raises only when its function is called."""
    for cell in _code(lesson):
        for edition, text in (("solution", cell.source), ("learner", cell.stub)):
            try:
                tree = ast.parse(text)
            except SyntaxError as error:
                offset = (error.lineno or 1) - 1 if edition == "solution" else 0
                what = f"{error.msg} (plain Python only: no % magics, no !commands)"
                yield cell.line + offset, f"the {edition} edition of this cell does not parse: {what}"
                break
        else:
            if edition == "learner" and any(_raises_stub(node) for node in _runs_at_once(tree)):
                yield cell.line, "a hole stands outside a function: the untouched notebook would stop at this cell"


def _runs_at_once(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the cell runs: all but the bodies of functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from _runs_at_once(child)


def _raises_stub(node: ast.AST) -> bool:
    return isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and "exercise " in ast.unparse(node.exc)


def todo_lines(lesson: Lesson) -> Iterator[Found]:
    """Every key has one bilingual line `# TODO 1.4: English / 中文` outside its solution."""
    for cell in _exercises(lesson):
        for key in cell.keys:
            todo = re.search(rf"^\s*# TODO {re.escape(key)}: (.*)$", cell.stub, re.MULTILINE)
            if todo is None:
                yield cell.line, f"exercise {key} has no line `# TODO {key}: English / 中文` outside its solution"
                continue
            english, slash, chinese = todo[1].rpartition(" / ")
            if not (slash and _WORD.search(english) and not _CJK.search(english) and _CJK.search(chinese)):
                line = cell.line + _line_of(cell.source, todo[0].strip())
                yield line, f"the TODO of {key} is not bilingual; write `# TODO {key}: English / 中文`"


def _line_of(text: str, piece: str) -> int:
    """The 0-based line of `text` that holds `piece`."""
    return text[: text.index(piece)].count("\n")


def keys(lesson: Lesson) -> Iterator[Found]:
    """A key belongs to the lesson and has one exercise cell, one check cell after it, and one answer per language."""
    number = int(lesson.name[:2])
    seen: dict[tuple[str, str, str | None], Cell] = {}
    for cell in lesson.cells:
        for key in cell.keys:
            if int(key.split(".")[0]) != number:
                yield cell.line, f"key {key} does not belong to lesson {lesson.name}: its first number is not {number}"
            first = seen.setdefault((cell.role, key, cell.lang), cell)
            if first is not cell:
                yield cell.line, f"{cell.role} {key} stands here again; its first cell is at line {first.line}"
    for role, key, lang in list(seen):
        cell = seen[role, key, lang]
        exercise = seen.get(("exercise", key, None))
        if role == "exercise":
            yield from _belongings(key, cell, seen)
        elif exercise is None:
            yield cell.line, f"{role} {key} without a cell `# exercise {key}`"
        elif role == "check" and exercise.line > cell.line:
            yield cell.line, f"check {key} stands before its exercise, which is at line {exercise.line}"


def _belongings(key: str, cell: Cell, seen: Mapping) -> Iterator[Found]:
    if ("check", key, None) not in seen:
        yield cell.line, f"exercise {key} has no cell whose first line is `# check {key}`"
    if not any(role == "answer" and answered == key for role, answered, _ in seen):
        yield cell.line, f'exercise {key} has no worked answer: +++ {{"lang": "en", "answer": "{key}"}} and its zh'


def check_calls(lesson: Lesson) -> Iterator[Found]:
    """A check cell calls `check` for exactly the keys of its first line."""
    for cell in lesson.cells:
        if cell.role == "check":
            called = tuple(re.findall(r"\bcheck\(\s*[\"']([0-9.]+)[\"']", cell.source))
            if set(called) != set(cell.keys):
                names, calls = ", ".join(cell.keys), ", ".join(called) or "nothing"
                yield cell.line, f"the first line says check {names}, the cell checks {calls}"


def languages(lesson: Lesson) -> Iterator[Found]:
    """Every English cell is followed by its Chinese one: same role, same answer key, same tags."""
    waiting: Cell | None = None
    for cell in (*lesson.cells, None):
        lang = cell.lang if cell else None
        if waiting is not None and lang != "zh":
            yield waiting.line, "this English cell is not followed by its Chinese one"
        if lang == "zh" and waiting is None:
            yield cell.line, "this Chinese cell does not follow an English one"
        if lang == "zh" and waiting is not None and _differs(waiting, cell):
            yield cell.line, f"this Chinese cell does not match the English one at line {waiting.line}: answer or tags"
        waiting = cell if lang == "en" else None
    for cell in lesson.cells:
        yield from _wrong_language(cell)


def _differs(one: Cell, other: Cell) -> bool:
    return (one.role, one.keys, one.tags) != (other.role, other.keys, other.tags)


def _wrong_language(cell: Cell) -> Iterator[Found]:
    words, signs = len(_WORD.findall(cell.source)), len(_CJK.findall(cell.source))
    if cell.lang == "en" and signs > words:
        yield cell.line, "this cell is marked en and most of it is Chinese"
    if cell.lang == "zh" and words and not signs:
        yield cell.line, "this cell is marked zh and has no Chinese in it"


def leaks(lesson: Lesson) -> Iterator[Found]:
    """No solution and no worked answer stands in the learner edition."""
    shown = [(cell, _squeeze(cell.stub)) for cell in lesson.cells if cell.role != "answer"]
    for owner, hole in _holes(lesson):
        piece = _squeeze("\n".join(line.split("  # ")[0] for line in hole.lines if line.strip()[:1] != "#"))
        for cell, text in shown:
            if len(piece) >= LEAK_LETTERS and piece in text:
                line = owner.line + hole.begin
                yield cell.line, f"the learner edition shows the solution of {hole.key}, which is at line {line}"
    for answer in (cell for cell in lesson.cells if cell.role == "answer"):
        for paragraph in map(_squeeze, answer.source.split("\n\n")):
            for cell, text in shown:
                if len(paragraph) >= LEAK_PROSE and paragraph in text:
                    what = f"the worked answer of {answer.keys[0]}, which is at line {answer.line}"
                    yield cell.line, f"the learner edition shows {what}"


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)


RULES: tuple[Callable[[Lesson], Iterator[Found]], ...] = (
    opening, markers, hole_size, syntax, todo_lines, keys, check_calls, languages, leaks
)  # fmt: skip
