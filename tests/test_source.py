"""Reading a lesson: the cells as jupytext sees them, and every rule with the file and line that it reports."""

from __future__ import annotations

import json

import jupytext
import pytest
from sample_lesson import NAME, TEXT, write_lesson

from fp8lab.course.holes import find_holes, identity, make_stub, parse_keys
from fp8lab.course.source import Lesson, LessonError, packaged, packaged_names, read_lesson
from fp8lab.course.validate import unknown_to_records


@pytest.fixture
def lesson(tmp_path) -> Lesson:
    return read_lesson(write_lesson(tmp_path))


def line_of(text: str, anchor: str) -> int:
    """The 1-based line of `text` that holds `anchor`, which must be there once."""
    assert text.count(anchor) == 1, f"{anchor!r} stands {text.count(anchor)} times in the text"
    return text[: text.index(anchor)].count("\n") + 1


def test_cells_are_those_that_jupytext_reads(lesson):
    notebook = jupytext.reads(TEXT, fmt="md:myst")
    assert [(c.cell_type, c.source) for c in notebook.cells] == [(c.kind, c.source) for c in lesson.cells]


def test_title_keys_and_roles(lesson):
    assert lesson.name == NAME
    assert lesson.title == {"en": "Twice and thrice", "zh": "两倍与三倍"}
    assert lesson.keys == ("99.1", "99.2", "99.3")
    assert [c.role for c in lesson.cells if c.kind == "code"] == [
        "code", "exercise", "check", "exercise", "check", "check", "code", "code"
    ]  # fmt: skip


def test_every_cell_knows_the_line_where_its_text_begins(lesson):
    lines = TEXT.split("\n")
    for cell in lesson.cells:
        assert lines[cell.line - 1] == cell.source.split("\n")[0], cell.id


def test_ids_are_unique_in_each_language_and_shared_by_a_pair(lesson):
    for lang in ("en", "zh"):
        ids = [cell.id for cell in lesson.cells if cell.speaks(lang)]
        assert len(set(ids)) == len(ids)
    english = [cell.id for cell in lesson.cells if cell.lang == "en"]
    assert english == [cell.id for cell in lesson.cells if cell.lang == "zh"]


def test_an_answer_more_or_less_renumbers_no_other_cell(lesson, tmp_path):
    answer = '+++ {"lang": "en", "answer": "99.1"}'
    start, end = TEXT.index(answer), TEXT.index("```{code-cell}\n# exercise 99.2")
    merged = TEXT[:start] + TEXT[end:].replace('"answer": "99.2, 99.3"', '"answer": "99.1-99.3"')
    other = read_lesson(write_lesson(tmp_path / "other", merged))
    assert [c.id for c in other.cells if c.role != "answer"] == [c.id for c in lesson.cells if c.role != "answer"]


def test_stub_names_the_exercise_and_what_is_expected(lesson):
    stub = lesson.exercise_cell("99.1").stub
    assert "# TODO 99.1: twice the number / 这个数的两倍" in stub
    namespace: dict = {}
    exec(stub, namespace)
    with pytest.raises(NotImplementedError) as raised:
        namespace["double"](1)
    assert str(raised.value) == 'exercise 99.1: a number, "two" times x'


def test_several_holes_of_one_key_each_raise():
    cell = (
        "# exercise 1.2\ndef f(x):\n    if x:\n        ### BEGIN SOLUTION 1.2: one\n        return 1\n"
        "        ### END SOLUTION\n    ### BEGIN SOLUTION 1.2: two\n    return 2\n    ### END SOLUTION"
    )
    holes, problems = find_holes(cell)
    assert not problems
    assert make_stub(cell, holes) == (
        '# exercise 1.2\ndef f(x):\n    if x:\n        raise NotImplementedError("exercise 1.2: one")\n'
        '    raise NotImplementedError("exercise 1.2: two")'
    )


def test_worked_answer_is_the_solved_code_without_markers_and_the_prose_of_the_language(lesson):
    code, prose = lesson.worked_answer("99.2", "zh")
    assert "SOLUTION" not in code and "return double(x) + x" in code and "return -x" in code
    assert prose == "三倍就是两倍再加一倍；只改符号位就得到相反数。"
    with pytest.raises(ValueError, match=r"no exercise '99.9'; it has 99.1, 99.2, 99.3"):
        lesson.worked_answer("99.9", "en")


def test_a_lesson_survives_json(lesson):
    assert Lesson.from_dict(json.loads(json.dumps(lesson.to_dict()))) == lesson


