"""Grouped quantize, dequantize and write_kv: bit for bit what `fp8lab.quantize` gives on a CPU.

The kernels run under the interpreter, or compiled, on a machine with a GPU.
"""

import pytest
import torch
from triton_here import needs_triton

from fp8lab import decode, kernels
from fp8lab.formats import E4M3FN, E5M2, E8M0FNU
from fp8lab.granularity import Group
from fp8lab.kernels import KVCache, dequantize_group, kernels_run_on, write_kv
from fp8lab.quantize import quantize

pytestmark = needs_triton
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
STORAGES = [torch.float32, E8M0FNU]


def test_the_kernels_are_what_runs_here():
    """Else every comparison below would hold torch against itself."""
    assert kernels_run_on(torch.zeros(1, device=DEVICE))


def quantize_group(x, *arguments, **options):
    """By the kernel."""
    x = x.to(DEVICE) if isinstance(x, torch.Tensor) else x
    return kernels.quantize_group(x, *arguments, **options)


def reference(x, size, fmt, storage):
    return quantize(x.cpu(), fmt, Group(size), scale_format=storage, nonfinite="propagate")


def assert_same_bytes(got, want):
    got = got.to("cpu")
    assert got.fmt == want.fmt and got.blocks == want.blocks and got.shape == want.shape
    assert torch.equal(got.codes, want.codes), int((got.codes != want.codes).sum())
    assert got.stored_scales.dtype == want.stored_scales.dtype
    torch.testing.assert_close(got.stored_scales, want.stored_scales, rtol=0, atol=0, equal_nan=True)


def spread_out(rows, width, dtype, seed=0):
    """Rows of very different magnitude, one of zeros, one constant, one with an outlier."""
    random = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, width, generator=random) * torch.exp2(torch.randint(-12, 12, (rows, 1), generator=random))
    x[0], x[1 % rows], x[2 % rows, 0] = 0, 3.0, 60000
    return x.to(dtype)


@pytest.mark.parametrize("storage", STORAGES, ids=["fp32", "e8m0"])
@pytest.mark.parametrize("fmt", [E4M3FN, E5M2], ids=lambda f: f.name)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "width, size", [(128, 64), (128, 16), (128, 128), (96, 64), (80, 32), (7, 3), (5, 64), (1, 1), (200, 96)]
)
def test_codes_and_scales(dtype, fmt, storage, width, size):
    x = spread_out(50, width, dtype)
    got = quantize_group(x, size, fmt, storage)
    assert_same_bytes(got, reference(x, size, fmt, storage))
    for out in DTYPES:
        assert torch.equal(dequantize_group(got, out).cpu(), got.to("cpu").dequantize(out))


@pytest.mark.parametrize("fmt", [E4M3FN, E5M2], ids=lambda f: f.name)
def test_every_midpoint_and_its_neighbours(fmt):
    """Group of 2: one value pins the scale to 1, the other is a tie, or a float32 step beside one."""
    values = decode(list(range(fmt.max_code + 1)), fmt)
    middle = (values[:-1] + values[1:]) / 2
    below, above = torch.nextafter(middle, torch.tensor(0.0)), torch.nextafter(middle, torch.tensor(torch.inf))
    probes = torch.cat([values, middle, below, above])
    x = torch.stack([torch.full_like(probes, fmt.max_finite), probes], 1)
    assert_same_bytes(quantize_group(x, 2, fmt), reference(x, 2, fmt, torch.float32))
    assert_same_bytes(quantize_group(-x, 2, fmt), reference(-x, 2, fmt, torch.float32))


@pytest.mark.parametrize("scale", [3.0, 1 / 3, 1e-30, 1e30, 2.0**-126])
def test_the_division_is_rounded_to_nearest(scale):
    """Values that are a tie only when x / s is exact: multiplying by 1 / s changes 14 % of their codes."""
    middle = (decode(list(range(0x7E))) + decode(list(range(1, 0x7F)))) / 2
    x = torch.stack([torch.full_like(middle, 448.0), middle], 1) * scale
    assert_same_bytes(quantize_group(x, 2), reference(x, 2, E4M3FN, torch.float32))


