"""The learner's progress file: remembered, merged between notebooks, never lost, never in the way."""

import json
import os
import stat

import pytest

from fp8lab.course.progress import Progress, Record, progress_path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "progress.json"


def test_right_stays_right_and_tries_are_counted(path):
    progress = Progress(path)
    for right in (False, True, False):
        progress.checked("1.4", right)
    assert Progress(path)["1.4"] == Record(right=True, tries=3, hints=0)


def test_hints_are_remembered_beside_tries(path):
    progress = Progress(path)
    progress.hinted("1.4", 2)
    progress.checked("1.4", False)
    assert Progress(path)["1.4"] == Record(right=False, tries=1, hints=2)


def test_an_unknown_key_has_an_empty_record(path):
    assert Progress(path)["9.9"] == Record()


def test_two_notebooks_do_not_undo_each_other(path):
    one, two = Progress(path), Progress(path)
    one.checked("1.1", True)
    two.checked("2.1", True)
    one.checked("1.2", True)
    assert sorted(Progress(path).records) == ["1.1", "1.2", "2.1"]


ENDLESS = '{"exercises": {"1.1": {"right": true, "tries": Infinity, "hints": 0}}}'
UNREADABLE = ["", "{", "[]", "{}", "\x00\xff", ENDLESS, "[" * 100_000]
UNREADABLE += ['{"exercises": [1]}', '{"exercises": {"1.1": {}}}']


@pytest.mark.parametrize("content", UNREADABLE, ids=range(len(UNREADABLE)))
def test_an_unreadable_file_is_put_aside_not_overwritten(path, content):
    path.parent.mkdir()
    path.write_text(content, encoding="latin-1")
    progress = Progress(path)
    progress.checked("1.1", True)
    assert path.with_name("progress.json.unreadable").read_text(encoding="latin-1") == content
    assert Progress(path)["1.1"].right


@pytest.mark.parametrize("content", UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_file_that_is_damaged_meanwhile_costs_no_records(path, content):
    progress = Progress(path)
    progress.checked("1.1", True)
    path.write_text(content, encoding="latin-1")
    progress.checked("1.2", True)
    assert path.with_name("progress.json.unreadable").read_text(encoding="latin-1") == content
    assert sorted(Progress(path).records) == sorted(progress.records) == ["1.1", "1.2"]


def test_a_path_that_no_system_takes_costs_only_the_memory(tmp_path):
    progress = Progress(tmp_path / ("x" * 300))
    progress.checked("1.1", True)
    assert progress["1.1"].right


def test_no_file_when_switched_off(tmp_path, monkeypatch):
    monkeypatch.setenv("FP8LAB_PROGRESS", "off")
    progress = Progress(progress_path())
    progress.checked("1.1", True)
    assert progress_path() is None and progress["1.1"].right


def test_the_path_can_be_set(tmp_path, monkeypatch):
    monkeypatch.setenv("FP8LAB_PROGRESS", str(tmp_path / "mine.json"))
    Progress(progress_path()).checked("1.1", True)
    assert json.loads((tmp_path / "mine.json").read_text())["exercises"]["1.1"]["right"] is True


def test_a_folder_that_cannot_be_written_costs_only_the_memory(tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    progress = Progress(in_the_way / "progress.json")
    progress.checked("1.1", True)
    progress.checked("1.2", True)
    assert progress["1.1"].right and progress["1.2"].right


def test_no_temporary_file_stays(path):
    Progress(path).checked("1.1", True)
    assert [p.name for p in path.parent.iterdir()] == ["progress.json"]
    assert stat.S_ISREG(os.stat(path).st_mode)
