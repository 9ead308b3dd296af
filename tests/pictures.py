"""What tests of pictures share: what an SVG holds, and whether the labels of a figure have room."""

from __future__ import annotations

import itertools
import re
from collections import Counter

from matplotlib.figure import Figure


def shapes(svg: str) -> Counter[str]:
    """Every outline, glyph and image drawn, whatever the order; clip paths, definitions and paper do not count."""
    drawn = re.sub(r'<defs>.*?</defs>|<g id="patch_1">.*?</g>', "", svg, flags=re.S)
    return Counter(re.findall(r'(?:\sd|xlink:href)="([^"]+)"', drawn))


def crowded(figure: Figure) -> list[tuple[str, ...]]:
    """Labels that leave the paper, and pairs of labels that cover each other."""
    renderer = figure.canvas.get_renderer()
    figure.draw(renderer)
    texts = [*figure.texts]
    for axes in figure.axes:
        texts += [*axes.texts, axes.title]
        if axes.axison:
            texts += [axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts if text.get_text()]
    page = figure.bbox
    outside = [
        (text,) for text, box in boxes if min(box.x0, box.y0) < -1 or box.x1 > page.x1 + 1 or box.y1 > page.y1 + 1
    ]
    covered = [
        (one, two)
        for (one, a), (two, b) in itertools.combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) >= 1 and min(a.y1, b.y1) - max(a.y0, b.y0) >= 3
    ]
    return outside + covered
