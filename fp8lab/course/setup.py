"""The first code cell of every notebook: it makes fp8lab importable, and changes no other package.

A platform opens one .ipynb alone, so the cell cannot rest on fp8lab. It tries, in this order and only as far as needed:
fp8lab as it is installed, in the version that the notebook was made for; a checkout above the notebook; a wheel beside
it; `pip install --no-deps`. If all fail it stops the notebook with one bilingual line and no traceback.

Why it is written as it is:
- Another version that was imported on the way is unloaded, or its modules would answer for the right one; a checkout
  that turns out to be another version leaves the path again.
- Where pip falls back to the user's site folder and creates it, Python learns of that folder only at its next start.
- An exception that renders itself is how IPython (7 and later) stops "Run All" without a page of traceback.
"""

from __future__ import annotations

from string import Template

from fp8lab.course.text import known_language

_TEMPLATE = Template("""\
# Setup: run this cell first; it changes no other package. / 准备：请先运行本单元格；它不会改动其他软件包。
import importlib.util, pathlib, site, subprocess, sys

def usable(version):
    importlib.invalidate_caches()
    if importlib.util.find_spec("fp8lab"):
        if getattr(importlib.import_module("fp8lab"), "__version__", None) == version:
            return True
        for name in [name for name in sys.modules if name.split(".")[0] == "fp8lab"]: del sys.modules[name]

def ways(version, here):  # every step makes one more fp8lab importable; the first usable one ends the search
    yield "as installed"
    for folder in map(str, (here, *here.parents)):
        if all(pathlib.Path(folder, name).is_file() for name in ("pyproject.toml", "fp8lab/__init__.py")):
            sys.path.insert(0, folder); yield "a checkout above"; sys.path.remove(folder)
    for package in map(str, (*here.glob(f"fp8lab-{version}-*.whl"), f"fp8lab=={version}")):
        subprocess.run([sys.executable, "-m", "pip", "install", "--no-deps", package], capture_output=True)
        if site.ENABLE_USER_SITE: site.addsitedir(site.getusersitepackages())
        yield "a wheel beside, or the package index"

found = any(usable("$version") for way in ways("$version", pathlib.Path.cwd()))
if not (found and all(map(importlib.util.find_spec, ("torch", "numpy", "matplotlib", "ipywidgets")))):
    class Stop(Exception): _render_traceback_ = lambda self: [str(self)]
    raise Stop("fp8lab $version is incomplete here: run `pip install fp8lab==$version`, restart the kernel, run this. "
               "/ 这里的 fp8lab $version 不完整：运行 `pip install fp8lab==$version`，重启内核，再运行本单元格。")
from fp8lab.course import start
check = start(lesson="$lesson", lang="$lang")
""")


def setup_cell(lesson: str, lang: str, version: str) -> str:
    """The source of the setup cell. ValueError for an unknown language.

    >>> print(setup_cell("01_decode", "en", "0.1.0").splitlines()[-1])
    check = start(lesson="01_decode", lang="en")
    """
    return _TEMPLATE.substitute(lesson=lesson, lang=known_language(lang), version=version).rstrip("\n")
