"""The class list: how it is read, and which submission belongs to whom. No kernel."""

from __future__ import annotations

import pytest
from downloads import OTHER, UNTOUCHED, blackboard, canvas, moodle, put, zipped

from fp8lab.grading.intake import collect, mismatch, with_roster
from fp8lab.grading.layouts import Who
from fp8lab.grading.roster import Roster, read_roster

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Unit 1 (99)
    Points Possible,,,,,10
"Smith, Ann",4711,20230001,asmith@uni.edu,A,
"O'Neil, Mary Ann",4712,20230002,mao@uni.edu,A,
"Student, Test",4799,,x,A,
"""
OWN = "学号,姓名,邮箱\n20230001,李雷,lilei@uni.edu.cn\n20230002,韩梅梅,hmm@uni.edu.cn\n"


def roster(tmp_path, text: str | bytes, encoding: str = "utf-8") -> Roster:
    data = text if isinstance(text, bytes) else text.encode(encoding)
    return read_roster(put(tmp_path / "roster.csv", data))


def matched(roster: Roster, who: Who | str) -> list[str]:
    return [person.label for person in roster.match(Who(who) if isinstance(who, str) else who).people]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "gbk", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_encodings_and_delimiters(tmp_path, encoding, delimiter):
    people = roster(tmp_path, OWN.replace(",", delimiter), encoding).people
    assert [(p.label, p.ids, p.logins) for p in people] == [
        ("李雷", ("20230001",), ("lilei@uni.edu.cn",)),
        ("韩梅梅", ("20230002",), ("hmm@uni.edu.cn",)),
    ]
    assert people[0].columns == {"学号": "20230001", "姓名": "李雷", "邮箱": "lilei@uni.edu.cn"}


def test_canvas_gradebook(tmp_path):
    people = roster(tmp_path, CANVAS)
    assert [person.label for person in people.people] == ["Smith, Ann", "O'Neil, Mary Ann"]
    assert people.people[0].canvas == ("4711",)
    assert matched(people, Who("smithann", "4711", layout="canvas")) == ["Smith, Ann"]
    assert matched(people, Who("oneilmaryann", "999", layout="canvas")) == ["O'Neil, Mary Ann"]
    assert matched(people, Who("newname", "4712", layout="canvas")) == ["O'Neil, Mary Ann"]


@pytest.mark.parametrize(
    ("header", "row", "label"),
    [
        ("Last Name,First Name,Username,Student ID", "Smith,Ann,asmith,1", "Ann Smith"),
        ("First name,Surname,ID number,Email address", "Ann,Smith,1,a@b.c", "Ann Smith"),
        ("姓,名,学号", "李,雷,1", "李雷"),
        ("Full Name;Login", "Ann Smith;asmith", "Ann Smith"),
        ("username", "asmith", "asmith"),
        ("\n\nNo,student_id,Group", "1,s-1,A", "s-1"),
    ],
)
def test_headers(tmp_path, header, row, label):
    assert [person.label for person in roster(tmp_path, f"{header}\n{row}\n").people] == [label]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,name\n1,Ann\n2,Bo\n1,Cy\n", "id '1' is there 2 times: Ann, Cy"),
        ("学号,姓名\n１,李雷\n1,韩梅梅\n", "学号 '１' is there 2 times: 李雷, 韩梅梅"),
        ("name,login\nAnn,X@y.z\nBo,x@Y.z\n", "login 'X@y.z' is there 2 times: Ann, Bo"),
        ("name\nAnn\nAnn\n", "'Ann' is there twice, and no id tells them apart"),
        ("colour,shape\nred,round\n", "no column that names learners in its header (colour, shape)"),
        ("", "no column that names learners in its header (nothing)"),
        ("name,id\n , \n", "nobody is on it"),
        (b"PK\x03\x04....", "a spreadsheet; save it as CSV (UTF-8)"),
        (b"name\n\xff\xff\xff\n", "neither UTF-8 nor GB 18030"),
    ],
)
def test_rosters_that_cannot_be_used(tmp_path, text, words):
    with pytest.raises(ValueError) as caught:
        roster(tmp_path, text)
    assert words in str(caught.value) and "roster.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Ann Smith", ["Ann Smith"]),
        ("ANN  smith", ["Ann Smith"]),
        ("Smith, Ann", ["Ann Smith"]),
        ("smithann", ["Ann Smith"]),
        ("ann_smith", ["Ann Smith"]),
        ("asmith", ["Ann Smith"]),
        ("s100", ["Ann Smith"]),
        ("S100", ["Ann Smith"]),
        ("S100-Ann-homework", ["Ann Smith"]),
        ("s100李雷", ["Ann Smith"]),
        ("ann@uni.edu", ["Ann Smith"]),
        ("ann", ["Ann Smith"]),
        ("Ame\u0301lie Dupont", ["Amélie Dupont"]),
        ("Dupont Amélie", ["Amélie Dupont"]),
        ("Juan García López", ["Juan García López"]),
        ("García López, Juan", ["Juan García López"]),
        ("Amelie Dupont", []),
        ("s10", []),
        ("s1000", []),
        ("An", []),
        ("Smith", []),
        ("", []),
        ("Wei Zhang", ["Wei Zhang (s103)", "Wei Zhang (s104)"]),
        ("zhangwei", ["Wei Zhang (s103)", "Wei Zhang (s104)"]),
        ("s103", ["Wei Zhang (s103)"]),
        ("Wei Zhang s104", ["Wei Zhang (s104)"]),
        ("s100_s101", ["Ann Smith", "Amélie Dupont"]),
    ],
)
def test_whose_a_folder_is(tmp_path, name, found):
    text = (
        "name,id,login,email\nAnn Smith,s100,asmith,ann@uni.edu\nAmélie Dupont,s101,,\nJuan García López,s102,,\n"
        "Wei Zhang,s103,,\nWei Zhang,s104,,\n"
    )
    assert matched(roster(tmp_path, text), name) == found


def test_an_id_of_one_and_the_name_of_another_fit_both(tmp_path):
    people = roster(tmp_path, CANVAS)
    assert matched(people, Who("smithann", "4712", layout="canvas")) == ["O'Neil, Mary Ann", "Smith, Ann"]


def test_a_number_of_moodle_is_no_id(tmp_path):
    people = roster(tmp_path, CANVAS)
    assert matched(people, Who("Somebody Else", "4711", layout="moodle")) == []
    assert matched(people, Who("Mary Ann O'Neil", "4711", layout="moodle")) == ["O'Neil, Mary Ann"]


def rows(intake) -> dict:
    return {(s.student, s.path): s.notes for s in intake.submissions}


def test_everybody_is_there_and_strangers_are_kept(tmp_path):
    people = roster(tmp_path, OWN)
    put(tmp_path / "in" / "20230001-李雷" / "hw.ipynb", UNTOUCHED)
    put(tmp_path / "in" / "mallory_01_decode.ipynb", UNTOUCHED)
    intake = with_roster(collect(tmp_path / "in"), people)
    assert rows(intake) == {
        ("李雷", "20230001-李雷/hw.ipynb"): (),
        ("mallory", "mallory_01_decode.ipynb"): ("not on the roster",),
        ("韩梅梅", ""): (),
    }
    assert intake.warnings == ("mallory: not on the roster",) and intake.errors == ()
    assert intake.people["李雷"]["学号"] == "20230001"


def test_one_learner_in_three_platforms(tmp_path):
    people = roster(tmp_path, CANVAS)
    put(tmp_path / "in" / "c.zip", zipped(canvas([("Smith, Ann", "4711", False, 901, "a.ipynb", UNTOUCHED)])))
    put(tmp_path / "in" / "m.zip", zipped(moodle([("Ann Smith", "5", "a.ipynb", OTHER)])))
    members = blackboard([("Ann Smith", "asmith", "2026-11-20-10-11-12", "a.ipynb", UNTOUCHED)])
    put(tmp_path / "in" / "b.zip", zipped(members))
    intake = with_roster(collect(tmp_path / "in"), people)
    handed_in = [(s.student, s.who.layout) for s in intake.submissions if s.path]
    assert sorted(handed_in) == [("Smith, Ann", "blackboard"), ("Smith, Ann", "canvas"), ("Smith, Ann", "moodle")]


def test_what_fits_several_is_never_guessed(tmp_path):
    people = roster(tmp_path, "name,id\nWei Zhang,1001\nWei Zhang,1002\n")
    put(tmp_path / "in" / "Wei Zhang" / "hw.ipynb", UNTOUCHED)
    intake = with_roster(collect(tmp_path / "in"), people)
    assert intake.errors == (
        "Wei Zhang: fits Wei Zhang (1001) and Wei Zhang (1002) on the roster; not guessed whose it is",
    )
    assert [(s.student, bool(s.path)) for s in intake.submissions] == [
        ("Wei Zhang", True),
        ("Wei Zhang (1001)", False),
        ("Wei Zhang (1002)", False),
    ]


def test_two_accounts_with_the_name_of_one_person_are_never_guessed(tmp_path):
    people = roster(tmp_path, "name\nWei Zhang\n")
    files = [("Zhang, Wei", str(id), False, 900 + id, "01_decode.ipynb", UNTOUCHED) for id in (51, 52)]
    intake = with_roster(collect(put(tmp_path / "a.zip", zipped(canvas(files)))), people)
    assert {s.student for s in intake.submissions} == {"zhangwei (51)", "zhangwei (52)", "Wei Zhang"}
    assert len(intake.errors) == 2 and "as zhangwei (51), zhangwei (52) do" in intake.errors[0]


# ---- names of Chinese characters


@pytest.mark.parametrize(
    ("on_the_list", "handed_in"),
    [
        ("王小明", ["王小明", "小明 王", "小明王", "王 小明", "小明　王"]),
        ("小明 王", ["王小明", "小明王"]),
        ("小明王", ["王小明", "王 小明", "小明 王"]),
        ("李伟", ["伟 李", "伟李", "李伟"]),
        ("欧阳明", ["明 欧阳", "明欧阳"]),
        ("司马相如", ["相如 司马", "相如司马"]),
        ("佐藤さくら", ["さくら 佐藤"]),
        ("김철수", ["철수 김", "철수김"]),
    ],
)
def test_names_of_chinese_characters_in_either_order(tmp_path, on_the_list, handed_in):
    people = roster(tmp_path, f"姓名,学号\n{on_the_list},1001\n陈静,1002\n")
    for name in handed_in:
        for layout in ("plain", "moodle"):
            assert matched(people, Who(name, "502" if layout == "moodle" else "", layout=layout)) == [on_the_list], name
    for name in ("小明", "王", "明小", "静 陈 二"):
        assert matched(people, name) == []


def test_two_who_differ_in_the_order_of_their_characters_are_not_guessed(tmp_path):
    people = roster(tmp_path, "姓名,学号\n张杨,1001\n杨张,1002\n")
    assert matched(people, "张杨") == matched(people, "杨 张") == ["张杨", "杨张"]
    assert matched(people, "1002杨张") == ["杨张"]


def test_where_the_list_tells_the_family_name_it_is_cut_there_and_nowhere_else(tmp_path):
    people = roster(tmp_path, "姓,名,姓名,学号\n欧阳,文山,欧阳文山,1001\n文,山欧阳,文山欧阳二,1002\n")
    assert people.people[0].names == {"欧阳文山", "文山欧阳"}
    assert matched(people, "阳文山欧") == []


def test_names_that_may_not_agree_are_said_in_one_line(tmp_path):
    people = roster(tmp_path, "name\nWang Xiaoming\nLi Wei\nChen Jing\n")
    for name in ("王小明", "李伟", "Chen Jing"):
        put(tmp_path / "in" / name / "hw.ipynb", UNTOUCHED)
    put(tmp_path / "in" / "nobody" / "essay.txt", b"")  # handed in nothing: no sign that a name is wrong
    said = mismatch(with_roster(collect(tmp_path / "in"), people), "class.csv")
    assert said.en == (
        "2 learners who handed in match nobody on the roster (李伟, 王小明); 2 on the roster handed in nothing "
        "(Wang Xiaoming, Li Wei): check the names in class.csv"
    )
    assert "2 名学员" in said.zh and "王小明" in said.zh and "Li Wei" in said.zh
    (tmp_path / "in" / "李伟" / "hw.ipynb").rename(tmp_path / "in" / "Li Wei.ipynb")
    one = mismatch(with_roster(collect(tmp_path / "in"), people), "class.csv")
    assert one.en.startswith("1 learner who handed in matches nobody on the roster (王小明); 1 on the roster")
    (tmp_path / "in" / "王小明" / "hw.ipynb").rename(tmp_path / "in" / "Wang Xiaoming.ipynb")
    assert mismatch(with_roster(collect(tmp_path / "in"), people), "class.csv") is None


def test_a_stranger_beside_a_whole_class_is_no_such_sign(tmp_path):
    people = roster(tmp_path, "name\nAnn\n")
    for name in ("Ann", "mallory"):
        put(tmp_path / "in" / name / "hw.ipynb", UNTOUCHED)
    assert mismatch(with_roster(collect(tmp_path / "in"), people), "class.csv") is None
