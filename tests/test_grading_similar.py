"""Answers that agree beyond chance are named, and answers that agree by chance are not."""

from __future__ import annotations

import random

import pytest
from made_up_class import LESSON, entry

from fp8lab.course.source import packaged, packaged_names
from fp8lab.grading.assemble import solved
from fp8lab.grading.fingerprint import Fingerprint, fingerprints
from fp8lab.grading.similar import alike
from fp8lab.grading.verdict import Entry, Mark, Report

# ---- what a fingerprint sees

SLOT = packaged(LESSON).exercise_cell("1.1")
BODY = """\
    first = byte >> 7   # the sign
    middle = (byte >> 3) & 15
    return first, middle, byte & 7
"""


def hole(body: str, cell=SLOT) -> str:
    """The stub of `cell` with its (only) hole filled."""
    lines = cell.stub.split("\n")
    place = next(n for n, line in enumerate(lines) if "raise NotImplementedError" in line)
    return "\n".join([*lines[:place], body.rstrip("\n"), *lines[place + 1 :]])


def taken(body: str) -> Fingerprint:
    return fingerprints([hole(body)], SLOT)["1.1"]


@pytest.mark.parametrize("lesson", packaged_names())
def test_every_hole_of_the_course_is_found_and_the_solution_known_as_ours(lesson):
    for cell in packaged(lesson).cells:
        if cell.role == "exercise":
            found = fingerprints([solved(cell)], cell)
            assert set(found) == set(cell.keys)
            assert all(print_.ours and print_.size > 3 for print_ in found.values())
            assert fingerprints([cell.stub], cell) == {}


def test_names_comments_and_layout_change_the_text_and_not_the_form():
    disguised = BODY.replace("first", "s").replace("middle", "e").replace("   # the sign", "").replace("15", "(15)")
    one, two = taken(BODY), taken(disguised)
    assert one.form == two.form and one.text != two.text
    assert (one.names, one.words, two.words) == (2, 2, 0)
    assert not one.ours and one.size == two.size


def test_layout_alone_changes_nothing():
    assert taken(BODY + "\n\n") == taken(BODY.replace("\n", "   \n\n"))


@pytest.mark.parametrize(
    "other",
    [
        BODY.replace("& 7", "& 3"),
        BODY.replace("first, middle", "middle, first"),
        BODY.replace("byte >> 7", "byte // 128"),
        BODY.replace("    middle", "    unused = 0\n    middle"),
    ],
)
def test_another_program_has_another_form(other):
    assert taken(BODY).form != taken(other).form


def test_parameters_count_by_position_and_what_we_handed_out_counts_nowhere():
    renamed = hole(BODY.replace("byte", "b")).replace("def fields(byte)", "def fields(b)")
    assert fingerprints([renamed], SLOT)["1.1"].form == taken(BODY).form
    swapped = packaged(LESSON).exercise_cell("1.2")
    there = fingerprints([hole("    return sign - mantissa", swapped)], swapped)["1.2"]
    back = fingerprints([hole("    return mantissa - sign", swapped)], swapped)["1.2"]
    assert there.form != back.form
    without_docstring = "def fields(byte):\n" + BODY
    assert fingerprints([without_docstring], SLOT)["1.1"].form == taken(BODY).form


def test_a_class_with_many_holes_has_a_fingerprint_for_each():
    cell = packaged("04_grouped_kv").exercise_cell("4.1")
    source = cell.stub.split("\n")
    place = next(n for n, line in enumerate(source) if "exercise 4.1:" in line)
    source[place] = "        return torch.max(torch.abs(values))"
    assert set(fingerprints(["\n".join(source)], cell)) == {"4.1"}


@pytest.mark.parametrize(
    "code", ["def fields(:", "", "\0", "x = 1", "def fields(byte):\n    return " + "-" * 5000 + "1"]
)
def test_nothing_that_a_learner_writes_raises(code):
    assert fingerprints([code], SLOT) == {}


# ---- who is alike


SIZES = {f"1.{n}": size for n, size in enumerate((51, 25, 18, 60, 47, 25, 120), start=1)}


def form(key: str, variant: object, text: object = "", **fields) -> Fingerprint:
    fields = {"size": SIZES[key], "names": 2, **fields}
    return Fingerprint(f"{key} {variant} {text}", f"{key} {variant}", **fields)


def learner(name: str, prints: dict[str, Fingerprint], content: str = "") -> Entry:
    marks = tuple(Mark(key, "passed", 1, 1, fingerprint=print_) for key, print_ in prints.items())
    return Entry(name, Report(LESSON, "en", marks), f"{name}.ipynb", content=content)


def honest(rng: random.Random, name: str) -> Entry:
    """Somebody who works alone: a quarter writes as we do, the rest one of many ways, some of them far more often."""
    prints = {}
    for key, size in SIZES.items():
        if rng.random() < 0.25:
            prints[key] = form(key, "ours", ours=True)
        else:
            ways = 2 + 2 ** (0.12 * size)
            prints[key] = form(key, int(ways ** rng.random()), rng.randrange(4))
    return learner(name, prints)


