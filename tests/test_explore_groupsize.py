"""The group-size explorer: every point is what fp8lab.quantize gives, the picture shows it, the widget keeps pace."""

from __future__ import annotations

import html
import itertools
import math

import pytest
import torch
from pictures import crowded, shapes

from fp8lab import explore
from fp8lab.explore import style
from fp8lab.explore.groupsize import groupsize_data, groupsize_explorer, groupsize_figure, synthetic
from fp8lab.explore.groupsize.data import MOST_VALUES, WAYS, measure, places_of, prepared
from fp8lab.explore.groupsize.figure import LOOK, METRICS, SMALLEST, groupsize_svg, heights, words
from fp8lab.explore.groupsize.widget import COUNTS, STRENGTHS
from fp8lab.explore.groupsize.words import EN, ZH
from fp8lab.granularity import Group, PerHead, PerTensor, PerToken
from fp8lab.metrics import relative_error, sqnr_db
from fp8lab.quantize import quantize


@pytest.fixture(scope="module")
def facts():
    return groupsize_data(synthetic("K", 20.0, 4))


# ---- the numbers


@pytest.mark.parametrize("kind, outliers, strength", [("K", 4, 20.0), ("V", 3, 100.0), ("K", 0, 1.0)])
def test_every_point_is_measured_with_quantize(kind, outliers, strength):
    x = synthetic(kind, strength, outliers)
    facts = groupsize_data(x)
    places = {
        **{str(2**k): Group(2**k) for k in range(7)},
        "token": PerToken(),
        "head": PerHead(),
        "tensor": PerTensor(),
    }
    assert facts.places == tuple(places)
    for (name, way), (place, granularity) in itertools.product(WAYS.items(), places.items()):
        point = facts.curves[name][facts.places.index(place)]
        if way.storage is None:
            made = quantize(x, way.fmt, PerTensor(), torch.tensor(1.0))
        else:
            made = quantize(x, way.fmt, granularity, scale_format=way.storage)
            assert point.bytes_per_value == made.nbytes / x.numel()
        back = made.dequantize()
        assert point.error == relative_error(x, back, (0.5,)).quantiles[0.5], (name, place)
        assert point.sqnr_db == pytest.approx(sqnr_db(x, back), abs=1e-9)


def test_it_shows_the_truth(facts):
    """int8 grows many-fold with the group; E4M3FN does not; powers of two are as no scale at all."""
    at = {place: i for i, place in enumerate(facts.places)}
    error = {name: [p.error for p in points] for name, points in facts.curves.items()}
    assert error["int8"][at["token"]] > 10 * error["int8"][at["8"]]
    assert error["E4M3FN"][at["token"]] < 1.25 * error["E4M3FN"][at["8"]]
    power, none = error["E4M3FN, 2^n"], error["E4M3FN, no scale"]
    assert max(power) - min(power) < 2e-4 and abs(power[0] - none[0]) < 5e-4
    noise = {name: [p.sqnr_db for p in points] for name, points in facts.curves.items()}
    assert noise["E4M3FN"][at["32"]] > noise["E4M3FN"][at["tensor"]] + 6
    assert abs(noise["E4M3FN, 2^n"][at["32"]] - noise["E4M3FN, 2^n"][at["tensor"]]) < 0.1


def test_bytes_include_scales(facts):
    bytes_of = {name: dict(zip(facts.places, points)) for name, points in facts.curves.items()}
    assert bytes_of["E4M3FN"]["64"].bytes_per_value == 1.0625 and bytes_of["E4M3FN"]["4"].bytes_per_value == 2
    assert bytes_of["E4M3FN, 2^n"]["32"].bytes_per_value == 1 + 1 / 32
    assert bytes_of["int4"]["32"].bytes_per_value == 0.625
    assert {p.bytes_per_value for p in bytes_of["E4M3FN, no scale"].values()} == {1.0}


def test_the_histogram_is_of_the_chosen_setting(facts):
    x = synthetic("K", 20.0, 4)
    chosen = groupsize_data(x, "int4", "token", curves=facts.curves)
    back = quantize(x, "int4", PerToken()).dequantize()
    want = ((back - x).abs().double() / x.abs().double()).flatten()
    assert chosen.relative.size == x.numel() and chosen.relative.mean() == pytest.approx(want.mean().item(), rel=1e-6)
    assert chosen.lost == pytest.approx((back == 0).float().mean().item(), abs=0.01)
    assert groupsize_data(x, "E4M3FN", "1", curves=facts.curves).exact == 1.0


