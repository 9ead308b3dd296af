"""A class is graded: the road from a folder of notebooks to a table of marks, with real kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from attacks import checks_deleted_and_silenced
from grading_class import graded, points, rows, sandbox_problem, verdicts
from sample_lesson import NAME as SAMPLE
from sample_lesson import build_learner_edition, make_checkout
from submissions import IEEE_HABIT, WRONG_FIELDS, Notebook, as_colab, source

from fp8lab.course.registry import lesson_exercises
from fp8lab.course.source import packaged
from fp8lab.grading import jobs as jobs_module
from fp8lab.grading.intake import gradable
from fp8lab.grading.run import InfrastructureError
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
    grades = graded(folder / "submissions", folder / "out")
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
    text = (classroom.out / "grades.csv").read_text(encoding="utf-8")
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


# ---- what goes wrong around the notebooks


def test_several_files_for_one_lesson_the_newest_counts_and_all_are_told(tmp_path):
    old = Notebook().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    new = Notebook().write("1.1", "(").save(tmp_path / "in" / "ann" / "01_decode (1).ipynb")
    (tmp_path / "in" / "ann" / "01_decode-Copy2.ipynb").write_bytes(b"")
    os.utime(old, (1, 1))
    os.utime(new, (2, 2))
    graded(tmp_path / "in", tmp_path / "out")
    table = rows(tmp_path / "out" / "grades.csv")
    assert verdicts(table, "ann")["1.1"] == "error"
    assert "3 files: graded ann/01_decode (1).ipynb, not ann/01_decode-Copy2.ipynb (empty file)" in table[0]["note"]


def test_everybody_is_expected_to_hand_in_every_lesson(tmp_path):
    Notebook().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    Notebook("02_encode").save(tmp_path / "in" / "bob" / "02_encode.ipynb")
    graded(tmp_path / "in", tmp_path / "out")
    summary = rows(tmp_path / "out" / "summary.csv")
    assert len({row["max_points"] for row in summary}) == 1
    only = graded(tmp_path / "in", tmp_path / "one", lessons=["02_encode"])
    assert {(e.student, e.report.lesson) for e in only.entries} == {("ann", "02_encode"), ("bob", "02_encode")}


def test_a_grader_that_fails_gives_no_marks_says_so_and_tries_again(tmp_path, monkeypatch):
    Notebook().solve().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    calls = []

    def fails(*arguments):
        calls.append(arguments)
        raise InfrastructureError("no kernel came up")

    with monkeypatch.context() as patched:
        patched.setattr(jobs_module, "grade_notebook", fails)
        grades = graded(tmp_path / "in", tmp_path / "out")
    assert grades.exit_code == 1 and len(calls) == jobs_module.ATTEMPTS
    assert grades.broken == ("ann/01_decode.ipynb: no kernel came up",)
    assert grades.verdicts == {"rejected": len(KEYS)}
    monkeypatch.setattr(jobs_module, "grade_notebook", lambda *a: jobs_module.refused("01_decode", "en", "ran now"))
    assert graded(tmp_path / "in", tmp_path / "out").ran == 1


def test_the_secret_seed_is_kept_and_a_given_one_is_another_run(tmp_path):
    Notebook().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    assert graded(tmp_path / "in", tmp_path / "out").ran == 1
    secret = (tmp_path / "out" / ".fp8lab-grade" / "seed").read_text()
    assert graded(tmp_path / "in", tmp_path / "out").ran == 0
    assert (tmp_path / "out" / ".fp8lab-grade" / "seed").read_text() == secret
    assert graded(tmp_path / "in", tmp_path / "out", seed=5).ran == 1


# ---- the command


def command(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LC_ALL": "C"}
    line = [sys.executable, "-m", "fp8lab.cli", "grade", *map(str, arguments)]
    line += ["--no-sandbox"] if sandbox_problem() else []
    return subprocess.run(line, capture_output=True, text=True, encoding="utf-8", env=environment, **options)


def test_command_line_under_a_c_locale(tmp_path):
    Notebook(lang="zh").solve("1.1").save(tmp_path / "in" / "李雷" / "第一课.ipynb")
    result = command(tmp_path / "in", "--out", tmp_path / "out", "--seed", 3, "--workers", 1)
    assert result.returncode == 0, result.stderr
    assert "1 learners: 1 passed, 6 not_attempted" in result.stdout
    assert points(rows(tmp_path / "out" / "grades.csv"), "李雷") == POINTS["1.1"]
    assert (tmp_path / "out" / "feedback" / "李雷.md").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere", "--out", "o"], 2, "nowhere does not exist"),
        (["empty", "--out", "o"], 2, "holds no submissions"),
        (["in", "--out", "o", "--lesson", "99_none"], 2, "there is no lesson '99_none'; there are"),
        (["in", "--out", "o", "--seed", "-1"], 2, "--seed -1 is not from 0"),
        (["in", "--out", "o", "--workers", "0"], 2, "'0' is not a whole number from 1 on"),
        (["in", "--out", "o", "--timeout", "0"], 2, "'0' is not a number of seconds"),
        (["in"], 2, "--out"),
        (["in", "--out", "in/ann/01_decode.ipynb/x"], 1, "Not a directory"),
    ],
)
def test_command_line_errors(tmp_path, arguments, code, words):
    (tmp_path / "empty").mkdir()
    Notebook().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    result = command(*arguments, cwd=tmp_path)
    assert result.returncode == code
    assert words in result.stderr and "Traceback" not in result.stderr


def test_without_bubblewrap_the_command_says_how_to_go_on(tmp_path):
    Notebook().save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    line = [sys.executable, "-m", "fp8lab.cli", "grade", tmp_path / "in", "--out", tmp_path / "out"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PATH": str(tmp_path)}
    refused = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert refused.returncode == 1
    assert "bubblewrap is not installed" in refused.stderr and "--no-sandbox" in refused.stderr
    allowed = subprocess.run([*line, "--no-sandbox"], capture_output=True, text=True, env=environment)
    assert allowed.returncode == 0
    assert "no sandbox. Submissions run with your rights" in allowed.stderr


def test_without_nbval_the_command_says_what_to_install(tmp_path):
    Notebook().solve("1.1").save(tmp_path / "in" / "ann" / "01_decode.ipynb")
    hide = "import sys; sys.modules['nbval'] = None; from fp8lab.cli import main; sys.exit(main(sys.argv[1:]))"
    line = [sys.executable, "-c", hide, "grade", tmp_path / "in", "--out", tmp_path / "out"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    refused = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert refused.returncode == 1 and not (tmp_path / "out").exists()
    assert "needs nbval, not installed here" in refused.stderr and 'pip install "fp8lab[grade]"' in refused.stderr


def test_without_a_sandbox_marks_are_the_same(classroom, tmp_path):
    for student in ("ieee", "exits"):
        path = classroom.root / student / "01_decode.ipynb"
        (tmp_path / "in" / student).mkdir(parents=True)
        (tmp_path / "in" / student / path.name).write_bytes(path.read_bytes())
    graded(tmp_path / "in", tmp_path / "out", sandbox=False)
    table = rows(tmp_path / "out" / "grades.csv")
    assert {student: verdicts(table, student) for student in ("ieee", "exits")} == {
        student: EXPECTED[student] for student in ("ieee", "exits")
    }


# ---- every lesson, and a cell with several holes


@pytest.mark.parametrize("lesson", gradable())
def test_the_solution_of_every_lesson_gets_full_marks(lesson, tmp_path):
    Notebook(packaged(lesson)).solve().save(tmp_path / "in" / "ann" / f"{lesson}.ipynb")
    grades = graded(tmp_path / "in", tmp_path / "out", timeout=60.0)
    assert [m for m in grades.entries[0].report.marks if m.verdict != "passed"] == []
    assert grades.entries[0].report.kernels == 1


def test_each_key_of_a_class_is_judged_alone(tmp_path):
    """A class with two holes, one of them solved: in a checkout whose only lesson is the sample."""
    checkout = build_learner_edition(make_checkout(tmp_path / "checkout"))
    record = json.loads((checkout / "notebooks" / "en" / f"{SAMPLE}.ipynb").read_text(encoding="utf-8"))
    for cell in record["cells"]:
        text = source(cell)
        if text.startswith("# exercise 99.1\n"):
            cell["source"] = "# exercise 99.1\ndef double(x):\n    return x"
        if text.startswith("# exercise 99.2-99.3\n"):
            first, second = [line for line in text.split("\n") if "raise NotImplementedError" in line]
            cell["source"] = text.replace(first, "        return double(x) + x")
    folder = tmp_path / "in" / "ann"
    folder.mkdir(parents=True)
    (folder / "homework.ipynb").write_text(json.dumps(record), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    line = [sys.executable, "-m", "fp8lab.cli", "grade", tmp_path / "in", "--out", tmp_path / "out"]
    line += ["--no-sandbox"] if sandbox_problem() else []
    result = subprocess.run(line, capture_output=True, text=True, env=environment, cwd=checkout)
    assert result.returncode == 0, result.stderr
    table = rows(tmp_path / "out" / "grades.csv")
    assert verdicts(table, "ann") == {"99.1": "wrong", "99.2": "passed", "99.3": "not_attempted"}
    assert "judged with our 99.1" in table[1]["note"]
