"""What operators have taken out with all that rests on it: into quarantine, or removed for good.

Quarantine: what rests on a source is out of every answer until people have looked through it. It is a suppression that
covers messages, not words: who says the same in another message is heard, and what is made of these messages again
stays out. What is in quarantine is no caller's to see (memories.visibility); undoing the batch lets it back.

Removal: what has expired, or an erased person's words and what they caused; entries and days for good, with all kept of
them (F7). The one exception to «nothing is destroyed by a machine»: an operator ordered it. Inside the caller's
transaction.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from memories.choices import ChangeState, EntryType, LinkKind, SkipReason
from memories.entries import evidence, files
from memories.entries.changes import BulkOutcome, Expected, lock_entries, rows_of
from memories.entries.suppression import ORIGINS_MOST
from memories.index import scope_statistics, search_rows
from memories.language import text
from memories.models import (
    BatchChange,
    Change,
    DailyEvent,
    Entry,
    Evidence,
    Link,
    RecallTrace,
    Scope,
    Slot,
    Suppression,
)
from memories.models.change import acting, forget_history


def quarantine_many(
    scope: Scope, expected: Expected, poisoned: Mapping[int, Sequence[str]], *, run: str, now: datetime, actor: str
) -> BulkOutcome:
    """Put entries of a scope into quarantine, each with the messages it may not rest on when it is written again.

    Inside the caller's transaction. Raises ScopeFrozen.
    """
    locked, outcome, entries = lock_entries(scope, expected)
    outcome.skip((pk for pk in outcome.applied if entries[pk].quarantined_at), SkipReason.ALREADY)
    if not outcome.applied:
        return outcome
    quarantined_entries = [entries[pk] for pk in outcome.applied]
    live = [entry for entry in quarantined_entries if entry.is_live()]
    rows_of(locked, outcome.applied).update(
        suppressed_at=Coalesce("suppressed_at", Value(now)), quarantined_at=now, updated_at=now
    )
    Suppression.objects.bulk_create(
        (
            Suppression(
                workspace_id=locked.workspace_id,
                scope=locked,
                entry=entry,
                quarantine=run,
                fingerprint=entry.fingerprint,
                origins=list(poisoned.get(entry.pk, ())),
                actor=actor,
                created_at=now,
            )
            for entry in quarantined_entries
        ),
        ignore_conflicts=True,  # people took it out before, with its messages
    )
    search_rows.enqueue_neighbours(outcome.applied)
    scope_statistics.raise_version(locked)
    files.strike_lines(locked, live, now=now, must=False)
    files.follow_messages(locked, {path for paths in poisoned.values() for path in paths})
    return outcome


def cover_messages(
    workspace_id: int, scopes: Collection[int], origins: Collection[str], *, run: str, now: datetime, actor: str
) -> int:
    """Keep messages out of these scopes, as far as no entry of the quarantine there does; how many conversations."""
    covered: defaultdict[int, set[str]] = defaultdict(set)
    here = Suppression.objects.filter(workspace_id=workspace_id, quarantine=run)
    for scope, paths in here.values_list("scope_id", "origins"):
        covered[scope].update(paths)
    rows = []
    for scope in sorted(scopes):
        by_conversation: defaultdict[str, list[str]] = defaultdict(list)
        for origin in sorted(set(origins) - covered[scope]):
            by_conversation[origin.rpartition("/")[0]].append(origin)
        for paths in by_conversation.values():
            rows += [
                Suppression(
                    workspace_id=workspace_id,
                    scope_id=scope,
                    quarantine=run,
                    origins=paths[start : start + ORIGINS_MOST],
                    actor=actor,
                    created_at=now,
                )
                for start in range(0, len(paths), ORIGINS_MOST)
            ]
    with acting(actor, run=run):
        Suppression.objects.bulk_create(rows)
        _follow(workspace_id, scopes, origins)
    return len(rows)


def uncover_messages(workspace_id: int, run: str, *, actor: str) -> int:
    """Let back the messages of a quarantine that no entry stands for; how many conversations."""
    rows = Suppression.objects.filter(workspace_id=workspace_id, quarantine=run, entry=None)
    covers = list(rows.values_list("scope_id", "origins"))
    with acting(actor, run=run):
        count, _each = rows.delete()
        _follow(workspace_id, {scope for scope, _paths in covers}, {path for _scope, paths in covers for path in paths})
    return count


def _follow(workspace_id: int, scopes: Collection[int], origins: Collection[str]) -> None:
    """What is read of these scopes is made anew, and the notes of their days stand in their files or do not."""
    for scope in Scope.objects.filter(workspace_id=workspace_id, pk__in=list(scopes)):
        scope_statistics.raise_version(scope)
        files.follow_messages(scope, origins)


def days_resting_on(workspace_id: int, days: Collection[int]) -> list[DailyEvent]:
    """These days, with their scopes, in their order."""
    rows = DailyEvent.objects.filter(workspace_id=workspace_id, pk__in=list(days), expired_at__isnull=True)
    return list(rows.select_related("scope").order_by("local_date", "pk"))


#: Rows that hung on the entries, those there are and those that were removed before, by what named them.
_HANGING = """
    SELECT {table}.id FROM {table} WHERE {column} = ANY(%(entries)s)
    UNION SELECT row_id FROM memories_change WHERE workspace_id = %(workspace)s AND table_name = '{table}' AND op = 'D'
        AND old -> '{column}' IN (SELECT to_jsonb(entry) FROM unnest(%(entries)s::bigint[]) AS erased (entry))
