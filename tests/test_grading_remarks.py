"""What the grader remarks is Chinese on a Chinese page: nothing that it can say is missing from the list."""

from __future__ import annotations

import ast
import re

import pytest
from made_up_class import LESSON, absent, entry, unreadable
from report_reader import report

from fp8lab.course.text import Text
from fp8lab.grading import layouts, words
from fp8lab.grading.overview import Trouble
from fp8lab.grading.remarks import LONGEST, PHRASES, counted, translated

MODULES = ("archive", "batch", "intake", "jobs", "judge", "looking", "notebook", "sorting", "source")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
SAID_BY = ("Unreadable", "_refuse", "append", "mark")  # calls whose text a reader sees
COMPOSED = {  # what the reader below cannot put together -> what it can be
    "no notebook in it7": ("no notebook in it", "no notebook in it; a.7z, b.rar is not looked into"),
    "7: no valid JSON (7)": ("cut off or damaged: no valid JSON (line 3)", "not a notebook: no valid JSON (why not)"),
}


def texts_of(node: ast.expr) -> list[str]:
    """Every text that an expression can be, with 7 for what varies: 7 is a number and anything else, too."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        pieces = [p.value if isinstance(p, ast.Constant) else "7" for p in node.values]
        return ["".join(pieces)]
    if isinstance(node, ast.IfExp):
        return texts_of(node.body) + texts_of(node.orelse)
    if isinstance(node, ast.BoolOp):
        return [text for value in node.values for text in texts_of(value)]
    return []


def remarks_in(root, module: str) -> set[str]:
    """The texts of problems in a module: arguments of SAID_BY, `problem=...`, `problem = ...`, and what is returned
    by functions that say why not."""
    tree = ast.parse((root / "fp8lab" / "grading" / f"{module}.py").read_text(encoding="utf-8"))
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            owner = getattr(getattr(node.func, "value", None), "attr", "")
            if name in SAID_BY and (name != "append" or owner == "warnings"):
                found += [text for argument in node.args for text in texts_of(argument)]
            found += [text for k in node.keywords if k.arg == "problem" for text in texts_of(k.value)]
        if isinstance(node, ast.Assign) and "problem" in ast.unparse(node.targets[0]):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            found += [text for value in values for text in texts_of(value)]
        if isinstance(node, ast.FunctionDef) and node.name in ("_refusal", "read_evidence"):
            returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value]
            found += [text for value in returned for text in texts_of(value)]
    return {real for text in found if " " in text for real in COMPOSED.get(text, (text,))}


def test_every_problem_that_the_grader_can_tell_of_has_its_chinese(root):
    seen = {module: remarks_in(root, module) for module in MODULES}
    assert len(set().union(*seen.values())) > 45, "the reader of the modules has gone blind"
    english = {
        (module, text) for module, texts in seen.items() for text in texts if not CHINESE.search(translated(text, "zh"))
    }
    assert english == set()


def test_a_remark_that_nobody_has_put_on_the_list_would_be_seen():
    assert translated("the moon is in the way", "zh") == "the moon is in the way"


def test_layouts_and_ends_of_kernels_have_theirs():
    for shown in layouts.SHOWN.values():
        assert CHINESE.search(translated(f"week1.zip: {shown}: 1 file, 12 learners", "zh"))
    for _, note, _ in words.STOPPED.values():
        assert CHINESE.search(translated(note.format(timeout=0.5, together=1.5), "zh"))


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("cut off or damaged: no valid JSON (line 1)", "文件不完整或已损坏：JSON 无效（第 1 行）"),
        ("40,000,000 bytes; at most 33,554,432 are read", "有 40,000,000 字节，最多读取 33,554,432 字节"),
        (
            "in: a file or a folder per learner: 12 files, 1 learner",
            "in：每名学员一个文件或文件夹：12 个文件，1 名学员",
        ),
        ("小明 王: not on the roster", "小明 王：不在名单上"),
        ("cannot be read: a symbolic link", "无法读取：是符号链接"),
        ("cannot be read: Permission denied", "无法读取：Permission denied"),
        ("took more than 20 s; for review: uses os", "运行超过 20 秒；待复核：用到 os"),
        ("ann/x.docx (encrypted)", "ann/x.docx（已加密）"),
        ("notes (1).pdf", "notes (1).pdf"),
        ("notes (1)", "notes (1)"),
        ("{name}: not on the roster", "{name}：不在名单上"),
    ],
)
def test_what_varies_is_kept(english, chinese):
    assert translated(english, "zh") == chinese and translated(english, "en") == english


def test_phrases_are_all_different_and_name_the_same_things_in_both_languages():
    assert len({phrase.en for phrase in PHRASES}) == len(PHRASES)
    for phrase in PHRASES:
        assert isinstance(phrase, Text)
        assert sorted(re.findall(r"{(\w+)}", phrase.en)) == sorted(re.findall(r"{(\w+)}", phrase.zh)), phrase


def test_a_long_name_made_of_our_words_comes_to_an_end():
    name = (": fits " * 60 + " on the roster as " * 60 + " do (" * 40)[:LONGEST]
    assert translated(name, "zh") == name
    assert translated("x" * (LONGEST + 1) + ": not on the roster", "zh").endswith("not on the roster")


def test_one_is_one():
    assert [counted(n, "file") for n in (0, 1, 2)] == ["0 files", "1 file", "2 files"]


def test_a_report_in_chinese_has_no_english_sentence_of_ours(tmp_path):
    entries = [
        entry("甲", {"1.7": "timeout"}, misconceptions={"1.4": 0}, lang="zh"),
        unreadable("乙", "cut off or damaged: no valid JSON (line 1)"),
        unreadable("丙", "empty file"),
        absent("丁", lang="zh"),
    ]
    trouble = Trouble(
        (),
        ("甲/x.pdf", "甲/y.docx (encrypted)"),
        ("in: a file or a folder per learner: 3 files, 3 learners", "戊: not on the roster"),
    )
    mismatch = Text("names do not agree", "姓名对不上")
    page = report(tmp_path, entries, lang="zh", trouble=trouble, mismatch=mismatch)
    text = re.sub(
        r"01_decode|grades\.csv|review\.csv|summary\.csv|fp8lab [\d.]+|IEEE habit|[\w甲乙丙]+/[\w.]+", "", page.text
    )
    english = re.findall(r"[a-z]+(?: [a-z]+){2,}", text)
    assert english == []
    assert "运行超过 20 秒" in page.section("stopped").text
    assert "第 1 行" in page.section("files").text and "空文件" in page.section("files").text
    assert "戊：不在名单上" in page.section("files").text and "已加密" in page.section("files").text
    assert page.text.index("姓名对不上") < page.text.index("得分") and page.all("p", role="alert")
    assert not report(tmp_path, entries, lang="zh").all("p", role="alert")
    assert LESSON in page.text
