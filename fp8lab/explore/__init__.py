"""Pictures that answer to the hand: what a byte means, which neighbour a number takes, what a scale does.

    from fp8lab.explore import bit_explorer
    bit_explorer(0x78)

Every explorer is built in three steps, each usable alone: a record of facts (no drawing), a matplotlib figure of the
record (no widget), a widget that shows the figure and changes the record. Where no front end answers, the widget
leaves the figure. Only core ipywidgets (7.7 and 8) are used; they are imported when a widget is asked for.
"""

from __future__ import annotations

from importlib import import_module

_HOME = {  # public name -> the module that defines it
    "bit_data": "fp8lab.explore.bits",
    "bit_figure": "fp8lab.explore.bits",
    "bit_explorer": "fp8lab.explore.bits",
    "groupsize_data": "fp8lab.explore.groupsize",
    "groupsize_explorer": "fp8lab.explore.groupsize",
    "groupsize_figure": "fp8lab.explore.groupsize",
    "histogram_data": "fp8lab.explore.histogram",
    "histogram_figure": "fp8lab.explore.histogram",
    "histogram_explorer": "fp8lab.explore.histogram",
    "outlier_data": "fp8lab.explore.outlier_map",
    "outlier_explorer": "fp8lab.explore.outlier_map",
    "outlier_figure": "fp8lab.explore.outlier_map",
    "rounding_data": "fp8lab.explore.rounding",
    "rounding_figure": "fp8lab.explore.rounding",
    "rounding_explorer": "fp8lab.explore.rounding",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'fp8lab.explore' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
