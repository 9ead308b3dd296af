"""What Canvas, Moodle and Blackboard give out, and plain zips: whose each notebook is. No kernel."""

from __future__ import annotations

import pytest
from downloads import OTHER, UNTOUCHED, blackboard, canvas, moodle, put, solved, zipped

from fp8lab.grading.intake import collect

CANVAS = canvas(
    [
        ("Smith, Ann", "4711", False, 90210, "01_decode.ipynb", solved("1.1")),
        ("O'Neil, Mary Ann", "4712", True, 90311, "01_decode-1.ipynb", UNTOUCHED),
        ("李雷", "4713", False, 90412, "第一课.ipynb", UNTOUCHED),
        ("Lee, Jo", "4714", False, 90413, "essay.pdf", b"%PDF"),
    ]
)
MOODLE = [
    ("Ann Smith", "123456", "01_decode.ipynb", UNTOUCHED),
    ("Ann Smith", "123456", "02_encode.ipynb", OTHER),
    ("李 雷", "123457", "作业/01_decode.ipynb", UNTOUCHED),
]
BLACKBOARD = blackboard(
    [
        ("Ann Smith", "asmith", "2026-11-20-10-11-12", "01_decode.ipynb", solved("1.1")),
        ("Ann Smith", "asmith", "2026-11-21-09-00-00", "01_decode.ipynb", UNTOUCHED),
        ("Jo de Vries", "jo_vries", "2026-11-20-10-11-12", "hw.ipynb", UNTOUCHED),
        ("Ann Vries", "ann_vries", "2026-11-20-10-11-12", "hw.ipynb", UNTOUCHED),
        ("李雷", "lilei", "2026-11-20-10-11-12", "", None),
    ]
)


def table(intake) -> dict:
    """(student, path) -> (lesson, problem)."""
    return {(s.student, s.path): (s.lesson, s.problem) for s in intake.submissions}


def students(intake) -> set[str]:
    return {s.student for s in intake.submissions}


@pytest.mark.parametrize("wrap", ["", "CS101 submissions/"])
@pytest.mark.parametrize("unpacked", [False, True])
def test_canvas(tmp_path, wrap, unpacked):
    if unpacked:
        for name, data in CANVAS.items():
            put(tmp_path / "in" / wrap / name, data)
        intake = collect(tmp_path / "in")
    else:
        intake = collect(put(tmp_path / "submissions.zip", zipped({wrap + n: d for n, d in CANVAS.items()})))
    found = {s.student: (s.lesson, s.late, s.order[0], s.when, s.who.id) for s in intake.submissions}
    assert found == {
        "smithann": ("01_decode", False, 90210, None, "4711"),
        "oneilmaryann": ("01_decode", True, 90311, None, "4712"),
        "李雷": ("01_decode", False, 90412, None, "4713"),
        "leejo": (None, False, 0, None, "4714"),
    }
    assert [name.rpartition("/")[2] for name in intake.strange] == ["leejo_4714_90413_essay.pdf"]
    assert "a Canvas download: 3 files, 4 learners" in intake.layouts[0]


def test_two_learners_of_one_canvas_name_stay_two(tmp_path):
    files = [("Wei Zhang", str(id), False, 900 + id, "01_decode.ipynb", UNTOUCHED) for id in (51, 52)]
    assert students(collect(put(tmp_path / "a.zip", zipped(canvas(files))))) == {"weizhang (51)", "weizhang (52)"}


def test_anonymous_canvas(tmp_path):
    files = [
        ("", "anon_x7Kq2", False, 90210, "hw.ipynb", UNTOUCHED),
        ("", "anon_aaB1z", True, 90211, "hw.ipynb", OTHER),
    ]
    intake = collect(put(tmp_path / "a.zip", zipped(canvas(files))))
    assert {s.student: s.late for s in intake.submissions} == {"anon_x7Kq2": False, "anon_aaB1z": True}


