"""One look for every picture: colours, figures, and how a figure becomes bytes for a page.

Colours. The three fields differ in hue *and* stay apart for the three common kinds of colour blindness (a test measures
it); white text on each of them has a contrast of at least 4.5, and each is legible on a white and on a near-black page.
They are darker cousins of the Okabe-Ito vermilion, bluish green and blue.

Pages. A figure leaves in two forms. `png` is opaque: dark ink on its own paper, right on any page and in any printer.
`svg` has no paper and its ink is CSS `currentColor`, so that it follows a light or a dark theme without asking which.
"""

from __future__ import annotations

import html
import io
import re

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image  # a requirement of matplotlib

SIGN, EXPONENT, MANTISSA = "#C24A00", "#008161", "#4361EE"
FIELD_COLOURS = {"sign": SIGN, "exponent": EXPONENT, "mantissa": MANTISSA}
SUBNORMAL, ACCENT, MUTED = "#8A4FB5", "#C24A00", "#6B7280"
INK, PAPER = "#1B1F24", "#FFFFFF"
QUIET = 0.7  # opacity of ink for what is said in passing; unlike a grey it works on dark pages too
KIND_COLOURS = {"zero": MUTED, "subnormal": SUBNORMAL, "normal": "#4B5563", "inf": "#A34D82", "nan": "#C62F26"}
WHITE_TEXT = "#FFFFFF"

WIDTH_INCHES = 8.6
DPI = 100
RETINA = 2  # pixels of a PNG per pixel of the page

_SETTINGS = {
    "font.family": ["DejaVu Sans"],  # ships with matplotlib: the same picture on every machine
    "font.size": 10.5,
    "mathtext.fontset": "dejavusans",
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "svg.fonttype": "path",
    "svg.hashsalt": "fp8lab",
    "legend.frameon": False,
}


def settings():
    """Context manager: matplotlib in this course's style. Global settings are left as they were."""
    return matplotlib.rc_context(_SETTINGS)


def new_figure(height: float, width: float = WIDTH_INCHES) -> Figure:
    """An empty figure of `width` × `height` inches that belongs to no window and to no pyplot state."""
    figure = Figure(figsize=(width, height), dpi=DPI, layout="none")
    FigureCanvasAgg(figure)
    return figure


def bare_axes(figure: Figure, place: tuple[float, float, float, float]) -> Axes:
    """Axes without ticks, labels or edges; `set_axis_on` brings them. `place` in parts of the figure."""
    axes = figure.add_axes(place)
    axes.set_axis_off()
    return axes


def emptied(figure: Figure) -> None:
    """Take away what was drawn, and leave the axes with their limits: new axes cost more than what is drawn in them."""
    for part in (figure, *figure.axes):
        drawn = list(part.texts)
        if part is not figure:
            drawn += [*part.lines, *part.patches, *part.collections, *part.images]
        for artist in drawn:
            artist.remove()


def png(figure: Figure) -> bytes:
    """The figure on opaque paper, at twice the page's resolution, in 128 colours: a third of the bytes.

    With a map in it 256 colours, chosen so that rare ones stay: the loudest pixels of a map are few.
    """
    buffer = io.BytesIO()
    with settings():
        # Not raw pixels: whether half a pixel is rounded up or cut off differs between releases of matplotlib.
        plain = {"compress_level": 0}
        figure.savefig(buffer, format="png", dpi=DPI * RETINA, facecolor=PAPER, pil_kwargs=plain)
    has_map = any(axes.images for axes in figure.axes)
    colours, method = (256, Image.Quantize.MAXCOVERAGE) if has_map else (128, Image.Quantize.MEDIANCUT)
    picture = Image.open(buffer).convert("RGB").quantize(colours, method, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    picture.save(packed, format="png", optimize=True)
    return packed.getvalue()


def page_size(figure: Figure) -> tuple[int, int]:
    """Width and height in page pixels: what a PNG of twice the resolution is to be shown at."""
    width, height = figure.get_size_inches() * DPI
    return round(width), round(height)


def svg(figure: Figure, alt: str) -> str:
    """The figure as inline SVG: no paper, ink that follows the page's text colour, `alt` for who cannot see it."""
    buffer = io.StringIO()
    with settings():
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(re.escape(INK), "currentColor", text, flags=re.I)
    width, _ = page_size(figure)
    label = html.escape(alt, quote=True)
    opening = f'<svg role="img" aria-label="{label}" style="max-width:{width}px;width:100%;height:auto;display:block"'
    text = re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", text)
    text = re.sub(r'^<svg([^>]*?) height="[^"]*"', r"<svg\1", text)
    return text.replace("<svg", opening, 1)


def laid_over(under: str, over: str) -> str:
    """Two pictures of one size that `svg` made, as one; the description is that of `over`."""
    opening, drawing = re.match(r"(<svg[^>]*>)(.*)</svg>", over, re.S).groups()
    below = re.match(r"<svg[^>]*>(.*)</svg>", under, re.S).group(1)
    return f"{opening}{below}{drawing}</svg>"


def chip(text: str, colour: str) -> str:
    """A word or number on its colour, as HTML: legible on a light and on a dark page."""
    return (
        f'<span style="background:{colour};color:{WHITE_TEXT};border-radius:4px;padding:1px 6px;'
        f'font-variant-numeric:tabular-nums">{html.escape(text)}</span>'
    )
