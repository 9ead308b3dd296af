"""From an answer to a verdict, on a small exercise of our own: states, named mistakes, blame, and hostile answers."""

import json

import numpy as np
import pytest

from fp8lab.course.compare import first_difference
from fp8lab.course.drive import Drive, Evidence, gather, isolate, outcome
from fp8lab.course.exercise import Exercise, Misconception, judge
from fp8lab.course.feedback import feedback
from fp8lab.course.text import Text

SOME = Text("text", "文字")
SHOWN = [  # two elements that differ -> as a learner reads them
    ("0x58 = 0 1011 000", "0x59 = 0 1011 001", ("0x58 = 0 1011 000", "0x59 = 0 1011 001")),
    ("NaN", "0x59 = 0 1011 001", ("NaN", "0x59 = 0 1011 001")),
    ("NaN", "nan", ("'NaN'", "'nan'")),
    ("zero ", "zero", ("'zero '", "'zero'")),
    ("", "zero", ("''", "'zero'")),
    ("<None>", "nan", ("<None>", "'nan'")),
    ("number 2.0", "nan", ("2.0", "'nan'")),
    ("2.0", "number 2.0", ("'2.0'", "2.0")),
    ("TypeError", "ValueError", ("TypeError", "ValueError")),
    ("1 15 0", "ValueError", ("1 15 0", "ValueError")),
    ("the text 'ValueError'", "ValueError", ("the text 'ValueError'", "ValueError")),
    ("torch.int64", "torch.int8", ("torch.int64", "torch.int8")),
    ("> 8", "<= 8", ("> 8", "<= 8")),
]
HALVES = Drive(
    key="9.2",
    name="half",
    inputs=lambda seed: {"x": np.arange(6.0) + seed},
    drive=lambda half, inputs: {"y": [half(v) for v in inputs["x"]], "bad": outcome(half, "seven")},
    requires={"helper": "9.1"},
)


def half(v):
    if isinstance(v, str):
        raise TypeError("a number, please")
    return v / 2


def floor_half(v):
    return half(v) // 1


EXERCISE = Exercise(
    drive=HALVES,
    points=2,
    title=Text("Halves", "一半"),
    hints=(SOME,),
    reference=half,
    misconceptions=(
        Misconception("floors", floor_half, Text("it floors", "向下取整了")),
        Misconception("doubles", lambda v: half(v) * 4, Text("it doubles", "翻倍了")),
        Misconception("fails", lambda v: [][1], Text("it indexes an empty list", "对空列表取下标")),
    ),
    show=lambda inputs, array, index: f"x={inputs['x'][index]}" if array == "y" else "x='seven'",
)


@pytest.mark.parametrize("got, want, expected", SHOWN)
def test_a_text_has_quotes_only_where_it_could_be_taken_for_something_else(got, want, expected):
    found = first_difference({"y": np.array([got])}, {"y": np.array([want])})
    assert (found.got, found.want) == expected


def verdict(answer, seed=0):
    sent = json.loads(json.dumps(gather(HALVES, answer, seed).to_json()))
    return judge(EXERCISE, Evidence.from_json(sent), seed)


def helper(v):
    raise NotImplementedError("exercise 9.1: a float")


def calls_helper(v):
    return half(v) + helper(v)


def test_right_gets_the_points():
    result = verdict(half)
    assert (result.state, result.points) == ("right", 2)


def test_a_stub_without_a_word_as_nbgrader_writes_it():
    def stub(v):
        raise NotImplementedError()

    assert verdict(stub).state == "not_attempted"


def test_own_stub_is_not_attempted():
    def stub(v):
        raise NotImplementedError("exercise 9.2: a float")

    assert verdict(stub).state == "not_attempted"


def test_stub_of_another_exercise_blocks():
    result = verdict(calls_helper)
    assert (result.state, result.blocked_by, result.points) == ("blocked", "9.1", 0)


def test_another_exercise_that_raises_blocks(monkeypatch):
    def raising(v):
        return 1 / 0

    raising.__code__ = raising.__code__.replace(co_name="helper")
    monkeypatch.setitem(globals(), "helper", raising)
    result = verdict(calls_helper)
    assert (result.state, result.blocked_by, result.error.kind) == ("blocked", "9.1", "ZeroDivisionError")


def test_a_not_implemented_error_that_is_not_ours_is_an_error():
    def answer(v):
        raise NotImplementedError("later")

    assert verdict(answer).state == "error"


@pytest.mark.parametrize("stop", [SystemExit, RecursionError, MemoryError, AssertionError])
def test_what_the_code_raises_is_reported_with_its_line(stop):
    def answer(v):
        raise stop("so it goes")

    error = verdict(answer).error
    assert (error.kind, error.message) == (stop.__name__, "so it goes")
    assert error.source.startswith("raise stop")


def test_a_learner_can_interrupt():
    def answer(v):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gather(HALVES, answer, 0)


@pytest.mark.parametrize("misconception", EXERCISE.misconceptions, ids=lambda m: m.name)
def test_misconception_is_named(misconception):
    result = verdict(misconception.answer)
    assert result.state in ("wrong", "error") and result.misconception is misconception
    assert misconception.explain.zh in repr(feedback(EXERCISE, result, "zh"))


