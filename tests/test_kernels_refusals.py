"""What the launchers refuse, and in which words: the argument, what was given, what is accepted. The same on both
paths, by the kernel and in torch."""

import re

import numpy as np
import pytest
import torch
from kernel_paths import path  # noqa: F401
from paged_attention_bound import LENGTHS, TABLE, filled_cache, some_queries

from fp8lab.formats import E4M3FN, E8M0FNU
from fp8lab.granularity import Group
from fp8lab.kernels import KVCache, dequantize_group, paged_attention, quantize_group, write_kv
from fp8lab.quantize import quantize
from fp8lab.quantized import QuantizedTensor


def quantizing(**change):
    return lambda: quantize_group(**{**dict(x=torch.ones(2, 8), group_size=4), **change})


def writing(**change):
    k, v = torch.ones(2, 5, 2, 96)
    cache = KVCache.empty(4, 16, 2, 96, 64)
    return lambda: write_kv(**{**dict(k=k, v=v, cache=cache, slot_mapping=torch.arange(5)), **change})


def attending(**change):
    given = dict(query=some_queries(torch.float32), cache=filled_cache(), block_table=TABLE, lengths=LENGTHS)
    return lambda: paged_attention(**{**given, **change})


def caching(**change):
    cache = filled_cache()
    given = dict(k_codes=cache.k_codes, k_scales=cache.k_scales, v_codes=cache.v_codes, v_scales=cache.v_scales)
    return lambda: KVCache(**{**given, "group_size": 32, **change})


def making(**change):
    return lambda: KVCache.empty(**{**dict(blocks=4, block_size=16, kv_heads=2, head_dim=64, group_size=32), **change})


def parts(**change):
    q = quantize(torch.ones(2, 8), E4M3FN, Group(4))
    given = dict(payload=q.payload, stored_scales=q.stored_scales, fmt=q.fmt, scale_format=q.scale_format)
    return lambda: dequantize_group(QuantizedTensor(**{**given, "blocks": q.blocks, "shape": q.shape, **change}))


