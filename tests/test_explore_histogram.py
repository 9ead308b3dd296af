"""The histogram explorer: numbers against numpy and closed forms, pictures against the data, controls over a state."""

from __future__ import annotations

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
import torch

from fp8lab.explore import histogram_data, histogram_explorer, histogram_figure
from fp8lab.explore.histogram.data import GRANULARITIES, OUTLIER_CHANNELS, SAMPLES, SCALE_FORMATS, SCALE_RULES, sample
from fp8lab.explore.histogram.figure import bin_edges, words
from fp8lab.explore.histogram.widget import DATA_FORMATS
from fp8lab.explore.histogram.words import EN, ZH


def test_samples_are_what_they_are_called_and_always_the_same():
    for kind in SAMPLES:
        x = sample(kind)
        assert x.shape == (1024, 128) and x.dtype == torch.float32 and torch.equal(x, sample(kind))
    normal, tail, outliers = (sample(kind).double() for kind in SAMPLES)
    kurtosis = [float(((x - x.mean()) ** 4).mean() / x.var() ** 2) for x in (normal, tail)]
    assert abs(kurtosis[0] - 3) < 0.1 and kurtosis[1] > 10
    assert abs(float(tail.var()) - 3) < 0.6  # Student t with 3 degrees of freedom has variance 3
    spread = outliers.std(0)
    assert float(spread[list(OUTLIER_CHANNELS)].min()) > 15 and float(spread.median()) < 1.1
    assert float(sample("outlier channels", 100.0).abs().max()) > 4 * float(outliers.abs().max())


def test_int8_against_numpy():
    x = sample("normal")
    data = histogram_data(x, "int8")
    scale = np.float32(np.abs(x.numpy()).max() / np.float32(127))
    codes = np.round(x.numpy() / scale).astype(int).flatten()
    assert np.array_equal(data.counts, np.bincount(codes + 127, minlength=255))
    assert np.allclose(data.restored, codes * np.float64(scale), rtol=1e-6)
    assert data.codes_total == 255 and data.code_values[0] == -127


def test_fp8_against_ml_dtypes():
    x = sample("heavy tail")
    data = histogram_data(x, "E4M3FN")
    scale = np.abs(x.numpy()).max() / np.float32(448)
    stored = (x.numpy() / scale).astype(ml_dtypes.float8_e4m3fn)
    assert np.allclose(data.restored, stored.astype(np.float64).flatten() * float(scale), rtol=1e-6)
    assert data.counts.sum() == x.numel() and np.all(np.diff(data.code_values) >= 0)
    want = np.unique(stored.view(np.uint8), return_counts=True)[1]
    assert sorted(data.counts[data.counts > 0]) == sorted(want)


def test_entropy_of_known_distributions():
    uniform = torch.arange(-127, 128, dtype=torch.float32).repeat(4, 1)
    assert histogram_data(uniform, "int8").entropy_bits == pytest.approx(math.log2(255))
    assert histogram_data(torch.ones(4, 8), "int8").entropy_bits == 0
    coin = torch.tensor([[1.0, -1.0] * 8])
    assert histogram_data(coin, "E4M3FN").entropy_bits == pytest.approx(1)


def test_measures_against_their_definitions():
    x = sample("normal")
    data = histogram_data(x, "int4")
    signal, noise = (data.values**2).sum(), (data.errors**2).sum()
    assert data.sqnr_db == pytest.approx(10 * math.log10(signal / noise))
    relative = np.abs(data.errors) / np.abs(data.values)
    assert data.median_relative_error == pytest.approx(np.median(relative), rel=1e-3)
    assert data.zeros == pytest.approx((data.restored == 0).mean())
    assert data.saturated == 0 and histogram_data(x, "int4", rule="percentile").saturated > 0


def test_groups_buy_range_for_int8_and_little_precision_for_fp8():
    x = sample("outlier channels")
    errors = {
        fmt: [
            histogram_data(x, fmt, granularity).median_relative_error for granularity in ("per tensor", "groups of 16")
        ]
        for fmt in ("int8", "E4M3FN")
    }
    assert errors["int8"][0] > 5 * errors["int8"][1]
    assert errors["E4M3FN"][0] < 1.5 * errors["E4M3FN"][1]


@pytest.mark.parametrize("fmt", DATA_FORMATS)
def test_every_combination_has_finite_numbers(fmt):
    x = sample("outlier channels")[:64]
    for granularity, rule, scale_format in itertools.product(GRANULARITIES, SCALE_RULES, SCALE_FORMATS):
        data = histogram_data(x, fmt, granularity, rule, scale_format)
        assert np.isfinite(data.restored).all() and data.counts.sum() == x.numel() and math.isfinite(data.sqnr_db)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 8, 64, 96), ()])
def test_tensors_of_any_shape(shape):
    data = histogram_data(torch.randn(shape, generator=torch.Generator().manual_seed(1)), "E4M3FN", "groups of 64")
    assert len(data.values) == math.prod(shape)
    histogram_figure(data)


@pytest.mark.parametrize(
    "x, settings, said",
    [
        (torch.ones(2, 2), {"fmt": "fp8"}, "fp8"), (torch.ones(2, 2), {"granularity": "per cow"}, "per cow"),
        (torch.ones(2, 2), {"rule": "max"}, "absmax"), (torch.ones(0, 4), {}, "empty"),
        (torch.tensor([[1.0, math.nan]]), {}, "nan"), (torch.ones(2, 2), {"fmt": "E8M0FNU"}, "E8M0FNU"),
    ],
)  # fmt: skip
def test_what_does_not_work_is_refused(x, settings, said):
    with pytest.raises(ValueError, match=said):
        histogram_data(x, **settings)


