"""Whose file is it? What Canvas, Moodle and Blackboard call the files that an instructor downloads from them.

canvas      smithann_LATE_4711_90210_01_decode-1.ipynb: sortable name without blanks and signs, LATE if it was, user id,
            file id, the learner's file name ("-1" when the name had been used before).
            github.com/instructure/canvas-lms, lib/content_zipper.rb, `get_filename` and `add_upload_submission`;
            an anonymous assignment has anon_x7Kq2 for name and user id
moodle      Ann Smith_123456_assignsubmission_file/01_decode.ipynb, in older versions with a "_" at the end of the
            folder's name, or, without folders, Ann Smith_123456_assignsubmission_file_01_decode.ipynb; the number
            belongs to learner and assignment together.
            github.com/moodle/moodle, mod/assign/classes/downloader.php, `get_student_prefix` and
            `load_submissionplugin_filelist`; files/classes/archive_writer: members carry the time of the download
blackboard  Unit 1_asmith_attempt_2026-11-20-10-11-12_01_decode.ipynb, and a .txt without a file name for each attempt,
            whose first line is "Name: Ann Smith (asmith)". nbgrader's documentation on zip_collect;
            github.com/kwurst/bb-file-cleanup. The word "attempt" is in the language of the instructor
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

CANVAS = re.compile(
    r"^(?:(?P<name>[^\s.\-]+?)_)??(?P<late>LATE_)?(?P<id>\d+|anon_[A-Za-z0-9]+)_(?P<number>\d+)_(?P<file>.+)$",
    re.DOTALL,
)
MOODLE = re.compile(r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?$", re.DOTALL)
BLACKBOARD = re.compile(
    r"^(?P<head>.+?)_[^\W\d_]+_(?P<when>\d{4}(?:-\d\d){5})(?:_(?P<file>.+)|(?P<receipt>\.txt))$", re.DOTALL
)
RECEIPT = re.compile(r"\A\ufeff?[^:：\n]+[:：]\s*(?P<name>[^\n]*?)\s*\((?P<login>[^()\n]+)\)\s*$", re.MULTILINE)
SHOWN = {
    "canvas": "a Canvas download",
    "moodle": "a Moodle download",
    "blackboard": "a Blackboard download",
    "plain": "a file or a folder per learner",
}


@dataclass(frozen=True)
class Who:
    """A learner as a layout tells of them; what it does not tell is "".

    scope  where `id` means something: ids of different scopes are not compared
    """

    name: str
    id: str = ""
    login: str = ""
    layout: str = "plain"
    scope: str = ""


@dataclass(frozen=True)
class Claim:
    """What a name says: whose, the learner's own file name ("" for a folder), which of several attempts.

    rank     grows with the attempts of a learner
    when     time of the attempt, without a zone
    late     the platform says that it came late
    receipt  Blackboard's .txt about an attempt, nobody's work
    """

    who: Who
    file: str = ""
    rank: int = 0
    when: datetime | None = None
    late: bool = False
    receipt: bool = False


def canvas(name: str) -> Claim | None:
    """What the name of a file says if Canvas wrote it.

    >>> canvas("smithann_LATE_4711_90210_01_decode-1.ipynb").who.id
    '4711'
    """
    found = CANVAS.match(name)
    if found is None:
        return None
    who = Who(found["name"] or found["id"], found["id"], layout="canvas")
    return Claim(who, found["file"], int(found["number"][:30]), late=bool(found["late"]))


def moodle(name: str, scope: str = "") -> Claim | None:
    """What the name of a folder or file says if Moodle wrote it.

    >>> moodle("Ann Smith_123456_assignsubmission_file_/").who.name
    'Ann Smith'
    """
    found = MOODLE.match(name.rstrip("/"))
    if found is None:
        return None
    return Claim(Who(found["name"].strip(), found["id"], layout="moodle", scope=scope), found["file"] or "")


def blackboard(name: str, receipts: dict[str, tuple[str, str]] | None = None) -> Claim | None:
    """What the name of a file says if Blackboard wrote it. receipts: head of the name -> (login, full name).

    Without a receipt the login is what follows the last "_": a login with "_" in it cannot be told from the assignment.

    >>> blackboard("Unit 1_asmith_attempt_2026-11-20-10-11-12_01_decode.ipynb").who.login
    'asmith'
    """
    found = BLACKBOARD.match(name)
    if found is None:
        return None
    try:
        when = datetime.strptime(found["when"], "%Y-%m-%d-%H-%M-%S")
    except ValueError:
        return None
    login, full = (receipts or {}).get(found["head"]) or (found["head"].rpartition("_")[2], "")
    who = Who(full, login=login, layout="blackboard")
    return Claim(who, found["file"] or "", int(when.strftime("%Y%m%d%H%M%S")), when, receipt=bool(found["receipt"]))


def read_receipt(name: str, text: str) -> tuple[str, tuple[str, str]] | None:
    """(head, (login, full name)) of one of Blackboard's .txt files, if it is one and does not contradict its name."""
    found, line = BLACKBOARD.match(name), RECEIPT.search(text.partition("\n")[0])
    if found is None or line is None or not found["receipt"]:
        return None
    head, login = found["head"], line["login"].strip()
    if not (head.casefold() == login.casefold() or head.casefold().endswith("_" + login.casefold())):
        return None
    return head, (login, line["name"].strip())


def layout_of(works: Iterable[str]) -> str:
    """The layout that most of these names (folders, notebooks and zips beside each other) follow, or "plain".

    Canvas's names are the least peculiar: an id must belong to one name, a number to one file.

    >>> layout_of(["smithann_4711_90210_01_decode.ipynb", "leejo_4712_90211_hw.ipynb", "readme.ipynb"])
    'canvas'
    >>> layout_of(["ann_2026_11_01_decode.ipynb", "bob_2026_12_01_decode.ipynb"])
    'plain'
    """
    names = list(works)
    if any(moodle(name) for name in names):
        return "moodle"
    if any(blackboard(name) for name in names):
        return "blackboard"
    claims = [claim for name in names if (claim := canvas(name))]
    owner = {claim.who.id: claim.who.name for claim in claims}
    single = all(owner[claim.who.id] == claim.who.name for claim in claims)
    apart = len({claim.rank for claim in claims}) == len(claims)
    return "canvas" if 2 * len(claims) > len(names) and single and apart else "plain"


def unsure_logins(names: Iterable[str], receipts: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Heads whose login cannot be told: without a receipt, and with an ending that other heads have, too.

    They stand for themselves, as a login that nobody else can have: two learners are never made one.
    """
    heads = {found["head"] for name in names if (found := BLACKBOARD.match(name))}
    ends: dict[str, set[str]] = {}
    for head in heads:
        ends.setdefault(head.rpartition("_")[2].casefold(), set()).add(head)
    alone = {head for same in ends.values() if len(same) > 1 for head in same}
    return {head: (head, "") for head in alone if head not in receipts}
