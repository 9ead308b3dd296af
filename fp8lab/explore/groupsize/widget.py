"""The group-size explorer as a widget: choose data, format and group size; every curve of a tensor is measured once."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import traitlets

from fp8lab.explore.groupsize.data import (
    KINDS,
    SHAPE,
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
from fp8lab.explore.widget import Explorer, Kept, check_choices, check_language, own_tensors, row, stylesheet, table

STRENGTHS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0, 1000.0, 10_000.0, 100_000.0)
COUNTS = (0, 1, 2, 4, 8, 16, 32)
MOST_KEPT = 200  # pictures of some 90 kB each, records of 130 kB
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
    own = own_tensors(x)
    check_choices(
        metric=(metric, METRICS), strength=(strength, STRENGTHS), outliers=(outliers, COUNTS), way=(way, tuple(WAYS))
    )
    first = next(iter(own), KINDS[0])
    tensors = {name: prepare(tensor) for name, tensor in own.items()}
    known = places_of(tuple(tensors[first].shape if first in tensors else SHAPE))
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
        self._measured, self._records, self._pictures = (Kept(MOST_KEPT) for _ in range(3))
        self.state = GroupsizeState(**settings)
        self._make_controls()
        children = [
            stylesheet(),
            row(self.menus["data"], self.sliders["strength"], self.sliders["outliers"]),
            row(self.menus["way"], self.sliders["place"], self.menus["metric"]),
            *self._make_views(),
        ]
        still = lambda: groupsize_figure(self.data, self.state.metric)  # noqa: E731
        super().__init__(children, still=still, words=lambda: words(self.data))
        self._show()
        self._follow(self.state)

    @property
    def _tensor(self) -> Key:
        """Which tensor is shown: one of one's own has no strength and no number of outliers."""
        state = self.state
        return (state.data, 0.0, 0) if state.data in self._own else (state.data, state.strength, state.outliers)

    @property
    def data(self) -> GroupsizeData:
        """The record of the present state; each tensor is measured once, each setting looked at once."""
        key, way, place = self._tensor, self.state.way, self.state.place
        name, strength, outliers = key
        is_own = name in self._own

        def tensor_and_curves() -> tuple[torch.Tensor, Curves]:
            x = self._own[name] if is_own else synthetic(*key)
            return x, measure(x)

        def look() -> GroupsizeData:
            x, curves = self._measured.get(key, tensor_and_curves)
            title = name if is_own else f"{name}, {outliers} outliers ×{strength:g}"
            return groupsize_data(x, way, place, name=title, curves=curves)

        return self._records.get((key, way, place), look)

    def _make_controls(self) -> None:
        say = self._say
        choices = {
            "data": [(name, name) for name in self._own] + [(say[k], k) for k in KINDS if k not in self._own],
            "way": [(say[name], name) for name in WAYS],
            "metric": [(say[name], name) for name in METRICS],
        }
        wide, narrow = (
            "314px",
            "276px",
        )  # two rows of three in 900 pixels
        self.menus = {
            "data": self._chooser("data", choices["data"], self._choose_data, width=wide),
            "way": self._chooser("way", choices["way"], width=wide),
            "metric": self._chooser("metric", choices["metric"], width=narrow),
        }
        slides = {
            "strength": [(f"{value:g}", value) for value in STRENGTHS],
            "outliers": [(str(value), value) for value in COUNTS],
            "place": self._places(),
        }
        self.sliders = {
            name: self._chooser(name, options, slides=True, width=narrow) for name, options in slides.items()
        }

    def _place_names(self, data: str) -> tuple[str, ...]:
        return tuple(places_of(tuple(self._own[data].shape if data in self._own else SHAPE)))

    def _places(self) -> list[tuple[str, str]]:
        say = self._say
        return [(say["values"].format(n=p) if p.isdigit() else say[p], p) for p in self._place_names(self.state.data)]

    def _choose_data(self, data: str) -> None:
        """Another head_dim has other places."""
        place = self.state.place
        self._move(data=data, place=place if place in self._place_names(data) else "token")

    def _show(self) -> None:
        with self._without_echo():
            self.sliders["place"].options = self._places()
            for name, control in {**self.menus, **self.sliders}.items():
                control.value = getattr(self.state, name)
            for name in ("strength", "outliers"):
                shown = self.state.data not in self._own
                self.sliders[name].layout.visibility = "visible" if shown else "hidden"
        data, metric = self.data, self.state.metric
        key = (self._tensor, data.way, data.place, metric)
        self._set_views(self._numbers(data), self._pictures.get(key, lambda: groupsize_svg(data, metric)))

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
