"""The bit explorer: eight bits, what they stand for, and where that number lies among all the others."""

from fp8lab.explore.bits.data import BitData, alt_text, bit_data, nearest_code
from fp8lab.explore.bits.figure import bit_figure, line_figure

__all__ = ["BitData", "alt_text", "bit_data", "bit_explorer", "bit_figure", "line_figure", "nearest_code"]


def __getattr__(name: str):
    if name == "bit_explorer":  # ipywidgets is imported when the widget is asked for
        from fp8lab.explore.bits.widget import bit_explorer

        return bit_explorer
    raise AttributeError(f"module 'fp8lab.explore.bits' has no attribute {name!r}")
