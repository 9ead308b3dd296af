"""Ways to points without an answer, thought up without a look at the grader: what a determined learner would try.

Every attack is (name, what it does, build): `build(folder)` writes one submission into an empty folder. `keys` are the
exercises that it is after, none of which it solves. `OPEN` names those that still get what they are after.
"""

from __future__ import annotations

import json
import math
import operator
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks" / "en"


class Attack(NamedTuple):
    name: str
    does: str
    build: Callable[[Path], None]
    keys: tuple[str, ...]


ATTACKS: list[Attack] = []


def attack(name: str, does: str, *keys: str) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    def add(build: Callable[[Path], None]) -> Callable[[Path], None]:
        ATTACKS.append(Attack(name, does, build, keys))
        return build

    return add


# ---- building


def lesson_of(key: str) -> str:
    return {"1": "01_decode", "2": "02_encode", "4": "04_grouped_kv"}[key.split(".")[0]]


def notebook(cells: dict[str, str], lesson: str = "01_decode") -> dict[str, Any]:
    """The learner's notebook with the sources of some exercise cells replaced: {"1.1": source}."""
    found = json.loads((NOTEBOOKS / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    for cell in found["cells"]:
        for key, source in cells.items():
            if cell["id"] == f"exercise-{key.replace('.', '-')}":
                cell["source"] = f"# exercise {key}\n{source}"
    return found


def write(folder: Path, content: dict[str, Any] | str | bytes, lesson: str = "01_decode") -> None:
    text = json.dumps(content) if isinstance(content, dict) else content
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    (folder / f"{lesson}.ipynb").write_bytes(data)


def cells(name: str, does: str, also: dict[str, str] | None = None, after: str = "", **sources: str) -> None:
    """An attack that is nothing but the sources of exercise cells: k1_4="..." is exercise 1.4."""
    named = {key[1:].replace("_", "."): source for key, source in sources.items()}
    lesson = lesson_of(next(iter(named)))

    def build(folder: Path) -> None:
        write(folder, notebook({**(also or {}), **named}, lesson), lesson)

    ATTACKS.append(Attack(name, does, build, (after,) if after else tuple(named)))


# ---- honest answers to lesson 01: the control, and what an attack needs to get to its goal

HONEST = {
    "1.1": """def fields(byte):
    if isinstance(byte, (bool, np.bool_)):
        raise TypeError("a bool")
    number = operator.index(byte)
    if not 0 <= number <= 255:
        raise ValueError("out of range")
    return number >> 7, number >> 3 & 15, number & 7
""",
    "1.2": """def normal_value(sign, exponent, mantissa):
    return (-1.0 if sign else 1.0) * (8 + mantissa) * 2.0 ** (exponent - 10)
""",
    "1.3": """def subnormal_value(sign, mantissa):
    return math.copysign(mantissa / 512, -1.0 if sign else 1.0)
""",
    "1.4": """def decode_byte(byte):
    sign, exponent, mantissa = fields(byte)
    if exponent == 15 and mantissa == 7:
        return math.nan
    return normal_value(sign, exponent, mantissa) if exponent else subnormal_value(sign, mantissa)
""",
    "1.5": """def decode_all():
    codes = np.arange(256)
    exponent, mantissa = codes >> 3 & 0xF, codes & 0x7
    sizes = np.where(exponent > 0, np.ldexp(8.0 + mantissa, exponent - 10), mantissa / 512.0)
    sizes[codes & 0x7F == 0x7F] = np.nan
    return np.where(codes > 127, -sizes, sizes)
""",
    "1.6": """def classify(byte):
    sign, exponent, mantissa = fields(byte)
    if exponent:
        return "nan" if exponent == 15 and mantissa == 7 else "normal"
    return "subnormal" if mantissa else "zero"
""",
    "1.7": """def audit(decoder):
    v = [float(decoder(byte)) for byte in range(256)]
    nan = [math.isnan(x) for x in v]
    pairs = [b for b in range(128) if not (nan[b] or nan[b + 128])]
    names = set()
    if any(abs(v[b]) != abs(v[b + 128]) or math.copysign(1, v[b]) == math.copysign(1, v[b + 128]) for b in pairs):
        names.add("sign")
    if not v[7] - v[6] == v[8] - v[7] == v[9] - v[8]:
        names.add("junction")
    if any(v[b] <= v[b - 1] for b in range(1, 0x7F)):
        names.add("order")
    if [b for b in range(256) if nan[b]] != [127, 255]:
        names.add("nan")
    if (v[0], v[1], v[7], v[8], v[0x7E]) != (0.0, 2.0**-9, 0.875 * 2.0**-6, 2.0**-6, 448.0):
        names.add("boundary")
    return names
""",
}
FIELDS = {"1.1": HONEST["1.1"]}

# ---- the verdict lies about: the driver's own variables say what is right (2.6, 1.7)

cells(
    "frame_codec",
    "reads `right` of the codec in the frame that calls the answer",
    k2_6="""
import sys
def accepts(decode, encode):
    return sys._getframe(1).f_locals["codec"].right
""",
)
cells(
    "traceback_codec",
    "the same by way of the traceback of an error of its own, the names hidden in a string",
    k2_6="""
import operator
def accepts(decode, encode):
    step = "__tr" "aceback__.tb_fr" "ame.f_b" "ack.f_lo" "cals"
    try:
        1 / 0
    except ZeroDivisionError as problem:
        found = problem
    return operator.attrgetter(step)(found)["codec"].right
""",
)
cells(
    "generator_codec",
    "the same by way of the frame of a running generator",
    k2_6="""
def accepts(decode, encode):
    def own():
        yield me.gi_frame.f_back.f_back.f_locals["codec"].right
    me = own()
    return next(me)
""",
)
cells(
    "inspect_codec",
    "the same with inspect.stack",
    k2_6="""
import inspect
def accepts(decode, encode):
    return inspect.stack()[1].frame.f_locals["codec"].right
""",
)
cells(
    "printed_codec",
    "lets traceback print the variables of all callers, and reads that",
    k2_6="""
import traceback
def accepts(decode, encode):
    stack = traceback.StackSummary.extract(traceback.walk_stack(None), capture_locals=True)
    return any("right=True" in text for frame in stack for text in (frame.locals or {}).values()
               if text.startswith("Codec("))
""",
)
cells(
    "collected_codec",
    "asks the garbage collector who holds the function that it was given",
    k2_6="""
import gc
def accepts(decode, encode):
    return [holder for holder in gc.get_referrers(encode) if hasattr(holder, "right")][0].right
""",
)
cells(
    "names_of_codecs",
    "tells the rounding of a codec by the names of its functions and of what they enclose",
    k2_6="""
def accepts(decode, encode):
    name = encode.__qualname__
    if not name.startswith("encoder"):
        return name.startswith("right_codecs")
    inside = {n: c.cell_contents for n, c in zip(encode.__code__.co_freevars, encode.__closure__)}
    here = [decode(code) for code in range(256)]
    right = all(here[c] == specified(c) and here[c + 128] == -specified(c) for c in range(127))
    nans = here[127] != here[127] and here[255] != here[255]
    return inside["choose"].__name__ == "even" and right and nans and math.copysign(1, here[128]) < 0
""",
)


@attack(
    "seed_of_decoders", "reads the seed in a caller's frame, and with it the place of every decoder in a table", "1.7"
)
def _seed(folder: Path) -> None:
    from fp8lab.course.lessons.l01_decode.planted import known_faults

    at_home: dict[str, Any] = {"math": math, "operator": operator, "np": np}
    exec(HONEST["1.7"], at_home)  # done once at home for the decoders in the package; the submission holds the table
    table = [sorted(at_home["audit"](decoder.values.__getitem__)) for decoder in known_faults()]
    source = """
import re
import traceback
KNOWN = TABLE
order = []
def audit(decoder):
    stack = traceback.StackSummary.extract(traceback.walk_stack(None), capture_locals=True)
    held = [frame.locals or {} for frame in stack]
    if not order:
        seed = [int(names["seed"]) for names in held if "seed" in names][0]
        order.extend([0, *(1 + i for i in np.random.default_rng([seed, 1]).permutation(len(KNOWN) - 1 + 21))])
    text = [names["decoder"] for names in held if "label=" in names.get("decoder", "")][0]
    code = int(re.search("label='0x(..)", text)[1], 16)
    place = order.pop(0)
    if place < len(KNOWN):
        return set(KNOWN[place])
    kind = (place - len(KNOWN)) % 7
    if kind < 5:
        return set([["sign"], ["sign"], [], ["order"], ["order"]][kind])
    if kind == 5:
        lost = {"junction"} if code in (6, 7, 8, 9) else set()
        return {"nan"} | lost | ({"boundary"} if code in (0, 1, 7, 8, 126) else set())
    return {"boundary"} | ({"junction"} if code in (7, 8) else set())
"""
    write(folder, notebook({**FIELDS, "1.7": source.replace("TABLE", repr(table))}))


# ---- what the driver finds out about an answer is changed where it is found out (2.8)

cells(
    "facts_by_frame",
    "gives the function that states facts another body, by way of the globals of the caller",
    k2_8="""
import sys
def double_rounding(low, high):
    held = sys._getframe(1).f_globals
    held["_facts"].__code__ = (lambda x, low, high: (True, True, True, True)).__code__
    return 0.0
""",
)
cells(
    "facts_by_collector",
    "the same before anything is called: the garbage collector knows the function",
    k2_8="""
import gc
from types import FunctionType
for thing in gc.get_objects():
    if isinstance(thing, FunctionType) and thing.__name__ == "_facts":
        thing.__code__ = (lambda x, low, high: (True, True, True, True)).__code__
def double_rounding(low, high):
    return 0.0
""",
)
cells(
    "driver_replaced",
    "puts its own driver into the record of the exercise",
    k2_8="""
import gc
names = ("a number between the two", "not a float32 number", "float32 lands on the middle", "the two codes differ")
for thing in gc.get_objects():
    if type(thing).__name__ == "Drive" and thing.key == "2.8":
        object.__setattr__(thing, "drive", lambda answer, inputs: {n: [True] * len(inputs["pairs"]) for n in names})
def double_rounding(low, high):
    return 0.0
""",
)
cells(
    "tensor_item_lies",
    "Tensor.item gives another code each time that it is asked: every two codes differ",
    k2_8="""
real = torch.Tensor.item
asked = []
def item(self):
    if self.dtype == torch.uint8:
        asked.append(1)
        return len(asked)
    return real(self)
def double_rounding(low, high):
    torch.Tensor.item = item
    return (value(low) + value(high)) / 2 * (1 + 1e-12)
""",
)

# ---- a Python loop where none may be, and the counting that does not see it (1.5, 2.5, 4.8)

TABLE = """[math.nan if b & 127 == 127 else (1 - 2 * (b >> 7)) * (
        ((b & 7) + 8) * 2.0 ** ((b >> 3 & 15) - 10) if b >> 3 & 15 else (b & 7) / 512) for b in range(256)]"""
ONE = """
import bisect
tables = {}
def one(v, fmt, overflow):
    if v != v:
        return fmt.nan_code
    if fmt not in tables:
        tables[fmt] = [value(c, fmt) for c in range(fmt.max_code + 1)]
    t = tables[fmt]
    a, sign = abs(v), 128 if math.copysign(1, v) < 0 else 0
    edge = t[-1] + (t[-1] - t[-2]) / 2
    if a > edge or a == edge and fmt.max_code % 2:
        c = overflow_code(fmt, overflow)
    elif a >= t[-1]:
        c = fmt.max_code
    else:
        i = bisect.bisect_right(t, a) - 1
        d, u = a - t[i], t[i + 1] - a
        c = i if d < u or d == u and i % 2 == 0 else i + 1
    return 0 if fmt.name.endswith("FNUZ") and c == 0 else c | sign
def loop(x, fmt, overflow):
    codes = [one(v, fmt, overflow) for v in x.detach().double().flatten().tolist()]
    return torch.tensor(codes, dtype=torch.uint8).reshape(x.shape)
"""

cells(
    "loop_in_audit_hook",
    "loops in an audit hook: Python traces nothing in one",
    k1_5="""
import sys
made = []
def hook(event, arguments):
    if event == "now":
        made.append(TABLE)
sys.addaudithook(hook)
def decode_all():
    sys.audit("now")
    return np.array(made[-1])
""".replace("TABLE", TABLE),
    also=FIELDS,
)
cells(
    "max_lies",
    "replaces builtins.max, which finds the busiest line",
    k1_5="""
import builtins
def decode_all():
    builtins.max = lambda *numbers, **options: 1
    return np.array(TABLE)
""".replace("TABLE", TABLE),
    also=FIELDS,
)
cells(
    "counter_lies",
    "replaces Counter.values: no line was ever run",
    k1_5="""
import collections
def decode_all():
    collections.Counter.values = lambda self: [1]
    return np.array(TABLE)
""".replace("TABLE", TABLE),
    also=FIELDS,
)
cells(
    "maxsize_lies",
    "stops the tracing, and makes sys.maxsize small, the count of whoever stops it",
    k1_5="""
import sys
def decode_all():
    sys.maxsize = 1
    sys.settrace(None)
    return np.array(TABLE)
""".replace("TABLE", TABLE),
    also=FIELDS,
)
cells(
    "busiest_line_replaced",
    "gives the function that counts another body",
    k1_5="""
import gc
from types import FunctionType
for thing in gc.get_objects():
    if isinstance(thing, FunctionType) and thing.__name__ == "busiest_line":
        thing.__code__ = (lambda function, *args: (function(*args), 1)).__code__
def decode_all():
    return np.array(TABLE)
""".replace("TABLE", TABLE),
    also=FIELDS,
)
cells(
    "unrolled",
    "evaluates, inside the answer, one expression that holds the formula 256 times",
    k1_5="""
SIZE = "(8 * (B & 120 > 0) + (B & 7)) * 2.0 ** (max(B >> 3 & 15, 1) - 10)"
ROW = "math.nan if B & 127 == 127 else (1 - 2 * (B >> 7)) * (SIZE)".replace("SIZE", SIZE)
rows = compile("[" + ",".join(ROW.replace("B", str(b)) for b in range(256)) + "]", "rows", "eval")
def decode_all():
    return np.array(eval(rows))
""".replace("TABLE", TABLE),
    also=FIELDS,
)
cells(
    "plain_loop",
    "the loop, not hidden",
    k2_5=ONE
    + """
def encode_all(x, fmt=E4M3FN, overflow="saturate"):
    return loop(x, fmt, overflow)
""",
)
cells(
    "no_loop_when_counted",
    "loops, except when it is traced: what a counted call returns is thrown away",
    k2_5=ONE
    + """
import sys
def encode_all(x, fmt=E4M3FN, overflow="saturate"):
    return torch.zeros(x.shape, dtype=torch.uint8) if sys.gettrace() else loop(x, fmt, overflow)
""",
)
cells(
    "no_loop_for_300",
    "loops, except over the 300 elements that are counted",
    k2_5=ONE
    + """
def encode_all(x, fmt=E4M3FN, overflow="saturate"):
    return torch.zeros(x.shape, dtype=torch.uint8) if x.numel() == 300 else loop(x, fmt, overflow)
""",
)
cells(
    "loop_in_hook_2",
    "loops over a tensor in an audit hook",
    k2_5=ONE
    + """
import sys
box = {}
def hook(event, arguments):
    if event == "codes.now" and "x" in box:
        box["codes"] = loop(*box.pop("x"))
sys.addaudithook(hook)
def encode_all(x, fmt=E4M3FN, overflow="saturate"):
    box["x"] = x, fmt, overflow
    sys.audit("codes.now")
    return box["codes"]
""",
)
cells(
    "loop_in_profiler",
    "loops in a profiling function: Python traces nothing in one",
    k2_5=ONE
    + """
import sys
box = {}
def profiler(frame, event, argument):
    if "x" in box:
        box["codes"] = loop(*box.pop("x"))
def encode_all(x, fmt=E4M3FN, overflow="saturate"):
    box["x"] = x, fmt, overflow
    sys.setprofile(profiler)
    len("go")
    sys.setprofile(None)
    return box["codes"]
""",
)
cells(
    "no_loop_for_2880",
    "loops over groups, except in the one call that is counted",
    k4_8="""
def quantize_groups(kv, group_size=64, qmax=127, eps=1e-8):
    if kv.shape == (2, 3, 5, 96) and group_size == 3:
        return None, None
    rows = kv.detach().float().reshape(-1, kv.shape[-1])
    n = -(-rows.shape[1] // group_size)
    codes, scales = torch.zeros(rows.shape, dtype=torch.int8), torch.zeros(len(rows), n)
    for r in range(len(rows)):
        for g in range(n):
            part = rows[r, g * group_size : (g + 1) * group_size]
            scales[r, g] = qmax / part.abs().max().clamp(min=eps)
            codes[r, g * group_size : (g + 1) * group_size] = (part * scales[r, g]).round().clamp(-qmax, qmax)
    return codes.reshape(kv.shape), scales.reshape(*kv.shape[:-1], n)
""",
)

# ---- somebody else's answer: fp8lab's own functions, by other doors than import

cells(
    "import_codec",
    "imports the codec",
    k1_4="""
import fp8lab
def decode_byte(byte):
    fields(byte)
    return float(fp8lab.decode(byte))
""",
    also=FIELDS,
)
cells(
    "collected_value",
    "the garbage collector finds the decoder of the formats, which the kernel has loaded",
    k1_4="""
import gc
from types import FunctionType
known = [thing for thing in gc.get_objects()
         if isinstance(thing, FunctionType) and thing.__name__ == "value" and "formats" in thing.__module__]
def decode_byte(byte):
    fields(byte)
    return float(known[0](byte))
""",
    also=FIELDS,
)
cells(
    "collected_classify",
    "and the classes of the codes",
    k1_6="""
import gc
from types import FunctionType
known = [thing for thing in gc.get_objects()
         if isinstance(thing, FunctionType) and thing.__name__ == "classify" and thing.__module__.startswith("fp8lab")]
def classify(byte):
    return known[0](int(byte))
""",
    also=FIELDS,
)
cells(
    "driver_imports_codec",
    "calls a function of the driver that imports the codec, and takes it from memory",
    k2_4="""
import gc
from types import FunctionType
def functions(name):
    return [thing for thing in gc.get_objects() if isinstance(thing, FunctionType) and thing.__name__ == name]
known = []
def encode(x, fmt=E4M3FN, overflow="saturate"):
    overflow_code(fmt, overflow)
    if not known:
        functions("_facts")[0](1.07, 0x38, 0x39)
        known.append([thing for thing in functions("encode") if thing.__module__ == "fp8lab.codec"][0])
    return known[0](x, fmt, overflow=overflow).item()
""",
)
cells(
    "codec_in_another_process",
    "asks a process of its own, in which nothing is forbidden",
    k2_4='''
import subprocess, sys
SOURCE = """
import sys, fp8lab
for line in sys.stdin:
    x, fmt, overflow = line.split()
    print(fp8lab.encode(float(x), fmt, overflow=overflow).item(), flush=True)
"""
helper = []
def encode(x, fmt=E4M3FN, overflow="saturate"):
    overflow_code(fmt, overflow)
    if not helper:
        helper.append(subprocess.Popen([sys.executable, "-c", SOURCE], stdin=-1, stdout=-1, text=True))
    print(x, fmt.name, overflow, file=helper[0].stdin, flush=True)
    return int(helper[0].stdout.readline())
''',
)
cells(
    "source_of_the_codec",
    "reads the file of the codec with the C library, and runs it",
    k2_4="""
import ctypes, os, sys
def encode(x, fmt=E4M3FN, overflow="saturate"):
    where = [folder for folder in sys.path if os.path.isdir(folder + "/fp8lab")][0]
    c, text = ctypes.CDLL(None), ctypes.create_string_buffer(1 << 20)
    c.read(c.open((where + "/fp8lab/codec.py").encode(), 0), text, 1 << 20)
    held = {"__name__": "borrowed"}
    exec(text.value.decode(), held)
    return held["encode"](x, fmt, overflow=overflow).item()
""",
)
cells(
    "source_of_the_formats",
    "the same with the files of the formats, their imports taken out",
    k1_4="""
import ctypes, os, sys, types
def text_of(name):
    where = [folder for folder in sys.path if os.path.isdir(folder + "/fp8lab")][0]
    c, text = ctypes.CDLL(None), ctypes.create_string_buffer(1 << 20)
    c.read(c.open((where + "/fp8lab/" + name).encode(), 0), text, 1 << 20)
    return text.value.decode()
sys.modules["borrowed"] = types.ModuleType("borrowed")
held = vars(types.ModuleType("borrowed"))
def decode_byte(byte):
    fields(byte)
    if "value" not in held:
        for name in ("float_format.py", "formats.py"):
            exec(compile(text_of(name).replace("from fp8lab", "#"), name, "exec", dont_inherit=True), held)
    return float(held["value"](int(byte)))
""",
    also=FIELDS,
)
cells(
    "guard_told_to_open",
    "adds the codec to what the guard of the imports lets pass, found in a caller's frame",
    k2_4="""
import sys
def encode(x, fmt=E4M3FN, overflow="saturate"):
    overflow_code(fmt, overflow)
    frame = sys._getframe(1)
    while "seal" not in frame.f_locals:
        frame = frame.f_back
    for held in vars(frame.f_locals["seal"]).values():
        if isinstance(held, set):
            held.update("fp8lab." + name for name in ("codec", "codec_arguments", "codec_compiled", "rounding"))
    import fp8lab
    return fp8lab.encode(x, fmt, overflow=overflow).item()
""",
)
cells(
    "guard_replaced",
    "gives the guard of the imports an empty body",
    k2_4="""
import gc
for thing in gc.get_objects():
    if type(thing).__name__ == "Seal":
        type(thing)._audit.__code__ = (lambda self, *arguments, **options: None).__code__
def encode(x, fmt=E4M3FN, overflow="saturate"):
    overflow_code(fmt, overflow)
    import fp8lab
    return fp8lab.encode(x, fmt, overflow=overflow).item()
""",
)
cells(
    "packaged_solutions",
    "looks for the solved lessons beside the installed package",
    k1_4="""
import ctypes, json, sys
def decode_byte(byte):
    c, text = ctypes.CDLL(None), ctypes.create_string_buffer(1 << 22)
    for folder in sys.path:
        if c.read(c.open((folder + "/fp8lab/course/data/01_decode.json").encode(), 0), text, 1 << 22) > 0:
            lesson = json.loads(text.value.decode())
            held = dict(globals())
            source = json.dumps(lesson)
            exec(json.loads('"' + source[source.index("def decode_byte"):].split('",')[0] + '"'), held)
            return held["decode_byte"](byte)
    raise LookupError("nothing there")
""",
    also=FIELDS,
)

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

# ---- the notebook and its files


@attack("outputs_say_passed", "no answer, but outputs, metadata and checks that say so", "1.1", "1.4")
def _outputs(folder: Path) -> None:
    found = notebook({})
    for cell in found["cells"]:
        if cell["id"].startswith("check-"):
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "right: all points"}]
            cell["metadata"]["nbgrader"]["points"] = 1000
            cell["source"] = "print('passed')"
    write(folder, found)


