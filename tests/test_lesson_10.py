"""Lesson 10: mistakes that the records do not know, the kernels of the module, machines without Triton, pictures."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from learner import Desk
from torch.utils._python_dispatch import TorchDispatchMode
from wrong_lesson_10 import WRONG

from fp8lab.codec import encode
from fp8lab.course.check import verdict
from fp8lab.course.feedback import feedback
from fp8lab.course.lessons.l10_gpu import answers, driving, driving_points
from fp8lab.course.lessons.l10_gpu.driving_arena import Watched, surrounded
from fp8lab.course.lessons.l10_gpu.driving_launch import quiet, refuse_untouched
from fp8lab.course.lessons.l10_gpu.driving_measure import measured_write
from fp8lab.course.registry import exercise, lesson_exercises
from fp8lab.course.source import read_lesson
from fp8lab.explore import gpu_pictures

ROOT = Path(__file__).resolve().parents[1]
LESSON = lesson_exercises("10_gpu")
TRITON = importlib.util.find_spec("triton") is not None
needs_triton = pytest.mark.skipif(not TRITON, reason="Triton is Linux only: pip install triton")
CAPABILITIES = ("75", "80", "86", "89", "90")


@pytest.fixture(scope="module")
def desk():
    return Desk("10_gpu")


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("gpu_benchmark", ROOT / "benchmarks" / "gpu.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


# ---- mistakes


@pytest.mark.parametrize("found", LESSON, ids=lambda e: e.key)
def test_many_other_mistakes_are_tried(found):
    assert len(WRONG[found.key]) >= 10


@needs_triton
@pytest.mark.parametrize("key, name", [(key, name) for key, fillings in WRONG.items() for name in fillings])
def test_other_mistakes_are_refused(desk, key, name):
    result = desk.judged(key, WRONG[key][name], seed=4711)
    assert result.state in ("wrong", "error") and result.points == 0
    if result.state == "error":  # the learner reads their own exception, not the interpreter's wrapping
        assert "InterpreterError" not in result.error.kind and "NotHere" not in result.error.kind


@needs_triton
def test_a_mistake_is_named_from_the_learners_own_lines(desk):
    """One for each trap that the lesson is about."""
    holes = {
        ("10.3", "load without a mask"): {
            0: "real = (lane < GROUP) & (column < width)\nx = tl.load(x_ptr + row * row_stride + column)"
        },
        ("10.1", "rows without gaps"): "tl.store(absmax_ptr + row * tl.num_programs(1) + group, tl.max(tl.abs(tl.load("
        "x_ptr + (row * tl.num_programs(1) + group) * GROUP + lane))))",
        ("10.4", "one scale per program"): "codes = tl.load(codes_ptr + row * width + column, mask=real, other=0)\n"
        "scale = tl.load(scales_ptr + row * groups + tl.program_id(1) * BLOCK // GROUP)\n"
        "tl.store(out_ptr + row * width + column, to_value(codes) * scale, mask=real)",
        ("10.6", "no maximum subtracted"): {
            0: 'score = tl.where(real, tl.sum(q[None, :] * k, 1) * softmax_scale, float("-inf"))\n'
            "weight = tl.exp(score)\ntotal += tl.sum(weight)\nacc += tl.sum(weight[:, None] * v, 0)\n"
            "peak = peak * 0.0 if start < begin else tl.zeros([1], tl.float32)"
        },
        ("10.6", "tail lost"): {2: "per_split = length // splits"},
        ("10.6", "score 0 where there is no token"): {
            0: "score = tl.sum(q[None, :] * k, 1) * softmax_scale\nnew_peak = tl.maximum(peak, tl.max(score))\n"
            "weight, shrink = tl.exp(score - new_peak), tl.exp(peak - new_peak)\n"
            "total = total * shrink + tl.sum(weight)\nacc = acc * shrink + tl.sum(weight[:, None] * v, 0)\n"
            "peak = new_peak"
        },
    }
    for (key, name), filling in holes.items():
        result = desk.judged(key, filling)
        assert result.state == "wrong" and result.misconception, (key, name, result)
        assert result.misconception.name == name, (key, name, result.misconception.name)


def test_the_traps_of_the_lesson_are_in_its_records():
    names = {key: {m.name for m in exercise(key).misconceptions} for key in ("10.1", "10.3", "10.4", "10.5", "10.6")}
    assert {"load without a mask", "store without a mask", "tail dropped"} <= names["10.3"]
    assert "rows without gaps" in names["10.1"] and "pages follow each other" in names["10.5"]
    assert "scale of the neighbour" in names["10.4"] and "negative slots written" in names["10.5"]
    assert {"sums in float16", "no maximum subtracted", "tail lost"} <= names["10.6"]


@needs_triton
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_no_seed_lets_a_known_mistake_pass(seed):
    for found in LESSON:
        for mistake in found.misconceptions:
            assert verdict(found, mistake.answer, 1000 + seed).state in ("wrong", "error"), (found.key, mistake.name)


# ---- the references, held against others


def test_absmax_of_every_group_by_a_loop():
    x, out = torch.randn(3, 12), torch.empty(3, 3)
    answers.absmax[(3, 3)](x, out, 12, GROUP=4)
    assert out.tolist() == [[max(abs(v) for v in row[g : g + 4]) for g in (0, 4, 8)] for row in x.tolist()]


@needs_triton
def test_quantize_and_back_as_the_kernels_of_the_module_have_it():
    from fp8lab.kernels import dequantize_group, quantize_group

    x = driving.ragged_inputs(3)["x"]
    codes, scales = torch.empty(x.shape, dtype=torch.uint8), torch.empty(2, 3)
    answers.quantized[(2, 3)](x, codes, scales, 58, 58, GROUP=24, BLOCK=32)
    q = quantize_group(x, 24)
    assert torch.equal(codes, q.codes) and torch.equal(scales, q.stored_scales)
    out = torch.empty_like(x)
    answers.dequantized[(2, 1)](codes, scales, out, 58, 3, GROUP=24, BLOCK=64)
    assert torch.equal(out, dequantize_group(q))


@needs_triton
def test_pages_and_attention_as_the_kernels_of_the_module_have_them():
    from fp8lab.kernels import KVCache, paged_attention, write_kv

    cache = KVCache.empty(blocks=3, block_size=4, kv_heads=2, head_dim=32, group_size=16)
    x, slots = driving_points.groups_of_all_sizes(5, 10, 32, 16).view(5, 2, 32), torch.tensor([9, -1, 4, 0, 6])
    write_kv(x, x, cache, slots)
    codes, scales = torch.zeros(3, 4, 64, dtype=torch.uint8), torch.ones(3, 4, 4)
    answers.written[(5, 2, 2)](x, codes, scales, slots, 32, 4, 0, 0, 0, 0, GROUP=16, BLOCK=16)
    assert torch.equal(codes, cache.k_codes.flatten(2)) and torch.equal(scales, cache.k_scales.flatten(2))

    inputs = driving.attention_inputs(2)
    parts, query, table = inputs["cache"], inputs["query"], inputs["table"]
    theirs = KVCache(*parts, group_size=16)
    want = paged_attention(query[None], theirs, table[None], torch.tensor([29]))[0]
    torch.testing.assert_close(answers.attention(query, *parts, table, 29, 3), want, rtol=1e-4, atol=3e-5)


@needs_triton
def test_the_learners_rounding_is_the_codec_beside_every_middle_and_on_every_bfloat16(desk):
    from fp8lab.course.lessons.l10_gpu.driving_kernel import elementwise_kernel

    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16).float()
    x = torch.cat([every, *(driving_points.hard_numbers(seed, 1024) for seed in range(4))])
    x = torch.cat([x, torch.zeros(2**17 - len(x))])
    codes = torch.empty(len(x), dtype=torch.uint8)
    with quiet():
        elementwise_kernel[(1,)](x, codes, FUNCTION=desk.answer("10.8"), BLOCK=len(x))
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
    assert out.written_elsewhere() == 0
    out.view.as_strided((1,), (1,), out.view.storage_offset() + 3).fill_(9.0)
    assert out.written_elsewhere() == 1


# ---- machines without Triton, or with Triton imported too early

NO_TRITON = "import sys; sys.modules['triton'] = None\n"
RUN_CELLS = """
import re, sys
sys.path.insert(0, {tests!r})
from fp8lab.course.check import Check
from fp8lab.course.progress import Progress
from fp8lab.course.registry import lesson_exercises
from fp8lab.course.source import read_lesson
lesson = read_lesson({lesson!r})
names = {{"__name__": "notebook", "check": Check({lang!r}, Progress(None))}}
for cell in lesson.cells:
    if cell.kind == "code" and "picture" not in cell.tags:
        source = cell.{edition}
        if cell.role == "check":
            source = re.sub(r"^check\\(", "print(check(", source, flags=re.M) + ")"
        exec(compile(source, cell.id, "exec"), names)
