"""The class list: who is expected, and which of them a submission belongs to. Nothing is guessed.

Any CSV with a header line: the exports of Canvas, Moodle and Blackboard, or one's own. Columns are known by their
header, whatever their order; separated by comma, semicolon or tab; UTF-8, UTF-16 with a mark, or GB 18030 (Excel).
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fp8lab.grading.layouts import Who

MAX_BYTES = 16 * 2**20
COLUMNS = {  # header without case, blanks and signs -> what it holds
    "name": "student name fullname studentname displayname learner 姓名 名字 学生 学生姓名 学员 学员姓名 全名",
    "first": "firstname givenname forename 名",
    "last": "lastname surname familyname 姓 姓氏",
    "id": "id studentid sisuserid sisid userid canvasuserid idnumber studentnumber matriculationnumber "
    "学号 学生学号 学生编号 工号 学籍号",
    "login": "username login loginid sisloginid userlogin netid account 用户名 账号 登录名 帐号",
    "email": "email emailaddress mail emailid 邮箱 电子邮箱 电子邮件 电子邮件地址 邮件",
}
KIND = {header: kind for kind, headers in COLUMNS.items() for header in headers.split()}
CANVAS_IDS = ("id", "userid", "canvasuserid")  # what Canvas calls its own number, which it puts into file names
OURS = ("points possible", "student, test")  # lines of Canvas's own gradebook that are no learners
SHORTEST_TOKEN = 4  # characters of an id that is looked for inside a longer name
CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U000323af々]{2,6}")  # a name


@dataclass(frozen=True)
class Person:
    """One line of the class list.

    label    what the tables call them: their name, with the id if others have the same name
    canvas   those of the ids that may be Canvas's number
    logins   user names and addresses
    columns  the line as it stands in the file, header -> cell
    """

    label: str
    ids: tuple[str, ...] = ()
    canvas: tuple[str, ...] = ()
    logins: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()  # see `squeezed`
    columns: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)


@dataclass(frozen=True)
class Match:
    """To whom a submission belongs: one person; none; or several, and then it is nobody's."""

    people: tuple[Person, ...] = ()

    @property
    def person(self) -> Person | None:
        return self.people[0] if len(self.people) == 1 else None


class Roster:
    """The people of a class, and whose a submission is."""

    def __init__(self, people: Iterable[Person]) -> None:
        self.people = tuple(people)
        self._ids = self._index(lambda person: person.ids)
        self._canvas = self._index(lambda person: person.canvas)
        self._logins = self._index(lambda person: person.logins)
        self._mailboxes = self._index(lambda person: (login.partition("@")[0] for login in person.logins))
        self._names = self._index(lambda person: person.names)

    def _index(self, keys: Callable[[Person], Iterable[str]]) -> dict[str, list[Person]]:
        found: dict[str, list[Person]] = defaultdict(list)
        for person in self.people:
            for key in dict.fromkeys(folded(key) for key in keys(person)):
                found[key].append(person)
        return dict(found)

    def match(self, who: Who) -> Match:
        """Whose a submission is: by id, by login, by name, by an id inside a longer name; the first that fits decides.

        An id or login of one person with the name of another is a contradiction, and fits both.
        """
        named = self._names.get(squeezed(who.name), []) if who.name else []
        found = self._by_account(who)
        if found and named and not set(found) & set(named):
            return Match((*found, *named))
        if not found and not named and who.layout != "canvas":
            found = [person for token in _tokens(who.name) for person in self._ids.get(folded(token), ())]
        return Match(tuple(dict.fromkeys(found or named)))

    def _by_account(self, who: Who) -> list[Person]:
        if who.layout == "canvas":
            return self._canvas.get(folded(who.id), [])
        account = folded(who.name if who.layout == "plain" else who.login)  # Moodle's number is that of a hand-in
        if not account:
            return []
        return self._ids.get(account) or self._logins.get(account) or self._mailboxes.get(account) or []


def _tokens(name: str) -> Iterator[str]:
    """Pieces of a name that may be an id: they hold a digit and are not short."""
    pieces = re.split(r"[\W_]+", name) + re.findall(r"[A-Za-z]*\d+", name)
    return (piece for piece in pieces if len(piece) >= SHORTEST_TOKEN and re.search(r"\d", piece))


def folded(text: str) -> str:
    """Text without differences of case, width and Unicode form."""
    return unicodedata.normalize("NFKC", text).casefold().strip()


def squeezed(name: str) -> str:
    """A name without blanks and signs, as Canvas writes it.

    >>> squeezed("O'Neil, Mary Ann")
    'oneilmaryann'
    """
    return "".join(c for c in folded(name) if c.isalnum() or unicodedata.category(c).startswith("M"))


