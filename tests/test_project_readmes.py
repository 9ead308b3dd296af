"""Both READMEs: the same commands, true links, every lesson, and the words that a learner sees."""

from __future__ import annotations

import re

import pytest


def blocks(text: str) -> list[str]:
    """The commands and the code of a Markdown text, without comments."""
    found = re.findall(r"^```(?:bash|python)\n(.*?)^```$", text, re.M | re.S)
    return [re.sub(r"\s*#.*$", "", block, flags=re.M).strip() for block in found]


def test_the_readmes_tell_the_same_commands_in_both_languages(root):
    english = (root / "README.md").read_text(encoding="utf-8")
    chinese = (root / "README.zh-CN.md").read_text(encoding="utf-8")
    assert blocks(english) == blocks(chinese)
    assert len(blocks(english)) >= 4
    assert "README.zh-CN.md" in english and "README.md" in chinese


@pytest.mark.parametrize(("name", "lang"), [("README.md", "en"), ("README.zh-CN.md", "zh")])
def test_the_verdict_that_a_readme_shows_is_what_a_learner_sees(root, name, lang):
    from fp8lab.course.check import Check
    from fp8lab.course.progress import Progress
    from fp8lab.course.registry import exercise

    (shown,) = re.findall(r"^```text\n(.*?)^```$", (root / name).read_text(encoding="utf-8"), re.M | re.S)
    (mistake,) = [m for m in exercise("1.4").misconceptions if m.name == "IEEE habit"]
    said = repr(Check(lang, Progress(None))("1.4", mistake.answer))
    assert "".join(shown.split()) == "".join(said.split())


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_every_link_of_a_readme_leads_somewhere(root, name):
    text = (root / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)|<(?:img|source)[^>]* src(?:set)?=\"([^\"]+)\"", text)
    relative = [a or b for a, b in targets if not re.match(r"\w+:", a or b)]
    assert relative
    assert [target for target in relative if not (root / target).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_lessons_that_a_readme_promises_exist_and_none_is_forgotten(root, name):
    linked = re.findall(r"\]\(notebooks/(?:en|zh)/(\d\d_\w+)\.ipynb\)", (root / name).read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(path.stem for path in (root / "solutions").glob("[0-9][0-9]_*.md"))
