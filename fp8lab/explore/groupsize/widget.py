"""The group-size explorer as a widget: choose data, format and group size; every curve of a tensor is measured once."""

from __future__ import annotations

import gc
import html
from collections.abc import Mapping
from contextlib import contextmanager

import ipywidgets as widgets
import torch
import traitlets

from fp8lab.explore.groupsize.data import (
    KINDS,
    WAYS,
    Curves,
    GroupsizeData,
    groupsize_data,
    measure,
    places_of,
    synthetic,
)
from fp8lab.explore.groupsize.data import prepared as prepare
from fp8lab.explore.groupsize.figure import METRICS, decibel, groupsize_figure, groupsize_svg, words
from fp8lab.explore.groupsize.words import WORDS
from fp8lab.explore.widget import Explorer, check_language, folded, row, status, stylesheet, table

STRENGTHS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0, 1000.0, 10_000.0, 100_000.0)
COUNTS = (0, 1, 2, 4, 8, 16, 32)
MOST_PICTURES = 200  # of some 60 kB each
Key = tuple[str, float, int]


def groupsize_explorer(
    x: torch.Tensor | Mapping[str, torch.Tensor] | None = None,
    way: str = "E4M3FN",
    place: str | int = "64",
    *,
    strength: float = 20.0,
    outliers: int = 4,
    metric: str = "error",
    lang: str = "en",
) -> GroupsizeExplorer:
    """See what a scale for fewer values buys. Displayed, it is alive where widgets are, else a picture, else text.

    x         a K or V of your own [..., tokens, head_dim], or several by name ({"K, layer 3": k}); beside them and
              without them there are made-up ones, whose outliers the sliders set
    way       a key of `fp8lab.explore.groupsize.data.WAYS`
    place     values per scale, a power of two below head_dim, or "token", "head", "tensor"
    strength  one of STRENGTHS; outliers one of COUNTS
    metric    "error" (median relative error) or "sqnr"
    lang      "en" or "zh", for the words on the controls

    ValueError for an unknown name, a tensor without values, with NaN or infinity; TypeError for what is no tensor.
    """
    own = {"x": x} if isinstance(x, torch.Tensor) else dict(x or {})
    for name, tensor in own.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name!r} is a {type(tensor).__name__}; give torch tensors")
    for given, known in ((metric, METRICS), (strength, STRENGTHS), (outliers, COUNTS), (way, tuple(WAYS))):
        if given not in known:
            raise ValueError(f"{given!r} is not one of {', '.join(map(str, known))}")
    first = next(iter(own), KINDS[0])
    tensors = {name: prepare(tensor) for name, tensor in own.items()}
    known = places_of(tuple(tensors[first].shape) if first in tensors else tuple(synthetic().shape))
    if str(place) not in known:
        raise ValueError(f"place is {place!r}; it is one of {', '.join(known)}")
    settings = {"data": first, "way": way, "place": str(place), "strength": float(strength), "metric": metric}
    return GroupsizeExplorer(tensors, {**settings, "outliers": outliers}, check_language(lang))


class GroupsizeState(traitlets.HasTraits):
    """All that the explorer remembers."""

    data = traitlets.Unicode()
    strength = traitlets.Float()
    outliers = traitlets.Int()
    way = traitlets.Unicode()
    place = traitlets.Unicode()
    metric = traitlets.Unicode()


