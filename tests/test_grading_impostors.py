"""A learner packs or names files so that they look like somebody else's: nobody hands in for others. No kernel."""

from __future__ import annotations

import pytest
from downloads import OTHER, UNTOUCHED, blackboard, canvas, moodle, put, zipped

from fp8lab.grading.intake import collect
from fp8lab.grading.layouts import layout_of

EVIL = {
    "canvas": canvas(
        [(who, id, False, int(id) + 9_000, "hw.ipynb", UNTOUCHED) for who, id in (("ann", "4711"), ("m", "9"))]
    ),
    "moodle": moodle([("ann", "1", "hw.ipynb", UNTOUCHED)]),
    "blackboard": blackboard([("ann", "ann", "2026-12-31-00-00-00", "hw.ipynb", UNTOUCHED)]),
    "folders": {"ann/01_decode.ipynb": UNTOUCHED, "mallory/01_decode.ipynb": UNTOUCHED},
    "files": {"ann_01_decode.ipynb": UNTOUCHED, "mallory_01_decode.ipynb": UNTOUCHED},
    "by lesson": {"01_decode/ann.ipynb": UNTOUCHED, "01_decode/mallory.ipynb": UNTOUCHED},
    "zips": {"ann.zip": zipped({"01_decode.ipynb": UNTOUCHED}), "m.zip": zipped({"01_decode.ipynb": UNTOUCHED})},
    "a zip in it": {"all.zip": zipped({"ann/01_decode.ipynb": UNTOUCHED, "mallory/01_decode.ipynb": UNTOUCHED})},
}


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("honest", ["ann/01_decode.ipynb", "ann_01_decode.ipynb", "ann.zip"])
@pytest.mark.parametrize("packed", [False, True])
def test_nobody_hands_in_for_others_from_a_zip_of_their_own(tmp_path, evil, honest, packed):
    data = zipped({"01_decode.ipynb": OTHER}) if honest.endswith(".zip") else OTHER
    members = {honest: data, "mallory.zip": zipped(EVIL[evil])}
    for name, content in members.items():
        put(tmp_path / "in" / name, content)
    intake = collect(put(tmp_path / "class.zip", zipped(members)) if packed else tmp_path / "in")
    assert {(s.student, s.lesson) for s in intake.submissions if s.student != "mallory"} == {("ann", "02_encode")}
    mine = [s for s in intake.submissions if s.student == "mallory"]
    told = any("mallory.zip: taken for the work of one learner" in warning for warning in intake.warnings)
    assert told or all("looks like a download of a class" in s.problem for s in mine) or evil == "a zip in it"


@pytest.mark.parametrize("evil", EVIL)
def test_nor_from_a_folder_of_their_own(tmp_path, evil):
    put(tmp_path / "in" / "ann" / "01_decode.ipynb", OTHER)
    for name, data in EVIL[evil].items():
        put(tmp_path / "in" / "mallory" / name, data)
    intake = collect(tmp_path / "in")
    assert {(s.student, s.lesson) for s in intake.submissions if s.student != "mallory"} == {("ann", "02_encode")}


@pytest.mark.parametrize("evil", EVIL)
def test_nor_by_what_they_give_to_a_platform(tmp_path, evil):
    files = [("Ann", "4711", False, 501, "hw.ipynb", OTHER), ("Mallory", "9", False, 502, "w.zip", zipped(EVIL[evil]))]
    intake = collect(put(tmp_path / "a.zip", zipped(canvas(files))))
    assert {(s.student, s.lesson) for s in intake.submissions if s.student != "mallory"} == {("ann", "02_encode")}


def test_nor_by_the_name_of_a_file(tmp_path):
    time = "2026-11-20-10-11-12"
    name = next(name for name in EVIL["blackboard"] if name.endswith(".ipynb"))
    receipt = name.replace("_hw.ipynb", ".txt")
    attempts = [("Ann", "ann", time, "hw.ipynb", OTHER), ("M", "mallory", time, name, UNTOUCHED)]
    attempts += [("M", "mallory", time, receipt, b"Name: Ann (mallory)")]
    intake = collect(put(tmp_path / "a.zip", zipped(blackboard(attempts))))
    assert {(s.student, s.lesson) for s in intake.submissions if s.path} == {
        ("ann", "02_encode"),
        ("mallory", "01_decode"),
    }
    files = [("Ann", "4711", False, 501, "hw.ipynb", OTHER)]
    files += [
        ("M", "9", False, 502, "_ann_4711_999_hw.ipynb", UNTOUCHED),
        ("_", "8", False, 503, "1_2_hw.ipynb", OTHER),
    ]
    intake = collect(put(tmp_path / "b.zip", zipped(canvas(files))))
    assert {s.student: s.who.id for s in intake.submissions} == {"ann": "4711", "m": "9", "_": "8"}
    files = [("Ann", "1", "hw.ipynb", OTHER), ("M", "2", "Ann_1_assignsubmission_file_hw.ipynb", UNTOUCHED)]
    for folders in (True, False):
        intake = collect(put(tmp_path / f"{folders}.zip", zipped(moodle(files, folders=folders))))
        assert {(s.student, s.lesson) for s in intake.submissions} == {("Ann", "02_encode"), ("M", "01_decode")}


def test_learners_who_name_their_files_alike_are_no_classes(tmp_path):
    versions = {"01_decode_v1.ipynb": UNTOUCHED, "01_decode_v2.ipynb": UNTOUCHED}
    for student in ("ann", "bob"):
        put(tmp_path / "in" / f"{student}.zip", zipped(versions))
    intake = collect(tmp_path / "in")
    assert {s.student for s in intake.submissions} == {"ann", "bob"} and len(intake.warnings) == 2


def test_names_that_look_like_canvas_by_chance(tmp_path):
    for name in ("lab_1_200_a.ipynb", "lab_1_300_b.ipynb"):
        put(tmp_path / "in" / "ann" / name, UNTOUCHED)
    put(tmp_path / "in" / "bob" / "hw.ipynb", UNTOUCHED)
    intake = collect(tmp_path / "in")
    assert sorted((s.student, s.problem) for s in intake.submissions) == [("ann", ""), ("ann", ""), ("bob", "")]
    assert layout_of(["ann_1_500_a.ipynb", "bob_2_500_b.ipynb"]) == "plain"  # a number of Canvas's is that of one file


def test_two_versions_in_a_zip_are_one_learners(tmp_path):
    put(tmp_path / "in" / "ann.zip", zipped({"first.ipynb": UNTOUCHED, "second.ipynb": UNTOUCHED}))
    assert {s.student for s in collect(tmp_path / "in").submissions} == {"ann"}
