"""The C++ loops give the eager path's bytes at every length, alignment, dtype and thread count; how they are built."""

from __future__ import annotations

import itertools
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fp8lab import codec_compiled, decode, encode, native
from fp8lab.elements import INT8, code_dtype, decode_elements
from fp8lab.float_format import FloatFormat
from fp8lab.formats import E4M3FN, E5M2, E5M2FNUZ, E8M0FNU, FORMATS
from fp8lab.native import build
from fp8lab.quantize import Group, PerToken, quantize

FLOATS = (torch.float32, torch.bfloat16, torch.float16)
LENGTHS = [
    1,
    15,
    16,
    63,
    64,
    256,
    257,
    300,
    512,
    513,
    1000,
    (1 << 17) + 5,
]  # around vectors, blocks, and two threads' shares


@pytest.fixture(autouse=True)
def _compiler(lacking):
    try:
        build.find_compiler()
    except RuntimeError as error:
        lacking(str(error))


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture(params=["with what this processor has", "without tables in registers", "without AVX"])
def processor(request, monkeypatch):
    """Loops as they are built for this processor and for lesser ones: the same bytes."""
    lacks = {"without tables in registers": ["-mno-avx512vbmi"], "without AVX": ["-mno-avx"]}.get(request.param, [])
    if platform.machine().lower() in ("x86_64", "amd64"):  # elsewhere there is one way only
        monkeypatch.setenv("CXX", shlex.join([*build.find_compiler(), *lacks]))
    build.library.cache_clear()
    yield
    build.library.cache_clear()


def numbers(count: int, seed: int = 0) -> torch.Tensor:
    """Every exponent and both signs, a quarter of them in the range of the 8-bit formats; none is NaN."""
    generator = torch.Generator().manual_seed(seed)
    bits = torch.randint(-(1 << 31), 1 << 31, (count,), generator=generator, dtype=torch.int64).to(torch.int32)
    x = bits.view(torch.float32).nan_to_num(posinf=torch.inf, neginf=-torch.inf)
    return torch.where(torch.rand(count, generator=generator) < 0.25, torch.randn(count, generator=generator) * 40, x)


@pytest.mark.parametrize("many", [1, 2, 3])
def test_no_byte_beside_the_output_is_written(processor, threads, many):
    threads(many)
    for length, offset in itertools.product(LENGTHS, (0, 1, 5, 63)):
        x = numbers(length)
        room = torch.full((length + 128,), 0xA5, dtype=torch.uint8)
        codec_compiled.encode(x, out=room[offset : offset + length])
        assert torch.equal(room[offset : offset + length], encode(x)), (length, offset)
        assert (room[:offset] == 0xA5).all() and (room[offset + length :] == 0xA5).all()
        codes, wide = encode(x), torch.full((length + 128,), 7.0)
        codec_compiled.decode(codes, out=wide[offset : offset + length])
        assert torch.equal(wide[offset : offset + length], decode(codes)), (length, offset)
        assert (wide[:offset] == 7).all() and (wide[offset + length :] == 7).all()


def test_memory_that_is_not_a_multiple_of_anything(processor, threads):
    """numpy and files hand out float32 at odd addresses; so do views of bytes for codes."""
    x = numbers(1003)
    raw = bytearray(4 * 1003 + 3)
    raw[3:] = x.numpy().tobytes()
    odd = torch.frombuffer(raw, dtype=torch.float32, offset=3)
    assert odd.data_ptr() % 4
    assert torch.equal(codec_compiled.encode(odd), encode(x))
    codes, space = encode(x), bytearray(4 * 1003 + 1)
    out = torch.frombuffer(space, dtype=torch.float32, offset=1)
    assert torch.equal(codec_compiled.decode(codes, out=out).clone(), decode(codes))


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_number_of_sixteen_bits(dtype):
    if dtype == torch.float32:
        x = numbers(1 << 16)
    else:
        x = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16).view(dtype)
    for fmt, overflow in ((E4M3FN, "saturate"), (E4M3FN, "nan"), (E5M2, "inf"), (E5M2FNUZ, "nan")):
        assert torch.equal(codec_compiled.encode(x, fmt, overflow=overflow), encode(x, fmt, overflow=overflow))


