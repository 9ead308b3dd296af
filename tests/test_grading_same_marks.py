"""The same answers get the same marks: one worker or two, on Dask, with another seed, in English and in Chinese."""

from __future__ import annotations

import random
import re

import pytest
from grading_class import graded, rows, sandbox_problem
from mixed_class import EDITORS, LESSONS, MISCONCEPTIONS, mixed_class, paper_bytes, write_misconception
from submissions import Notebook

from fp8lab.grading.cluster import dask_cluster

SEED, OTHER = 11, 2_000_000_011
WORK = (
    "solved",
    "partly",
    "syntax error",
    "deleted cells",
    "exception",
    "renamed",
    "hard exit",
    "cut off",
    "untouched",
)
MARKS = ("student", "lesson", "exercise", "points", "max_points", "verdict")


def hand_in(folder, lang: str):
    """One learner for every way to go wrong but the endless one, each in another editor, lesson by lesson in turn."""
    editors = list(EDITORS)
    for number, work in enumerate(WORK):
        lesson = LESSONS[number % len(LESSONS)]
        chance = random.Random(number)
        data = paper_bytes(lesson, lang, work, editors[number % len(editors)], chance, f"s{number}")
        place = folder / f"s{number} {work}" / f"{lesson}.ipynb"
        place.parent.mkdir(parents=True)
        place.write_bytes(data)
    for number, lesson in enumerate(LESSONS):
        notebook = Notebook(lesson, lang).solve()
        mine = [(key, name) for key, name in MISCONCEPTIONS if key in notebook.lesson.keys]
        for key in dict.fromkeys(key for key, _ in mine):
            name = [name for other, name in mine if other == key][number % 2 - 1]
            write_misconception(notebook, key, name)
        notebook.save(folder / f"m{number} mistaken" / f"{lesson}.ipynb")
    return folder


def table(folder, out, columns=None, **options) -> list[tuple]:
    """The rows of the class's table."""
    grades = graded(folder, out, **options)
    assert grades.broken == ()
    return [tuple(row[name] for name in columns or row) for row in rows(out / "grades.csv")]


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    return hand_in(tmp_path_factory.mktemp("en") / "in", "en")


@pytest.fixture(scope="module")
def alone(english, tmp_path_factory):
    """Every column of the table, notes among them, from two workers."""
    return table(english, tmp_path_factory.mktemp("out"), seed=SEED, workers=2)


def test_the_class_is_mixed_enough_to_tell(alone):
    verdicts = {row[5] for row in alone}
    assert verdicts >= {"passed", "wrong", "error", "not_attempted", "blocked", "crashed", "missing", "rejected"}
    named = {row[6].split("misconception: ")[1].split(";")[0] for row in alone if "misconception: " in row[6]}
    assert len(named) >= 10
    assert named <= {name for _, name in MISCONCEPTIONS}


def test_one_worker(english, alone, tmp_path):
    assert table(english, tmp_path, seed=SEED, workers=1) == alone


def test_a_dask_cluster(english, alone, tmp_path):
    from distributed import LocalCluster

    local = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)
    with local, dask_cluster(local.scheduler_address, sandbox=not sandbox_problem()) as cluster:
        assert table(english, tmp_path, seed=SEED, workers=cluster.slots, executor=cluster.executor) == alone


def test_another_seed(english, alone, tmp_path):
    """Notes show the inputs, which differ; points and verdicts do not."""
    other = table(english, tmp_path, MARKS, seed=OTHER)
    assert other == [row[: len(MARKS)] for row in alone]


def test_chinese(alone, tmp_path):
    """The table is in English whatever the notebooks are in; only what the learners read is in their language."""
    chinese = table(hand_in(tmp_path / "in", "zh"), tmp_path / "out", seed=SEED)
    assert [without_lines(row) for row in chinese] == [without_lines(row) for row in alone]


def without_lines(row: tuple) -> tuple:
    """A row without the line at which a file was cut: the two languages differ in length."""
    return (*row[:-1], re.sub(r"\(line \d+\)", "(line)", row[-1]))


def test_a_class_can_be_built_again():
    first, again, other = (list(mixed_class(4, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other
    for paper, chinese in zip(first, mixed_class(4, seed=1, lang="zh")):
        assert (paper.student, paper.lesson, paper.work) == (chinese.student, chinese.lesson, chinese.work)
