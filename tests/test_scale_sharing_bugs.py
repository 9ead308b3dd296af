"""Public bugs of scales that reach too far, or do not travel with their codes; each with a version that has the bug.

A cache with memory of its own (frozen first scales, warm-up tokens, prefix keys, tensor parallelism) is not part of
this package yet: what is held here is one quantized tensor.
"""

from __future__ import annotations

import io
import math

import pytest
import torch

from fp8lab import decode, encode
from fp8lab.formats import E4M3FN, E8M0FNU
from fp8lab.quantize import Group, PerHead, PerTensor, PerToken, QuantizedTensor, quantize
from fp8lab.scales import check_scales

# ---- who shares a scale


def straddling(x: torch.Tensor, size: int) -> torch.Tensor:
    """Groups over the flattened tensor: they straddle rows."""
    rows = x.reshape(-1, size)
    scales = rows.abs().amax(1, keepdim=True) / 448
    return (decode(encode(rows / scales)) * scales).reshape(x.shape)


def padded_with_garbage(x: torch.Tensor, size: int) -> torch.Tensor:
    """The row is made a multiple of the group; what is behind its end counts."""
    rows = torch.nn.functional.pad(x, (0, -x.shape[-1] % size), value=1e4).unflatten(-1, (-1, size))
    scales = rows.abs().amax(-1, keepdim=True) / 448
    return (decode(encode(rows / scales)) * scales).flatten(-2)[..., : x.shape[-1]]


@pytest.mark.parametrize("broken", [straddling, padded_with_garbage])
@pytest.mark.parametrize(("width", "size"), [(96, 64), (80, 32)])
def test_a_group_never_leaves_its_row(width, size, broken):
    """mase#321, lmdeploy#4849, mlx-vlm#2061: two heads, the second 1e-6 of the first."""
    x = torch.full((2, width), 448.0)
    x[1] = 448e-6
    q = quantize(x, E4M3FN, Group(size))
    assert torch.equal(q.dequantize(), x) and q.scales.shape == (2, -(-width // size)) and (q.codes == 0x7E).all()
    assert not torch.allclose(broken(x, size), x, rtol=0.1, atol=0)


def test_the_axis_of_the_heads_in_both_layouts():
    """sgl-kernel-xpu#252: with the scale along the tokens of [B, T, H, D] the small heads are gone."""
    sizes = torch.tensor([1, 1e-3, 30, 1e-5])
    by_head = torch.ones(2, 4, 16, 8) * sizes[:, None, None]
    by_token = by_head.transpose(1, 2).contiguous()
    for x, axis in ((by_head, -3), (by_token, -2)):
        q = quantize(x, E4M3FN, PerHead(axis))
        assert (q.codes == 0x7E).all() and torch.allclose(q.dequantize(), x, rtol=1e-6, atol=0)
    wrong = quantize(by_token, E4M3FN, PerHead(-3)).dequantize()
    assert not wrong[:, :, 3].any()


# ---- scales that travel


def test_a_batch_is_reordered_with_its_scales():
    """transformers#45510, #48700: batch_repeat_interleave and beam search moved the codes, or the scales, not both."""
    x = torch.tensor([[1.0, 0.5], [100.0, 25.0]])
    q, order = quantize(x, E4M3FN, PerHead(0)), [1, 0, 0]
    assert torch.equal(q[order].dequantize(), q.dequantize()[order])
    assert q[order].codes.tolist() == [[0x7E, 0x6E], [0x7E, 0x76], [0x7E, 0x76]]
    codes_only, scales_only = decode(q.codes[[1, 0]]) * q.scales, decode(q.codes) * q.scales[[1, 0]]
    for wrong in (codes_only, scales_only):
        assert not torch.allclose(wrong, x[[1, 0]], rtol=0.1)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_scale_that_is_none_is_refused_on_load(bad):
    """vllm#25047, #35656, #32199, sglang#39942: a missing scale loads as -1 and becomes 1.0 without a word."""
    codes, scales = torch.tensor([[0x7E, 0x38]], dtype=torch.uint8), torch.tensor([[bad]])
    with pytest.raises(ValueError, match="must be positive and finite"):
        QuantizedTensor.from_parts(codes, scales, E4M3FN, PerToken())
    state = {**quantize(torch.ones(1, 2), E4M3FN, PerToken()).state(), "stored_scales": scales}
    with pytest.raises(ValueError, match="must be positive and finite"):
        QuantizedTensor.from_state(state)
    defaulting = torch.where((scales > 0) & scales.isfinite(), scales, 1.0)  # the loader of the bug says nothing
    check_scales(defaulting)


def test_a_state_without_scales_is_refused():
    """sglang#39942: a checkpoint whose scales have another name."""
    state = quantize(torch.randn(2, 8), E4M3FN, PerToken()).state()
    state["attn.k_scale"] = state.pop("stored_scales")
    with pytest.raises(ValueError, match="this state lacks stored_scales"):
        QuantizedTensor.from_state(state)


@pytest.mark.parametrize("storage", [torch.float32, torch.bfloat16, E8M0FNU, E4M3FN], ids=str)
def test_codes_and_scales_survive_storage_to_the_bit(storage):
    """vllm#28783, #57163, sglang#39089, #36121: after sleep and wake, or a transfer, scales were back at 1."""
    x = torch.randn(3, 70, generator=torch.Generator().manual_seed(5)) * 30
    q = quantize(x, E4M3FN, Group(64), scale_format=storage)
    file = io.BytesIO()
    torch.save(q.state(), file)
    file.seek(0)
    again = QuantizedTensor.from_state(torch.load(file, weights_only=True)).to("cpu")
    assert torch.equal(again.payload, q.payload) and torch.equal(again.stored_scales, q.stored_scales)
    assert torch.equal(again.dequantize(), q.dequantize())
    reset = QuantizedTensor.from_parts(q.codes, torch.ones(3, 2), E4M3FN, Group(64))
    assert not torch.equal(reset.dequantize(), q.dequantize())


def test_a_tensor_without_memory_takes_no_scale_from_the_tensor_before():
    """transformers' Fp8QuantizedLayer froze the first scale: tokens ten times larger lost 71 %; zeros first, all."""
    first, later = torch.zeros(4, 8), torch.full((4, 8), 10.0)
    quantize(first)
    assert torch.allclose(quantize(later).dequantize(), later)
    frozen = quantize(torch.full((4, 8), 1.0), granularity=PerTensor()).scales
    assert quantize(later, scale=frozen).dequantize().max() == 1.0
