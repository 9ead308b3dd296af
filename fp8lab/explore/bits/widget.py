"""The bit explorer as a widget: every control writes one state, and every control shows that state."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from contextlib import contextmanager
from fractions import Fraction

import ipywidgets as widgets
import traitlets

from fp8lab.explore import style
from fp8lab.explore.bits.data import (
    BitData,
    bit_data,
    decimal_text,
    equals,
    format_label,
    nearest_code,
    power_text,
    presets,
    siblings,
    value_order,
)
from fp8lab.explore.bits.entry import read_binary, read_hex, read_value
from fp8lab.explore.bits.figure import alt_text, bit_figure, line_figure
from fp8lab.explore.bits.words import WORDS
from fp8lab.explore.widget import Explorer, check_language, folded, message, picture, status, stylesheet, table
from fp8lab.formats import FORMATS, FloatFormat, get_format, value

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
        self._say, self._showing, self._note, self._presets_of = WORDS[lang], False, "", None
        self.state = BitState(code=data.code, fmt=data.fmt.name)
        self._make_controls()
        self._make_pictures()
        super().__init__(self._arranged(), still=lambda: bit_figure(self.data), words=lambda: alt_text(self.data))
        self._show()
        self.state.observe(self._follow)

    @property
    def data(self) -> BitData:
        return bit_data(self.state.code, self.state.fmt)

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
        self.format = widgets.Dropdown(options=[(format_label(fmt), fmt.name) for fmt in FORMATS.values()], description=say["format"], layout=widgets.Layout(width="210px"))
        self.format.observe(self._when(lambda change: self._change_format(change["new"])), "value")
        self.hex = self._entry("hex", "150px", read_hex)
        self.binary = self._entry("binary", "200px", read_binary)
        self.value = self._entry("value", "260px", self._read_nearest)
        self.value.placeholder = say["value hint"]
        self.previous = self._button(say["previous"], lambda: self._go(self.data.previous), say["step tip"])
        self.next = self._button(say["next"], lambda: self._go(self.data.next), say["step tip"])
        self.position = widgets.IntSlider(
            description=say["position"], readout=False, continuous_update=False, style={"description_width": "initial"},
            layout=widgets.Layout(width="520px"),
        )  # fmt: skip
        self.position.observe(self._when(lambda change: self._go(value_order(self.data.fmt)[change["new"]])), "value")
        self._presets = widgets.HBox(layout=widgets.Layout(flex_flow="row wrap"))

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

    def _button(self, text: str, act: Callable[[], None], tip: str = "") -> widgets.Button:
        button = widgets.Button(description=text, tooltip=tip)
        button.add_class("fp8-small")
        button.on_click(lambda _: act())
        return button

    def _when(self, act: Callable) -> Callable:
        """`act` on a change by a person, and not when the explorer itself is showing its state."""
        return lambda change: None if self._showing else act(change)

    # From a control to the state ---------------------------------------------------------------------------------

    def _pressed(self) -> int:
        return sum(button.value << place for place, button in enumerate(self.buttons[: self.data.fmt.bits]))

    def _go(self, code: int | None, keep_note: bool = False) -> None:
        if not keep_note:
            self._note = ""
        if code is None or code == self.state.code:
            self._show()
        else:
            self.state.code = code

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
        with self.state.hold_trait_notifications():
            self.state.code, self.state.fmt = code, name

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
        facts = {"last": f"{fmt.codes - 1:X}", "bits": fmt.bits, "min": f"{value(0, fmt):g}", "max": f"{fmt.max_finite:g}"}
        return self._say[kind].format(given=given, fmt=fmt.name, example=example, **facts)

    # From the state to what is seen ------------------------------------------------------------------------------

    def _make_pictures(self) -> None:
        self.readout, self._messages, self._line, self._more = (widgets.HTML() for _ in range(4))
        for part in (self.readout, self._messages, self._line, self._more):
            part.layout.margin = "2px 4px"
        self._line.layout.width = "100%"

    def _arranged(self) -> list[widgets.Widget]:
        groups = [widgets.VBox([self._labels[field], self._rows[field]]) for field in FIELDS]
        implicit = widgets.VBox([self._labels["implicit"], self._implicit])
        bits = widgets.HBox([groups[0], groups[1], implicit, groups[2]], layout=widgets.Layout(flex_flow="row wrap"))
        entries = widgets.HBox([self.hex, self.binary, self.value], layout=widgets.Layout(flex_flow="row wrap"))
        steps = widgets.HBox([self.previous, self.next, self.position], layout=widgets.Layout(flex_flow="row wrap"))
        choice = widgets.HBox([self.format, self._presets], layout=widgets.Layout(flex_flow="row wrap"))
        return [stylesheet(), choice, bits, self.readout, self._line, steps, entries, self._messages, self._more]

    def _follow(self, _change: dict) -> None:
        if not self._showing:
            self._show()

    @contextmanager
    def _without_echo(self):
        """Controls are being set by the explorer: their changes are no wishes."""
        self._showing = True
        try:
            yield
        finally:
            self._showing = False

    def _show(self) -> None:
        data = self.data
        with self._without_echo():
            self._show_bits(data)
            self.format.value = data.fmt.name
            self.hex.value, self.binary.value, self.value.value = data.hex, data.pattern, data.decimal.removeprefix("≈ ")
            self.position.max = data.positions - 1
            if data.position is not None:
                self.position.value = data.position
            self.position.disabled = data.position is None
            self.previous.disabled, self.next.disabled = data.previous is None, data.next is None
        self.readout.value = status(self._formula(data) + self._facts(data))
        self._line.value = picture(line_figure(data), alt_text(data))
        self._messages.value = message(self._note, style.MUTED)
        self._more.value = self._same_byte(data) + folded(self._say["as text"], f"<pre>{html.escape(alt_text(data))}</pre>")

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
            self._labels[field].value = _label(number, style.FIELD_COLOURS[field])
        stored = data.implicit is None or not data.fmt.mantissa_bits
        self._labels["implicit"].value = "" if stored else _label(self._say["implicit"], style.MUTED)
        tip = html.escape(self._say["implicit tip"], quote=True)
        self._implicit.value = "" if stored else f"<div class='fp8-implicit' title='{tip}'>{data.implicit}.</div>"
        if self._presets_of != data.fmt:
            self._presets_of = data.fmt
            self._presets.children = tuple(
                self._button(name, lambda code=code: self._go(code), f"0x{code:02X}") for name, code in presets(data.fmt)
            )

    def _formula(self, data: BitData) -> str:
        badge = f"<span class='fp8-class'>{style.chip(self._say[data.kind], style.KIND_COLOURS[data.kind])}</span>"
        if data.exact is None:
            reason = self._say["is inf" if data.kind == "inf" else f"{data.fmt.special} nan"]
            return f"<div class='fp8-formula'><b>{data.decimal}</b>{badge} <small>{reason}</small></div>"
        factors = [f"(−1)<sup>{style.chip(str(data.sign), style.SIGN)}</sup>"] if data.fmt.signed else []
        factors.append(f"2<sup>{style.chip(str(data.used_exponent), style.EXPONENT)}−{data.fmt.bias}</sup>")
        if data.fmt.mantissa_bits:
            mantissa = style.chip(str(data.mantissa), style.MANTISSA)
            factors.append(f"({style.chip(str(data.implicit), style.MUTED)} + {mantissa}/{1 << data.fmt.mantissa_bits})")
        return f"<div class='fp8-formula'>{' × '.join(factors)} <b>{equals(data.decimal)}</b>{badge}</div>"

    def _facts(self, data: BitData) -> str:
        if data.exact is None:
            return ""
        say = self._say
        place = say["place"].format(n=data.position + 1, all=data.positions)
        lines = [f"{say['exact']} <b>{_raised(data.fraction)}</b> &nbsp;·&nbsp; {say['ulp']} <b>{_raised(power_text(data.ulp))}</b> &nbsp;·&nbsp; {place}"]
        for name, code, gap in (("before", data.previous, data.gap_below), ("after", data.next, data.gap_above)):
            lines.append(f"{say[name]} {self._neighbour(code, data.fmt, gap)}")
        return f"<div class='fp8-facts'>{lines[0]}<br>{' &nbsp;·&nbsp; '.join(lines[1:])}</div>"

    def _neighbour(self, code: int | None, fmt: FloatFormat, gap: Fraction | None) -> str:
        if code is None:
            return f"<i>{self._say['none']}</i>"
        other = bit_data(code, fmt)
        text = f"<span class='fp8-mono'>{other.hex}</span> {equals(other.decimal)}"
        return text if gap is None else f"{text} ({self._say['gap']} {decimal_text(gap)})"

    def _same_byte(self, data: BitData) -> str:
        formats = siblings(data.fmt)
        if len(formats) == 1:
            return ""
        say = self._say
        rows = []
        for fmt in formats:
            other = bit_data(data.code, fmt)
            badge = style.chip(say[other.kind], style.KIND_COLOURS[other.kind])
            rows.append([format_label(fmt), f"<span class='fp8-mono'>{other.pattern}</span>", other.decimal, badge])
        head = [say["format"], say["bits"], say["value"], say["class"]]
        return folded(f"{data.hex}: {say['same byte']}", table(head, rows, first_is_current=True), is_open=True)


def _raised(text: str) -> str:
    """"2^-9" with its exponent raised, as HTML."""
    return re.sub(r"\^(-?\d+)", r"<sup>\1</sup>", text).replace("<sup>-", "<sup>−")


def _label(text: str, colour: str) -> str:
    return f"<span class='fp8-label'>{style.chip(text, colour)}</span>" if text else ""
