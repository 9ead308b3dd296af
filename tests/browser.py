"""A real JupyterLab and a real Chromium, for tests that work a notebook as a learner does: mouse, keys, eyes.

    @pytest.mark.browser
    def test_…(learner):
        page = learner.open(notebook)      # a notebook dict, or the path of one
        page.run_all()
        page.text_of("check-1-4")

`lab` and `learner` are fixtures of conftest.py. `lab` is one server for a whole test session on a temporary folder, a
free port, no token, and settings of its own; `learner` is a fresh browser page on it. Under CI=true a missing tool is a
failure, elsewhere a skip that says what to install.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from tools import lacking, need_package

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
START_SECONDS, RUN_SECONDS = 60, 180


def chromium_path() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        lacking("no Chromium on the PATH; install it: apt-get install chromium")
    return found


class Lab:
    """A JupyterLab server on `folder`. `theme` is "light" or "dark"; it can be changed between pages."""

    def __init__(self, home: Path) -> None:
        self.folder, self._home = home / "notebooks", home
        self._log = home / "jupyterlab.log"
        self.folder.mkdir(parents=True)
        self.use_theme("light")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        command = [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={self.port}",
            "--port-retries=0", "--ip=127.0.0.1", "--IdentityProvider.token=", f"--ServerApp.root_dir={self.folder}",
        ]  # fmt: skip
        with self._log.open("w") as log:
            self._process = subprocess.Popen(command, env=self._environment(), cwd=self.folder, stdout=log, stderr=log)
        self._wait_until_it_answers()

    def _environment(self) -> dict[str, str]:
        own = {
            "JUPYTER_CONFIG_DIR": self._home / "config",
            "JUPYTERLAB_SETTINGS_DIR": self._settings,
            "JUPYTERLAB_WORKSPACES_DIR": self._home / "workspaces",
            "JUPYTER_RUNTIME_DIR": self._home / "runtime",
            "IPYTHONDIR": self._home / "ipython",
            "XDG_STATE_HOME": self._home / "state",
            "XDG_DATA_HOME": self._home / "share",
            "FP8LAB_PROGRESS": self._home / "progress.json",
        }
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        return {**os.environ, **{name: str(value) for name, value in own.items()}, "PYTHONPATH": path}

    @property
    def _settings(self) -> Path:
        return self._home / "settings"

    def use_theme(self, theme: str) -> None:
        """Pages opened from now on are light or dark. Cells are all kept in the page; nobody is asked about news."""
        chosen = {
            "@jupyterlab/apputils-extension/themes": {"theme": f"JupyterLab {theme.capitalize()}"},
            "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
            "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
        }
        for plugin, values in chosen.items():
            path = self._settings / f"{plugin}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values), encoding="utf-8")

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{self.url}/api", timeout=5).read()
                return
            except OSError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.2)
        self.stop()
        raise RuntimeError(f"JupyterLab did not start:\n{self._log.read_text()[-3000:]}")

    def stop(self) -> None:
        """End the server; it ends its kernels."""
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Learner:
    """A browser page on a `Lab`. What it does with a notebook it does through the user interface."""

    def __init__(self, lab: Lab, browser) -> None:
        self.lab = lab
        self._browser = browser
        self._pages: list = []
        self.errors: list[str] = []

    def open(self, notebook: dict | Path, *, name: str | None = None, theme: str = "light", size=(1280, 900)):
        """Copy the notebook into the server's folder, open it alone on the page, wait for its kernel."""
        if isinstance(notebook, Path):
            name, notebook = name or notebook.name, json.loads(notebook.read_text(encoding="utf-8"))
        name = name or f"notebook{len(list(self.lab.folder.iterdir()))}.ipynb"
        (self.lab.folder / name).write_text(json.dumps(notebook), encoding="utf-8")
        self.lab.use_theme(theme)
        page = self.blank(size)
        page.goto(f"{self.lab.url}/doc/tree/{name}?reset")
        opened = NotebookPage(page, notebook)
        opened.wait_idle()
        return opened

    def blank(self, size=(1280, 900)):
        """An empty page whose errors count."""
        page = self._browser.new_page(viewport={"width": size[0], "height": size[1]}, device_scale_factor=1.5)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self._pages.append(page)
        return page

    def close(self) -> None:
        for page in self._pages:
            page.close()


