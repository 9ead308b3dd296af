"""The rounding explorer as a widget: slide x along the line, switch the rules, see who takes it."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from math import log2

import ipywidgets as widgets
import traitlets

from fp8lab.codec import ROUNDINGS, check_options
from fp8lab.explore import style
from fp8lab.explore.bits.data import format_label
from fp8lab.explore.bits.entry import read_value
from fp8lab.explore.rounding import readout
from fp8lab.explore.rounding.data import RoundingData, float32_beside, overflow_tie, overflows_of, rounding_data
from fp8lab.explore.rounding.figure import number_text, rounding_figure, words
from fp8lab.explore.rounding.words import WORDS
from fp8lab.explore.widget import (
    Explorer,
    check_language,
    folded,
    message,
    picture,
    row,
    small_button,
    status,
    stylesheet,
)
from fp8lab.formats import FORMATS, get_format

OCTAVES_BEYOND = 2  # the slider goes so far past the smallest and the largest value
HAIR = 2.0**-40  # relative: float64 sees it, float32 does not


def rounding_explorer(
    x: float = 17.3, fmt="E4M3FN", *, rounding: str = "nearest_even", overflow: str = "saturate", lang: str = "en"
) -> RoundingExplorer:
    """See which of its two neighbours `x` becomes. Displayed, it is alive where widgets are, else a picture, else text.

    x         a finite number; for E8M0FNU a positive one
    fmt       a registered format or its name
    rounding  one of `fp8lab.codec.ROUNDINGS`; overflow "saturate", "nan" or "inf" as the format has codes for it
    lang      "en" or "zh", for the words on the controls

    ValueError for anything else.
    """
    fmt = get_format(fmt)
    check_options(fmt, overflow, rounding)
    return RoundingExplorer(rounding_data(x, fmt, rounding, overflow), check_language(lang))


class RoundingState(traitlets.HasTraits):
    """All that the explorer remembers."""

    x = traitlets.Float()
    fmt = traitlets.Unicode()
    rounding = traitlets.Unicode()
    overflow = traitlets.Unicode()


class RoundingExplorer(Explorer):
    """`state` is what it shows; assign to its traits to move it. `data` is the record of the state."""

    def __init__(self, data: RoundingData, lang: str) -> None:
        self._say, self._note = WORDS[lang], ""
        self.state = RoundingState(x=data.x, fmt=data.fmt.name, rounding=data.rounding, overflow=data.overflow)
        self._make_menus()
        self._make_x_controls()
        self.readout, self._messages, self._picture, self.more = (widgets.HTML() for _ in range(4))
        self._picture.layout.width = "100%"
        super().__init__(self._arranged(), still=lambda: rounding_figure(self.data), words=lambda: words(self.data))
        self._show()
        self._follow(self.state)

    @property
    def data(self) -> RoundingData:
        state = self.state
        return rounding_data(state.x, state.fmt, state.rounding, state.overflow)

    @property
    def message(self) -> str:
        """What was last said about an entry; empty when there is nothing to say."""
        return self._note

    # Controls --------------------------------------------------------------------------------------------------

    def _make_menus(self) -> None:
        formats = [(format_label(fmt), fmt.name) for fmt in FORMATS.values()]
        self.format = self._menu("format", formats, lambda name: self._change_format(name))
        modes = [(self._say[mode], mode) for mode in ROUNDINGS]
        self.rounding = self._menu("rounding", modes, lambda mode: self._set(rounding=mode))
        self.overflow = self._menu("overflow", [], lambda policy: self._set(overflow=policy))

    def _menu(self, name: str, options: list, act: Callable) -> widgets.Dropdown:
        menu = widgets.Dropdown(options=options, description=self._say[name], layout=widgets.Layout(width="270px"))
        menu.style.description_width = "72px"
        menu.observe(self._when(lambda change: act(change["new"])), "value")
        return menu

    def _make_x_controls(self) -> None:
        say = self._say
        self.x = widgets.Text(description=say["x"], continuous_update=False, layout=widgets.Layout(width="270px"))
        self.x.style.description_width = "72px"
        self.x.observe(self._when(lambda change: self._typed(change["new"])), "value")
        self.slider = widgets.FloatLogSlider(
            base=2, step=0.01, description=say["size"], continuous_update=False, readout=False,
            style={"description_width": "72px"}, layout=widgets.Layout(width="640px"),
        )  # fmt: skip
        self.slider.observe(self._when(lambda change: self._slid(change["new"])), "value")
        self.negative = widgets.ToggleButton(description=say["negative"])
        self.negative.add_class("fp8-small")
        self.negative.observe(self._when(lambda change: self._set(x=-self.state.x)), "value")
        self.jumps = {
            "to tie": lambda data: float(readout.tie_of(data)),
            "below tie": lambda data: float32_beside(float(readout.tie_of(data)))[0],
            "above tie": lambda data: float32_beside(float(readout.tie_of(data)))[1],
            "end tie": lambda data: overflow_tie(data.fmt),
            "above end": lambda data: float32_beside(overflow_tie(data.fmt))[1],
            "twice": lambda data: float(readout.tie_of(data)) * (1 + HAIR),
        }
        tips = dict(zip(self.jumps, ("to tie tip", "beside tip", "beside tip", "end tip", "beside tip", "twice tip")))
        self.jump_buttons = {
            name: small_button(say[name], lambda name=name: self._set(x=self.jumps[name](self.data)), say[tips[name]])
            for name in self.jumps
        }

    def _arranged(self) -> list[widgets.Widget]:
        return [
            stylesheet(),
            row(self.format, self.rounding, self.overflow),
            row(self.x, self.negative, *self.jump_buttons.values()),
            self.slider,
            self._messages,
            self.readout,
            self._picture,
            self.more,
        ]

    # From a control to the state ---------------------------------------------------------------------------------

    def _set(self, **changes) -> None:
        self._note = ""
        self._move(**changes)

    def _slid(self, size: float) -> None:
        """Five digits are enough for a hand, and x stays readable."""
        self._set(x=math.copysign(float(f"{size:.5g}"), self.state.x))

    def _typed(self, text: str) -> None:
        fmt = get_format(self.state.fmt)
        try:
            x = read_value(text)
            if not math.isfinite(x):
                raise ValueError(text)
        except (ValueError, OverflowError):
            self._complain(self._say["bad x"].format(given=text))
            return
        if not fmt.signed and x <= 0:
            self._complain(self._say["unsigned"].format(fmt=fmt.name))
            return
        self._set(x=x)

    def _complain(self, text: str) -> None:
        self._note = text
        self._messages.value = message(text)

    def _change_format(self, name: str) -> None:
        """The same x; what the new format cannot express gives way: the sign, zero, the overflow policy."""
        fmt, state = get_format(name), self.state
        x = state.x if fmt.signed else abs(state.x) or 1.0
        overflow = state.overflow if state.overflow in overflows_of(fmt) else "saturate"
        self._set(fmt=name, x=x, overflow=overflow)

    # From the state to what is seen ------------------------------------------------------------------------------

    def _show(self) -> None:
        data, say = self.data, self._say
        with self._without_echo():
            self.format.value, self.rounding.value = data.fmt.name, data.rounding
            self.overflow.options = [(say[policy], policy) for policy in overflows_of(data.fmt)]
            self.overflow.value = data.overflow
            self.x.value = number_text(data.x)
            self.negative.value, self.negative.disabled = math.copysign(1, data.x) < 0, not data.fmt.signed
            self._show_slider(data)
        self.readout.value = status(f"<div class='fp8-facts'>{readout.place(data, say)}</div>")
        self._picture.value = picture(rounding_figure(data), words(data))
        self._messages.value = message(self._note, style.MUTED)
        text = folded(say["as text"], f"<pre style='white-space:pre-wrap'>{html.escape(words(data))}</pre>")
        self.more.value = readout.every_mode(data, say) + readout.elsewhere(data, say) + text

    def _show_slider(self, data: RoundingData) -> None:
        low = log2(data.fmt.min_subnormal or data.fmt.min_normal) - OCTAVES_BEYOND
        high = log2(data.fmt.max_finite) + OCTAVES_BEYOND
        self.slider.min, self.slider.max = min(low, self.slider.min), max(high, self.slider.max)
        self.slider.value = min(max(abs(data.x), 2.0**low), 2.0**high)
        self.slider.min, self.slider.max = low, high
