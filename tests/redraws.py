"""Redraws of an explorer as a person has them: from the key or the choice to the new picture on the screen.

    redraws = Redraws(page.cell("cell"))           # the cell whose output is an explorer
    slider, menu = redraws.slider("per scale"), redraws.menu("format")
    milliseconds = redraws.press(slider, "ArrowRight")
    milliseconds = redraws.choose(menu, "int8")

The browser keeps the time: from the event's own time stamp, through kernel and back, until the frame that shows the
new picture was painted.
"""

from __future__ import annotations

import math
from collections.abc import Callable

WAIT_SECONDS = 30

# `svg !== seen`: the picture is put into the page anew at each redraw. What is posted from a frame's callback arrives
# after that frame was painted.
_WATCH = """cell => {
  const explorer = cell.querySelector('.fp8-explorer');
  const watch = {pressed: null, seen: explorer.querySelector('svg'), done: [], waiting: null};
  const painted = () => {
    watch.done.push(performance.now() - watch.pressed);
    if (watch.waiting) watch.waiting();
  };
  for (const kind of ['keydown', 'change'])
    explorer.addEventListener(kind, event => { watch.pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    const svg = explorer.querySelector('svg');
    if (!svg || svg === watch.seen) return;
    watch.seen = svg;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = painted;
      channel.port2.postMessage(null);
    });
  }).observe(explorer, {subtree: true, childList: true});
  cell.redraws = watch;
}"""
_NEXT = """(cell, [known, seconds]) => new Promise((resolve, reject) => {
  const watch = cell.redraws;
  const answer = () => { if (watch.done.length > known) resolve(watch.done[known]); };
  watch.waiting = answer;
  setTimeout(() => reject(new Error(`no new picture within ${seconds} s`)), 1000 * seconds);
  answer();
})"""


class Redraws:
    """Watches the explorer in the output of a cell. `taken` are the milliseconds of all redraws so far."""

    def __init__(self, cell) -> None:
        self._cell, self.taken = cell, []
        cell.locator(".fp8-explorer svg").wait_for(timeout=1000 * WAIT_SECONDS)
        cell.evaluate(_WATCH)

    def slider(self, label: str):
        """The handle of the slider with this label; arrow keys move it."""
        return self._labelled(label, ".noUi-handle")

    def menu(self, label: str):
        """The menu with this label."""
        return self._labelled(label, "select")

    def _labelled(self, label: str, inner: str):
        control = self._cell.locator(".widget-inline-hbox").filter(has=self._cell.page.get_by_text(label, exact=True))
        return control.locator(inner)

    def press(self, slider, key: str) -> float:
        """Press a key on a slider, wait for the new picture: milliseconds. An error when there is none."""
        slider.focus()
        return self._timed(lambda: self._cell.page.keyboard.press(key))

    def choose(self, menu, option: str) -> float:
        """Choose another option of a menu, likewise. (Not by arrow keys: JupyterLab moves to another cell by them.)"""
        return self._timed(lambda: menu.select_option(label=option))

    def _timed(self, act: Callable[[], object]) -> float:
        known = self._cell.evaluate("cell => cell.redraws.done.length")
        act()
        self.taken.append(self._cell.evaluate(_NEXT, [known, WAIT_SECONDS]))
        return self.taken[-1]

    def alt(self) -> str:
        """What the picture shows, in words."""
        return self._cell.locator(".fp8-explorer svg").first.get_attribute("aria-label")

    def drawing(self) -> str:
        """The picture itself."""
        return self._cell.locator(".fp8-explorer svg").first.inner_html()

    def problems(self) -> list[str]:
        """Errors below the cell: tracebacks, what was written to stderr, widgets that could not be shown."""
        shown = self._cell.locator("[data-mime-type*='stderr'], [data-mime-type*='vnd.jupyter.error']")
        return [*shown.all_inner_texts(), *self._cell.get_by_text("Error displaying widget").all_inner_texts()]


def quantile(milliseconds: list[float], share: float) -> float:
    """The smallest time within which at least `share` of the redraws were done (nearest rank).

    >>> quantile([40.0, 10.0, 30.0, 20.0], 0.5), quantile([1.0], 0.95)
    (20.0, 1.0)
    """
    ordered = sorted(milliseconds)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def quantiles(milliseconds: list[float]) -> str:
    """In words.

    >>> quantiles([10.0, 20.0, 30.0])
    'median 20 ms, 95 % within 30 ms, slowest 30 ms (of 3)'
    """
    middle, late = quantile(milliseconds, 0.5), quantile(milliseconds, 0.95)
    slowest = f"slowest {max(milliseconds):.0f} ms (of {len(milliseconds)})"
    return f"median {middle:.0f} ms, 95 % within {late:.0f} ms, {slowest}"
