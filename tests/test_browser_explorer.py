"""The bit explorer in a real JupyterLab: toggled with mouse and keys, legible on a light and a dark page."""

from __future__ import annotations

import io

import pytest
from browser import one_cell
from PIL import Image

pytestmark = pytest.mark.browser

SHOW = "from fp8lab.explore import bit_explorer\nbit_explorer(0x70)"


def reading(page, want: str) -> None:
    """Wait until the formula ends with `want`."""
    page.cell(0).locator(".fp8-formula b", has_text=want).wait_for(timeout=15_000)


def test_bits_toggle_with_the_mouse_and_with_the_keyboard(learner):
    page = learner.open(one_cell(SHOW))
    page.run_all()
    reading(page, "= 128")
    bits = page.cell(0).locator("button.fp8-bit")
    assert bits.count() == 8
    bits.nth(4).click()  # the lowest exponent bit, by mouse
    reading(page, "= 256")
    for _ in range(2):  # the two high mantissa bits, by Tab and Space
        page.page.keyboard.press("Tab")
        page.page.keyboard.press("Space")
    reading(page, "= 448")
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Space")
    reading(page, "NaN")
    assert bits.all_inner_texts() == list("01111111")
    assert page.focus_is_inside(0), "keys went to the notebook and not to the explorer"


def test_steps_slider_menu_and_entries_answer_to_keys(learner):
    page = learner.open(one_cell(SHOW))
    page.run_all()
    reading(page, "= 128")
    handle = page.cell(0).locator(".noUi-handle")
    handle.focus()
    page.page.keyboard.press("ArrowRight")
    reading(page, "= 144")
    page.page.keyboard.press("ArrowLeft")
    page.page.keyboard.press("ArrowLeft")
    reading(page, "= 120")
    page.cell(0).get_by_role("button", name="next code").click()
    reading(page, "= 128")
    entries = page.cell(0).locator("input[type=text]")
    for place, typed, want in ((0, "0x7e", "= 448"), (1, "0 0000 001", "= 0.001953125"), (2, "250", "= 256")):
        entries.nth(place).fill(typed)
        entries.nth(place).press("Enter")
        reading(page, want)
    assert "off by 6" in page.cell(0).locator("[role=alert]").inner_text()
    assert [entries.nth(n).input_value() for n in range(3)] == ["0x78", "0 1111 000", "256"]
    page.cell(0).locator("select").select_option(label="E4M3 (IEEE-like)")
    reading(page, "inf")
    entries.nth(0).fill("1FF")
    entries.nth(0).press("Enter")
    page.cell(0).locator("[role=alert]", has_text="from 00 to FF").wait_for(timeout=15_000)
    reading(page, "inf")


def test_the_rounding_explorer_follows_x_and_its_switches(learner):
    page = learner.open(one_cell("from fp8lab.explore import rounding_explorer\nrounding_explorer(overflow='nan')"))
    page.run_all()
    cell = page.cell(0)
    x, first_row = cell.locator("input[type=text]").first, cell.locator(".fp8-table td b")
    x.fill("464")
    x.press("Enter")
    first_row.filter(has_text="0x7E = 448").wait_for(timeout=15_000)
    cell.locator("select").nth(1).select_option(label="nearest, ties away from zero")
    first_row.filter(has_text="0x7F = NaN").wait_for(timeout=15_000)
    cell.locator("select").nth(2).select_option(label="saturate")
    first_row.filter(has_text="0x7E = 448").wait_for(timeout=15_000)
    cell.locator(".noUi-handle").focus()
    page.page.keyboard.press("ArrowLeft")
    cell.locator(".fp8-facts", has_text="of the way").wait_for(timeout=15_000)
    assert 448 < float(x.input_value()) < 464


def test_the_histogram_explorer_follows_its_menus(learner):
    page = learner.open(one_cell("from fp8lab.explore import histogram_explorer\nhistogram_explorer(fmt='int8')"))
    page.run_all()
    cell = page.cell(0)
    cell.locator(".fp8-table td", has_text="of 255").wait_for(timeout=15_000)
    cell.locator("select").nth(0).select_option(label="normal, 4 outlier channels")
    cell.locator("svg[aria-label*='outlier channels']").wait_for(timeout=15_000)
    assert cell.locator(".noUi-handle").is_visible()
    cell.locator("select").nth(1).select_option(label="E4M3FN")
    cell.locator(".fp8-table td", has_text="of 254").wait_for(timeout=15_000)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_both_themes_are_legible(learner, theme, lang):
    page = learner.open(one_cell(SHOW.replace("0x70", f"0x70, lang={lang!r}")), theme=theme)
    page.run_all()
    reading(page, "= 128")
    page.wait_theme(theme)
    dark, light = brightness(page.cell(0).locator(".fp8-explorer svg"))
    assert (light if theme == "light" else dark) > 0.5, "most of the picture is paper"
    assert min(dark, light) > 0.01, "ink as dark as the paper"
    for part in (".fp8-formula", ".fp8-facts", ".fp8-table", "button.fp8-bit", "summary"):
        assert page.contrast(page.cell(0).locator(part).first) >= 4.5, part


def brightness(element) -> tuple[float, float]:
    """Shares of very dark and of very light pixels in what is seen of an element."""
    grey = Image.open(io.BytesIO(element.screenshot())).convert("L")
    counts = grey.histogram()
    return sum(counts[:80]) / sum(counts), sum(counts[176:]) / sum(counts)
