"""What a learner has put into a hole, as a fingerprint that can be compared with another learner's.

Only the hole counts: what stands in the stub already says nothing about who wrote it. A fingerprint has two levels:
the `text` (layout apart, every name and comment must agree), and the `form`, the syntax tree with parameters by
position and the hole's own names by order of appearance, which survives renaming, comments and reformatting.
"""

from __future__ import annotations

import ast
import hashlib
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from fp8lab.course.source import Cell
from fp8lab.grading.assemble import solved
from fp8lab.grading.pycode import parse

_STUB = re.compile(r"exercise (\d+\.\d+):")
_COMMENT = re.compile(r"#+\s*(.*)$")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = ("body", "orelse", "finalbody")


@dataclass(frozen=True)
class Fingerprint:
    """What fills the holes of one exercise.

    text, form  hashes of the two levels
    size        nodes of the syntax tree: how much there is that could have been written otherwise
    names       names that the hole itself brings in, such as those of local variables
    words       words in the comments among it
    ours        the form is that of our solution, which everybody may have read
    """

    text: str
    form: str
    size: int
    names: int = 0
    words: int = 0
    ours: bool = False


def fingerprints(sources: Iterable[str], slot: Cell) -> dict[str, Fingerprint]:
    """Exercise key -> fingerprint of what `sources` put into the holes of the exercise cell `slot`.

    Keys whose hole is untouched, not found or not Python are left out. Nothing raises for what a learner writes.
    """
    found = _fillings("\n\n".join(sources), slot.stub or "")
    ours = _solution(slot.stub or "", solved(slot))
    return {
        key: Fingerprint(_hash(f.text), _hash(f.form), f.size, f.names, f.words, _hash(f.form) == ours.get(key))
        for key, f in found.items()
    }


@lru_cache(maxsize=256)
def _solution(stub: str, solution: str) -> dict[str, str]:
    return {key: _hash(filling.form) for key, filling in _fillings(solution, stub).items()}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:20]


@dataclass(frozen=True)
class _Filling:
    text: str
    form: str
    size: int
    names: int
    words: int


def _fillings(source: str, stub: str) -> dict[str, _Filling]:
    tree, frame = parse(source), parse(stub)
    if isinstance(tree, SyntaxError) or isinstance(frame, SyntaxError):
        return {}
    try:
        theirs = dict(_functions(tree))
        parts: dict[str, list[_Filling]] = {}
        for place, given in _functions(frame):
            for key in _keys(given):
                if place in theirs and (filling := _filling(theirs[place], given, key, source, stub)):
                    parts.setdefault(key, []).append(filling)
    except (RecursionError, MemoryError):  # nobody writes such a tree by hand
        return {}
    return {key: _joined(several) for key, several in parts.items()}


def _joined(parts: list[_Filling]) -> _Filling:
    return _Filling(
        "\n".join(part.text for part in parts),
        "\n".join(part.form for part in parts),
        sum(part.size for part in parts),
        sum(part.names for part in parts),
        sum(part.words for part in parts),
    )


def _functions(tree: ast.AST, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], ast.AST]]:
    """(names from the outside in, function) of every function at the top level and in classes; later ones win."""
    for node in getattr(tree, "body", ()):
        if isinstance(node, _FUNCTIONS):
            yield (*place, node.name), node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, (*place, node.name))


def _keys(function: ast.AST) -> list[str]:
    return list(dict.fromkeys(key for node in ast.walk(function) if (key := _stub_key(node))))


