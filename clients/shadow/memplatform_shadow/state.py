"""What has to outlive the process: work that waits, in its order, and which memory there is which here."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE IF NOT EXISTS work (seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, at REAL NOT NULL,
    body TEXT NOT NULL, tries INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS known (there TEXT NOT NULL, here TEXT NOT NULL, as_is INTEGER NOT NULL, whose TEXT NOT NULL,
    PRIMARY KEY (there, here)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS known_here ON known (here);
CREATE TABLE IF NOT EXISTS seen (there TEXT PRIMARY KEY, whose TEXT NOT NULL, text TEXT NOT NULL, lost TEXT NOT NULL)
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS made_of (here TEXT PRIMARY KEY, sources TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS dropped (why TEXT PRIMARY KEY, times INTEGER NOT NULL) WITHOUT ROWID;
"""
NAME, LEAD = "state.db", "lead.db"


@dataclass(frozen=True)
class Work:
    """Something to be mirrored or compared; `key` is its Idempotency-Key and its name in the log."""

    seq: int
    key: str
    at: float  # seconds since 1970
    body: dict[str, Any]
    tries: int


class State:
    """One connection to the state; threads take turns at it, processes too. Readable by its owner alone."""

    def __init__(self, folder: Path, *, wait: float = 5.0) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o600))
        self._db = sqlite3.connect(folder / NAME, timeout=wait, isolation_level=None, check_same_thread=False)
        self._turn = threading.RLock()
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")  # survives a kill of the process
        self._db.executescript(_TABLES)

    def close(self) -> None:
        with self._turn:
            self._db.close()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """All that is written inside, or nothing of it."""
        with self._turn:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # work

    def waiting(self) -> int:
        """How much work waits, at most: it is taken in its order."""
        return int(self._one("SELECT coalesce(max(seq) - min(seq) + 1, 0) FROM work")[0])

    def put(self, rows: Iterable[tuple[str, float, Mapping[str, Any]]]) -> None:
        """Keep work for later: key, time and body of each."""
        given = [(key, at, json.dumps(body, ensure_ascii=False, default=str)) for key, at, body in rows]
        with self.at_once():
            self._db.executemany("INSERT INTO work (key, at, body) VALUES (?, ?, ?)", given)

    def first(self) -> Work | None:
        """What is to be done next."""
        row = self._one("SELECT seq, key, at, body, tries FROM work ORDER BY seq LIMIT 1")
        return Work(row[0], row[1], row[2], json.loads(row[3]), row[4]) if row else None

    def all_work(self) -> list[Work]:
        rows = self._all("SELECT seq, key, at, body, tries FROM work ORDER BY seq")
        return [Work(seq, key, at, json.loads(body), tries) for seq, key, at, body, tries in rows]

    def tried(self, work: Work) -> None:
        self._run("UPDATE work SET tries = tries + 1 WHERE seq = ?", work.seq)

    def done(self, work: Work) -> None:
        self._run("DELETE FROM work WHERE seq = ?", work.seq)

    # which is which

    def know(self, there: str, here: Iterable[str], *, as_is: bool, whose: Mapping[str, str]) -> None:
        """A memory there stands here as these; `as_is`: word for word, as one."""
        for one in here:
            self._run("INSERT OR REPLACE INTO known VALUES (?, ?, ?, ?)", there, one, as_is, _text(whose))
        self._run("DELETE FROM seen WHERE there = ?", there)

    def forget(self, there: str) -> None:
        self._run("DELETE FROM known WHERE there = ?", there)
        self._run("DELETE FROM seen WHERE there = ?", there)

    def forget_all(self, whose: Mapping[str, str]) -> None:
        """Forget those whose ids have all of these."""
        for table in ("known", "seen"):
            for (ids,) in self._all(f"SELECT DISTINCT whose FROM {table}"):  # noqa: S608 (two names of our own)
                if whose.items() <= json.loads(ids).items():
                    self._run(f"DELETE FROM {table} WHERE whose = ?", ids)  # noqa: S608

    def here(self, there: str) -> dict[str, tuple[bool, dict[str, str]]]:
        """What stands here for a memory there: whether as it is, and whose it is."""
        rows = self._all("SELECT here, as_is, whose FROM known WHERE there = ?", there)
        return {here: (bool(as_is), json.loads(whose)) for here, as_is, whose in rows}

    def there(self, here: str) -> list[str]:
        """The memories there that a memory here stands for."""
        return [row[0] for row in self._all("SELECT there FROM known WHERE here = ?", here)]

    def everybody(self) -> list[dict[str, str]]:
        return [json.loads(row[0]) for row in self._all("SELECT DISTINCT whose FROM known ORDER BY whose")]

    def see(self, there: str, whose: Mapping[str, str], text: str, lost: str = "") -> None:
        """A memory there that does not stand here, and why (`lost`), as far as it is known."""
        given = (there, _text(whose), text, lost)
        insert = "INSERT INTO seen VALUES (?, ?, ?, ?) ON CONFLICT (there)"
        self._run(insert + " DO UPDATE SET text = excluded.text, lost = max(lost, excluded.lost)", *given)

    def seen(self, there: str) -> tuple[dict[str, str], str, str] | None:
        """Whose it is, its text, and why it does not stand here."""
        row = self._one("SELECT whose, text, lost FROM seen WHERE there = ?", there)
        return (json.loads(row[0]), row[1], row[2]) if row else None

    def sources(self, here: str) -> list[str] | None:
        """What a memory here was made of; None: not asked yet."""
        row = self._one("SELECT sources FROM made_of WHERE here = ?", here)
        return json.loads(row[0]) if row else None

    def keep_sources(self, here: str, sources: list[str]) -> None:
        self._run("INSERT OR REPLACE INTO made_of VALUES (?, ?)", here, json.dumps(sources))

    # what was dropped

    def drop(self, why: str, times: int) -> None:
        insert = "INSERT INTO dropped VALUES (?, ?) ON CONFLICT (why)"
        self._run(insert + " DO UPDATE SET times = times + excluded.times", why, times)

    def dropped(self) -> dict[str, int]:
        return dict(self._all("SELECT why, times FROM dropped"))

    def forget_dropped(self, why: str) -> None:
        self._run("DELETE FROM dropped WHERE why = ?", why)

    def _run(self, sql: str, *given: Any) -> None:
        with self._turn:
            self._db.execute(sql, given)

    def _all(self, sql: str, *given: Any) -> list[Any]:
        with self._turn:
            return self._db.execute(sql, given).fetchall()

    def _one(self, sql: str, *given: Any) -> Any:
        with self._turn:
            return self._db.execute(sql, given).fetchone()


def _text(whose: Mapping[str, str]) -> str:
    return json.dumps(dict(whose), sort_keys=True, ensure_ascii=False)


class Lead:
    """Of the processes that share a folder one works; the system ends its claim with it."""

    def __init__(self, folder: Path) -> None:
        self._held = False
        os.close(os.open(folder / LEAD, os.O_RDWR | os.O_CREAT, 0o600))
        self._db = sqlite3.connect(folder / LEAD, timeout=0, isolation_level=None, check_same_thread=False)

    def is_ours(self) -> bool:
        """Whether this process is the one; where nobody is, it becomes it."""
        if not self._held:
            try:
                self._db.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:
                return False
            self._held = True
        return True

    def close(self) -> None:
        self._db.close()
        self._held = False