REFUSED = {
    "x array": (quantizing(x=np.ones((2, 8))), TypeError, "x must be .* given a ndarray: pass torch.as_tensor(x)"),
    "x none": (quantizing(x=None), TypeError, "x must be a torch tensor; given a NoneType"),
    "x sparse": (quantizing(x=torch.eye(4).to_sparse()), TypeError, "x must be a dense tensor; given torch.sparse"),
    "x integer": (quantizing(x=torch.ones(2, 8, dtype=torch.int64)), TypeError, "x must be float32.*given torch.int64"),
    "x complex": (quantizing(x=torch.ones(2, 8).cfloat()), TypeError, "x must be float32.*given torch.complex64"),
    "format": (quantizing(fmt=3), TypeError, "3 is a int: give a FloatFormat or a name"),
    "format unknown": (quantizing(fmt="E4M4"), ValueError, "E4M4"),
    "scales bf16": (quantizing(scale_format="bfloat16"), ValueError, "float32 or E8M0FNU; given 'bfloat16'"),
    "scales none": (quantizing(scale_format=None), ValueError, "float32 or E8M0FNU; given None"),
    "scales format": (quantizing(scale_format=E4M3FN), ValueError, "float32 or E8M0FNU; given FloatFormat"),
    "group 2.0": (quantizing(group_size=2.0), ValueError, "group_size must be a whole number .*; given 2.0"),
    "q tensor": (lambda: dequantize_group(torch.ones(2, 8)), TypeError, "q must be a QuantizedTensor.*given a Tensor"),
    "q scales": (
        parts(stored_scales=torch.ones(2, 1)),
        ValueError,
        "q.stored_scales must be torch.float32 [2, 2]; giv",
    ),
    "q scales dtype": (parts(scale_format=E8M0FNU), ValueError, "q.stored_scales must be torch.uint8 [2, 2]"),
    "q payload": (parts(payload=torch.zeros(2, 4).byte()), ValueError, "q.payload must be torch.uint8 [2, 8]; given"),
    "k array": (writing(k=np.ones((5, 2, 96))), TypeError, "k must be .* given a ndarray: pass torch.as_tensor(k)"),
    "v list": (writing(v=[1.0]), TypeError, "v must be .* given a list: pass torch.as_tensor(v)"),
    "slots list": (
        writing(slot_mapping=[0, 1]),
        TypeError,
        "slot_mapping must.*pass torch.as_tensor(slot_mapping)",
    ),
    "slots bool": (writing(slot_mapping=torch.ones(5) > 0), ValueError, "slot_mapping must be int32 or int64"),
    "slots 2": (writing(slot_mapping=torch.arange(2)), ValueError, "slot_mapping .* per token (5); given .* [2]"),
    "cache none": (writing(cache=None), TypeError, "cache must be a KVCache; given a NoneType"),
    "cache tuple": (attending(cache=(1, 2)), TypeError, "cache must be a KVCache; given a tuple"),
    "query array": (attending(query=np.ones(3)), TypeError, "query must be .* given a ndarray: pass torch.as_tensor("),
    "query axes": (
        attending(query=torch.ones(3, 8)),
        ValueError,
        "query must have axes [batch, query_heads, ",
    ),
    "table list": (
        attending(block_table=TABLE.tolist()),
        TypeError,
        "block_table must be a torch.* given a list",
    ),
    "table rows": (attending(block_table=TABLE[:2]), ValueError, "block_table must .* per query (3); given .*[2, 6]"),
    "lengths list": (attending(lengths=[1, 2, 3]), TypeError, "lengths must be a torch tensor; given a list"),
    "lengths float": (attending(lengths=LENGTHS.float()), ValueError, "lengths must be int32 or int64 with 1 axis"),
    "scale 10**400": (attending(softmax_scale=10**400), ValueError, "softmax_scale must be .*a number beyond float64"),
    "scale 10**5000": (attending(softmax_scale=10**5000), ValueError, "softmax_scale must be a finite number"),
    "scale 1e39": (attending(softmax_scale=1e39), ValueError, "softmax_scale must be .*to 3.4.*; given 1e+39"),
    "codes list": (caching(k_codes=[1]), TypeError, "k_codes must be a torch tensor; given a list"),
    "scales array": (caching(v_scales=np.ones(3)), TypeError, "v_scales must be .* given a ndarray"),
    "cache format": (caching(fmt="E4M3FNUZ"), ValueError, "codes in E4M3FN or E5M2; given E4M3FNUZ"),
    "cache format int": (caching(fmt=8), TypeError, "8 is a int"),
    "v_head_dim 0": (making(v_head_dim=0), ValueError, "v_head_dim must be a whole number of at least 1; given 0"),
    "head_dim -1": (making(head_dim=-1), ValueError, "head_dim must be a whole number of at least 1; given -1"),
    "blocks -1": (making(blocks=-1), ValueError, "blocks must be a whole number of at least 0; given -1"),
    "blocks 2.0": (making(blocks=2.0), ValueError, "blocks must be a whole number of at least 0; given 2.0"),
    "heads true": (making(kv_heads=True), ValueError, "kv_heads must be a whole number of at least 1; given True"),
    "block_size": (making(block_size="16"), ValueError, "block_size must be a whole number .* given '16'"),
    "cache scales": (making(scale_format=torch.bfloat16), ValueError, "float32 or E8M0FNU; given torch.bfloat16"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_by_name(name):
    call, error, words = REFUSED[name]
    with pytest.raises(error, match=re.sub(r"([()\[\]+])", r"\\\1", words)):
        call()


def test_the_strides_that_are_told_are_those_at_fault():
    cache = filled_cache(head_dim=64)
    scales = torch.ones(*cache.v_scales.shape[:3], 4)[..., ::2]
    with pytest.raises(ValueError, match=r"last axis of v_scales must be contiguous; given strides \(128, 8, 4, 2\)"):
        KVCache(cache.k_codes, cache.k_scales, cache.v_codes, scales, 32)


def test_a_device_is_told_for_every_argument():
    k, v = torch.ones(2, 5, 2, 96)
    with pytest.raises(ValueError, match="given k on cpu, v on cpu, slot_mapping on cpu, cache on meta"):
        write_kv(k, v, KVCache.empty(4, 16, 2, 96, 64, device="meta"), torch.arange(5))
    with pytest.raises(ValueError, match="given query on meta, cache on cpu, block_table on cpu, lengths on cpu"):
        paged_attention(some_queries(torch.float32).to("meta"), filled_cache(), TABLE, LENGTHS)
