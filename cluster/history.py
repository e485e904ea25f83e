"""What clients asked, when, and what they were answered: one line of JSON a call, in a file anyone can read again.

Every text that is written begins with a mark, a made-up word that occurs nowhere else. A history names texts by their
marks alone.
"""

import json
import random
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

_SYLLABLES = ["ba", "ke", "lo", "mi", "nu", "pra", "ste", "vor", "zil", "dom", "fen", "gar", "hul", "jak", "ros", "tiv"]
_MARK = re.compile(r"\bmk(?:ba|ke|lo|mi|nu|pra|ste|vor|zil|dom|fen|gar|hul|jak|ros|tiv){7}q\b")
_WORDS = 9  # of a text, behind its mark


class What(StrEnum):
    """The calls a client makes."""

    TURN = "turn"
    CREATE = "create"
    EDIT = "edit"
    REVERT = "revert"  # takes an edit back
    DELETE = "delete"
    RESTORE = "restore"  # takes a deletion back
    EXPIRE = "expire"  # a batch that takes an entry out of use
    UNDO = "undo"  # takes the batch back
    READ = "read"  # one entry
    RECALL = "recall"


READS = {What.READ, What.RECALL}
#: What writes the words of an entry, what takes it out of use, and what brings it back.
WORDING, REMOVING, RETURNING = (
    {What.CREATE, What.EDIT, What.REVERT},
    {What.DELETE, What.EXPIRE},
    {What.RESTORE, What.UNDO},
)


class Outcome(StrEnum):
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"  # it was not done
    UNKNOWN = "unknown"  # it may have been done, or may yet be


@dataclass(frozen=True)
class Shown:
    """A text in an answer, or in what is stored at the end."""

    mark: str
    is_live: bool = True


@dataclass(frozen=True)
class Call:
    """One call; a write that is tried again is a call more, with the same `key`. Times are seconds of one clock."""

    id: str
    client: str
    workspace: str
    peer: str  # the person whose memory is meant
    what: What
    start: float
    end: float
    key: str = ""  # its Idempotency-Key; empty of a read
    target: str = ""  # the client's own name of the entry; empty of a turn and what asks for it
    mark: str = ""  # of the text that is written, or asked for
    entry: str = ""  # its id, as far as the client knows
    status: int | None = None  # None: no answer
    degraded: tuple[str, ...] = ()
    shows: tuple[Shown, ...] = ()
    seconds_to_wait: float | None = None  # Retry-After

    @property
    def outcome(self) -> Outcome:
        """A conflict or an error of the server leaves open what an attempt has done."""
        if self.status is None or self.status == 409 or self.status >= 500:
            return Outcome.UNKNOWN
        return Outcome.ACKNOWLEDGED if self.status < 300 else Outcome.REFUSED


@dataclass(frozen=True)
class Stored:
    """A text that is there at the end, as a message of a session or as a memory."""

    workspace: str
    place: str  # message, memory
    mark: str
    uid: str
    is_live: bool = True
    version: int = 1


MESSAGE, MEMORY = "message", "memory"


def mark_of(client: int, number: int) -> str:
    """A word for the text of a client with this number, below 65,536; that of the text is below 4,096."""
    digits = [(client * 4096 + number) >> shift & 15 for shift in range(24, -1, -4)]
    return f"mk{''.join(_SYLLABLES[digit] for digit in digits)}q"


def marks_in(text: str) -> list[str]:
    return _MARK.findall(text)


def text_of(mark: str) -> str:
    """The words behind a mark: always the same, and like no other's."""
    pick = random.Random(mark)
    return " ".join([mark, *("".join(pick.choices(_SYLLABLES, k=4)) for _ in range(_WORDS))])


class Writer:
    """Appends calls to a file, a line each, from any thread; a line is on its way to the disk before the next call."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.lock = file, threading.Lock()

    def add(self, row: Call | Stored) -> None:
        line = json.dumps({name: value for name, value in asdict(row).items() if value not in ("", (), None)})
        with self.lock:
            self.file.write(line + "\n")
            self.file.flush()


def calls_of(path: Path) -> list[Call]:
    """The calls of a history file; a last line that was cut short is no call."""
    return [
        Call(
            **{
                **row,
                "what": What(row["what"]),
                "degraded": tuple(row.get("degraded", ())),
                "shows": tuple(Shown(**view) for view in row.get("shows", ())),
            }
        )
        for row in _rows(path)
    ]


def stored_of(path: Path) -> list[Stored]:
    names = {field.name for field in fields(Stored)}
    return [Stored(**{name: value for name, value in row.items() if name in names}) for row in _rows(path)]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError as problem:
            if number < len(lines):
                raise ValueError(f"{path}, line {number}: {problem}") from problem


def write_rows(path: Path, rows: Iterable[Call | Stored]) -> None:
    with path.open("w") as file:
        writer = Writer(file)
        for row in rows:
            writer.add(row)
