"""Reading a lesson: the cells as jupytext sees them, and every rule with the file and line that it reports."""

from __future__ import annotations

import json
import textwrap

import jupytext
import pytest
from broken_lessons import BROKEN
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


def test_the_front_matter_of_the_authors_guide_can_be_read(tmp_path, root):
    guide = (root / "docs" / "lessons.md").read_text(encoding="utf-8")
    example = textwrap.dedent(guide[guide.index("    ---\n") :].split("\n\n")[0])
    text = (example + TEXT[TEXT.index("\n\n+++") :]).replace("99.", "1.")
    lesson = read_lesson(write_lesson(tmp_path, text, "01_decode"))
    assert lesson.title == {"en": "What does byte 0x78 mean?", "zh": "字节 0x78 是多少？"}


def test_keys_are_held_against_the_records(lesson):
    assert not list(unknown_to_records(lesson, {"99.1": 2, "99.2": 3, "99.3": 1}))
    found = list(unknown_to_records(lesson, {"99.1": 2, "99.2": 3, "99.7": 1}))
    assert [line for line, _ in found] == [line_of(TEXT, "# exercise 99.2-99.3"), 1]
    assert "exercise 99.3 has no record" in found[0][1] and "exercise 99.7" in found[1][1]
