"""What all explorers share: results are kept, garbage waits for the picture, wrong choices are named."""

from __future__ import annotations

import gc

import pytest
import torch

from fp8lab import explore
from fp8lab.explore.outlier_map.widget import outlier_explorer
from fp8lab.explore.widget import Kept, check_choices, own_tensors


def test_every_public_name_leads_somewhere():
    for name in explore.__all__:
        assert getattr(explore, name).__name__ == name


def test_kept_results_are_bounded_and_a_failure_is_not_kept():
    kept, calls = Kept(2), []

    def make(key):
        calls.append(key)
        return key

    for key in (1, 2, 1, 2, 3, 3, 1):
        assert kept.get(key, lambda key=key: make(key)) == key
    assert calls == [1, 2, 3, 1], "the third one empties it"
    with pytest.raises(ZeroDivisionError):
        kept.get(9, lambda: 1 // 0)
    assert kept.get(9, lambda: "again") == "again"


@pytest.mark.parametrize("was_on", [True, False])
@pytest.mark.parametrize("by_hand", [True, False])
def test_no_garbage_is_collected_while_a_picture_is_drawn(monkeypatch, was_on, by_hand):
    explorer, seen = outlier_explorer(), []
    monkeypatch.setattr(explorer, "_show", lambda: seen.append(gc.isenabled()))
    try:
        if not was_on:
            gc.disable()
        if by_hand:
            explorer.controls["fmt"].value = "int8"
        else:
            explorer.state.fmt = "int8"
        assert seen == [False] and gc.isenabled() == was_on
    finally:
        gc.enable()


def test_a_picture_that_fails_leaves_the_collector_on(monkeypatch):
    explorer = outlier_explorer()
    monkeypatch.setattr(explorer, "_show", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        explorer.state.fmt = "int8"
    assert gc.isenabled()


def test_tensors_of_ones_own():
    x = torch.ones(2, 3)
    assert own_tensors(None) == {} and own_tensors(x) == {"x": x} and own_tensors({"k": x}) == {"k": x}
    for wrong in ([1.0], {"k": [1.0]}, "x"):
        with pytest.raises(TypeError, match=type(wrong).__name__ if not isinstance(wrong, dict) else "list"):
            own_tensors(wrong)


def test_a_wrong_choice_names_itself_and_what_there_is():
    check_choices(fmt=("int4", ("int4", "int8")))
    with pytest.raises(ValueError, match="axis is 'row'; it is one of token, channel"):
        check_choices(fmt=("int4", ("int4",)), axis=("row", ("token", "channel")))