# The picture -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", ["linear", "log"])
def test_panels_share_one_axis_and_hold_every_value(axis):
    data = histogram_data(sample("outlier channels"), "E4M3FN")
    figure = histogram_figure(data, axis)
    panels = figure.axes[:3]
    assert len({panel.get_xlim() for panel in panels}) == 1 and len({panel.get_position().x0 for panel in panels}) == 1
    edges = bin_edges(data, axis)
    assert np.all(np.diff(edges) > 0) and np.allclose(edges, -edges[::-1])
    heights = [panel.patches[0].get_data().values for panel in panels]
    assert heights[0].sum() == len(data.values) and (heights[1] ** 2).sum() == pytest.approx(len(data.values))
    counts = np.histogram(data.values, edges)[0]
    assert (heights[2] ** 2 * counts).sum() == pytest.approx((data.errors**2).sum())


def test_no_label_leaves_the_paper_or_covers_another():
    for kind, fmt, axis in itertools.product(SAMPLES, ("int8", "E2M1FN"), ("linear", "log")):
        figure = histogram_figure(
            histogram_data(sample(kind), fmt, "groups of 32", "mse", "power of two", name=kind), axis
        )
        renderer = figure.canvas.get_renderer()
        figure.draw(renderer)
        texts = list(figure.texts)
        for axes in figure.axes:
            texts += [
                *axes.texts,
                *(label for label in axes.get_xticklabels() if _within(label, axes)),
                axes.xaxis.label,
            ]
        boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts if text.get_text()]
        for text, box in boxes:
            assert -1 <= box.x0 and box.x1 <= figure.bbox.x1 + 1, (kind, fmt, axis, text)
        for (one, a), (two, b) in itertools.combinations(boxes, 2):
            wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert wide < 1 or high < 3, (kind, fmt, axis, one, two)


def _within(label, axes) -> bool:
    """Whether a tick label is shown at all: matplotlib keeps those of ticks outside the limits."""
    low, high = axes.get_xlim()
    return (
        low <= label.get_position()[0] <= high and label.get_visible() and axes.xaxis.get_tick_params()["labelbottom"]
    )


def test_a_constant_and_a_zero_tensor_have_a_picture():
    for x in (torch.zeros(4, 4), torch.ones(4, 4)):
        data = histogram_data(x, "int8")
        assert np.array_equal(data.restored, data.values) and "inf dB" in words(data)
        for axis in ("linear", "log"):
            histogram_figure(data, axis)


def test_unknown_axis_is_refused():
    with pytest.raises(ValueError, match="linear, log"):
        histogram_figure(histogram_data(sample("normal")), "cubic")


# The widget ------------------------------------------------------------------------------------------------------


def test_every_control_moves_the_one_state():
    explorer = histogram_explorer()
    for name, value in {
        "fmt": "INT8", "granularity": "per channel", "rule": "mse", "scale_format": "power of two", "axis": "log",
        "data": "outlier channels",
    }.items():  # fmt: skip
        explorer.menus[name].value = value
        assert getattr(explorer.state, name) == value
    assert explorer.strength.layout.display is None
    explorer.strength.value = 100.0
    assert "×100" in explorer.text and f"{explorer.data.sqnr_db:.1f} dB" in explorer.readout.value
    explorer.state.fmt = "E4M3FN"
    assert explorer.menus["fmt"].value == "E4M3FN" and "E4M3FN" in explorer.text
    explorer.menus["rule"].value = "1 (none)"
    assert explorer.menus["granularity"].disabled and explorer.data.scale_range == (1, 1)


def test_your_own_tensors_come_first():
    own = {"K": torch.randn(2, 4, 16, 64), "V": torch.ones(8, 8)}
    explorer = histogram_explorer(own, lang="zh")
    assert explorer.data.name == "K" and len(explorer.data.values) == own["K"].numel()
    explorer.menus["data"].value = "V"
    assert explorer.data.values.max() == 1
    explorer.menus["data"].value = "normal"
    assert len(explorer.data.values) == 1024 * 128
    assert histogram_explorer(torch.ones(4, 4)).data.name == "x"


def test_a_tensor_that_cannot_be_quantized_is_told_in_the_page():
    explorer = histogram_explorer({"good": torch.ones(2, 4), "bad": torch.tensor([[1.0, math.inf]])})
    explorer.menus["data"].value = "bad"
    assert "inf" in explorer._messages.value
    explorer.menus["data"].value = "good"
    assert explorer._messages.value == "" and explorer.data.name == "good"


@pytest.mark.parametrize(
    "arguments, error",
    [({"x": [1.0, 2.0]}, TypeError), ({"x": {"k": [1.0]}}, TypeError), ({"fmt": "fp8"}, ValueError),
     ({"axis": "up"}, ValueError), ({"lang": "fr"}, ValueError), ({"x": torch.tensor([math.nan])}, ValueError)],
)  # fmt: skip
def test_bad_arguments_are_refused(arguments, error):
    with pytest.raises(error):
        histogram_explorer(**arguments)


def test_both_languages_have_the_same_words():
    assert EN.keys() == ZH.keys()


def test_the_output_holds_a_picture_and_words():
    data, metadata = histogram_explorer(axis="log")._repr_mimebundle_()
    assert data["image/png"] and metadata["image/png"]["width"] == 860 and "SQNR" in data["text/plain"]
    assert metadata["image/png"]["alt"] == data["text/plain"]
    assert len(data["image/png"]) < 80_000