def test_subnormals_of_float32_survive_flushing(processor):
    """A format that reaches below 2^-126: the product and the sum of the codec are subnormal there."""
    deep = FloatFormat("DEEP", 4, 3, bias=127, signed=True, special="fn")
    codes = torch.arange(deep.codes, dtype=torch.uint8)
    values = decode(codes, deep)
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormals: nothing to survive")
    try:
        got, again = codec_compiled.decode(codes, deep), codec_compiled.encode(values, deep)
        half = torch.tensor([2.0**-24, -3 * 2.0**-24]).half()
        small = codec_compiled.encode(half, E5M2)
    finally:
        torch.set_flush_denormal(False)
    assert torch.equal(got.view(torch.int32), values.view(torch.int32))
    assert torch.equal(again, encode(values, deep))
    assert torch.equal(small, encode(half, E5M2))


def test_a_format_below_float32_is_refused():
    with pytest.raises(ValueError, match="LOW has no compiled decoder: use fp8lab.decode"):
        codec_compiled.decode([1], FloatFormat("LOW", 4, 3, bias=130, signed=True, special="fn"))


@pytest.mark.parametrize("storage", [torch.float32, torch.bfloat16, E8M0FNU], ids=["float32", "bfloat16", "E8M0FNU"])
@pytest.mark.parametrize("fmt", [E4M3FN, E5M2FNUZ, INT8], ids=lambda fmt: fmt.name)
def test_groups_of_every_length(processor, threads, fmt, storage):
    shapes = [(5, 7), (3, 64), (300, 192), (2, 3, 100), (4, 129), (700, 130), (1000,), (1, 70_001), (9, 1)]
    for shape, size, dtype in itertools.product(shapes, (1, 3, 16, 64, 200, 600, 100_000), (*FLOATS, torch.float64)):
        threads(1 + size % 3)
        x = torch.randn(shape, generator=torch.Generator().manual_seed(size)).mul(9).to(dtype)
        x.view(-1)[::11] *= 1e-4
        x[..., : size // 2] = 0  # groups of zeros, where there are whole ones
        granularity = PerToken() if size == 100_000 else Group(size)
        want = quantize(x, fmt, granularity, scale_format=storage)
        got = quantize(x, fmt, granularity, scale_format=storage, compiled=True)
        assert torch.equal(got.codes, want.codes), (shape, size, dtype)
        assert torch.equal(got.stored_scales, want.stored_scales), (shape, size, dtype)
        for target in (*FLOATS, torch.float64):
            assert torch.equal(got.dequantize(target, compiled=True), want.dequantize(target)), (shape, size, target)


@pytest.mark.parametrize("fmt", [*FORMATS.values(), INT8], ids=lambda fmt: fmt.name)
def test_every_code_of_every_format(processor, fmt):
    """In groups that are whole registers and others, in memory that is aligned to a line and not."""
    count = getattr(fmt, "codes", 256)
    codes = torch.arange(count, dtype=torch.uint8).repeat(3 * 256 // count).view(-1, 64)
    scales = torch.linspace(0.1, 3, len(codes))
    values = torch.zeros(codes.numel() + 16)
    for size, offset in itertools.product((16, 32, 64), (0, 1, 16)):
        out = values[offset : offset + codes.numel()].view(codes.shape)
        wide = scales[:, None].expand(-1, 64 // size).contiguous()
        native.dequantize(codes, wide, out, size, fmt)
        want = decode_elements(codes.view(code_dtype(fmt)), fmt) * scales[:, None]
        assert torch.equal(out.view(torch.int32), want.view(torch.int32)), (size, offset)


def test_scales_at_both_ends_of_float32(processor):
    tiny, huge = torch.finfo(torch.float32).tiny, torch.finfo(torch.float32).max
    rows = torch.tensor([[1e-45, 0.0], [tiny / 4, -tiny / 8], [tiny, 3 * tiny], [huge, -huge / 3], [0.0, -0.0]])
    for fmt, storage in itertools.product((E4M3FN, E5M2, INT8), (torch.float32, torch.bfloat16, E8M0FNU)):
        want = quantize(rows, fmt, Group(2), scale_format=storage)
        got = quantize(rows, fmt, Group(2), scale_format=storage, compiled=True)
        assert torch.equal(got.codes, want.codes) and torch.equal(got.stored_scales, want.stored_scales)
        assert torch.equal(got.dequantize(compiled=True), want.dequantize())
        narrow = got.dequantize(torch.float16, compiled=True)
        assert torch.equal(narrow, want.dequantize(torch.float16)) and narrow.isinf().any()


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_what_is_not_finite_is_found_in_any_thread(threads, bad):
    threads(2)
    for place in (0, 200_000, 399_999):
        x = torch.randn(400_000)
        x[place] = bad
        x = x.view(-1, 100)
        with pytest.raises(ValueError, match=rf"x\[{place // 100}, {place % 100}\] is {bad}"):
            quantize(x, E4M3FN, Group(64), compiled=True)
        got = quantize(x, E4M3FN, Group(64), nonfinite="propagate", compiled=True)
        want = quantize(x, E4M3FN, Group(64), nonfinite="propagate")
        assert torch.equal(got.codes, want.codes) and got.scales.isnan().sum() == 1


def test_views_are_read_as_they_are():
    x = torch.randn(6, 40, 64)
    for view in (x.transpose(0, 1), x[..., ::2], x[:, 3:9], x[0].expand(4, 40, 64)):
        want, got = quantize(view, E4M3FN, Group(32)), quantize(view, E4M3FN, Group(32), compiled=True)
        assert torch.equal(got.codes, want.codes) and torch.equal(got.scales, want.scales)


# ---- building


def in_a_new_process(program: str, **environment: str) -> subprocess.CompletedProcess:
    line = [sys.executable, "-c", f"import torch; from fp8lab import codec_compiled as c\n{program}"]
    return subprocess.run(line, capture_output=True, text=True, env={**os.environ, **environment})


def compiler_that(folder: Path, does: str) -> str:
    """A command that passes its arguments on to the real compiler, after having done something with them."""
    script = folder / "compiler"
    real = " ".join(build.find_compiler())
    script.write_text(f'#!/bin/sh\n{does}\nexec {real} "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def test_it_is_compiled_once_and_kept(tmp_path):
    log, cache = tmp_path / "log", tmp_path / "cache"
    compiler = compiler_that(tmp_path, f'echo "$@" >> {log}')
    program = "print(c.encode(torch.tensor([256.0, -300.0])).tolist())"
    for _ in range(2):
        done = in_a_new_process(program, CXX=compiler, XDG_CACHE_HOME=str(cache))
        assert done.stdout == "[120, 249]\n", done.stderr
    lines = log.read_text().splitlines()
    assert len([line for line in lines if "kernels.cpp" in line]) == 1
    (kept,) = (cache / "fp8lab").iterdir()
    assert kept.suffix == ".so"
    assert not any("fast-math" in line for line in lines)


def test_a_change_of_any_source_is_compiled_anew(tmp_path, monkeypatch):
    shutil.copytree(build.SOURCE.parent, tmp_path / "native")
    monkeypatch.setattr(build, "SOURCE", tmp_path / "native" / build.SOURCE.name)
    digests = [build._digest(["c++"], ())]
    sources = [path for path in (tmp_path / "native").iterdir() if path.suffix in (".cpp", ".h")]
    for source in sources:
        source.write_text(source.read_text() + "// changed")
        digests.append(build._digest(["c++"], ()))
    assert len(sources) == 4 and len(set(digests)) == 5


def test_importing_compiles_nothing(tmp_path):
    done = in_a_new_process("import fp8lab.quantize, fp8lab.native", CXX="/nowhere/g++", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())


def test_a_modest_compiler_is_enough(tmp_path):
    """One that knows neither -march=native nor OpenMP: slower, same bytes."""
    refuse = 'for a in "$@"; do case "$a" in -march*|-fopenmp) echo "unknown argument: $a" >&2; exit 1;; esac; done'
    program = "x = torch.randn(300_000); import fp8lab; print(bool((c.encode(x) == fp8lab.encode(x)).all()))"
    done = in_a_new_process(program, CXX=compiler_that(tmp_path, refuse), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.stdout == "True\n", done.stderr


def test_a_cache_that_cannot_be_written_does_no_harm(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder should be")
    program = "print(c.decode([0x78]).item()); from fp8lab.native import build; print(build.cache_folder())"
    done = in_a_new_process(program, XDG_CACHE_HOME=str(blocked), TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    value, folder = done.stdout.split()
    assert value == "256.0" and Path(folder).parent == tmp_path and not Path(folder).exists()


def test_a_compiler_that_fails_is_quoted(tmp_path):
    compiler = compiler_that(tmp_path, 'case "$*" in *kernels.cpp*) echo "no space left" >&2; exit 1;; esac')
    done = in_a_new_process("c.decode([1])", CXX=compiler, XDG_CACHE_HOME=str(tmp_path / "cache"))
    last = done.stderr.splitlines()[-1]
    assert last.startswith("RuntimeError: the compiled path needs a working C++ compiler (install g++ or clang, or set")
    assert last.endswith("It said: no space left")
    assert not list((tmp_path / "cache" / "fp8lab").iterdir())
