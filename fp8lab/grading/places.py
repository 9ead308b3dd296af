"""Where temporary files of a grader lie: one folder per process, which goes with it, however it ends.

A grader that ends in order removes its folder. One that is killed cannot; the next grader on the machine finds that
nobody holds the lock in the folder, and removes it then.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "fp8g-"
LOCK = "owner"  # held for as long as the process lives
YOUNG = 60.0  # seconds: a folder without a lock file may be one that is just being made
MOST = 60  # characters of a folder's path: that of a socket in it has at most 107

_mine: dict[int, Path] = {}  # process id -> its folder; a fork of this process makes its own
_locks: list[int] = []  # descriptors that stay open


def own_folder() -> Path:
    """The folder of this process, made at the first call; what killed graders have left is removed then."""
    if os.getpid() not in _mine:
        parent = short_folder()
        sweep(parent)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        _lock(folder)
        _mine[os.getpid()] = folder
        atexit.register(_remove, folder, os.getpid())
    return _mine[os.getpid()]


def new_folder(prefix: str = "") -> Path:
    """A fresh folder in that of this process."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=own_folder()))


def short_folder() -> str:
    """Where temporary folders go: the system's place, or /tmp where that has too long a name for sockets."""
    folder = tempfile.gettempdir()
    return folder if len(folder) < MOST or not os.access("/tmp", os.W_OK) else "/tmp"


def sweep(parent: str) -> list[str]:
    """Remove the folders in `parent` whose owner is gone, and return their names. Windows: nothing is swept."""
    removed = []
    for entry in os.scandir(parent):
        if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False) and _abandoned(Path(entry.path)):
            shutil.rmtree(entry.path, ignore_errors=True)
            removed.append(entry.name)
    return removed


def _abandoned(folder: Path) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        if folder.stat().st_uid != os.getuid():
            return False
        if not (folder / LOCK).exists():
            return time.time() - folder.stat().st_mtime > YOUNG
        with open(folder / LOCK) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held, or gone meanwhile
        return False
    return True


def _lock(folder: Path) -> None:
    """Put a lock into the folder that is held from the moment when it can be seen."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    hidden = folder / f".{LOCK}"
    descriptor = os.open(hidden, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.rename(hidden, folder / LOCK)
    _locks.append(descriptor)


def _remove(folder: Path, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)
