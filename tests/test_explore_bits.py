"""The bit explorer as a widget: every control moves one state; and what it leaves where no front end answers."""

from __future__ import annotations

import ast
import base64
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from fp8lab.explore import bit_explorer
from fp8lab.explore.bits import alt_text
from fp8lab.explore.bits.entry import read_binary, read_hex
from fp8lab.explore.bits.words import EN, ZH
from fp8lab.explore.widget import WIDGET_VIEW
from fp8lab.formats import FORMATS

# The widget ------------------------------------------------------------------------------------------------------


def seen(explorer) -> tuple[int, str]:
    """The state as every control shows it; they must agree."""
    data = explorer.data
    pressed = sum(button.value << place for place, button in enumerate(explorer.buttons[: data.fmt.bits]))
    assert pressed == data.code
    written = "".join(button.description for button in reversed(explorer.buttons[: data.fmt.bits]))
    assert written == f"{data.code:0{data.fmt.bits}b}"
    assert read_hex(explorer.hex.value, data.fmt) == data.code
    assert read_binary(explorer.binary.value, data.fmt) == data.code
    assert explorer.format.value == data.fmt.name and data.decimal.endswith(explorer.value.value)
    assert data.position is None or explorer.position.value == data.position
    assert explorer.text == alt_text(data) and data.decimal in explorer.readout.value
    return data.code, data.decimal


def test_toggling_bits_reads_256_448_and_nan():
    explorer = bit_explorer(0x70)
    explorer.buttons[3].value = True
    assert seen(explorer) == (0x78, "256")
    explorer.buttons[2].value = explorer.buttons[1].value = True
    assert seen(explorer) == (0x7E, "448")
    explorer.buttons[0].value = True
    assert seen(explorer) == (0x7F, "NaN")


def test_every_control_moves_the_one_state():
    explorer = bit_explorer()
    for control, typed, want in (
        (explorer.hex, "7e", (0x7E, "448")),
        (explorer.binary, "1 0000 000", (0x80, "-0")),
        (explorer.value, "2^-6", (0x08, "0.015625")),
        (explorer.position, 253, (0x7E, "448")),
        (explorer.position, 0, (0xFE, "-448")),
        (explorer.format, "E4M3FNUZ", (0xFE, "-224")),
    ):
        control.value = typed
        assert seen(explorer) == want
    explorer.state.code = 0x78
    assert seen(explorer) == (0x78, "128")


def test_steps_go_through_all_values_in_order_and_stop_at_the_ends():
    explorer = bit_explorer(0xF, "E2M1FN")
    values = [explorer.data.exact]
    assert explorer.previous.disabled
    while not explorer.next.disabled and len(values) < 20:
        explorer.next.click()
        values.append(explorer.data.exact)
    assert [float(value) for value in values[7:]] == [0, 0.5, 1, 1.5, 2, 3, 4, 6]  # OCP MX v1.0, section 5.3.3
    assert values == [-value for value in reversed(values)] and seen(explorer) == (0x7, "6")
    explorer.next.click()
    assert seen(explorer) == (0x7, "6")


def test_a_step_crosses_zero_once_and_meets_infinity():
    explorer = bit_explorer(0x81)
    explorer.next.click()
    explorer.next.click()
    assert seen(explorer) == (0x01, "0.001953125")
    explorer = bit_explorer(0x7B, "E5M2")
    explorer.next.click()
    assert seen(explorer) == (0x7C, "inf") and explorer.next.disabled
    explorer.previous.click()
    assert seen(explorer) == (0x7B, "57344")


def test_presets_are_buttons():
    explorer = bit_explorer(0)
    labels = {button.description: button for button in explorer.preset_buttons}
    assert list(labels) == ["max", "min normal", "min subnormal", "NaN", "0x78"]
    for label, want in (("NaN", "NaN"), ("max", "448"), ("min normal", "0.015625"), ("0x78", "256")):
        labels[label].click()
        assert seen(explorer)[1] == want


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_bad_entries_change_nothing_and_say_what_is_accepted(lang):
    explorer = bit_explorer(0x78, lang=lang)
    for control, typed, said in (
        (explorer.hex, "1FF", "FF"), (explorer.hex, "zz", "7E"), (explorer.binary, "012", "01111110"),
        (explorer.value, "many", "1/512"), (explorer.value, "inf", "448"),
    ):  # fmt: skip
        control.value = typed
        assert explorer.state.code == 0x78
        assert said in explorer.message and (typed in explorer.message or typed == "inf")
    explorer.hex.value = "79"
    assert explorer.message == "" and seen(explorer) == (0x79, "288")