def test_data_of_another_version_is_refused(lesson):
    with pytest.raises(ValueError, match="version 0; this fp8lab reads 1"):
        Lesson.from_dict({**lesson.to_dict(), "version": 0})


def test_packaged_lists_what_there_is():
    with pytest.raises(ValueError, match="no lesson '98_none'; there are "):
        packaged("98_none")
    for name in packaged_names():
        assert packaged(name).name == name


@pytest.mark.parametrize(
    "text, keys",
    [
        ("1.4", ("1.4",)),
        ("4.1-4.3", ("4.1", "4.2", "4.3")),
        ("4.8-4.10", ("4.8", "4.9", "4.10")),
        ("4.1, 4.3-4.4", ("4.1", "4.3", "4.4")),
    ],
)
def test_keys(text, keys):
    assert parse_keys(text) == keys


@pytest.mark.parametrize("text", ["", "1", "1.4-", "1.4,1.5", "4.3-4.1", "1.1-2.2", "1.1, 1.1", "a.b", "1.4 "])
def test_what_is_no_list_of_keys(text):
    with pytest.raises(ValueError):
        parse_keys(text)


@pytest.mark.parametrize("line", ["#exercise 1.4", "# Exercise 1.4", "# exercise 1.4:", "# check: 1.4", "## check 1.4"])
def test_an_almost_marker_is_an_error_not_a_comment(line):
    with pytest.raises(ValueError, match="is not a marker"):
        identity(line + "\nx = 1")


def test_an_ordinary_comment_is_no_marker():
    assert identity("# exercise the codec on every byte\nx = 1") == ("code", ())
    assert identity("x = 1") == ("code", ())