"""
_NAMED_BY = ((Slot, "entry_id"), (Suppression, "entry_id"), (Link, "from_entry_id"), (Link, "to_entry_id"))


def erase_entries(workspace_id: int, entries: Collection[int], *, now: datetime) -> int:
    """Remove entries with all that hangs on them and their history; how many there were.

    What they had replaced is archived for good; what had become part of them by a merge is in use again.
    """
    erased = sorted(entries)
    _forget_plans(workspace_id, Q(entry__in=erased))
    hanging: list[tuple[Any, list[int]]] = []
    with connection.cursor() as cursor:
        for model, column in _NAMED_BY:
            statement = _HANGING.format(table=model._meta.db_table, column=column)
            cursor.execute(statement, {"entries": erased, "workspace": workspace_id})
            hanging.append((model, [row[0] for row in cursor.fetchall()]))

    # the words of others and what had been merged into something that goes is in use again
    merged = Link.objects.filter(workspace_id=workspace_id, kind=LinkKind.MERGED_FROM, from_entry__in=erased)
    sources = set(merged.exclude(to_entry__in=erased).values_list("to_entry_id", flat=True))
    sources_of_erased = Entry.objects.filter(workspace_id=workspace_id, pk__in=sources, superseded_by__in=[*erased])
    back = list(sources_of_erased.filter(expired_at=None, suppressed_at=None).values_list("pk", flat=True))
    Entry.objects.filter(pk__in=back).update(superseded_by=None, archived_at=None, updated_at=now)
    search_rows.enqueue(back)

    replaced = Entry.objects.filter(workspace_id=workspace_id, superseded_by__in=erased)
    replaced.update(superseded_by=None, archived_at=Coalesce("archived_at", Value(now)), updated_at=now)
    Suppression.objects.filter(workspace_id=workspace_id, entry__in=erased).delete()
    with connection.cursor() as cursor:  # what hangs on them goes along: the tables say so
        cursor.execute("DELETE FROM memories_entry WHERE workspace_id = %s AND id = ANY(%s)", [workspace_id, erased])
        count = int(cursor.rowcount)
    for model, rows in ((Entry, erased), *hanging):
        forget_history(workspace_id, model._meta.db_table, rows)
    return count


def erase_days(workspace_id: int, events: Collection[int], *, now: datetime) -> int:
    """Remove daily events; the others of their days are made into facts, and into the note of the day, anew."""
    erased = DailyEvent.objects.filter(workspace_id=workspace_id, pk__in=events)
    places = {(event.scope_id, event.local_date) for event in erased}
    notes = files.places_of(erased)
    _forget_plans(workspace_id, Q(event__in=list(events)))
    count = erased.delete()[0]
    forget_history(workspace_id, DailyEvent._meta.db_table, sorted(events))
    for scope, day in places:
        rest = DailyEvent.objects.in_use().filter(workspace_id=workspace_id, scope=scope, local_date=day)
        rest.exclude(source=files.DAY_NOTE).update(compressed_at=None, updated_at=now)
    files.follow(notes)
    return count


def _forget_plans(workspace_id: int, about: Q) -> None:
    changes = BatchChange.objects.filter(about, workspace_id=workspace_id)
    changes.filter(state=ChangeState.PLANNED).update(state=ChangeState.LEFT, note=SkipReason.GONE)
    changes.update(entry=None, event=None, draft={})


def others_versions(
    workspace_id: int, entries: Collection[int], origins: Collection[str], *, archived: Collection[Change] = ()
) -> dict[int, dict[str, Any]]:
    """Of entries that others wrote and the person repeated: their columns in the newest version without the person.

    None of an entry that rested on the person from its beginning. `archived` is what of their history is not here.
    """
    changes: defaultdict[int, list[Change]] = defaultdict(list)
    rows = Change.objects.filter(workspace_id=workspace_id, table_name=Entry._meta.db_table, row_id__in=list(entries))
    for change in sorted([*archived, *rows], key=lambda change: -change.version):
        changes[change.row_id].append(change)
    versions = {}
    for entry in Entry.objects.filter(workspace_id=workspace_id, pk__in=list(entries)):
        state: dict[str, Any] = {"content": entry.content, "origins": entry.origins, "chats": entry.chats}
        for change in changes[entry.pk]:  # of one that made the row nothing is old
            state = state | {name: value for name, value in change.old.items() if name in state}
            if state["origins"] and set(state["origins"]).isdisjoint(origins):
                versions[entry.pk] = state | {"origins": state["origins"]}
                break
    return versions


def put_back(workspace_id: int, states: Mapping[int, Mapping[str, Any]], *, erasure: UUID, now: datetime) -> int:
    """Give entries the words of others back, and remove the history in which the person's stand; how many."""
    for entry in Entry.objects.filter(workspace_id=workspace_id, pk__in=states):
        state = states[entry.pk]
        counts = text.terms(state["content"])
        entry.content, entry.origins, entry.chats = state["content"], state["origins"], state["chats"]
        entry.fingerprint, entry.terms, entry.length = (
            text.fingerprint(entry.content),
            sorted(counts),
            counts.total(),
        )
        entry.updated_at = now
        columns = ["content", "origins", "chats", "fingerprint", "terms", "length", "updated_at"]
        entry.save(update_fields=columns)
    search_rows.enqueue(list(states))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT memplatform_erase_history(%s, %s, %s, %s)",
            [erasure, workspace_id, Entry._meta.db_table, list(states)],
        )
    return len(states)


