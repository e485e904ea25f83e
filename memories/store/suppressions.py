"""What people took out stays out (A15)."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import Q

from memories import indexing
from memories.choices import MACHINE_SOURCES, Source
from memories.models import Entry, Scope, Suppression
from memories.models.entry import EntryQuerySet
from memories.store.twins import Arrival

#: Sources by which somebody says on purpose: keep this.
EXPLICIT_SOURCES = frozenset({Source.TOOL, Source.MANUAL})


class Suppressions:
    """The suppressions that may concern some drafts, read once."""

    def __init__(self, scope_ids: Iterable[int], arrivals: Sequence[Arrival]) -> None:
        origins = sorted({origin for arrival in arrivals for origin in arrival.draft.origins})
        about = Q(fingerprint__in=[arrival.fingerprint for arrival in arrivals])
        if origins:
            about |= Q(origins__overlap=origins)
        self._rows = list(Suppression.objects.filter(about, scope__in=list(scope_ids)).select_related("entry"))

    def against(self, arrival: Arrival) -> Entry | None:
        """The entry people took out that a machine is about to write again; None when nothing speaks against it."""
        if arrival.draft.source not in MACHINE_SOURCES:
            return None
        return next((row.entry for row in self._rows if _concerns(row, arrival)), None)

    def lift(self, arrival: Arrival) -> bool:
        """Whether saying this on purpose brought something back that people had taken out."""
        if arrival.draft.source not in EXPLICIT_SOURCES:
            return False
        lifted = [row for row in self._rows if _same_words(row, arrival)]
        for row in lifted:
            self._rows.remove(row)
            release(row.entry, row.entry.updated_at)
        return bool(lifted)


def _same_words(row: Suppression, arrival: Arrival) -> bool:
    return row.scope_id == arrival.draft.scope.pk and row.fingerprint == arrival.fingerprint


def _concerns(row: Suppression, arrival: Arrival) -> bool:
    """Whether it says the same, or rests on nothing but what was taken out."""
    origins = set(arrival.draft.origins)
    rests_on = row.scope_id == arrival.draft.scope.pk and bool(origins) and origins <= set(row.origins)
    return _same_words(row, arrival) or rests_on


def suppress(entry: Entry, *, now: datetime, actor: str) -> None:
    """Keep an entry out, and leave out what rests on the same messages in its scope."""
    suppress_many(entry.scope, [entry], now=now, actor=actor)


def suppress_many(scope: Scope, entries: Sequence[Entry], *, now: datetime, actor: str) -> None:
    """Keep entries of a scope out, and leave out what rests on the same messages there."""
    Suppression.objects.bulk_create(
        (
            Suppression(
                workspace_id=entry.workspace_id,
                scope=scope,
                entry=entry,
                fingerprint=entry.fingerprint,
                origins=entry.origins,
                actor=actor,
                created_at=now,
            )
            for entry in entries
        ),
        ignore_conflicts=True,
    )
    _mark(_resting_on(scope, entries).filter(suppressed_at__isnull=True), suppressed_at=now, now=now)


def release(entry: Entry, now: datetime) -> None:
    """Let an entry's words and messages be remembered again."""
    release_many(entry.scope, [entry], now=now)


def release_many(scope: Scope, entries: Sequence[Entry], *, now: datetime) -> None:
    """Let the words and messages of entries of a scope be remembered again."""
    Suppression.objects.filter(workspace_id=scope.workspace_id, scope=scope, entry__in=entries).delete()
    reconcile(scope, entries, now=now)


def reconcile(scope: Scope, entries: Sequence[Entry], *, now: datetime) -> None:
    """Let what rests on the same messages as these entries be used again, unless it is kept out by another."""
    here = Suppression.objects.filter(workspace_id=scope.workspace_id, scope=scope)
    still_out = {origin for origins in here.values_list("origins", flat=True) for origin in origins}
    freed = _resting_on(scope, entries).filter(suppressed_at__isnull=False)
    if still_out:
        freed = freed.exclude(origins__overlap=sorted(still_out))
    _mark(freed, suppressed_at=None, now=now)


def _resting_on(scope: Scope, entries: Sequence[Entry]) -> EntryQuerySet:
    """Other entries of the scope that rest on the same messages."""
    origins = sorted({origin for entry in entries for origin in entry.origins})
    others = Entry.objects.in_scope(scope).exclude(pk__in=[entry.pk for entry in entries])
    return others.filter(origins__overlap=origins) if origins else others.none()


def _mark(entries: EntryQuerySet, *, suppressed_at: datetime | None, now: datetime) -> None:
    marked = list(entries.values_list("pk", flat=True))
    Entry.objects.filter(pk__in=marked).update(suppressed_at=suppressed_at, updated_at=now)
    indexing.mark_stale(marked)
