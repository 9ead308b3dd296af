"""The first code cell of every notebook: it makes fp8lab importable, and changes no other package.

A platform opens one .ipynb alone, so the cell cannot rest on fp8lab. It tries, in this order and only as far as needed:
fp8lab as it is installed, in the version that the notebook was made for; a checkout above the notebook; a wheel beside
it; once fp8lab is published, `pip install --no-deps`. If all fail it stops the notebook with one bilingual line and no
traceback.

Why it is written as it is:
- While nobody has published fp8lab, its name on a package index is anybody's, and who takes it would run code on every
  learner's machine. So the index is asked only where pyproject.toml says `published = true`.
- Another version that was imported on the way is unloaded, or its modules would answer for the right one; a checkout
  that turns out to be another version leaves the path again.
- Where pip falls back to the user's site folder and creates it, Python learns of that folder only at its next start.
- An exception that renders itself is how IPython (7 and later) stops "Run All" without a page of traceback.
- Nobody needs to read it, so it opens folded: its first line is what JupyterLab and Colab show of it.
"""

from __future__ import annotations

from string import Template
from typing import Any

from fp8lab.course.text import Text, known_language

METADATA = {  # folded in Colab, in JupyterLab, in books
    "cellView": "form",
    "jupyter": {"source_hidden": True},
    "tags": ["hide-input", "setup"],
}

_TEMPLATE = Template("""\
# @title Setup: run this first; it changes no other package. / 准备：请先运行；它不会改动其他软件包。
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
    for package in map(str, $packages):
        subprocess.run([sys.executable, "-m", "pip", "install", "--no-deps", package], capture_output=True)
        if site.ENABLE_USER_SITE: site.addsitedir(site.getusersitepackages())
        yield "by pip"

found = any(usable("$version") for way in ways("$version", pathlib.Path.cwd()))
lacking = [name for name in ("torch", "numpy", "matplotlib", "ipywidgets") if not importlib.util.find_spec(name)]
todo = [] if found else [("$en",
                          "$zh")]
todo += [("run `pip install %s`" % " ".join(lacking), "运行 `pip install %s`" % " ".join(lacking))] if lacking else []
if todo:
    class Stop(Exception): _render_traceback_ = lambda self: [str(self)]
    raise Stop("fp8lab $version is incomplete here: %s, restart the kernel, run this cell again. "
               "/ 这里的 fp8lab $version 不完整：%s，重启内核，再运行本单元格。" % tuple(map(", ".join, zip(*todo))))
from fp8lab.course import start
check = start(lesson="$lesson", lang="$lang")
""")

_WHEEL = Text(
    "put its wheel, fp8lab-{version}-py3-none-any.whl, beside this notebook",
    "把 fp8lab 的安装包 fp8lab-{version}-py3-none-any.whl 放到本笔记本旁边",
)
_INDEX = Text("run `pip install --no-deps fp8lab=={version}`", "运行 `pip install --no-deps fp8lab=={version}`")


def setup_cell(lesson: str, lang: str, version: str, *, published: bool = False) -> str:
    """The source of the setup cell. `published`: a package index has this fp8lab. ValueError for an unknown language.

    >>> print(setup_cell("01_decode", "en", "0.1.0").splitlines()[-1])
    check = start(lesson="01_decode", lang="en")
    """
    todo = (_INDEX if published else _WHEEL).format(version=version)
    values: dict[str, Any] = {"lesson": lesson, "lang": known_language(lang), "version": version}
    wheels = 'here.glob(f"fp8lab-{version}-*.whl")'
    packages = f'(*{wheels}, f"fp8lab=={{version}}")' if published else wheels
    return _TEMPLATE.substitute(values, en=todo.en, zh=todo.zh, packages=packages).rstrip("\n")
