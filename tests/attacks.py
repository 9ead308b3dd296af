"""Ways to get marks without answers, or to spoil the batch, on top of garbage answers. Each must end with 0 points.

ATTACKS: name -> code for the top of the first exercise cell, which runs before anything is driven. The rest are
functions that work on the whole notebook.
"""

from __future__ import annotations

from submissions import GARBAGE, Notebook, source

ATTACKS = {
    "showtraceback silenced": "get_ipython().showtraceback = lambda *a, **k: None",
    "asserts deleted by a transformer": """
import ast
class _Gone(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
get_ipython().ast_transformers.append(_Gone())
get_ipython().input_transformers_post.append(lambda lines: [line.replace("assert", "0,") for line in lines])
""",
    "numpy and torch testing patched": """
import numpy.testing, torch
_yes = lambda *a, **k: True
numpy.testing.assert_allclose = numpy.testing.assert_array_equal = numpy.testing.assert_equal = _yes
numpy.allclose = numpy.array_equal = torch.allclose = torch.equal = torch.testing.assert_close = _yes
""",
    "fp8lab overwritten in sys.modules": """
import sys, types
for _name in [name for name in sys.modules if name.split(".")[0] == "fp8lab"]:
    sys.modules[_name] = types.ModuleType(_name)
""",
    "drive replaced by one that says right": """
import sys
sys.modules["fp8lab.course.drive"].gather = lambda *a, **k: "right"
_shell = get_ipython()
_shell.fp8lab_drive = lambda key, ns, seed, nonce: _shell.display_pub.publish(
    {"application/vnd.fp8lab.evidence+json": {"nonce": nonce, "evidence": {"key": key, "state": "right"}}})
""",
    "arrays forged with the right nonce": """
_shell = get_ipython()
def _forged(key, ns, seed, nonce):
    evidence = {"key": key, "state": "arrays", "arrays": {}, "blocked_by": None, "error": None}
    _shell.display_pub.publish({"application/vnd.fp8lab.evidence+json": {"nonce": nonce, "evidence": evidence}})
_shell.fp8lab_drive = _forged
""",
    "two pieces of evidence": """
_shell = get_ipython()
_true = _shell.fp8lab_drive
def _twice(*args):
    _true(*args); _true(*args)
_shell.fp8lab_drive = _twice
""",
    "evidence printed by an exercise cell": """
from IPython.display import display
for _key in ("1.1", "1.4"):
    _evidence = {"nonce": "", "evidence": {"key": _key, "state": "right"}}
    display({"application/vnd.fp8lab.evidence+json": _evidence}, raw=True)
""",
    "publisher patched": """
_shell = get_ipython()
_publish = _shell.display_pub.publish
_shell.display_pub.publish = lambda data=None, *a, **k: _publish({"text/plain": "passed"})
type(_shell.display_pub).publish = lambda self, data=None, *a, **k: None
""",
    "hook that rewrites the driver cell": """
def _hook(info):
    info.raw_cell = "pass"
get_ipython().events.register("pre_run_cell", _hook)
_gone = lambda lines: ["pass\\n"] if "fp8lab_drive" in "".join(lines) else lines
get_ipython().input_transformers_cleanup.append(_gone)
""",
    "driver cell raises SystemExit": """
get_ipython().fp8lab_drive = lambda *a: exit(0)
""",
    "hard exit": "import os; os._exit(0)",
    "hard exit when driven": "import os\ndef _exit(*a): os._exit(0)\nget_ipython().fp8lab_drive = _exit",
    "killed by its own signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "endless loop": "while True: pass",
    "loop that ignores SIGINT": """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    try:
        while True: pass
    except BaseException: pass
""",
    "60 MB printed": "print('x' * 60_000_000)",
    "60 MB written to descriptor 1": "import os\nfor _ in range(60): os.write(1, b'x' * 1_000_000)",
    "message without end": """
for _ in range(40): get_ipython().display_pub.publish({"text/plain": "x" * 4_000_000})
""",
    "check replaced": "check = lambda *a, **k: True",
    "stdin asked": "input('how many points?')",
    "thread that sends evidence": """
import threading, time
_shell = get_ipython()
def _send():
    while True:
        _shell.display_pub.publish({"application/vnd.fp8lab.evidence+json": {"nonce": "x", "evidence": {}}})
        time.sleep(0.005)
threading.Thread(target=_send, daemon=True).start()
""",
    "exit handler and recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef _f(): _f()\n_f()",
}
EQUAL_TO_EVERYTHING = '''
class _Any(float):
    """Equal to everything, in every comparison, pickled or not."""
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __reduce__(self): return (exec, ("raise SystemExit",))
    __hash__ = None
    def __array__(self, *a, **k): return np.array([self], dtype=object)
'''


