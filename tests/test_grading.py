"""A class is graded: the road from a folder of notebooks to a table of marks, with real kernels."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from attacks import checks_deleted_and_silenced
from grading_class import graded, points, rows, verdicts
from submissions import IEEE_HABIT, WRONG_FIELDS, Notebook, as_colab

from fp8lab.course.registry import lesson_exercises
from fp8lab.grading import jobs as jobs_module
from fp8lab.grading.verdict import VERDICTS

KEYS = [exercise.key for exercise in lesson_exercises("01_decode")]
ALL = sum(exercise.points for exercise in lesson_exercises("01_decode"))
POINTS = {exercise.key: exercise.points for exercise in lesson_exercises("01_decode")}
PASSED = dict.fromkeys(KEYS, "passed")
EXIT_WHEN_CALLED = "import os\ndef classify(byte):\n    os._exit(0)"
LOOP_WHEN_CALLED = "def normal_value(sign, exponent, mantissa):\n    while True: pass"


def make_class(root):
    """One learner for every kind of verdict."""
    Notebook().solve().save(root / "solved" / "01_decode.ipynb")
    Notebook(lang="zh").solve().save(root / "zh_01_decode.ipynb")
    Notebook().save(root / "untouched" / "01_decode.ipynb")
    Notebook().solve("1.1", "1.2", "1.3").save(root / "half_01_decode.ipynb")
    Notebook(lang="zh").solve().write("1.4", IEEE_HABIT).save(root / "ieee" / "01_decode.ipynb")
    as_colab(Notebook().solve()).save(root / "colab" / "Copy of 01_decode.ipynb")
    checks_deleted_and_silenced().save(root / "silenced" / "01_decode.ipynb")
    Notebook().solve().write("1.1", WRONG_FIELDS).save(root / "=wrong fields" / "01_decode.ipynb")
    Notebook().solve().write("1.2", "def normal_value(:").save(root / "syntax" / "01_decode.ipynb")
    Notebook().solve().write("1.6", EXIT_WHEN_CALLED).save(root / "exits" / "01_decode.ipynb")
    Notebook().solve().write("1.2", LOOP_WHEN_CALLED).save(root / "loops" / "01_decode.ipynb")
    Notebook().solve().write("1.3", "1 / 0\ndef subnormal_value(s, m): return 0").save(root / "raises" / "a.ipynb")
    Notebook().solve().write("1.3", "def subnormal(s, m):\n    return 0").save(root / "renamed" / "a.ipynb")
    deleted = Notebook().solve()
    del deleted.cells[deleted.index("1.3")]
    deleted.save(root / "deleted" / "a.ipynb")
    (root / "truncated").mkdir()
    (root / "truncated" / "01_decode.ipynb").write_bytes(Notebook().bytes()[:3000])
    (root / "empty_folder").mkdir()


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    make_class(folder / "submissions")
    grades = graded(folder / "submissions", folder / "out", gate=False)  # to see what becomes of a kernel that is ended
    table = rows(folder / "out" / "grades.csv")
    return SimpleNamespace(
        grades=grades,
        table=table,
        out=folder / "out",
        root=folder / "submissions",
        summary=rows(folder / "out" / "summary.csv"),
    )


EXPECTED = {
    "solved": PASSED,
    "zh": PASSED,
    "untouched": dict.fromkeys(KEYS, "not_attempted"),
    "half": {**dict.fromkeys(KEYS, "not_attempted"), **dict.fromkeys(["1.1", "1.2", "1.3"], "passed")},
    "ieee": {**PASSED, "1.4": "wrong"},
    "colab": PASSED,
    "silenced": dict.fromkeys(KEYS, "wrong"),
    "'=wrong fields": {**PASSED, "1.1": "wrong"},
    "syntax": {**PASSED, "1.2": "error", "1.4": "blocked"},
    "exits": {**PASSED, "1.6": "crashed"},
    "loops": {**PASSED, "1.2": "timeout", "1.4": "blocked"},
    "raises": {**PASSED, "1.3": "error", "1.4": "blocked"},
    "renamed": {**PASSED, "1.3": "error", "1.4": "blocked"},
    "deleted": {**PASSED, "1.3": "missing", "1.4": "blocked"},
    "truncated": dict.fromkeys(KEYS, "rejected"),
    "empty_folder": dict.fromkeys(KEYS, "missing"),
}


@pytest.mark.parametrize("student", EXPECTED)
def test_marks_are_as_they_should_be(classroom, student):
    assert verdicts(classroom.table, student) == EXPECTED[student]
    passed = [key for key, verdict in EXPECTED[student].items() if verdict == "passed"]
    assert points(classroom.table, student) == sum(POINTS[key] for key in passed)


def test_the_table_has_a_row_for_every_learner_and_exercise(classroom):
    assert list(classroom.table[0]) == ["student", "lesson", "exercise", "points", "max_points", "verdict", "note"]
    assert len(classroom.table) == len(EXPECTED) * len(KEYS)
    assert {row["verdict"] for row in classroom.table} == set(VERDICTS)
    for student in EXPECTED:
        assert sum(int(row["max_points"]) for row in classroom.table if row["student"] == student) == ALL


def test_the_summary_has_one_row_per_learner(classroom):
    assert sorted(row["student"] for row in classroom.summary) == sorted(EXPECTED)
    for row in classroom.summary:
        assert int(row["points"]) == int(row["01_decode"]) == points(classroom.table, row["student"])
        assert int(row["max_points"]) == ALL
        assert float(row["percent"]) == pytest.approx(100 * int(row["points"]) / ALL, abs=0.05)
        assert {name: int(row[name]) for name in VERDICTS} == {
            name: list(EXPECTED[row["student"]].values()).count(name) for name in VERDICTS
        }


def note(classroom, student, key):
    return next(r["note"] for r in classroom.table if r["student"] == student and r["exercise"] == key)


@pytest.mark.parametrize(
    ("student", "key", "words"),
    [
        ("ieee", "1.4", ["0x78", "got inf, want 256.0", "14 of 256", "misconception: IEEE habit"]),
        ("'=wrong fields", "1.4", ["judged with our 1.1 in place of theirs"]),
        ("syntax", "1.2", ["SyntaxError", "line 2: def normal_value(:"]),
        ("syntax", "1.4", ["blocked by 1.2"]),
        ("loops", "1.2", ["took more than 8 s"]),
        ("exits", "1.6", ["the kernel died"]),
        ("raises", "1.3", ["ZeroDivisionError: division by zero"]),
        ("renamed", "1.3", ["does not define subnormal_value"]),
        ("truncated", "1.1", ["cut off or damaged"]),
        ("empty_folder", "1.1", ["not handed in"]),
    ],
)
def test_notes_say_why(classroom, student, key, words):
    assert [word for word in words if word not in note(classroom, student, key)] == []


def test_unreadable_files_are_told_and_cost_nobody_else(classroom):
    assert classroom.grades.exit_code == 3
    (line,) = classroom.grades.unreadable
    assert line.startswith("truncated/01_decode.ipynb: cut off")
    assert classroom.grades.broken == ()


def test_feedback_is_written_for_everybody_in_their_language(classroom):
    names = {path.name for path in (classroom.out / "feedback").iterdir()}
    assert len(names) == 2 * len(EXPECTED)
    ieee = (classroom.out / "feedback" / "ieee.md").read_text(encoding="utf-8")
    misconception = next(m for m in lesson_exercises("01_decode")[3].misconceptions if m.name == "IEEE habit")
    assert misconception.explain.zh.split("。")[0] in ieee.replace("\\", "")
    assert "0x78 = 0 1111 000" in ieee and "`inf`" in ieee and "`256.0`" in ieee
    page = (classroom.out / "feedback" / "ieee.html").read_text(encoding="utf-8")
    assert '<html lang="zh-CN">' in page and "<code>256.0</code>" in page
    english = (classroom.out / "feedback" / "half.md").read_text(encoding="utf-8")
    assert "not attempted" in english and "未作答" not in english
    solved = (classroom.out / "feedback" / "solved.md").read_text(encoding="utf-8")
    assert f"{ALL} of {ALL} points" in solved


def test_names_that_a_spreadsheet_would_run_are_made_harmless(classroom):
    text = (classroom.out / "grades.csv").read_text(encoding="utf-8-sig")
    assert "\n'=wrong fields," in text
    assert not [line for line in text.splitlines() if line.startswith(("=", "+", "-", "@", '"='))]


def test_untouched_notebooks_start_no_kernel(classroom):
    kernels = {entry.student: entry.report.kernels for entry in classroom.grades.entries}
    assert kernels["untouched"] == kernels["truncated"] == kernels["empty_folder"] == 0
    assert kernels["solved"] == kernels["ieee"] == 1
    assert kernels["exits"] == kernels["loops"] == 2  # one more after the one that was lost
    assert kernels["=wrong fields"] == 2  # one more with our 1.1 in place of theirs


def test_a_second_run_runs_nothing_and_says_the_same(classroom, monkeypatch):
    before = (classroom.out / "grades.csv").read_bytes()
    monkeypatch.setattr(jobs_module, "grade_notebook", None)
    again = graded(classroom.root, classroom.out)
    assert (again.ran, again.kept) == (0, classroom.grades.ran)
    assert (classroom.out / "grades.csv").read_bytes() == before


def test_equal_notebooks_are_run_once(classroom, tmp_path):
    """`solved` and `colab` differ as files; two copies of one file do not."""
    for student in ("a", "b", "c"):
        Notebook().save(tmp_path / "in" / student / "01_decode.ipynb")
    grades = graded(tmp_path / "in", tmp_path / "out")
    assert grades.ran == 1 and len(grades.entries) == 3


def test_without_a_sandbox_marks_are_the_same(classroom, tmp_path):
    for student in ("ieee", "exits"):
        path = classroom.root / student / "01_decode.ipynb"
        (tmp_path / "in" / student).mkdir(parents=True)
        (tmp_path / "in" / student / path.name).write_bytes(path.read_bytes())
    graded(tmp_path / "in", tmp_path / "out", sandbox=False, gate=False)
    table = rows(tmp_path / "out" / "grades.csv")
    assert {student: verdicts(table, student) for student in ("ieee", "exits")} == {
        student: EXPECTED[student] for student in ("ieee", "exits")
    }


def test_an_answer_that_reaches_beyond_is_not_run_and_costs_only_its_own_points(classroom, tmp_path):
    path = classroom.root / "exits" / "01_decode.ipynb"
    (tmp_path / "in" / "exits").mkdir(parents=True)
    (tmp_path / "in" / "exits" / path.name).write_bytes(path.read_bytes())
    grades = graded(tmp_path / "in", tmp_path / "out")
    assert grades.entries[0].report.kernels == 1
    table = rows(tmp_path / "out" / "grades.csv")
    assert verdicts(table, "exits") == {**PASSED, "1.6": "rejected"}
    assert next(row["note"] for row in table if row["exercise"] == "1.6").startswith(
        "not run: it uses import os, os._exit, which no answer needs"
    )
    assert "`import os`" in (tmp_path / "out" / "feedback" / "exits.md").read_text(encoding="utf-8")
