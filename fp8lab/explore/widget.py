"""What all explorers share: a widget that leaves a picture behind, and small pieces of HTML.

The picture. Notebooks are read where no kernel runs: on GitHub, in nbconvert's HTML, in an editor without widgets, on
paper. So an explorer shows itself as *one* output with three forms, and each front end takes the best that it knows:
the live widget, else a PNG, else text. ipywidgets 8 gives only the first and last of them and ipywidgets 7 displays
itself past IPython's formatter; `Explorer` puts both right.
"""

from __future__ import annotations

import base64
import gc
import html
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager

import ipywidgets as widgets
import torch
import traitlets
from matplotlib.figure import Figure

from fp8lab.explore import style

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
LANGUAGES = ("en", "zh")
LABEL_WIDTH = "80px"  # of the words before a control


class Explorer(widgets.VBox):
    """A column of controls over one `state`. `still()` draws the state, `words()` tells it, when it is
    displayed. A subclass makes the controls, and has `_show()` set them and its pictures from the state."""

    _ipython_display_ = None  # ipywidgets 7 displays through this method, and sends the live widget alone
    _showing = False  # true while the explorer itself sets its controls
    _moving = False  # true while several traits of the state change together

    def __init__(self, children: list, still: Callable[[], Figure], words: Callable[[], str]) -> None:
        self._still, self._words = still, words
        super().__init__(children=children, layout=widgets.Layout(max_width="900px"))
        self.add_class("fp8-explorer")

    @property
    def text(self) -> str:
        """The present state in words."""
        return self._words()

    def _make_views(self) -> list[widgets.HTML]:
        """What an explorer of tensors shows below its controls: numbers, the picture, and the same as text."""
        self.readout, self._picture, self.more = views = [widgets.HTML() for _ in range(3)]
        self._picture.layout.width = "100%"
        return views

    def _chooser(
        self, name: str, options: list[tuple[str, object]], act: Callable[[object], None] | None = None, *,
        slides: bool = False, label: str = "", width: str = "290px",
    ) -> widgets.Widget:  # fmt: skip
        """A menu, or a slider over a list, for the trait `name` of the state. A choice moves it, or does `act`."""
        kind = widgets.SelectionSlider if slides else widgets.Dropdown
        extra = {"continuous_update": False} if slides else {}
        chooser = kind(
            options=options, description=label or self._say[name], layout=widgets.Layout(width=width), **extra
        )
        chooser.style.description_width = LABEL_WIDTH
        act = act or (lambda value: self._move(**{name: value}))
        chooser.observe(self._when(lambda change: act(change["new"])), "value")
        return chooser

    def _set_views(self, numbers: str, drawing: str) -> None:
        """Show numbers and picture, both HTML, and the words."""
        self.readout.value = status(numbers)
        self._picture.value = drawing
        text = f"<pre style='white-space:pre-wrap'>{html.escape(self.text)}</pre>"
        self.more.value = folded(self._say["as text"], text)

    def _follow(self, state: traitlets.HasTraits) -> None:
        """Show every change of the state from now on, whoever makes it."""
        state.observe(lambda _: None if self._moving else self._redraw())

    def _redraw(self) -> None:
        with garbage_later():
            self._show()

    def _move(self, **changes) -> None:
        """Change the state and show it, once."""
        self._moving = True
        try:
            for name, value in changes.items():
                setattr(self.state, name, value)
        finally:
            self._moving = False
        self._redraw()

    def _when(self, act: Callable) -> Callable:
        """`act` on a change by a person, and not when the explorer itself is showing its state."""
        return lambda change: None if self._showing else act(change)

    @contextmanager
    def _without_echo(self):
        """Controls are being set by the explorer: their changes are no wishes."""
        self._showing = True
        try:
            yield
        finally:
            self._showing = False

    def _repr_mimebundle_(self, **kwargs) -> tuple[dict, dict]:
        figure = self._still()
        width, height = style.page_size(figure)
        data = {"text/plain": self.text, "image/png": base64.b64encode(style.png(figure)).decode("ascii")}
        if self.comm is not None:  # a closed widget has no view any more
            data[WIDGET_VIEW] = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        return data, {"image/png": {"alt": self.text, "width": width, "height": height}}

    def __repr__(self) -> str:
        return self.text


class Kept:
    """The last results, by what they depend on: going back and forth costs nothing. It starts anew when it is full.

    >>> squares = Kept(100)
    >>> squares.get(3, lambda: 3 * 3), squares.get(3, lambda: 1 / 0)
    (9, 9)
    """

    def __init__(self, most: int) -> None:
        self._most, self._made = most, {}

    def get(self, key: Hashable, make: Callable[[], object]):
        if key not in self._made:
            made = make()
            if len(self._made) >= self._most:
                self._made.clear()
            self._made[key] = made
        return self._made[key]


