"""Old history and recall traces in object storage (S3): moved there, brought back, checked, and reached by erasures.

An object holds rows of one table of one workspace and month as JSON lines, packed by gzip, beside a manifest. Rows
leave the database in the transaction that notes the object, once object and manifest were read back and the rows are
still what was written. Killed before, the rows are here, and the object is one that nobody notes: it is written again,
or removed by an erasure.
"""

import gzip
import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction
from django.db.models import Min, Q
from django.utils.translation import gettext as _

from memories import postgresql
from memories.conf import conf
from memories.exceptions import PlatformError
from memories.models import ArchivedRows, Change, RecallTrace, Workspace

with suppress(ImportError):  # an extra: without it nothing is archived
    from obstore.exceptions import BaseError
    from obstore.store import S3Store

log = structlog.get_logger(__name__)
HISTORY, TRACES = Change._meta.db_table, RecallTrace._meta.db_table
#: The tables rows are moved from, with their column of time.
TABLES = {TRACES: "created_at", HISTORY: "at"}
#: Whose history is moved: what grows with use. What staff did, who is linked to whom, what removed rows held: it stays.
RECORDED = (
    *("memories_entry", "memories_slot", "memories_link", "memories_suppression", "memories_dailyevent"),
    "sessions_app_session",
)
ROWS = 20_000  # of an object at most
MANIFEST = ".manifest.json"
_FORMAT, _NIGHTLY_SECONDS = 1, 300
_LOCK = 18 << 56  # the highest byte of an advisory lock is its kind
#: Of a change, what names an entry that a row hung on.
_NAMES_ENTRY = ("entry_id", "from_entry_id", "to_entry_id")
_LEAVE = {
    HISTORY: "SELECT memplatform_archive_history(%(workspace)s, %(object)s, %(ids)s)",
    TRACES: "DELETE FROM memories_recalltrace t WHERE workspace_id = %(workspace)s AND id = ANY(%(ids)s)"
    " RETURNING to_jsonb(t)::text",
}
# ruff: noqa: S608 (names of tables)
Row = dict[str, Any]


class ArchiveError(PlatformError, code="archive"):
    """The archive cannot be used."""


class Store:
    """The bucket of the owner; no other host is ever asked."""

    def __init__(self) -> None:
        options = settings.ARCHIVE
        if missing := [name for name in ("ENDPOINT", "BUCKET", "KEY", "SECRET") if not options[name]]:
            names = ", ".join(f"MEMPLATFORM_ARCHIVE_{name}" for name in missing)
            raise ArchiveError(_("No archive is configured: set %s.") % names)
        if "S3Store" not in globals():
            raise ArchiveError(_('Install what the archive needs: pip install "memplatform[archive]".'))
        self._bucket = S3Store(
            options["BUCKET"],
            endpoint=options["ENDPOINT"],
            region=options["REGION"],
            access_key_id=options["KEY"],
            secret_access_key=options["SECRET"],
            virtual_hosted_style_request=False,
            client_options={"allow_http": True, "connect_timeout": "10s", "timeout": "60s"},
            retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=60)},
        )

    def _ask(self, operation: str, *values: Any) -> Any:
        try:
            answer = getattr(self._bucket, operation)(*values)
            return bytes(answer.bytes()) if operation == "get" else list(answer) if operation == "list" else answer
        except (BaseError, OSError) as problem:  # its text names addresses
            reason = _("The archive did not do what was asked: %(what)s, %(problem)s.")
            raise ArchiveError(reason % {"what": operation, "problem": type(problem).__name__}) from None

    def check(self, workspace: Workspace) -> None:
        """Raises ArchiveError where the bucket keeps what is removed: an erasure would not reach it."""
        probe = f"{_prefix(workspace)}probe"
        keeps = self._ask("put", probe, b"")["version"]
        self.remove(probe)
        if keeps:
            raise ArchiveError(_("The bucket keeps former versions of objects, which no erasure would reach."))

    def put(self, key: str, body: bytes) -> None:
        """Write an object and read it back."""
        self._ask("put", key, body)
        if self.get(key) != body:
            raise ArchiveError(_("%s is not what was written.") % key)

    def get(self, key: str) -> bytes:
        content: bytes = self._ask("get", key)
        return content

    def names(self, prefix: str) -> list[str]:
        return [item["path"] for page in self._ask("list", prefix) for item in page]

    def remove(self, *keys: str) -> None:
        if keys:
            self._ask("delete", list(keys))