def test_outliers_are_channels_of_k_and_tokens_of_v():
    k, v, calm = synthetic("K", 100.0, 4), synthetic("V", 100.0, 4), synthetic("K", 100.0, 0)
    assert (k.abs().mean((0, 1)) > 20).sum() == 4 and (v.abs().mean((0, 2)) > 20).sum() == 4
    assert torch.equal(k.abs() > calm.abs(), k != calm)


@pytest.mark.parametrize(
    "shape, labels", [((10, 96), "1 2 4 8 16 32 64 token tensor"), ((2, 3, 1), "token head tensor")]
)
def test_places_follow_the_shape(shape, labels):
    assert list(places_of(shape)) == labels.split()
    facts = groupsize_data(torch.randn(shape), "int8", "token")
    assert all(len(points) == len(facts.places) for points in facts.curves.values())


def test_long_tensors_are_thinned_by_tokens_and_short_ones_are_not():
    x = torch.randn(2, 8, 512, 128)
    thin = prepared(x)
    assert thin.numel() <= MOST_VALUES and thin.shape[-1] == 128 and torch.equal(thin[0, 0, 1], x[0, 0, 16])
    assert prepared(x[:1, :1]).shape == (1, 1, 512, 128)


def test_zeros_do_not_count_and_zeros_alone_do_not_break():
    x = torch.zeros(1, 4, 8)
    assert measure(x)["int8"][0].error == 0 and words(groupsize_data(x, place="4"))
    x[0, 0] = torch.randn(8)
    point = dict(zip(places_of((1, 4, 8)), measure(x)["int8"]))["token"]
    assert point.error == relative_error(x, quantize(x, "int8", PerToken()).dequantize(), (0.5,)).quantiles[0.5]


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: groupsize_data(torch.randn(4)), "head_dim"),
        (lambda: groupsize_data(torch.empty(0, 4)), "values"),
        (lambda: groupsize_data(torch.tensor([[1.0, math.nan]])), "NaN"),
        (lambda: groupsize_data(torch.randn(2, 8), "int3"), "int8"),
        (lambda: groupsize_data(torch.randn(2, 8), place="64"), "token"),
        (lambda: synthetic("Q"), "K, V"),
        (lambda: synthetic("K", -1.0), "above 0"),
        (lambda: synthetic("K", 2.0, 1000), "0 to 128"),
        (lambda: groupsize_explorer(strength=3.0), "20"),
        (lambda: groupsize_explorer(place="7"), "token"),
        (lambda: groupsize_explorer(metric="mse"), "sqnr"),
        (lambda: groupsize_explorer(lang="fr"), "en, zh"),
    ],
)
def test_what_does_not_work_says_what_does(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_only_tensors_are_taken():
    with pytest.raises(TypeError, match="list"):
        groupsize_explorer({"k": [1.0]})


# ---- the picture


@pytest.mark.parametrize("metric", METRICS)
def test_the_curves_are_the_data(facts, metric):
    figure = groupsize_figure(facts, metric)
    drawn = [line for line in figure.axes[0].lines if len(line.get_xdata()) == len(facts.places)]
    assert len(drawn) == len(WAYS) == len(LOOK)
    for line, name in zip(drawn, LOOK):
        want = heights(facts, name, metric)
        assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(line.get_ydata(), want))
    assert heights(facts, "int8", "error")[0] != heights(facts, "int8", "error")[0], "below the axis: not drawn"
    assert SMALLEST > facts.curves["int8"][0].error


@pytest.mark.parametrize(
    "way, place, metric", [("E4M3FN", "64", "error"), ("int4", "1", "sqnr"), ("int8", "tensor", "error")]
)
def test_no_label_leaves_the_paper_or_covers_another(facts, way, place, metric):
    data = groupsize_data(synthetic("K", 20.0, 4), way, place, curves=facts.curves, name="K, 32 outliers ×100000")
    assert crowded(groupsize_figure(data, metric)) == []


