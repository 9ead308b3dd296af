"""The outlier map as a widget: choose data, format and granularity; both maps are drawn again."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import traitlets

from fp8lab.explore.outlier_map.data import AXES, FORMATS, KINDS, OutlierData, outlier_data, prepared, synthetic
from fp8lab.explore.outlier_map.figure import VIEWS, outlier_figure, outlier_svg, words
from fp8lab.explore.outlier_map.words import WORDS
from fp8lab.explore.widget import Explorer, Kept, check_choices, check_language, own_tensors, row, stylesheet, table

STRENGTHS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0, 1000.0, 5000.0)
MOST_KEPT = 200  # records and pictures, of some 100 kB each
LITTLE = 1.1  # a ratio of errors below it is called no change


def outlier_explorer(
    x: torch.Tensor | Mapping[str, torch.Tensor] | None = None,
    kind: str = "channels",
    strength: float = 20.0,
    fmt: str = "int4",
    axis: str = "token",
    *,
    view: str = "size",
    lang: str = "en",
) -> OutlierExplorer:
    """See outliers of K, and what a rotation does to them. Displayed, it is alive where widgets are, else a picture.

    x         a K of your own [..., tokens, head_dim], or several by name; the first head of each is shown. Beside
              them and without them there are made-up ones
    kind      made-up data to begin with: one of KINDS; strength one of STRENGTHS
    fmt       "int4", "int8" or "E4M3FN"; axis a key of `fp8lab.explore.outlier_map.data.AXES`
    view      "size" or "error"
    lang      "en" or "zh", for the words on the controls

    ValueError for an unknown name, a tensor without values, with NaN or infinity; TypeError for what is no tensor.
    """
    own = own_tensors(x)
    check_choices(
        kind=(kind, KINDS), strength=(strength, STRENGTHS), fmt=(fmt, FORMATS), axis=(axis, tuple(AXES)),
        view=(view, VIEWS),
    )  # fmt: skip
    tensors = {name: prepared(tensor) for name, tensor in own.items()}
    settings = {"data": next(iter(own), kind), "strength": float(strength), "fmt": fmt, "axis": axis, "view": view}
    return OutlierExplorer(tensors, settings, check_language(lang))


class OutlierState(traitlets.HasTraits):
    """All that the explorer remembers."""

    data = traitlets.Unicode()
    strength = traitlets.Float()
    fmt = traitlets.Unicode()
    axis = traitlets.Unicode()
    view = traitlets.Unicode()


class OutlierExplorer(Explorer):
    """`state` is what it shows; assign to its traits to change it. `data` is the record of the state."""

    def __init__(self, own: dict[str, torch.Tensor], settings: dict, lang: str) -> None:
        self._say, self._own = WORDS[lang], own
        self._records, self._pictures = Kept(MOST_KEPT), Kept(MOST_KEPT)
        self.state = OutlierState(**settings)
        self._make_controls()
        children = [
            stylesheet(),
            row(self.controls["data"], self.controls["strength"]),
            row(self.controls["fmt"], self.controls["axis"], self.controls["view"]),
            *self._make_views(),
        ]
        still = lambda: outlier_figure(self.data, self.state.view)  # noqa: E731
        super().__init__(children, still=still, words=lambda: words(self.data))
        self._show()
        self._follow(self.state)

    @property
    def _key(self) -> tuple:
        """What the record depends on: a tensor of one's own has no strength."""
        state = self.state
        return state.data, None if state.data in self._own else state.strength, state.fmt, state.axis

    @property
    def data(self) -> OutlierData:
        """The record of the present state; each setting is measured once."""
        name, strength, fmt, axis = self._key

        def measured() -> OutlierData:
            x = synthetic(name, strength) if strength is not None else self._own[name]
            label = name if strength is None or name == "none" else f"{name} ×{strength:g}"
            if name == "constant" and strength is not None:
                label = f"constant ±{strength:g}"
            return outlier_data(x, fmt, axis, name=f"K ({label})")

        return self._records.get(self._key, measured)

    def _make_controls(self) -> None:
        say = self._say
        choices = {
            "data": [(name, name) for name in self._own] + [(say[k], k) for k in KINDS if k not in self._own],
            "strength": [(f"{value:g}", value) for value in STRENGTHS],
            "fmt": [(name, name) for name in FORMATS],
            "axis": [(say["per token" if name == "token" else name], name) for name in AXES],
            "view": [(say[name], name) for name in VIEWS],
        }
        wide = {name: "330px" if name in ("data", "strength") else "250px" for name in choices}
        self.controls = {
            name: self._chooser(name, options, slides=name == "strength", width=wide[name])
            for name, options in choices.items()
        }

    def _show(self) -> None:
        data, state = self.data, self.state
        with self._without_echo():
            for name, control in self.controls.items():
                control.value = getattr(state, name)
            steady = state.data in self._own or state.data == "none"
            self.controls["strength"].layout.visibility = "hidden" if steady else "visible"
        drawing = self._pictures.get((*self._key, state.view), lambda: outlier_svg(data, state.view))
        self._set_views(self._numbers(data), drawing)

    def _numbers(self, data: OutlierData) -> str:
        say = self._say
        head = [say[name] for name in ("what", "peak", "median", "sqnr", "output")]
        rows = []
        for title, side in (("as it is", data.before), ("rotated", data.after)):
            sqnr = "∞" if side.sqnr_db > 120 else f"{side.sqnr_db:.1f} dB"
            cells = (f"{side.peak:.1f}", f"{side.median:.2%}", sqnr, f"<b>{side.output_error:.2%}</b>")
            rows.append([say[title], *cells])
        ratio = data.helps
        name = "helps" if ratio > LITTLE else "hurts" if ratio < 1 / LITTLE else "same"
        return table(head, rows) + f"<div>{say[name].format(ratio=ratio if ratio >= 1 else 1 / ratio)}</div>"
