"""The bit explorer as a widget: every control writes one state, and every control shows that state."""

from __future__ import annotations

import html
from collections.abc import Callable
from fractions import Fraction

import ipywidgets as widgets
import traitlets

from fp8lab.explore import style
from fp8lab.explore.bits import readout
from fp8lab.explore.bits.data import (
    BitData,
    alt_text,
    bit_data,
    format_label,
    nearest_code,
    presets,
    value_order,
)
from fp8lab.explore.bits.entry import read_binary, read_hex, read_value
from fp8lab.explore.bits.figure import bit_figure, line_figure
from fp8lab.explore.bits.words import WORDS
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
from fp8lab.formats import FORMATS, get_format, value

MOST_BITS = 8
FIELDS = ("sign", "exponent", "mantissa")


def bit_explorer(code: int = 0x78, fmt="E4M3FN", *, lang: str = "en") -> BitExplorer:
    """Look at `code` of `fmt` bit by bit. Displayed, it is alive where widgets are, else a picture, else text.

    fmt   a registered format or its name
    lang  "en" or "zh", for the words on the controls

    ValueError for a code that the format does not have, an unknown format or language.
    """
    return BitExplorer(bit_data(code, get_format(fmt)), check_language(lang))


class BitState(traitlets.HasTraits):
    """All that the explorer remembers: which code of which format."""

    code = traitlets.Int()
    fmt = traitlets.Unicode()