class GroupsizeExplorer(Explorer):
    """`state` is what it shows; assign to its traits to change it. `data` is the record of the state."""

    def __init__(self, own: dict[str, torch.Tensor], settings: dict, lang: str) -> None:
        self._say, self._own = WORDS[lang], own
        self._tensors: dict[Key, torch.Tensor] = {}
        self._curves: dict[Key, Curves] = {}
        self._records: dict[tuple[Key, str, str], GroupsizeData] = {}
        self._pictures: dict[tuple[str, ...], str] = {}
        self.state = GroupsizeState(**settings)
        self._make_controls()
        self.readout, self._picture, self.more = (widgets.HTML() for _ in range(3))
        self._picture.layout.width = "100%"
        children = [
            stylesheet(),
            row(self.menus["data"], self.sliders["strength"], self.sliders["outliers"]),
            row(self.menus["way"], self.sliders["place"], self.menus["metric"]),
            self.readout,
            self._picture,
            self.more,
        ]
        still = lambda: groupsize_figure(self.data, self.state.metric)  # noqa: E731
        super().__init__(children, still=still, words=lambda: words(self.data))
        self._show()
        self._follow(self.state)

    @property
    def data(self) -> GroupsizeData:
        """The record of the present state; each tensor is measured once, each setting looked at once."""
        state = self.state
        made_up = state.data not in self._own
        tensor: Key = (state.data, state.strength, state.outliers) if made_up else (state.data, 0.0, 0)
        key = (tensor, state.way, state.place)
        if key not in self._records:
            if tensor not in self._curves:
                x = synthetic(*tensor) if made_up else self._own[state.data]
                self._tensors[tensor], self._curves[tensor] = x, measure(x)
            name = f"{state.data}, {state.outliers} outliers ×{state.strength:g}" if made_up else state.data
            x, curves = self._tensors[tensor], self._curves[tensor]
            self._records[key] = groupsize_data(x, state.way, state.place, name=name, curves=curves)
        return self._records[key]

    def _make_controls(self) -> None:
        say = self._say
        choices = {
            "data": [(name, name) for name in self._own] + [(say[k], k) for k in KINDS if k not in self._own],
            "way": [(say[name], name) for name in WAYS],
            "metric": [(say[name], name) for name in METRICS],
        }
        self.menus = {name: self._control(widgets.Dropdown, name, options) for name, options in choices.items()}
        slides = {
            "strength": [(f"{value:g}", value) for value in STRENGTHS],
            "outliers": [(str(value), value) for value in COUNTS],
            "place": self._places(),
        }
        self.sliders = {name: self._control(widgets.SelectionSlider, name, opts) for name, opts in slides.items()}

    def _control(self, kind: type, name: str, options: list[tuple[str, object]]) -> widgets.Widget:
        extra = {"continuous_update": False} if kind is widgets.SelectionSlider else {}
        layout = widgets.Layout(width="290px")
        control = kind(options=options, description=self._say[name], layout=layout, **extra)
        control.style.description_width = "72px"
        control.observe(self._when(lambda change: self._choose(name, change["new"])), "value")
        return control

    def _places(self) -> list[tuple[str, str]]:
        x = self._own.get(self.state.data)
        labels = places_of(tuple((synthetic(KINDS[0]) if x is None else x).shape))
        return [(self._say["values"].format(n=p) if p.isdigit() else self._say[p], p) for p in labels]

    def _choose(self, name: str, value: object) -> None:
        changes = {name: value}
        if name == "data":  # another head_dim has other places
            x = self._own.get(value)
            places = places_of(tuple((synthetic(value) if x is None else x).shape))
            changes["place"] = self.state.place if self.state.place in places else "token"
        self._move(**changes)

    def _show(self) -> None:
        with self._without_echo():
            self.sliders["place"].options = self._places()
            for name, control in {**self.menus, **self.sliders}.items():
                control.value = getattr(self.state, name)
            for name in ("strength", "outliers"):
                shown = self.state.data not in self._own
                self.sliders[name].layout.visibility = "visible" if shown else "hidden"
        data = self.data
        self.readout.value = status(self._numbers(data))
        self._picture.value = self._drawn(data)
        text = f"<pre style='white-space:pre-wrap'>{html.escape(words(data))}</pre>"
        self.more.value = folded(self._say["as text"], text)

    def _drawn(self, data: GroupsizeData) -> str:
        """The picture of the state; the last ones are kept, so that going back and forth costs nothing."""
        key = (data.name, data.way, data.place, self.state.metric)
        if key not in self._pictures:
            if len(self._pictures) >= MOST_PICTURES:
                self._pictures.clear()
            with _garbage_later():
                self._pictures[key] = groupsize_svg(data, self.state.metric)
        return self._pictures[key]

    def _numbers(self, data: GroupsizeData) -> str:
        say, point = self._say, data.chosen
        numbers = {
            "error": f"{point.error:.2%}",
            "sqnr": decibel(point.sqnr_db),
            "bytes": f"{point.bytes_per_value:.4g}",
            "smaller": f"{2 / point.bytes_per_value:.3f}×",
            "exact": f"{data.exact:.1%}",
            "lost": f"{data.lost:.1%}",
        }
        return table([say[name] for name in numbers], [[f"<b>{number}</b>" for number in numbers.values()]])


@contextmanager
def _garbage_later():
    """A figure leaves thousands of objects behind; Python is to collect them after it was shown, not in between."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
