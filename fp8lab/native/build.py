"""kernels.cpp and its headers -> a shared library, with the C++ compiler of this machine; kept in the user's cache.

Nothing is compiled at import, nor by anything but `library`. A library is kept under the hash of all that it depends on
(source, definitions, flags, compiler, processor: the code is for this processor only), in $XDG_CACHE_HOME/fp8lab or
~/.cache/fp8lab; where that cannot be written, in a folder that lasts as long as the process. Delete it at any time.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("kernels.cpp")
COMPILERS = ("c++", "g++", "clang++")
EXACT = ("-O3", "-std=c++17", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")  # never -ffast-math
SHARED = ("-shared", "-fPIC")
VECTORS = ("-march=native",) + (
    ("-mprefer-vector-width=512",) if platform.machine().lower() in ("x86_64", "amd64") else ()
)
# The fastest that this compiler knows. Without OpenMP there is one thread (Apple's clang has none).
CHOICES = ((*VECTORS, "-fopenmp"), VECTORS, ("-fopenmp",), ())


@cache
def library(*definitions: str) -> ctypes.CDLL:
    """The functions of kernels.cpp, built with these -D definitions; compiled unless the cache has it.

    RuntimeError, saying what to install, when nothing can be compiled here.
    """
    compiler = find_compiler()
    path = cache_folder() / f"{_digest(compiler, definitions)}.so"
    try:
        if not path.exists():
            _compile(compiler, definitions, path)
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise _failure(str(error)) from error


def find_compiler() -> list[str]:
    """The command of a C++ compiler: $CXX, else the first of c++, g++ and clang++. RuntimeError without one."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    for name in COMPILERS:
        if found := shutil.which(name):
            return [found]
    raise _failure(f"none of {', '.join(COMPILERS)} was found")


@cache
def cache_folder() -> Path:
    """Where libraries are kept: readable and writable by this user only."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(base) if base else Path.home() / ".cache") / "fp8lab"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # read-only, or no home
        _LASTING.append(tempfile.TemporaryDirectory(prefix="fp8lab-", ignore_cleanup_errors=True))
        return Path(_LASTING[-1].name)


_LASTING: list[tempfile.TemporaryDirectory] = []


def _digest(compiler: list[str], definitions: tuple[str, ...]) -> str:
    sources = [SOURCE, *sorted(SOURCE.parent.glob("*.h"))]
    facts = [
        *(source.read_text(encoding="utf-8") for source in sources),
        repr(definitions),
        repr((EXACT, SHARED, CHOICES)),
    ]
    facts += [repr(compiler), _version(tuple(compiler)), sys.platform, platform.machine(), _processor()]
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:24]


@cache
def _version(compiler: tuple[str, ...]) -> str:
    try:
        return subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise _failure(str(error)) from error


def _processor() -> str:
    """What tells processors apart for which -march=native means different things."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return "".join(sorted({line for line in lines if line.split("\t")[0] in ("model name", "flags", "Features")}))


def _compile(compiler: list[str], definitions: tuple[str, ...], path: Path) -> None:
    """Written beside its place and moved there whole: another process sees all of it or nothing."""
    handle, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
    os.close(handle)
    defined = [f"-D{definition}" for definition in definitions]
    try:
        for choice in CHOICES:
            command = [*compiler, *EXACT, *SHARED, *choice, *defined, str(SOURCE), "-o", part]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                os.replace(part, path)
                return
    finally:
        Path(part).unlink(missing_ok=True)
    raise _failure(next(iter(done.stderr.splitlines()), f"{compiler[0]} ended with {done.returncode}"))


def _failure(said: str) -> RuntimeError:
    return RuntimeError(
        "the compiled path needs a working C++ compiler (install g++ or clang, or set CXX); fp8lab.encode,"
        f" fp8lab.decode and quantize(compiled=False) need none. It said: {said}"
    )