# What is replaced in the sample lesson, by what, the text whose line is reported, and words of the message.
BROKEN = {
    "hole not closed": ("    ### END SOLUTION\n```\n\n```{code-cell}\n# check 99.1", "```\n\n```{code-cell}\n# check 99.1",
                        "### BEGIN SOLUTION 99.1", "without an END SOLUTION"),
    "end without begin": ('    """Twice x."""', '    """Twice x."""\n    ### END SOLUTION # 0', "END SOLUTION # 0",
                          "is not a marker"),
    "stray end": ("def double(x):", "### END SOLUTION\ndef double(x):", "### END SOLUTION\ndef", "without a BEGIN"),
    "nested holes": ("    doubled_number = x + x", "    ### BEGIN SOLUTION 99.1: nested", "99.1: nested",
                     "a second BEGIN SOLUTION"),
    "marker without key": ("### BEGIN SOLUTION 99.3: a number", "### BEGIN SOLUTION", "### BEGIN SOLUTION\n",
                           "is not a marker"),
    "marker in small letters": ("### BEGIN SOLUTION 99.3: a number", "# begin solution 99.3", "# begin solution",
                                "is not a marker"),
    "end indented otherwise": ("    return doubled_number\n    ###", "    return doubled_number\n  ###",
                               "  ### END SOLUTION\n```\n\n```{code-cell}\n# check 99.1", "not indented like"),
    "hole in the margin": ("    doubled_number = x + x", "  # x\n    doubled_number = x + x", "  # x", "indented less"),
    "key of the region": ("BEGIN SOLUTION 99.1: a number", "BEGIN SOLUTION 99.2: a number", '99.2: a number, "two"',
                          "first line says 99.1"),
    "hole in an unmarked cell": ("# exercise 99.1\n", "", "### BEGIN SOLUTION 99.1",
                                 "first line is not `# exercise 99.1`"),
    "key without hole": ("# exercise 99.2-99.3", "# exercise 99.2-99.4", "# exercise 99.2-99.4",
                         "99.4 has no `### BEGIN SOLUTION 99.4"),
    "seven lines": ("    doubled_number = x + x", "\n".join(f"    y{n} = x" for n in range(6)),
                    "### BEGIN SOLUTION 99.1", "has 7 lines; at most 6"),
    "empty hole": ("    doubled_number = x + x\n    return doubled_number\n", "\n", "### BEGIN SOLUTION 99.1", "is empty"),
    "solution syntax": ("return -x", "return -", "return -\n", "solution edition of this cell does not parse"),
    "learner syntax": ("    return doubled_number\n    ### END SOLUTION",
                       "    return doubled_number\n    ### END SOLUTION\n    if x:\n    ### BEGIN SOLUTION 99.1: last\n"
                       "        return 2\n    ### END SOLUTION", "# exercise 99.1", "learner edition of this cell"),
    "magic": ("import math", "%matplotlib inline", "%matplotlib", "no % magics"),
    "hole at top level": ("def double(x):\n    \"\"\"Twice x.\"\"\"", "for x in ():",
                          "# exercise 99.1", "outside a function"),
    "no TODO": ("    # TODO 99.1: twice the number / 这个数的两倍\n", "", "# exercise 99.1", "no line `# TODO 99.1:"),
    "TODO in English only": ("twice the number / 这个数的两倍", "twice the number", "# TODO 99.1", "not bilingual"),
    "TODO in Chinese only": ("twice the number / 这个数的两倍", "这个数 / 的两倍", "# TODO 99.1", "not bilingual"),
    "exercise twice": ("```{code-cell}\n# check 99.1", "```{code-cell}\n# exercise 99.1\ndef again(x):\n"
                       "    # TODO 99.1: more / 更多\n    ### BEGIN SOLUTION 99.1: x\n    return x\n    ### END SOLUTION\n"
                       "```\n\n```{code-cell}\n# check 99.1", "# exercise 99.1\ndef again", "exercise 99.1 stands here again"),
    "check twice": ("# check 99.3\ncheck(\"99.3\", Machine)", "# check 99.2\ncheck(\"99.2\", 3)",
                    "# check 99.2\ncheck(\"99.2\", 3)", "check 99.2 stands here again"),
    "exercise without check": ("```{code-cell}\n# check 99.1\ncheck(\"99.1\", double)\n```\n", "", "# exercise 99.1",
                               "no cell whose first line is `# check 99.1`"),
    "check without exercise": ("# check 99.3\ncheck(\"99.3\"", "# check 99.8\ncheck(\"99.8\"", "# check 99.8",
                               "check 99.8 without a cell `# exercise 99.8`"),
    "check of another key": ("check(\"99.3\", Machine)", "check(\"99.2\", Machine, 0)", "# check 99.3",
                             "the first line says check 99.3, the cell checks 99.2"),
    "key of another lesson": ("# check 99.3\ncheck(\"99.3\"", "# check 9.3\ncheck(\"9.3\"", "# check 9.3",
                              "key 9.3 does not belong to lesson 99_sample"),
    "almost a marker": ("# check 99.3", "# Check 99.3", "# Check 99.3", "is not a marker"),
    "no worked answer": ('"answer": "99.2, 99.3"', '"answer": "99.2"', "# exercise 99.2-99.3", "99.3 has no worked answer"),
    "answer of nothing": ('"answer": "99.2, 99.3"', '"answer": "99.2-99.4"', "A triple is", "answer 99.4 without"),
    "answer not a key": ('"en", "answer": "99.1"', '"en", "answer": 99.1', "Adding a number", "a key in quotes"),
    "answer in one language": ('"zh", "answer": "99.1"', '"zh"', "一个数加上自己", "does not match the English one"),
    "English alone": ('+++ {"lang": "zh"}\n\n接下来求两倍。\n', "", "The double of a number", "not followed by its Chinese"),
    "Chinese alone": ('+++ {}\n\n$2x', '+++ {"lang": "zh"}\n\n独自 $2x', "独自", "does not follow an English one"),
    "languages swapped": ("接下来求两倍。", "Next comes the double.", "Next comes", "marked zh and has no Chinese"),
    "English cell in Chinese": ("What is twice a number?", "一个数的两倍是多少？一个数的两倍", "# Twice and thrice\n",
                                "most of it is Chinese"),
    "unknown language": ('{"lang": "zh"}\n\n接下', '{"lang": "cn"}\n\n接下', "接下来求两倍", "lang is 'cn'"),
    "unknown option": ("{}\n\n$2x", '{"Lang": "en"}\n\n$2x', '+++ {"Lang"', r"unknown cell options \['Lang'\]"),
    "tags not a list": (":tags: [picture]", ":tags: picture", "```{code-cell}\n:tags: picture", "tags must be a list"),
    "bare block break": ("The double of a number is next.", "The double\n\n+++\n\nof a number", "+++\n\nof a number",
                         "a bare \\+\\+\\+ splits"),
    "broken cell options": ("+++ {}\n\n$2x", "+++ {lang}\n\n$2x", "+++ {lang}", "cannot be read"),
    "cell not closed": ("ipywidgets.HTML(value=\"<b>8</b>\")\n```", "ipywidgets.HTML(value=\"<b>8</b>\")",
                        "```{code-cell}\n:tags: [widget]", "not closed"),
    "cell inside a cell": ("print(f\"{math.pi:.3f}\")\n```", "print(f\"{math.pi:.3f}\")", "```{code-cell}\nimport math",
                           "not closed"),
    "indented cell": ("```{code-cell}\nimport math\n\nprint(f\"{math.pi:.3f}\")\n```",
                      "- a\n\n  ```{code-cell}\n  import math\n  ```", "  ```{code-cell}\n  import", "inside another block"),
    "not a code cell": ("```{code-cell}\nimport math", "```{code-block} python\nimport math", "{code-block}", "not a cell"),
    "no heading": ("# Twice and thrice\n\n", "Twice and thrice\n\n", "Twice and thrice\n\nWhat", "# heading"),
    "leak of a solution": ("接下来求两倍。", "接下来：`doubled_number = x + x`，然后 `return doubled_number`。\n\n"
                           "```\ndoubled_number = x + x\nreturn doubled_number\n```", "接下来：",
                           "shows the solution of 99.1, which is at line"),
    "leak of an answer": ("The double of a number is next.", "Adding a number to itself doubles it, exactly, in\n"
                          "every binary format.", "Adding a number to itself doubles it, exactly, in\nevery",
                          "shows the worked answer of 99.1"),
    "another lesson's front matter": ("lesson: 99_sample", "lesson: 98_sample", "---\njupytext", "says lesson '98_sample'"),
    "no title": ("  title:\n    en: Twice and thrice\n    zh: 两倍与三倍\n", "", "---\njupytext", "the front matter needs"),
    "title in one language": ("    zh: 两倍与三倍\n", "", "---\njupytext", "one in zh"),
    "kernel": ("  name: python3", "  name: my-env", "---\njupytext", "'my-env'; every platform has python3"),
    "no kernel name": ("  display_name: Python 3\n", "", "---\njupytext", "no notebook: 'display_name'"),
    "front matter not YAML": ("  lesson: 99_sample", "  lesson: 99_sample: x", "  lesson: 99_sample: x", "makes no notebook"),
}  # fmt: skip


