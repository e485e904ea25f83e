"""Changing the state of entries: expire, restore, merge, supersede; each change is in the history (F2, F3, A15).

Verbs for many entries run inside the caller's transaction, take entries of one scope with the version each must have,
and report a reason for each entry they skip. The same verb for one entry opens its own transaction, and raises instead.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from memories.choices import LinkKind, SkipReason
from memories.entries import evidence, files, suppression
from memories.entries.locks import lock_scopes
from memories.exceptions import EntryNotFound, VersionConflict
from memories.index import scope_statistics, search_rows
from memories.models import Entry, Link, Policy, Scope
from memories.models.change import acting
from memories.models.entry import EntryQuerySet
from memories.models.state import without_marks

Expected = Mapping[int, int | None]  # entry → the version it must have; None: any


@dataclass
class BulkOutcome:
    """Which entries of one call were changed, and which were skipped, each with the reason."""

    applied: list[int] = field(default_factory=list)
    skipped: dict[int, SkipReason] = field(default_factory=dict)
    details: dict[int, str] = field(default_factory=dict)  # of some that were skipped

    def skip(self, entries: Iterable[int], reason: SkipReason) -> None:
        self.skipped.update(dict.fromkeys(entries, reason))
        self.applied = [pk for pk in self.applied if pk not in self.skipped]


def expire_many(
    scope: Scope,
    expected: Expected,
    *,
    now: datetime,
    actor: str,
    column: Literal["expired_at", "archived_at"] = "expired_at",
    suppress: bool = False,
    only_live: bool = True,
    in_files: bool = True,
) -> BulkOutcome:
    """Take entries out of use; those not live are skipped, or with `only_live` off marked as well.

    With `suppress` no machine writes them again (A15). Lines of files are struck there, unless `in_files` is off.
    """
    locked, outcome, entries = lock_entries(scope, expected)
    if only_live:
        _skip_unless_live(outcome, entries)
    if outcome.applied:
        unmarked = [pk for pk in outcome.applied if getattr(entries[pk], column) is None]
        rows_of(locked, unmarked).update(**{column: now}, updated_at=now)
        if suppress:
            suppression.suppress(locked, [entries[pk] for pk in outcome.applied], now=now, actor=actor)
        search_rows.enqueue_neighbours(unmarked)
        scope_statistics.raise_version(locked)
        if in_files:
            files.strike_lines(locked, [entries[pk] for pk in unmarked], now=now, must=not suppress)
    return outcome


def expire(
    entry: Entry, *, now: datetime, actor: str, expected_version: int | None = None, suppress: bool = True
) -> Entry:
    """Take one entry out of use, and keep machines from writing it again (A15).

    Raises VersionConflict, EntryNotFound or ScopeFrozen.
    """
    expected = {entry.pk: expected_version}
    with acting(actor):
        outcome = expire_many(entry.scope, expected, now=now, actor=actor, suppress=suppress, only_live=False)
        return _reload(entry, outcome)


def restore_many(scope: Scope, expected: Expected, *, now: datetime, term: timedelta | None) -> BulkOutcome:
    """Bring entries back into use, for `term` from now, or for as long as their policy allows from now on.

    What is in quarantine is skipped: undoing its batch lets it back.
    """
    locked, outcome, entries = lock_entries(scope, expected)
    outcome.skip((pk for pk, entry in entries.items() if entry.quarantined_at), SkipReason.QUARANTINED)
    if outcome.applied:
        restored = [entries[pk] for pk in outcome.applied]
        for expires_at, ids in _group_by_end(locked, restored, now, term).items():
            rows_of(locked, ids).update(**without_marks(), expires_at=expires_at, updated_at=now)
        suppression.release(locked, restored, now=now)
        search_rows.enqueue(outcome.applied)
        scope_statistics.raise_version(locked)
        files.restore_lines(locked, restored, now=now)
    return outcome


def restore(
    entry: Entry, *, now: datetime, actor: str, term: timedelta | None = None, expected_version: int | None = None
) -> Entry:
    """Bring one entry back into use. Raises VersionConflict, EntryNotFound or ScopeFrozen."""
    with acting(actor):
        return _reload(entry, restore_many(entry.scope, {entry.pk: expected_version}, now=now, term=term))


def _reload(entry: Entry, outcome: BulkOutcome) -> Entry:
    """The one entry of an outcome, as it is now. Raises EntryNotFound or VersionConflict where it was skipped."""
    raise_skipped(entry, outcome)
    return Entry.objects.select_related("scope").get(pk=entry.pk)


def raise_skipped(entry: Entry, outcome: BulkOutcome) -> None:
    reason = outcome.skipped.get(entry.pk)
    if reason is not None:
        raise EntryNotFound if reason == SkipReason.GONE else VersionConflict


def _group_by_end(
    scope: Scope, entries: Sequence[Entry], now: datetime, term: timedelta | None
) -> dict[datetime | None, list[int]]:
    """The ids of restored entries by the end of their new term."""
    if term is not None:
        return {now + term: [entry.pk for entry in entries]}
    policies = Policy.objects.of(scope.workspace_id)
    ends: defaultdict[datetime | None, list[int]] = defaultdict(list)
    for entry in entries:
        entry.scope = scope
        ends[policies.end_of_restored(entry, now)].append(entry.pk)
    return dict(ends)


def merge(scope: Scope, keeper_id: int, expected: Expected, *, now: datetime) -> BulkOutcome:
    """Archive entries that became part of another, which names them as its sources.

    Their chats, messages, latest statement and importance count for the keeper (A3, A9); it is found by their words.
    """
    return _replace(scope, keeper_id, expected, LinkKind.MERGED_FROM, now)


def supersede(scope: Scope, successor_id: int, expected: Expected, *, now: datetime) -> BulkOutcome:
    """Let a successor take the place of entries that no longer hold; they are kept, with a link and their dates."""
    return _replace(scope, successor_id, expected, LinkKind.SUPERSEDES, now)


def _replace(scope: Scope, successor_id: int, expected: Expected, kind: LinkKind, now: datetime) -> BulkOutcome:
    locked, outcome, entries = lock_entries(scope, expected)
    successor = Entry.objects.in_scope(locked).live().filter(pk=successor_id).first()
    if successor is None:
        return BulkOutcome(skipped=dict.fromkeys(expected, SkipReason.NO_SUCCESSOR))
    _skip_unless_live(outcome, entries)
    outcome.applied = [pk for pk in outcome.applied if pk != successor.pk]
    if not outcome.applied:
        return outcome
    replaced, changed = [entries[pk] for pk in outcome.applied], outcome.applied
    if kind == LinkKind.MERGED_FROM:
        _inherit(successor, replaced, now)
        rows_of(locked, outcome.applied).update(archived_at=now, updated_at=now)
        changed = [successor.pk, *changed]
    else:
        rows_of(locked, outcome.applied).update(superseded_by=successor, updated_at=now)
    link = {"workspace_id": locked.workspace_id, "from_entry": successor, "kind": kind, "created_at": now}
    Link.objects.bulk_create((Link(to_entry=entry, **link) for entry in replaced), ignore_conflicts=True)
    if kind == LinkKind.MERGED_FROM:  # it is found by their words when this returns
        search_rows.write_keywords(search_rows.keyword_rows([successor]), {locked.pk: locked.index_length})
    search_rows.enqueue(changed)
    scope_statistics.raise_version(locked)
    files.strike_lines(locked, replaced, now=now)
    return outcome


def _inherit(keeper: Entry, merged: Sequence[Entry], now: datetime) -> None:
    everyone = [keeper, *merged]
    known = all(entry.chats for entry in everyone)  # where the chat of one is unknown, no chat may hear the keeper
    keeper.chats = sorted({chat for entry in everyone for chat in entry.chats}) if known else []
    keeper.origins = list(dict.fromkeys(origin for entry in everyone for origin in entry.origins))
    keeper.importance = max(entry.importance for entry in everyone)
    keeper.stated_at = max(entry.stated_at for entry in everyone)
    keeper.updated_at = now
    keeper.save(update_fields=["chats", "origins", "importance", "stated_at", "updated_at"])
    evidence.inherit(keeper, merged)


def link_sources(scope: Scope, entry_id: int, sources: Iterable[int], *, now: datetime) -> None:
    """Link an entry to those it was made from that stay in use beside it."""
    kept = Entry.objects.in_scope(scope).filter(pk__in=list(sources)).exclude(pk=entry_id)
    link = {"workspace_id": scope.workspace_id, "to_entry_id": entry_id, "kind": LinkKind.SOURCE_OF, "created_at": now}
    links = [Link(from_entry=source, **link) for source in kept.order_by("pk").only("pk")]
    Link.objects.bulk_create(links, ignore_conflicts=True)


def lock_entries(scope: Scope, expected: Expected) -> tuple[Scope, BulkOutcome, dict[int, Entry]]:
    """The scope and these entries of it, locked; the outcome already skips entries that are gone or were changed.

    Raises ScopeFrozen.
    """
    locked = lock_scopes([scope])[scope.pk]
    entries = Entry.objects.in_scope(locked).select_for_update().in_bulk(list(expected))
    outcome = BulkOutcome(applied=sorted(entries))
    outcome.skip(expected.keys() - entries.keys(), SkipReason.GONE)
    changed = (pk for pk, entry in sorted(entries.items()) if expected[pk] not in (None, entry.version))
    outcome.skip(changed, SkipReason.CHANGED)
    return locked, outcome, entries


def _skip_unless_live(outcome: BulkOutcome, entries: Mapping[int, Entry]) -> None:
    outcome.skip((pk for pk in outcome.applied if not entries[pk].is_live()), SkipReason.ALREADY)


def rows_of(scope: Scope, entries: Sequence[int]) -> EntryQuerySet:
    return Entry.objects.in_scope(scope).filter(pk__in=entries)
