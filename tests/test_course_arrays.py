"""as_array: what an answer returns becomes numbers or text, exactly; an object's own `__eq__` is never asked."""

import base64
import json

import ml_dtypes
import numpy as np
import pytest
import torch

from fp8lab.course.arrays import as_array, from_json, to_json


class Agreeable:
    """Says yes to every comparison, as a cheat would."""

    def __eq__(self, other):
        return True

    def __array__(self, *args, **kwargs):
        return np.array(1.0)


class AgreeableArray(np.ndarray):
    def __eq__(self, other):
        return np.ones(self.shape, bool)


@pytest.mark.parametrize(
    "value, want",
    [
        (3, np.array(3)),
        (True, np.array(True)),
        ([1, 2.5], np.array([1.0, 2.5])),
        ((1, (2,)), "<ragged tuple>"),
        ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]])),
        ([], np.empty(0)),
        ("nan", np.array("nan")),
        (None, np.array("<None>")),
        ({3, 1, 2}, np.array([1, 2, 3])),
        ({"a": 1}, "<dict>"),
        (1j, "<complex>"),
        (lambda: 0, "<function>"),
        (Agreeable(), "<Agreeable>"),
        (np.array([Agreeable()], dtype=object), np.array(["<Agreeable>"])),
        (np.array([1, 2.5], dtype=object), np.array([1.0, 2.5])),
        (np.array([1j]), "<numpy complex128>"),
        (torch.tensor(1j), "<torch.complex64>"),
        (torch.arange(6).reshape(2, 3).T, np.arange(6).reshape(2, 3).T),
        (torch.tensor([1.5], requires_grad=True), np.array([1.5], np.float32)),
        (torch.tensor([448.0]).to(torch.float8_e4m3fn), np.array([448.0], np.float32)),
        (np.array([448.0], ml_dtypes.float8_e4m3fn), np.array([448.0], np.float32)),
        (np.array([1.25], ml_dtypes.bfloat16), np.array([1.25], np.float32)),
        (np.array([1.0]).view(AgreeableArray), np.array([1.0])),
        ([1, "ValueError"], np.array(["number 1.0", "ValueError"])),
    ],
)
def test_value_becomes_plain_array(value, want):
    got = as_array(value)
    assert type(got) is np.ndarray and got.dtype.kind in "biufU"
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, want)


def test_an_array_of_the_learner_is_copied():
    mine = np.zeros(3)
    taken = as_array(mine)
    mine[:] = 7
    assert taken.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.0, -0.0, np.nan, np.inf]),
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.array(["一", "b"]),
        np.array(2.5, np.float32),
        np.empty((0, 4)),
        np.array([1.5], ">f8"),
    ],
)
def test_json_round_trip_keeps_every_bit(array):
    back = from_json(json.loads(json.dumps(to_json(array))))
    assert back.shape == array.shape
    assert back.tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes()


@pytest.mark.parametrize("dtype", ["|O", "<c16", "|V8", "<M8[s]"])
def test_json_refuses_other_dtypes(dtype):
    with pytest.raises(ValueError, match="dtype"):
        from_json({"dtype": dtype, "shape": [0], "data": ""})


def test_json_refuses_a_wrong_size():
    with pytest.raises(ValueError):
        from_json({"dtype": "<f8", "shape": [3], "data": to_json(np.zeros(2))["data"]})


@pytest.mark.parametrize("order", "<>")
def test_json_refuses_texts_of_no_characters(order):
    numbers = np.array([0x41, 0x10FFFF, 0x110000], dtype=order + "u4")
    sent = {"dtype": order + "U1", "shape": [2], "data": base64.b64encode(numbers[:2].tobytes()).decode()}
    assert from_json(sent).tolist() == ["A", chr(0x10FFFF)]
    with pytest.raises(ValueError, match="no characters"):
        from_json({**sent, "data": base64.b64encode(numbers[1:].tobytes()).decode()})