def due(*, now: datetime) -> dict[str, datetime]:
    """By table, the moment before which rows are old enough to be moved."""
    return {TRACES: now - conf.ARCHIVE_TRACES_AFTER, HISTORY: now - conf.ARCHIVE_HISTORY_AFTER}


def move_due(workspace_id: int, *, now: datetime) -> dict[str, int]:
    """A night's work in a workspace; where there is too much, the next goes on."""
    counts = move(Workspace.objects.get(pk=workspace_id), due(now=now), now=now, seconds=_NIGHTLY_SECONDS)
    return {"traces": counts[TRACES], "changes": counts[HISTORY]}


def count_due(workspace_id: int, *, now: datetime) -> dict[str, int]:
    counted = count(Workspace.objects.get(pk=workspace_id), due(now=now))
    return {"traces": counted[TRACES], "changes": counted[HISTORY]}


def count(workspace: Workspace, before: Mapping[str, datetime]) -> dict[str, int]:
    """How many rows a run would move: history once these traces have left."""
    since = before.get(TRACES)
    return {table: _old(workspace, table, moment, counted=True, since=since)[0][0] for table, moment in before.items()}


def move(workspace: Workspace, before: Mapping[str, datetime], *, now: datetime, seconds: float = 0) -> dict[str, int]:
    """Move rows older than these moments, for so many seconds at most; how many of each table.

    Objects that hold what was removed for good since are written anew first. Raises ArchiveError.
    """
    store, counts = Store(), dict.fromkeys(before, 0)
    store.check(workspace)
    with _alone(workspace):
        began = time.monotonic()
        _forget_purged(store, workspace)
        for table, moment in before.items():
            while not (seconds and time.monotonic() - began > seconds) and (rows := _old(workspace, table, moment)):
                month = f"{rows[0][2]:%Y-%m}"
                rows = [row for row in rows if f"{row[2]:%Y-%m}" == month]
                if not _move(store, workspace, table, rows, now):
                    break
                counts[table] += len(rows)
    return counts


def _old(workspace: Workspace, table: str, before: datetime, *, counted: bool = False, since: Any = None) -> list[Any]:
    """The next rows to be moved: id, as JSON, and time; or how many there are, were traces before `since` gone."""
    at, where = TABLES[table], ""
    if table == HISTORY:
        where = "AND t.op <> 'D' AND t.table_name = ANY(%(recorded)s)"
        # A trace that is here shows its memories in the words of then, which history tells
        traces = RecallTrace.objects.filter(Q(created_at__gte=since) if since else Q(), workspace=workspace)
        oldest = traces.aggregate(oldest=Min("created_at"))["oldest"]
        before = min(before, oldest or before)
    what = "count(*)" if counted else f"t.id, to_jsonb(t)::text, {at}"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {what} FROM {table} t WHERE t.workspace_id = %(workspace)s AND {at} < %(before)s {where}"
            + ("" if counted else f" ORDER BY {at}, t.id LIMIT {ROWS}"),
            {"workspace": workspace.pk, "before": before, "recorded": list(RECORDED)},
        )
        rows: list[Any] = cursor.fetchall()
        return rows


def _move(store: Store, workspace: Workspace, table: str, rows: Sequence[Any], now: datetime) -> bool:
    """Write rows as an object and have them leave; whether they did: not where one was changed meanwhile."""
    lines = [row[1] for row in rows]
    record = ArchivedRows(workspace=workspace, table_name=table, until=rows[-1][2], archived_at=now)
    _write(store, record, lines)
    with transaction.atomic(), connection.cursor() as cursor:
        record.save()
        cursor.execute(_LEAVE[table], {"workspace": workspace.pk, "object": record.pk, "ids": [row[0] for row in rows]})
        has_left = sorted(row[0] for row in cursor.fetchall()) == sorted(lines)
        transaction.set_rollback(not has_left)
    log.info("archive.moved", workspace=workspace.pk, table=table, rows=len(rows), key=record.key, left=has_left)
    return has_left


