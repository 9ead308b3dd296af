"""The error-against-group-size explorer: which format gains from a scale for fewer values, and what the scales cost."""

from fp8lab.explore.groupsize.data import GroupsizeData, groupsize_data, synthetic
from fp8lab.explore.groupsize.figure import groupsize_figure

__all__ = ["GroupsizeData", "groupsize_data", "groupsize_explorer", "groupsize_figure", "synthetic"]


def __getattr__(name: str):
    if name == "groupsize_explorer":  # ipywidgets is imported when the widget is asked for
        from fp8lab.explore.groupsize.widget import groupsize_explorer

        return groupsize_explorer
    raise AttributeError(f"module 'fp8lab.explore.groupsize' has no attribute {name!r}")
