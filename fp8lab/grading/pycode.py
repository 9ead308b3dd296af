"""What a cell's code defines, and whether two cells are the same code, without running anything."""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache

MAX_SOURCE = 200_000  # characters; the longest exercise cell of the course has about 5,000
_DEFINES = re.compile(r"^(?:async\s+def|def|class)\s+(\w+)|^(\w+)\s*(?::[^=\n]*)?=(?!=)", re.MULTILINE)


def parse(source: str) -> ast.Module | SyntaxError:
    """The syntax tree of a cell as IPython would run it (magics and all), or what is wrong with it."""
    if len(source) > MAX_SOURCE:
        return SyntaxError(f"the cell has {len(source):,} characters; at most {MAX_SOURCE:,} are run")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(_transformed(source))
    except SyntaxError as problem:
        return problem
    except (ValueError, RecursionError, MemoryError) as problem:  # null bytes; nesting
        return SyntaxError(str(problem) or type(problem).__name__)


@lru_cache(maxsize=1)
def _transformer():
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager()


def _transformed(source: str) -> str:
    if not re.search(r"^\s*[%!?]|[?]\s*$|^\s*\w+\s*=\s*[%!]", source, re.MULTILINE):
        return source
    return _transformer().transform_cell(source)


def defined_names(source: str) -> frozenset[str]:
    """Names that the cell binds at its top level; a guess by lines when it does not parse.

    >>> sorted(defined_names("def f(): pass\\nfrom m import a as g\\nh: int = 3"))
    ['f', 'g', 'h']
    """
    tree = parse(source)
    if isinstance(tree, SyntaxError):
        return frozenset(name for pair in _DEFINES.findall(source) for name in pair if name)
    return frozenset(name for statement in tree.body for name in _bound(statement))


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    inner = (child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt))
    return {name for child in inner for name in _bound(child)}  # if, for, with, try at the top level


def same_code(first: str, second: str) -> bool:
    """Whether two cells differ in nothing but comments and layout.

    >>> same_code("def f(x):  # todo\\n  return x", "def f(x):\\n    return x\\n")
    True
    """
    if first.split() == second.split():
        return True
    trees = parse(first), parse(second)
    if any(isinstance(tree, SyntaxError) for tree in trees):
        return False
    return ast.dump(trees[0]) == ast.dump(trees[1])


def course_names(source: str) -> tuple[str, ...]:
    """What the cell takes from fp8lab itself: `fp8lab.decode` in an answer deserves a look.

    >>> course_names("from fp8lab import decode\\nimport fp8lab.codec as c")
    ('fp8lab.decode', 'fp8lab.codec')
    """
    tree = parse(source)
    if isinstance(tree, SyntaxError):
        return ()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "fp8lab":
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] == "fp8lab"]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "fp8lab":
            found.append(f"fp8lab.{node.attr}")
    return tuple(dict.fromkeys(found))