def _write(store: Store, record: ArchivedRows, lines: Sequence[str]) -> None:
    """Write an object and its manifest, and note in the row what they are; the same lines make the same object."""
    ids = [json.loads(line)["id"] for line in lines]
    body = gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)
    record.sha256, record.rows = hashlib.sha256(body).hexdigest(), len(lines)
    record.first_id, record.last_id = min(ids), max(ids)
    place = f"{_prefix(record.workspace)}{record.table_name}/{record.until:%Y-%m}"
    record.key = f"{place}/{record.first_id}-{record.last_id}-{record.sha256[:16]}.jsonl.gz"
    store.put(record.key, body)
    columns = {name: getattr(record, name) for name in ("table_name", "key", "sha256", "rows", "first_id", "last_id")}
    manifest = {"format": _FORMAT, "workspace": record.workspace.uid, **columns, "until": record.until}
    store.put(record.key + MANIFEST, json.dumps(manifest, indent=1, cls=DjangoJSONEncoder).encode())


def _lines(store: Store, record: ArchivedRows) -> list[str]:
    """The rows of an object, as they were written. Raises ArchiveError."""
    body = store.get(record.key)
    if hashlib.sha256(body).hexdigest() != record.sha256:
        raise ArchiveError(_("%s is not what was written.") % record.key)
    return gzip.decompress(body).decode().split("\n")[:-1]  # other ends of lines may stand in a row


def objects(workspace: Workspace, table: str = "") -> list[ArchivedRows]:
    """What is noted of a workspace, the oldest first."""
    rows = ArchivedRows.objects.filter(workspace=workspace).select_related("workspace").order_by("until", "pk")
    return list(rows.filter(table_name=table) if table else rows)


def verify(workspace: Workspace) -> tuple[dict[str, int], list[str]]:
    """How many rows of each table were found as they were written, and a sentence for each thing that is wrong."""
    store, counts, wrong = Store(), dict.fromkeys(TABLES, 0), []
    noted_keys = set()
    for record in objects(workspace):
        noted_keys |= {_listed(record.key), _listed(record.key) + MANIFEST}
        try:
            counts[record.table_name] += len(_lines(store, record))
            if json.loads(store.get(record.key + MANIFEST))["sha256"] != record.sha256:
                wrong.append(_("%s is not what was written.") % (record.key + MANIFEST))
        except ArchiveError as problem:
            wrong.append(str(problem))
    wrong += [_("%s is noted nowhere.") % key for key in store.names(_prefix(workspace)) if key not in noted_keys]
    return counts, wrong


def read(workspace: Workspace, table: str) -> Iterator[str]:
    """The archived rows of a table, each as JSON."""
    store = Store()
    for record in objects(workspace, table):
        yield from _lines(store, record)


def restore(workspace: Workspace, table: str, *, now: datetime) -> int:
    """Bring the rows of a table back, the newest object first; how many. Nothing comes back of what was removed for
    good since. Raises ArchiveError.
    """
    if table == TRACES and any(record.until < now - conf.TRACE_TTL for record in objects(workspace, table)):
        raise ArchiveError(_("Traces older than MEMORY_TRACE_TTL would be removed within the hour: raise it first."))
    store, count, line = Store(), 0, "line"
    if table == TRACES:  # a bot that is gone since is named no more
        bot = "SELECT id FROM memories_bot WHERE id = (line ->> 'bot_id')::bigint"
        line = f"line || jsonb_build_object('bot_id', ({bot}))"
    statement = (
        f"INSERT INTO {table} SELECT r.* FROM unnest(%s::jsonb[]) line"
        f" CROSS JOIN LATERAL jsonb_populate_record(NULL::{table}, {line}) r ON CONFLICT DO NOTHING"
    )
    with _alone(workspace):
        _forget_purged(store, workspace)
        records = objects(workspace, table)
        while records:
            record = records.pop()
            lines = _lines(store, record)
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement, [lines])
                is_current = bool(ArchivedRows.objects.filter(pk=record.pk, is_stale=False).delete()[0])
                transaction.set_rollback(not is_current)
            if not is_current:  # something was removed for good meanwhile
                _forget_purged(store, workspace)
                records = objects(workspace, table)
                continue
            store.remove(record.key, record.key + MANIFEST)
            count += len(lines)
    return count


def _forget_purged(store: Store, workspace: Workspace) -> None:
    """Write anew what holds what was removed for good since. Raises ArchiveError."""
    if ArchivedRows.objects.filter(workspace=workspace, is_stale=True).exists():
        store.check(workspace)
        _write_anew(store, workspace, lambda _table, _row, _text: False)


