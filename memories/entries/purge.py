"""Removing entries for good, with all that is kept of them but numbers (A9). Nothing brings them back."""

from datetime import datetime

from django.db import connection
from django.db.models import QuerySet, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from memories.choices import ChangeState, SkipReason
from memories.entries.locks import lock_scopes
from memories.entries.transitions import BulkOutcome, Expected, match_expected
from memories.index import scope_statistics
from memories.models import BatchChange, Entry, Link, RecallTrace, Scope, Slot, Suppression
from memories.models.change import forget_history

_REMOVED_SLOTS = """
    SELECT row_id FROM memories_change WHERE table_name = 'memories_slot' AND op = 'D'
    AND old -> 'entry_id' IN (SELECT to_jsonb(entry) FROM unnest(%s::bigint[]) AS purged (entry))
"""

#: All that is left of the evidence: it is counted, and has no words.
_VERDICT = RawSQL("jsonb_strip_nulls(jsonb_build_object('verdict', evidence -> 'verdict'))", ())


def purge(scope: Scope, expected: Expected, *, now: datetime) -> BulkOutcome:
    """Remove expired entries with their slots, links, search rows, history and the text of traces they were in.

    What people took out is left: it is the reason why no machine writes it again (A15). What an entry had taken the
    place of stays out of use without it. Counts stay. Inside the caller's transaction. Raises ScopeFrozen.
    """
    held = lock_scopes([scope])[scope.pk]
    outcome, entries = match_expected(held, expected)
    kept = set(Suppression.objects.filter(entry__in=outcome.applied).values_list("entry_id", flat=True))
    outcome.skip((pk for pk in outcome.applied if pk in kept or not entries[pk].expired_at), SkipReason.CHANGED)
    outcome.applied = [pk for pk in outcome.applied if pk not in outcome.skipped]
    if outcome.applied:
        last_used = max(entries[pk].expired_at or now for pk in outcome.applied)
        _forget_words(held, outcome.applied, last_used)
        _remove(held, outcome.applied, now)
        scope_statistics.raise_version(held)
    return outcome


def _forget_words(scope: Scope, purged: list[int], last_used: datetime) -> None:
    """In the plans of batches, and in the traces of what was asked while they were in use."""
    changes = BatchChange.objects.filter(workspace_id=scope.workspace_id, entry__in=purged)
    changes.filter(state=ChangeState.PLANNED).update(state=ChangeState.LEFT, note=SkipReason.GONE)
    changes.update(entry=None, draft={})
    traces = RecallTrace.objects.filter(workspace_id=scope.workspace_id, created_at__lte=last_used)
    traces.filter(served__overlap=purged).update(message="", note="", query={}, evidence=_VERDICT, candidates=None)


def _remove(scope: Scope, purged: list[int], now: datetime) -> None:
    """The rows first, whose removal is written down as history, then that history."""
    replaced = Entry.objects.filter(workspace_id=scope.workspace_id, superseded_by__in=purged)
    replaced.update(superseded_by=None, archived_at=Coalesce("archived_at", Value(now)), updated_at=now)
    links = list((_links("from_entry", purged) | _links("to_entry", purged)).values_list("pk", flat=True))
    Entry.objects.in_scope(scope).filter(pk__in=purged).delete()
    for model, rows in ((Entry, purged), (Slot, _removed_slots(purged)), (Link, links)):
        forget_history(scope.workspace_id, model._meta.db_table, rows)


def _removed_slots(purged: list[int]) -> list[int]:
    """Those that went with the entries, and those that had been taken away before."""
    with connection.cursor() as cursor:
        cursor.execute(_REMOVED_SLOTS, [purged])
        return [row[0] for row in cursor.fetchall()]


def _links(end: str, purged: list[int]) -> QuerySet[Link]:
    return Link.objects.filter(**{f"{end}__in": purged})
