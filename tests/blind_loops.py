"""Blind attacks on 1.5, 2.5 and 4.8: a Python loop where none may be, and the counting that does not see it."""

from __future__ import annotations

from blind_notebooks import FIELDS, cells

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
