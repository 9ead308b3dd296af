"""Zips that are damaged, too large, or made to do harm: every one is told, and costs nobody else anything."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from datetime import datetime, timedelta, timezone

import pytest
from downloads import OTHER, UNTOUCHED, info, legacy, patched, put, with_unicode_path, with_unix_time, zipped

from fp8lab.grading import archive as archive_module
from fp8lab.grading import notebook as notebook_module
from fp8lab.grading.archive import members
from fp8lab.grading.intake import collect
from fp8lab.grading.notebook import Unreadable
from fp8lab.grading.source import file_item

GOOD = ("good/01_decode.ipynb", UNTOUCHED)


def problems(tmp_path, data: bytes) -> dict[str, str]:
    """Path -> problem, of a class zip in which `good` must be found whatever the others are."""
    intake = collect(put(tmp_path / "class.zip", data))
    found = {s.path: s.problem for s in intake.submissions}
    assert found.pop("good/01_decode.ipynb") == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class.zip"]
    return found


def link(name: str) -> zipfile.ZipInfo:
    head = info(name)
    head.external_attr = (stat.S_IFLNK | 0o777) << 16
    return head


def device(name: str) -> zipfile.ZipInfo:
    head = info(name)
    head.external_attr = (stat.S_IFCHR | 0o666) << 16
    return head


def test_links_and_devices(tmp_path):
    found = problems(tmp_path, zipped([GOOD, (link("m/01_decode.ipynb"), b"/etc/passwd"), (device("d/x.ipynb"), b"")]))
    assert found == {"m/01_decode.ipynb": "a symbolic link", "d/x.ipynb": "not a regular file"}


@pytest.mark.parametrize(
    ("name", "shown", "problem"),
    [
        ("../../mallory.ipynb", "mallory.ipynb", "a path that leads out of the archive"),
        ("good/../../mallory/x.ipynb", "good/mallory/x.ipynb", "a path that leads out of the archive"),
        ("..\\..\\mallory.ipynb", "mallory.ipynb", "a path that leads out of the archive"),
        ("/etc/mallory.ipynb", "etc/mallory.ipynb", "an absolute path"),
        ("\\\\server\\share\\x.ipynb", "server/share/x.ipynb", "an absolute path"),
        ("C:\\Users\\x.ipynb", "Users/x.ipynb", "a path with a drive letter"),
        ("c:x.ipynb", "x.ipynb", "a path with a drive letter"),
        ("deep/" * 40 + "x.ipynb", "deep/" * 40 + "x.ipynb", "41 folders deep; 12 are looked into"),
    ],
)
def test_paths_that_lead_elsewhere(tmp_path, name, shown, problem):
    assert problems(tmp_path, zipped([GOOD, (name, UNTOUCHED)])) == {shown: problem}


def test_a_harmless_file_with_a_bad_path_is_told(tmp_path):
    intake = collect(put(tmp_path / "a.zip", zipped([GOOD, ("good/../../../etc/cron.d/evil", b"* * * * *")])))
    assert intake.strange == ("good/etc/cron.d/evil (a path that leads out of the archive)",)


def test_backslashes_separate(tmp_path):
    assert problems(tmp_path, zipped([GOOD, ("ann\\hw.ipynb", OTHER)])) == {"ann/hw.ipynb": ""}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"flags": 0x1}, "encrypted"),
        ({"flags": 0x41}, "encrypted"),
        ({"method": 12}, "compressed by method 12 (bzip2); deflate is read, and what is not compressed"),
        ({"method": 99}, "compressed by method 99 (AES encryption); deflate is read, and what is not compressed"),
        ({"method": 77}, "compressed by method 77 (unknown); deflate is read, and what is not compressed"),
        ({"crc": 1}, "damaged in the archive: Bad CRC-32 for file 'ann/hw.ipynb'"),
        ({"size": 10}, "damaged in the archive: Bad CRC-32 for file 'ann/hw.ipynb'"),
        ({"size": 5_000_000}, "damaged in the archive: "),
        ({"size": 40_000_000}, "40,000,000 bytes; at most 33,554,432 are read"),
    ],
)
def test_members_that_cannot_be_read(tmp_path, fields, problem):
    data = patched(zipped([GOOD, ("ann/hw.ipynb", OTHER)]), "ann/hw.ipynb", **fields)
    assert problems(tmp_path, data)["ann/hw.ipynb"].startswith(problem)


def test_damage_inside_the_compressed_bytes(tmp_path):
    data = bytearray(zipped([GOOD, ("ann/hw.ipynb", OTHER)]))
    place = data.index(b"ann/hw.ipynb") + 500
    data[place : place + 200] = bytes(200)
    assert problems(tmp_path, bytes(data))["ann/hw.ipynb"].startswith("damaged in the archive: ")


def test_bombs(tmp_path):
    bomb = zipped({"01_decode.ipynb": bytes(20 * 2**20)})
    assert len(bomb) < 50_000
    found = problems(tmp_path, zipped([GOOD, ("a/01_decode.ipynb", bytes(33 * 2**20)), ("b/work.zip", bomb)]))
    assert found["a/01_decode.ipynb"] == "34,603,008 bytes; at most 33,554,432 are read"
    assert found["b/work.zip/01_decode.ipynb"].startswith("20,971,520 bytes packed into 20,")
    assert found["b/work.zip/01_decode.ipynb"].endswith("at most 300 to 1 is read")


def test_too_much_in_all(tmp_path, monkeypatch):
    monkeypatch.setattr(archive_module, "MAX_NESTED_TOTAL", 3 * len(UNTOUCHED))
    work = zipped({f"{n}/01_decode.ipynb": UNTOUCHED for n in range(5)})
    found = problems(tmp_path, zipped([GOOD, ("ann/work.zip", work)]))
    assert [bool(problem) for problem in found.values()] == [False, False, False, True, True]
    assert found["ann/work.zip/4/01_decode.ipynb"] == "beyond what an archive may hold when it is unpacked"


def test_too_many_members(tmp_path, monkeypatch):
    monkeypatch.setattr(archive_module, "MAX_MEMBERS", 10)
    work = zipped({f"{n}.txt": b"" for n in range(11)})
    found = problems(tmp_path, zipped([GOOD, ("ann/work.zip", work)]))
    assert found == {"ann/work.zip": "an archive with 11 members; at most 10 are read"}
    with pytest.raises(ValueError, match=r"work\.zip: an archive with 11 members"):
        collect(put(tmp_path / "work.zip", work))


def test_too_many_notebooks_of_one_learner(tmp_path):
    work = zipped({f"{n}.ipynb": b"{}" for n in range(201)})
    found = problems(tmp_path, zipped([GOOD, ("ann/work.zip", work)]))
    assert found == {"ann/work.zip": "201 notebooks in it; at most 200 of one learner are read"}


def test_endless_names(tmp_path):
    found = problems(tmp_path, zipped([GOOD, ("ann/" + "x" * 60_000 + ".ipynb", UNTOUCHED)]))
    assert found == {f"ann/{'x' * 60}…{'x' * 14}.ipynb": "a name of 60,006 characters"}


def test_a_huge_directory_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(archive_module, "MAX_DIRECTORY", 70_000)
    work = zipped({f"{n:0200d}.txt": b"" for n in range(300)})
    found = problems(tmp_path, zipped([GOOD, ("ann/work.zip", work)]))
    assert found["ann/work.zip"].startswith("a directory of 7")


def test_archives_in_archives(tmp_path):
    inner = zipped({"01_decode.ipynb": UNTOUCHED})
    found = problems(tmp_path, zipped([GOOD, ("ann/a.zip", inner), ("bob/b.zip", zipped({"c.zip": inner}))]))
    assert found == {
        "ann/a.zip/01_decode.ipynb": "",
        "bob/b.zip/c.zip": "an archive in an archive in an archive; unpack it first",
    }


def test_an_archive_that_holds_itself(tmp_path):
    data = zipped([GOOD])
    for _ in range(30):
        data = zipped([GOOD, ("again.zip", data)])
    found = problems(tmp_path, data)
    assert list(found.values()).count("an archive in an archive in an archive; unpack it first") == 1


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "not a zip, or cut off"),
        (b"PK", "not a zip, or cut off"),
        (b"Rar!\x1a\x07\x00" + bytes(100), "not a zip, or cut off"),
        (zipped({"01_decode.ipynb": UNTOUCHED})[:-40], "not a zip, or cut off"),
        (zipped({"01_decode.ipynb": UNTOUCHED})[200:], "damaged"),
        (zipped({}), "no notebook in it"),
        (zipped({"x.rar": b"Rar!"}), "no notebook in it; x.rar is not looked into"),
    ],
)
def test_damaged_archives_of_learners(tmp_path, data, problem):
    ((path, said),) = problems(tmp_path, zipped([GOOD, ("ann/01_decode.zip", data)])).items()
    assert path.startswith("ann/01_decode.zip") and said.startswith(problem)


@pytest.mark.parametrize("cut", range(0, 22))
def test_a_directory_with_any_wrong_byte_raises_nothing_else(tmp_path, cut):
    data = bytearray(zipped({"ann/01_decode.ipynb": UNTOUCHED, "bob/01_decode.ipynb": OTHER}))
    start = data.rindex(b"PK\1\2")
    for place in (start + 2 * cut, len(data) - 1 - cut):
        broken = bytearray(data)
        broken[place] ^= 0xFF
        item = file_item(put(tmp_path / f"{place}.zip", bytes(broken)), ())
        try:
            for member in members(item):
                member.read(notebook_module.MAX_BYTES)
        except Unreadable as problem:
            assert str(problem)


def test_one_name_more_than_once(tmp_path):
    path = put(tmp_path / "a.zip", zipped([GOOD, ("ann/hw.ipynb", UNTOUCHED), ("ann/hw.ipynb", OTHER)]))
    intake = collect(path)
    assert [(s.path, s.lesson) for s in intake.submissions if s.student == "ann"] == [
        ("ann/hw.ipynb", "01_decode"),
        ("ann/hw.ipynb [2]", "02_encode"),
    ]
    assert intake.warnings == ("more than one file of this name in the archive: ann/hw.ipynb [2]",)


def test_names_that_differ_in_case_or_unicode_form(tmp_path):
    names = ["Ann/hw.ipynb", "ann/hw.ipynb", "Ame\u0301lie/hw.ipynb", "Am\u00e9lie/hw.ipynb"]
    intake = collect(put(tmp_path / "a.zip", zipped([(name, UNTOUCHED) for name in names])))
    assert {s.student for s in intake.submissions} == {"Ann", "ann", "Am\u00e9lie"}
    assert len(intake.submissions) == 4
    assert "names that differ only in case: Ann, ann" in intake.warnings
    assert any("Am\u00e9lie/hw.ipynb [2]" in warning for warning in intake.warnings)


def test_zip64(tmp_path):
    whole = io.BytesIO()
    with (
        zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(info(GOOD[0]), "w", force_zip64=True) as f,
    ):
        f.write(UNTOUCHED)
    data = whole.getvalue()
    assert b"\x01\x00\x10\x00" in data  # the extra field of zip64
    end = data.rindex(b"PK\5\6")
    record = struct.pack(
        "<4sQHHLLQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, end - data.rindex(b"PK\1\2"), data.rindex(b"PK\1\2")
    )
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    short = struct.pack("<4sHHHHLLH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert problems(tmp_path, data[:end] + record + locator + short) == {}


CHINESE = {"李雷/第一课.ipynb": UNTOUCHED, "韩梅梅/作业（二）.ipynb": OTHER, "readme.txt": b""}
WESTERN = {"Müller/hw.ipynb": UNTOUCHED, "José Größe/hw.ipynb": UNTOUCHED, "Zoë/hw.ipynb": OTHER}


@pytest.mark.parametrize(
    ("names", "encoding"),
    [(CHINESE, "gbk"), (CHINESE, "gb18030"), (CHINESE, "utf-8"), (WESTERN, "cp437"), (WESTERN, "utf-8")],
)
def test_names_without_the_utf8_flag(tmp_path, names, encoding):
    intake = collect(put(tmp_path / "a.zip", legacy(names, encoding)))
    assert {s.path for s in intake.submissions} == {name for name in names if name.endswith(".ipynb")}
    assert not any(s.problem for s in intake.submissions)


@pytest.mark.parametrize("name", ["Müller", "Jürgen Weiß", "François", "Ñandú", "Åse Ødegård"])
def test_one_western_name_alone_is_not_taken_for_chinese(tmp_path, name):
    encoding = "cp437" if "Ø" not in name else "utf-8"  # cp437 has none
    intake = collect(put(tmp_path / "a.zip", legacy({f"{name}/hw.ipynb": UNTOUCHED}, encoding)))
    assert {s.student for s in intake.submissions} == {name}


def test_flagged_names_and_infozip_names(tmp_path):
    heads = [info("李雷/hw.ipynb"), with_unicode_path("_____/hw.ipynb", "韩梅梅/hw.ipynb")]
    intake = collect(put(tmp_path / "a.zip", zipped([(head, UNTOUCHED) for head in heads])))
    assert {s.student for s in intake.submissions} == {"李雷", "韩梅梅"}


def test_times_of_members(tmp_path):
    zone = timezone(timedelta(hours=8))
    noon = datetime(2026, 11, 20, 12, tzinfo=zone).timestamp()
    heads = [info("a/x.ipynb"), with_unix_time("b/x.ipynb", int(noon) + 61), info("c/x.ipynb", (1980, 1, 1, 0, 0, 0))]
    intake = collect(put(tmp_path / "a.zip", zipped([(head, UNTOUCHED) for head in heads])), zone=zone)
    assert {s.student: s.when for s in intake.submissions} == {"a": noon, "b": noon + 61, "c": None}


def test_an_archive_that_changes_under_the_grader(tmp_path):
    path = put(tmp_path / "in" / "ann" / "work.zip", zipped({"a.ipynb": UNTOUCHED, "b.ipynb": OTHER}))
    intake = collect(tmp_path / "in")
    archive_module._opened.cache_clear()
    path.unlink()
    put(path, zipped({"x.ipynb": OTHER}))
    for submission in intake.submissions:
        with pytest.raises(Unreadable, match="has changed"):
            submission.read()


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="symbolic links need a privilege on Windows")
def test_a_link_to_a_zip_is_not_followed(tmp_path):
    secret = put(tmp_path / "secret.zip", zipped({"01_decode.ipynb": UNTOUCHED}))
    (tmp_path / "in" / "ann").mkdir(parents=True)
    (tmp_path / "in" / "ann" / "work.zip").symlink_to(secret)
    (tmp_path / "in" / "bob.zip").symlink_to(secret)
    found = {s.student: s.problem for s in collect(tmp_path / "in").submissions}
    assert found == {"ann": "a symbolic link", "bob": "a symbolic link"}
