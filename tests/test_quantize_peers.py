"""MX and NVFP4 against torchao, grouped int8 and FP8 against torchao's and optimum-quanto's own numbers."""

from __future__ import annotations

import pytest
import torch

from fp8lab.formats import E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2
from fp8lab.mx import mx, nvfp4
from fp8lab.quantize import Group, quantize


@pytest.fixture(scope="module")
def data():
    x = torch.randn(256, 128, generator=torch.Generator().manual_seed(20))
    x *= 2.0 ** torch.randint(-8, 9, (256, 1), generator=torch.Generator().manual_seed(21))
    x[0, :32] = 957.0
    x[1, :32] = 31.999998
    return x


def torchao_module(name, lacking):
    try:
        return __import__(f"torchao.prototype.mx_formats.{name}", fromlist=["x"])
    except ImportError:
        lacking("no torchao here: pip install --no-deps torchao")


@pytest.mark.parametrize("rule, mode", [("absmax", "RCEIL"), ("ocp", "FLOOR")])
@pytest.mark.parametrize("fmt", [E4M3FN, E5M2, E2M1FN], ids=lambda fmt: fmt.name)
def test_mx_gives_torchaos_codes_and_scales(data, fmt, rule, mode, lacking):
    ao = torchao_module("mx_tensor", lacking)
    elem = {E4M3FN: torch.float8_e4m3fn, E5M2: torch.float8_e5m2, E2M1FN: torch.float4_e2m1fn_x2}[fmt]
    scales, codes = ao.to_mx(data, elem, 32, getattr(ao.ScaleCalculationMode, mode))
    q = mx(data, fmt, rule)
    assert torch.equal(q.stored_scales, scales.view(torch.uint8))
    assert torch.equal(q.payload, codes.view(torch.uint8))


def test_nvfp4_gives_torchaos_scales_and_its_codes_up_to_ties(data, lacking):
    """torchao multiplies by a reciprocal: a code may differ where x / s lies within float32 rounding of a midpoint."""
    ao = torchao_module("nvfp4_tensor", lacking)
    small = data[2:] / data[2:].abs().amax(-1, keepdim=True) * data.abs().max()  # above torchao's floor of 2^-6
    unit = ao.per_tensor_amax_to_scale(small.abs().max())
    scales, codes = ao.nvfp4_quantize(small, 16, unit)
    q = nvfp4(small)
    assert torch.equal(q.tensor_scale, unit)
    assert torch.equal(q.stored_scales, scales.view(torch.uint8).reshape(q.stored_scales.shape))
    theirs = torch.stack([codes & 15, codes >> 4], -1).flatten(-2).reshape(small.shape)
    differing = theirs != q.codes
    quotient = (small.double() / q.scales.double().repeat_interleave(16, -1))[differing].abs()
    midpoints = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], dtype=torch.float64)
    assert ((quotient[:, None] / midpoints - 1).abs().amin(-1) < 2.0**-21).all()
    assert differing.float().mean() < 1e-3


def test_small_nvfp4_blocks_survive_where_torchao_loses_them(lacking):
    ao = torchao_module("nvfp4_tensor", lacking)
    x = torch.full((1, 32), 1000.0)
    x[0, 16:] = 0.02  # block scale 2^-6 / 4 of the largest
    scales, _ = ao.nvfp4_quantize(x, 16, ao.per_tensor_amax_to_scale(x.abs().max()))
    assert scales.view(torch.uint8).flatten()[1] == 0x08  # its floor, 2^-6: the block becomes zeros
    assert nvfp4(x).dequantize()[0, 16].item() == pytest.approx(0.02, rel=0.1)


def test_public_mx_figures():
    """32 x 957 under the OCP rule is 896 (microxcaling#4); element range and block scale of MX v1.0, table 1."""
    q = mx(torch.full((32,), 957.0), rule="ocp")
    assert q.dequantize().tolist() == [896.0] * 32
    assert mx(torch.full((32,), 957.0)).dequantize().tolist() == [960.0] * 32
    for fmt, bits in ((E4M3FN, 8.25), (E3M2FN, 6.25), (E2M3FN, 6.25), (E2M1FN, 4.25)):
        assert mx(torch.randn(4, 64), fmt).bits_per_value == bits
    assert nvfp4(torch.randn(64, 1024)).bits_per_value == pytest.approx(4.5, abs=1e-3)
    with pytest.raises(ValueError, match="MX has no element format E4M3FNUZ"):
        mx(torch.ones(32), "E4M3FNUZ")


def test_mx_without_clipping_by_exhaustion_of_mantissas():
    """Every bf16 absmax of one octave: the default rule clips none; the OCP rule clips those above 1.75 of 2."""
    tops = (torch.arange(0x3F80, 0x4000, dtype=torch.int32) << 16).view(torch.float32)  # 1 .. 2
    x = torch.zeros(len(tops), 32)
    x[:, 0] = tops
    ceiling, ocp = mx(x), mx(x, rule="ocp")
    assert (tops / ceiling.scales[:, 0] <= 448).all()
    assert torch.equal(tops / ocp.scales[:, 0] > 448, tops > 1.75)


def test_group_int8_and_fp8_against_torchao(data, lacking):
    try:
        from torchao.quantization import quant_primitives as ao
    except ImportError:
        lacking("no torchao here: pip install --no-deps torchao")
    scale, zero = ao.choose_qparams_affine(
        data, ao.MappingType.SYMMETRIC, (1, 64), torch.int8, -127, 127, scale_dtype=torch.float32
    )
    q = quantize(data, "int8", Group(64))
    ours, theirs = q.scales, scale.reshape(q.scales.shape)
    assert (ours / theirs - 1).abs().max() <= 2.0**-23
    given = quantize(data, "int8", Group(64), theirs)
    codes = ao.quantize_affine(data, (1, 64), scale, zero, torch.int8, -127, 127)
    assert (codes != given.codes).float().mean() < 1e-3  # it multiplies by a reciprocal
    assert (codes.int() - given.codes.int()).abs().max() <= 1