def test_names_with_numbers_are_not_taken_for_canvas(tmp_path):
    names = ["ann_2026_11_01_decode.ipynb", "bob_2026_12_01_decode.ipynb"]
    intake = collect(put(tmp_path / "a.zip", zipped(dict.fromkeys(names, UNTOUCHED))))
    assert students(intake) == {"ann_2026_11", "bob_2026_12"}


@pytest.mark.parametrize("folders", [True, False])
@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("unpacked", [True, False])
def test_moodle(tmp_path, folders, old, unpacked):
    files = MOODLE if folders else [(n, id, f.rpartition("/")[2], d) for n, id, f, d in MOODLE]
    members = moodle(files, folders=folders, old=old)
    if unpacked:
        for name, data in members.items():
            put(tmp_path / "in" / "CS101-Unit 1-77" / name, data)
        intake = collect(tmp_path / "in")
    else:
        intake = collect(put(tmp_path / "CS101-Unit 1-77.zip", zipped(members)))
    assert sorted((s.student, s.lesson, s.when) for s in intake.submissions) == [
        ("Ann Smith", "01_decode", None),
        ("Ann Smith", "02_encode", None),
        ("李 雷", "01_decode", None),
    ]
    assert "a Moodle download: 3 files, 2 learners" in intake.layouts[0]


def test_one_learner_alone_in_a_moodle_zip(tmp_path):
    intake = collect(put(tmp_path / "a.zip", zipped(moodle(MOODLE[:1]))))
    assert students(intake) == {"Ann Smith"}


def test_two_moodle_downloads_are_one_class_and_namesakes_in_one_stay_two(tmp_path):
    put(tmp_path / "in" / "week1.zip", zipped(moodle([("Ann Smith", "1", "a.ipynb", UNTOUCHED)])))
    put(tmp_path / "in" / "week2.zip", zipped(moodle([("Ann Smith", "2", "b.ipynb", OTHER)])))
    intake = collect(tmp_path / "in")
    assert [(s.student, s.lesson) for s in intake.submissions] == [
        ("Ann Smith", "01_decode"),
        ("Ann Smith", "02_encode"),
    ]
    same = moodle([("Ann Smith", "1", "a.ipynb", UNTOUCHED), ("Ann Smith", "3", "a.ipynb", UNTOUCHED)])
    assert students(collect(put(tmp_path / "a.zip", zipped(same)))) == {"Ann Smith (1)", "Ann Smith (3)"}


def test_online_text_of_moodle_is_no_notebook(tmp_path):
    members = {**moodle(MOODLE), "Bo Li_9_assignsubmission_onlinetext/onlinetext.html": b"<p>"}
    intake = collect(put(tmp_path / "a.zip", zipped(members)))
    assert ("Bo Li", "") in table(intake)


@pytest.mark.parametrize("wrap", ["", "gradebook/"])
def test_blackboard(tmp_path, wrap):
    intake = collect(put(tmp_path / "gradebook.zip", zipped({wrap + n: d for n, d in BLACKBOARD.items()})))
    found = sorted((s.student, s.who.name, s.lesson, s.order[0]) for s in intake.submissions if s.path)
    assert found == [
        ("ann_vries", "Ann Vries", "01_decode", 20261120101112),
        ("asmith", "Ann Smith", "01_decode", 20261120101112),
        ("asmith", "Ann Smith", "01_decode", 20261121090000),
        ("jo_vries", "Jo de Vries", "01_decode", 20261120101112),
    ]
    assert "lilei" in students(intake) and not intake.strange
    assert "a Blackboard download: 4 files, 4 learners" in intake.layouts[0]


