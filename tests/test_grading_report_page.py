"""report.html as a page: nothing of a learner's runs, nothing is loaded, and it holds for one learner and thousands."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from made_up_class import LESSON, entry
from report_reader import Page, flag_table, mixed_class, report

from fp8lab.grading.overview import Trouble
from fp8lab.grading.pictures import COLOURS, STACK
from fp8lab.grading.report import write_reports
from fp8lab.grading.report_page import MOST_LEARNERS
from fp8lab.grading.verdict import VERDICTS, Entry

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'onmouseover='alert(1)",
    "</style></title><svg onload=alert(1)>",
    "{{7*7}}${7*7}",
    '=HYPERLINK("http://x")',
    "../../etc/passwd",
    "\u202egnp.exe",
    "a\nb\x00c",
    "x" * 5000,
    "javascript:alert(1)",
    "&lt;b&gt;",
]


@pytest.fixture(scope="module")
def mixed():
    return mixed_class()


# ---- nothing runs, nothing is loaded


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_hostile_names_and_files_stay_text(tmp_path, lang):
    entries = [
        entry(name, misconceptions={"1.4": 0}, uses={"1.1": (name,)}, path=name, content="same", prints=None)
        for name in HOSTILE
    ]
    entries += [Entry(name, entry("x", "timeout").report, name, (name,), name) for name in HOSTILE[:4]]
    trouble = Trouble(((HOSTILE[0], HOSTILE[1]),), tuple(HOSTILE), tuple(HOSTILE))
    page = report(tmp_path, entries, lang=lang, trouble=trouble)
    plain = report(tmp_path / "plain", [entry("ann", {"1.1": "timeout"}, misconceptions={"1.4": 0})], lang=lang)
    assert {tag for tag, _ in page.tags} - {tag for tag, _ in plain.tags} <= {"code", "ul", "li"}
    assert not page.all("img") and len(page.scripts) == 1 and page.scripts == plain.scripts
    assert not [attrs for _, attrs in page.tags for name in attrs if name.startswith("on")]
    assert all(re.fullmatch(r"feedback/[^/:]+\.html|review\.csv", link["href"]) for link in page.all("a"))
    assert "\u202e" not in page.source and "\x00" not in page.source and "x" * 400 not in page.source
    assert "<script>alert(1)</script>" in page.text
    for path in (tmp_path / "feedback").glob("*.html"):
        feedback = Page(path.read_text(encoding="utf-8"))
        assert not feedback.all("script") and not feedback.all("img")
        assert not [attrs for _, attrs in feedback.tags for name in attrs if name.startswith("on")]


def test_the_page_is_one_file_and_its_policy_allows_one_script(tmp_path, mixed):
    page = report(tmp_path, mixed)
    assert not page.all("link") and not page.all("img") and not page.all("iframe")
    assert not re.search(r"https?://|url\(|@import", page.source)
    (policy,) = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    digest = base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode()
    assert "default-src 'none'" in policy and f"script-src 'sha256-{digest}'" in policy


def test_no_row_of_review_csv_is_a_formula(tmp_path):
    write_reports(tmp_path, [entry("=1+1", uses={"1.1": ("fp8lab.decode",)}), entry("@x", content="")], [LESSON])
    assert [row["learners"] for row in flag_table(tmp_path)] == ["'=1+1"]


# ---- sizes of classes


def test_a_class_of_nobody_and_of_one(tmp_path):
    nobody = report(tmp_path, [], ())
    assert "Nobody has handed in anything" in nobody.text and not nobody.all("svg")
    one = report(tmp_path, [entry("ann", {"1.1": "wrong"})])
    assert len(one.section("table").rows()) == 1 and "1 learner " in one.text and "1 lesson " in one.text
    assert "Nothing to look at" in one.text


def test_a_lesson_that_nobody_knows_is_no_problem(tmp_path):
    strange = Entry("ann", type(entry("x").report)("", "en", ()), "ann/x.ipynb", (), "holds no exercise of this course")
    page = report(tmp_path, [strange, entry("bob")])
    assert "holds no exercise of this course" in page.section("files").text
    assert len(page.section("table").rows()) == 2


def test_three_thousand_learners_fit_on_the_page(tmp_path, monkeypatch):
    from fp8lab.grading import report as module

    monkeypatch.setattr(module, "markdown_page", lambda *a: "")  # thousands of files are not what is measured here
    monkeypatch.setattr(module, "html_page", lambda *a: "")
    lessons = (LESSON, "02_encode")
    kinds = {
        lesson: [entry("x", v, lesson=lesson).report for v in ("passed", "wrong", "timeout")] for lesson in lessons
    }
    entries = [
        Entry(f"learner with a name of usual length {n}", kinds[lesson][n % 3], f"{n}/x.ipynb")
        for n in range(3000)
        for lesson in lessons
    ]
    page = report(tmp_path, entries, lessons)
    assert len(page.source) < 1_500_000
    assert len(page.section("table").rows()) == 3000
    more = [Entry(str(n), kinds[LESSON][0], "x") for n in range(MOST_LEARNERS + 1)]
    page = report(tmp_path / "more", more)
    assert len(page.section("table").rows()) == MOST_LEARNERS and "1 more in summary.csv" in page.text


# ---- how it looks


def luminance(colour: str) -> float:
    channels = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1])
def test_neighbours_in_a_bar_differ_in_lightness(scheme):
    """So that a bar can be read in grey, and by who does not tell the hues apart."""
    assert set(STACK) == set(COLOURS) == set(VERDICTS)
    for first, second in zip(STACK, STACK[1:]):
        light, dark = sorted((luminance(COLOURS[v][scheme]) + 0.05 for v in (first, second)), reverse=True)
        assert light / dark >= 1.25, (first, second, light / dark)


@pytest.mark.browser
def test_the_table_sorts_and_filters_and_is_there_without_script(tmp_path, mixed, chromium):
    report(tmp_path, mixed)
    address = (tmp_path / "report.html").as_uri()
    with chromium.new_context() as scripted, chromium.new_context(java_script_enabled=False) as plain:
        page = scripted.new_page()
        trouble: list[str] = []
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.goto(address)
        points = "[...document.querySelectorAll('#table tbody tr:not([hidden])')].map(r => r.cells[1].textContent)"
        page.click("#table th:nth-child(2) button")
        down = [int(value) for value in page.evaluate(points)]
        page.click("#table th:nth-child(2) button")
        up = [int(value) for value in page.evaluate(points)]
        assert len(down) == 20 and down == sorted(down, reverse=True) and up == sorted(up)
        page.fill("#table input", "IEEE")
        assert len(page.evaluate(points)) == 4
        assert trouble == []
        still = plain.new_page()
        still.goto(address)
        assert still.locator("#table tbody tr").count() == 20
