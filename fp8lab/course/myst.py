"""MyST Markdown -> Lesson: jupytext reads the cells, this file keeps the line numbers and gives the cells their ids."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from fp8lab.course.holes import find_holes, identity, make_stub, parse_keys
from fp8lab.course.source import Cell, Lesson, LessonError, Problem
from fp8lab.course.text import LANGUAGES

LESSON_NAME = re.compile(r"[0-9]{2}_[a-z0-9_]+")
_FRONT_MATTER = "fp8lab: {lesson: 01_decode, title: {en: ..., zh: ...}}"
_MARKDOWN_OPTIONS = {"lang", "answer", "tags"}
_CODE_OPTIONS = {"tags"}
_FENCE_CLOSE = re.compile(r"\s*(`{3,}|~{3,})\s*")


def parse_lesson(path: Path, shown: str) -> Lesson:
    """The lesson as written, before any rule about its content. LessonError for a text that cannot be read as cells."""
    text = _read_text(path, shown)
    problems: list[Problem] = []
    notebook, starts = _read_cells(text, shown, problems)
    name, title = _front_matter(dict(notebook.metadata), path.stem, shown, problems)
    cells = []
    for raw, line in zip(notebook.cells, starts, strict=True):
        try:
            cells.append(_cell(raw, line))
        except ValueError as error:
            problems.append(Problem(shown, line, str(error)))
    if problems:
        raise LessonError(problems)
    return Lesson(name, title, tuple(_with_ids(cells, name)))


def _read_text(path: Path, shown: str) -> str:
    if not path.stem.isascii() or not LESSON_NAME.fullmatch(path.stem):
        raise LessonError([Problem(shown, 1, "a lesson's file is named like 01_decode.md: two digits, a-z, 0-9, _")])
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise LessonError([Problem(shown, 1, f"not UTF-8 text ({error}); save the file as UTF-8")]) from None
    if "\r" in text or text.startswith("\ufeff"):
        raise LessonError([Problem(shown, 1, "save the file with LF line ends and without a byte order mark")])
    return text


def _read_cells(text: str, shown: str, problems: list[Problem]):
    """jupytext's notebook and, for each of its cells, the line where its text begins (1-based)."""
    try:
        from jupytext.myst import myst_to_notebook
    except ImportError as error:
        raise ImportError(f"reading a lesson needs jupytext ({error}); pip install 'fp8lab[author]'") from error
    ends = _read_tokens(text, shown, problems)
    if problems:
        raise LessonError(problems)
    try:
        notebook = myst_to_notebook(text, add_source_map=True)
    except Exception as error:  # YAML's or nbformat's own complaint about the front matter
        if not re.search("Parsing|Validation", type(error).__name__):
            raise
        reason = str(error).splitlines()[0]
        message = f"the front matter makes no notebook: {reason}"
        raise LessonError([Problem(shown, _line_of(error), message)]) from None
    lines = text.split("\n")
    starts = [
        _first_line(cell, start, lines, ends)
        for cell, start in zip(notebook.cells, notebook.metadata.pop("source_map"), strict=True)
    ]
    return notebook, starts


def _read_tokens(text: str, shown: str, problems: list[Problem]) -> dict[int, int]:
    """First line -> last line of every code cell. Finds what is wrong with cell boundaries and options."""
    from jupytext.myst import MystMetadataParsingError, get_parser, read_cell_metadata, read_fenced_cell

    ends: dict[int, int] = {}
    for number, token in enumerate(get_parser().parse(text + "\n")):
        is_break = token.type == "myst_block_break" and token.level == 0
        is_fence = token.type == "fence" and token.level == 0 and token.info.startswith("{")
        if not (is_break or is_fence):
            continue
        line = token.map[0] + 1
        try:
            if is_break:
                found = _break_problem(token, read_cell_metadata(token, number))
            else:
                ends[line] = token.map[1]
                found = _fence_problem(token, text.split("\n"), read_fenced_cell(token, number, "Code")[0])
        except MystMetadataParsingError as error:
            found = f"the options of this cell cannot be read: {error}"
        if found:
            problems.append(Problem(shown, line, found))
    problems += _nested_fences(text.split("\n"), ends, shown)
    return ends


def _break_problem(token: Any, options: dict) -> str | None:
    if not token.content.strip():
        return (
            'a bare +++ splits the Markdown cell here; begin a cell with +++ {"lang": "en"}, '
            "or with +++ {} for one that goes to both editions"
        )
    return _options_problem(options, _MARKDOWN_OPTIONS)