def classroom(seed: int, students: int) -> list[Entry]:
    rng = random.Random(seed)
    return [honest(rng, f"s{number}") for number in range(students)]


def groups(entries) -> list[tuple[str, ...]]:
    return [group.learners for group in alike(entries)]


@pytest.mark.parametrize("students", [2, 5, 30, 150])
def test_nobody_is_named_in_classes_that_work_alone(students):
    """By the bound of the module fewer than one class in a hundred; here are 40."""
    named = [groups(classroom(seed, students)) for seed in range(40 if students < 100 else 5)]
    assert not any(named)


@pytest.mark.parametrize("students", [2, 5, 30, 150])
def test_who_copies_a_lesson_is_named_with_every_exercise_that_agrees(students):
    rng = random.Random(7)
    entries = classroom(7, students)
    prints = {key: form(key, f"her own {key}", "hers") for key in SIZES}
    copied = {**prints, "1.2": form("1.2", "his own")}
    entries += [learner("ann", prints), learner("bob", copied)]
    rng.shuffle(entries)
    (group,) = alike(entries)
    assert group.learners == ("ann", "bob")
    assert [shared.key for shared in group.shared] == [key for key in SIZES if key != "1.2"]
    assert {shared.level for shared in group.shared} == {"text"}


def test_other_names_do_not_hide_a_copied_lesson():
    prints = {key: form(key, "her own", "hers") for key in SIZES}
    disguised = {key: form(key, "her own", "renamed") for key in SIZES}
    (group,) = alike([*classroom(3, 30), learner("ann", prints), learner("bob", disguised)])
    assert group.learners == ("ann", "bob")
    assert {shared.level for shared in group.shared} == {"form"}


def test_three_who_share_are_one_group():
    prints = {key: form(key, "theirs", "t") for key in SIZES}
    entries = [*classroom(4, 30), *(learner(name, prints) for name in ("ann", "bob", "cem"))]
    assert groups(entries) == [("ann", "bob", "cem")]


def test_our_own_solution_is_expected_of_everybody():
    ours = {key: form(key, "ours", "t", ours=True) for key in SIZES}
    assert groups([learner(name, ours) for name in ("ann", "bob")]) == []


def test_one_liners_are_nobodys_property():
    short = {key: form(key, "x", size=7, names=0) for key in ("1.1", "1.2")}
    assert groups([*classroom(5, 30), learner("ann", short), learner("bob", short)]) == []


@pytest.mark.parametrize(("others", "named"), [(0, True), (1, True), (30, False)])
def test_the_more_of_the_class_write_it_the_less_it_means(others, named):
    """The same pair, the same answers: named among 40 others, not when most of the class writes so."""
    common = {key: form(key, "the way", "t") for key in SIZES}
    entries = [*classroom(6, 40 - others), *(learner(f"o{n}", common) for n in range(others))]
    found = groups([*entries, learner("ann", common), learner("bob", common)])
    assert any({"ann", "bob"} <= set(group) for group in found) is named


@pytest.mark.parametrize(("size", "named"), [(8, False), (30, False), (70, True), (120, True)])
def test_the_longer_it_is_the_more_it_means(size, named):
    prints = {key: form(key, "hers", "t", size=size, names=1) for key in ("1.1", "1.4", "1.5", "1.7")}
    found = groups([*classroom(8, 20), learner("ann", prints), learner("bob", prints)])
    assert bool(found) is named


def test_comments_in_common_weigh_more_than_code_in_common():
    plain = {key: form(key, "hers", "t", size=20, names=0) for key in ("1.1", "1.4")}
    told = {key: form(key, "hers", "t", size=20, names=0, words=9) for key in ("1.1", "1.4")}
    room = classroom(9, 30)
    assert groups([*room, learner("ann", plain), learner("bob", plain)]) == []
    assert groups([*room, learner("ann", told), learner("bob", told)]) == [("ann", "bob")]


def test_differences_count_against_a_common_source():
    """Two agreements among seven exercises are found; the same two among five hundred are chance."""
    same = {key: form(key, "hers", "t", size=80, names=3) for key in ("1.1", "1.7")}
    few = [learner(name, same) for name in ("ann", "bob")]
    assert groups(few) == [("ann", "bob")]
    many = []
    for name in ("ann", "bob"):
        marks = [
            Mark(f"9.{n}", "passed", 1, 1, fingerprint=Fingerprint(f"{name}{n}", f"{name}{n}", 40)) for n in range(500)
        ]
        marks += [Mark(key, "passed", 1, 1, fingerprint=print_) for key, print_ in same.items()]
        many.append(Entry(name, Report(LESSON, "en", tuple(marks)), "x"))
    assert groups(many) == []


def test_copies_of_one_file_are_no_agreement_of_two():
    prints = {key: form(key, "theirs", "t") for key in SIZES}
    entries = [learner(name, prints, content="one file") for name in ("ann", "bob")]
    assert groups([*classroom(10, 20), *entries]) == []


def test_no_answers_no_groups():
    assert alike([]) == [] and alike([entry("ann"), entry("bob")]) == []
