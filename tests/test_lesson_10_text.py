"""Lesson 10: the numbers of its text and its pictures."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from gpu_benchmark import gpu_benchmark
from torch.utils._python_dispatch import TorchDispatchMode

from fp8lab.course.lessons.l10_gpu import answers
from fp8lab.explore import gpu_pictures

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def benchmark():
    return gpu_benchmark()


# ---- what the text says


def test_numbers_of_the_text():
    text = (ROOT / "solutions" / "10_gpu.md").read_text(encoding="utf-8")
    moved = answers.roofline(1024, 32, 128, 64, 1.0, 1.0, 1.0)[0]
    assert f"{moved:,}" in text and f"{moved / (2 * 1024 * 32 * 128):.2f}" == "3.06"
    assert f"{2 / (1 + 4 / 64):.2f}" == "1.88"
    assert 30_000 * 16 * 8 * 128 > 490e6
    assert (0x7FFFF, 120 << 3) == ((1 << 19) - 1, 960)
    for bits, number in ((0x3C800000, 2.0**-6), (0x43E00000, 448.0), (0x7F800000, math.inf), (0x46800000, 16384.0)):
        assert torch.tensor(bits, dtype=torch.int32).view(torch.float32).item() == number
    near = torch.tensor(16384.0)
    assert (torch.nextafter(near, torch.tensor(math.inf)) - near).item() / 2 == 2.0**-10  # above 2^14 ...
    assert torch.nextafter(near, torch.tensor(math.inf)).item() - 16384.0 == 2.0**-9


class Traffic(TorchDispatchMode):
    """Bytes that every operation reads and writes, as its tensors say; views move nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        given = [a for a in args if isinstance(a, torch.Tensor)]
        if isinstance(out, torch.Tensor) and not func.is_view:
            moved = [given[-1], given[-1]] if "index_put" in func.name() else [*given, out]
            self.bytes += sum(t.numel() * t.element_size() for t in moved)
        return out


def test_forty_one_bytes_per_value_are_what_torch_moves(benchmark):
    from fp8lab.kernels import KVCache

    tokens, heads, dim = 64, 2, 4096
    cache = KVCache.empty(4, 16, heads, dim, benchmark.GROUP)
    k = torch.randn(tokens, heads, dim).bfloat16()
    with Traffic() as traffic:
        benchmark.eager_write(k, k, cache, torch.arange(tokens))
    per_value = traffic.bytes / (2 * k.numel())
    assert 41 < per_value < 42, per_value  # absmax, scales and slots are the rest
    assert sum(step.read + step.written for step in gpu_pictures.traffic()) == 41


# ---- pictures


@pytest.mark.parametrize("width, group, block", [(58, 24, 32), (96, 64, 64), (7, 3, 4), (64, 32, 32)])
def test_lanes_are_counted_one_by_one(width, group, block):
    kinds = gpu_pictures.lanes(width, group, block)
    assert sum(row.count("real") for row in kinds) == width
    for number, row in enumerate(kinds):
        for lane, kind in enumerate(row):
            inside, own = number * group + lane < width, lane < group
            assert kind == ("real" if inside and own else "behind" if not inside else "neighbour")


def test_the_jobs_are_those_of_the_benchmark(benchmark):
    sizes = [benchmark.write_bytes(*shape, 4) for shape in benchmark.WRITE_SHAPES]
    sizes += [benchmark.attention_bytes(*shape, 1, 4) for shape in benchmark.ATTENTION_SHAPES]
    assert [job.bytes for job in gpu_pictures.jobs()] == sizes


def test_the_roofline_says_when_nothing_was_measured_and_fills_when_something_was(tmp_path):
    empty = repr(gpu_pictures.roofline_picture(tmp_path))
    assert "not measured on a GPU" in empty and "25,698,304 bytes, at least 5.4 us" in empty
    row = {"job": "write K and V", "way": "fp8lab, float32 scales", "bytes": 25_698_304, "microseconds": 7.5}
    record = {"machine": {"card": "Some Card"}, "rows": [row]}
    (tmp_path / "gpu-some-card.json").write_text(json.dumps(record))
    assert gpu_pictures.measured(tmp_path) == (gpu_pictures.Point("Some Card", row["way"], 25_698_304, 7.5),)
    filled = gpu_pictures.roofline_picture(tmp_path)
    assert "1 points measured on Some Card" in repr(filled) and "not measured" not in repr(filled)
    lines = filled.figure.axes[0].lines
    assert any(list(line.get_xdata()) == [25_698_304] and list(line.get_ydata()) == [7.5] for line in lines)


@pytest.mark.parametrize("name", ["traffic_picture", "tail_picture", "roofline_picture"])
def test_pictures_draw_and_describe_themselves(name):
    still = getattr(gpu_pictures, name)()
    data, _ = still._repr_mimebundle_()
    assert len(data["image/png"]) > 10_000 and len(data["text/plain"]) > 60
