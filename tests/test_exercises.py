"""Every exercise of every lesson, held to what its record promises.

The record is tried against itself (reference, variants, misconceptions), against the lesson's text (solved cells,
stubs, prerequisites), and for completeness in both languages. A new lesson is covered by being there.
"""

from __future__ import annotations

import ast
import json
import linecache
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from triton_here import WHY, has_triton, owed

from fp8lab.course.check import Check, verdict
from fp8lab.course.drive import Evidence, gather
from fp8lab.course.exercise import judge
from fp8lab.course.feedback import feedback
from fp8lab.course.holes import find_holes
from fp8lab.course.progress import Progress
from fp8lab.course.registry import LESSONS, exercise, key_order, lesson_drives, lesson_exercises
from fp8lab.course.source import Lesson, read_lesson
from fp8lab.course.text import LANGUAGES, Text

ROOT = Path(__file__).resolve().parents[1]
SEEDS = (0, 2**63 - 20_260_729)  # as large as those of the grader
CJK = re.compile(r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]")
EXERCISES = [e for lesson in LESSONS for e in lesson_exercises(lesson)]
each_exercise = pytest.mark.parametrize("found", EXERCISES, ids=lambda e: e.key)
each_seed = pytest.mark.parametrize("seed", SEEDS)
mistakes = [(e, m) for e in EXERCISES for m in e.misconceptions]
each_mistake = pytest.mark.parametrize("found, mistake", mistakes, ids=lambda x: getattr(x, "key", None) or x.name)
needing = [(e, name, key) for e in EXERCISES for name, key in e.requires.items()]
each_need = pytest.mark.parametrize("found, name, needed", needing, ids=lambda x: getattr(x, "key", x))


@pytest.fixture(autouse=True)
def _kernels_need_triton(request):
    """Lesson 10 runs kernels. What it does where Triton is missing is for test_lesson_10_machines.py."""
    found = getattr(request.node, "callspec", None) and request.node.callspec.params.get("found")
    if found is not None and found.key.startswith("10.") and not has_triton() and not owed():
        pytest.skip(WHY)


# ---- the record against itself


@each_seed
@each_exercise
def test_reference_is_right(found, seed):
    result = verdict(found, found.reference, seed)
    assert (result.state, result.points) == ("right", found.points), feedback(found, result, "en")


@each_seed
@pytest.mark.parametrize(
    "found, variant",
    [(e, v) for e in EXERCISES for v in e.variants],
    ids=lambda x: getattr(x, "key", None) or getattr(x, "__name__", None),
)
def test_variant_is_right(found, variant, seed):
    result = verdict(found, variant, seed)
    assert result.state == "right", feedback(found, result, "en")


@each_seed
@each_mistake
def test_misconception_fails_and_is_named(found, mistake, seed):
    result = verdict(found, mistake.answer, seed)
    assert result.state in ("wrong", "error") and result.points == 0
    named = result.misconception.name if result.misconception else None
    assert named == mistake.name, f"{mistake.name} was taken for {named}:\n{feedback(found, result, 'en')}"
    assert result.exact


@each_mistake
def test_feedback_shows_the_input_and_the_explanation(found, mistake):
    result = verdict(found, mistake.answer, 0)
    for lang in LANGUAGES:
        shown = feedback(found, result, lang)
        assert mistake.explain.get(lang) in repr(shown)
        assert "Traceback" not in shown._repr_html_()
    if result.state == "wrong" and result.difference.kind == "value":
        assert result.input and not CJK.search(result.input), "the shown input is shared by both languages"


@each_exercise
def test_each_exercise_has_a_right_answer_written_otherwise(found):
    assert found.variants, "at least one harmless variant: another dtype, another order of operations"


@each_seed
@each_exercise
def test_inputs_depend_on_nothing_but_the_seed(found, seed):
    first, second = (json.dumps(gather(found.drive, found.reference, seed).to_json()) for _ in range(2))
    assert first == second


@each_exercise
def test_evidence_is_judged_alike_after_a_journey_as_json(found):
    sent = json.loads(json.dumps(gather(found.drive, found.reference, 5).to_json()))
    assert judge(found, Evidence.from_json(sent), 5).state == "right"


@pytest.mark.parametrize("answer", [None, 0, "right", lambda *a, **k: None, lambda *a, **k: 0.0, lambda: True, print])
@each_exercise
def test_nonsense_is_never_right(found, answer):
    assert verdict(found, answer, 0).state in ("wrong", "error")


# ---- words


def texts(found):
    yield "title", found.title
    yield from ((f"hint {n}", hint) for n, hint in enumerate(found.hints, 1))
    yield from ((m.name, m.explain) for m in found.misconceptions)


@each_exercise
def test_both_languages_are_complete_and_are_what_they_say(found):
    for name, text in texts(found):
        assert isinstance(text, Text)
        assert not CJK.search(text.en), f"{name}: Chinese signs in the English text: {text.en}"
        assert CJK.search(text.zh), f"{name}: no Chinese in the Chinese text: {text.zh}"
        assert text.en.count("`") == text.zh.count("`"), f"{name}: the two languages quote different code"
        assert text.en.count("`") % 2 == 0, f"{name}: a backtick is not closed"


@each_exercise
def test_hints_lead_somewhere(found):
    assert 3 <= len(found.hints) <= 4
    assert len({hint.en for hint in found.hints}) == len({hint.zh for hint in found.hints}) == len(found.hints)