def forget(workspace: Workspace, is_gone: Callable[[str, Row, str], bool]) -> int:
    """Write anew what holds rows that are to go: by `is_gone`, of a table, a row and its text, and those about
    memories that are no longer there; how many went.

    Raises ArchiveError; then some of it may be left, and it is to be called again.
    """
    if not (settings.ARCHIVE["BUCKET"] or ArchivedRows.objects.filter(workspace=workspace).exists()):
        return 0
    store = Store()
    store.check(workspace)
    with _alone(workspace):
        return _write_anew(store, workspace, is_gone)


def _write_anew(store: Store, workspace: Workspace, is_gone: Callable[[str, Row, str], bool]) -> int:
    every, count = objects(workspace), 0
    prefix, keys = _prefix(workspace), [_listed(record.key) for record in every]
    names = set(store.names(prefix))
    unnoted = names.difference(keys, (key + MANIFEST for key in keys))  # of a process that was killed
    missing = [key for key in keys if key.startswith(prefix) and key not in names]
    if unnoted and missing:
        raise ArchiveError(_("%s is noted, and is not in the bucket: nothing was removed.") % missing[0])
    store.remove(*sorted(unnoted))
    for record in every:
        lines = [(json.loads(line), line) for line in _lines(store, record)]
        there = _there(workspace, [row for row, _line in lines])
        kept_lines = [
            line
            for row, line in lines
            if all(there[name].issuperset(ids) for name, ids in _named(row).items())
            and not is_gone(record.table_name, row, line)
        ]
        if len(kept_lines) < len(lines):
            former = record.key
            if kept_lines:
                _write(store, record, kept_lines)
                record.save()
            else:
                record.delete()
            store.remove(former, former + MANIFEST)
        count += len(lines) - len(kept_lines)
    ArchivedRows.objects.filter(workspace=workspace).update(is_stale=False)
    return count


def _named(row: Row) -> dict[str, set[int]]:
    """By table, what a row names that a purge or an erasure removes; plainly nothing of it is ever removed untold."""
    if "table_name" not in row:
        return {"memories_entry": set(row["served"]), "memories_scope": set(row["scopes"])}
    entries = {row["old"][name] for name in _NAMES_ENTRY if row["old"].get(name)}
    ids_by_table = {"memories_entry": entries}
    ids_by_table[row["table_name"]] = ids_by_table.get(row["table_name"], set()) | {row["row_id"]}
    return ids_by_table


def _there(workspace: Workspace, rows: Sequence[Row]) -> dict[str, set[int]]:
    """By table, which of what rows name is there, or was removed in a way that history tells."""
    there = {}
    for name in {name for row in rows for name in _named(row)}:
        ids = sorted({pk for row in rows for pk in _named(row).get(name, ())})
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT id FROM {name} WHERE workspace_id = %(workspace)s AND id = ANY(%(ids)s) UNION ALL"
                f" SELECT row_id FROM {HISTORY} WHERE workspace_id = %(workspace)s AND table_name = %(name)s"
                " AND row_id = ANY(%(ids)s) AND op = 'D'",
                {"workspace": workspace.pk, "ids": ids, "name": name},
            )
            there[name] = {pk for (pk,) in cursor.fetchall()}
    return there


def changes_of(workspace: Workspace, entries: Collection[int]) -> list[Change]:
    """The archived changes of entries."""
    if not entries or not ArchivedRows.objects.filter(workspace=workspace, table_name=HISTORY).exists():
        return []
    rows = map(json.loads, read(workspace, HISTORY))
    return [Change(**row) for row in rows if row["table_name"] == "memories_entry" and row["row_id"] in entries]


def _prefix(workspace: Workspace) -> str:
    """How the names of all its objects begin."""
    return _listed(f"{settings.ARCHIVE['PREFIX']}{workspace.uid}/")


def _listed(key: str) -> str:
    """A key as a bucket lists it; some were noted with a slash before it, which no object has."""
    return key.removeprefix("/")


@contextmanager
def _alone(workspace: Workspace) -> Iterator[None]:
    """Nobody else moves, restores or forgets rows of the workspace meanwhile. Raises ArchiveError."""
    with postgresql.lock_of_session(_LOCK | workspace.pk) as is_mine:
        if not is_mine:
            raise ArchiveError(_("Another process is at the archive of this workspace."))
        yield