@contextmanager
def garbage_later() -> Iterator[None]:
    """A figure leaves thousands of objects behind; Python is to collect them after it was shown, not in between.

    A full collection takes 130 ms in a kernel that has loaded torch.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def own_tensors(x: torch.Tensor | Mapping[str, torch.Tensor] | None) -> dict[str, torch.Tensor]:
    """What a caller hands in, by name. TypeError for what is no tensor."""
    if not (x is None or isinstance(x, (torch.Tensor, Mapping))):
        raise TypeError(f"x is a {type(x).__name__}; give a torch tensor, or a dict of tensors by name")
    own = {"x": x} if isinstance(x, torch.Tensor) else dict(x or {})
    for name, tensor in own.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name!r} is a {type(tensor).__name__}; give torch tensors")
    return own


def check_choices(**chosen: tuple[object, tuple]) -> None:
    """ValueError for a choice that is not among what there is: check_choices(fmt=("int3", ("int4", "int8")))."""
    for name, (given, known) in chosen.items():
        if given not in known:
            raise ValueError(f"{name} is {given!r}; it is one of {', '.join(map(str, known))}")


def picture(figure: Figure, alt: str) -> str:
    """HTML of a figure that follows the page's theme, with its description."""
    return style.svg(figure, alt)


def message(text: str, colour: str = style.KIND_COLOURS["nan"]) -> str:
    """One line to the reader, announced by screen readers; nothing for an empty text."""
    if not text:
        return ""
    look = f"border-left:4px solid {colour};padding:2px 8px;line-height:1.4"
    return f'<div role="alert" style="{look}">{html.escape(text)}</div>'


def status(inner: str) -> str:
    """A region whose changes screen readers announce."""
    return f'<div role="status" aria-live="polite">{inner}</div>'


def table(head: list[str], rows: list[list[str]], *, first_is_current: bool = False) -> str:
    """An HTML table; cells are HTML already."""
    cells = "".join(f"<th scope='col'>{name}</th>" for name in head)
    lines = [f"<tr>{cells}</tr>"]
    for number, row in enumerate(rows):
        weight = " class='fp8-current'" if first_is_current and number == 0 else ""
        lines.append(f"<tr{weight}>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>")
    return f"<table class='fp8-table'>{''.join(lines)}</table>"


def folded(title: str, inner: str, *, is_open: bool = False) -> str:
    """Something that opens on a click."""
    return f"<details{' open' if is_open else ''}><summary>{html.escape(title)}</summary>{inner}</details>"


def small_button(text: str, act: Callable[[], None], tip: str = "") -> widgets.Button:
    button = widgets.Button(description=text, tooltip=tip)
    button.add_class("fp8-small")
    button.on_click(lambda _: act())
    return button


def row(*children: widgets.Widget) -> widgets.HBox:
    """Controls beside each other; on a narrow page below each other."""
    return widgets.HBox(list(children), layout=widgets.Layout(flex_flow="row wrap"))


def stylesheet() -> widgets.HTML:
    """The rules that the explorers' classes need. One per explorer: an output may be the only one on its page."""
    return widgets.HTML(f"<style>{_RULES + _field_rules()}</style>", layout=widgets.Layout(height="0", margin="0"))


def check_language(lang: str) -> str:
    if lang not in LANGUAGES:
        raise ValueError(f"lang is {lang!r}; it is one of {', '.join(LANGUAGES)}")
    return lang


_RULES = """
.fp8-explorer { color: inherit; padding: 4px 2px 8px 2px; }
.fp8-explorer .fp8-bit { width: 42px; height: 46px; line-height: 40px; margin: 1px 3px; padding: 0; border-radius: 7px;
  border: 2px solid; background: transparent; color: inherit; box-shadow: none;
  font-family: var(--jp-code-font-family, monospace); font-size: 19px; font-weight: 700; }
.fp8-explorer .fp8-bit.mod-active { color: #fff; }
.fp8-explorer button:focus-visible { outline: 3px solid #6ea8fe; outline-offset: 2px; }
.fp8-explorer .fp8-label { font-size: 12px; font-weight: 600; line-height: 1.5; margin: 0 4px; white-space: nowrap; }
.fp8-explorer .fp8-implicit { width: 38px; height: 46px; line-height: 42px; box-sizing: border-box; margin: 1px 3px;
  border: 2px dashed #6B7280; border-radius: 7px; text-align: center; opacity: .85;
  font-family: var(--jp-code-font-family, monospace); font-size: 19px; }
.fp8-explorer .fp8-formula { font-size: 19px; line-height: 1.9; }
.fp8-explorer .fp8-formula sup { font-size: 13px; }
.fp8-explorer .fp8-facts { line-height: 1.7; font-size: 13.5px; }
.fp8-explorer .fp8-mono { font-family: var(--jp-code-font-family, monospace); }
.fp8-explorer .fp8-formula .fp8-class { font-size: 13px; vertical-align: 2px; margin-left: 10px; }
.fp8-explorer .fp8-formula sup { margin-left: 2px; }
.fp8-explorer .fp8-table { border-collapse: collapse; margin: 4px 0; font-size: 13px; line-height: 1.55; }
.fp8-explorer .fp8-table th, .fp8-explorer .fp8-table td { text-align: left; background: transparent;
  padding: 2px 14px 2px 2px; border-bottom: 1px solid rgba(128, 128, 128, .35); white-space: nowrap; }
.fp8-explorer .fp8-current td { font-weight: 700; }
.fp8-explorer summary { cursor: pointer; font-size: 13px; }
.fp8-explorer .jupyter-button.fp8-small { width: auto; min-width: 36px; padding: 0 10px; }
"""


def _field_rules() -> str:
    rules = []
    for field, colour in style.FIELD_COLOURS.items():
        rules.append(f".fp8-explorer .fp8-bit.fp8-{field} {{ border-color: {colour}; background: {colour}1f; }}")
        rules.append(f".fp8-explorer .fp8-bit.fp8-{field}.mod-active {{ background: {colour}; }}")
    return "\n".join(rules)
