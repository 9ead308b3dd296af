"""Lesson 10: its right answers held against loops, the module's kernels, the codec and the benchmark; its arena."""

from __future__ import annotations

import pytest
import torch
from gpu_benchmark import gpu_benchmark
from learner import Desk
from triton_here import needs_triton

from fp8lab.codec import encode
from fp8lab.course.lessons.l10_gpu import answers, driving, driving_points
from fp8lab.course.lessons.l10_gpu.driving_arena import Watched, surrounded
from fp8lab.course.lessons.l10_gpu.driving_launch import device, quiet


@pytest.fixture(scope="module")
def desk():
    return Desk("10_gpu")


@pytest.fixture(scope="module")
def benchmark():
    return gpu_benchmark()


# ---- the references, held against others


def test_absmax_of_every_group_by_a_loop():
    x, out = torch.randn(3, 12), torch.empty(3, 3)
    answers.absmax[(3, 3)](x, out, 12, GROUP=4)
    assert out.tolist() == [[max(abs(v) for v in row[g : g + 4]) for g in (0, 4, 8)] for row in x.tolist()]


@needs_triton
def test_quantize_and_back_as_the_kernels_of_the_module_have_it():
    from fp8lab.kernels import dequantize_group, quantize_group

    x = driving.ragged_inputs(3)["cases"][0]["x"].to(device())
    codes, scales = torch.empty_like(x, dtype=torch.uint8), x.new_empty(2, 3)
    answers.quantized[(2, 3)](x, codes, scales, 58, 58, GROUP=24, BLOCK=32)
    q = quantize_group(x, 24)
    assert torch.equal(codes, q.codes) and torch.equal(scales, q.stored_scales)
    out = torch.empty_like(x)
    answers.dequantized[(2, 1)](codes, scales, out, 58, 3, GROUP=24, BLOCK=64)
    assert torch.equal(out, dequantize_group(q))


@needs_triton
def test_pages_and_attention_as_the_kernels_of_the_module_have_them():
    from fp8lab.kernels import KVCache, paged_attention, write_kv

    here = {"device": device()}
    cache = KVCache.empty(blocks=3, block_size=4, kv_heads=2, head_dim=32, group_size=16, **here)
    x = driving_points.groups_of_all_sizes(5, 10, 32, 16).view(5, 2, 32).to(device())
    slots = torch.tensor([9, -1, 4, 0, 6], **here)
    write_kv(x, x, cache, slots)
    codes, scales = torch.zeros(3, 4, 64, dtype=torch.uint8, **here), torch.ones(3, 4, 4, **here)
    answers.written[(5, 2, 2)](x, codes, scales, slots, 32, 4, 0, 0, 0, 0, GROUP=16, BLOCK=16)
    assert torch.equal(codes, cache.k_codes.flatten(2)) and torch.equal(scales, cache.k_scales.flatten(2))

    inputs = driving.attention_inputs(2)["cases"][0]
    parts = [part.to(device()) for part in inputs["cache"]]
    query, table = inputs["query"].to(device()), inputs["table"].to(device())
    theirs = KVCache(*parts, group_size=16)
    want = paged_attention(query[None], theirs, table[None], torch.tensor([29], **here))[0]
    torch.testing.assert_close(answers.attention(query, *parts, table, 29, 3), want, rtol=1e-4, atol=3e-5)


@needs_triton
def test_the_learners_rounding_is_the_codec_beside_every_middle_and_on_every_bfloat16(desk):
    from fp8lab.course.lessons.l10_gpu.driving_kernel import elementwise_kernel

    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16).float()
    x = torch.cat([every, *(driving_points.hard_numbers(seed, 1024) for seed in range(4))])
    x = torch.cat([x, torch.zeros(2**17 - len(x))])
    codes = torch.empty(len(x), dtype=torch.uint8, device=device())
    with quiet():
        elementwise_kernel[(128,)](x.to(device()), codes, FUNCTION=desk.answer("10.8"), BLOCK=len(x) // 128)
    codes = codes.cpu()
    same = (codes == encode(x)) | (x.isnan() & ((codes & 0x7F) == 0x7F))
    assert same.all(), x[~same]


@pytest.mark.parametrize("shape", [(1024, 32, 128), (4096, 32, 128), (16384, 8, 128)])
def test_bytes_are_those_of_the_benchmark(benchmark, shape):
    moved, floor, fraction = answers.roofline(*shape, benchmark.GROUP, 10.0, 2**30, 500.0)
    assert moved == benchmark.write_bytes(*shape, 4)
    assert fraction == pytest.approx(moved / 10.0 / (2 * 2**30 / 500.0)) and floor == pytest.approx(fraction * 10.0)


# ---- what is written outside is seen


def test_a_view_lies_in_garbage_and_its_surroundings_are_watched():
    x = surrounded(torch.ones(2, 3), pad=4)
    assert x.stride() == (7, 1) and x.tolist() == [[1.0] * 3] * 2
    beside = torch.as_strided(x, (4,), (1,), x.storage_offset() + 3)
    assert (beside > 1e5).all() and len(set(beside.tolist())) == 4
    out = Watched((2, 3), torch.float32, torch.device("cpu"), strides=(5, 1))
    out.view.fill_(2.0)
    assert out.written_outside() == 0 and out.written_outside((0, slice(2))) == 4
    out.view.as_strided((1,), (1,), out.view.storage_offset() + 3).fill_(9.0)
    assert out.written_outside() == 1