def test_blackboard_in_another_language_and_without_receipts(tmp_path):
    attempts = [("", login, "2026-11-20-10-11-12", "hw.ipynb", UNTOUCHED) for login in ("asmith", "lilei")]
    members = blackboard(attempts, "Einheit 1", receipts=False, word="Versuch")
    assert students(collect(put(tmp_path / "a.zip", zipped(members)))) == {"asmith", "lilei"}
    assert students(collect(put(tmp_path / "b.zip", zipped(blackboard(attempts, "第一单元", word="尝试"))))) == {
        "asmith",
        "lilei",
    }


def test_blackboard_logins_that_nobody_can_tell_stay_apart(tmp_path):
    attempts = [("", login, "2026-11-20-10-11-12", "hw.ipynb", UNTOUCHED) for login in ("jo_vries", "ann_vries")]
    intake = collect(put(tmp_path / "a.zip", zipped(blackboard(attempts, "U1", receipts=False))))
    assert students(intake) == {"U1_jo_vries", "U1_ann_vries"}
    assert "nobody can tell the user names in U1_ann_vries, U1_jo_vries" in intake.warnings[0]


PLAIN = {
    "ann/01_decode.ipynb": UNTOUCHED,
    "ann/week 2/hw.ipynb": OTHER,
    "bob_01_decode.ipynb": UNTOUCHED,
    "01_decode/carol.ipynb": UNTOUCHED,
    "dave/essay.txt": b"hello",
    "erin/": b"",
    "李雷/第一课.ipynb": UNTOUCHED,
    "__MACOSX/ann/._01_decode.ipynb": b"\0",
    "readme.txt": b"hello",
}


@pytest.mark.parametrize("wrap", ["", "all/", "class of 2026/"])
def test_plain_zips_are_as_plain_folders(tmp_path, wrap):
    members = {(name if name.startswith("__MACOSX") else wrap + name): data for name, data in PLAIN.items()}
    intake = collect(put(tmp_path / "all.zip", zipped(members)))
    lessons = {(s.student, s.path.removeprefix(wrap)): s.lesson for s in intake.submissions}
    assert lessons == {
        ("ann", "ann/01_decode.ipynb"): "01_decode",
        ("ann", "ann/week 2/hw.ipynb"): "02_encode",
        ("bob", "bob_01_decode.ipynb"): "01_decode",
        ("carol", "01_decode/carol.ipynb"): "01_decode",
        ("dave", ""): None,
        ("erin", ""): None,
        ("李雷", "李雷/第一课.ipynb"): "01_decode",
    }
    assert intake.strange == (f"{wrap}readme.txt",)
    assert all(s.clock == "its time in the zip" for s in intake.submissions if s.path)


def test_a_file_beside_the_folder_around_everything(tmp_path):
    members = {"all/ann/hw.ipynb": UNTOUCHED, "all/bob/hw.ipynb": UNTOUCHED, "readme.txt": b""}
    intake = collect(put(tmp_path / "class.zip", zipped(members)))
    assert students(intake) == {"ann", "bob"} and intake.strange == ("readme.txt",)


@pytest.mark.parametrize(
    "members",
    [
        {"01_decode.ipynb": UNTOUCHED},
        {"ann/01_decode.ipynb": UNTOUCHED},
        {"work/01_decode.ipynb": UNTOUCHED, "work/02_encode.ipynb": OTHER},
        {"01_decode.ipynb": UNTOUCHED, "01_decode_final.ipynb": UNTOUCHED},
        {"week1/hw.ipynb": UNTOUCHED, "week2/hw.ipynb": OTHER},
        {"first.ipynb": UNTOUCHED, "second.ipynb": OTHER},
        {"01_decode/01_decode.ipynb": UNTOUCHED},
    ],
)
@pytest.mark.parametrize("place", ["ann.zip", "ann/homework.zip"])
def test_what_a_learner_packed_is_theirs(tmp_path, members, place):
    put(tmp_path / "in" / place, zipped(members))
    intake = collect(tmp_path / "in")
    assert students(intake) == {"ann"}
    assert {s.path for s in intake.submissions} == {f"{place}/{name}" for name in members}
    assert not any(s.problem for s in intake.submissions)


