"""What a cell's code defines, and whether two cells are the same code, without running anything."""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache

MAX_SOURCE = 200_000  # characters; the longest exercise cell of the course has about 5,000
MAX_MAGIC = 20_000  # characters of a cell in which magics are looked for; IPython's search for `?` is quadratic
_DEFINES = re.compile(r"^(?:async\s+def|def|class)\s+(\w+)|^(\w+)\s*(?::[^=\n]*)?=(?!=)", re.MULTILINE)
_MAGIC = re.compile(r"^[ \t]*[%!?]|[?][ \t]*$|^[ \t]*\w+[ \t]*=[ \t]*[%!]", re.MULTILINE)


def parse(source: str) -> ast.Module | SyntaxError:
    """The syntax tree of a cell as IPython would run it (magics and all), or what is wrong with it."""
    if len(source) > MAX_SOURCE:
        return SyntaxError(f"the cell has {len(source):,} characters; at most {MAX_SOURCE:,} are run")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(transformed(source))
    except SyntaxError as problem:
        return problem
    except Exception as problem:  # null bytes, half characters, nesting; IPython's own stumbles
        return SyntaxError(f"cannot be read as Python: {type(problem).__name__}")


@lru_cache(maxsize=1)
def _transformer():
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager()


def transformed(source: str) -> str:
    """A cell's code with its magics as the calls that IPython makes of them."""
    if len(source) > MAX_MAGIC or not _MAGIC.search(source):
        return source
    return _transformer().transform_cell(source)


@lru_cache(maxsize=256)
def defined_names(source: str) -> frozenset[str]:
    """Names that the cell binds at its top level; a guess by lines when it does not parse.

    >>> sorted(defined_names("def f(): pass\\nfrom m import a as g\\nh: int = 3"))
    ['f', 'g', 'h']
    """
    tree = parse(source)
    try:
        if not isinstance(tree, SyntaxError):
            return frozenset(name for statement in tree.body for name in _bound(statement))
    except RecursionError:  # a thousand elif
        pass
    return frozenset(name for pair in _DEFINES.findall(source[:MAX_SOURCE]) for name in pair if name)


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


def imported(source: str, package: str) -> set[str]:
    """What the cell imports of a package, with the module in front.

    >>> sorted(imported("import fp8lab.codec\\nfrom fp8lab.formats import value", "fp8lab"))
    ['fp8lab.codec', 'fp8lab.formats.value']
    """
    tree = parse(source)
    if isinstance(tree, SyntaxError):
        return set()
    imports = (node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)))
    names = {name for node in imports for name in _named(node)}
    return {name for name in names if name.split(".")[0] == package}


@lru_cache(maxsize=256)
def shows_only(source: str) -> bool:
    """Whether a cell does nothing but define names, and print or call what it defines itself.

    >>> shows_only("def f(): print(1)\\nf()"), shows_only("torch.manual_seed(0)"), shows_only("x[0] = 1")
    (True, False, False)
    """
    tree = parse(source)
    if isinstance(tree, SyntaxError):
        return False
    own = {"print", *defined_names(source)}
    return all(_defines(statement) or _calls(statement, own) for statement in tree.body)


def _defines(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, (ast.Name, ast.Tuple)) for target in statement.targets)
    return isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom))


def _calls(statement: ast.stmt, names: set[str]) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Constant) or (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in names
    )


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
    try:
        return ast.dump(trees[0]) == ast.dump(trees[1])
    except RecursionError:  # nobody's stub is nested that deeply
        return False


COMPUTED = "getattr with a computed name"
REACHES = frozenset(  # names by which code gets at the process that grades it, rather than at a number format
    "get_ipython sys.modules sys.settrace sys.setprofile sys._getframe gc.get_objects inspect ctypes importlib "
    "__import__ __builtins__ builtins fp8lab_drive os._exit os.kill os.fork subprocess socket threading atexit "
    "modules settrace setprofile _getframe f_back f_locals f_globals __globals__ __subclasses__ co_filename exec "
    "concurrent.futures multiprocessing gc eval compile open vars globals locals __dict__ __code__ __closure__ __mro__ "
    "__traceback__ __loader__ __spec__ __getattribute__ tb_frame gi_frame f_trace f_trace_lines attrgetter "
    "methodcaller pkgutil pydoc runpy zipimport pickle marshal _thread start_new_thread linecache torch.load "
    "torch.package torch.hub settrace_all_threads get_type_hints ForwardRef CodeType FunctionType mock".split()
)


def for_review(source: str) -> tuple[str, ...]:
    """Names in the cell that deserve a look: what it takes from fp8lab itself, and what has no place in an answer.

    >>> for_review("from fp8lab import decode\\nimport fp8lab.codec as c\\nget_ipython()")
    ('fp8lab.decode', 'fp8lab.codec', 'get_ipython')
    """
    tree = parse(source)
    if isinstance(tree, SyntaxError):
        return ()
    names = (name for node in ast.walk(tree) for name in _named(node))
    return tuple(
        dict.fromkeys(n for n in names if n in REACHES or n in (COMPUTED, "fp8lab") or n.startswith("fp8lab."))
    )


def _named(node: ast.AST) -> list[str]:
    """The names that a node speaks of, with the module in front where it stands there."""
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        return [*([module] if module in REACHES else []), *(f"{module}.{alias.name}" for alias in node.names)]
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        literal = len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
        return [str(node.args[1].value)] if literal else [COMPUTED]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return [f"{node.value.id}.{node.attr}", node.attr]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    return [node.id] if isinstance(node, ast.Name) else []