def test_typing_a_real_number_says_how_far_the_nearest_is():
    explorer = bit_explorer()
    explorer.value.value = "250"
    assert seen(explorer) == (0x78, "256") and "off by 6" in explorer.message
    explorer.value.value = "1000"
    assert seen(explorer) == (0x7E, "448") and "beyond" in explorer.message
    explorer.value.value = "2^-7"
    assert explorer.message == "" and seen(explorer) == (0x04, "0.0078125")


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_shows_its_own_bits(name):
    explorer = bit_explorer(0x78)
    explorer.format.value = name
    fmt = FORMATS[name]
    shown = {field: len(explorer.field_buttons(field)) for field in ("sign", "exponent", "mantissa")}
    assert shown == {"sign": int(fmt.signed), "exponent": fmt.exponent_bits, "mantissa": fmt.mantissa_bits}
    seen(explorer)
    if fmt.bits < 8:  # the same byte does not exist there: the nearest value is taken
        assert explorer.state.code == fmt.max_code
    for code in range(fmt.codes):
        if code % 37 == 0:
            explorer.state.code = code
            seen(explorer)


def test_nan_survives_a_change_to_a_format_without_it():
    explorer = bit_explorer(0x7F)
    explorer.format.value = "E2M1FN"
    assert seen(explorer) == (7, "6")


def test_same_byte_in_other_formats_is_in_the_table():
    html = bit_explorer(0x78).more.value
    for cell in ("256", "128", "inf", "32768", "E4M3 (IEEE-like)"):
        assert f"<td>{cell}</td>" in html


def test_both_languages_have_the_same_words_and_the_same_blanks():
    assert EN.keys() == ZH.keys()
    blanks = lambda text: {part.split("}")[0] for part in text.split("{")[1:]}  # noqa: E731
    assert {key: blanks(text) for key, text in EN.items()} == {key: blanks(text) for key, text in ZH.items()}
    assert "正规数" in bit_explorer(lang="zh").readout.value


@pytest.mark.parametrize("arguments", [{"code": 256}, {"fmt": "fp8"}, {"lang": "de"}, {"code": 99, "fmt": "E2M1FN"}])
def test_bad_arguments_are_refused(arguments):
    with pytest.raises(ValueError):
        bit_explorer(**arguments)


def test_two_explorers_do_not_share_state():
    one, two = bit_explorer(0x78), bit_explorer(0x78)
    one.state.code = 1
    assert two.state.code == 0x78


# Where no front end answers --------------------------------------------------------------------------------------


def test_the_output_holds_the_widget_a_picture_and_words():
    from IPython.core.formatters import DisplayFormatter

    explorer = bit_explorer(0x7E)
    data, metadata = DisplayFormatter(active_types=["text/plain", "image/png", WIDGET_VIEW]).format(explorer)
    assert data[WIDGET_VIEW]["model_id"] == explorer.model_id
    shown = metadata["image/png"]
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert picture.size == (2 * shown["width"], 2 * shown["height"])
    assert "448" in data["text/plain"] and data["text/plain"] == repr(explorer)


def test_a_closed_explorer_still_says_what_it_showed():
    from IPython.core.formatters import DisplayFormatter

    explorer = bit_explorer(0x7E)
    explorer.close()
    data, _ = DisplayFormatter().format(explorer)
    assert WIDGET_VIEW not in data and "448" in data["text/plain"]


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A notebook that ends with an explorer, run by a real kernel, saved without widget state."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("from fp8lab.explore import bit_explorer\nbit_explorer(0x7E)")],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    NotebookClient(notebook, store_widget_state=False, timeout=120).execute()
    return notebook


def test_a_kernel_sends_one_output_with_all_three_forms(executed):
    (output,) = executed.cells[0].outputs
    assert {"text/plain", "image/png", WIDGET_VIEW} <= set(output.data)
    assert json.loads(json.dumps(output.data))["image/png"] == output.data["image/png"]


def test_nbconvert_shows_the_picture(executed):
    from nbconvert import HTMLExporter

    page, _ = HTMLExporter().from_notebook_node(executed)
    assert f'src="data:image/png;base64,{executed.cells[0].outputs[0].data["image/png"][:40]}' in page
    assert "Loading widget" not in page


def test_doors_stay_closed_until_asked():
    script = (
        "import sys, fp8lab; assert 'fp8lab.explore' not in sys.modules\n"
        "import fp8lab.explore; assert not {'matplotlib', 'ipywidgets'} & set(sys.modules)\n"
        "from fp8lab.explore import bit_data, bit_figure; assert 'ipywidgets' not in sys.modules\n"
        "from fp8lab.explore import bit_explorer; assert 'fp8lab.course' not in sys.modules\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_explorers_stand_on_the_numerics_alone(root: Path):
    sources = list((root / "fp8lab" / "explore").rglob("*.py"))
    assert len(sources) > 5
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith(("fp8lab.course", "fp8lab.grading")) for name in names), (path, names)
