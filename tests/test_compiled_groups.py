"""What accelerators run for quantize(compiled=True), torch.compile of the grouped steps: the bytes of the eager way.

The code is the same on every device, so a CPU can judge it: the functions are called directly, past the choice that
`fp8lab.grouped` makes for a CPU.
"""

from __future__ import annotations

import pytest
import torch
from tools import need_compiler

from fp8lab import FORMATS
from fp8lab.compiled import dequantize_compiled, quantize_compiled
from fp8lab.elements import element_format
from fp8lab.formats import E8M0FNU
from fp8lab.quantize import Group, quantize
from fp8lab.scales import load

CASES = [("E4M3FN", torch.float32, 64), ("E5M2", E8M0FNU, 20), ("int8", torch.bfloat16, 64)]


@pytest.fixture(autouse=True)
def _compiler():
    need_compiler()


@pytest.fixture(scope="module")
def x() -> torch.Tensor:
    """Rows of every magnitude that a float32 group can have, ties, a row of zeros, and the tiniest numbers."""
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(40, 320, generator=draw) * torch.logspace(-38, 37, 40)[:, None]
    rows[0], rows[1] = 0, torch.arange(320) / 2
    rows[2, ::3] = 0
    return rows


@pytest.mark.parametrize(("name", "storage", "size"), CASES, ids=lambda case: getattr(case, "name", str(case)))
def test_codes_scales_and_values_are_those_of_the_eager_way(name, storage, size, x):
    want = quantize(x, name, Group(size), scale_format=storage)
    codes, stored = torch.zeros_like(want.payload), torch.zeros_like(want.stored_scales)
    fmt, groups = element_format(name), x.unflatten(-1, (-1, size))
    absmax = quantize_compiled(groups, codes.view(groups.shape), stored, fmt, storage)
    assert absmax == x.abs().max()
    assert torch.equal(stored, want.stored_scales)
    assert torch.equal(codes, want.payload)
    values = torch.empty_like(x)
    scales = load(stored, storage)
    dequantize_compiled(codes.view(groups.shape), scales, values.view(groups.shape), fmt)
    assert torch.equal(values.view(torch.int32), want.dequantize().view(torch.int32))


def test_a_group_that_is_not_finite_shows_in_the_largest_absmax(x):
    for bad in (torch.nan, -torch.inf):
        spoilt = x.unflatten(-1, (-1, 64)).clone()
        spoilt[7, 2, 5] = bad
        codes = torch.empty(spoilt.shape, dtype=torch.uint8)
        absmax = quantize_compiled(spoilt, codes, torch.empty(spoilt.shape[:2]), FORMATS["E4M3FN"], torch.float32)
        assert not absmax.isfinite()
