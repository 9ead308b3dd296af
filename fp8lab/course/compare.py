"""Where two sets of arrays differ, and how. One comparison for the check, the grader and the records' own tests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fp8lab.course.arrays import NUMBER, spell_numbers

_NUMBER = r"(-?(nan|inf|\d[\d.]*(e[+-]?\d+)?))"
SPELLED, LIKE_NUMBER = re.compile(NUMBER + _NUMBER), re.compile(_NUMBER)
ERROR_NAME = re.compile(r"[A-Z]\w*(Error|Exception|Exit|Interrupt)")


@dataclass(frozen=True)
class Tolerance:
    """When two numbers count as the same: |got - want| <= atol + rtol * |want|. NaN equals NaN.

    signed_zero: -0.0 and 0.0 are told apart. Zero tolerance, the default, asks for the very number.
    """

    rtol: float = 0.0
    atol: float = 0.0
    signed_zero: bool = False


@dataclass(frozen=True)
class Difference:
    """The first place where an answer's arrays part from the wanted ones.

    kind   "value" (an element), "shape", "missing" (the array is not there), or "extra"
    index  of the element, () for the other kinds
    wrong  how many of `total` elements of this array differ
    """

    array: str
    kind: str
    got: str
    want: str
    index: tuple[int, ...] = ()
    wrong: int = 0
    total: int = 0


def first_difference(
    got: Mapping[str, np.ndarray], want: Mapping[str, np.ndarray], tolerance: Tolerance = Tolerance()
) -> Difference | None:
    """The first difference in the order of `want`, or None.

    >>> first_difference({"y": np.array([1.0, 3.0])}, {"y": np.array([1.0, 2.0])})
    Difference(array='y', kind='value', got='3.0', want='2.0', index=(1,), wrong=1, total=2)
    """
    for name, wanted in want.items():
        if name not in got:
            return Difference(name, "missing", "-", _describe(wanted))
        given = got[name]
        if given.shape != wanted.shape:
            return Difference(name, "shape", _describe(given), _describe(wanted))
        wrong = differs(given, wanted, tolerance)
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            count = int(wrong.sum())
            return Difference(name, "value", *shown(given[index], wanted[index]), index, count, wrong.size)
    for name in got:
        if name not in want:
            return Difference(name, "extra", _describe(got[name]), "-")
    return None


def differs(got: np.ndarray, want: np.ndarray, tolerance: Tolerance = Tolerance()) -> np.ndarray:
    """Elementwise: True where two arrays of one shape differ. Text never equals a number.

    >>> differs(np.array([np.nan, -0.0]), np.array([np.nan, 0.0])).tolist()
    [False, False]
    >>> differs(np.array([-0.0]), np.array([0.0]), Tolerance(signed_zero=True)).tolist()
    [True]
    """
    got, want = np.asarray(got), np.asarray(want)
    got_text, want_text = got.dtype.kind == "U", want.dtype.kind == "U"
    if got_text and want_text:
        return _texts_differ(got, want, tolerance)
    if got_text or want_text:
        return _texts_differ(
            got if got_text else spell_numbers(got), want if want_text else spell_numbers(want), tolerance
        )
    if got.dtype.kind in "iu" and want.dtype.kind in "iu":
        return np.asarray(got != want)
    return _numbers_differ(got.astype(np.float64), want.astype(np.float64), tolerance)


def _numbers_differ(got: np.ndarray, want: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        same = got == want
        finite = np.isfinite(got) & np.isfinite(want)
        same |= finite & (np.abs(got - want) <= tolerance.atol + tolerance.rtol * np.abs(want))
    same |= np.isnan(got) & np.isnan(want)
    if tolerance.signed_zero:
        same &= ~((got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want)))
    return ~same


def _texts_differ(got: np.ndarray, want: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """Texts, some of which spell numbers (arrays that mix results with names of errors)."""
    wrong = np.asarray(got != want)
    for index in np.argwhere(wrong):
        place = tuple(index)
        first, second = _number(got[place]), _number(want[place])
        if first is not None and second is not None:
            wrong[place] = _numbers_differ(np.float64(first), np.float64(second), tolerance)
    return wrong


def _number(text: str) -> float | None:
    return float(text[len(NUMBER) :]) if SPELLED.fullmatch(text) else None


def plain(value: np.generic) -> str:
    """One element as a reader wants it: `-0.0`, `256.0`, `7`, `'zero'`, `ValueError`, `0x59 = 0 1011 001`.

    Never `np.float64(256.0)`. A text has quotes where it could be taken for something else without them: a word such as
    `'nan'`, a number, a text with blanks at its ends. The name of an error has none: it was raised.
    """
    item = value.item() if hasattr(value, "item") else value
    if not isinstance(item, str):
        return repr(item)
    if SPELLED.fullmatch(item):
        return item[len(NUMBER) :]
    return repr(item) if _needs_quotes(item) else item


def _needs_quotes(text: str) -> bool:
    word = text.isidentifier() and not ERROR_NAME.fullmatch(text)
    return word or bool(LIKE_NUMBER.fullmatch(text)) or text != text.strip() or not text.isprintable() or not text


def shown(got: np.generic, want: np.generic) -> tuple[str, str]:
    """Two elements that differ. Beside a text that needs no quotes, a word or a number is such a text too: a drive
    writes the codes `0x59 = 0 1011 001` and `NaN`.

    >>> shown(np.str_("NaN"), np.str_("0x59 = 0 1011 001")), shown(np.str_("NaN"), np.str_("nan"))
    (('NaN', '0x59 = 0 1011 001'), ("'NaN'", "'nan'"))
    """
    pair = plain(got), plain(want)
    texts = [text.item() if hasattr(text, "item") else text for text in (got, want)]
    ours = [isinstance(text, str) and text == as_shown and text[:1] != "<" for text, as_shown in zip(texts, pair)]
    spoken = [isinstance(text, str) and text.isprintable() and text.strip() == text != "" for text in texts]
    return (texts[0], texts[1]) if any(ours) and all(spoken) and not any(map(SPELLED.fullmatch, texts)) else pair


def _describe(array: np.ndarray) -> str:
    """Kind and shape in symbols that need no language: `float[4, 2]`, `<None>`."""
    if array.ndim == 0:
        return plain(array[()])
    kind = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}[array.dtype.kind]
    return f"{kind}{list(array.shape)}"
