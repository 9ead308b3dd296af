"""`check` as a learner meets it in lesson 01: verdicts, blame between exercises, hints, answers, demos, progress."""

import math
import os
import subprocess
import sys

import pytest

import fp8lab
from fp8lab.course import start
from fp8lab.course.check import Check, Note
from fp8lab.course.lessons.l01_decode import answers_bytes, answers_fields
from fp8lab.course.progress import Progress

CELL = """
import math

def fields(byte):
    {fields}

def normal_value(sign, exponent, mantissa):
    {normal}

def subnormal_value(sign, mantissa):
    return (-1.0) ** sign * mantissa * 2.0**-9

def decode_byte(byte):
    sign, exponent, mantissa = fields(byte)
    if exponent == 15 and mantissa == 7:
        return math.nan
    if exponent == 0:
        return subnormal_value(sign, mantissa)
    return normal_value(sign, exponent, mantissa)
"""
FIELDS = "return byte >> 7, byte >> 3 & 15, byte & 7"
NORMAL = "return (-1.0) ** sign * 2.0 ** (exponent - 7) * (1 + mantissa / 8)"


@pytest.fixture
def check():
    return Check("en", Progress(None))


def notebook(fields=FIELDS, normal=NORMAL):
    names = {}
    exec(CELL.format(fields=fields, normal=normal), names)
    return names


def test_right(check):
    assert check("1.4", notebook()["decode_byte"]).state == "right"


def test_blocked_by_the_exercise_that_is_untouched(check):
    shown = check("1.4", notebook(normal='raise NotImplementedError("exercise 1.2: a float")')["decode_byte"])
    assert shown.state == "blocked" and "1.2" in shown.heading


def test_blocked_by_the_exercise_that_raises(check):
    shown = check("1.4", notebook(normal="return 1 / 0")["decode_byte"])
    assert shown.state == "blocked" and "ZeroDivisionError" in repr(shown)


def test_a_mistake_elsewhere_costs_nothing_here(check):
    names = notebook(normal=NORMAL.replace("- 7", "- 8"))
    assert check("1.2", names["normal_value"]).state == "wrong"
    shown = check("1.4", names["decode_byte"])
    assert shown.state == "right" and "1.2" in repr(shown)


def test_a_mistake_of_its_own_is_not_excused_by_one_elsewhere(check):
    names = notebook(normal=NORMAL.replace("- 7", "- 8"))
    exec("def decode_byte(byte):\n    return normal_value(*fields(byte))", names)
    assert check("1.4", names["decode_byte"]).state == "wrong"


def test_progress_counts_tries_and_remembers_right(check):
    names = notebook()
    check("1.2", lambda s, e, m: 0.0)
    check("1.2", names["normal_value"])
    assert check._progress["1.2"].tries == 2 and check._progress["1.2"].right
    assert "✓ 1.2" in check.progress()


def test_untouched_is_not_a_try(check):
    def stub(*args):
        raise NotImplementedError("exercise 1.2: a float")

    assert check("1.2", stub).state == "not_attempted"
    assert check._progress["1.2"].tries == 0


def test_hints_come_one_by_one_and_stay(check):
    first, second = check.hint("1.4"), check.hint("1.4")
    assert first in second and len(second) > len(first)
    for _ in range(9):
        last = check.hint("1.4")
    assert check.hint("1.4") == last


def test_the_worked_answer_comes_after_a_try(check):
    assert "def " not in check.solution("1.4")
    check("1.4", lambda byte: 0.0)
    answer = check.solution("1.4")
    assert "def decode_byte" in answer and "mlx" in answer and "BEGIN SOLUTION" not in answer


def test_a_demo_waits_for_its_exercise(check):
    def show():
        raise NotImplementedError("exercise 1.2: a float")

    assert "1.2" in check.demo("1.4", show)
    assert check.demo("1.4", lambda: 7) == 7