def _stub_key(node: ast.AST) -> str:
    """The key of `raise NotImplementedError("exercise 1.4: ...")`; "" for anything else."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
        message = node.exc.args[0]
        if isinstance(message, ast.Constant) and isinstance(message.value, str):
            match = _STUB.match(message.value)
            return match[1] if match else ""
    return ""


def _filling(function: ast.AST, given: ast.AST, key: str, source: str, stub: str) -> _Filling | None:
    statements = _peeled(function.body, given.body, key)
    if not statements or any(_stub_key(node) for statement in statements for node in ast.walk(statement)):
        return None
    lines = _lines(statements, source, stub)
    words = sum(len(match[1].split()) for line in lines if (match := _COMMENT.search(line)))
    size = sum(1 for s in statements for node in ast.walk(s) if not isinstance(node, ast.expr_context))
    names = _names(statements, function, given)
    form = "\n".join(_renamed(statement, names) for statement in statements)
    own = len(names) - len(_parameters(function))
    return _Filling(textwrap.dedent("\n".join(lines)), form, size, own, words)


def _peeled(theirs: list[ast.stmt], given: list[ast.stmt], key: str) -> list[ast.stmt]:
    """The statements that stand where the hole was: without what stands in the stub before, after and around it."""
    theirs, given = list(theirs), list(given)
    while theirs and given and _stub_key(given[0]) != key and _same(theirs[0], given[0]):
        theirs, given = theirs[1:], given[1:]
    while theirs and given and _stub_key(given[-1]) != key and _same(theirs[-1], given[-1]):
        theirs, given = theirs[:-1], given[:-1]
    if len(theirs) == len(given) == 1 and type(theirs[0]) is type(given[0]) and not _stub_key(given[0]):
        for block in _BLOCKS:
            inside = getattr(given[0], block, None)
            if isinstance(inside, list) and any(_stub_key(n) == key for s in inside for n in ast.walk(s)):
                return _peeled(getattr(theirs[0], block, []), inside, key)
    return [statement for statement in theirs if not _is_text(statement)]


def _same(first: ast.AST, second: ast.AST) -> bool:
    return ast.dump(first) == ast.dump(second)


def _is_text(statement: ast.stmt) -> bool:
    """A docstring or another string that stands alone."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _lines(statements: list[ast.stmt], source: str, stub: str) -> list[str]:
    """Their lines without trailing blanks, empty lines, and comments that we handed out."""
    region = source.split("\n")[statements[0].lineno - 1 : statements[-1].end_lineno]
    ours = {line.strip() for line in stub.split("\n") if line.strip().startswith("#")}
    return [line.rstrip() for line in region if line.strip() and line.strip() not in ours]


def _names(statements: list[ast.stmt], function: ast.AST, given: ast.AST) -> dict[str, str]:
    """Name -> its stand-in: for parameters by position, for the hole's own names by order of appearance."""
    names: dict[str, str] = {argument: f"a{place}" for place, argument in enumerate(_parameters(function))}
    known = {node.id for node in ast.walk(given) if isinstance(node, ast.Name)}
    for statement in statements:
        for node in ast.walk(statement):
            for name in _bound(node):
                if name not in known:
                    names.setdefault(name, f"v{len(names)}")
    return names


def _parameters(function: ast.AST) -> list[str]:
    given = function.args
    extra = [argument for argument in (given.vararg, given.kwarg) if argument]
    return [argument.arg for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs, *extra]]


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, _FUNCTIONS):
        return [node.name]
    return [node.name] if isinstance(node, ast.ExceptHandler) and node.name else []


def _renamed(node: ast.AST, names: Mapping[str, str]) -> str:
    """`ast.dump` with other names, and without touching the tree."""
    if isinstance(node, ast.expr_context):
        return ""
    fields = []
    for field, value in ast.iter_fields(node):
        if field in ("id", "arg", "name") and isinstance(value, str) and not isinstance(node, ast.keyword):
            fields.append(names.get(value, value))
        elif isinstance(value, ast.AST):
            fields.append(_renamed(value, names))
        elif isinstance(value, list):
            fields.append(f"[{','.join(_renamed(v, names) if isinstance(v, ast.AST) else repr(v) for v in value)}]")
        elif field not in ("kind", "type_comment"):
            fields.append(repr(value))
    return f"{type(node).__name__}({','.join(fields)})"
