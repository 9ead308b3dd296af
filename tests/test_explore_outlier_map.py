"""The outlier map: numbers against numpy and fp8lab, the picture against the data, the controls over one state."""

from __future__ import annotations

import html
import io
import itertools
import math

import numpy as np
import pytest
import torch
from pictures import crowded, shapes
from PIL import Image

from fp8lab.explore import style
from fp8lab.explore.outlier_map import outlier_data, outlier_explorer, outlier_figure, synthetic
from fp8lab.explore.outlier_map.data import AXES, FORMATS, KINDS, prepared
from fp8lab.explore.outlier_map.figure import VIEWS, colour_scale, outlier_svg, words
from fp8lab.explore.outlier_map.widget import STRENGTHS
from fp8lab.explore.outlier_map.words import EN, ZH
from fp8lab.quantize import quantize
from fp8lab.rotate import hadamard

# ---- data


def test_made_up_keys_are_what_they_are_called_and_always_the_same():
    plain = synthetic("none", 7.0)
    for kind in KINDS:
        x = synthetic(kind, 50.0)
        assert x.shape == (64, 128) and torch.equal(x, synthetic(kind, 50.0))
    loud = (synthetic("channels", 50.0) / plain).median(0).values
    assert (loud > 49).sum() == 4 and (loud < 1.01).sum() == 124
    shift = (synthetic("constant", 50.0) - plain).mean(0)
    assert sorted(shift[shift.abs() > 1].round().tolist()) == [-50.0, 50.0]
    token = (synthetic("token", 50.0) / plain).median(1).values
    assert token[0] == pytest.approx(50) and (token[1:] == 1).all()


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("axis", AXES)
def test_both_sides_against_a_matrix_and_quantize(fmt, axis):
    x = synthetic("channels", 20.0)
    data = outlier_data(x, fmt, axis)
    h = hadamard(128, torch.float32)
    assert np.array_equal(data.before.size, x.abs().numpy())
    assert np.allclose(data.after.size, (x @ h).abs().numpy(), atol=1e-4)
    before = (quantize(x, fmt, AXES[axis]).dequantize() - x).abs().numpy()
    assert np.array_equal(data.before.error, before)
    noise = data.after.error
    assert data.after.sqnr_db == pytest.approx(
        10 * math.log10(float(x.square().sum()) / float((noise**2).sum())), abs=0.01
    )
    assert data.before.peak == pytest.approx(float(x.abs().max() / x.square().mean().sqrt()), rel=1e-5)


def test_rotation_keeps_the_energy_and_lowers_the_peak():
    for kind in ("channels", "constant"):
        data = outlier_data(synthetic(kind, 100.0), "int8", "token")
        energy = [float((side.size.astype(np.float64) ** 2).sum()) for side in (data.before, data.after)]
        assert energy[0] == pytest.approx(energy[1], rel=1e-4)
        assert data.after.peak < data.before.peak / 3
    sink = outlier_data(synthetic("token", 100.0), "int8", "token")
    assert sink.after.peak > 0.7 * sink.before.peak, "a loud token stays loud: its channels are what is mixed"


def test_what_the_lesson_asks_to_find_is_there():
    saves = outlier_data(synthetic("channels", 20.0), "int4", "token")
    ruins = outlier_data(synthetic("constant", 300.0), "E4M3FN", "token")
    nothing = outlier_data(synthetic("none", 1.0), "int8", "token")
    assert saves.helps > 1.5 and ruins.helps < 0.2 and 1 / 1.1 < nothing.helps < 1.1
    for data, verdict in ((saves, "helps"), (ruins, "hurts"), (nothing, "changes little")):
        assert f"Rotation {verdict}." in words(data)


