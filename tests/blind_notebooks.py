"""Building blocks of the blind attacks: a list that they enter, notebooks with some cells replaced, honest answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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
