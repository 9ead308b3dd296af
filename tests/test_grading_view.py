"""What of fp8lab the kernels of a lesson see, file by file, and the seeds and inputs that they are given."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fp8lab.course.registry import LESSONS, lesson_drives
from fp8lab.course.source import packaged
from fp8lab.grading.assemble import Plan, assemble, inputs_or_seed
from fp8lab.grading.parcel import pack, unpack
from fp8lab.grading.seeds import seed_of
from fp8lab.grading.view import lesson_view, seen_by, shared_view

SECRET = 2**127 + 11


def files(view) -> set[str]:
    return {path.relative_to(view / "fp8lab").as_posix() for path in view.rglob("*") if path.suffix != ".pyc"}


def numerics(view) -> set[str]:
    """The Python files outside of course and grading."""
    return {name for name in files(view) if name.endswith(".py") and not name.startswith(("course/", "grading/"))}


def test_a_lesson_that_writes_a_decoder_sees_none():
    assert numerics(lesson_view("01_decode")) == numerics(shared_view()) == {"__init__.py", "threads.py"}


def test_a_lesson_that_writes_an_encoder_sees_the_formats_that_it_is_given():
    seen = numerics(lesson_view("02_encode"))
    assert seen == {"__init__.py", "threads.py", "float_format.py", "formats.py"}


def test_a_lesson_that_uses_the_codec_sees_it():
    assert {"codec.py", "rounding.py"} <= numerics(lesson_view("03_scale"))
    assert "native/kernels.cpp" in files(lesson_view("04_grouped_kv"))


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_view_holds_answers_or_what_makes_hidden_inputs(lesson):
    seen = files(lesson_view(lesson))
    parts = {name.rpartition("/")[2] for name in seen if name.startswith("course/lessons/l") and name.endswith(".py")}
    assert {part for part in parts if not part.startswith(("driving", "__init__"))} == set()
    assert not any(name.endswith((".json", ".md")) for name in seen)
    assert not {"grading/judge.py", "grading/assemble.py", "grading/seeds.py"} & seen
    assert f"course/lessons/l{lesson}/driving.py" in seen


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_view_is_complete(lesson):
    """Whatever a seen module imports when it is loaded is seen, too: kernels of a lesson do not stumble."""
    assert {"fp8lab.grading.inside", f"fp8lab.course.lessons.l{lesson}.driving"} <= set(seen_by(lesson))
    assert lesson_view(lesson) == lesson_view(lesson) != shared_view()


# ---- seeds


def test_no_kernel_gets_the_secret_or_the_seed_of_another():
    lesson = packaged("01_decode")
    keys = tuple(lesson_drives("01_decode"))
    seeds = {key: seed_of(SECRET, key) for key in keys}
    assert len(set(seeds.values())) == len(keys) and all(0 <= seed < 2**63 for seed in seeds.values())
    cells = {
        cell["metadata"]["fp8lab"]["cell"]: cell["source"]
        for cell in assemble(Plan(lesson, {}, keys, SECRET), keys).notebook["cells"]
    }
    assert not any(str(SECRET) in source for source in cells.values())
    for key in keys:
        shown = [name for name in cells if str(seeds[key]) in cells[name]]
        assert shown == ([] if key == "1.7" else [f"drive {key}"])


@pytest.mark.parametrize("key, lesson", [("1.7", "01_decode"), ("2.6", "02_encode")])
def test_hidden_inputs_arrive_as_they_were_made(key, lesson):
    drive = lesson_drives(lesson)[key]
    given = inputs_or_seed(lesson, key, SECRET)
    assert repr(unpack(given)) == repr(drive.visible(seed_of(SECRET, key)))
    shipped = dataclasses.replace(drive, inputs=lambda _: unpack(given))
    assert repr(shipped.visible(0)) == repr(unpack(given)) and len(given) < 100_000


@pytest.mark.parametrize("inputs", [{"x": (1, 2)}, {"x": {1: 2}}])
def test_what_json_would_change_is_not_packed(inputs):
    with pytest.raises(ValueError, match="would not come back"):
        pack(inputs)


def test_what_json_does_not_hold_is_not_packed():
    with pytest.raises(TypeError):
        pack({"x": np.zeros(2)})
