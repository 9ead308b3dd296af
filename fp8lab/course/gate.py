"""What has no place in an answer, told from its source alone: such a cell is not run when it is graded.

An exercise of this course asks for arithmetic. Whoever looks at frames, swaps parts of a library, starts processes or
makes code out of text is after the process that grades, and no check inside that process could be trusted afterwards.
So an answer keeps to these rules, and `refusals` names what breaks them:

    it imports what a number format needs: MODULES, no others
    it speaks of no name in NAMES, and of attributes neither in ATTRIBUTES nor with a leading underscore (self's may)
    it sets attributes of self only: `torch.Tensor.item = ...` changes everybody's tensors
    getattr takes its name as a text that is written there; magics and shell commands stay outside

The rules are about reach, not about style: `for`, classes, decorators, any operation of numpy and torch are welcome.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from fp8lab.course.text import Text

MODULES = frozenset(
    "__future__ abc array bisect cmath collections contextlib copy dataclasses decimal enum fp8lab fractions functools "
    "heapq itertools math ml_dtypes numbers numpy operator random re statistics string struct textwrap time torch "
    "triton typing typing_extensions warnings".split()
)
NAMES = frozenset(  # as plain names
    "__array_interface__ __array_struct__ __builtins__ __cuda_array_interface__ __dlpack__ __import__ __loader__ "
    "__match_args__ __spec__ breakpoint builtins compile delattr eval exec exit "
    "get_ipython globals help input locals memoryview open quit vars In Out".split()
)
_ELSEWHERE = frozenset(  # modules that others hold as an attribute: dataclasses.sys
    "ast asyncio atexit builtins concurrent ctypes ctypeslib dis gc importlib inspect io linecache marshal "
    "multiprocessing os pathlib pickle pkgutil runpy shutil signal socket subprocess sys tempfile threading traceback "
    "types weakref".split()
)
ATTRIBUTES = _ELSEWHERE | frozenset(
    "ag_frame as_strided attrgetter co_code co_consts co_filename CodeType cr_frame currentframe f_back "
    "f_builtins f_code f_globals f_locals f_trace Formatter ForwardRef FunctionType get_field get_objects "
    "get_referents get_referrers get_type_hints gi_code gi_frame library methodcaller overrides package "
    "setprofile settrace StackSummary tb_frame tb_next TorchDispatchMode TorchFunctionMode walk_stack "
    "walk_tb".split()
)
DUNDERS = frozenset(  # the attributes with underscores around them that an answer may speak of
    "__add__ __call__ __class__ __doc__ __enter__ __eq__ __exit__ __float__ __getitem__ __hash__ __index__ __init__ "
    "__int__ __iter__ __len__ __mul__ __name__ __new__ __post_init__ __repr__ __setitem__ __sub__ __version__".split()
)
OWN = frozenset(("self", "cls", "super"))
NOTEBOOK = re.compile(r"ipykernel_\d+|<ipython-input")  # the file names that IPython gives to cells
WARNED = Text(
    "When this is graded it will not be run: it uses {names}, which no answer of this course needs.",
    "评分时不会运行它：它用到了 {names}，而本课程的答案都用不着。",
)
GATED = Text(
    "It was not run: it uses {names}, which no answer of this course needs. Write it with arithmetic alone.",
    "没有运行：它用到了 {names}，而本课程的答案都用不着。请只用运算来写。",
)


def refusals(source: str) -> tuple[str, ...]:
    """What in a cell's source breaks the rules, as a reader would name it. () for code that does not parse.

    >>> refusals("import numpy as np\\ndef f(x):\\n    return np.sqrt(x).astype(int)")
    ()
    >>> refusals("import gc, torch\\ntorch.Tensor.item = None\\ngetattr(f, 'f_' + 'back')")
    ('import gc', 'torch.Tensor.item =', 'getattr with a computed name')
    """
    try:
        tree = ast.parse(source)
        nodes = list(ast.walk(tree))
        calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
        return tuple(dict.fromkeys(found for node in nodes for found in _refused(node, calls.get(id(node)))))
    except (SyntaxError, ValueError):
        return ()
    except (RecursionError, MemoryError):
        return ("code that is nested too deeply to be read",)


def refused_in(answer: Any) -> tuple[str, ...]:
    """The `refusals` of the notebook cell that defined a function or a class; () for what is not from a notebook."""
    methods = vars(answer).values() if isinstance(answer, type) else (answer,)
    files = {method.__code__.co_filename for method in methods if isinstance(method, FunctionType)}
    cells = sorted(file for file in files if NOTEBOOK.search(file))
    return tuple(dict.fromkeys(name for file in cells for name in refusals("".join(linecache.getlines(file)))))


def _refused(node: ast.AST, call: ast.Call | None) -> Iterator[str]:
    """What is wrong with a node; `call`: the call whose function it is."""
    if isinstance(node, ast.Import):
        yield from (f"import {alias.name}" for alias in node.names if not _importable(alias.name))
    elif isinstance(node, ast.ImportFrom):
        module = node.module or "."
        names = [alias.name for alias in node.names if _is_hidden(alias.name) or alias.name in ATTRIBUTES]
        if node.level or not _importable(module):
            yield f"import {module}"
        else:
            yield from (f"{module}.{name}" for name in names)
    elif isinstance(node, ast.Attribute):
        yield from _attribute(node)
    elif isinstance(node, ast.Name):
        if node.id in NAMES:
            yield node.id
        elif node.id == "getattr" and not _reads_a_plain_name(call):
            yield "getattr with a computed name"
        elif node.id == "setattr" and not _is_of_self(call):
            yield "setattr"
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in NAMES:
        yield node.name
    elif isinstance(node, ast.MatchClass):
        yield from (name for name in node.kwd_attrs if _is_hidden(name) or name in ATTRIBUTES)


def _importable(module: str) -> bool:
    first, *others = module.split(".")
    return first in MODULES and not any(_is_hidden(part) or part in ATTRIBUTES for part in others)


def _is_hidden(name: str) -> bool:
    return name.startswith("_") and name not in DUNDERS and name != "__future__"


def _attribute(node: ast.Attribute) -> Iterator[str]:
    root = _root(node)
    unpickles = node.attr == "load" and root != "tl"  # torch.load runs what the file says; triton's loads
    hidden = _is_hidden(node.attr) and (root not in OWN or node.attr.startswith("__"))
    if node.attr in ATTRIBUTES or unpickles or hidden:
        yield ast.unparse(node)[-60:]
    if not isinstance(node.ctx, ast.Load) and root not in OWN:
        yield f"{ast.unparse(node)[-60:]} ="


def _root(node: ast.expr) -> str | None:
    """The name at which a chain of attributes begins, subscripts in it included; `super` for super()."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        return "super"
    return node.id if isinstance(node, ast.Name) else None


def _reads_a_plain_name(call: ast.Call | None) -> bool:
    """Whether a getattr has a literal name that any attribute might have."""
    text = call.args[1].value if call and len(call.args) > 1 and isinstance(call.args[1], ast.Constant) else None
    return isinstance(text, str) and not _is_hidden(text) and text not in ATTRIBUTES


def _is_of_self(call: ast.Call | None) -> bool:
    return bool(call and call.args and isinstance(call.args[0], ast.Name) and call.args[0].id == "self")
