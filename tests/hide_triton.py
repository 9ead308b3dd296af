"""A machine without Triton, as macOS and Windows are: a folder for PYTHONPATH under which `import triton` fails."""

from __future__ import annotations

from pathlib import Path

FINDER = """
import sys


class NoTriton:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "triton":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NoTriton())
"""


def without_triton(folder: Path) -> str:
    """The folder to put first on PYTHONPATH: Python runs its sitecustomize.py before anything else."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(FINDER)
    return str(folder)
