"""Lesson 10 on machines without Triton (macOS, Windows), and with Triton imported too early: it says so, calmly."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hide_triton import without_triton
from triton_here import WHY, needs_triton

from fp8lab.course.execute import _faults, output_text, run_cells

ROOT = Path(__file__).resolve().parents[1]

RUN_CELLS = """
import re, sys
sys.path.insert(0, {tests!r})
from fp8lab.course.check import Check
from fp8lab.course.progress import Progress
from fp8lab.course.registry import lesson_exercises
from fp8lab.course.source import read_lesson
lesson = read_lesson({lesson!r})
names = {{"__name__": "notebook", "check": Check({lang!r}, Progress(None))}}
for cell in lesson.cells:
    if cell.kind == "code" and "picture" not in cell.tags:
        source = cell.{edition}
        if cell.role == "check":
            source = re.sub(r"^check\\(", "print(check(", source, flags=re.M) + ")"
        exec(compile(source, cell.id, "exec"), names)
print([e.key for e in lesson_exercises("10_gpu")])
"""


def run(code: str, **variables: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment |= {"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT), "FP8LAB_PROGRESS": "off", **variables}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def cells(edition: str, lang: str) -> str:
    lesson = str(ROOT / "solutions" / "10_gpu.md")
    return RUN_CELLS.format(tests=str(ROOT / "tests"), lesson=lesson, edition=edition, lang=lang)


@pytest.mark.parametrize("edition", ["source", "stub"])
@pytest.mark.parametrize("lang, calm", [("en", "Triton is missing"), ("zh", "缺少 Triton")])
def test_without_triton_every_cell_runs_and_every_check_is_calm(edition, lang, calm, tmp_path):
    said = run(cells(edition, lang), PYTHONPATH=os.pathsep.join([without_triton(tmp_path), str(ROOT)]))
    checks = re.findall(r"^(\S) (10\.\d) ", said, flags=re.M)
    in_python = {"10.6": "⧗", "10.7": "✓"} if edition == "source" else {"10.6": "○", "10.7": "○"}
    assert checks == [(in_python.get(key, "⧗"), key) for key in (f"10.{n}" for n in range(1, 9))], said
    stopped = [mark for mark, _ in checks].count("⧗")
    assert said.count(calm) == stopped and said.count("pip install triton") == stopped
    assert "'10.8'" in said  # the records are there


@needs_triton
def test_importing_the_records_imports_no_triton():
    code = "import sys; from fp8lab.course.registry import lesson_exercises; lesson_exercises('10_gpu')\n"
    assert run(code + "from fp8lab.explore import gpu_pictures\nprint('triton' in sys.modules)") == "False\n"


@needs_triton
def test_triton_imported_too_early_is_explained():
    said = run("import triton\n" + cells("source", "en"))
    assert said.count("restart the kernel") == 7 and said.count("TRITON_INTERPRET=1 is missing") == 7


@needs_triton
def test_the_grader_judges_kernels_in_a_process_that_set_nothing():
    code = """
    from fp8lab.course.check import verdict
    from fp8lab.course.registry import exercise
    found = exercise("10.3")
    mistake = next(m for m in found.misconceptions if m.name == "load without a mask")
    result = verdict(found, mistake.answer, 5)
    print(result.state, result.misconception.name)
    """
    assert run(textwrap.dedent(code)) == "wrong load without a mask\n"


# ---- the notebooks themselves

NOT_INSTALLED = {
    "en": "Triton is not installed here (it is made for Linux: `pip install triton`). "
    "You can read on; nothing was run.",
    "zh": "这里没有安装 Triton（它只支持 Linux：`pip install triton`）。可以继续阅读；没有运行任何内核。",
}


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("kind", ["notebooks", "solutions"])
def test_without_triton_the_notebook_runs_to_its_end_and_says_what_is_missing(kind, lang, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", without_triton(tmp_path / "hidden"))
    notebook = json.loads((ROOT / kind / lang / "10_gpu.ipynb").read_text(encoding="utf-8"))
    executed = run_cells(notebook, tmp_path / "work", ROOT)
    said = {
        cell["id"]: "\n".join(map(output_text, cell["outputs"]))
        for cell in executed["cells"]
        if cell["cell_type"] == "code"
    }
    marks = {key: text[0] for key, text in said.items() if key.startswith("check-")}
    in_python = (
        {"check-10-6": "⧗", "check-10-7": "✓"} if kind == "solutions" else {"check-10-6": "○", "check-10-7": "○"}
    )
    assert marks == {f"check-10-{n}": in_python.get(f"check-10-{n}", "⧗") for n in range(1, 9)}
    for key, mark in marks.items():
        assert mark != "⧗" or NOT_INSTALLED[lang] in said[key]
    assert NOT_INSTALLED[lang] in next(text for key, text in said.items() if key not in ("setup",) and text)
    for cell in executed["cells"]:
        assert not [o for o in cell.get("outputs", []) if o.get("name") == "stderr"], cell["id"]
    pictures = [o for c in executed["cells"] for o in c.get("outputs", []) if "image/png" in o.get("data", {})]
    assert len(pictures) == 3
    if kind == "solutions":  # what `fp8lab build` says: it does not write such outputs into the reference
        faults = [fault for cell in executed["cells"] for fault in _faults(cell, ROOT)]
        assert len(faults) == 13  # seven checks, six demos
        for fault in faults:
            assert f"cannot be run on this machine: {NOT_INSTALLED[lang]}" in fault and "--no-execute" in fault


# ---- the tests

SKIPPED = """
import triton_here


@triton_here.needs_triton
def test_needs_it():
    import triton
"""


@pytest.mark.parametrize(
    "ci, platform, ends",
    [
        ("", "linux", "1 skipped"),
        ("true", "linux", "1 failed"),
        ("true", "darwin", "1 skipped"),
        ("", "win32", "1 skipped"),
    ],
)
def test_tests_skip_with_a_reason_and_under_ci_a_linux_without_triton_fails(ci, platform, ends, tmp_path):
    (tmp_path / "test_it.py").write_text(f"import sys\nsys.platform = {platform!r}\n{SKIPPED}")
    paths = [without_triton(tmp_path / "hidden"), str(ROOT / "tests")]
    environment = {**os.environ, "CI": ci, "PYTHONPATH": os.pathsep.join(paths), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-c", os.devnull, "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ends in done.stdout and (WHY in done.stdout) == ("skipped" in ends), done.stdout
