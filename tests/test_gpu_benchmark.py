"""benchmarks/gpu.py from end to end on a GPU that is the CPU: its numbers mean nothing here, its tables do."""

from __future__ import annotations

import json

import pytest
import torch
from gpu_benchmark import gpu_benchmark
from simulated_card import Simulated
from torch.overrides import TorchFunctionMode
from triton_here import needs_triton

from fp8lab.explore import gpu_pictures

pytestmark = [
    needs_triton,
    pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU: run the benchmark itself"),
]


class OnTheCpu(TorchFunctionMode):
    """Tensors asked for on "cuda" are made on the CPU."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if kwargs.get("device") == "cuda":
            kwargs["device"] = "cpu"
        return function(*args, **kwargs)


@pytest.fixture
def benchmark(monkeypatch, tmp_path):
    """benchmark(capability): the script, with small shapes, for such a card. Jobs run, in the interpreter."""
    from fp8lab.kernels import available, bits, timing

    module = gpu_benchmark()

    def ignoring_native(launcher):
        return lambda *arguments, native=False, **options: launcher(*arguments, **options)

    def pretend(capability):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "Some Card")
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
        properties = type("Properties", (), {"L2_cache_size": 1 << 14})
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
        monkeypatch.setattr(torch, "compile", lambda function: function)
        monkeypatch.setattr(bits, "INTERPRETED", False)
        monkeypatch.setattr(module, "why_not_native", available.why_not_native)
        monkeypatch.setattr(module, "Card", Simulated)
        monkeypatch.setattr(module, "RESULTS", tmp_path)
        monkeypatch.setattr(module, "COMPARED_ROWS", 64)
        monkeypatch.setattr(module, "WRITE_SHAPES", [(32, 2, 128)])
        monkeypatch.setattr(module, "ATTENTION_SHAPES", [(2, 4, 2, 64, 48)])
        for name in ("write_kv", "paged_attention", "quantize_group"):
            monkeypatch.setattr(module, name, ignoring_native(getattr(module, name)))
        work = module.microseconds
        monkeypatch.setattr(module, "microseconds", lambda jobs, repetitions, card: work(jobs, 2, card) + 7.0)
        monkeypatch.setattr(timing, "BATCH", 2)
        monkeypatch.setattr("sys.argv", ["gpu.py", "--quick"])
        return module

    with OnTheCpu():
        yield pretend


def result(tmp_path) -> dict:
    (path,) = tmp_path.glob("gpu-*.json")
    assert path.name == "gpu-some-card.json"
    return json.loads(path.read_text())


def test_from_sm_89_on_both_paths_are_measured_and_held_against_each_other(benchmark, tmp_path, capsys):
    assert benchmark((9, 0)).main() == 0
    found = result(tmp_path)
    ways = [row["way"] for row in found["rows"]]
    assert ways == [
        "torch copy_",
        "fp8lab, float32 scales", "fp8lab, E8M0 scales",
        "fp8lab, float32 scales, native FP8", "fp8lab, E8M0 scales, native FP8",
        "torch.compile of eager",
        "fp8lab, FP8 pages", "fp8lab, FP8 pages, native FP8", "torch SDPA, bfloat16",
    ]  # fmt: skip
    assert found["native path, differing bytes"] == {"E4M3FN": 0, "E5M2": 0}
    assert found["machine"]["capability"] == "sm_90" and not found["left out"]
    said = capsys.readouterr().out
    assert "every byte as on the integer path" in said and "quoted, not measured here" in said
    assert len(gpu_pictures.measured(tmp_path)) == len(ways)
    assert "measured on Some Card" in repr(gpu_pictures.roofline_picture(tmp_path))


def test_on_a_t4_there_is_one_path_and_float16(benchmark, tmp_path, capsys):
    assert benchmark((7, 5)).main() == 0
    found = result(tmp_path)
    assert [row["way"] for row in found["rows"]][-2:] == ["fp8lab, FP8 pages", "torch SDPA, float16"]
    assert not any("native" in row["way"] or "compile" in row["way"] for row in found["rows"])
    assert found["native path, differing bytes"] is None
    assert "native FP8: none here (Some Card is sm_75" in capsys.readouterr().out


def test_a_wrong_byte_on_the_native_path_fails_the_run(benchmark, tmp_path, capsys, monkeypatch):
    module = benchmark((8, 9))
    right = module.quantize_group

    def wrong(x, size, fmt, native=False):
        q = right(x, size, fmt)
        if native:
            q.codes[0, 0] ^= 1
        return q

    monkeypatch.setattr(module, "quantize_group", wrong)
    assert module.main() == 1
    assert "native FP8: WRONG" in capsys.readouterr().out
    assert result(tmp_path)["native path, differing bytes"] == {"E4M3FN": 2, "E5M2": 2}


def test_what_does_not_fit_is_left_out_by_name(benchmark, tmp_path, monkeypatch):
    module = benchmark((8, 0))

    def too_large(*arguments):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(module, "measure_attention", too_large)
    too_large.__name__ = "measure_attention"
    assert module.main() == 0
    assert result(tmp_path)["left out"] == [
        "not measured: measure_attention(2, 4, 2, 64, 48) does not fit into this card's memory"
    ]


def test_the_interpreter_is_refused(benchmark, tmp_path, monkeypatch, capsys):
    from fp8lab.kernels import bits

    module = benchmark((9, 0))
    monkeypatch.setattr(bits, "INTERPRETED", True)
    assert module.main() == 1 and not list(tmp_path.iterdir())
    assert "the interpreter is no GPU" in capsys.readouterr().out.replace("its interpreter", "the interpreter")
