"""Removing entries for good, with everything kept of them except numbers (A9). It cannot be undone."""

from datetime import datetime

from django.db import connection
from django.db.models import Q, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from memories.choices import ChangeState, EntryType, SkipReason
from memories.entries import evidence, files
from memories.entries.transitions import BulkOutcome, Expected, lock_entries
from memories.index import scope_statistics
from memories.models import BatchChange, Entry, Evidence, Link, RecallTrace, Scope, Slot, Suppression
from memories.models.change import forget_history

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
    kept = set(Suppression.objects.filter(entry__in=outcome.applied).values_list("entry_id", flat=True))
    outcome.skip((pk for pk in outcome.applied if pk in kept or not entries[pk].expired_at), SkipReason.CHANGED)
    if outcome.applied:
        last_used = max(entries[pk].expired_at or now for pk in outcome.applied)
        _forget_words(locked, outcome.applied, last_used)
        _forget_quotes(locked, outcome.applied)
        _remove(locked, outcome.applied, now)
        files.forget_lines(locked, [entries[pk] for pk in outcome.applied])
        scope_statistics.raise_version(locked)
    return outcome


def _forget_words(scope: Scope, purged: list[int], last_used: datetime) -> None:
    """Clear what plans of batches say of these entries, and the recall traces that served them."""
    changes = BatchChange.objects.filter(workspace_id=scope.workspace_id, entry__in=purged)
    changes.filter(state=ChangeState.PLANNED).update(state=ChangeState.LEFT, note=SkipReason.GONE)
    changes.update(entry=None, draft={})
    traces = RecallTrace.objects.filter(workspace_id=scope.workspace_id, created_at__lte=last_used)
    traces.filter(served__overlap=purged).update(
        message="", terms=[], note="", query={}, evidence=_VERDICT, candidates=None
    )


def _forget_quotes(scope: Scope, purged: list[int]) -> None:
    """Forget what facts quote of the messages of purged turns, unless another memory keeps the turn."""
    turns = Entry.objects.filter(
        workspace_id=scope.workspace_id, type__in=[EntryType.CHAT_TURN, EntryType.USER_EXPLICIT]
    )
    named = {one for origins in turns.filter(pk__in=purged).values_list("origins", flat=True) for one in origins}
    quotes = Evidence.objects.filter(workspace_id=scope.workspace_id, origin__in=named)
    quoted = set(quotes.values_list("origin", flat=True))
    if quoted:
        kept = turns.exclude(pk__in=purged).filter(origins__overlap=sorted(quoted)).values_list("origins", flat=True)
        evidence.forget(scope.workspace_id, sorted(quoted.difference(*kept)))


def _remove(scope: Scope, purged: list[int], now: datetime) -> None:
    """Remove the rows, which is itself recorded as history, then their history."""
    replaced = Entry.objects.filter(workspace_id=scope.workspace_id, superseded_by__in=purged)
    replaced.update(superseded_by=None, archived_at=Coalesce("archived_at", Value(now)), updated_at=now)
    linked = Link.objects.filter(Q(from_entry__in=purged) | Q(to_entry__in=purged))
    links = list(linked.values_list("pk", flat=True))
    Entry.objects.in_scope(scope).filter(pk__in=purged).delete()
    with connection.cursor() as cursor:
        cursor.execute(_REMOVED_SLOTS, [purged])
        slots = [row[0] for row in cursor.fetchall()]
    for model, rows in ((Entry, purged), (Slot, slots), (Link, links)):
        forget_history(scope.workspace_id, model._meta.db_table, rows)
