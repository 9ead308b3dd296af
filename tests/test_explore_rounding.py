"""The rounding explorer: who takes x, against an exact search; pictures without collisions; controls over one state."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import torch

from fp8lab import formats
from fp8lab.explore import rounding_data, rounding_explorer, rounding_figure, style
from fp8lab.explore.rounding.data import float32_beside, overflow_tie, overflows_of
from fp8lab.explore.rounding.figure import words
from fp8lab.explore.rounding.foreign import DTYPES, foreign_codes
from fp8lab.explore.rounding.words import EN, ZH
from fp8lab.formats import FORMATS

SOME_X = (17.3, -0.0123, 464.0, -464.0, 470.0, 481.0, 1e9, 2.0**-10, 2.0**-11, 0.0, -0.0, 256.0, 1.0625 + 2.0**-40)


@pytest.mark.parametrize(
    "x, rounding, overflow, code",
    [  # OCP OFP8 v1.0, section 5.2.2 for the modes; 464 is halfway between 448 and the 480 that does not exist
        (464.0, "nearest_even", "nan", 0x7E), (464.0, "nearest_away", "nan", 0x7F),
        (464.0, "nearest_away", "saturate", 0x7E),
        (465.0, "nearest_even", "nan", 0x7F), (479.9, "toward_zero", "nan", 0x7E),
        (480.0, "toward_zero", "nan", 0x7F),
        (17.0, "nearest_even", "saturate", 0x58), (19.0, "nearest_even", "saturate", 0x5A),
        (17.0, "nearest_away", "saturate", 0x59),
        (-17.0, "nearest_away", "saturate", 0xD9), (-17.5, "toward_positive", "saturate", 0xD8),
        (17.1, "toward_positive", "saturate", 0x59),
        (-465.0, "nearest_even", "nan", 0xFF),
    ],
)  # fmt: skip
def test_known_results(x, rounding, overflow, code):
    assert rounding_data(x, "E4M3FN", rounding, overflow).chosen == code


@pytest.mark.parametrize("name", list(FORMATS))
def test_neighbours_and_nearest_against_an_exact_search(name):
    fmt, rng = FORMATS[name], random.Random(2)
    finite = sorted(
        {(formats.exact(code, fmt), code) for code in range(fmt.codes) if formats.exact(code, fmt) is not None}
    )
    values = [value for value, _ in finite]
    for _ in range(120):
        x = rng.choice((-1, 1)) ** fmt.signed * float(rng.choice(values[len(values) // 2 :])) * rng.uniform(0.5, 1.5)
        if not fmt.signed and x <= 0 or not math.isfinite(x):
            continue
        data = rounding_data(x, fmt)
        below, above = [v for v in values if v <= Fraction(x)], [v for v in values if v >= Fraction(x)]
        if below:
            assert data.low_value == below[-1]
        if above:
            assert data.high_value == above[0]
        best = min(abs(value - Fraction(x)) for value in values)
        assert abs(data.error) == best and data.error == formats.exact(data.chosen, fmt) - Fraction(x)
        if below and above and below[-1] != above[0]:
            assert 0 < data.share < 1 and (data.share < 0.5) == (Fraction(x) < data.midpoint)


@pytest.mark.parametrize("x", [17.5, -17.5, 0.001, 470.0, -470.0, 463.0])
@pytest.mark.parametrize("overflow", ["saturate", "nan"])
def test_chances_are_what_the_codec_draws(x, overflow):
    data = rounding_data(x, "E4M3FN", "stochastic", overflow)
    drawn = formats_encode(x, overflow)
    assert math.isclose(sum(data.chances.values()), 1)
    assert set(drawn) <= set(data.chances)
    for code, chance in data.chances.items():
        assert abs(drawn.get(code, 0) - chance) < 0.02, (code, chance, drawn)


def formats_encode(x: float, overflow: str, draws: int = 20_000) -> dict[int, float]:
    """Frequencies of the codes that the codec draws for x."""
    from fp8lab import encode

    many = torch.full((draws,), x, dtype=torch.float64)
    codes = encode(many, rounding="stochastic", overflow=overflow, generator=torch.Generator().manual_seed(5))
    return {int(code): int(count) / draws for code, count in zip(*codes.unique(return_counts=True))}


@pytest.mark.parametrize("name", list(FORMATS))
def test_the_overflow_tie_is_where_the_outcome_changes(name):
    fmt = FORMATS[name]
    tie = overflow_tie(fmt)
    below, above = float32_beside(tie)
    policy = overflows_of(fmt)[-1]
    assert rounding_data(below, fmt, overflow=policy).chosen == fmt.max_code
    beyond = rounding_data(above, fmt, overflow=policy).chosen
    assert beyond == fmt.max_code if policy == "saturate" else formats.classify(beyond, fmt) == policy


def test_float32_beside_is_what_numpy_says():
    for x in (464.0, 1.0625, 0.0009765625, -3.5):
        want = [float(np.nextafter(np.float32(x), np.float32(side))) for side in (-np.inf, np.inf)]
        assert list(float32_beside(x)) == want and want[0] < x < want[1]


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((math.nan,), "finite"), ((math.inf,), "finite"), ((-1.0, "E8M0FNU"), "positive"),
        ((0.0, "E8M0FNU"), "positive"),
        ((1.0, "E4M3FN", "up"), "choose"), ((1.0, "E4M3FN", "nearest_even", "inf"), "no code for infinity"),
        ((1.0, "E9"), "E9"),
    ],
)  # fmt: skip
def test_what_cannot_be_rounded_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        rounding_data(*arguments)


def test_other_libraries_are_asked_and_answer_for_themselves():
    x = 1.0625 + 2.0**-40
    answers = {
        (answer.library.split()[0], answer.source): answer.code for answer in foreign_codes(x, FORMATS["E4M3FN"])
    }
    assert answers[("torch", "float32")] == 0x38, "float32 cannot tell x from the tie"
    assert answers[("ml_dtypes", "Python float")] == 0x39 == rounding_data(x).chosen
    for name in FORMATS:
        assert hasattr(ml_dtypes, DTYPES[name]) and foreign_codes(1.5, FORMATS[name])


def test_without_ml_dtypes_torch_still_answers(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    assert {answer.library.split()[0] for answer in foreign_codes(1.5, FORMATS["E4M3FN"])} == {"torch"}
    assert foreign_codes(1.5, FORMATS["E2M1FN"]) == ()


# The picture and the words ---------------------------------------------------------------------------------------


def every_case():
    for x, mode, policy in itertools.product(
        SOME_X, ("nearest_even", "toward_zero", "stochastic"), ("saturate", "nan")
    ):
        yield rounding_data(x, "E4M3FN", mode, policy)
    yield rounding_data(60000.0, "E5M2", overflow="inf")
    yield rounding_data(3.0, "E8M0FNU")
    yield rounding_data(2.0**-140, "E8M0FNU", "stochastic")
    yield rounding_data(-(2.0**-12), "E4M3FNUZ")


def test_no_label_leaves_the_paper_or_covers_another():
    for data in every_case():
        figure = rounding_figure(data)
        renderer = figure.canvas.get_renderer()
        figure.draw(renderer)
        texts = [*figure.texts, *figure.axes[0].texts, *figure.axes[1].texts, *figure.axes[1].get_xticklabels()]
        boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts if text.get_text()]
        for text, box in boxes:
            assert -1 <= box.x0 and box.x1 <= figure.bbox.x1 + 1 and -1 <= box.y0 and box.y1 <= figure.bbox.y1 + 1, (
                data,
                text,
            )
        for (one, a), (two, b) in itertools.combinations(boxes, 2):
            wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert wide < 1 or high < 3, (data, one, two)


def test_sides_have_the_colour_of_their_owner_and_x_stands_at_its_share():
    axes = rounding_figure(rounding_data(17.3)).axes[0]
    sides = [tuple(round(255 * part) for part in patch.get_facecolor()[0][:3]) for patch in axes.collections]
    assert sides == [rgb(style.EXPONENT), rgb(style.MANTISSA)]
    truncating = rounding_figure(rounding_data(17.3, rounding="toward_zero")).axes[0]
    assert {tuple(round(255 * part) for part in patch.get_facecolor()[0][:3]) for patch in truncating.collections} == {
        rgb(style.EXPONENT)
    }
    marker = [line for line in axes.lines if line.get_marker() == "v"]
    assert marker[0].get_xdata()[0] == pytest.approx(0.65)


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def test_the_picture_in_words_names_both_ends_and_the_result():
    text = words(rounding_data(464.0, rounding="nearest_away", overflow="nan"))
    for part in ("464", "448 (0x7E)", "480", "tie", "0x7F = NaN"):
        assert part in text
    assert "just above" in words(rounding_data(1.0625 + 2.0**-40)) and "50.0%" not in words(
        rounding_data(1.0625 + 2.0**-40)
    )


# The widget ------------------------------------------------------------------------------------------------------


def test_every_control_moves_the_one_state():
    explorer = rounding_explorer(17.3, overflow="nan")
    explorer.x.value = "464"
    assert explorer.data.chosen == 0x7E and explorer.slider.value == pytest.approx(464)
    explorer.rounding.value = "nearest_away"
    assert explorer.data.chosen == 0x7F
    explorer.overflow.value = "saturate"
    assert explorer.data.chosen == 0x7E
    explorer.negative.value = True
    assert explorer.state.x == -464 and explorer.data.chosen == 0xFE and explorer.x.value == "-464"
    explorer.slider.value = 17.0
    assert explorer.state.x == -17 and "0xD9" in explorer.more.value
    explorer.format.value = "E5M2"
    assert explorer.data.fmt.name == "E5M2" and [policy for _, policy in explorer.overflow.options] == [
        "saturate",
        "nan",
        "inf",
    ]
    explorer.state.x = 3.0
    assert explorer.x.value == "3" and explorer.negative.value is False


def test_jumps_land_where_they_say():
    explorer = rounding_explorer(17.3)
    tie, seen = 17.0, {}
    for name, button in explorer.jump_buttons.items():
        explorer.state.x = 17.3
        button.click()
        seen[name] = explorer.state.x
    assert seen["to tie"] == tie and seen["below tie"] < tie < seen["above tie"]
    assert seen["end tie"] == 464 and seen["above end"] == float(np.nextafter(np.float32(464), np.float32(np.inf)))
    assert seen["twice"] > tie and np.float32(seen["twice"]) == tie
    assert "differs" in explorer.more.value, "torch and fp8lab disagree on a number that float32 cannot hold"


def test_a_tie_can_be_reached_from_a_value_and_at_the_top():
    explorer = rounding_explorer(16.0)
    explorer.jump_buttons["to tie"].click()
    assert explorer.state.x == 17
    explorer.state.x = 448.0
    explorer.jump_buttons["to tie"].click()
    assert explorer.state.x == 432


def test_changing_the_format_gives_up_what_it_cannot_express():
    explorer = rounding_explorer(-0.0, "E5M2", overflow="inf")
    explorer.format.value = "E8M0FNU"
    assert explorer.state.x == 1 and explorer.state.overflow == "saturate" and explorer.negative.disabled
    for name in FORMATS:
        explorer.format.value = name
        assert explorer.data.fmt.name == name and name in explorer.text


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_bad_entries_change_nothing_and_say_what_is_accepted(lang):
    explorer = rounding_explorer(17.3, lang=lang)
    for typed in ("many", "inf", "nan", ""):
        explorer.x.value = typed
        assert explorer.state.x == 17.3 and "464" in explorer.message and typed in explorer.message
    explorer.format.value = "E8M0FNU"
    explorer.x.value = "-2"
    assert "E8M0FNU" in explorer.message and explorer.state.x == 17.3


def test_slider_reaches_past_both_ends_of_every_format():
    explorer = rounding_explorer()
    for fmt in FORMATS.values():
        explorer.format.value = fmt.name
        assert 2.0**explorer.slider.max > fmt.max_finite
        assert 2.0**explorer.slider.min < (fmt.min_subnormal or fmt.min_normal)


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": math.nan},
        {"fmt": "fp8"},
        {"rounding": "up"},
        {"overflow": "inf"},
        {"lang": "fr"},
        {"x": 0, "fmt": "E8M0FNU"},
    ],
)
def test_bad_arguments_are_refused(arguments):
    with pytest.raises(ValueError):
        rounding_explorer(**arguments)


def test_both_languages_have_the_same_words_and_the_same_blanks():
    def blanks(text: str) -> set[str]:
        return {part.split("}")[0] for part in text.split("{")[1:]}

    assert {key: blanks(text) for key, text in EN.items()} == {key: blanks(text) for key, text in ZH.items()}


def test_the_output_holds_a_picture_and_words():
    data, metadata = rounding_explorer(464.0)._repr_mimebundle_()
    assert data["image/png"] and metadata["image/png"]["width"] == 860 and "464" in data["text/plain"]
