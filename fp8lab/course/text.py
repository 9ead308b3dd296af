"""Prose in two languages, side by side, so that neither can be forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class Text:
    """One piece of prose in English and in Chinese.

    >>> Text("wrong", "不对").get("zh")
    '不对'
    """

    en: str
    zh: str

    def __post_init__(self) -> None:
        for lang in LANGUAGES:
            if not getattr(self, lang).strip():
                raise ValueError(f"Text has no {lang!r} side: en={self.en!r}, zh={self.zh!r}; write both")

    def get(self, lang: str) -> str:
        """The side in `lang`. ValueError for a language that the course does not speak."""
        return getattr(self, known_language(lang))

    def format(self, **values: object) -> Text:
        """The same text with `{placeholders}` filled on both sides.

        >>> Text("got {x}", "得到 {x}").format(x=3).en
        'got 3'
        """
        return Text(self.en.format(**values), self.zh.format(**values))


def known_language(lang: str) -> str:
    """`lang` itself if the course speaks it, else a ValueError that names the languages that it does.

    >>> known_language("zh")
    'zh'
    """
    if lang not in LANGUAGES:
        raise ValueError(f"language {lang!r} is not one of {', '.join(LANGUAGES)}")
    return lang


def preferred_language(environment: Mapping[str, str]) -> str:
    """The course's language for somebody with these environment variables: Chinese for a zh locale, else English.

    The first of LC_ALL, LC_MESSAGES and LANG that is set decides, as POSIX has it.

    >>> preferred_language({"LANG": "zh_CN.UTF-8"}), preferred_language({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"})
    ('zh', 'en')
    """
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environment.get(name):
            return "zh" if environment[name].lower().startswith("zh") else "en"
    return "en"
