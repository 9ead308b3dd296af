"""The pictures of report.html as inline SVG: text stays text, in the page's font and language, and follows its colours.

Nothing here is a learner's: only numbers and our own words go in, and all text is escaped all the same. Colours are
CSS variables of the page (`--v-passed`, `--bar`), so that one picture serves a light page, a dark one and a printer.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from fp8lab.course.text import Text
from fp8lab.grading.overview import BINS
from fp8lab.grading.verdict import SHOWN

STACK = (  # from what is done to what never came; neighbours differ in lightness, not only in hue
    "passed",
    "wrong",
    "error",
    "timeout",
    "crashed",
    "blocked",
    "not_attempted",
    "missing",
    "rejected",
)
COLOURS = {  # verdict -> (light page, dark page)
    "passed": ("#0b7a52", "#2ea37a"),
    "wrong": ("#e08a2b", "#e9a04c"),
    "error": ("#b3373f", "#d9626b"),
    "timeout": ("#8a6fd0", "#a892e6"),
    "crashed": ("#553a8e", "#7d62b8"),
    "blocked": ("#7fa6c9", "#6f97bb"),
    "not_attempted": ("#c3c9d1", "#5b6571"),
    "missing": ("#e4e7eb", "#39414b"),
    "rejected": ("#3f4651", "#c9d1d9"),
}
HISTOGRAM = Text("{count} learners by percent of the points", "{count} 名学员的得分率分布")
IN_BIN = Text("{low}–{high} %: {count}", "{low}–{high} %：{count} 人")
WIDTH, HEIGHT = 300, 140  # of a histogram, in its own units
FOOT, HEAD = 22, 16  # room for the axis below and for counts above


def histogram_svg(counts: Sequence[int], lang: str) -> str:
    """Bars for tenths of 0..100 %, each with its count."""
    most = max([*counts, 1])
    step = WIDTH / BINS
    label = HISTOGRAM.format(count=sum(counts)).get(lang)
    told = "; ".join(_bin_text(place, count, lang) for place, count in enumerate(counts) if count)
    parts = [
        f'<svg class="hist" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{html.escape(f"{label}: {told}", quote=True)}">'
    ]
    floor = HEIGHT - FOOT
    for place, count in enumerate(counts):
        if count:
            height = max(1.5, count / most * (floor - HEAD))
            left = place * step + 1.5
            parts.append(
                f'<g><title>{html.escape(_bin_text(place, count, lang))}</title><rect class="bar" x="{left:g}" '
                f'y="{floor - height:.1f}" width="{step - 3:g}" height="{height:.1f}"/>'
                f'<text x="{place * step + step / 2:g}" y="{floor - height - 4:.1f}">{count}</text></g>'
            )
    parts.append(f'<path class="axis" d="M0 {floor + 0.5}H{WIDTH}"/>')
    for value in range(0, 101, 20):
        anchor = {0: "start", 100: "end"}.get(value, "middle")
        unit = " %" if value == 100 else ""
        parts.append(
            f'<text class="tick" style="text-anchor:{anchor}" x="{value * WIDTH / 100:g}" '
            f'y="{HEIGHT - 6}">{value}{unit}</text>'
        )
    return "".join([*parts, "</svg>"])


def _bin_text(place: int, count: int, lang: str) -> str:
    return IN_BIN.format(low=place * 100 // BINS, high=(place + 1) * 100 // BINS, count=count).get(lang)


def stacked_bar(counts: Mapping[str, int], lang: str) -> str:
    """One bar of shares of verdicts; what it says in words is its label."""
    total = sum(counts.values())
    if not total:
        return ""
    told = counts_text(counts, lang)
    parts = [
        f'<svg class="stack" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{html.escape(told, quote=True)}"><title>{html.escape(told)}</title>'
    ]
    left = 0.0
    for verdict in STACK:
        if counts.get(verdict):
            width = 100 * counts[verdict] / total
            parts.append(f'<rect class="v-{verdict}" x="{left:.2f}" width="{width:.2f}" height="10"/>')
            left += width
    return "".join([*parts, "</svg>"])


def counts_text(counts: Mapping[str, int], lang: str) -> str:
    """Counts of verdicts in words.

    >>> counts_text({"passed": 3, "wrong": 1}, "en")
    'passed 3 · wrong 1'
    """
    return " · ".join(counts_list(counts, lang))


def counts_list(counts: Mapping[str, int], lang: str) -> list[str]:
    """The same as a list."""
    return [f"{SHOWN[verdict].get(lang)} {counts[verdict]}" for verdict in STACK if counts.get(verdict)]


def legend(verdicts: Sequence[str], lang: str) -> str:
    """What the colours of the bars mean, for the verdicts that occur."""
    items = [
        f'<li><i class="v-{verdict}"></i>{html.escape(SHOWN[verdict].get(lang))}</li>'
        for verdict in STACK
        if verdict in verdicts
    ]
    return f'<ul class="legend">{"".join(items)}</ul>'


def colour_css(dark: bool) -> str:
    """The verdicts' colours as CSS variables."""
    return " ".join(f"--v-{verdict}: {pair[dark]};" for verdict, pair in COLOURS.items())


def verdict_css() -> str:
    """Rules that give every verdict its colour, in a bar and in the legend."""
    return "\n".join(
        f".v-{verdict} {{ fill: var(--v-{verdict}); background: var(--v-{verdict}) }}" for verdict in COLOURS
    )
