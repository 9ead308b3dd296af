"""The native path: refused where there is none, and byte for byte the integer path where there is one.

Which instruction is compiled, and that nothing passes through float16, is read in test_kernels_compile.py; the bytes
themselves need a card.
"""

import pytest
import torch
from triton_here import needs_triton

from fp8lab import decode
from fp8lab.formats import E4M3FN, E5M2, E8M0FNU
from fp8lab.kernels import KVCache, available, dequantize_group, paged_attention, quantize_group, write_kv

pytestmark = needs_triton
CUDA = torch.device("cuda")
FORMATS = pytest.mark.parametrize("fmt", [E4M3FN, E5M2], ids=lambda f: f.name)
# A card is not something to install: CI=true skips these, too, unlike tests that lack a tool.
on_a_card = pytest.mark.skipif(
    bool(available.why_not_native(CUDA)) if torch.cuda.is_available() else True,
    reason="needs an NVIDIA GPU from sm_89 on (RTX 40, L4, H100): FP8 instructions, and no interpreter has them",
)


# ---- refused, and why


@pytest.fixture
def some_card(monkeypatch):
    """some_card((8, 6)): `available` believes in a GPU of that capability, on which kernels are compiled."""
    from fp8lab.kernels import bits

    def pretend(capability, interpreted=False, hip=None):
        monkeypatch.setattr(available, "why_not", lambda: "")
        monkeypatch.setattr(bits, "INTERPRETED", interpreted)
        monkeypatch.setattr(torch.version, "hip", hip)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "Some Card")

    return pretend


@pytest.mark.parametrize("capability", [(7, 0), (7, 5), (8, 0), (8, 6), (8, 7)])
def test_below_sm_89_it_is_refused_with_the_name_of_the_card(some_card, capability):
    some_card(capability)
    with pytest.raises(ValueError, match=rf"Some Card is sm_{capability[0]}{capability[1]}; .*sm_89.*native=False"):
        available.refuse_native_elsewhere(True, CUDA)
    available.refuse_native_elsewhere(False, CUDA)


@pytest.mark.parametrize("capability", [(8, 9), (9, 0), (10, 0), (12, 0)])
def test_from_sm_89_on_it_is_granted(some_card, capability):
    some_card(capability)
    available.refuse_native_elsewhere(True, CUDA)


def test_the_interpreter_and_other_makers_have_none(some_card):
    some_card((9, 0), interpreted=True)
    with pytest.raises(ValueError, match="interpreter.*triton#8322"):
        available.refuse_native_elsewhere(True, CUDA)
    some_card((9, 4), hip="6.2")
    with pytest.raises(ValueError, match="AMD"):
        available.refuse_native_elsewhere(True, CUDA)


def test_every_launcher_refuses_it_on_a_cpu():
    x = torch.ones(3, 2, 64)
    cache = KVCache.empty(1, 16, 2, 64, 32)
    table, lengths = torch.zeros(3, 1, dtype=torch.int32), torch.ones(3, dtype=torch.int32)
    for call in (
        lambda: quantize_group(x, 32, native=True),
        lambda: quantize_group(x[:0], 32, native=True),
        lambda: dequantize_group(quantize_group(x, 32), native=True),
        lambda: write_kv(x, x, cache, torch.arange(3), native=True),
        lambda: paged_attention(x, cache, table, lengths, native=True),
    ):
        with pytest.raises(ValueError, match="native=True is not possible here: the tensors are on cpu"):
            call()
    assert (cache.k_codes == 0).all()


# ---- on a card


def hard_values(fmt):
    """Every value, every middle of two, the float32 on either side of each, what saturates, tiny ones; both signs."""
    values = decode(list(range(fmt.max_code + 1)), fmt)
    middle = (values[:-1] + values[1:]) / 2
    near = [torch.nextafter(t, torch.tensor(end)) for t in (values, middle) for end in (0.0, torch.inf)]
    tiny = torch.tensor([0.0, 1e-45, 1e-38, 2.0**-126, 2.0**-20])
    sizes = torch.cat([values, middle, *near, tiny])
    return torch.cat([sizes, -sizes])


def assert_same(native, integer):
    assert torch.equal(native.codes, integer.codes), int((native.codes != integer.codes).sum())
    torch.testing.assert_close(native.stored_scales, integer.stored_scales, rtol=0, atol=0, equal_nan=True)


@pytest.mark.gpu
@on_a_card
@FORMATS
@pytest.mark.parametrize("pinned", [1.0, 3.0, 1 / 3, 1e-30, 1e30])
def test_every_midpoint_and_its_neighbours_byte_for_byte(fmt, pinned):
    probes = hard_values(fmt) * pinned
    x = torch.stack([torch.full_like(probes, fmt.max_finite * pinned), probes], 1).cuda()
    assert_same(quantize_group(x, 2, fmt, native=True), quantize_group(x, 2, fmt))


@pytest.mark.gpu
@on_a_card
@FORMATS
def test_every_bfloat16_and_the_lost_groups_among_them(fmt):
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16).view(-1, 64).cuda()
    mixed = every.flatten()[torch.randperm(2**16, generator=torch.Generator().manual_seed(0)).cuda()].view(-1, 64)
    for x in (every, mixed):
        for storage in (torch.float32, E8M0FNU):
            native, integer = quantize_group(x, 64, fmt, storage, native=True), quantize_group(x, 64, fmt, storage)
            assert_same(native, integer)
            for dtype in (torch.float32, torch.bfloat16, torch.float16):
                back = dequantize_group(native, dtype, native=True)
                torch.testing.assert_close(back, dequantize_group(integer, dtype), rtol=0, atol=0, equal_nan=True)


@pytest.mark.gpu
@on_a_card
@FORMATS
@pytest.mark.parametrize("width, size", [(1, 1), (7, 3), (96, 64), (128, 128)])
def test_ragged_and_tiny_groups(fmt, width, size):
    x = torch.randn(5, width, generator=torch.Generator().manual_seed(1)).cuda()
    assert_same(quantize_group(x, size, fmt, native=True), quantize_group(x, size, fmt))


@pytest.mark.gpu
@on_a_card
@FORMATS
def test_pages_and_attention(fmt):
    random = torch.Generator().manual_seed(2)
    k, v = torch.randn(2, 50, 2, 96, generator=random).bfloat16().cuda()
    caches = [KVCache.empty(5, 16, 2, 96, 64, fmt=fmt, device="cuda") for _ in range(2)]
    slots = torch.randperm(64, generator=random)[:50].cuda()
    table = torch.tensor([[3, 0, 2, 1]]).cuda()
    query = torch.randn(1, 8, 96, generator=random).cuda()
    for cache, native in zip(caches, (False, True)):
        write_kv(k, v, cache, slots, native=native)
    for one, other in zip(caches[0]._tensors(), caches[1]._tensors()):
        assert torch.equal(one, other)
    lengths = torch.tensor([64]).cuda()
    got = [paged_attention(query, caches[0], table, lengths, native=native) for native in (False, True)]
    torch.testing.assert_close(got[1], got[0], rtol=1e-5, atol=1e-6)  # the sums may be taken in another order