@pytest.mark.parametrize("storage", STORAGES, ids=["fp32", "e8m0"])
@pytest.mark.parametrize("size", [1e-45, 1e-38, 1e-30, 1e-7, 1.0, 1e30, 3.4e38])
def test_the_ends_of_float32(size, storage):
    x = torch.tensor([[1.0, -0.3, 0.01, 0.0]]) * size
    assert_same_bytes(quantize_group(x, 4, E4M3FN, storage), reference(x, 4, E4M3FN, storage))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("storage", STORAGES, ids=["fp32", "e8m0"])
def test_a_bad_group_is_nan_and_no_other(bad, storage):
    x = torch.ones(2, 8)
    x[0, 5] = bad
    q = quantize_group(x, 4, E4M3FN, storage)
    values = q.to("cpu").dequantize()
    assert_same_bytes(q, reference(x, 4, E4M3FN, storage))
    assert values[0, 4:].isnan().all()
    assert values[0, :4].isfinite().all() and values[1].isfinite().all()
    torch.testing.assert_close(values, reference(x, 4, E4M3FN, storage).dequantize(), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("make", [
    lambda x: x[::2],
    lambda x: x.transpose(0, 1),
    lambda x: x[..., ::2],
    lambda x: x[:, None].expand(-1, 3, -1, -1),
    lambda x: x.clone().requires_grad_(),
])  # fmt: skip
def test_any_strides(make):
    x = make(torch.randn(6, 4, 64, generator=torch.Generator().manual_seed(3)).to(DEVICE))
    assert_same_bytes(quantize_group(x, 16), reference(x, 16, E4M3FN, torch.float32))


@pytest.mark.parametrize("shape", [(0, 64), (3, 0), (2, 0, 8)])
def test_empty(shape):
    q = quantize_group(torch.zeros(shape), 16)
    assert q.shape == shape and dequantize_group(q).shape == shape


@pytest.mark.parametrize("call, error, word", [
    (lambda: quantize_group(torch.zeros(4, dtype=torch.float64), 2), TypeError, "float64"),
    (lambda: quantize_group(torch.tensor(1.0), 2), ValueError, "0-d"),
    (lambda: quantize_group(torch.zeros(4), 0), ValueError, "group_size"),
    (lambda: quantize_group(torch.zeros(4), 2, "E4M3FNUZ"), ValueError, "E4M3FNUZ"),
    (lambda: quantize_group(torch.zeros(4), 2, scale_format=torch.float16), ValueError, "float16"),
    (lambda: dequantize_group(quantize_group(torch.zeros(4), 2), torch.float64), TypeError, "float64"),
    (lambda: dequantize_group(quantize(torch.zeros(4, 4), E4M3FN, Group(2, axis=0))), ValueError, "last axis"),
    (lambda: dequantize_group(quantize(torch.zeros(4), "int8", Group(2))), ValueError, "INT8"),
    (lambda: dequantize_group(quantize(torch.zeros(4), "E4M3FNUZ", Group(2))), ValueError, "E4M3FNUZ"),
    (lambda: quantize_group(torch.zeros(4), True), ValueError, "group_size"),
    (lambda: KVCache.empty(4, 16, 2, 64, 32, fmt="E4M3"), ValueError, "E4M3FN or E5M2; given E4M3"),
    (lambda: KVCache.empty(4, 16, 2, 64, 32.0), ValueError, "group_size"),
    (lambda: KVCache.empty(4, 0, 2, 64, 32), ValueError, "block_size"),
])  # fmt: skip
def test_what_does_not_fit_is_named(call, error, word):
    with pytest.raises(error, match=word):
        call()


def new_tokens(tokens=5, heads=2, width=96, dtype=torch.float32, seed=4):
    random = torch.Generator().manual_seed(seed)
    return torch.randn(2, tokens, heads, width, generator=random).to(DEVICE, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("storage", STORAGES, ids=["fp32", "e8m0"])
@pytest.mark.parametrize("width, size", [(128, 64), (96, 64), (80, 32)])
def test_write_then_read_back(width, size, storage, dtype):
    k, v = new_tokens(width=width, dtype=dtype)
    cache = KVCache.empty(4, 16, 2, width, size, scale_format=storage, device=DEVICE)
    slots = torch.tensor([63, 0, 17, 16, 40], device=DEVICE)
    write_kv(k, v, cache, slots)
    for x, name in ((k, "k"), (v, "v")):
        codes, scales = cache.part(name)
        want = reference(x, size, E4M3FN, storage)
        assert torch.equal(codes.flatten(0, 1)[slots].cpu(), want.codes)
        assert torch.equal(scales.flatten(0, 1)[slots].cpu(), want.stored_scales)


def test_negative_slots_and_all_other_places_stay_as_they_were():
    k, v = new_tokens()
    cache = KVCache.empty(4, 16, 2, 96, 64, device=DEVICE)
    cache.k_codes.fill_(0xAB), cache.k_scales.fill_(7.0)
    write_kv(k, v, cache, torch.tensor([3, -1, 20, -7, 33], device=DEVICE))
    untouched = torch.ones(64, dtype=torch.bool)
    untouched[[3, 20, 33]] = False
    assert (cache.k_codes.flatten(0, 1)[untouched] == 0xAB).all()
    assert (cache.k_scales.flatten(0, 1)[untouched] == 7.0).all()
    assert (cache.k_scales.flatten(0, 1)[~untouched] != 7.0).all()


def test_keys_with_a_gradient_are_written_and_leave_it_behind():
    k, v = new_tokens()
    cache = KVCache.empty(4, 16, 2, 96, 64, device=DEVICE)
    write_kv(k.clone().requires_grad_(), v, cache, torch.arange(5, device=DEVICE))
    assert torch.equal(cache.k_codes[0, :5].cpu(), reference(k, 64, E4M3FN, torch.float32).codes)
    assert not cache.k_scales.requires_grad


def test_write_into_a_cache_with_gaps_between_its_pages():
    large = KVCache.empty(8, 16, 2, 96, 64, device=DEVICE)
    view = KVCache(large.k_codes[1::2], large.k_scales[1::2], large.v_codes[1::2], large.v_scales[1::2], 64)
    k, v = new_tokens()
    write_kv(k, v, view, torch.tensor([0, 16, 32, 48, 63], device=DEVICE))
    assert (large.k_codes[::2] == 0).all() and (large.k_codes[1::2, 0] != 0).any()
    assert torch.equal(view.k_codes[3, 15].cpu(), reference(k, 64, E4M3FN, torch.float32).codes[4])


def test_heads_keep_their_own_magnitude_in_either_layout():
    """Wrong head axis (sgl-kernel-xpu#252): heads of 1, 1e-3, 30 and 1e-5 must each come back."""
    size = torch.tensor([1.0, 1e-3, 30.0, 1e-5]).view(1, 4, 1)
    k = torch.randn(6, 4, 64, generator=torch.Generator().manual_seed(5)).mul(size).to(DEVICE)
    strided = k.transpose(0, 1).contiguous().transpose(0, 1)  # [heads, tokens, dim] seen as [tokens, heads, dim]
    cache = KVCache.empty(1, 16, 4, 64, 32, device=DEVICE)
    write_kv(strided, k, cache, torch.arange(6, device=DEVICE))
    assert torch.equal(cache.k_codes, cache.v_codes) and torch.equal(cache.k_scales, cache.v_scales)
    back = decode(cache.k_codes[0, :6]) * cache.k_scales[0, :6].repeat_interleave(32, -1)
    assert ((back - k).abs().amax((0, 2)) <= k.abs().amax((0, 2)) / 28).all()


@pytest.mark.parametrize("change, word", [
    (dict(k=torch.zeros(5, 3, 96)), "kv_heads"),
    (dict(v=torch.zeros(4, 2, 96)), "one slot per token"),
    (dict(k=torch.zeros(5, 2, 96, dtype=torch.float64)), "float64"),
    (dict(slot_mapping=torch.zeros(5)), "int32"),
    (dict(slot_mapping=torch.tensor([0, 1, 2, 3, 64])), "slot 64"),
    (dict(native=True), "native=True"),
])  # fmt: skip
def test_a_write_that_does_not_fit_is_refused(change, word):
    k, v = new_tokens().cpu()  # where slots are read
    cache = KVCache.empty(4, 16, 2, 96, 64)
    given = dict(k=k, v=v, cache=cache, slot_mapping=torch.arange(5))
    with pytest.raises((ValueError, TypeError), match=word):
        write_kv(**{**given, **change})
    assert (cache.k_codes == 0).all()


def test_a_list_is_refused_in_words():
    with pytest.raises(TypeError, match="given a list: pass torch.as_tensor"):
        quantize_group([[1.0, 2.0]], 2)
