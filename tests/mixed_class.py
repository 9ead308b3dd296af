"""A class as it comes: solved, half done, mistaken, broken, saved by one editor or another. Deterministic from a seed.

for paper in mixed_class(200, LESSONS, seed=1):
    paper.save(folder)                    # folder/s001/01_decode.ipynb
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from learner import filled
from submissions import CRASH, Notebook, as_classic, as_colab, as_modelscope, as_vscode

LESSONS = ("01_decode", "02_encode", "03_scale")
CHECKED = (
    "if isinstance(byte, bool):\n    raise TypeError\n"
    "byte = operator.index(byte)\nif not 0 <= byte <= 255:\n    raise ValueError\n"
)
AS_NORMAL = "return normal_value(sign, exponent, mantissa)"
INFINITE = "if exponent == 15:\n    return math.nan if mantissa else (-math.inf if sign else math.inf)\n"
REST = "if exponent == 0:\n    return subnormal_value(sign, mantissa)\n" + AS_NORMAL
DISTANCES = "low, high = neighbours_of(x, fmt)\nbelow, above = x - value(low, fmt), value(high, fmt) - x\n"
FINITE = "[code for code in range(256) if math.isfinite(value(code, fmt)){}]"
CODE = "code = overflow_code(fmt, overflow) if math.isinf(x) else encode_finite(abs(x), fmt, overflow)\n"
SIGN = "if math.copysign(1.0, x) < 0 and (code != 0 or fmt.has_negative_zero):\n    code |= fmt.sign_mask\nreturn code"

# (exercise, misconception of its record) -> lines for its hole, or for some of its holes by number
MISCONCEPTIONS: dict[tuple[str, str], str | dict[int, str]] = {
    ("1.1", "E5M2 split"): CHECKED + "return byte >> 7, byte >> 2 & 31, byte & 3",
    ("1.1", "nothing is checked"): "return byte >> 7, byte >> 3 & 15, byte & 7",
    ("1.2", "no implicit 1"): "return (-1.0) ** sign * 2.0 ** (exponent - 7) * mantissa / 8",
    ("1.2", "bias 8"): "return (-1.0) ** sign * 2.0 ** (exponent - 8) * (1 + mantissa / 8)",
    ("1.2", "no sign"): "return 2.0 ** (exponent - 7) * (1 + mantissa / 8)",
    ("1.2", "sevenths"): "return (-1.0) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa / 7)",
    ("1.3", "exponent -7"): "return (-1.0) ** sign * mantissa * 2.0**-10",
    ("1.3", "no sign"): "return mantissa * 2.0**-9",
    ("1.3", "flushed to zero"): "return -0.0 if sign else 0.0",
    ("1.4", "IEEE habit"): INFINITE + REST,
    ("1.4", "no NaN"): REST,
    ("1.4", "exponent 0 is nothing special"): f"if byte in (127, 255):\n    return math.nan\n{AS_NORMAL}",
    ("1.6", "every all-ones exponent is NaN"): "if exponent == 15:\n    return 'nan'\n"
    "if exponent:\n    return 'normal'\nreturn 'subnormal' if mantissa else 'zero'",
    ("2.1", "two zeros"): {0: f"return sorted((value(c, fmt), c) for c in {FINITE.format('')})"},
    ("2.2", "truncation"): "low, high = neighbours_of(x, fmt)\nreturn low if x >= 0 else high",
    ("2.2", "floor"): "return neighbours_of(x, fmt)[0]",
    ("2.2", "half up"): DISTANCES + "return low if below < above else high",
    ("2.3", "sign lost"): "gap = fmt.max_finite - value(fmt.max_code - 1, fmt)\nlimit = fmt.max_finite + gap / 2\n"
    "over = abs(x) > limit or (abs(x) == limit and fmt.max_code % 2 == 1)\nreturn beyond if over else nearest(x, fmt)",
    ("2.4", "NaN becomes 0"): "if math.isnan(x):\n    return 0\n" + CODE + SIGN,
    ("2.4", "0x7F for every format"): "if math.isnan(x):\n    return 0x7F\n" + CODE + SIGN,
    ("3.1", "maximum without abs"): "return x.amax().item()",
    ("3.1", "half the range"): "return ((x.amax() - x.amin()) / 2).item()",
    ("3.2", "inverted"): "return absmax / qmax, qmax / absmax, (absmax / qmax) ** 2",
    ("3.3", "floor"): "return torch.floor(x / scale).clamp(-127, 127).to(torch.int8)",
    ("3.3", "truncated by the cast"): "return (x / scale).clamp(-127, 127).to(torch.int8)",
    ("3.3", "multiplied by the scale"): "return torch.round(x * scale).clamp(-127, 127).to(torch.int8)",
    ("3.4", "divided by the scale"): "return codes.float() / scale",
    ("3.8", "FP8 always wins"): "return 'fp8'",
}

# what a learner did with a notebook, and how many of a hundred do
WORK = {
    "solved": 28,
    "partly": 20,
    "misconceptions": 24,
    "untouched": 6,
    "syntax error": 5,
    "deleted cells": 4,
    "exception": 4,
    "renamed": 2,
    "hard exit": 2,
    "loop": 1,
    "cut off": 1,
    "absent": 3,
}
EDITORS: dict[str, int] = {
    "JupyterLab": 60, "Colab": 12, "Colab of 4.5": 4, "VS Code": 12, "ModelScope": 4, "classic": 4, "BOM": 2, "CRLF": 2
}  # fmt: skip
SAVED: dict[str, Callable[[Notebook], Notebook]] = {
    "Colab": as_colab,
    "Colab of 4.5": lambda notebook: as_colab(notebook, upgraded=True),
    "VS Code": as_vscode,
    "ModelScope": as_modelscope,
    "classic": as_classic,
}


@dataclass(frozen=True)
class Paper:
    """What one learner did in one lesson: `work` is a key of WORK, `editor` one of EDITORS. `data` None: nothing."""

    student: str
    lesson: str
    lang: str
    work: str
    editor: str
    data: bytes | None

    def save(self, folder: Path) -> None:
        """Hand it in: `folder`/student/lesson.ipynb."""
        if self.data is not None:
            path = folder / self.student / f"{self.lesson}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.data)


def mixed_class(
    students: int, lessons: tuple[str, ...] = LESSONS, seed: int = 0, *, lang: str | None = None
) -> Iterator[Paper]:
    """The papers of a class. The work of a learner is the same in both languages; by default every third one is zh."""
    for number in range(1, students + 1):
        for lesson in lessons:
            chance = random.Random(f"{seed} {number} {lesson}")
            work, editor = (chance.choices(list(kinds), list(kinds.values()))[0] for kinds in (WORK, EDITORS))
            spoken = lang or ("zh" if number % 3 == 0 else "en")
            data = paper_bytes(lesson, spoken, work, editor, chance, f"s{number:03}")
            yield Paper(f"s{number:03}", lesson, spoken, work, editor, data)


def paper_bytes(lesson: str, lang: str, work: str, editor: str, chance: random.Random, owner: str) -> bytes | None:
    """The file, or None if nothing was handed in. `owner` makes solved notebooks of two learners differ."""
    if work == "absent":
        return None
    notebook = Notebook(lesson, lang)
    notebook.insert(-1, f"notes of {owner}", "markdown")
    _work(notebook, work, chance)
    data = SAVED.get(editor, lambda same: same)(notebook).bytes()
    if editor == "BOM":
        data = b"\xef\xbb\xbf" + data
    if editor == "CRLF":
        data = data.replace(b"\n", b"\r\n")
    return data[: len(data) // 2] if work == "cut off" else data


def _work(notebook: Notebook, work: str, chance: random.Random) -> None:
    keys = notebook.lesson.keys
    if work in ("untouched", "cut off"):
        return
    if work == "partly":
        notebook.solve(*chance.sample(keys, chance.randint(1, len(keys) - 1)))
        return
    notebook.solve()
    key = chance.choice(keys)
    solution = _body(notebook, key)
    if work == "misconceptions":
        mine = [chosen for chosen in MISCONCEPTIONS if chosen[0] in keys]
        for chosen in chance.sample(mine, chance.choice((1, 1, 2, 3))):
            write_misconception(notebook, *chosen)
    elif work == "syntax error":
        notebook.write(key, solution.replace(":", "", 1))
    elif work == "deleted cells":
        for gone in chance.sample(keys, 2):
            del notebook.cells[notebook.index(gone)]
        if chance.random() < 0.5:
            notebook.delete_checks()
    elif work == "exception":
        notebook.write(key, f"values = [1, 2]\nprint(values[2])\n{solution}")
    elif work == "renamed":
        notebook.write(key, solution.replace("def ", "def my_"))
    elif work == "hard exit":
        notebook.write(key, _when_called(solution, CRASH))
    elif work == "loop":
        notebook.write(key, _when_called(solution, "while True: pass"))


def write_misconception(notebook: Notebook, key: str, name: str) -> Notebook:
    """The exercise's cell with the hole filled by that misconception."""
    text = filled(notebook.lesson.exercise_cell(key), key, MISCONCEPTIONS[key, name])
    lines = [line for line in text.split("\n")[1:] if "### BEGIN SOLUTION" not in line and "### END" not in line]
    return notebook.write(key, "\n".join(lines))


def _body(notebook: Notebook, key: str) -> str:
    """The cell of an exercise without its marker."""
    return notebook.cell(key)["source"].split("\n", 1)[1]


def _when_called(solution: str, line: str) -> str:
    """`line` as the first thing that every function of the cell does."""
    lines = []
    for text in solution.split("\n"):
        lines.append(text)
        if text.startswith("def "):
            lines.append(f"    {line}")
    return "\n".join(lines)
