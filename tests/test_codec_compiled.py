"""The compiled codec gives the bytes of the eager one: every format, policy, dtype and length; and fails clearly."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import pytest
import torch
from tools import need_compiler

from fp8lab import codec_compiled, decode, encode
from fp8lab.compiling import run_compiled
from fp8lab.formats import FORMATS, decode_table
from fp8lab.rounding import decode_bits, encode_exact, encode_nearest

ENCODABLE = [name for name in FORMATS if name != "E8M0FNU"]


@pytest.fixture(autouse=True)
def _compiler():
    need_compiler()


@pytest.fixture(scope="module")
def sample() -> torch.Tensor:
    """All bfloat16 numbers as float32, and each with four endings of the mantissa: ties, their neighbours, specials."""
    high = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32) << 16
    return torch.cat([high | low for low in (0, 1, 0x7FFF, 0x8000, 0xFFFF)]).view(torch.float32)


def policies(name: str) -> list[str]:
    fmt = FORMATS[name]
    return ["saturate", *(["nan"] if fmt.has_nan else []), *(["inf"] if fmt.has_inf else [])]


@pytest.mark.parametrize("name", ENCODABLE)
def test_encode_gives_the_same_bytes(name, sample):
    x = sample if FORMATS[name].has_nan else sample[~sample.isnan()]
    for overflow in policies(name):
        want = encode_exact(x, FORMATS[name], overflow, "nearest_even").to(torch.uint8)
        assert torch.equal(encode_nearest(x, FORMATS[name], overflow).to(torch.uint8), want)
        assert torch.equal(codec_compiled.encode(x, name, overflow=overflow), want)


@pytest.mark.parametrize("name", FORMATS)
def test_decode_gives_the_same_bits(name):
    codes = torch.arange(FORMATS[name].codes, dtype=torch.uint8)
    want = decode_table(name).view(torch.int32)
    assert torch.equal(decode_bits(codes, FORMATS[name]).view(torch.int32), want)
    assert torch.equal(codec_compiled.decode(codes, name).view(torch.int32), want)


def test_shapes_dtypes_and_out():
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for shape in ((), (0,), (1,), (3, 5), (7, 1, 1000), ((1 << 18) + 3,)):
            x = torch.randn(shape).mul(30).to(dtype)
            assert torch.equal(codec_compiled.encode(x), encode(x))
            codes = encode(x)
            out = torch.empty(shape)
            assert codec_compiled.decode(codes, out=out) is out and torch.equal(out, decode(codes))
    x = torch.randn(6, 4).T
    out = torch.empty(6, 4, dtype=torch.uint8).T
    assert codec_compiled.encode(x, out=out) is out and torch.equal(out, encode(x))


def test_subnormals_survive_a_processor_that_flushes_them():
    codes = torch.arange(256, dtype=torch.uint8)
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormals: nothing to survive")
    try:
        values = codec_compiled.decode(codes)
        again = codec_compiled.encode(values)
    finally:
        torch.set_flush_denormal(False)
    assert torch.equal(values.view(torch.int32), decode_table().view(torch.int32))
    assert torch.equal(again, codes)


@pytest.mark.parametrize("name", ["E4M3FN", "E5M2FNUZ", "E2M3FN"])
def test_the_way_of_accelerators_gives_the_same_bytes(name, sample):
    """torch.compile of the eager arithmetic, which CUDA tensors go through: it can be asked of CPU tensors too."""
    fmt = FORMATS[name]
    x = sample if fmt.has_nan else sample[~sample.isnan()]
    codes, values = torch.empty(len(x), dtype=torch.uint8), torch.empty(fmt.codes)
    run_compiled(codec_compiled.fused_encoder(fmt, "saturate"), x, codes)
    assert torch.equal(codes, encode(x, fmt))
    run_compiled(codec_compiled.fused_decoder(fmt), torch.arange(fmt.codes, dtype=torch.uint8), values)
    assert torch.equal(values.view(torch.int32), decode_table(fmt).view(torch.int32))


def test_many_sizes_compile_once():
    encoder = codec_compiled.fused_encoder(FORMATS["E4M3FN"], "saturate")
    run_compiled(encoder, torch.randn(64), torch.empty(64, dtype=torch.uint8))
    torch._dynamo.utils.counters.clear()
    for length in range(2, 40):
        run_compiled(encoder, torch.randn(length * 17), torch.empty(length * 17, dtype=torch.uint8))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 1


def test_what_the_compiled_encoder_leaves_to_the_other():
    with pytest.raises(TypeError, match="rounds float64 once"):
        codec_compiled.encode([1.0])
    with pytest.raises(ValueError, match="E8M0FNU has no compiled encoder: use fp8lab.encode"):
        codec_compiled.encode(torch.ones(2), "E8M0FNU")
    with pytest.raises(ValueError, match=r"x\[1\] is NaN"):
        codec_compiled.encode(torch.tensor([1.0, math.nan]), "E2M1FN")


def test_without_a_compiler_it_says_so(tmp_path):
    program = "import torch; from fp8lab import codec_compiled as c; c.encode(torch.ones(4))"
    environment = {**os.environ, "CXX": "/nowhere/g++"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert (
        "RuntimeError: the compiled path needs a working C++ compiler (install g++ or clang, or set CXX)" in done.stderr
    )
    assert "fp8lab.encode" in done.stderr.splitlines()[-1]
