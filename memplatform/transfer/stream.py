"""An export as bytes, a page at a time: GET /export, and the lines of a person.

A thread makes them, with a connection and a wall of its own: a server may read an answer in any thread, after the
request has ended and its wall is closed. Nothing of this depends on who reads, how fast, or whether anybody reads to
the end.
"""

import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import datetime
from queue import Empty, Full, Queue
from typing import Any

import structlog
from django.db import DatabaseError, connection
from django.http import HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiResponse
from psycopg_pool import PoolTimeout
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.renderers import JSONRenderer

from memories.api.calls import Call, Method
from memories.api.fields import StrictSerializer
from memories.api.requests import Unavailable
from memories.audit.models import AuditEvent, AuditRecord
from memories.choices import Permission
from memories.models import Scope, Workspace
from memories.tenancy import row_level_security
from memories.tenancy.access import Caller
from memories.visibility import reached_chats, scope_for
from memplatform.transfer.export import Record, as_lines, head_of, one_moment, sections
from memplatform.transfer.records import END, HEAD, KINDS

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


def parts(spec: Wanted) -> Generator[bytes, None, None]:
    """The lines of an export, a page at a time, as the caller may see them; the records are of one moment."""
    counts: Counter[str] = Counter()
    with one_moment():
        with connection.cursor() as cursor:  # one statement of a large workspace may take most of what an export may
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{int(MOST_SECONDS)}s"])
        head = head_of(spec.workspace, spec.scope, history=spec.history)
        yield as_lines([head | {"at": spec.now.isoformat()}])
        for section in sections(spec.workspace, spec.scope, history=spec.history):
            for page in section.pages([], PAGE):
                counts[section.kind] += len(page)
                yield as_lines(_within_reach(record, spec) for record in section.records(page))
    yield as_lines([{"record": END, "counts": counts}])


def _within_reach(record: Record, spec: Wanted) -> Record:
    """A record without the names of scopes the caller does not reach."""
    if spec.caller.reaches_everything or spec.scope is None:
        return record
    for columns in [record, *(change["old"] for change in record.get("history", ()))]:
        if columns.get("chats"):
            columns["chats"] = reached_chats(spec.caller, columns["chats"])
    for name in ("user_scope", "chat_scope"):
        if record.get(name, "") not in ("", str(spec.scope.uid)):
            record[name] = None
    return record


class ExportStream:
    """The parts of an export, while a thread makes them; one that fails on the way ends without its last line."""

    def __init__(self, spec: Wanted, place: threading.Semaphore) -> None:
        """Begin; the place is given back when the thread has ended, or cannot begin. Raises what kept it from its
        first line.
        """
        self._wanted, self._place = spec, place
        self._ready: Queue[bytes | Exception | None] = Queue(AHEAD)
        self._is_over = threading.Event()
        self._log = structlog.contextvars.get_contextvars()
        self._thread = threading.Thread(target=self._make, name="export", daemon=True)
        with ExitStack() as failed:
            failed.callback(place.release)
            self._thread.start()
            failed.pop_all()
        first = self._ready.get()
        if isinstance(first, Exception):
            raise first
        if first is None:
            raise RuntimeError("the export ended before its first line")
        self._first = first

    def __iter__(self) -> Iterator[bytes]:
        yield self._first
        while True:
            alive = self._thread.is_alive()  # asked first: what it leaves behind is still read
            try:
                part = self._ready.get(timeout=1)
            except Empty:
                if alive:
                    continue
                return
            if not isinstance(part, bytes):
                return
            yield part

    def close(self) -> None:
        """Nobody reads any more."""
        self._is_over.set()

    def _make(self) -> None:
        with structlog.contextvars.bound_contextvars(**self._log):
            try:
                row_level_security.enter([self._wanted.workspace.pk])
                end = time.monotonic() + MOST_SECONDS
                with closing(parts(self._wanted)) as all_parts:
                    for part in all_parts:
                        if not self._give(part) or time.monotonic() > end:
                            log.warning("export.abandoned")
                            break
            except (DatabaseError, PoolTimeout) as error:
                log.exception("export.broken")
                self._give(error)
            finally:
                self._give(None)
                row_level_security.leave()
                connection.close()
                self._place.release()

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


LINES = "application/x-ndjson"
#: How the description of the API describes the answer: by the shape of each of its lines.
LINE = {
    "type": "object",
    "description": "What `record` names. The first line is an `export`, the last an `end` with their counts.",
    "properties": {"record": {"type": "string", "enum": [HEAD, *sorted(KINDS), END]}},
    "required": ["record"],
    "additionalProperties": {},
}
ANSWER = OpenApiResponse(LINE, "Lines of JSON, each ended by a line feed, while they are read from the database.")
#: An export keeps a thread, a connection and one moment of the database: one at a time in each web process.
PLACE = threading.BoundedSemaphore(1)


class ExportBusy(Unavailable):
    default_detail = _("Another export is being read; try again when it has ended.")
    default_code = "export_busy"
    wait = 30


class ExportQuery(StrictSerializer):
    """What is to be exported."""

    scope = serializers.CharField(
        required=False,
        max_length=255,
        help_text="Absent: the whole workspace. A key bound to scopes names one of them.",
    )
    history = serializers.BooleanField(required=False, default=False, help_text="With every change of every memory.")


class Lines(JSONRenderer):
    """For clients that accept nothing but lines; what goes wrong is one line."""

    media_type = LINES
    format = "lines"


class ExportView(Call):
    """A scope or the workspace as JSON Lines, of one moment. An export without its last line, `end`, is not whole."""

    renderer_classes = (JSONRenderer, Lines)

    @Method("export", Permission.ADMIN, {(200, LINES): ANSWER}, query=ExportQuery, only_reads=True)
    def get(self) -> Any:  # not a Response: nothing of it is rendered
        scope = None
        if "scope" in self.query:
            scope = scope_for(self.caller, self.query["scope"])
        elif not self.caller.reaches_everything:
            detail = ErrorDetail(str(_("This key reaches some scopes only; name one of them.")), code="required")
            raise ValidationError({"scope": [detail]})
        workspace = Workspace.objects.get(pk=self.caller.workspace_id)
        spec = Wanted(self.caller, workspace, scope, self.query["history"], self.now)
        if self.request.method == "HEAD":
            return HttpResponse(content_type=LINES)
        if not PLACE.acquire(blocking=False):
            raise ExportBusy
        with ExitStack() as failed:
            failed.callback(PLACE.release)
            AuditRecord.note(
                AuditEvent.EXPORTED,
                actor=self.caller.actor,
                at=self.now,
                workspace_id=workspace.pk,
                about=f"scope {scope.pk}" if scope else str(workspace),
                details={"as": "stream"},
                ip=self.request.META.get("REMOTE_ADDR") or None,
            )
            failed.pop_all()  # from here on the thread gives it back
        headers = {"Content-Disposition": 'attachment; filename="memory.jsonl"', "X-Accel-Buffering": "no"}
        return StreamingHttpResponse(ExportStream(spec, PLACE), content_type=LINES, headers=headers)