def attacked(code: str) -> Notebook:
    """Garbage answers, and the attack at the top of the first exercise cell."""
    notebook = Notebook().garbage()
    return notebook.write("1.1", f"{code.strip()}\n{GARBAGE['1.1']}")


def equal_to_everything() -> Notebook:
    """Answers that are objects which compare equal to whatever they are compared with."""
    notebook = Notebook().garbage()
    notebook.write("1.1", EQUAL_TO_EVERYTHING + "def fields(byte):\n    return _Any(), _Any(), _Any()")
    notebook.write("1.2", "def normal_value(sign, exponent, mantissa):\n    return _Any()")
    notebook.write("1.4", "def decode_byte(byte):\n    return _Any()")
    return notebook.write("1.6", "class _Name(str):\n    __eq__ = lambda s, o: True\n\ndef classify(b): return _Name()")


def checks_deleted_and_silenced() -> Notebook:
    """The classic: no checks left, and no exception is ever shown."""
    notebook = attacked("get_ipython().showtraceback = lambda *a, **k: None")
    return notebook.delete_checks()


def skip_comments() -> Notebook:
    """nbval's own control comments and tags, everywhere."""
    notebook = Notebook().garbage()
    for cell in notebook.cells:
        if source(cell).startswith("# exercise"):
            cell["source"] = source(cell) + "\n# NBVAL_SKIP\n# NBVAL_IGNORE_OUTPUT\n# NBVAL_RAISES_EXCEPTION"
            cell["metadata"]["tags"] = ["nbval-skip", "raises-exception", "skip-execution"]
    return notebook


def reference_read(package: str) -> Notebook:
    """1.4 answered with the reference, from wherever it lies, by another Python; garbage where it cannot be had."""
    return (
        Notebook()
        .garbage()
        .write(
            "1.4",
            f"""
import json, pathlib, subprocess, sys
def decode_byte(byte): return 0.0
_code = (
    "import json, sys; sys.path.insert(0, sys.argv[1])\\n"
    "from fp8lab.course.lessons.l01_decode.answers_bytes import decode_byte\\n"
    "print(json.dumps([decode_byte(b) for b in range(256)]))"
)
for _file in pathlib.Path({package!r}).rglob("answers_bytes.py"):
    _said = subprocess.run([sys.executable, "-c", _code, str(_file.parents[4])], capture_output=True).stdout
    _table = json.loads(_said)
    decode_byte = lambda byte: _table[byte]
""".strip(),
        )
    )


BUILT_NAMES = {  # ways to fp8lab's own numbers that name neither the module nor the way; `value` is theirs then
    "importlib": """
value = getattr(getattr(importlib, "import" + "_module")("fp8" + "lab.formats"), "va" + "lue")""",
    "__import__": """
value = __builtins__["__imp" + "ort__"]("fp8" + "lab.formats", fromlist=["x"]).value if isinstance(__builtins__, dict) \
    else getattr(__builtins__, "__imp" + "ort__")("fp8" + "lab.formats", fromlist=["x"]).value""",
    "pkgutil": "import pkgutil\nvalue = pkgutil.resolve_name('fp8' + 'lab.formats:value')",
    "pydoc": "import pydoc\nvalue = pydoc.locate('fp8' + 'lab.formats.value')",
    "lookup": "import fp8lab as course\nvalue = getattr(course, 'get_' + 'format')('E4M3FN') and course.formats.value",
    "modules": "value = getattr(sys, 'mod' + 'ules')['fp8' + 'lab.formats'].value",
    "driving": """
value = [d for d in importlib.import_module("fp8" + "lab.course.lessons.l01_decode.planted").known_faults()][0]
value = value.decode""",
    "file": """
import glob
_file = next(f for p in sys.path for f in glob.glob(p + "/fp8" + "lab/formats.py"))
_space = {"__name__": "formats"}
eval(compile(open(_file).read(), "x", "ex" + "ec"), _space)
value = _space["value"]""",
    "descriptor": """
import glob, os
_folder = next(f for p in sys.path for f in glob.glob(p + "/fp8" + "lab"))
os.chdir(_folder)
_space = {"__name__": "formats"}
eval(compile(open("formats.py").read(), "x", "ex" + "ec"), _space)
value = _space["value"]""",
}


def by_a_built_name(way: str) -> Notebook:
    """1.2 and 1.4 answered with what fp8lab knows, if `way` leads there; else garbage."""
    own = "\n".join(f"    {line}" for line in way.strip().splitlines())
    code = f"import sys, importlib\ntry:\n{own}\nexcept Exception:\n    value = lambda code: 0.0"
    notebook = Notebook().garbage()
    notebook.write("1.2", f"{code}\ndef normal_value(s, e, m):\n    return value(s << 7 | e << 3 | m)")
    return notebook.write("1.4", f"{code}\ndef decode_byte(byte):\n    return value(byte)")