def test_a_demo_of_an_answer_that_raises_says_what_its_check_would_and_shows_no_traceback(check):
    def normal_value(sign, exponent, mantissa):
        return 1 / (sign - sign)

    said = check.demo("1.4", lambda: normal_value(0, 1, 2))
    assert (said.key, said.state) == ("1.2", "error")
    assert said.lines[0].startswith("`ZeroDivisionError: division by zero` (line ")
    assert said.lines[0].endswith(": `return 1 / (sign - sign)`)")
    for problem in (TypeError("a list, please\nmore"), NotImplementedError("not ours"), NotImplementedError()):
        note = check.demo("1.4", lambda problem=problem: (_ for _ in ()).throw(problem))
        told = f"{type(problem).__name__}: {str(problem)}".split("\n")[0].strip(" :")
        assert note == f"! What exercise 1.4 gives cannot be shown here: `{told}`. Its check says more."
    ours = check.demo("2.5", lambda: fp8lab.encode("text"))  # which is called as the answer of 2.4 is
    assert ours.startswith("! What exercise 2.5 gives cannot be shown here: `TypeError: ")
    chinese = Check("zh", Progress(None))
    assert "无法显示：`TypeError: a`" in chinese.demo("1.4", lambda: (_ for _ in ()).throw(TypeError("a")))
    with pytest.raises(KeyboardInterrupt):
        check.demo("1.4", lambda: (_ for _ in ()).throw(KeyboardInterrupt()))


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
shell.run_cell("from fp8lab.course import start; check = start('02_encode', {lang!r})")
shell.run_cell("check = start('02_encode', {lang!r})")
for cell in ('# exercise 2.2\\ndef nearest(x) return x', '# check 2.2\\ncheck("2.2", nearest)', 'print(nearest)',
             '# check 2.2\\ncheck("2.2", neerest)', 'nearest = 1', '# check 2.2\\ncheck("2.2", nearest)'):
    shell.run_cell(cell)
    print("=-=-=")
"""


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_check_whose_exercise_did_not_run_says_so_under_the_name_error(tmp_path, lang):
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "IPYTHONDIR": str(tmp_path), "FP8LAB_PROGRESS": "off"}
    line = [sys.executable, "-c", SHELL.format(lang=lang)]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=300)
    _, missed, plain, misspelt, _, there, _ = done.stdout.split("=-=-=\n")
    said = {
        "en": "⧗ `nearest` does not exist: the cell of exercise 2.2 did not run.",
        "zh": "⧗ `nearest` 不存在：练习 2.2",
    }
    assert "NameError" in missed and missed.count("⧗") == 1 and missed.strip().split("\n")[-1].startswith(said[lang])
    assert "NameError" in plain and "NameError" in misspelt and "⧗" not in plain + misspelt + there, done.stdout


def test_unknown_keys_name_the_known_ones(check):
    for call in (lambda: check("1.99", abs), lambda: check.hint("1.99"), lambda: check.solution("1.99")):
        with pytest.raises(ValueError, match=r"1\.1"):
            call()


def test_notes_show_themselves_as_markdown():
    assert Note("**x**")._repr_markdown_() == "**x**" and repr(Note("x")) == "x"


def test_nbgrader_counts_exceptions_so_there_is_one(check, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert check("1.4", notebook()["decode_byte"]).state == "right"
    with pytest.raises(AssertionError, match="Not yet"):
        check("1.4", lambda byte: 0.0)


@pytest.mark.parametrize("lang, word", [("en", "English"), ("zh", "中文")])
def test_start_says_where_it_runs(capsys, lang, word):
    assert start(lesson="01_decode", lang=lang).lang == lang
    line = capsys.readouterr().out
    assert word in line and "torch" in line and line.count("\n") == 1


def test_start_refuses_what_is_not_there():
    with pytest.raises(ValueError, match="01_decode"):
        start(lesson="99_none", lang="en")
    with pytest.raises(ValueError, match="zh"):
        start(lesson="01_decode", lang="fr")


def test_the_references_are_those_of_the_lesson():
    """The names that this file's blame rests on exist."""
    assert math.isnan(answers_bytes.decode_byte(0x7F)) and answers_fields.fields(0x78) == (0, 15, 0)


def test_a_key_without_quotes_says_what_is_missing(check):
    with pytest.raises(ValueError, match='a key is text, in quotes: "1.1"'):
        check(1.1, lambda byte: 0)


def test_chinese_feedback_has_chinese_punctuation():
    def raises(byte):
        raise ValueError("no")

    shown = repr(Check("zh", Progress(None))("1.2", lambda sign, exponent, mantissa: 1 / 0))
    assert shown.startswith("! 1.2 正规数：代码抛出了异常。") and "（第 " in shown and "行：`" in shown
    assert repr(Check("en", Progress(None))("1.4", raises)).startswith("! 1.4 Any byte, and the only NaN: Your code")