def test_zeros_are_no_trouble():
    data = outlier_data(torch.zeros(4, 8), "int4", "channel")
    assert data.before.output_error == data.after.output_error == 0 and data.helps == 1 and data.before.peak == 0
    assert outlier_figure(data, "error") and "changes little" in words(data)
    once = torch.zeros(4, 8)
    once[0, 0] = 3.0
    assert outlier_figure(outlier_data(once, "E4M3FN", "tensor"))


@pytest.mark.parametrize("shape", [(5, 96), (3, 7, 80), (1, 2, 1, 64), (600, 16), (9, 7)])
def test_a_tensor_of_ones_own(shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1)).bfloat16()
    data = outlier_data(x, "int8", "token × 32 channels", name="layer 3")
    assert data.before.size.shape[1] == shape[-1] and data.before.size.shape[0] <= 256
    assert "layer 3" in words(data) and math.isfinite(data.after.output_error)
    assert np.array_equal(data.before.size[0], x.reshape(-1, shape[-1])[0].float().abs().numpy())


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda: synthetic("rows"), "channels"), (lambda: synthetic("channels", 0.0), "above 0"),
        (lambda: synthetic("channels", math.inf), "above 0"),
        (lambda: outlier_data(synthetic(), "fp8"), "int4"), (lambda: outlier_data(synthetic(), "int4", "row"), "token"),
        (lambda: prepared(torch.ones(5)), "shape"), (lambda: prepared(torch.empty(0, 4)), "shape"),
        (lambda: prepared(torch.ones(2, 600)), "at most 512"),
        (lambda: prepared(torch.tensor([[1.0, math.nan]])), "NaN"),
        (lambda: outlier_figure(outlier_data(synthetic()), "map"), "size"),
        (lambda: outlier_explorer(kind="rows"), "rows"), (lambda: outlier_explorer(strength=21.0), "21"),
        (lambda: outlier_explorer(fmt="fp8"), "fp8"), (lambda: outlier_explorer(axis="row"), "row"),
        (lambda: outlier_explorer(view="map"), "map"), (lambda: outlier_explorer(lang="fr"), "fr"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="list"):
        outlier_explorer({"k": [1.0]})


# ---- the picture


def every_case():
    for kind, fmt, view in itertools.product(KINDS, ("int4", "E4M3FN"), ("size", "error")):
        yield outlier_data(synthetic(kind, 5000.0), fmt, "channel × 32 tokens", name=f"K ({kind} ×5000)"), view


def test_no_label_leaves_the_paper_or_covers_another():
    for data, view in every_case():
        assert crowded(outlier_figure(data, view)) == []


def test_the_maps_hold_the_data_on_one_scale():
    data = outlier_data(synthetic("channels", 50.0), "int4", "token")
    for view in ("size", "error"):
        figure = outlier_figure(data, view)
        images = [axes.images[0] for axes in figure.axes[:4] if axes.images]
        assert len(images) == 2 and images[0].norm is images[1].norm
        for image, side in zip(images, (data.before, data.after)):
            values = getattr(side, view)
            assert np.array_equal(np.asarray(image.get_array()), np.maximum(values, image.norm.vmin))
        assert images[0].norm.vmax == max(getattr(side, view).max() for side in (data.before, data.after))


def test_the_quick_svg_is_the_figure_and_nothing_is_left_over_from_the_one_before():
    first, other = (outlier_data(synthetic(kind, 50.0), "int4", "token") for kind in ("channels", "none"))
    for view in VIEWS:
        quick = outlier_svg(first, view)
        assert shapes(quick) == shapes(style.svg(outlier_figure(first, view), ""))
        assert shapes(outlier_svg(other, view)) == shapes(style.svg(outlier_figure(other, view), ""))
        assert outlier_svg(first, view) == quick and html.escape(words(first)) in quick


def test_the_still_picture_keeps_the_rare_colours_of_the_loudest_values():
    figure = outlier_figure(outlier_data(synthetic("channels", 50.0), "int4", "token"))
    pixels = np.asarray(Image.open(io.BytesIO(style.png(figure))).convert("RGB")).reshape(-1, 3).astype(int)
    for end in ((253, 231, 37), (68, 1, 84)):  # viridis
        assert (np.abs(pixels - end).max(1) < 16).any(), end


