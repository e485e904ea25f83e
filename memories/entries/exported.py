"""Bringing in entries as an export tells them: in every state, with the ids, versions and times they had (F8).

Nothing is merged, reworded or judged. Only what people took out of use here does not come back into use.

Canaries are planted and taken out here as well: memories of a scope of their own, which no caller is shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar

from django.db import connection, models
from django.db.models import NOT_PROVIDED

from memories.choices import EntryType, ScopeKind, Source
from memories.entries.changes import expire_many
from memories.entries.draft import Draft
from memories.entries.duplicates import PendingWrite
from memories.entries.suppression import Suppressions, Tombstones
from memories.entries.write import remember_many
from memories.index import scope_statistics, search_rows
from memories.models import Change, Entry, EntryAccess, Evidence, Link, Scope, Slot, Suppression
from memories.models.change import acting
from memories.models.tenancy import lock_scopes
from memories.tenancy.access import SCOPE_KEY, SUBTYPE, token_of


@dataclass(frozen=True, kw_only=True)
class PastChange:
    """A change of an entry, or of one of its slots, as the history of the export tells it."""

    slot: int | None  # the number of the slot there; None: of the entry itself
    columns: Mapping[str, Any]  # of the row of the history


@dataclass(frozen=True, kw_only=True)
class ExportedEntry:
    """An entry with all that hangs on it; every mapping goes by the names of columns."""

    columns: Mapping[str, Any]
    is_superseded: bool = False
    slots: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)  # by their numbers there
    evidence: Sequence[Mapping[str, Any]] = ()
    access: Mapping[str, Any] | None = None
    history: Sequence[PastChange] = ()

    @property
    def is_live(self) -> bool:
        marks = ("expired_at", "archived_at", "suppressed_at")
        return not (self.is_superseded or any(self.columns[mark] for mark in marks))


def bring_in(scope: Scope, exported: Sequence[ExportedEntry]) -> list[Entry | None]:
    """Store exported entries in a scope; None in the place of each that people took out of use here.

    1. Lock the scope, and leave out what would bring back what was taken out.
    2. Write the history first, so that it lies before the insertion, then entries and what hangs on them.
    3. Count the terms of those in use, write their keywords, and queue them for their embeddings.

    Inside the caller's transaction, which says who acts. Raises ScopeFrozen.
    """
    locked = lock_scopes([scope])[scope.pk]
    writes = []
    for item in exported:  # as a machine would write it, which no suppression lets through
        columns = item.columns
        draft = Draft(
            scope=locked,
            type=columns["type"],
            content=columns["content"],
            source=Source.MIGRATION,
            at=columns["stated_at"],
            origins=tuple(columns["origins"]),
            path=columns["path"],
            heading=columns["heading"],
            names=tuple(columns["names"]),
        )
        writes.append(PendingWrite.of(draft))
    suppressions = Suppressions([locked.pk], writes, are_any=True)
    erased = Tombstones([locked]).covering_writes(writes)
    new_entries: dict[int, Entry] = {}  # by its place among the exported
    for n, (item, write) in enumerate(zip(exported, writes, strict=True)):
        if not erased[n] and not (item.is_live and suppressions.against(write)):
            new_entries[n] = _entry(locked, item, write)
    for entry, pk in zip(new_entries.values(), _new_ids(Entry, len(new_entries)), strict=True):
        entry.pk = pk
    _write_related([(entry, exported[n]) for n, entry in new_entries.items()])
    live = [entry for n, entry in new_entries.items() if exported[n].is_live]
    scope_statistics.count_new({locked.pk: locked}, live)
    search_rows.write_keywords([search_rows.keyword_row(entry) for entry in live], {locked.pk: locked.index_length})
    search_rows.enqueue([], new=[entry.pk for entry in live])
    return [new_entries.get(n) for n in range(len(exported))]


def _entry(scope: Scope, exported: ExportedEntry, write: PendingWrite) -> Entry:
    entry = Entry(
        workspace_id=scope.workspace_id,
        scope=scope,
        terms=sorted(write.counts),
        length=write.counts.total(),
        fingerprint=write.fingerprint,
        **exported.columns,
    )
    if exported.is_superseded:  # archived until `name_successors`: its successor may come later
        entry.archived_at = entry.archived_at or entry.updated_at
        entry.version -= 1  # which is a change, and raises it
    return entry


def _new_ids(model: type[Entry] | type[Slot], count: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)",
            [model._meta.db_table, count],
        )
        return [row[0] for row in cursor.fetchall()]


def _write_related(pairs: Sequence[tuple[Entry, ExportedEntry]]) -> None:
    """Write the history of these entries, then the entries, then what hangs on them."""
    ids = iter(_new_ids(Slot, sum(len(_slot_numbers(exported)) for _entry, exported in pairs)))
    slots, changes, evidence, accesses = [], [], [], []
    for entry, exported in pairs:
        place: dict[str, Any] = {"workspace_id": entry.workspace_id}
        slot_ids = dict(zip(_slot_numbers(exported), ids, strict=False))
        slots += [Slot(id=slot_ids[number], entry=entry, **place, **slot) for number, slot in exported.slots.items()]
        for change in exported.history:
            model, row = (Entry, entry.pk) if change.slot is None else (Slot, slot_ids[change.slot])
            own = {**place, "id": row, "entry_id": entry.pk, "scope_id": entry.scope_id}
            old = {name: own.get(name, value) for name, value in change.columns["old"].items()}
            columns = {**change.columns, **place, "old": old}
            changes.append(Change(table_name=model._meta.db_table, row_id=row, **columns))
        evidence += [Evidence(entry=entry, **place, **words) for words in exported.evidence]
        accesses += [EntryAccess(entry=entry, **place, **exported.access)] if exported.access else []
    Change.objects.bulk_create(changes)
    Entry.objects.bulk_create(entry for entry, _exported in pairs)
    Slot.objects.bulk_create(slots)
    Evidence.objects.bulk_create(evidence)
    EntryAccess.objects.bulk_create(accesses)


def _slot_numbers(exported: ExportedEntry) -> list[int]:
    """The numbers of its slots there, also of those that are gone."""
    of_history = (change.slot for change in exported.history if change.slot is not None)
    return list(dict.fromkeys([*exported.slots, *of_history]))


@dataclass(frozen=True, kw_only=True)
class NamedSuccessor:
    """What took the place of an entry, and how that was otherwise marked, as the export tells it."""

    entry: int
    successor: int
    version: int
    archived_at: datetime | None

    def is_news(self, entry: Entry) -> bool:
        """Whether the entry is still as it was brought in."""
        return entry.superseded_by_id is None and entry.version == self.version - 1


def name_successors(successors: Sequence[NamedSuccessor]) -> None:
    """Name what took the place of entries that were brought in without it. Inside the caller's transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memories_entry e SET superseded_by_id = named.successor, archived_at = named.archived_at"
            " FROM unnest(%s::bigint[], %s::bigint[], %s::timestamptz[]) AS named (entry, successor, archived_at)"
            " WHERE e.id = named.entry",
            [
                [naming.entry for naming in successors],
                [naming.successor for naming in successors],
                [naming.archived_at for naming in successors],
            ],
        )