def name_forms(name: str, first: str = "", last: str = "") -> frozenset[str]:
    """All ways in which the parts of a name may be in order, squeezed.

    A name of CJK characters without a blank does not tell where the family name ends, so it may end anywhere: a
    platform that is set to given names first writes 王小明 as 小明 王, and its file names as 小明王.

    >>> sorted(name_forms("Smith, Ann")), sorted(name_forms("王小明"))
    (['annsmith', 'smithann'], ['小明王', '明王小', '王小明'])
    """
    words: Sequence[str] = [squeezed(word) for word in re.split(r"[\s,，、]+", name)]
    both = {squeezed(first + last), squeezed(last + first)} if first or last else set()
    if len(words) == 1 and not (first and last) and CJK.fullmatch(words[0]):
        words = list(words[0])
    turns = {"".join(words[n:]) + "".join(words[:n]) for n in range(len(words))}
    return frozenset(form for form in turns | both if form)


def read_roster(path: Path) -> Roster:
    """The class list in a file. ValueError says what is wrong with it; OSError when it cannot be read."""
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{path}: more than {MAX_BYTES:,} bytes; a class list is smaller")
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise ValueError(f"{path}: a spreadsheet; save it as CSV (UTF-8)")
    rows = _rows(_text(data, path))
    place, kinds = next(((n, kinds) for n, row in enumerate(rows[:10]) if (kinds := _kinds(row))), (0, {}))
    if not kinds:
        seen = ", ".join(cell.strip() for cell in rows[0])[:200] if rows else "nothing"
        wanted = "name, student, first name, last name, id, student id, username, login, email, 姓名, 学号"
        raise ValueError(f"{path}: no column that names learners in its header ({seen}); known are {wanted}, ...")
    header = [cell.strip() for cell in rows[place]]
    drafts = [draft for row in rows[place + 1 :] if (draft := _Draft(kinds, header, row)).anybody]
    if not drafts:
        raise ValueError(f"{path}: nobody is on it")
    _require_single(drafts, path)
    return Roster(_labelled(drafts, path))


def _require_single(drafts: list[_Draft], path: Path) -> None:
    """ValueError when somebody's id or login stands in the same column again."""
    lines: dict[tuple[str, str], list[_Draft]] = defaultdict(list)
    for draft in drafts:
        for column, cell in draft.accounts:
            lines[column, folded(cell)].append(draft)
    for (column, _), same in lines.items():
        if len(same) > 1:
            who = ", ".join(draft.name or draft.account for draft in same)
            raise ValueError(f"{path}: {column} {dict(same[0].accounts)[column]!r} is there {len(same)} times: {who}")


def _text(data: bytes, path: Path) -> str:
    encodings = ("utf-16",) if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "gb18030")
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise ValueError(f"{path}: neither UTF-8 nor GB 18030; save it as CSV (UTF-8)")


def _rows(text: str) -> list[list[str]]:
    """The lines, split at the sign at which most columns are known."""
    best: list[list[str]] = []
    for delimiter in (",", ";", "\t"):
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(row)]
        except csv.Error:
            continue
        if not best or _known(rows) > _known(best):
            best = rows
    return best


def _known(rows: list[list[str]]) -> tuple[int, int]:
    return max((len(_kinds(row)), len(row)) for row in rows[:10]) if rows else (0, 0)


def _kinds(row: list[str]) -> dict[int, str]:
    """Column -> what it holds, of a header line."""
    return {place: kind for place, cell in enumerate(row) if (kind := KIND.get(squeezed(cell)))}


class _Draft:
    """One line, before it is known whether its name is the only one of the kind."""

    def __init__(self, kinds: Mapping[int, str], header: list[str], row: list[str]) -> None:
        self.columns = {name: cell.strip() for name, cell in zip(header, row) if name}
        cells: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for place, kind in kinds.items():
            if place < len(row) and (cell := re.sub(r"\s+", " ", row[place]).strip()):
                cells[kind].append((header[place], cell))
        self.accounts = [*cells["id"], *cells["login"], *cells["email"]]
        self.ids = tuple(dict.fromkeys(cell for _, cell in cells["id"]))
        self.canvas = tuple(cell for column, cell in cells["id"] if squeezed(column) in CANVAS_IDS)
        self.logins = tuple(dict.fromkeys(cell for _, cell in [*cells["login"], *cells["email"]]))
        first, last = (" ".join(cell for _, cell in cells[part]) for part in ("first", "last"))
        chinese = re.search(r"[\u3400-\u9fff]", first + last)
        joined = last + first if chinese else " ".join(filter(None, (first, last)))
        names = [cell for _, cell in cells["name"]]
        self.name = (names or [joined])[0]
        self.names = name_forms(joined, first, last).union(*(name_forms(name, first, last) for name in names))
        self.anybody = bool(self.name or self.accounts) and folded(self.name) not in OURS

    @property
    def account(self) -> str:
        return self.accounts[0][1] if self.accounts else ""


def _labelled(drafts: list[_Draft], path: Path) -> list[Person]:
    count = Counter(folded(draft.name) for draft in drafts)
    people: dict[str, Person] = {}
    for draft in drafts:
        label = draft.name or draft.account
        if draft.name and draft.account and count[folded(draft.name)] > 1:
            label = f"{draft.name} ({draft.account})"
        if label in people:
            raise ValueError(f"{path}: {label!r} is there twice, and no id tells them apart")
        people[label] = Person(label, draft.ids, draft.canvas, draft.logins, draft.names, draft.columns)
    return list(people.values())
