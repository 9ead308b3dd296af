"""The rounding explorer: a real number, the two codes around it, and which of them each rule takes."""

from fp8lab.explore.rounding.data import RoundingData, rounding_data
from fp8lab.explore.rounding.figure import rounding_figure

__all__ = ["RoundingData", "rounding_data", "rounding_explorer", "rounding_figure"]


def __getattr__(name: str):
    if name == "rounding_explorer":  # ipywidgets is imported when the widget is asked for
        from fp8lab.explore.rounding.widget import rounding_explorer

        return rounding_explorer
    raise AttributeError(f"module 'fp8lab.explore.rounding' has no attribute {name!r}")
