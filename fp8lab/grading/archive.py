"""The members of a zip as items. They are read one by one, within limits, and never unpacked to disk.

An archive that cannot be listed is Unreadable as a whole. A member that is not to be opened (it is encrypted, a link,
has a path that leads elsewhere, ...) is an item with a problem, and costs no other member anything.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import BinaryIO

from fp8lab.grading import MARKS_FOLDER
from fp8lab.grading.notebook import Unreadable
from fp8lab.grading.source import MAX_DEPTH, Item, clean, holds_work, ignored, is_notebook, is_zip

MAX_MEMBERS = 20_000
MAX_DIRECTORY = 8 * 2**20  # bytes of an archive's table of contents
MAX_TOTAL = 8 * 2**30  # unpacked bytes of all notebooks of an archive
MAX_NESTED = 64 * 2**20  # bytes of an archive in an archive
MAX_NESTED_TOTAL = 256 * 2**20  # unpacked bytes of all notebooks in that
MAX_RATIO = (
    300  # unpacked to packed bytes, of members that are large; a notebook full of one printed line has about 200
)
RATIO_FROM = 8 * 2**20
MAX_NAME = 255  # characters of one part of a path, as on most disks
DEPTH = 2  # archives in each other that are opened

UTF_8 = 0x800  # flag bits, APPNOTE.TXT 4.4.4
ENCRYPTED = 0x1 | 0x40 | 0x2000
UNIX_TIME, UNICODE_PATH = 0x5455, 0x7075  # extra fields: Info-ZIP's times in UTC, and names in UTF-8
METHODS = {9: "deflate64", 12: "bzip2", 14: "LZMA", 93: "zstandard", 95: "xz", 98: "PPMd", 99: "AES encryption"}
DRIVE = re.compile(r"^[A-Za-z]:")


def members(archive: Item, zone: tzinfo | None = None) -> list[Item]:
    """The items of a zip, in its own order, folders only if they are empty. zone: of times without one.

    Unreadable when it is no zip that can be listed, too large, or too deep in other archives.
    """
    if archive.depth >= DEPTH:
        raise Unreadable("an archive in an archive in an archive; unpack it first")
    infos = _opened(archive).infolist()
    if len(infos) > MAX_MEMBERS:
        raise Unreadable(f"an archive with {len(infos):,} members; at most {MAX_MEMBERS:,} are read")
    left = MAX_NESTED_TOTAL if archive.depth else MAX_TOTAL
    items = []
    names = member_names(infos)
    for index, (info, name) in enumerate(zip(infos, names)):
        item = _item(archive, index, info, name, zone)
        if item is None:
            continue
        if not item.problem and (is_notebook(item.name) or is_zip(item.name)):
            left -= info.file_size
            if left < 0:
                item = replace(item, reader=None, problem="beyond what an archive may hold when it is unpacked")
        items.append(item)
    return list(_numbered(_without_full_folders(_without_marks(items, names, archive.path))))


def _without_marks(items: list[Item], names: Iterable[str], above: tuple[str, ...]) -> list[Item]:
    """The items with a single one for each folder that the grader has written marks to. above: path of the archive."""
    paths = (member_path(name)[0] for name in names if MARKS_FOLDER in name)
    places = {above + path[: path.index(MARKS_FOLDER)] for path in paths if MARKS_FOLDER in path[1:]}
    inside: dict[tuple[str, ...], list[Item]] = defaultdict(list)
    for item in items if places else ():
        for place in (item.path[:n] for n in range(len(above) + 1, len(item.path) + 1)):
            if place in places:
                inside[place].append(item)
    marks = [place for place, mine in inside.items() if not holds_work(mine)]
    gone = {item for place in marks for item in inside[place]}
    return [item for item in items if item not in gone] + [Item(p, folder=True, marks=True) for p in marks]


def _without_full_folders(items: list[Item]) -> Iterator[Item]:
    inside = {item.path[:n] for item in items for n in range(1, len(item.path))}
    return (item for item in items if not item.folder or item.problem or item.path not in inside)


def _numbered(items: Iterator[Item]) -> Iterator[Item]:
    count: Counter[tuple[str, ...]] = Counter()
    for item in items:
        count[item.path] += 1
        yield replace(item, copy=count[item.path])


def _item(archive: Item, index: int, info: zipfile.ZipInfo, name: str, zone: tzinfo | None) -> Item | None:
    """The item of a member; None for what systems leave behind."""
    parts, problem = member_path(name)
    if not problem and any(ignored(part) for part in parts):
        return None
    path = (*archive.path, *parts)
    folder = name.endswith(("/", "\\"))
    if is_notebook(parts[-1]) and folder:
        problem = problem or "a folder with the name of a notebook"
    problem = problem or ("" if folder else _refusal(info))
    if len(parts) > MAX_DEPTH + 1:
        problem = problem or f"{len(parts)} folders deep; {MAX_DEPTH} are looked into"
    reader = (
        None if problem or folder else _MemberReader(archive, index, (info.orig_filename, info.CRC, info.file_size))
    )
    return Item(path, reader, _when(info, zone), "its time in the zip", problem, folder, archive.depth + 1)


def member_path(name: str) -> tuple[tuple[str, ...], str]:
    """(the parts of a member's path, what is wrong with it). Backslashes separate, too: some on Windows write them.

    >>> member_path("ann/01_decode.ipynb")
    (('ann', '01_decode.ipynb'), '')
    >>> member_path("../../etc/passwd")
    (('etc', 'passwd'), 'a path that leads out of the archive')
    """
    text = name.replace("\\", "/")
    problem = ""
    if DRIVE.match(text):
        text, problem = text[2:], "a path with a drive letter"
    elif text.startswith("/"):
        problem = "an absolute path"
    parts = text.split("/")
    if ".." in parts:
        problem = problem or "a path that leads out of the archive"
    kept = tuple(clean(part) for part in parts if part not in ("", ".", ".."))
    longest = max(map(len, kept), default=0)
    if longest > MAX_NAME:
        kept = tuple(part if len(part) <= MAX_NAME else f"{part[:60]}…{part[-20:]}" for part in kept)
        problem = problem or f"a name of {longest:,} characters"
    return (kept, problem) if kept else (("(no name)",), problem or "a path without a name")


def _refusal(info: zipfile.ZipInfo) -> str:
    """Why a member is not to be opened."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "a symbolic link"
    if kind not in (0, stat.S_IFREG):
        return "not a regular file"
    if info.flag_bits & ENCRYPTED:
        return "encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        name = METHODS.get(info.compress_type, "unknown")
        return f"compressed by method {info.compress_type} ({name}); deflate is read, and what is not compressed"
    return ""


@dataclass(frozen=True)
class _MemberReader:
    """The bytes of one member. mark: by which it is known again when the archive is opened once more."""

    archive: Item
    index: int
    mark: tuple[str, int, int]

    def read(self, limit: int) -> bytes:
        size = self.mark[2]
        if size > limit:
            raise Unreadable(f"{size:,} bytes; at most {limit:,} are read")
        opened = _opened(self.archive)
        infos = opened.infolist()
        info = infos[self.index] if self.index < len(infos) else None
        if info is None or (info.orig_filename, info.CRC, info.file_size) != self.mark:
            raise Unreadable("the archive has changed while it was read")
        if size > RATIO_FROM and size > MAX_RATIO * max(1, info.compress_size):
            raise Unreadable(f"{size:,} bytes packed into {info.compress_size:,}; at most {MAX_RATIO} to 1 is read")
        try:
            with opened.open(info) as member:
                data = member.read(limit + 1)
        except Exception as problem:  # zipfile and zlib raise whatever damaged bytes lead to
            raise Unreadable(f"damaged in the archive: {str(problem)[:120] or type(problem).__name__}") from None
        if len(data) != size:
            raise Unreadable(f"damaged in the archive: {len(data):,} of {size:,} bytes")
        return data

    def open(self) -> BinaryIO:
        return io.BytesIO(self.read(MAX_NESTED))


class _Bounded(io.BufferedReader):
    """A file of which no large piece is read while it is opened: `zipfile` takes an archive's directory in one."""

    opening = True

    def read(self, size: int | None = -1) -> bytes:
        if self.opening and (size is None or size < 0):
            size = MAX_DIRECTORY
        if self.opening and size > MAX_DIRECTORY:
            raise Unreadable(f"a directory of {size:,} bytes in the archive; at most {MAX_DIRECTORY:,} are read")
        return super().read(size)

    def __del__(self) -> None:
        self.close()


@lru_cache(maxsize=4)  # the archive that is read now, those around it, and few others in memory
def _opened(archive: Item) -> zipfile.ZipFile:
    if archive.reader is None:
        raise Unreadable(archive.problem or "nothing to be read")
    try:
        file = _Bounded(archive.reader.open())
        opened = zipfile.ZipFile(file)
        file.opening = False
        return opened
    except Unreadable:
        raise
    except zipfile.BadZipFile as problem:
        words = str(problem)[:80]
        raise Unreadable(
            "not a zip, or cut off" if words == "File is not a zip file" else f"damaged zip: {words}"
        ) from None
    except OSError as problem:
        raise Unreadable(f"cannot be read: {problem.strerror or problem}") from None
    except Exception as problem:  # zipfile raises whatever the bytes of a damaged directory lead to
        raise Unreadable(f"damaged zip: {type(problem).__name__}: {str(problem)[:80]}") from None


# ---- names and times


def member_names(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """The names of all members as text.

    Flagged names and Info-ZIP's extra field are UTF-8. The others are in the code page of the machine that packed them,
    which no byte tells: macOS writes UTF-8 without the flag, Windows in China GBK, and the standard says cp437. UTF-8
    if all are valid UTF-8; GBK if all are valid and most of their characters are among the common ones (GB 2312), which
    one accented letter of cp437 between others never is; else cp437.
    """
    raw = [_raw_name(info) for info in infos]
    legacy = [name for name in raw if isinstance(name, bytes) and not name.isascii()]
    encoding = "utf-8" if all(_is(name, "utf-8") for name in legacy) else "gb18030" if _chinese(legacy) else "cp437"
    return [name if isinstance(name, str) else name.decode(encoding) for name in raw]


def _raw_name(info: zipfile.ZipInfo) -> str | bytes:
    """The name as text where the archive says how it is encoded, else as bytes."""
    if info.flag_bits & UTF_8:
        return info.orig_filename
    raw = info.orig_filename.encode("cp437")
    field = _extra(info, UNICODE_PATH)
    if (
        len(field) > 5
        and field[0] == 1
        and struct.unpack("<L", field[1:5])[0] == zlib.crc32(raw)
        and _is(field[5:], "utf-8")
    ):
        return field[5:].decode("utf-8")
    return raw


def _is(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _chinese(names: Sequence[bytes]) -> bool:
    if not all(_is(name, "gb18030") for name in names):
        return False
    characters = [c for name in names for c in name.decode("gb18030") if not c.isascii()]
    common = sum(bool(c.encode("gb2312", "ignore")) for c in characters)
    return 2 * common >= len(characters)


def _extra(info: zipfile.ZipInfo, wanted: int) -> bytes:
    """The content of an extra field; b"" if there is none."""
    rest = info.extra
    while len(rest) >= 4:
        kind, size = struct.unpack("<HH", rest[:4])
        if kind == wanted:
            return rest[4 : 4 + size]
        rest = rest[4 + size :]
    return b""


def _when(info: zipfile.ZipInfo, zone: tzinfo | None) -> float | None:
    """Seconds since 1970. Zip times have no zone, but for Info-ZIP's; 1980-01-01 means that nobody wrote one."""
    field = _extra(info, UNIX_TIME)
    if len(field) >= 5 and field[0] & 1:
        return float(struct.unpack("<l", field[1:5])[0])
    if info.date_time[:3] == (1980, 1, 1):
        return None
    try:
        return datetime(*info.date_time, tzinfo=zone).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
