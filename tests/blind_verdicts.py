"""Blind attacks on the verdict: answers and facts that lie about in the kernel, or once did."""

from __future__ import annotations

import math
import operator
from pathlib import Path
from typing import Any

import numpy as np
from blind_notebooks import FIELDS, HONEST, attack, cells, notebook, write

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
