"""Colours, measured: contrast after WCAG, distance for colour-blind eyes after Machado et al."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fp8lab.explore import style


def luminance(colour: str) -> float:
    """WCAG 2.1 relative luminance."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    dark, light = sorted((luminance(one), luminance(two)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colour", [*style.FIELD_COLOURS.values(), *style.KIND_COLOURS.values()])
def test_white_text_on_a_colour_is_readable(colour):
    assert contrast("#FFFFFF", colour) >= 4.5  # WCAG AA


@pytest.mark.parametrize("colour", [*style.FIELD_COLOURS.values(), style.SUBNORMAL, style.ACCENT, style.MUTED])
@pytest.mark.parametrize("page", ["#FFFFFF", "#111111"])
def test_lines_and_large_text_are_visible_on_light_and_dark_pages(colour, page):
    assert contrast(colour, page) >= 3  # WCAG AA for graphics and large text


DEFICIENCIES = {  # Machado, Oliveira, Fernandes 2009, severity 1.0, on linear RGB
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "none": np.eye(3).tolist(),
}


def lab_colour(colour: str, deficiency: str) -> np.ndarray:
    """CIELAB (D65) of a colour as somebody with that deficiency sees it."""
    channels = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(DEFICIENCIES[deficiency]) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(np.maximum(to_xyz @ seen / np.array([0.9505, 1.0, 1.089]), 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("deficiency", list(DEFICIENCIES))
def test_field_colours_stay_apart_for_the_colour_blind(deficiency):
    for one, two in itertools.combinations(style.FIELD_COLOURS.values(), 2):
        distance = np.linalg.norm(lab_colour(one, deficiency) - lab_colour(two, deficiency))
        assert distance >= 15, (deficiency, one, two, distance)
