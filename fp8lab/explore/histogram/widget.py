"""The histogram explorer as a widget: choose data, format and scale, and see what is stored and what is lost."""

from __future__ import annotations

from collections.abc import Mapping

import ipywidgets as widgets
import torch
import traitlets

from fp8lab.elements import INTEGERS, element_format
from fp8lab.explore.histogram.data import (
    GRANULARITIES,
    SAMPLES,
    SCALE_FORMATS,
    SCALE_RULES,
    HistogramData,
    histogram_data,
    sample,
)
from fp8lab.explore.histogram.figure import AXES, histogram_figure, words
from fp8lab.explore.histogram.words import WORDS
from fp8lab.explore.widget import (
    Explorer,
    check_choices,
    check_language,
    message,
    own_tensors,
    picture,
    row,
    stylesheet,
    table,
)
from fp8lab.formats import FORMATS

DATA_FORMATS = (
    *(fmt.name for fmt in FORMATS.values() if fmt.signed and fmt.has_zero),
    *INTEGERS,
)
STRONGEST = 300.0  # K of Qwen2.5 has channels about this far out


def histogram_explorer(
    x: torch.Tensor | Mapping[str, torch.Tensor] | None = None,
    fmt="E4M3FN",
    *,
    granularity: str = "per tensor",
    rule: str = "absmax",
    scale_format: str = "float32",
    axis: str = "linear",
    lang: str = "en",
) -> HistogramExplorer:
    """See what a format and a scale do to a tensor. Alive where widgets are, else a picture, else text.

    x             a tensor of your own, or several by name ({"K, layer 3": k}); beside them and without them there are
                  samples: normal, heavy-tailed, with outlier channels
    fmt           an element format or its name: "E4M3FN", "int8", …
    granularity, rule, scale_format   see `fp8lab.explore.histogram.histogram_data`; axis "linear" or "log"
    lang          "en" or "zh", for the words on the controls

    ValueError for an unknown name, TypeError for what is no tensor.
    """
    own = own_tensors(x)
    check_choices(axis=(axis, AXES))
    first = next(iter(own), "normal")
    settings = {"fmt": element_format(fmt).name, "granularity": granularity, "rule": rule, "scale_format": scale_format}
    histogram_data(own.get(first, sample("normal")), **settings)  # what does not work says so here
    return HistogramExplorer(own, {"data": first, "axis": axis, **settings}, check_language(lang))


class HistogramState(traitlets.HasTraits):
    """All that the explorer remembers."""

    data = traitlets.Unicode()
    strength = traitlets.Float(20.0)
    fmt = traitlets.Unicode()
    granularity = traitlets.Unicode()
    rule = traitlets.Unicode()
    scale_format = traitlets.Unicode()
    axis = traitlets.Unicode()


class HistogramExplorer(Explorer):
    """`state` is what it shows; assign to its traits to change it. `data` is the record of the state."""

    def __init__(self, own: dict[str, torch.Tensor], settings: dict[str, str], lang: str) -> None:
        self._say, self._own, self._seen = WORDS[lang], own, (None, None)
        self.state = HistogramState(**settings)
        self._make_controls()
        self._messages = widgets.HTML()
        children = [
            stylesheet(),
            row(*(self.menus[name] for name in ("data", "fmt", "granularity"))),
            row(*(self.menus[name] for name in ("axis", "rule", "scale_format"))),
            self.strength,
            self._messages,
            *self._make_views(),
        ]
        super().__init__(
            children, still=lambda: histogram_figure(self.data, self.state.axis), words=lambda: words(self.data)
        )
        self._show()
        self._follow(self.state)

    @property
    def data(self) -> HistogramData:
        """The record of the present state; computed once for each state."""
        state = self.state
        key = (state.data, state.strength, state.fmt, state.granularity, state.rule, state.scale_format)
        if self._seen[0] != key:
            x = self._own[state.data] if state.data in self._own else sample(state.data, state.strength)
            name = f"{state.data} ×{state.strength:g}" if state.data == "outlier channels" else state.data
            made = histogram_data(x, state.fmt, state.granularity, state.rule, state.scale_format, name=name)
            self._seen = (key, made)
        return self._seen[1]

    def _make_controls(self) -> None:
        say = self._say
        choices = {
            "data": [(name, name) for name in self._own]
            + [(say[name], name) for name in SAMPLES if name not in self._own],
            "fmt": [(name, name) for name in DATA_FORMATS],
            "granularity": [(say[name], name) for name in GRANULARITIES],
            "rule": [(say[name], name) for name in SCALE_RULES],
            "scale_format": [(say[name], name) for name in SCALE_FORMATS],
            "axis": [(say[name], name) for name in AXES],
        }
        labels = {"fmt": say["format"]}
        self.menus = {
            name: self._chooser(name, options, label=labels.get(name, ""), width="280px")
            for name, options in choices.items()
        }
        self.strength = widgets.FloatLogSlider(
            base=10, min=0, max=2.5, step=0.05, description=say["strength"], continuous_update=False,
            readout_format=".3g", style={"description_width": "80px"}, layout=widgets.Layout(width="300px"),
        )  # fmt: skip
        slid = self._when(lambda change: self._move(strength=min(float(f"{change['new']:.3g}"), STRONGEST)))
        self.strength.observe(slid, "value")

    def _show(self) -> None:
        with self._without_echo():
            for name, menu in self.menus.items():
                menu.value = getattr(self.state, name)
            self.strength.value = self.state.strength
            self.strength.layout.display = None if self.state.data == "outlier channels" else "none"
            unscaled = self.state.rule == "1 (none)"
            self.menus["granularity"].disabled = self.menus["scale_format"].disabled = unscaled
        try:
            data = self.data
        except (ValueError, IndexError) as problem:  # such as a tensor that holds NaN
            self._messages.value = message(self._say["cannot"].format(reason=problem))
            return
        self._messages.value = ""
        drawing = picture(histogram_figure(data, self.state.axis), words(data))
        self._set_views(self._numbers(data), drawing)

    def _numbers(self, data: HistogramData) -> str:
        say = self._say
        names = ["sqnr", "relative", "used", "entropy", "bits", "zeros", "saturated"]
        numbers = [
            f"{data.sqnr_db:.1f} dB",
            f"{data.median_relative_error:.2%}",
            say["of"].format(part=data.codes_used, all=data.codes_total),
            say["of"].format(part=f"{data.entropy_bits:.2f}", all=data.fmt.bits),
            f"{data.bits_per_value:.2f}",
            f"{data.zeros:.2%}",
            f"{data.saturated:.2%}",
        ]
        return table([say[name] for name in names], [[f"<b>{number}</b>" for number in numbers]])
