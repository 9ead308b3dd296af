"""How encode and decode write: into `out`, in blocks, at odd places, with and without torch's cast."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fp8lab import decode, encode
from fp8lab.formats import FORMATS, decode_table
from fp8lab.rounding import torch_cast_is_exact

TABLE = decode_table()


@pytest.mark.parametrize("function", [encode, decode])
def test_out(function):
    source, dtype = (torch.randn(4, 6), torch.uint8)
    if function is decode:
        source, dtype = torch.arange(24, dtype=torch.uint8).view(4, 6), torch.float32
    want = function(source)
    wide = torch.empty(4, 12, dtype=dtype)
    for out in (torch.empty(4, 6, dtype=dtype), torch.empty(6, 4, dtype=dtype).T, wide[:, ::2]):
        assert function(source, out=out) is out and torch.equal(out, want)
    with pytest.raises(TypeError, match=f"out is a tensor of torch.float64: this result is {dtype}"):
        function(source, out=torch.empty(4, 6, dtype=torch.float64))
    with pytest.raises(TypeError, match="out is a ndarray"):
        function(source, out=np.empty((4, 6)))
    with pytest.raises(ValueError, match=r"out has shape \[24\] on cpu: this result has shape \[4, 6\]"):
        function(source, out=torch.empty(24, dtype=dtype))


def test_out_may_not_be_the_input():
    x = torch.ones(8)
    with pytest.raises(ValueError, match="shares memory"):
        encode(x, out=x.view(torch.uint8)[:8])
    buffer = torch.zeros(40, dtype=torch.uint8)
    with pytest.raises(ValueError, match="shares memory"):
        decode(buffer[:8], out=buffer[8:].view(torch.float32))
    with pytest.raises(ValueError, match="requires a gradient"):
        decode([0], out=torch.zeros(1, requires_grad=True))


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("length", [4095, 4096, 4097, (1 << 18) + 5])
def test_views_that_begin_at_an_odd_place(offset, length):
    """The look-up of two codes at a time must not care where a view begins or how long it is."""
    codes = torch.randint(0, 127, (length + 1,), dtype=torch.uint8)[offset:][:length]
    out = torch.empty(length + 1)[offset:][:length]
    assert torch.equal(decode(codes, out=out), TABLE[codes.long()])
    assert torch.equal(encode(out), codes)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_blocks_join_without_a_seam(dtype):
    x = torch.randn((1 << 18) + 77).to(dtype) * 20
    pieces = torch.cat([encode(x[start : start + 1000]) for start in range(0, len(x), 1000)])
    assert torch.equal(encode(x), pieces)
    x[-1] = math.nan
    assert encode(x)[-1].item() == 0x7F


@pytest.mark.parametrize("name", ["E4M3FN", "E5M2", "E4M3FNUZ", "E5M2FNUZ"])
def test_with_and_without_torchs_cast(name, monkeypatch):
    """A torch whose cast differs is noticed and not used: same bytes without it."""
    x = torch.randn(1 << 16) * torch.logspace(-9, 9, 1 << 16, base=2)
    dtypes = (torch.float32, torch.bfloat16, torch.float16)
    assert torch_cast_is_exact(FORMATS[name], "cpu")
    with_cast = [encode(x.to(dtype), name) for dtype in dtypes]
    monkeypatch.setattr("fp8lab.codec.torch_cast_is_exact", lambda *what: False)
    for dtype, codes in zip(dtypes, with_cast):
        assert torch.equal(encode(x.to(dtype), name), codes)


def test_a_wrong_cast_is_found_out(monkeypatch):
    monkeypatch.setattr("fp8lab.rounding._TORCH_DTYPES", {FORMATS["E4M3FN"]: "float8_e4m3fnuz"})
    assert not torch_cast_is_exact.__wrapped__(FORMATS["E4M3FN"], "cpu")
    assert not torch_cast_is_exact.__wrapped__(FORMATS["E5M2"], "cpu")


def test_flushing_subnormals_changes_nothing():
    """torch.set_flush_denormal makes the processor drop float32 subnormals; codes of subnormals must survive it."""
    codes = torch.arange(256, dtype=torch.uint8)
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormals: nothing to survive")
    try:
        values = decode(codes)
        again = encode(values)
    finally:
        torch.set_flush_denormal(False)
    assert torch.equal(values.view(torch.int32), TABLE.view(torch.int32))
    assert torch.equal(again, codes)