def test_the_colour_scale_has_room_for_most_values_and_an_end():
    values = np.array([[1e-30, 1.0, 2.0, 4.0] * 50])
    norm = colour_scale([values])
    assert norm.vmax == 4.0 and norm.vmin == 4.0 * 2.0**-14
    assert colour_scale([np.zeros((2, 2))]).vmax == 1.0
    assert colour_scale([np.full((2, 2), 3.0)]).vmin < 3.0


def test_the_picture_in_words_names_the_loud_channels():
    text = words(outlier_data(synthetic("channels", 50.0), "int4", "token", name="K"))
    for part in ("7, 33, 64, 110", "64 tokens × 128 channels", "int4", "per token"):
        assert part in text


# ---- the widget


def test_every_control_moves_the_one_state():
    explorer = outlier_explorer()
    seen = set()
    for name, value in (
        ("data", "constant"), ("strength", 300.0), ("fmt", "E4M3FN"), ("axis", "channel"), ("view", "error"),
    ):  # fmt: skip
        explorer.controls[name].value = value
        assert getattr(explorer.state, name) == value
        seen.add(explorer._picture.value)
    assert len(seen) == 5, "each of them changes the picture"
    assert explorer.data.fmt == "E4M3FN" and "±300" in explorer.data.name
    explorer.state.fmt = "int8"
    assert explorer.controls["fmt"].value == "int8" and "int8" in explorer.text


def test_strength_is_offered_where_it_means_something():
    explorer = outlier_explorer({"mine": torch.randn(2, 8, 16)})
    assert explorer.state.data == "mine" and explorer.controls["strength"].layout.visibility == "hidden"
    for kind in KINDS:
        explorer.controls["data"].value = kind
        hidden = explorer.controls["strength"].layout.visibility == "hidden"
        assert hidden == (kind == "none")
    explorer.controls["data"].value = "mine"
    assert explorer.data.before.size.shape == (8, 16)


@pytest.mark.parametrize("lang, helped, hurt", [("en", "helps", "hurts"), ("zh", "有用", "有害")])
def test_the_verdict_on_rotation_is_said(lang, helped, hurt):
    explorer = outlier_explorer(lang=lang)
    assert helped in explorer.readout.value
    explorer._move(data="constant", strength=300.0, fmt="E4M3FN")
    assert hurt in explorer.readout.value


def test_both_languages_have_the_same_words_and_the_same_blanks():
    def blanks(text: str) -> set[str]:
        return {part.split("}")[0].split(":")[0] for part in text.split("{")[1:]}

    assert {key: blanks(text) for key, text in EN.items()} == {key: blanks(text) for key, text in ZH.items()}


def test_the_output_holds_a_picture_and_words_where_no_front_end_answers():
    explorer = outlier_explorer(kind="constant", strength=300.0, fmt="E4M3FN")
    data, metadata = explorer._repr_mimebundle_()
    assert data["image/png"] and metadata["image/png"]["width"] == 860
    assert "Rotation hurts" in data["text/plain"] == repr(explorer)


def test_a_setting_that_was_seen_is_not_measured_or_drawn_again(monkeypatch):
    explorer = outlier_explorer()
    explorer._move(strength=STRENGTHS[0], fmt=FORMATS[0])
    seen, drawn = explorer.data, explorer._picture.value
    explorer._move(strength=STRENGTHS[-1], fmt=FORMATS[-1])
    assert explorer._picture.value != drawn
    for name in ("outlier_data", "outlier_svg"):
        monkeypatch.delattr(f"fp8lab.explore.outlier_map.widget.{name}")
    explorer._move(strength=STRENGTHS[0], fmt=FORMATS[0])
    assert explorer.data is seen and explorer._picture.value is drawn