print([e.key for e in lesson_exercises("10_gpu")])
"""


def run(code: str, **variables: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment |= {"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT), "FP8LAB_PROGRESS": "off", **variables}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def cells(edition: str, lang: str) -> str:
    lesson = str(ROOT / "solutions" / "10_gpu.md")
    return RUN_CELLS.format(tests=str(ROOT / "tests"), lesson=lesson, edition=edition, lang=lang)


@pytest.mark.parametrize("edition", ["source", "stub"])
@pytest.mark.parametrize("lang, calm", [("en", "Triton is missing"), ("zh", "缺少 Triton")])
def test_without_triton_every_cell_runs_and_every_check_is_calm(edition, lang, calm):
    said = run(NO_TRITON + cells(edition, lang))
    checks = re.findall(r"^(\S) (10\.\d) ", said, flags=re.M)
    in_python = {"10.6": "⧗", "10.7": "✓"} if edition == "source" else {"10.6": "○", "10.7": "○"}
    assert checks == [(in_python.get(key, "⧗"), key) for key in (f"10.{n}" for n in range(1, 9))], said
    stopped = [mark for mark, _ in checks].count("⧗")
    assert said.count(calm) == stopped and said.count("pip install triton") == stopped
    assert "'10.8'" in said  # the records are there


@needs_triton
def test_importing_the_records_imports_no_triton():
    code = "import sys; from fp8lab.course.registry import lesson_exercises; lesson_exercises('10_gpu')\n"
    assert run(code + "from fp8lab.explore import gpu_pictures\nprint('triton' in sys.modules)") == "False\n"


@needs_triton
def test_triton_imported_too_early_is_explained():
    said = run("import triton\n" + cells("source", "en"))
    assert said.count("restart the kernel") == 7 and said.count("TRITON_INTERPRET=1 is missing") == 7


@needs_triton
def test_the_grader_judges_kernels_in_a_process_that_set_nothing():
    code = """
    from fp8lab.course.check import verdict
    from fp8lab.course.registry import exercise
    found = exercise("10.3")
    result = verdict(found, found.misconceptions[1].answer, 5)
    print(result.state, result.misconception.name)
    """
    assert run(textwrap.dedent(code)) == "wrong load without a mask\n"


@needs_triton
def test_an_empty_hole_is_found_in_the_source_where_a_compiler_would_only_complain(desk):
    with pytest.raises(NotImplementedError, match=r"^exercise 10\.2: "):
        refuse_untouched(desk.answer("10.2", None))
    refuse_untouched(desk.answer("10.2"))


@needs_triton
def test_what_is_no_kernel_is_told_what_is_expected():
    result = verdict(exercise("10.1"), lambda *a: None, 0)
    assert "@triton.jit" in result.error.message
    assert "@triton.jit" in repr(feedback(exercise("10.8"), verdict(exercise("10.8"), max, 0), "zh"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU: it would be measured")
def test_nothing_is_measured_without_a_gpu():
    assert measured_write(16, 2, 64, 32) is None


# ---- a GPU that is not here


@needs_triton
@pytest.mark.slow
def test_the_solved_kernels_compile_for_every_generation(tmp_path):
    lesson = read_lesson(ROOT / "solutions" / "10_gpu.md")
    code = [c.source for c in lesson.cells if c.kind == "code" and not c.tags and "check" not in c.source]
    kernels = [c.source for c in lesson.cells if "def encode_kernel" in c.source]
    kept = [c.source for c in lesson.cells if c.role == "exercise"]
    text = "\n\n".join([*code[:2], *kept[:6], *code[2:], *kept[6:], kernels[0].split("\n\n\n")[0]])
    text = text.replace('os.environ["TRITON_INTERPRET"] = "1"', "pass")
    path = tmp_path / "lesson_code.py"
    path.write_text(text, encoding="utf-8")
    said = run_file(ROOT / "tests" / "lesson_kernel_compiler.py", path, tmp_path)
    assert len(said.splitlines()) == 8 * len(CAPABILITIES)
    assert all(int(line.split()[2]) > 1000 for line in said.splitlines())


def run_file(script: Path, lesson: Path, folder: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(lesson), *CAPABILITIES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


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
