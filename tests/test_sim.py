"""FP8KVCacheSim against a readable double loop, over shapes and against the wrong versions of a learner."""

from __future__ import annotations

import random

import pytest
import torch

from fp8lab.quantize import Group, from_multiplier, quantize
from fp8lab.sim import FP8KVCacheSim


def double_loop(kv: torch.Tensor, size: int, qmax: int = 127, eps: float = 1e-8):
    """Codes, scales and restored values, one group at a time, as lesson 04 writes it."""
    rows = kv.float().reshape(-1, kv.shape[-1])
    groups = -(-kv.shape[-1] // size)
    codes, scales = torch.zeros(rows.shape, dtype=torch.int8), torch.zeros(len(rows), groups)
    restored = torch.zeros(rows.shape)
    for row in range(len(rows)):
        for group in range(groups):
            start, stop = group * size, min((group + 1) * size, kv.shape[-1])
            absmax = torch.tensor(0.0)
            for value in rows[row, start:stop]:
                absmax = torch.maximum(absmax, value.abs())
            scale = qmax / torch.maximum(absmax, torch.tensor(eps))
            scales[row, group] = scale
            for i in range(start, stop):
                codes[row, i] = int(torch.round(rows[row, i] * scale).clamp(-qmax, qmax))
                restored[row, i] = codes[row, i].float() / scale
    return codes.reshape(kv.shape), scales.reshape(*kv.shape[:-1], groups), restored.reshape(kv.shape)


def random_cases(count: int):
    rng = random.Random(30)
    for case in range(count):
        shape = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))] + [rng.randint(1, 70)]
        yield case, tuple(shape), rng.choice([1, 3, 64, 100, rng.randint(2, 33)]), rng.choice([1, 7, 100, 127])


def test_two_hundred_random_shapes_equal_the_double_loop():
    seen = {"ragged": 0, "longer than the row": 0, "zero rows": 0, "half": 0, "view": 0}
    for case, shape, size, qmax in random_cases(200):
        generator = torch.Generator().manual_seed(case)
        kv = torch.randn(shape, generator=generator) * 10.0 ** (case % 7 - 3)
        if case % 4 == 0:
            kv[0] = 0.0
            seen["zero rows"] += 1
        if case % 3:
            kv = kv.to([torch.float16, torch.bfloat16][case % 3 - 1])
            seen["half"] += 1
        if case % 5 == 0:  # the same values behind other strides
            kv = kv.transpose(0, -1).contiguous().transpose(0, -1)
            seen["view"] += not kv.is_contiguous()
        seen["ragged"] += shape[-1] % size > 0 and shape[-1] > size
        seen["longer than the row"] += size > shape[-1]
        before = kv.clone()
        sim = FP8KVCacheSim(fp8_qmax=qmax, kv_group_size=size)
        codes, scales = sim.quantize_kv_cache(kv)
        restored = sim.dequantize_kv_cache()
        expected = double_loop(kv, size, qmax)
        assert torch.equal(codes, expected[0]) and torch.equal(scales, expected[1]), (shape, size)
        assert torch.equal(restored, expected[2]) and torch.equal(kv, before)
        assert codes.dtype == torch.int8 and codes is sim.kv_q and scales is sim.kv_scale and sim.kv_shape == shape
    assert all(count >= 10 for count in seen.values()), seen


def test_hidden_state_has_one_scale():
    hidden = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(31))
    sim = FP8KVCacheSim()
    codes, scale = sim.quantize_fp8(hidden)
    assert scale.shape == () and scale == 127 / hidden.abs().max() and sim.fp8_shape == (3, 5, 8)
    assert torch.equal(codes, torch.round(hidden * scale).to(torch.int8))
    assert torch.equal(sim.dequantize_fp8(), codes.float() / scale)
    for shape in ((), (7,), (0, 4)):
        assert sim.quantize_fp8(torch.ones(shape))[0].shape == shape and sim.dequantize_fp8().shape == shape


def test_fit_and_forward():
    hidden, kv = torch.randn(2, 6), torch.randn(2, 3, 10)
    sim = FP8KVCacheSim(kv_group_size=4)
    assert sim.fit(hidden) is sim and sim.kv_shape is None
    restored, nothing = sim(hidden)
    assert nothing is None and torch.equal(restored, sim.dequantize_fp8())
    restored, restored_kv = sim(hidden, kv)
    assert torch.equal(restored_kv, double_loop(kv, 4)[2])
    assert sim.mse(kv, restored_kv) == ((kv - restored_kv) ** 2).mean() > 0
    with pytest.raises(ValueError, match="shapes differ"):
        sim.mse(kv, restored_kv[..., :9])


def test_contract_of_errors():
    for size in (0, -1):
        with pytest.raises(ValueError, match=f"kv_group_size is at least 1, got {size}"):
            FP8KVCacheSim(kv_group_size=size)
    for qmax in (0, 128, 448):
        with pytest.raises(ValueError, match="fp8_qmax is 1..127"):
            FP8KVCacheSim(fp8_qmax=qmax)
    with pytest.raises(ValueError, match="eps is above 0"):
        FP8KVCacheSim(eps=0.0)
    sim = FP8KVCacheSim()
    for call, first in ((sim.dequantize_fp8, "quantize_fp8"), (sim.dequantize_kv_cache, "quantize_kv_cache")):
        with pytest.raises(RuntimeError, match=rf"call {first}\("):
            call()
    for shape in ((), (64,)):
        with pytest.raises(ValueError, match="at least 2 axes"):
            sim.quantize_kv_cache(torch.ones(shape))
    for bad in (float("nan"), float("inf")):
        for call in (sim.quantize_fp8, sim.quantize_kv_cache):
            with pytest.raises(ValueError, match="clean the data first"):
                call(torch.tensor([[1.0, bad]]))


