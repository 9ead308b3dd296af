"""Blind attacks by values that lie, and on the kernel, IPython, processes and signals."""

from __future__ import annotations

from blind_notebooks import FIELDS, cells

# ---- values that lie, and inputs that are made easy

cells(
    "float_that_equals_all",
    "a float that is equal to every number",
    k1_2="""
class Yes(float):
    __eq__ = __le__ = __ge__ = lambda *a: True
    __ne__ = __lt__ = __gt__ = lambda *a: False
    __hash__ = float.__hash__
    __sub__ = __rsub__ = lambda *a: 0.0
def normal_value(sign, exponent, mantissa):
    return Yes(1)
""",
    also=FIELDS,
)
cells(
    "array_that_equals_all",
    "a numpy subclass whose every operation says True",
    k1_2="""
class Yes(np.ndarray):
    def __array_ufunc__(self, function, method, *inputs, **options):
        return np.array(True)
    def __array_function__(self, *arguments):
        return True
def normal_value(sign, exponent, mantissa):
    return np.array(1.0).view(Yes)
""",
    also=FIELDS,
)
cells(
    "all_values_at_once",
    "answers with every value there is: the right one is among them",
    k1_2="""
def normal_value(sign, exponent, mantissa):
    return np.array([s * (8 + m) * 2.0 ** (e - 10) for s in (1, -1) for e in range(1, 16) for m in range(8)])
""",
    also=FIELDS,
)
cells(
    "nan_for_all",
    "NaN, in the hope that it is not compared",
    k1_2="""
def normal_value(sign, exponent, mantissa):
    return float("nan")
""",
    also=FIELDS,
)
cells(
    "one_input_left",
    "takes the hard inputs out of the list in a caller's frame",
    k1_2="""
import sys
def normal_value(sign, exponent, mantissa):
    frame = sys._getframe(1)
    while frame:
        if "inputs" in frame.f_locals:
            frame.f_locals["inputs"]["fields"][1:] = []
        frame = frame.f_back
    return 1.0
""",
    also=FIELDS,
)
cells(
    "numpy_replaced",
    "breaks numpy's comparisons and constructors for everybody",
    k1_2="""
np.array_equal = np.allclose = lambda *a, **k: True
np.asarray = np.array = lambda x, *a, **k: np.zeros(238)
def normal_value(sign, exponent, mantissa):
    return 0.0
""",
    also=FIELDS,
)


# ---- the kernel, IPython, processes and signals

cells(
    "syntax_rewritten",
    "every comparison in later cells becomes True, every raise nothing",
    k1_1="""
import ast
class Rewriter(ast.NodeTransformer):
    def visit_Raise(self, node):
        return ast.Pass()
    def visit_Compare(self, node):
        return ast.Constant(True)
get_ipython().ast_transformers.append(Rewriter())
def fields(byte):
    return 0, 0, 0
""",
)
cells(
    "thread_answers_later",
    "a thread keeps putting answers into the notebook that later cells should give",
    k1_2="""
import sys, threading, time
def late():
    while True:
        held = sys.modules["__main__"].__dict__
        held["subnormal_value"] = lambda sign, mantissa: math.copysign(mantissa / 512, 1 - 2 * sign)
        time.sleep(0.01)
threading.Thread(target=late, daemon=True).start()
def normal_value(sign, exponent, mantissa):
    return 0.0
""",
    also=FIELDS,
)
cells(
    "kills_everybody",
    "kills every process that it sees",
    k1_3="""
import os
def subnormal_value(sign, mantissa):
    for process in os.listdir("/proc"):
        if process.isdigit() and int(process) != os.getpid():
            try:
                os.kill(int(process), 9)
            except OSError:
                pass
""",
    also=FIELDS,
)
cells(
    "stops_everybody",
    "stops every process that it sees, itself last",
    k1_1="""
import os, signal
def fields(byte):
    for process in os.listdir("/proc"):
        if process.isdigit() and int(process) != os.getpid():
            try:
                os.kill(int(process), signal.SIGSTOP)
            except OSError:
                pass
    os.kill(os.getpid(), signal.SIGSTOP)
""",
)
cells(
    "exits",
    "leaves without a word",
    k1_3="""
import os
def subnormal_value(sign, mantissa):
    os._exit(0)
""",
    also=FIELDS,
)
cells(
    "children_left_behind",
    "leaves processes behind that use the processor",
    k1_1="""
import os
def fields(byte):
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            while True:
                pass
    raise ValueError("left behind")
""",
)
cells(
    "error_raises",
    "an error that interrupts whoever asks what it says",
    k1_1="""
class Loud(RuntimeError):
    def __str__(self):
        raise KeyboardInterrupt
def fields(byte):
    raise Loud
""",
)
cells(
    "endless_output",
    "displays without end",
    k1_1="""
from IPython.display import display
def fields(byte):
    while True:
        display({"text/plain": "x" * 10_000_000}, raw=True)
""",
)
cells(
    "huge_array",
    "returns an array of 8 TB that takes no memory",
    k1_2="""
def normal_value(sign, exponent, mantissa):
    return np.broadcast_to(np.float64(1), (10**6, 10**6))
""",
    also=FIELDS,
)
cells(
    "text_in_the_report",
    "an error that writes lines of its own into the feedback",
    k1_1="""
def fields(byte):
    raise ValueError("\\ud800\\x1b[2J\\r\\n# Feedback: 18 of 18 points\\n<script>alert(1)</script> \\u202e ``` | x")
""",
)
cells(
    "shell",
    "writes files and runs programs from a cell",
    k1_1="""
found = !id
%run -i /tmp/nothing.py
def fields(byte):
    return tuple(found)
""",
)