def test_first_wrong_input_is_shown():
    result = verdict(floor_half, seed=4)
    assert (result.input, result.difference.got, result.difference.want) == ("x=5.0", "2.0", "2.5")
    assert (result.difference.wrong, result.difference.total) == (3, 6)


def test_half_of_a_misconception_is_recognised_as_such():
    result = verdict(lambda v: floor_half(v) if isinstance(v, str) or v < 4 else half(v))
    assert result.misconception.name == "floors" and not result.exact


def test_the_opposite_of_every_answer_explains_no_single_mistake():
    flips = Drive("9.3", "even", lambda seed: {"n": range(10)}, lambda even, i: {"yes": [even(n) for n in i["n"]]})
    inverted = Misconception("inverted", lambda n: n % 2 == 1, SOME)
    others = tuple(Misconception(str(k), lambda n, k=k: n % 3 == k, SOME) for k in (0, 1))
    exercise = Exercise(flips, 1, SOME, (SOME,), lambda n: n % 2 == 0, (inverted, *others))
    slip = gather(flips, lambda n: n % 2 == 0 and n != 8, 0)
    assert judge(exercise, slip, 0).misconception is None
    assert judge(exercise, gather(flips, inverted.answer, 0), 0).misconception is inverted


def test_an_unknown_mistake_gets_no_name():
    assert verdict(lambda v: half(v) + 0.25).misconception is None


def test_mistakes_of_its_own_are_not_put_under_a_known_name():
    assert verdict(lambda v: floor_half(v) if isinstance(v, str) or v < 4 else half(v) + 9).misconception is None


class Agreeable(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0


@pytest.mark.parametrize("forged", [Agreeable(77), None, "2.5", object(), [0.0], float("nan")])
def test_objects_that_want_to_be_equal_are_not(forged):
    assert verdict(lambda v: forged).state == "wrong"


def test_evidence_of_another_exercise_is_refused():
    with pytest.raises(ValueError, match=r"9\.3"):
        judge(EXERCISE, Evidence("9.3", "not_attempted"), 0)


@pytest.mark.parametrize(
    "damage", [{"state": "right"}, {"arrays": None}, {"arrays": {"y": {"dtype": "|O"}}}, {"error": 1}]
)
def test_damaged_evidence_is_refused(damage):
    sent = {**gather(HALVES, half, 0).to_json(), **damage}
    with pytest.raises(ValueError):
        Evidence.from_json(sent)


def test_huge_results_are_an_error_not_a_flood():
    drive = Drive("9.3", "flood", lambda seed: {}, lambda flood, inputs: {"y": flood()})
    evidence = gather(drive, lambda: np.zeros(10_000_000), 0)
    assert evidence.state == "error" and "80,000,000 bytes" in evidence.error.message


def test_isolate_replaces_only_in_the_copy():
    alone = isolate(calls_helper, {"helper": lambda v: 0})
    assert alone(3) == 1.5
    with pytest.raises(NotImplementedError):
        calls_helper(3)


class Parent:
    def base(self):
        return 10


class Child(Parent):
    def total(self):
        return super().base() + helper(1)


def test_isolate_works_for_methods_that_call_super():
    assert isolate(Child, {"helper": lambda v: v})().total() == 11


@pytest.mark.parametrize("lang, word", [("en", "Not attempted"), ("zh", "还没有作答")])
def test_feedback_speaks_both_languages_and_escapes(lang, word):
    def stub(v):
        raise NotImplementedError("exercise 9.2: a float")

    shown = feedback(EXERCISE, verdict(stub), lang)
    assert word in repr(shown) and word in shown._repr_html_()
    hostile = feedback(EXERCISE, verdict(lambda v: "<script>"), lang)._repr_html_()
    assert "<script>" not in hostile and "&lt;script&gt;" in hostile


def test_a_record_must_be_complete():
    few = dict(drive=HALVES, title=SOME, reference=half)
    with pytest.raises(ValueError, match="three misconceptions"):
        Exercise(**few, points=1, hints=(SOME,), misconceptions=EXERCISE.misconceptions[:2])
    with pytest.raises(ValueError, match="hint"):
        Exercise(**few, points=1, hints=(), misconceptions=EXERCISE.misconceptions)
    with pytest.raises(ValueError, match="points"):
        Exercise(**few, points=0, hints=(SOME,), misconceptions=EXERCISE.misconceptions)
    with pytest.raises(ValueError, match="zh"):
        Text("only English", " ")


def test_the_name_of_an_error_is_not_the_error():
    assert outcome(int, "seven") == "ValueError" != outcome(lambda: "ValueError")
    assert outcome(lambda: "normal") == "normal"


def test_an_exception_that_cannot_say_what_it_is_stays_an_error():
    class Mute(ValueError):
        def __str__(self):
            raise RuntimeError("no words")

    def mute(x):
        raise Mute

    found = gather(HALVES, mute, 0)
    assert found.state == "error" and found.error.kind == "Mute"