@each_exercise
def test_explanations_explain(found):
    for mistake in found.misconceptions:
        assert len(mistake.explain.en) >= 40 and len(mistake.explain.zh) >= 15, mistake.name


# ---- the record against the text of the lesson


@cache
def lesson_text(name: str) -> Lesson:
    return read_lesson(ROOT / "solutions" / f"{name}.md")


def lesson_of(found) -> Lesson:
    return lesson_text(next(name for name in LESSONS if found in lesson_exercises(name)))


def definitions(source: str) -> ast.Module:
    """Imports (also tried ones), functions, classes and assignments of a cell; what it merely shows is left out."""
    kept = (ast.Import, ast.ImportFrom, ast.Try, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    return ast.Module([node for node in ast.parse(source).body if isinstance(node, kept)], type_ignores=[])


def solved(lesson: Lesson, untouched: tuple[str, ...] = ()) -> dict:
    """The names that the solution edition defines; the holes of the exercises in `untouched` are left as holes."""
    return dict(_solved(lesson.name, tuple(untouched)))


@cache
def _solved(name: str, untouched: tuple[str, ...]) -> dict:
    lesson = lesson_text(name)
    names = {"__name__": "notebook", "check": Check("en", Progress(None))}
    for cell in lesson.cells:
        if cell.kind != "code" or cell.role == "check" or "widget" in cell.tags:
            continue
        source = with_holes(cell.source, untouched)
        file = f"<{cell.id}, untouched: {', '.join(untouched)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # Triton reads a kernel's source
        exec(compile(definitions(source), file, "exec"), names)
    return names


def with_holes(source: str, untouched: tuple[str, ...]) -> str:
    lines = source.split("\n")
    for hole in reversed(find_holes(source)[0]):
        if hole.key in untouched:
            lines[hole.begin : hole.end + 1] = [hole.stub]
    return "\n".join(lines)


@each_exercise
def test_the_solved_cell_is_right(found):
    names = solved(lesson_of(found))
    result = verdict(found, names[found.name], 3)
    assert result.state == "right" and not result.stood_in, feedback(found, result, "en")


@each_exercise
def test_its_own_stub_is_not_attempted(found):
    names = solved(lesson_of(found), untouched=(found.key,))
    result = verdict(found, names[found.name], 0)
    assert result.state == "not_attempted" and result.key == found.key, feedback(found, result, "en")
    for lang in LANGUAGES:
        assert found.key in repr(feedback(found, result, lang))


@each_exercise
def test_untouched_lesson_is_not_attempted_or_blocked_by_a_stub(found):
    lesson = lesson_of(found)
    result = verdict(found, solved(lesson, untouched=lesson.keys)[found.name], 0)
    assert result.state in ("not_attempted", "blocked"), feedback(found, result, "en")
    if result.state == "blocked":
        assert result.blocked_by in found.requires.values() and result.blocked_by != found.key


@each_need
def test_untouched_prerequisite_blocks_or_does_not_matter(found, name, needed):
    result = verdict(found, solved(lesson_of(found), untouched=(needed,))[found.name], 0)
    if result.state != "right":
        assert (result.state, result.blocked_by) == ("blocked", needed), feedback(found, result, "en")


@each_need
def test_wrong_prerequisite_costs_its_own_points_only(found, name, needed):
    names = solved(lesson_of(found))
    for mistake in exercise(needed).misconceptions:
        own = dict(names)
        answer = in_names(own[found.name], own)
        own[name] = mistake.answer
        result = verdict(found, answer, 0)
        told = (mistake.name, feedback(found, result, "en"))
        assert result.state == "right" or (result.state, result.blocked_by) == ("blocked", needed), told


def in_names(answer, names: dict):
    """The answer as if it had been defined among `names`."""
    if isinstance(answer, type):
        return answer  # a class looks its prerequisites up in itself
    return type(answer)(answer.__code__, names, answer.__name__, answer.__defaults__, answer.__closure__)


@each_exercise
@pytest.mark.parametrize("lang", LANGUAGES)
def test_worked_answer_in_both_languages(found, lang):
    code, prose = lesson_of(found).worked_answer(found.key, lang)
    assert found.name in code and len(prose) > 80
    assert bool(CJK.search(prose)) == (lang == "zh")


# ---- what a kernel may see


@pytest.mark.parametrize("lesson", LESSONS)
def test_driving_imports_no_answers(lesson):
    code = (
        f"import sys, importlib; drives = importlib.import_module('fp8lab.course.lessons.l{lesson}.driving').DRIVES;"
        "ours = [m for m in sys.modules if m.startswith('fp8lab.course.')];"
        "known = [m for m in ours if 'answers' in m or 'exercise' in m]; assert not known, known;"
        f"own = [m.split('.')[4] for m in ours if m.startswith('fp8lab.course.lessons.l{lesson}.')];"
        "unseen = [m for m in own if not m.startswith('driving')]; assert not unseen, unseen; print(len(drives))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(lesson_exercises(lesson)) == len(lesson_drives(lesson))


@pytest.mark.parametrize("lesson", LESSONS)
def test_records_and_text_name_the_same_exercises(lesson):
    assert [e.key for e in lesson_exercises(lesson)] == sorted(lesson_text(lesson).keys, key=key_order)
