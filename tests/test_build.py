"""`fp8lab build` on a small checkout: what it writes, what it refuses to write, and that it never changes its mind."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from sample_lesson import NAME, POINTS, TEXT, build_learner_edition, make_checkout

from fp8lab.course import build as builder
from fp8lab.course.execute import ExecutionError, execute, output_text, run_cells
from fp8lab.course.notebook import solution_notebook
from fp8lab.course.source import Lesson, LessonError, read_lesson

BUILD = (
    "import argparse, sys; from fp8lab.course import build; p = argparse.ArgumentParser(); "
    "build.add_arguments(p); sys.exit(build.run(p.parse_args()))"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A checkout of the sample lesson, built and executed by the command, with a home of its own."""
    root = make_checkout(tmp_path_factory.mktemp("checkout"))
    result = run_build(root)
    assert result.returncode == 0, result.stdout + result.stderr
    return root


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A checkout built without executing, which a test may change."""
    return build_learner_edition(make_checkout(tmp_path / "checkout"))


def run_build(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """`fp8lab build` in the checkout, with the package of that checkout."""
    home = {"HOME": str(root / "home"), "USERPROFILE": str(root / "home")}
    environment = {**os.environ, **home, "PYTHONPATH": str(root), "PYTHONIOENCODING": "utf-8", **environment}
    return subprocess.run(
        [sys.executable, "-c", BUILD, *arguments],
        cwd=root, env=environment, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip


def run_here(root: Path, *arguments: str) -> int:
    """`fp8lab build` in this process."""
    parser = argparse.ArgumentParser()
    builder.add_arguments(parser)
    return builder.run(parser.parse_args(["--root", str(root), *arguments]))


def cells_by_id(notebook: dict) -> dict[str, dict]:
    return {cell["id"]: cell for cell in notebook["cells"]}


def test_build_writes_every_edition_and_the_data(built):
    for tree in ("notebooks", "solutions"):
        for lang in ("en", "zh"):
            assert (built / tree / lang / f"{NAME}.ipynb").is_file()
    data = json.loads((built / "fp8lab/course/data" / f"{NAME}.json").read_text(encoding="utf-8"))
    assert Lesson.from_dict(data) == replace(read_lesson(built / "solutions" / f"{NAME}.md"), points=POINTS)


def test_an_executed_notebook_is_in_the_form_that_nbformat_writes(built):
    for lang in ("en", "zh"):
        text = (built / "solutions" / lang / f"{NAME}.ipynb").read_text(encoding="utf-8")
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
        assert text == nbformat.writes(notebook) + "\n"


def test_outputs_are_kept_without_widget_state_timing_or_the_machines_python(built):
    notebook = json.loads((built / "solutions" / "en" / f"{NAME}.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert cells[1]["outputs"][0]["text"] == ["3.142\n"]
    assert any("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"])
    assert "widget-view" not in json.dumps(notebook) and "widgets" not in notebook["metadata"]
    assert all("execution" not in cell["metadata"] for cell in cells)
    assert notebook["metadata"]["language_info"] == {"name": "python"}


def test_building_leaves_no_progress_file(built):
    assert not (built / "home" / ".fp8lab").exists()


def test_building_again_gives_the_same_bytes_and_the_check_agrees(built):
    before = {path: path.read_bytes() for path in built.rglob("*") if path.suffix in (".ipynb", ".json")}
    result = run_build(built, PYTHONHASHSEED="7")
    assert result.returncode == 0 and "0 files changed" in result.stdout, result.stdout + result.stderr
    assert {path: path.read_bytes() for path in before} == before
    checked = run_build(built, "--check", PYTHONHASHSEED="8")
    assert checked.returncode == 0 and "agrees with its source" in checked.stdout, checked.stderr


def test_nbval_accepts_the_outputs_and_notices_one_that_is_changed(built, tmp_path):
    path = built / "solutions" / "zh" / f"{NAME}.ipynb"
    assert nbval(path, built).returncode == 0
    changed = path.with_name("changed.ipynb")
    try:
        changed.write_text(path.read_text(encoding="utf-8").replace("3.142", "3.143"), encoding="utf-8")
        result = nbval(changed, built)
    finally:
        changed.unlink()
    assert result.returncode == 1 and "3.143" in result.stdout


def nbval(path: Path, root: Path) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(root), "FP8LAB_PROGRESS": "off"}
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=60"]
    command += ["-q", "-o", "addopts=", "-p", "no:cacheprovider", str(path)]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, encoding="utf-8")


def test_the_untouched_learner_notebook_runs_through_and_says_not_attempted(built):
    notebook = json.loads((built / "notebooks" / "en" / f"{NAME}.ipynb").read_text(encoding="utf-8"))
    cells = cells_by_id(run_cells(notebook, built / "elsewhere", built))
    said = {key: "".join(map(output_text, cells[key]["outputs"])) for key in cells if "outputs" in cells[key]}
    assert all("Not attempted yet." in said[f"check-99-{number}"] for number in (1, 2, 3))
    assert "exercise 99.1 is done" in said[f"{NAME}-5"]


def test_outputs_that_must_not_be_committed_are_refused_all_at_once(tmp_path):
    cell = "import math, os, sys\nsys.stderr.write('careful')\nprint(object(), os.getcwd())\n"
    text = TEXT.replace("import math\n", cell).replace("    return doubled_number\n", "    return x\n")
    root = make_checkout(tmp_path / "checkout", text)
    lesson = replace(read_lesson(root / "solutions" / f"{NAME}.md"), points=POINTS)
    with pytest.raises(ExecutionError) as raised:
        execute(solution_notebook(lesson, "en"), root / "solutions" / "en", root)
    said = [line for line in str(raised.value).split("\n") if line.startswith("cell ")]
    assert {line.split(": ")[0]: line.split(": ", 1)[1].split()[0] for line in said} == {
        f"cell {NAME}-3 writes to stderr, which differs between machines": "careful",
        f"cell {NAME}-3 shows a path of this machine": "<object",
        f"cell {NAME}-3 shows the address of an object": "<object",
        "cell check-99-1 checks a solution and does not say right": "✗",
    }


def test_the_command_names_the_notebook_of_a_failed_run_and_writes_none(tmp_path):
    root = make_checkout(tmp_path / "checkout", TEXT.replace("import math\n", "import math\n1 / 0\n"))
    result = run_build(root)
    assert result.returncode == 1 and f"solutions/en/{NAME}.ipynb: cell {NAME}-3 stopped" in result.stderr
    assert "ZeroDivisionError" in result.stderr
    assert not list((root / "solutions").rglob("*.ipynb")) and (root / "notebooks/en" / f"{NAME}.ipynb").exists()


def test_check_exits_1_and_says_what_to_do(checkout, capsys, monkeypatch):
    monkeypatch.setattr(builder.build, "__kwdefaults__", {**builder.build.__kwdefaults__, "records": lambda n: POINTS})
    assert run_here(checkout, "--check") == 1
    said = capsys.readouterr().err
    assert f"solutions/zh/{NAME}.ipynb: does not exist" in said and "2 differences: run `make build`" in said


def test_a_broken_source_exits_1_with_file_and_line(tmp_path):
    root = make_checkout(tmp_path / "checkout", TEXT.replace("return -x", "return -"))
    result = run_build(root, "--no-execute")
    line = TEXT[: TEXT.index("return -x")].count("\n") + 1
    assert result.returncode == 1 and f"solutions/{NAME}.md:{line}: the solution edition" in result.stderr


def test_records_and_text_must_name_the_same_exercises(checkout):
    with pytest.raises(LessonError, match=rf"solutions/{NAME}\.md:\d+: exercise 99.3 has no record"):
        builder.build(checkout, records=lambda name: {"99.1": 2, "99.2": 3})
    with pytest.raises(LessonError, match="records have exercise 99.4"):
        builder.build(checkout, records=lambda name: {**POINTS, "99.4": 1})


@pytest.mark.parametrize("name", [NAME, "99", f"{NAME}.md"])
def test_one_lesson_can_be_chosen(checkout, name):
    assert [path.stem for path in builder.lesson_sources(checkout, name)] == [NAME]


def test_an_unknown_lesson_and_a_folder_that_is_no_checkout_exit_2(checkout, tmp_path, capsys):
    assert run_here(checkout, "--lesson", "42") == 2
    assert f"no lesson '42'; there are {NAME}" in capsys.readouterr().err
    assert run_here(tmp_path / "nowhere") == 2
    assert "nowhere is not a checkout of fp8lab" in capsys.readouterr().err
    (checkout / "solutions" / f"{NAME}.md").unlink()
    assert run_here(checkout, "--check") == 2
    assert "holds no lesson" in capsys.readouterr().err


def test_the_checkout_around_a_folder_is_found(checkout):
    assert builder.find_root(checkout / "notebooks" / "en") == checkout.resolve()


def test_settings_for_badges_come_from_pyproject(checkout):
    project = checkout / "pyproject.toml"
    project.write_text('[project]\nname = "fp8lab"\n[tool.fp8lab]\nrepository = "them/it"\n', encoding="utf-8")
    want = {"repository": "them/it", "branch": "main", "published": False}
    assert builder.platform_settings(checkout) == want
    with project.open("a", encoding="utf-8") as file:
        file.write("published = true\n")
    assert builder.platform_settings(checkout) == {**want, "published": True}
    builder.build(checkout, execute=False, report=lambda line: None, records=lambda name: POINTS)
    built = (checkout / "notebooks" / "en" / f"{NAME}.ipynb").read_text(encoding="utf-8")
    assert "them/it/blob/main" in built and "pip install --no-deps fp8lab==" in built
    (solution, _) = builder.solutions(checkout, builder.read_lessons(checkout, records=lambda name: POINTS)[0]).values()
    assert "pip install --no-deps fp8lab==" in json.dumps(solution)


@pytest.mark.parametrize("terminal", [True, False])
def test_every_file_is_made_whether_progress_is_a_bar_or_lines(checkout, monkeypatch, capsys, terminal):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    data = checkout / "fp8lab/course/data" / f"{NAME}.json"
    data.unlink()
    assert builder.build(checkout, execute=False, records=lambda name: POINTS) == [f"fp8lab/course/data/{NAME}.json"]
    assert data.exists()
    assert ("[3/3] fp8lab/course/data" in capsys.readouterr().out) is not terminal