class BitExplorer(Explorer):
    """`state` is what it shows; assign to `state.code` or `state.fmt` to move it. `data` is the record of the state."""

    def __init__(self, data: BitData, lang: str) -> None:
        self._say, self._note, self._presets_of = WORDS[lang], "", None
        self.state = BitState(code=data.code, fmt=data.fmt.name)
        self._make_controls()
        self._make_pictures()
        super().__init__(self._arranged(), still=lambda: bit_figure(self.data), words=lambda: alt_text(self.data))
        self._show()
        self._follow(self.state)

    @property
    def data(self) -> BitData:
        return bit_data(self.state.code, self.state.fmt)

    @property
    def message(self) -> str:
        """What was last said about an entry; empty when there is nothing to say."""
        return self._note

    @property
    def preset_buttons(self) -> tuple[widgets.Button, ...]:
        return self._presets.children

    def field_buttons(self, field: str) -> tuple[widgets.ToggleButton, ...]:
        """The buttons of "sign", "exponent" or "mantissa", highest bit first."""
        return self._rows[field].children

    # Controls --------------------------------------------------------------------------------------------------

    def _make_controls(self) -> None:
        say = self._say
        self.buttons = tuple(widgets.ToggleButton(description="0") for _ in range(MOST_BITS))  # by place, lowest first
        for button in self.buttons:
            button.add_class("fp8-bit")
            button.observe(self._when(lambda _: self._go(self._pressed())), "value")
        self._rows = {field: widgets.HBox() for field in FIELDS}
        self._labels = {field: widgets.HTML() for field in (*FIELDS, "implicit")}
        self._implicit = widgets.HTML()
        self.format = widgets.Dropdown(
            options=[(format_label(fmt), fmt.name) for fmt in FORMATS.values()],
            description=say["format"],
            layout=widgets.Layout(width="230px"),
        )
        self.format.observe(self._when(lambda change: self._change_format(change["new"])), "value")
        self.hex = self._entry("hex", "150px", read_hex)
        self.binary = self._entry("binary", "200px", read_binary)
        self.value = self._entry("value", "260px", self._read_nearest)
        self.value.placeholder = say["value hint"]
        self.previous = small_button(say["previous"], lambda: self._go(self.data.previous), say["step tip"])
        self.next = small_button(say["next"], lambda: self._go(self.data.next), say["step tip"])
        self.position = widgets.IntSlider(
            description=say["position"], readout=False, continuous_update=False, style={"description_width": "initial"},
            layout=widgets.Layout(width="520px"),
        )  # fmt: skip
        self.position.observe(self._when(lambda change: self._go(value_order(self.data.fmt)[change["new"]])), "value")
        self._presets = row()

    def _entry(self, name: str, width: str, read: Callable) -> widgets.Text:
        box = widgets.Text(description=self._say[name], continuous_update=False, layout=widgets.Layout(width=width))
        box.style.description_width = "72px"

        def typed(change: dict) -> None:
            try:
                code = read(change["new"], self.data.fmt)
            except (ValueError, OverflowError):
                self._note = self._complaint(name, change["new"])
                self._messages.value = message(self._note)
                return
            self._go(code, keep_note=name == "value")

        box.observe(self._when(typed), "value")
        return box

    # From a control to the state ---------------------------------------------------------------------------------

    def _pressed(self) -> int:
        return sum(button.value << place for place, button in enumerate(self.buttons[: self.data.fmt.bits]))

    def _go(self, code: int | None, keep_note: bool = False) -> None:
        if not keep_note:
            self._note = ""
        self._move(code=self.state.code if code is None else code)

    def _change_format(self, name: str) -> None:
        """The same byte in another format; where that has fewer codes, the code of the nearest value."""
        data, fmt = self.data, get_format(name)
        code = data.code
        if fmt.codes != data.fmt.codes:
            try:
                code = nearest_code(data.value, fmt)
            except ValueError:  # no NaN or no infinity there
                code = fmt.max_code
        self._note = ""
        self._move(code=code, fmt=name)

    def _read_nearest(self, text: str, fmt) -> int:
        x = read_value(text)
        code = nearest_code(x, fmt)
        found = bit_data(code, fmt)
        self._note = ""
        if found.exact is not None and Fraction(x) != found.exact:
            beyond = abs(x) > fmt.max_finite
            off = f"{float(abs(found.exact - Fraction(x))):.6g}"
            say = self._say["beyond" if beyond else "nearest"]
            self._note = say.format(x=text.strip(), fmt=fmt.name, hex=found.hex, value=found.decimal, off=off)
        return code

    def _complaint(self, name: str, given: str) -> str:
        fmt, kind = self.data.fmt, f"bad {name}"
        if name == "value":
            try:
                x = read_value(given)
                kind = "no nan" if x != x else "no inf" if abs(x) == float("inf") else "only positive"
            except (ValueError, OverflowError):
                pass
        example = f"{fmt.max_code:X}" if name == "hex" else f"{fmt.max_code:0{fmt.bits}b}"
        ends = {"last": f"{fmt.codes - 1:X}", "min": f"{value(0, fmt):g}", "max": f"{fmt.max_finite:g}"}
        return self._say[kind].format(given=given, fmt=fmt.name, bits=fmt.bits, example=example, **ends)

    # From the state to what is seen ------------------------------------------------------------------------------

    def _make_pictures(self) -> None:
        self.readout, self._messages, self._line, self.more = (widgets.HTML() for _ in range(4))
        for part in (self.readout, self._messages, self._line, self.more):
            part.layout.margin = "2px 4px"
        self._line.layout.width = "100%"

    def _arranged(self) -> list[widgets.Widget]:
        groups = [widgets.VBox([self._labels[field], self._rows[field]]) for field in FIELDS]
        implicit = widgets.VBox([self._labels["implicit"], self._implicit])
        bits = widgets.HBox([groups[0], groups[1], implicit, groups[2]], layout=widgets.Layout(flex_flow="row wrap"))
        entries = row(self.hex, self.binary, self.value)
        steps = row(self.previous, self.next, self.position)
        choice = row(self.format, self._presets)
        return [stylesheet(), choice, bits, self.readout, self._line, steps, entries, self._messages, self.more]

    def _show(self) -> None:
        data = self.data
        with self._without_echo():
            self._show_bits(data)
            self.format.value = data.fmt.name
            self.hex.value, self.binary.value = data.hex, data.pattern
            self.value.value = data.decimal.removeprefix("≈ ")
            self.position.max = data.positions - 1
            if data.position is not None:
                self.position.value = data.position
            self.position.disabled = data.position is None
            self.previous.disabled, self.next.disabled = data.previous is None, data.next is None
        self.readout.value = status(readout.formula(data, self._say) + readout.facts(data, self._say))
        self._line.value = picture(line_figure(data), alt_text(data))
        self._messages.value = message(self._note, style.MUTED)
        in_words = folded(self._say["as text"], f"<pre>{html.escape(alt_text(data))}</pre>")
        self.more.value = readout.same_byte(data, self._say) + in_words

    def _show_bits(self, data: BitData) -> None:
        for bit in data.bits:
            button = self.buttons[bit.place]
            button.value, button.description = bool(bit.value), str(bit.value)
            button.tooltip = f"{self._say[bit.field]} · {bit.weight}"
            for field in FIELDS:
                (button.add_class if field == bit.field else button.remove_class)(f"fp8-{field}")
        for field in FIELDS:
            buttons = tuple(self.buttons[bit.place] for bit in data.bits if bit.field == field)
            if self._rows[field].children != buttons:
                self._rows[field].children = buttons
            number = "" if not buttons else f"{self._say[field]} = {getattr(data, field)}"
            self._labels[field].value = readout.label(number, style.FIELD_COLOURS[field])
        stored = data.implicit is None or not data.fmt.mantissa_bits
        self._labels["implicit"].value = "" if stored else readout.label(self._say["implicit"], style.MUTED)
        tip = html.escape(self._say["implicit tip"], quote=True)
        self._implicit.value = "" if stored else f"<div class='fp8-implicit' title='{tip}'>{data.implicit}.</div>"
        if self._presets_of != data.fmt:
            self._presets_of = data.fmt
            self._presets.children = tuple(
                small_button(name, lambda code=code: self._go(code), f"0x{code:02X}")
                for name, code in presets(data.fmt)
            )
