"""The instructor guide: its commands parse, those that can be run are run, and what it says about files is so."""

from __future__ import annotations

import importlib
import re
import shlex

import pytest
from grading_class import sandbox_problem
from submissions import Notebook

from fp8lab.cli import COMMANDS, main, top_parser
from fp8lab.grading.review import KINDS
from fp8lab.grading.verdict import SHOWN, VERDICTS

GUIDES = {"en": "docs/instructors.md", "zh": "docs/instructors.zh-CN.md"}
CANVAS = ("smithann_4711_90210_01_decode.ipynb", "leejo_LATE_4712_90211_01_decode.ipynb")
ROSTER = 'Student,ID,SIS User ID,SIS Login ID,Section\n"Smith, Ann",4711,u1,ann,A\n"Lee, Jo",4712,u2,jo,A\n'


@pytest.fixture(scope="module")
def texts(root):
    return {lang: (root / path).read_text(encoding="utf-8") for lang, path in GUIDES.items()}


def commands(text: str) -> list[list[str]]:
    """The arguments of every `fp8lab ...` line in a block of commands."""
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("fp8lab ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def parse(arguments: list[str]) -> None:
    parser = top_parser()
    importlib.import_module(COMMANDS[arguments[0]].module).add_arguments(parser.commands[arguments[0]])
    parser.parse_args(arguments)


@pytest.mark.parametrize("path", [*GUIDES.values(), "README.md", "README.zh-CN.md"])
def test_every_command_is_one_that_the_program_takes(root, path):
    found = commands((root / path).read_text(encoding="utf-8"))
    assert any(arguments[0] == "grade" for arguments in found)
    for arguments in found:
        parse(arguments)


def test_a_command_that_the_program_does_not_take_would_be_seen():
    with pytest.raises(SystemExit):
        parse(commands("```bash\nfp8lab grade in/ --out o/ --no-such-option\n```\n")[0])


def test_both_languages_show_the_same_commands_and_the_same_chapters(texts):
    shown = {lang: [[a for a in c if a not in ("en", "zh")] for c in commands(text)] for lang, text in texts.items()}
    assert shown["en"] == shown["zh"]
    for mark in ("^## ", r"^\|", "^- ", "^```"):
        counts = {len(re.findall(mark, text, re.MULTILINE)) for text in texts.values()}
        assert len(counts) == 1, mark


@pytest.mark.parametrize("lang", GUIDES)
def test_links_lead_somewhere(root, texts, lang):
    text = texts[lang]
    anchors = {
        re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^## (.*)$", text, re.MULTILINE)
    }
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) >= 10
    for link in links:
        assert link[1:] in anchors if link.startswith("#") else (root / "docs" / link).is_file(), link


def test_both_readmes_link_to_the_guide(root):
    assert "(docs/instructors.md)" in (root / "README.md").read_text(encoding="utf-8")
    assert "(docs/instructors.zh-CN.md)" in (root / "README.zh-CN.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("lang", GUIDES)
def test_verdicts_flags_and_make_targets_are_the_real_ones(root, texts, lang):
    text = texts[lang]
    assert [v for v in VERDICTS if f"| `{v}` | {SHOWN[v].get(lang)} |" not in text] == []
    assert [kind.en for kind in KINDS.values() if f"| {kind.en}" not in text] == []
    assert lang == "en" or [kind.zh for kind in KINDS.values() if kind.zh not in text] == []
    targets = re.findall(r"^([a-z]+):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for target in re.findall(r"\bmake ([a-z]+)\b", text):
        assert target in targets or f"`make {target}`" not in text and f"\nmake {target}\n" not in text


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A folder with all that the guide's commands name; untouched notebooks, so that no kernel is started."""
    import zipfile

    folder = tmp_path_factory.mktemp("guide")
    for name in ("ann", "bob"):
        Notebook().save(folder / "submissions" / name / "01_decode.ipynb")
        Notebook().save(folder / "submitted" / name / "fp8" / "01_decode.ipynb")
    with zipfile.ZipFile(folder / "week1.zip", "w") as archive:
        for name in CANVAS:
            archive.writestr(name, Notebook().bytes())
    (folder / "class.csv").write_text(ROSTER, encoding="utf-8")
    return folder


def test_the_commands_that_grade_do_grade(texts, course, monkeypatch, capsys):
    monkeypatch.chdir(course)
    lines = [line for line in commands(texts["zh"]) if line[0] == "grade" and "--dask" not in line]
    assert len(lines) == 8
    for line in lines:
        code = main([*line, *(["--no-sandbox"] if sandbox_problem() else [])])
        assert code == 0, (line, capsys.readouterr())
        if "class.csv" in line:
            assert "Canvas" in capsys.readouterr().out
            sheet = (course / "marks" / "lms" / "canvas.csv").read_text(encoding="utf-8-sig")
            assert '"Smith, Ann",4711,u1,ann,A,0' in sheet


@pytest.mark.parametrize("lang", GUIDES)
def test_what_the_guide_says_is_in_the_folder_is_there(texts, course, monkeypatch, lang):
    monkeypatch.chdir(course)
    main(["grade", "week1.zip", "--out", "seen", *(["--no-sandbox"] if sandbox_problem() else [])])
    named = set(re.findall(r"^\| `(\w+[./][\w./]*)` \|", texts[lang], re.MULTILINE))
    assert {"report.html", "lms/canvas.csv", "review.csv", "feedback/"} <= named
    assert [name for name in named if not (course / "seen" / name).exists()] in ([], ["lms/moodle-01_decode.csv"])
    there = {path.name for path in (course / "seen").iterdir() if not path.name.startswith(".")}
    assert there == {name.rstrip("/") for name in named if "/" not in name.rstrip("/")}