@pytest.mark.parametrize("old, new, anchor, message", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_lesson_is_refused_at_its_line(tmp_path, old, new, anchor, message):
    assert old in TEXT
    text = TEXT.replace(old, new)
    path = write_lesson(tmp_path, text)
    with pytest.raises(LessonError) as raised:
        read_lesson(path, shown_as="solutions/99_sample.md")
    expected = rf"(?m)^solutions/99_sample\.md:{line_of(text, anchor)}: .*{message}"
    raised.match(expected)


def test_all_problems_come_at_once_in_order_of_line(tmp_path):
    text = TEXT.replace("return -x", "return -").replace("twice the number / 这个数的两倍", "twice")
    with pytest.raises(LessonError) as raised:
        read_lesson(write_lesson(tmp_path, text))
    assert [p.line for p in raised.value.problems] == [line_of(text, "# TODO 99.1"), line_of(text, "return -\n")]


@pytest.mark.parametrize("name", ["99_Sample", "sample", "99_课", "9_sample", "99_a b"])
def test_the_name_of_a_lesson_file_is_plain(tmp_path, name):
    with pytest.raises(LessonError, match="named like 01_decode.md"):
        read_lesson(write_lesson(tmp_path, TEXT, name))


@pytest.mark.parametrize(
    "data, message",
    [
        (TEXT.replace("\n", "\r\n").encode(), "LF line ends"),
        (TEXT.encode("utf-8-sig"), "byte order mark"),
        (TEXT.encode("gb18030"), "save the file as UTF-8"),
    ],
    ids=["CRLF", "BOM", "GB18030"],
)
def test_the_file_is_plain_utf8(tmp_path, data, message):
    path = tmp_path / f"{NAME}.md"
    path.write_bytes(data)
    with pytest.raises(LessonError, match=message):
        read_lesson(path)


def test_keys_are_held_against_the_records(lesson):
    assert not list(unknown_to_records(lesson, {"99.1": 2, "99.2": 3, "99.3": 1}))
    found = list(unknown_to_records(lesson, {"99.1": 2, "99.2": 3, "99.7": 1}))
    assert [line for line, _ in found] == [line_of(TEXT, "# exercise 99.2-99.3"), 1]
    assert "exercise 99.3 has no record" in found[0][1] and "exercise 99.7" in found[1][1]
