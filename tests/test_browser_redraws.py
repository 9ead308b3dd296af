"""The group-size explorer and the outlier map in lessons 04 and 05, worked in a real JupyterLab.

Every redraw is asserted; how long they took is printed. Whether that is fast enough is for
`benchmarks/redraw_browser.py` to say, on a machine that has nothing else to do.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from browser import one_cell
from redraws import Redraws, quantiles
from tools import need_package

from fp8lab.explore.groupsize.words import WORDS as SIZE_WORDS
from fp8lab.explore.outlier_map.words import WORDS as MAP_WORDS

pytestmark = pytest.mark.browser

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
WIDGET = {"04_grouped_kv": "04_grouped_kv-24", "05_granularity": "05_granularity-35"}
CAPTURED = """\
import torch
from fp8lab.explore import {name}
torch.manual_seed(0)
layer, kept = torch.nn.Linear(64, 96), []
layer.register_forward_hook(lambda module, given, made: kept.append(made))
layer(torch.randn(1, 2, 40, 64))
{name}({{"K, layer 0": kept[0]}})
"""


def open_explorer(learner, lesson: str, lang: str) -> Redraws:
    """The lesson, its setup cell and its widget cell."""
    page = learner.open(NOTEBOOKS / lang / f"{lesson}.ipynb", name=f"redraw_{lesson}_{lang}.ipynb")
    page.run("setup")
    page.run(WIDGET[lesson])
    return Redraws(page.cell(WIDGET[lesson]))


def report(what: str, redraws: Redraws) -> None:
    assert redraws.problems() == []
    print(f"\n{what}: {quantiles(redraws.taken)}")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_group_size_explorer_follows_every_control(learner, lang):
    say, redraws = SIZE_WORDS[lang], open_explorer(learner, "04_grouped_kv", lang)
    size, way, axis = redraws.slider(say["place"]), redraws.menu(say["way"]), redraws.menu(say["metric"])
    strength, count = redraws.slider(say["strength"]), redraws.slider(say["outliers"])
    assert "groups of 64" in redraws.alt()
    for key, shown in (
        *[("ArrowRight", f"one scale per {part}") for part in ("token", "head", "tensor")],
        *[("ArrowLeft", f"one scale per {part}") for part in ("head", "token")],
        *[("ArrowLeft", f"groups of {n}:") for n in (64, 32, 16, 8, 4, 2, 1)],
    ):
        redraws.press(size, key)
        assert shown in redraws.alt()
    redraws.choose(way, "int8")
    assert "in int8, groups of 1:" in redraws.alt()
    before = redraws.drawing()
    redraws.choose(axis, say["sqnr"])
    assert redraws.drawing() != before
    redraws.press(strength, "ArrowRight")
    assert "outliers ×50," in redraws.alt()
    redraws.press(count, "ArrowRight")
    assert "8 outliers ×50," in redraws.alt()
    redraws.choose(redraws.menu(say["data"]), say["V"])
    assert redraws.alt().startswith("V, 8 outliers")
    report(f"group-size explorer, lesson 04 {lang}", redraws)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_outlier_map_follows_every_control(learner, lang):
    say, redraws = MAP_WORDS[lang], open_explorer(learner, "05_granularity", lang)
    assert "channels ×20" in redraws.alt() and "Rotation helps" in redraws.alt()
    for times in (50, 100, 300):
        redraws.press(redraws.slider(say["strength"]), "ArrowRight")
        assert f"channels ×{times}" in redraws.alt()
    redraws.choose(redraws.menu(say["fmt"]), "E4M3FN")
    assert "in E4M3FN, one scale per token" in redraws.alt()
    redraws.choose(redraws.menu(say["axis"]), say["channel"])
    assert "one scale per channel." in redraws.alt()
    before = redraws.drawing()
    redraws.choose(redraws.menu(say["view"]), say["error"])
    assert redraws.drawing() != before
    redraws.choose(redraws.menu(say["data"]), say["constant"])
    assert "constant ±300" in redraws.alt()
    report(f"outlier map, lesson 05 {lang}", redraws)


@pytest.mark.parametrize("name", ["groupsize_explorer", "outlier_explorer"])
def test_tensors_captured_from_a_model_and_made_up_ones(learner, name):
    page = learner.open(one_cell(CAPTURED.format(name=name)))
    page.run_all()
    redraws = Redraws(page.cell(0))
    assert "K, layer 0" in redraws.alt()
    strength = {"groupsize_explorer": SIZE_WORDS, "outlier_explorer": MAP_WORDS}[name]["en"]["strength"]
    assert not redraws.slider(strength).is_visible(), "a captured tensor is as strong as it is"
    made_up = "made-up K: outlier channels" if name == "groupsize_explorer" else "made-up K: loud channels"
    redraws.choose(redraws.menu("data"), made_up)
    assert "×20" in redraws.alt() and redraws.slider(strength).is_visible()
    redraws.choose(redraws.menu("data"), "K, layer 0")
    assert "K, layer 0" in redraws.alt()
    report(name, redraws)


@pytest.mark.parametrize("name", ["groupsize_explorer", "outlier_explorer"])
def test_a_page_without_a_kernel_shows_the_picture(learner, tmp_path, name):
    nbconvert = need_package("nbconvert")
    from fp8lab import explore

    data, metadata = getattr(explore, name)()._repr_mimebundle_()
    notebook = nbformat.from_dict(one_cell(f"{name}()"))
    output = nbformat.v4.new_output("execute_result", data, metadata=metadata, execution_count=1)
    notebook.cells[0].outputs = [output]
    body, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(notebook)  # asks for nothing online
    path = tmp_path / "page.html"
    path.write_text(body, encoding="utf-8")
    page = learner.blank()
    page.goto(path.as_uri())
    picture = page.locator("img")
    assert picture.count() == 1 and picture.is_visible()
    assert picture.evaluate("img => [img.complete, img.naturalWidth > 1000, img.width]") == [True, True, 860]
