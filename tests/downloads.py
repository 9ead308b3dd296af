"""What learning platforms let an instructor download, built by code; and zips of every kind, sound and not.

canvas(path, [("Smith, Ann", 4711, False, 90210, "01_decode.ipynb", data), ...])
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from submissions import Notebook

NOON = (2026, 11, 20, 12, 0, 0)
DOWNLOADED = (2026, 12, 1, 8, 0, 0)  # when the instructor came for the zip
UNTOUCHED = Notebook().bytes()
OTHER = Notebook("02_encode").bytes()


def solved(*keys: str) -> bytes:
    """A notebook of lesson 01 with some exercises solved."""
    return Notebook().solve(*keys).bytes()


def info(name: str, when: tuple[int, ...] = NOON) -> zipfile.ZipInfo:
    """A member's head, as a Unix zip has it."""
    head = zipfile.ZipInfo(name, when)
    head.external_attr = (0o100644 if not name.endswith("/") else 0o040755) << 16
    head.create_system = 3
    head.compress_type = zipfile.ZIP_DEFLATED
    return head


def zipped(members: Mapping[str, bytes] | Iterable[tuple[str | zipfile.ZipInfo, bytes]]) -> bytes:
    """The bytes of a zip. Members by name or by head, in order, a name as often as wanted."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        pairs = members.items() if isinstance(members, Mapping) else members
        for name, data in pairs:
            head = name if isinstance(name, zipfile.ZipInfo) else info(name)
            if head.filename in archive.NameToInfo:
                del archive.NameToInfo[head.filename]  # or zipfile warns
            archive.writestr(head, data)
    return whole.getvalue()


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def canvas(files: Iterable[tuple[str, str, bool, int, str, bytes]]) -> dict[str, bytes]:
    """Members of a Canvas download: (sortable name, user id, late, file id, file name, data)."""
    found = {}
    for name, user, late, number, file, data in files:
        squeezed = re.sub(r"[\W]", "", name).lower()
        head = "_".join(filter(None, [squeezed, "LATE" if late else "", user]))
        found[f"{head}_{number}_{file}"] = data
    return found


def moodle(
    files: Iterable[tuple[str, str, str, bytes]], *, folders: bool = True, old: bool = False
) -> dict[str, bytes]:
    """Members of a Moodle download: (full name, number of the hand-in, file name, data)."""
    end = "_" if old else ""
    join = f"{end}/" if folders else "_"
    return {f"{name}_{number}_assignsubmission_file{join}{file}": data for name, number, file, data in files}


def blackboard(
    attempts: Iterable[tuple[str, str, str, str, bytes | None]],
    assignment: str = "gradebook_FP8-2026_Unit20One",
    receipts: bool = True,
    word: str = "attempt",
) -> dict[str, bytes]:
    """Members of a Blackboard download: (full name, user name, time, file name, data; None: a comment and no file)."""
    found = {}
    for name, login, when, file, data in attempts:
        head = f"{assignment}_{login}_{word}_{when}"
        if receipts:
            about = (
                f"Name: {name} ({login})\nAssignment: Unit 1\nDate Submitted: {when}\nCurrent Grade: Needs Grading\n"
            )
            found[f"{head}.txt"] = about.encode()
        if data is not None:
            found[f"{head}_{file}"] = data
    return found


def legacy(members: Mapping[str, bytes], encoding: str) -> bytes:
    """A zip whose names are in a code page and not flagged, as older Windows programs and macOS write them."""
    whole = bytearray(zipped({f"{number:04d}" + "x" * 60: data for number, data in enumerate(members.values())}))
    for number, name in enumerate(members):
        mark, raw = f"{number:04d}".encode() + b"x" * 60, name.encode(encoding)
        assert len(raw) <= 64
        for signature, head, length in ((b"PK\3\4", 30, 26), (b"PK\1\2", 46, 28)):
            place = whole.index(mark)
            start = place - head
            assert whole[start : start + 4] == signature
            whole[place : place + 64] = raw + mark[len(raw) :]
            struct.pack_into("<H", whole, start + length, len(raw))
            # what is left of the mark becomes an extra field that nobody knows
            if 64 - len(raw) >= 4:
                struct.pack_into("<H", whole, start + length + 2, 64 - len(raw))
                struct.pack_into("<HH", whole, place + len(raw), 0x7777, 60 - len(raw))
    return bytes(whole)


def with_unix_time(name: str, seconds: int) -> zipfile.ZipInfo:
    """A head with Info-ZIP's time of last change, in UTC."""
    head = info(name, (2001, 1, 1, 0, 0, 0))
    head.extra = struct.pack("<HHBl", 0x5455, 5, 1, seconds)
    return head


def with_unicode_path(name: str, shown: str) -> zipfile.ZipInfo:
    """A head with Info-ZIP's name in UTF-8 beside an ASCII one."""
    head = info(name)
    raw = shown.encode()
    head.extra = struct.pack("<HHBL", 0x7075, 5 + len(raw), 1, zlib.crc32(name.encode())) + raw
    return head


def patched(data: bytes, name: str, **fields: int) -> bytes:
    """A zip in which fields of one member are changed, in both of its heads: flags, method, crc, size."""
    whole = bytearray(data)
    raw = name.encode()
    local = whole.index(raw) - 30
    central = whole.rindex(raw) - 46
    assert whole[local : local + 4] == b"PK\3\4" and whole[central : central + 4] == b"PK\1\2"
    places = {"flags": ("<H", 6, 8), "method": ("<H", 8, 10), "crc": ("<L", 14, 16), "size": ("<L", 22, 24)}
    for field, value in fields.items():
        kind, in_local, in_central = places[field]
        struct.pack_into(kind, whole, local + in_local, value)
        struct.pack_into(kind, whole, central + in_central, value)
    return bytes(whole)
