"""A picture that stands still in a notebook: a PNG at the page's size, its description where there are no pictures.

Shown by the object itself, so it needs no inline backend and no pyplot, and looks the same in every front end.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

from matplotlib.figure import Figure

from fp8lab.explore import style


@dataclass(frozen=True)
class Still:
    """A finished figure and what it shows, in words (for screen readers, terminals and diffs).

    >>> Still(style.new_figure(1.0), "an empty page")
    an empty page
    """

    figure: Figure
    alt: str

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, **kwargs) -> tuple[dict, dict]:
        width, height = style.page_size(self.figure)
        data = {"text/plain": self.alt, "image/png": base64.b64encode(style.png(self.figure)).decode("ascii")}
        return data, {"image/png": {"alt": self.alt, "width": width, "height": height}}