def _fence_problem(token: Any, lines: list[str], options: dict) -> str | None:
    if not re.fullmatch(r"\{code-cell\}( i?python3?)?", token.info.strip()):
        return f"{token.info!r} is not a cell; write {{code-cell}}"
    inside = next((n for n, line in enumerate(lines[token.map[0] + 1 : token.map[1] - 1], token.map[0] + 2)
                   if line.startswith(("```", "+++"))), None)  # fmt: skip
    if (
        inside
        or token.map[1] - token.map[0] < 2
        or not _FENCE_CLOSE.fullmatch(lines[min(token.map[1], len(lines)) - 1])
    ):
        return "this cell is not closed: its last ``` is missing" + (f" before line {inside}" if inside else "")
    return _options_problem(options, _CODE_OPTIONS)


def _options_problem(options: dict, allowed: set[str]) -> str | None:
    tags = options.get("tags", [])
    if set(options) - allowed:
        return f"unknown cell options {sorted(set(options) - allowed)}; known are {sorted(allowed)}"
    if not isinstance(tags, list) or not all(map(_is_text, tags)):
        return f"tags must be a list of words, not {tags!r}"
    return None


def _nested_fences(lines: list[str], ends: dict[int, int], shown: str) -> list[Problem]:
    """`{code-cell}` lines that jupytext takes for text: within a list, a quotation, another fence."""
    inside = [number for first, last in ends.items() for number in range(first, last + 1)]
    return [
        Problem(shown, number, "this {code-cell} begins inside another block; close that one, or indent this one less")
        for number, line in enumerate(lines, 1)
        if re.match(r"[\s>]*`{3,}\{code-cell\}", line) and number not in inside
    ]


def _first_line(cell: Any, start: int, lines: list[str], ends: dict[int, int]) -> int:
    """Where the text of a cell begins, 1-based: after blank lines, and in a code cell after its options."""
    if cell.cell_type == "markdown":
        while start < len(lines) and not lines[start].strip():
            start += 1
        return start + 1
    return ends[start] - len(cell.source.split("\n")) if cell.source else start


def _line_of(error: Exception) -> int:
    """The line of the front matter that YAML complains of; 1 when it is nbformat that complains."""
    mark = getattr(error.__context__, "problem_mark", None)
    return mark.line + 2 if mark else 1  # the front matter begins after its --- line


def _front_matter(metadata: dict, stem: str, shown: str, problems: list[Problem]) -> tuple[str, dict[str, str]]:
    found = metadata.get("fp8lab")
    if not isinstance(found, dict) or set(found) != {"lesson", "title"}:
        problems.append(Problem(shown, 1, f"the front matter needs {_FRONT_MATTER}"))
        return stem, {}
    title = found["title"]
    if not isinstance(title, dict) or set(title) != set(LANGUAGES) or not all(map(_is_text, title.values())):
        problems.append(Problem(shown, 1, "the title in the front matter needs a text in en and one in zh"))
    if found["lesson"] != stem:
        problems.append(Problem(shown, 1, f"the front matter says lesson {found['lesson']!r}, the file is {stem}.md"))
    kernel = metadata.get("kernelspec", {}).get("name")
    if kernel != "python3":
        problems.append(Problem(shown, 1, f"kernelspec name is {kernel!r}; every platform has python3"))
    return stem, dict(title) if isinstance(title, dict) else {}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _cell(raw: Any, line: int) -> Cell:
    """One cell without id. ValueError for a language, an answer key or a first line that mean nothing."""
    options = dict(raw.metadata)
    tags = options.get("tags", [])
    if raw.cell_type == "markdown":
        return _markdown_cell(raw.source, options, tuple(tags), line)
    source = raw.source.rstrip("\n")
    role, keys = identity(source)
    stub = make_stub(source, find_holes(source)[0])
    return Cell("", "code", None, role, keys, source, stub, tuple(tags), line)


def _markdown_cell(source: str, options: dict, tags: tuple[str, ...], line: int) -> Cell:
    lang = options.get("lang")
    if lang is not None and lang not in LANGUAGES:
        raise ValueError(f"lang is {lang!r}; it can be {' or '.join(LANGUAGES)}, or left out")
    if "answer" not in options:
        return Cell("", "markdown", lang, "prose", (), source, source, tags, line)
    if not isinstance(options["answer"], str):
        raise ValueError(f'answer must be a key in quotes, like "1.4", not {options["answer"]!r}')
    return Cell("", "markdown", lang, "answer", parse_keys(options["answer"]), source, None, tags, line)


def _with_ids(cells: list[Cell], name: str) -> list[Cell]:
    """Ids that depend on nothing but the text: from the key, else a running number that both languages share.

    Answers take no number, so writing one does not touch the learner edition.
    """
    named, number, previous = [], 0, None
    for cell in cells:
        if cell.keys:
            span = cell.keys[0] if len(cell.keys) == 1 else f"{cell.keys[0]}-to-{cell.keys[-1]}"
            identifier = f"{cell.role}-{span}".replace(".", "-")
        else:
            pair = previous is not None and (previous.lang, cell.lang) == LANGUAGES and not previous.keys
            number += not pair
            identifier = f"{name}-{number}"
        previous = cell
        named.append(replace(cell, id=identifier))
    return named