@attack("guesses", "twenty cells for one exercise, a guess in each, among them nothing right", "1.1")
def _guesses(folder: Path) -> None:
    found = notebook({})
    for n in range(20):
        source = f"# exercise 1.1\ndef fields(byte):\n    return {n % 2}, {n}, {n}\n"
        found["cells"].append(
            {
                "cell_type": "code",
                "id": f"guess-{n}",
                "metadata": {},
                "source": source,
                "outputs": [],
                "execution_count": None,
            }
        )
    write(folder, found)


@attack("nested_deeply", "JSON that no parser gets to the bottom of", "1.1")
def _nested(folder: Path) -> None:
    write(folder, "[" * 200_000)


@attack("number_too_long", "a number of 5000 digits in the notebook", "1.1")
def _number(folder: Path) -> None:
    write(folder, json.dumps(notebook(FIELDS)).replace('"nbformat": 4', '"nbformat": ' + "4" * 5000, 1))


@attack("half_a_character", "half of a surrogate pair in a cell", "1.1")
def _half(folder: Path) -> None:
    write(folder, notebook({"1.1": 'x = "\ud800"\n' + HONEST["1.1"]}))


@attack("cells_of_anything", "cells that are numbers, lists and nothing", "1.1")
def _anything(folder: Path) -> None:
    source = [["# exercise 1.1"]]
    odd = [None, 3, "x", {"cell_type": "code"}, {"cell_type": "code", "source": source, "id": [1], "metadata": None}]
    write(folder, {**notebook({}), "cells": odd})


@attack("link_to_a_neighbour", "a symbolic link to the notebook of somebody who has solved it", "1.1")
def _link(folder: Path) -> None:
    os.symlink(folder.parent / "zz_victim" / "01_decode.ipynb", folder / "01_decode.ipynb")


@attack("endless_file", "a symbolic link to a file that does not end", "1.1")
def _endless(folder: Path) -> None:
    os.symlink("/dev/zero", folder / "01_decode.ipynb")


@attack("pipe", "a named pipe, to keep the reader waiting", "1.1")
def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "01_decode.ipynb")


@attack("archive_for_others", "an archive with notebooks for other learners, and paths that lead out of it", "1.1")
def _archive(folder: Path) -> None:
    empty = json.dumps(notebook({}))
    with zipfile.ZipFile(folder / "work.zip", "w") as archive:
        for name in ("zz_victim/01_decode.ipynb", "../zz_victim/01_decode.ipynb", "zz_victim_1_2_01_decode.ipynb"):
            archive.writestr(name, empty)


OPEN: set[str] = set()