def test_the_quick_svg_is_the_figure_and_nothing_is_left_over_from_the_one_before(facts):
    other = groupsize_data(synthetic("K", 20.0, 4), "int4", "token", curves=facts.curves)
    for metric in METRICS:
        quick = groupsize_svg(facts, metric)
        assert shapes(quick) == shapes(style.svg(groupsize_figure(facts, metric), ""))
        assert shapes(groupsize_svg(other, metric)) == shapes(style.svg(groupsize_figure(other, metric), ""))
        assert groupsize_svg(facts, metric) == quick and html.escape(words(facts)) in quick


def test_words_hold_what_the_picture_shows(facts):
    text = words(facts)
    for part in ("E4M3FN", "groups of 64", "2.1", "1.062", "1.882", "dB", "int8"):
        assert part in text
    for name, points in facts.curves.items():
        assert f"{name} {points[-4].error:.2%} here" in text


# ---- the widget


def test_every_control_moves_the_one_state():
    explorer = groupsize_explorer()
    before = explorer.data.chosen
    explorer.menus["way"].value = "int8"
    assert explorer.data.way == "int8" and explorer.data.chosen != before
    explorer.sliders["place"].value = "tensor"
    assert explorer.data.place == "tensor"
    explorer.sliders["strength"].value = 1.0
    assert "×1," in explorer.text and explorer.data.chosen.error < 0.02
    explorer.sliders["outliers"].value = 16
    assert explorer.state.outliers == 16
    picture = explorer._picture.value
    explorer.menus["metric"].value = "sqnr"
    assert explorer._picture.value != picture
    explorer.menus["data"].value = "V"
    assert explorer.data.name.startswith("V")
    explorer.state.way = "E2M1FN"
    assert explorer.menus["way"].value == "E2M1FN" and "E2M1FN" in explorer.readout.value + explorer.text


def test_own_tensors_with_other_head_dims():
    k, v = torch.randn(2, 30, 96), torch.randn(1, 2, 30, 40)
    explorer = groupsize_explorer({"K, layer 3": k, "V, layer 3": v}, place="64")
    assert explorer.data.shape == (2, 30, 96) and explorer.sliders["strength"].layout.visibility == "hidden"
    explorer.menus["data"].value = "V, layer 3"
    assert explorer.data.shape == (1, 2, 30, 40) and explorer.state.place == "token"
    assert [value for _, value in explorer.sliders["place"].options] == list(places_of((1, 2, 30, 40)))
    explorer.menus["data"].value = "K"
    assert explorer.data.shape == (2, 64, 128) and explorer.sliders["strength"].layout.visibility == "visible"


def test_the_whole_range_of_the_sliders_works():
    explorer = groupsize_explorer(way="int8", place="token")
    for strength in STRENGTHS:
        explorer.state.strength = strength
        assert math.isfinite(explorer.data.chosen.error)
    for count in COUNTS:
        explorer.state.outliers = count
        assert explorer.sliders["outliers"].value == count


def test_a_setting_that_was_seen_is_not_measured_or_drawn_again(monkeypatch):
    explorer = groupsize_explorer()
    explorer.state.strength = 100.0
    seen, curves = explorer.data, explorer._picture.value
    explorer.state.strength = 20.0
    for name in ("groupsize_data", "groupsize_svg", "measure"):
        monkeypatch.delattr(f"fp8lab.explore.groupsize.widget.{name}")
    explorer.state.strength = 100.0
    assert explorer.data is seen and explorer._picture.value is curves


def test_it_leaves_a_picture_and_words():
    data, metadata = groupsize_explorer()._repr_mimebundle_()
    assert data["image/png"] and metadata["image/png"]["width"] == round(100 * style.WIDTH_INCHES)
    assert "median relative error" in data["text/plain"]


def test_both_languages_have_the_same_words_and_the_same_blanks():
    assert set(EN) == set(ZH)
    assert all(EN[key].count("{") == ZH[key].count("{") for key in EN)
    for lang in ("en", "zh"):
        assert groupsize_explorer(lang=lang).menus["way"].description == {"en": "format", "zh": "格式"}[lang]


def test_the_names_are_where_explorers_are():
    assert explore.groupsize_explorer is groupsize_explorer and explore.groupsize_data is groupsize_data
