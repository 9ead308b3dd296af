"""The rules for what an answer may speak of: every way out that is known is refused, and every honest answer passes."""

from __future__ import annotations

import inspect
import linecache

import pytest

from fp8lab.course.check import Check
from fp8lab.course.gate import refusals, refused_in
from fp8lab.course.progress import Progress
from fp8lab.course.registry import LESSONS, lesson_exercises
from fp8lab.course.source import packaged
from fp8lab.grading.assemble import solved
from fp8lab.grading.pycode import transformed

REACHES = {
    "frames": "import sys\nsys._getframe(1)",
    "a frame by the way of an error": "try: 1 / 0\nexcept Exception as e: f = e.__traceback__.tb_frame",
    "a frame by the way of a generator": "g = (x for x in ()); g.gi_frame.f_back",
    "the collector": "from gc import get_objects",
    "a module that another holds": "import dataclasses\ndataclasses.sys.settrace(None)",
    "a module taken from another": "from dataclasses import sys",
    "a submodule that hides": "import torch._dynamo",
    "importlib": "import importlib",
    "__import__": "__import__('gc')",
    "a name from pieces": "getattr(f, '__co' + 'de__')",
    "getattr handed on": "import functools\nfunctools.reduce(getattr, ['a', 'b'], f)",
    "getattr with a name that is refused": "getattr(f, '__globals__')",
    "attrgetter": "from operator import attrgetter",
    "attrgetter, as an attribute": "import operator\noperator.attrgetter('a.b')",
    "a format's fields": "import string\nstring.Formatter().get_field('0.f_back', [f], {})",
    "a pattern": "match f:\n    case object(f_back=g): pass",
    "a pattern by position": "class P:\n    __match_args__ = ('f_back',)",
    "code out of text": "exec('1')",
    "an expression out of text": "x = eval('1')",
    "the code of a function": "f.__code__ = g.__code__",
    "a library's function": "import torch\ntorch.Tensor.item = None",
    "a library's function, by another name": "from collections import Counter as C\nC.values = None",
    "a built-in": "import builtins\nbuiltins.max = None",
    "setattr": "setattr(torch, 'equal', None)",
    "object.__setattr__": "object.__setattr__(drive, 'drive', None)",
    "a deleted attribute": "import torch\ndel torch.equal",
    "a counted attribute": "import torch\ntorch.pi += 1",
    "processes": "import subprocess",
    "files": "open('/etc/passwd')",
    "pickles": "import torch\ntorch.load('x')",
    "a mode of torch": "from torch.overrides import TorchFunctionMode",
    "kernels of torch": "import torch\ntorch.library.Library('aten', 'IMPL')",
    "the shell": "get_ipython().system('ls')",
    "a magic": "%run other.py",
    "a shell command": "!ls",
    "annotations that are run": "import typing\ntyping.get_type_hints(f)",
    "a relative import": "from . import x",
    "memory by its address": "import numpy as np\nnp.lib.stride_tricks.as_strided(x, (2,), (2**45,))",
    "memory as an array says it": "class A:\n    __array_interface__ = {'data': (4096, False)}",
    "memory as a property says it": "class A:\n    @property\n    def __array_interface__(self): return {}",
    "nesting": "x = " + "f" + ".a" * 3000,
}
HONEST = {
    "numpy": "import numpy as np\nx = np.where(np.isnan(y), 0, y.astype(np.uint8))",
    "torch": "import torch.nn.functional as F\nfrom torch import nn\nx = F.pad(y, (0, 1)).view(torch.float8_e4m3fn)",
    "a module": "class M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self._x = 1",
    "getattr with a name": "x = getattr(y, 'dtype', None)",
    "loops and errors": "for i in range(3):\n    try: f(i)\n    except ValueError as e: print(e, type(e).__name__)",
    "fractions": "from fractions import Fraction\nimport math, struct, itertools\nx = math.ldexp(1.0, -9)",
    "items": "x[0] = 1\nx[i, 2:] += y\nself = None",
    "triton": "import triton\nimport triton.language as tl\nv = tl.load(p, mask=m, other=0.0)",
    "a dataclass": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    x: int = 0",
    "thirteen thousand reads": "getattr(x, 'dtype')\n" * 13_000,  # a cell of any length is read in a moment
    "does not parse": "def f(:",
}


@pytest.mark.parametrize("way", REACHES)
def test_what_reaches_beyond_an_answer_is_refused(way):
    assert refusals(transformed(REACHES[way]))


@pytest.mark.parametrize("code", HONEST)
def test_what_an_answer_is_made_of_passes(code):
    assert refusals(HONEST[code]) == ()


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_solution_passes(lesson):
    cells = [cell for cell in packaged(lesson).cells if cell.role == "exercise"]
    assert cells
    for cell in cells:
        assert refusals(solved(cell)) == (), cell.keys
        assert refusals(cell.stub) == (), cell.keys


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_known_mistake_and_variant_passes(lesson):
    """Mistakes are to be named, not turned away: nobody makes one that the rules refuse."""
    for exercise in lesson_exercises(lesson):
        for answer in (*exercise.variants, *(mistake.answer for mistake in exercise.misconceptions)):
            if not answer.__module__.startswith("fp8lab.course"):  # FP8KVCacheSim, which is no learner's
                continue
            try:
                source = inspect.cleandoc("\n" + inspect.getsource(answer))
            except (OSError, TypeError):  # made by code: a partial, a kernel
                continue
            assert refusals(source) == (), (exercise.key, source)


def test_names_are_given_once_and_as_a_reader_would_say_them():
    assert refusals("import gc\nimport gc\nx = gc.get_objects()") == ("import gc", "gc.get_objects")


def from_cell(source: str, name: str, file: str = "/tmp/ipykernel_12/34.py"):
    """What a cell with this source defines by that name, as IPython leaves it."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict = {}
    exec(compile(source, file, "exec"), space)
    return space[name]


FIELDS = (
    "import sys\ndef fields(byte):\n" + inspect.getsource(lesson_exercises("01_decode")[0].reference).split("\n", 1)[1]
)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_learners_check_warns_of_what_will_not_be_graded(lang):
    check, reference = Check(lang, Progress(None)), lesson_exercises("01_decode")[0].reference
    space = dict(reference.__globals__)
    linecache.cache.pop("/tmp/ipykernel_12/34.py", None)
    answer = from_cell(FIELDS, "fields")
    answer.__globals__.update({name: value for name, value in space.items() if not name.startswith("__")})
    shown = check("1.1", answer)
    assert shown.state == "right" and "`import sys`" in shown.lines[-1]
    assert "import sys" not in repr(check("1.1", reference))


def test_a_class_is_judged_by_its_cell_and_a_file_is_no_cell():
    source = "import gc\nclass A:\n    def f(self): pass\n"
    assert refused_in(from_cell(source, "A")) == ("import gc",)
    assert refused_in(from_cell(source, "A", "/home/me/mine.py")) == ()
