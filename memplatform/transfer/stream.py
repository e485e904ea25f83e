"""An export as bytes, a page at a time: made by a thread of its own, with a connection and a wall of its own.

A server may read an answer in any thread, after the request has ended and its wall is closed. Nothing of this depends
on who reads, how fast, or whether anybody reads to the end.
"""

import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime
from queue import Empty, Full, Queue

import structlog
from django.db import DatabaseError, connection
from psycopg_pool import PoolTimeout

from memories.models import Scope, Workspace
from memories.tenancy import row_level_security
from memories.tenancy.access import Caller
from memories.visibility import reached_chats
from memplatform.transfer.export import as_lines, head_of, one_moment
from memplatform.transfer.records import END
from memplatform.transfer.sections import Record, sections

log = structlog.get_logger(__name__)
PAGE = 200
#: Pages that wait to be read.
AHEAD = 2
#: A reader that takes nothing for so long has gone; and no reader keeps one moment of the database for longer.
STALLED_SECONDS = 60.0
MOST_SECONDS = 1_800.0


@dataclass(frozen=True)
class Wanted:
    """What is exported, and for whom."""

    caller: Caller
    workspace: Workspace
    scope: Scope | None  # None: the whole workspace
    history: bool
    now: datetime


def parts(wanted: Wanted) -> Generator[bytes, None, None]:
    """The lines of an export, a page at a time, as the caller may see them; the records are of one moment."""
    counts: Counter[str] = Counter()
    with one_moment():
        head = head_of(wanted.workspace, wanted.scope, history=wanted.history)
        yield as_lines([head | {"at": wanted.now.isoformat()}])
        for section in sections(wanted.workspace, wanted.scope, history=wanted.history):
            for page in section.pages([], PAGE):
                counts[section.kind] += len(page)
                yield as_lines(_within_reach(record, wanted) for record in section.records(page))
    yield as_lines([{"record": END, "counts": counts}])


def _within_reach(record: Record, wanted: Wanted) -> Record:
    """A record without the names of scopes the caller does not reach."""
    if wanted.caller.reaches_everything or wanted.scope is None:
        return record
    for columns in [record, *(change["old"] for change in record.get("history", ()))]:
        if columns.get("chats"):
            columns["chats"] = reached_chats(wanted.caller, columns["chats"])
    for name in ("user_scope", "chat_scope"):
        if record.get(name, "") not in ("", str(wanted.scope.uid)):
            record[name] = None
    return record


class ExportStream:
    """The parts of an export, while a thread makes them; one that fails on the way ends without its last line."""

    def __init__(self, wanted: Wanted, place: threading.Semaphore) -> None:
        """Begin; the place is given back when the thread has ended. Raises what kept it from its first line."""
        self._wanted, self._place = wanted, place
        self._ready: Queue[bytes | Exception | None] = Queue(AHEAD)
        self._is_over = threading.Event()
        self._log = structlog.contextvars.get_contextvars()
        self._thread = threading.Thread(target=self._make, name="export", daemon=True)
        self._thread.start()
        first = self._ready.get()
        if isinstance(first, Exception):
            raise first
        if first is None:
            raise RuntimeError("the export ended before its first line")
        self._first = first

    def __iter__(self) -> Iterator[bytes]:
        yield self._first
        while isinstance(part := self._next(), bytes):
            yield part

    def close(self) -> None:
        """Nobody reads any more."""
        self._is_over.set()

    def _next(self) -> bytes | Exception | None:
        while True:
            alive = self._thread.is_alive()  # asked first: what it leaves behind is still read
            try:
                return self._ready.get(timeout=1)
            except Empty:
                if not alive:
                    return None

    def _make(self) -> None:
        with structlog.contextvars.bound_contextvars(**self._log):
            try:
                row_level_security.enter([self._wanted.workspace.pk])
                self._give_all()
            except (DatabaseError, PoolTimeout) as error:
                log.exception("export.broken")
                self._give(error)
            finally:
                self._give(None)
                row_level_security.leave()
                connection.close()
                self._place.release()

    def _give_all(self) -> None:
        end = time.monotonic() + MOST_SECONDS
        made = parts(self._wanted)
        try:
            for part in made:
                if not self._give(part) or time.monotonic() > end:
                    log.warning("export.abandoned")
                    return
        finally:
            made.close()

    def _give(self, part: bytes | Exception | None) -> bool:
        """Whether somebody still reads."""
        end = time.monotonic() + STALLED_SECONDS
        while not self._is_over.is_set() and time.monotonic() < end:
            try:
                self._ready.put(part, timeout=0.2)
            except Full:
                continue
            return True
        return False
