"""The picture of one code: nothing overlaps, boxes and strokes stand where the bits and values say."""

from __future__ import annotations

import io
import itertools
import random
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image

from fp8lab.explore import bit_data, bit_figure, style
from fp8lab.explore.bits import alt_text, line_figure
from fp8lab.explore.bits.data import presets, value_order
from fp8lab.formats import FORMATS


def sample_codes() -> list[tuple[str, int]]:
    rng = random.Random(1)
    some = [(name, rng.randrange(fmt.codes)) for name, fmt in FORMATS.items()]
    return some + [(name, code) for name in ("E4M3FN", "E5M2", "E8M0FNU") for _, code in presets(FORMATS[name])]


def texts_of(figure) -> list:
    found = []
    for axes in figure.axes:
        found += [*axes.texts, *(axes.get_xticklabels() if axes.axison else [])]
    return [text for text in found if text.get_text()]


def test_a_figure_leaves_no_trace_in_matplotlib():
    import matplotlib
    from matplotlib import pyplot

    matplotlib.get_backend()  # the first question settles the backend
    before = matplotlib.rcParams.copy()
    style.png(bit_figure(bit_data(0x78)))
    assert matplotlib.rcParams == before and not pyplot.get_fignums()


def test_boxes_are_filled_where_bits_are_one():
    for name, code in sample_codes():
        data = bit_data(code, name)
        boxes = [patch for patch in bit_figure(data).axes[0].patches if patch.get_linestyle() == "-"]
        assert [box.get_facecolor()[3] > 0 for box in boxes] == [bool(bit.value) for bit in data.bits]


@pytest.mark.parametrize("figure", [bit_figure, line_figure])
def test_no_label_leaves_the_paper_or_covers_another(figure):
    for name, code in sample_codes():
        drawn = figure(bit_data(code, name))
        renderer = drawn.canvas.get_renderer()
        drawn.draw(renderer)
        page = drawn.bbox
        boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts_of(drawn)]
        for text, box in boxes:
            assert page.x0 - 1 <= box.x0 and box.x1 <= page.x1 + 1, (name, hex(code), text)
            assert page.y0 - 1 <= box.y0 and box.y1 <= page.y1 + 1, (name, hex(code), text)
        for (one, a), (two, b) in itertools.combinations(boxes, 2):
            wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert wide < 1 or high < 3, (name, hex(code), one, two)


def test_every_finite_value_has_its_stroke_and_the_marker_stands_on_the_right_one():
    for fmt in FORMATS.values():
        code = fmt.max_code // 2
        line = bit_figure(bit_data(code, fmt)).axes[2]
        strokes = [x for curve in line.lines[:3] for x in curve.get_xdata()[::3]]
        assert len(strokes) == len(value_order(fmt))
        marker = line.lines[-1].get_xdata()[0]
        wanted = sorted(strokes)[value_order(fmt).index(code)]
        assert marker == pytest.approx(wanted)


def test_png_is_opaque_small_and_twice_the_page():
    figure = bit_figure(bit_data(0x78))
    picture = Image.open(io.BytesIO(style.png(figure)))
    width, height = style.page_size(figure)
    assert picture.size == (2 * width, 2 * height) and picture.format == "PNG"
    assert picture.convert("RGBA").getextrema()[3] == (255, 255)
    assert picture.convert("RGB").getpixel((3, picture.size[1] // 2)) == (255, 255, 255)
    assert len(style.png(figure)) < 60_000


def test_svg_follows_the_page_and_says_what_it_shows():
    figure = line_figure(bit_data(0x78))
    text = style.svg(figure, alt_text(bit_data(0x78)))
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and "256" in root.get("aria-label") and root.get("width") is None
    assert "currentColor" in text and style.INK.lower() not in text.lower()
    assert "#ffffff" not in text.lower(), "white paper under a dark theme"
    assert "<metadata" not in text and text == style.svg(line_figure(bit_data(0x78)), alt_text(bit_data(0x78)))