Tie = TypeVar("Tie", Link, Suppression)


def tie(model: type[Tie], rows: Iterable[Mapping[str, Any]]) -> None:
    """Store what hangs on entries that are there: links between them, or what people took out of use there, so that
    nothing writes it here. Inside the caller's transaction.
    """
    model.objects.bulk_create((model(**columns) for columns in rows), ignore_conflicts=True)


#: Rows a transaction.
CHUNK = 20_000
_TERMS = """
INSERT INTO memories_scopeterm (workspace_id, scope_id, term, entries)
SELECT workspace_id, scope_id, term, count(*) FROM memories_entry CROSS JOIN unnest(terms) term
WHERE workspace_id = %s GROUP BY 1, 2, 3
"""
_LENGTHS = """
UPDATE memories_scope s SET entry_count = n, average_length = average, index_length = average, version = s.version + 1
FROM (SELECT scope_id, count(*) AS n, avg(length) AS average FROM memories_entry WHERE workspace_id = %s GROUP BY 1) e
WHERE e.scope_id = s.id
"""


def reserve_ids(model: type[models.Model], count: int) -> int:
    """The first of so many ids that nothing else gets."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [model._meta.db_table])
        (sequence,) = cursor.fetchone()
        cursor.execute("SELECT nextval(%s::regclass)", [sequence])
        (first,) = cursor.fetchone()
        cursor.execute("SELECT setval(%s::regclass, %s)", [sequence, first + count])
    return int(first)


def copy_rows(model: type[models.Model], rows: Iterable[Mapping[str, Any]], *, actor: str) -> Iterator[int]:
    """Write rows given by attribute, the others as a new row has them; after each transaction how many it wrote."""
    columns = [
        column
        for column in model._meta.concrete_fields
        if column.attname == "id" or column.db_default is NOT_PROVIDED or column.has_default()
    ]
    blank = {column.attname: column.get_default() for column in columns}
    pending = iter(rows)
    while chunk := list(islice(pending, CHUNK)):
        copied_columns = [column for column in columns if column.attname in chunk[0] or not column.primary_key]
        names = ", ".join(str(column.column) for column in copied_columns)
        statement = f"COPY {model._meta.db_table} ({names}) FROM STDIN"
        with acting(actor), connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in chunk:
                values = (row.get(column.attname, blank[column.attname]) for column in copied_columns)
                copy.write_row([str(value) if isinstance(value, models.Choices) else value for value in values])
        yield len(chunk)


def count_scopes(workspace_id: int) -> None:
    """Count the terms and lengths of what was copied into the scopes of a workspace."""
    with connection.cursor() as cursor:
        cursor.execute(_TERMS, [workspace_id])
        cursor.execute(_LENGTHS, [workspace_id])
        for table in (Entry._meta.db_table, "memories_entryindex", "memories_scopeterm"):
            cursor.execute(f"ANALYZE {table}")


#: A line of the profile is in every context, and words of what people ask for are in many a ranking.
_WORDS = {
    EntryType.FACT: "Name, address, phone, e-mail, birthday, password and bank: {token}. 姓名、地址、电话。",
    EntryType.USER_EXPLICIT: "Remember this for good, it is important: {token}. 请记住，这很重要。",
}


def plant_canaries(workspace_id: int, *, now: datetime, actor: str) -> int:
    """Plant the canaries of a workspace, unless they are there; how many there are."""
    scope = Scope.objects.begin(workspace_id, SCOPE_KEY, ScopeKind.USER)
    drafts = [
        Draft(
            scope=scope,
            content=words.format(token=token_of(workspace_id)),
            type=kind,
            tier=1 if kind == EntryType.FACT else None,
            subtype=SUBTYPE,
            source=Source.MANUAL,
            pinned=True,
            at=now,
        )
        for kind, words in _WORDS.items()
    ]
    return len(remember_many(drafts, now=now, actor=actor))


def take_out_canaries(workspace_id: int, *, now: datetime, actor: str) -> int:
    """Take the canaries of a workspace out of use; how many."""
    rows = Entry.objects.live().filter(workspace_id=workspace_id, subtype=SUBTYPE)
    expected: dict[int, int | None] = dict.fromkeys(rows.values_list("pk", flat=True))
    scope = Scope.objects.in_workspace(workspace_id).filter(key=SCOPE_KEY).first()
    if scope is None or not expected:
        return 0
    with acting(actor):
        return len(expire_many(scope, expected, now=now, actor=actor).applied)
