"""The histogram explorer: a tensor's values, the codes it uses and the errors it leaves, for a format and a scale."""

from fp8lab.explore.histogram.data import HistogramData, histogram_data, sample
from fp8lab.explore.histogram.figure import histogram_figure

__all__ = ["HistogramData", "histogram_data", "histogram_explorer", "histogram_figure", "sample"]


def __getattr__(name: str):
    if name == "histogram_explorer":  # ipywidgets is imported when the widget is asked for
        from fp8lab.explore.histogram.widget import histogram_explorer

        return histogram_explorer
    raise AttributeError(f"module 'fp8lab.explore.histogram' has no attribute {name!r}")
