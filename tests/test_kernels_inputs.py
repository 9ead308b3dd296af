"""Every number of the 16-bit dtypes, and groups wider than a kernel takes: bit for bit `fp8lab.quantize`."""

import pytest
import torch
from triton_here import needs_triton

from fp8lab.formats import E4M3FN, E5M2, E8M0FNU
from fp8lab.granularity import Group
from fp8lab.kernels import KVCache, dequantize_group, launch, paged_attention, quantize_group, write_kv
from fp8lab.quantize import quantize

# NumPy, of which the interpreter is made, remarks on overflow and NaN; here they are meant
pytestmark = [needs_triton, pytest.mark.filterwarnings("ignore::RuntimeWarning")]
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
WIDE = (launch.WIDEST_COMPILED if torch.cuda.is_available() else launch.WIDEST_INTERPRETED) + 1


def every_number(dtype):
    """All 65,536 bit patterns."""
    return torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype)


def reference(x, size, fmt, storage):
    return quantize(x.cpu(), fmt, Group(size), scale_format=storage, nonfinite="propagate")


def assert_same(codes, scales, want):
    assert torch.equal(codes.cpu(), want.codes), int((codes.cpu() != want.codes).sum())
    torch.testing.assert_close(scales.cpu(), want.stored_scales, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("storage", [torch.float32, E8M0FNU], ids=["fp32", "e8m0"])
@pytest.mark.parametrize("fmt", [E4M3FN, E5M2], ids=lambda f: f.name)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_every_number_alone_in_its_group(dtype, fmt, storage):
    x = every_number(dtype)[:, None].to(DEVICE)
    q, want = quantize_group(x, 1, fmt, storage), reference(x, 1, fmt, storage)
    assert_same(q.codes, q.stored_scales, want)
    for out in (torch.float32, dtype):
        back = dequantize_group(q, out).cpu()
        torch.testing.assert_close(back, want.dequantize(out), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_every_number_written_into_pages(dtype, size):
    x = every_number(dtype).view(1024, 16, 4).to(DEVICE)
    cache = KVCache.empty(64, 16, 16, 4, size, device=DEVICE)
    write_kv(x, x, cache, torch.arange(1024, device=DEVICE))
    for name in "kv":
        codes, scales = cache.part(name)
        assert_same(codes.flatten(0, 1), scales.flatten(0, 1), reference(x, size, E4M3FN, torch.float32))


def test_subnormal_bfloat16_of_a_query_are_read_as_what_they_are():
    """One score of 2^-127 x 2^126 = 1/2 against 0."""
    cache = KVCache.empty(1, 16, 1, 16, 16, device=DEVICE)
    cache.k_codes[0, 0] = cache.v_codes[0, 0] = 0x38
    cache.k_scales[0, 0] = 2.0**122  # x 16 of head_dim
    query = torch.full((1, 1, 16), 2.0**-127, dtype=torch.bfloat16, device=DEVICE)
    table, lengths = torch.zeros(1, 1, dtype=torch.int32, device=DEVICE), torch.tensor([2], device=DEVICE)
    got = paged_attention(query, cache, table, lengths, softmax_scale=1.0).float()
    want = torch.tensor(0.5).sigmoid()
    assert ((got.cpu() - want).abs() <= 2.0**-8).all() and abs(want - 0.5) > 2.0**-4


@pytest.mark.parametrize("storage", [torch.float32, E8M0FNU], ids=["fp32", "e8m0"])
def test_a_group_wider_than_a_kernels_tile_is_left_to_torch(storage):
    x = torch.randn(1, WIDE, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    want = reference(x, WIDE, E4M3FN, storage)
    q = quantize_group(x, WIDE, scale_format=storage)
    assert_same(q.codes, q.stored_scales, want)
    assert torch.equal(dequantize_group(q).cpu(), want.dequantize())
    cache = KVCache.empty(1, 1, 1, WIDE, WIDE, v_head_dim=8, scale_format=storage, device=DEVICE)
    v = torch.ones(1, 1, 8, device=DEVICE)
    write_kv(x[:, None], v, cache, torch.zeros(1, dtype=torch.int64, device=DEVICE))
    assert_same(cache.k_codes[0, 0], cache.k_scales[0, 0], want)
    assert (cache.v_codes == reference(v, 8, E4M3FN, storage).codes.to(DEVICE)).all()


def test_a_group_as_wide_as_a_kernels_tile_is_not():
    """Else the test above would hold torch against itself for a limit that is too low."""
    x = torch.randn(1, WIDE - 1, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    assert launch._runs_in_one_tile(x, WIDE - 1, native=False) and not launch._runs_in_one_tile(x, WIDE, native=False)
    q = quantize_group(x, WIDE - 1)
    assert_same(q.codes, q.stored_scales, reference(x, WIDE - 1, E4M3FN, torch.float32))


def test_compiled_the_limit_is_what_registers_hold(monkeypatch):
    monkeypatch.setattr("fp8lab.kernels.bits.INTERPRETED", False)
    monkeypatch.setattr(launch, "kernels_run_on", lambda tensor: True)
    x = torch.zeros(1, device=DEVICE)
    assert launch._runs_in_one_tile(x, 2**14, native=False) and not launch._runs_in_one_tile(x, 2**14 + 1, native=False)


def test_the_native_path_has_no_torch_to_leave_it_to():
    x = torch.zeros(1, WIDE, device=DEVICE)
    with pytest.raises(ValueError, match=f"native=True is not possible here: a group of {WIDE} values is wider"):
        launch._runs_in_one_tile(x, WIDE, native=True)