def test_buffers_are_int8_not_persistent_and_scales_stay_float32():
    sim = FP8KVCacheSim()
    assert sim.state_dict() == {} and {name for name, _ in sim.named_buffers()} == {
        "fp8_q",
        "kv_q",
        "fp8_scale",
        "kv_scale",
    }
    tiny = torch.full((2, 64), 1e-4)  # scale 1.27e6: inf in float16
    sim.fit(tiny, tiny)
    expected = sim.dequantize_kv_cache(), sim.dequantize_fp8()
    for change in (sim.half, sim.bfloat16, sim.double, lambda: sim.to(torch.float16)):
        change()
        assert (
            sim.kv_q.dtype == sim.fp8_q.dtype == torch.int8
            and sim.kv_scale.dtype == sim.fp8_scale.dtype == torch.float32
        )
        assert torch.equal(sim.dequantize_kv_cache(), expected[0]) and torch.equal(sim.dequantize_fp8(), expected[1])
    moved = sim.to("meta")
    assert {buffer.device.type for buffer in moved.buffers()} == {"meta"}


def test_gradients_are_left_behind():
    kv = torch.randn(2, 8, requires_grad=True)
    sim = FP8KVCacheSim(kv_group_size=4)
    assert not sim.quantize_kv_cache(kv)[1].requires_grad and not sim.dequantize_kv_cache().requires_grad


def test_agrees_with_quantize_up_to_the_convention():
    """The reciprocal scale is rounded: codes may differ from the dividing convention, but only at ties, and by one."""
    kv = torch.randn(4, 16, 128, generator=torch.Generator().manual_seed(32))
    codes, multipliers = FP8KVCacheSim().quantize_kv_cache(kv)
    q = quantize(kv, "int8", Group(64))
    assert (from_multiplier(multipliers) / q.scales - 1).abs().max() < 2.0**-22
    assert (codes.int() - q.codes.int()).abs().max() <= 1 and (codes != q.codes).float().mean() < 1e-4


# What a learner writes wrong must not pass the comparison above

WRONG = {
    "truncates": lambda g, qmax: (torch.trunc(g * (s := scale_of(g, qmax))), s),
    "floors": lambda g, qmax: (torch.floor(g * (s := scale_of(g, qmax))), s),
    "qmax 100": lambda g, qmax: (torch.round(g * (s := scale_of(g, 100))), s),
    "qmax 128": lambda g, qmax: (torch.round(g * (s := scale_of(g, 128))).clamp(-128, 127), s),
    "max without abs": lambda g, qmax: (torch.round(g * (s := qmax / g.max().clamp(min=1e-8))).clamp(-127, 127), s),
    "eps added": lambda g, qmax: (torch.round(g * (s := qmax / (g.abs().max() + 1e-2))), s),
    "inverse convention": lambda g, qmax: (torch.round(g * scale_of(g, qmax)), 1 / scale_of(g, qmax)),
}


def scale_of(group, qmax):
    return qmax / group.abs().max().clamp(min=1e-8)


@pytest.mark.parametrize("name", WRONG)
def test_the_comparison_notices(name):
    kv = torch.randn(3, 70, generator=torch.Generator().manual_seed(33))
    codes, scales = FP8KVCacheSim(kv_group_size=64).quantize_kv_cache(kv)
    pairs = [WRONG[name](kv[row, start : start + 64], 127) for row in range(3) for start in (0, 64)]
    wrong_codes = torch.cat([pair[0] for pair in pairs]).reshape(3, 70)
    wrong_scales = torch.stack([pair[1] for pair in pairs]).reshape(3, 2)
    assert not (torch.equal(codes.float(), wrong_codes) and torch.equal(scales, wrong_scales))


@pytest.mark.parametrize("eps", [1e-50, 1e-45, 1e-37, 1e300, float("inf")])
def test_an_eps_that_makes_scales_zero_or_infinite_is_refused(eps):
    with pytest.raises(ValueError, match="float32"):
        FP8KVCacheSim(eps=eps)


@pytest.mark.parametrize("wrong", [{"fp8_qmax": 126.5}, {"kv_group_size": 2.5}])
def test_counts_are_whole_numbers(wrong):
    with pytest.raises(TypeError, match=f"{next(iter(wrong))} is a whole number"):
        FP8KVCacheSim(**wrong)


@pytest.mark.parametrize("method", ["quantize_fp8", "quantize_kv_cache", "fit"])
@pytest.mark.parametrize(
    "given, words",
    [
        ([[1.0, 2.0]], "given a list: pass torch.as_tensor"),
        (torch.ones(2, 2, dtype=torch.int32), "given torch.int32: pass x.float"),
        (torch.ones(2, 2).to(torch.float8_e4m3fn), "given torch.float8_e4m3fn: its bytes are codes already"),
    ],
    ids=["list", "integers", "float8"],
)
def test_what_is_no_tensor_of_real_numbers_is_refused_in_words(method, given, words):
    with pytest.raises(TypeError, match=words):
        getattr(FP8KVCacheSim(), method)(given)


def test_mse_of_lists_is_refused_in_words():
    with pytest.raises(TypeError, match="restored is a torch tensor, given a list"):
        FP8KVCacheSim.mse(torch.ones(2), [1.0, 1.0])