@pytest.mark.parametrize(
    "members",
    [
        {"ann_01_decode.ipynb": UNTOUCHED, "bob_01_decode.ipynb": UNTOUCHED},
        {"ann/01_decode.ipynb": UNTOUCHED, "bob/hw.ipynb": UNTOUCHED},
        {"all/ann/01_decode.ipynb": UNTOUCHED, "all/bob/hw.ipynb": UNTOUCHED},
        {"01_decode/ann.ipynb": UNTOUCHED, "01_decode/bob.ipynb": UNTOUCHED},
        {"ann.zip": zipped({"01_decode.ipynb": UNTOUCHED}), "bob.zip": zipped({"x.ipynb": OTHER})},
    ],
)
def test_a_class_in_a_zip_in_a_folder(tmp_path, members):
    put(tmp_path / "in" / "week1.zip", zipped(members))
    assert students(collect(tmp_path / "in")) == {"ann", "bob"}


def test_a_folder_of_downloads_of_all_kinds(tmp_path):
    put(tmp_path / "in" / "canvas.zip", zipped(CANVAS))
    put(tmp_path / "in" / "moodle.zip", zipped(moodle(MOODLE)))
    put(tmp_path / "in" / "02_encode" / "blackboard.zip", zipped(BLACKBOARD))
    put(tmp_path / "in" / "plain.zip", zipped({f"{name}/hw.ipynb": UNTOUCHED for name in ("ann", "bob")}))
    put(tmp_path / "in" / "readme.txt", b"")
    intake = collect(tmp_path / "in")
    assert {(s.place, s.who.layout) for s in intake.submissions} == {
        ("canvas.zip", "canvas"),
        ("moodle.zip", "moodle"),
        ("02_encode/blackboard.zip", "blackboard"),
        ("plain.zip", "plain"),
    }
    assert len(intake.layouts) == 4


def test_zips_that_learners_handed_in_to_a_platform(tmp_path):
    work = zipped({"home/ann/01_decode.ipynb": UNTOUCHED, "home/ann/02_encode.ipynb": OTHER})
    files = [("Smith, Ann", "4711", True, 90210, "work.zip", work), ("Lee, Jo", "4712", False, 90211, "a.ipynb", OTHER)]
    intake = collect(put(tmp_path / "a.zip", zipped(canvas(files))))
    found = sorted((s.student, s.lesson, s.late) for s in intake.submissions)
    assert found == [("leejo", "02_encode", False), ("smithann", "01_decode", True), ("smithann", "02_encode", True)]


@pytest.mark.parametrize("ending", [".tar", ".tar.gz", ".7z", ".rar", ".tgz"])
def test_other_archives_are_to_be_unpacked(tmp_path, ending):
    path = put(tmp_path / f"class{ending}", b"x")
    with pytest.raises(ValueError, match="unpack it and give the folder"):
        collect(path)
    put(tmp_path / "in" / f"ann{ending}", b"x")
    put(tmp_path / "in" / "bob" / f"work{ending}", b"x")
    put(tmp_path / "in" / "carol" / f"data{ending}", b"x")
    put(tmp_path / "in" / "carol" / "hw.ipynb", UNTOUCHED)
    intake = collect(tmp_path / "in")
    problems = {s.student: s.problem for s in intake.submissions}
    assert (
        problems["ann"] == problems["bob"] == f"a {ending} archive; only .zip is read: unpack it"
        and problems["carol"] == ""
    )
    assert intake.strange == (f"carol/data{ending}",)


def test_what_is_no_submission_at_all(tmp_path):
    with pytest.raises(ValueError, match=r"not a zip, or cut off; accepted are a folder, a \.zip and a \.ipynb"):
        collect(put(tmp_path / "essay.txt", b"hello"))
    with pytest.raises(ValueError, match="does not exist"):
        collect(tmp_path / "nowhere")
