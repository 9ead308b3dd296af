"""QuantizedTensor: whatever is done to it, codes and scales stay together, and the bytes are all counted."""

from __future__ import annotations

import copy
import io
import itertools
import random

import pytest
import torch

from fp8lab.formats import E2M1FN, E3M2FN, E4M3FN, E8M0FNU
from fp8lab.mx import nvfp4
from fp8lab.quantize import Group, PerChannel, PerHead, PerTensor, PerToken, QuantizedTensor, quantize

X = torch.randn(2, 3, 8, 12, generator=torch.Generator().manual_seed(6))
GRANULARITIES = [PerTensor(), PerHead(), PerToken(), PerChannel(), Group(4), Group(5), Group(4, axis=-2), Group(1)]


def parts_equal(a: QuantizedTensor, b: QuantizedTensor) -> bool:
    return (
        (a.shape, a.blocks, a.fmt, a.scale_format) == (b.shape, b.blocks, b.fmt, b.scale_format)
        and torch.equal(a.payload, b.payload)
        and torch.equal(a.stored_scales, b.stored_scales)
        and (a.tensor_scale is None) == (b.tensor_scale is None)
        and (a.tensor_scale is None or torch.equal(a.tensor_scale, b.tensor_scale))
    )


@pytest.mark.parametrize("fmt", [E4M3FN, "int8", "int4", E3M2FN], ids=str)
@pytest.mark.parametrize("granularity", GRANULARITIES, ids=repr)
def test_indexing_gives_the_values_or_refuses(granularity, fmt):
    """200 random indexes: where an answer comes, it is the index of the values; where none comes, a group would be
    cut."""
    q = quantize(X, fmt, granularity)
    values, rng, refused = q.dequantize(), random.Random(7), 0

    def piece(n):
        a, b = sorted(rng.sample(range(-n, n + 1), 2))
        choices = [
            rng.randrange(-n, n),
            slice(None),
            slice(a, b),
            slice(None, None, 2),
            slice(a, None),
            slice(0, n // 2),
        ]
        return rng.choice(choices)

    for _ in range(200):
        index = tuple(piece(n) for n in X.shape[: rng.randrange(1, 5)])
        if rng.random() < 0.3:
            index = (*index[:1], ..., None) if rng.random() < 0.5 else (None, *index)
        elif rng.random() < 0.3:
            index = ([rng.randrange(2) for _ in range(3)], *(item for item in index[1:] if isinstance(item, slice)))
        try:
            found = q[index if len(index) > 1 else index[0]]
        except ValueError as refusal:
            assert "cuts a group in two" in str(refusal) and isinstance(granularity, Group), index
            refused += 1
            continue
        assert torch.equal(found.dequantize(), values[index]), index
        assert found.shape == values[index].shape
    assert (refused > 0) == (isinstance(granularity, Group) and granularity.size > 1)


def test_indexing_one_axis_by_a_list_mask_or_tensor():
    q = quantize(X, E4M3FN, PerHead())
    values = q.dequantize()
    mask = torch.tensor([True, False, True])
    for index in ([2, 0, 0], torch.tensor([1]), [-1], []):
        assert torch.equal(q[:, index].dequantize(), values[:, torch.as_tensor(index, dtype=torch.int64)])
        assert torch.equal(q[:, :, index].dequantize(), values[:, :, torch.as_tensor(index, dtype=torch.int64)])
    assert torch.equal(q[:, mask].dequantize(), values[:, mask])
    assert torch.equal(q[1, torch.tensor(2)].dequantize(), values[1, 2])


@pytest.mark.parametrize(
    "error, words, index",
    [
        (ValueError, r"axis 3 \(12 values\) is quantized in groups of 4", (..., slice(2, 6))),
        (ValueError, "step of 1 or more", slice(None, None, -1)),
        (ValueError, "picking single entries would tear groups apart", (..., [0, 5])),
        (ValueError, "one list or tensor at a time", ([0], [1])),
        (ValueError, "one list or tensor at a time", (0, slice(None), [1])),
        (TypeError, "a mask over several axes", torch.ones(2, 3, dtype=torch.bool)),
        (TypeError, "one row of integers or booleans", (torch.tensor([0.5]),)),
        (TypeError, "not str", "a"),
        (IndexError, "out of range for axis 0", 2),
        (IndexError, "the indices run from 0 to 3", (slice(None), [0, 3])),
        (IndexError, "the mask 2", (slice(None), torch.tensor([True, False]))),
        (IndexError, "too many indices: 5", (0, 0, 0, 0, 0)),
        (IndexError, "one ellipsis", (..., 0, ...)),
    ],
)
def test_indexing_refuses_with_reasons(error, words, index):
    with pytest.raises(error, match=words):
        quantize(X, "int8", Group(4))[index]


@pytest.mark.parametrize("fmt", [E4M3FN, "int4"], ids=str)
@pytest.mark.parametrize("granularity", GRANULARITIES, ids=repr)
def test_permutations(granularity, fmt):
    q = quantize(X, fmt, granularity)
    for order in itertools.permutations(range(4)):
        turned = q.permute(order)
        assert torch.equal(turned.dequantize(), q.dequantize().permute(order))
        assert torch.equal(turned.scales, q.scales.permute(order))
    assert torch.equal(q.transpose(1, -2).dequantize(), q.dequantize().transpose(1, -2))
    assert parts_equal(q.transpose(1, 2).transpose(1, 2), q)


SHAPES = [(6, 8, 12), (2, 24, 12), (2, 3, 96), (576,), (48, 12), (6, 4, 24)]
SHAPES += [(2, 3, 8, 3, 4), (2, 3, 2, 4, 12), (1, 2, 3, 8, 12, 1)]


@pytest.mark.parametrize("granularity", GRANULARITIES, ids=repr)
def test_reshaping_gives_the_values_or_refuses(granularity):
    """Refused exactly where no block structure of the new shape describes the groups, which a search over all tells."""
    q = quantize(X, E4M3FN, granularity)
    owners = owners_of(q)
    for shape in SHAPES:
        try:
            changed = q.reshape(shape)
        except ValueError as refusal:
            assert "tear apart" in str(refusal)
            assert not is_block_structure(owners.reshape(shape)), shape
            continue
        assert torch.equal(changed.dequantize(), q.dequantize().reshape(shape)), shape
        assert changed.scales.numel() == q.scales.numel()
        assert torch.equal(owners_of(changed), owners.reshape(shape))


def test_reshape_takes_minus_one_and_tuples():
    q = quantize(X, "int4", PerToken())
    for changed in (q.reshape(-1, 12), q.reshape((48, -1)), q.reshape(torch.Size((48, 12)))):
        assert torch.equal(changed.dequantize(), q.dequantize().reshape(48, 12)) and changed.scales.shape == (48, 1)
    with pytest.raises(RuntimeError, match="invalid for input of size"):
        q.reshape(5, -1)


def owners_of(q: QuantizedTensor) -> torch.Tensor:
    """Number of its group for each value, by plain index arithmetic."""
    group_of = torch.arange(q.scales.numel()).reshape(q.scales.shape)
    owners = torch.empty(q.shape, dtype=torch.int64)
    for index in itertools.product(*map(range, q.shape)):
        owners[index] = group_of[tuple(i // block for i, block in zip(index, q.blocks))]
    return owners


def is_block_structure(owners: torch.Tensor) -> bool:
    """Whether some choice of a block length per axis describes these groups: found by trying them all."""
    options = [range(1, n + 1) if n <= 12 else [*range(1, 13), 24, 48, 96, n] for n in owners.shape]
    wanted = owners.unique().numel()
    for blocks in itertools.product(*options):
        counts = [-(-n // b) for n, b in zip(owners.shape, blocks)]
        if torch.tensor(counts).prod() != wanted:
            continue
        axes = [torch.arange(n) // b for n, b in zip(owners.shape, blocks)]
        label = torch.zeros(owners.shape, dtype=torch.int64)
        for axis, (part, count) in enumerate(zip(axes, counts)):
            label = label * count + part.reshape([-1 if i == axis else 1 for i in range(owners.ndim)])
        pairs = torch.stack([label.flatten(), owners.flatten()]).unique(dim=1)
        if pairs.shape[1] == wanted:
            return True
    return False


def test_nbytes_counts_everything():
    x = torch.randn(2, 8, 100, 96)
    values = x.numel()
    cases = [
        (quantize(x, E4M3FN, Group(64)), values + 4 * 2 * 8 * 100 * 2),  # a short group has a whole scale
        (quantize(x, "int8", PerToken(), scale_format=torch.bfloat16), values + 2 * 1600),
        (quantize(x, E2M1FN, Group(32), scale_format=E8M0FNU), values // 2 + 1600 * 3),
        (quantize(x, E3M2FN, Group(32), scale_format=E8M0FNU), values * 3 // 4 + 1600 * 3),
        (quantize(x[..., :95], "int4", PerTensor()), 1600 * 48 + 4),  # half a byte of padding in each row
        (nvfp4(x), values // 2 + 1600 * 6 + 4),
        (quantize(torch.ones(5), "int4"), 3 + 4),
    ]
    for q, expected in cases:
        assert q.nbytes == expected, q
        assert q.bits_per_value == 8 * expected / q.numel()
        assert q.nbytes == sum(
            t.untyped_storage().nbytes() for t in (q.payload, q.stored_scales, q.tensor_scale) if t is not None
        )
    width = {64: 1.882, 128: 1.939}  # facts: FP8 with float32 scales is not 2 x
    for size, factor in width.items():
        q = quantize(torch.randn(4, 128), E4M3FN, Group(size))
        assert 2 * q.numel() / q.nbytes == pytest.approx(factor, abs=5e-4)


@pytest.mark.parametrize("fmt", [E4M3FN, E2M1FN, E3M2FN, "int8", "int4"], ids=str)
def test_state_copy_and_move_are_bit_exact(fmt):
    q = quantize(X[..., :11], fmt, Group(4), scale_format=E8M0FNU)
    buffer = io.BytesIO()
    torch.save(q.state(), buffer)
    buffer.seek(0)
    assert parts_equal(QuantizedTensor.from_state(torch.load(buffer, weights_only=True)), q)
    assert parts_equal(copy.deepcopy(q), q) and parts_equal(q.to("cpu"), q)
    two_level = nvfp4(X)
    assert parts_equal(QuantizedTensor.from_state(two_level.state()), two_level)
    assert two_level.to("meta").tensor_scale.device.type == two_level.to("meta").payload.device.type == "meta"
    if torch.cuda.is_available():
        assert parts_equal(q.to("cuda").to("cpu"), q)
        assert torch.equal(quantize(X.cuda()[..., :11], fmt, Group(4), scale_format=E8M0FNU).payload.cpu(), q.payload)


def test_state_with_damage_is_refused():
    state = quantize(X, E4M3FN, Group(4), scale_format=E8M0FNU).state()
    good = quantize(X, E4M3FN, Group(4)).state()
    damages = [
        ("lacks stored_scales", {k: v for k, v in good.items() if k != "stored_scales"}),
        (r"scales of shape \(2, 3, 8, 3\)", {**good, "stored_scales": good["stored_scales"][..., :2]}),
        ("got a payload of shape", {**good, "payload": good["payload"][..., :8]}),
        (r"scales\[0, 0, 0, 0\] is 0.0", {**good, "stored_scales": good["stored_scales"] * 0}),
        ("is nan", {**state, "stored_scales": torch.full_like(state["stored_scales"], 255)}),
        ("is -", {**good, "stored_scales": -good["stored_scales"]}),
        ("stored as E8M0FNU are torch.uint8", {**good, "scale_format": "E8M0FNU"}),
    ]
    for words, damaged in damages:
        with pytest.raises(ValueError, match=words):
            QuantizedTensor.from_state(damaged)


def test_from_parts_checks_what_comes_from_elsewhere():
    codes, scales = torch.zeros(4, 64, dtype=torch.uint8), torch.ones(4, 1)
    assert QuantizedTensor.from_parts(codes, scales, "E4M3FN", PerToken()).dequantize().shape == (4, 64)
    with pytest.raises(ValueError, match=r"has scales of shape \(4, 1\)"):
        QuantizedTensor.from_parts(codes, scales.T, "E4M3FN", PerToken())
    with pytest.raises(ValueError, match="codes.view"):
        QuantizedTensor.from_parts(codes.view(torch.float8_e4m3fn), scales, "E4M3FN", PerToken())
    with pytest.raises(ValueError, match=r"-127..127, got -128"):
        QuantizedTensor.from_parts(torch.full((4, 64), -128, dtype=torch.int8), scales, "int8", PerToken())
    with pytest.raises(ValueError, match=r"scales\[0, 0\] is -1.0"):
        QuantizedTensor.from_parts(codes, -scales, "E4M3FN", PerToken())


def test_dequantize_into_memory_and_dtypes():
    q = quantize(X, E4M3FN, Group(5))
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        out = torch.full(X.shape, 7.0, dtype=dtype)
        assert q.dequantize(out=out) is out and torch.equal(out, q.dequantize().to(dtype))
        assert torch.equal(q.dequantize(dtype), out)
        apart = torch.empty(X.shape[::-1], dtype=dtype).permute(3, 2, 1, 0)
        assert torch.equal(q.dequantize(out=apart), out)
    with pytest.raises(ValueError, match="out has shape"):
        q.dequantize(out=torch.empty(3))
    with pytest.raises(TypeError, match=r"dequantize\(torch.float16\)"):
        q.to(torch.float16)


def test_memory_is_used_again():
    for fmt, granularity in ((E4M3FN, Group(5)), ("int8", PerHead()), (E2M1FN, Group(4))):
        q = quantize(X, fmt, granularity)
        places = q.payload.data_ptr(), q.stored_scales.data_ptr()
        again = quantize(-2 * X, fmt, granularity, out=q)
        assert parts_equal(again, quantize(-2 * X, fmt, granularity))
        assert (again.payload.data_ptr(), again.stored_scales.data_ptr()) == places
    view = quantize(X, E4M3FN, PerTensor()).transpose(0, 1)
    with pytest.raises(ValueError, match="contiguous memory"):
        quantize(X.transpose(0, 1), E4M3FN, PerTensor(), out=view)


def test_words_about_it():
    q = nvfp4(torch.ones(4, 32))
    assert repr(q) == "QuantizedTensor((4, 32), E2M1FN, E4M3FN scales (4, 2), tensor scale, 76 bytes)"
    assert len(q) == 4 and q.ndim == 2 and len(list(q)) == 4 and q.device.type == "cpu"