#: Slots removed with the entries, and those removed before.
_REMOVED_SLOTS = """
    SELECT row_id FROM memories_change WHERE table_name = 'memories_slot' AND op = 'D'
    AND old -> 'entry_id' IN (SELECT to_jsonb(entry) FROM unnest(%s::bigint[]) AS purged (entry))
"""
#: The part of the evidence that is counted and has no words.
_VERDICT = RawSQL("jsonb_strip_nulls(jsonb_build_object('verdict', evidence -> 'verdict'))", ())


def purge(scope: Scope, expected: Expected, *, now: datetime) -> BulkOutcome:
    """Remove expired entries with their slots, links, search rows, history, and the words of traces that served them.

    Suppressed entries stay: they keep machines from writing the same again (A15). Entries replaced by a purged one stay
    out of use. Counts stay. Inside the caller's transaction. Raises ScopeFrozen.
    """
    locked, outcome, entries = lock_entries(scope, expected)
    suppressed = set(Suppression.objects.filter(entry__in=outcome.applied).values_list("entry_id", flat=True))
    outcome.skip((pk for pk in outcome.applied if pk in suppressed or not entries[pk].expired_at), SkipReason.CHANGED)
    if not (purged := outcome.applied):
        return outcome

    # what plans of batches say of these entries, and the recall traces that served them
    _forget_plans(locked.workspace_id, Q(entry__in=purged))
    last_used = max(entries[pk].expired_at or now for pk in purged)
    traces = RecallTrace.objects.filter(workspace_id=locked.workspace_id, created_at__lte=last_used)
    traces.filter(served__overlap=purged).update(
        message="", terms=[], note="", query={}, evidence=_VERDICT, candidates=None
    )
    _forget_quotes(locked, purged)

    # the rows, which is itself recorded as history, then their history
    replaced = Entry.objects.filter(workspace_id=locked.workspace_id, superseded_by__in=purged)
    replaced.update(superseded_by=None, archived_at=Coalesce("archived_at", Value(now)), updated_at=now)
    linked = Link.objects.filter(Q(from_entry__in=purged) | Q(to_entry__in=purged))
    links = list(linked.values_list("pk", flat=True))
    Entry.objects.in_scope(locked).filter(pk__in=purged).delete()
    with connection.cursor() as cursor:
        cursor.execute(_REMOVED_SLOTS, [purged])
        slots = [row[0] for row in cursor.fetchall()]
    for model, rows in ((Entry, purged), (Slot, slots), (Link, links)):
        forget_history(locked.workspace_id, model._meta.db_table, rows)
    files.forget_lines(locked, [entries[pk] for pk in purged])
    scope_statistics.raise_version(locked)
    return outcome


def _forget_quotes(scope: Scope, purged: list[int]) -> None:
    """Forget what facts quote of the messages of purged turns, unless another memory keeps the turn."""
    turns = Entry.objects.filter(
        workspace_id=scope.workspace_id, type__in=[EntryType.CHAT_TURN, EntryType.USER_EXPLICIT]
    )
    paths = {origin for origins in turns.filter(pk__in=purged).values_list("origins", flat=True) for origin in origins}
    quotes = Evidence.objects.filter(workspace_id=scope.workspace_id, origin__in=paths)
    quoted = set(quotes.values_list("origin", flat=True))
    if quoted:
        others = turns.exclude(pk__in=purged).filter(origins__overlap=sorted(quoted)).values_list("origins", flat=True)
        evidence.forget(scope.workspace_id, sorted(quoted.difference(*others)))
