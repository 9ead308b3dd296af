"""The outlier map: K as channels × tokens, before and after a Hadamard rotation, and where storing it goes wrong."""

from fp8lab.explore.outlier_map.data import OutlierData, outlier_data, synthetic
from fp8lab.explore.outlier_map.figure import outlier_figure

__all__ = ["OutlierData", "outlier_data", "outlier_explorer", "outlier_figure", "synthetic"]


def __getattr__(name: str):
    if name == "outlier_explorer":  # ipywidgets is imported when the widget is asked for
        from fp8lab.explore.outlier_map.widget import outlier_explorer

        return outlier_explorer
    raise AttributeError(f"module 'fp8lab.explore.outlier_map' has no attribute {name!r}")
