"""Quarantine: what rests on a source is out of every answer until people have looked through it.

It is a suppression that covers messages, not words: who says the same in another message is heard, and what is made of
these messages again stays out. What is in quarantine is no caller's to see (memories.visibility); undoing the batch
lets it back.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from django.db.models import Value
from django.db.models.functions import Coalesce

from memories.choices import SkipReason
from memories.entries import files
from memories.entries.changes import BulkOutcome, Expected, lock_entries, rows_of
from memories.entries.suppression import ORIGINS_MOST
from memories.index import scope_statistics, search_rows
from memories.models import DailyEvent, Scope, Suppression
from memories.models.change import acting


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
    files.follow(files.resting_on(locked, {path for paths in poisoned.values() for path in paths}))
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
        files.follow(files.resting_on(scope, origins))


def days_resting_on(workspace_id: int, days: Collection[int]) -> list[DailyEvent]:
    """These days, with their scopes, in their order."""
    rows = DailyEvent.objects.filter(workspace_id=workspace_id, pk__in=list(days), expired_at__isnull=True)
    return list(rows.select_related("scope").order_by("local_date", "pk"))