class NotebookPage:
    """One open notebook. A cell is named by its id in the file, or by its place among all cells."""

    def __init__(self, page, notebook: dict) -> None:
        self.page, self._cells = page, notebook["cells"]

    def wait_idle(self, seconds: float = RUN_SECONDS) -> None:
        """Until the status bar says Idle and no cell is waiting. (The execution indicator of the toolbar races.)"""
        status = self.page.locator(".jp-StatusBar-Widget, #jp-main-statusbar").filter(has_text=re.compile(r"\| Idle"))
        status.first.wait_for(timeout=seconds * 1000)
        self.page.wait_for_function(
            "() => ![...document.querySelectorAll('.jp-InputPrompt')].some(p => p.textContent.includes('*'))",
            timeout=seconds * 1000,
        )
        status.first.wait_for(timeout=seconds * 1000)

    def cell(self, name: str | int):
        """The cell, as a locator."""
        if isinstance(name, str):
            places = [place for place, cell in enumerate(self._cells) if cell.get("id") == name]
            if len(places) != 1:
                known = [cell.get("id") for cell in self._cells]
                raise LookupError(f"cell id {name!r} occurs {len(places)} times among {known}")
            name = places[0]
        return self.page.locator(".jp-Notebook .jp-Cell").nth(name)

    def run_all(self) -> None:
        """Menu Run, Run All Cells; wait for the end."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        self.page.wait_for_timeout(300)  # the first cell has to leave the queue before Idle means done
        self.wait_idle()

    def run(self, name: str | int) -> None:
        """Click into the cell, which unfolds a folded one; Ctrl+Enter; wait for the end."""
        self.cell(name).locator(".cm-content, .jp-InputPlaceholder .jp-Placeholder-content").first.click()
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_timeout(150)
        self.wait_idle()

    def replace_line(self, name: str | int, line: str, new: str) -> None:
        """In the cell's editor, select the first line that contains `line` and put `new`, one or more lines, there.
        Home stops at the line's indentation, so the first line of `new` keeps it and brings none of its own."""
        self.cell(name).locator(".cm-line", has_text=line).first.click()
        self.page.keyboard.press("Home")
        self.page.keyboard.press("Shift+End")
        self.page.keyboard.insert_text(new)

    def write(self, name: str | int, source: str) -> None:
        """Replace the whole source of a cell."""
        self.cell(name).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(source)

    def text_of(self, name: str | int) -> str:
        """What a reader sees below the cell."""
        return "\n".join(self.cell(name).locator(".jp-OutputArea-output").all_inner_texts())

    def everything_shown(self) -> str:
        """All outputs of the notebook as a reader sees them."""
        return "\n".join(self.page.locator(".jp-OutputArea-output").all_inner_texts())

    def focus_is_inside(self, name: str | int) -> bool:
        return self.cell(name).evaluate("cell => cell.contains(document.activeElement)")

    def wait_theme(self, theme: str) -> None:
        """Until the page is light or dark."""
        light = "true" if theme == "light" else "false"
        self.page.locator(f"body[data-jp-theme-light='{light}']").wait_for(state="attached")

    def contrast(self, element) -> float:
        """WCAG contrast between an element's text and what is painted behind it."""
        return element.evaluate(_CONTRAST)


def one_cell(source: str) -> dict:
    """A notebook of one code cell."""
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}},
        "cells": [
            {
                "cell_type": "code",
                "id": "cell",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": source,
            }
        ],
    }


# Backgrounds are laid over each other from the page up to the element; text is laid over the result.
_CONTRAST = """element => {
  const parse = text => {
    const n = text.match(/[\\d.]+/g).map(Number);
    return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const lineage = [];
  for (let node = element; node; node = node.parentElement) lineage.unshift(node);
  let ground = [255, 255, 255, 1];
  for (const node of lineage) ground = over(parse(getComputedStyle(node).backgroundColor), ground);
  const text = over(parse(getComputedStyle(element).color), ground);
  const linear = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const [dark, light] = [luminance(text), luminance(ground)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}"""


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """One JupyterLab for the session."""
    need_package("jupyterlab")
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def chromium():
    """One headless Chromium for the session: playwright runs once in a process."""
    with need_package("playwright.sync_api").sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def learner(chromium, lab):
    """A page for one test. Errors in the page's JavaScript and in its console fail the test."""
    somebody = Learner(lab, chromium)
    yield somebody
    somebody.close()
    assert not somebody.errors, somebody.errors
