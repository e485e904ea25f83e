"""Changing the state of entries: expire, restore, merge, supersede; each change is in the history (F2, F3, A15).

What ends in `_many` stands inside the caller's transaction, is given entries of one scope with the version each must
have, and says of each it skipped why. The same verb for one entry opens its own transaction, and raises instead.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from memories.choices import LinkKind, SkipReason
from memories.entries import suppression
from memories.entries.locks import lock_scopes
from memories.exceptions import EntryNotFound, VersionConflict
from memories.index import scope_statistics, search_rows
from memories.models import Entry, Link, Policy, Scope
from memories.models.change import acting
from memories.models.entry import EntryQuerySet
from memories.models.state import without_marks

Expected = Mapping[int, int | None]  # entry → the version it must have; None: whichever it has


@dataclass
class BulkOutcome:
    """What became of the entries of one call."""

    applied: list[int] = field(default_factory=list)
    skipped: dict[int, SkipReason] = field(default_factory=dict)
    details: dict[int, str] = field(default_factory=dict)  # of some that were skipped

    def skip(self, entries: Iterable[int], reason: SkipReason) -> None:
        self.skipped.update(dict.fromkeys(entries, reason))

    def skip_each(self, told: Mapping[int, tuple[SkipReason, str]]) -> None:
        self.skipped.update({pk: reason for pk, (reason, _detail) in told.items()})
        self.details.update({pk: detail for pk, (_reason, detail) in told.items()})


def expire_many(
    scope: Scope,
    expected: Expected,
    *,
    now: datetime,
    actor: str,
    column: Literal["expired_at", "archived_at"] = "expired_at",
    suppress: bool = False,
    only_live: bool = True,
) -> BulkOutcome:
    """Take entries out of use, softly; those that are not live are skipped, or with `only_live` off marked as well.

    With `suppress` no machine writes them again (A15).
    """
    locked = lock_scopes([scope])[scope.pk]
    outcome, entries = match_expected(locked, expected)
    if only_live:
        _skip_unless_live(outcome, entries)
    if outcome.applied:
        unmarked = [pk for pk in outcome.applied if getattr(entries[pk], column) is None]
        rows_of(locked, unmarked).update(**{column: now}, updated_at=now)
        if suppress:
            suppression.suppress_many(locked, [entries[pk] for pk in outcome.applied], now=now, actor=actor)
        search_rows.enqueue_neighbours(unmarked)
        scope_statistics.raise_version(locked)
    return outcome


def expire(
    entry: Entry, *, now: datetime, actor: str, expected_version: int | None = None, suppress: bool = True
) -> Entry:
    """Take one entry out of use; taken out by a person or bot it stays out (A15).

    Raises VersionConflict, EntryNotFound or ScopeFrozen.
    """
    expected = {entry.pk: expected_version}
    with acting(actor):
        outcome = expire_many(entry.scope, expected, now=now, actor=actor, suppress=suppress, only_live=False)
        return _only(entry, outcome)


def restore_many(scope: Scope, expected: Expected, *, now: datetime, term: timedelta | None) -> BulkOutcome:
    """Bring entries back into use, for `term` from now, or for as long as their policy says from now on."""
    locked = lock_scopes([scope])[scope.pk]
    outcome, entries = match_expected(locked, expected)
    if outcome.applied:
        for expires_at, ids in _terms(locked, [entries[pk] for pk in outcome.applied], now, term).items():
            rows_of(locked, ids).update(**without_marks(), expires_at=expires_at, updated_at=now)
        suppression.release_many(locked, [entries[pk] for pk in outcome.applied], now=now)
        _settle(locked, outcome.applied)
    return outcome


def restore(
    entry: Entry, *, now: datetime, actor: str, term: timedelta | None = None, expected_version: int | None = None
) -> Entry:
    """Bring one entry back into use. Raises VersionConflict, EntryNotFound or ScopeFrozen."""
    with acting(actor):
        return _only(entry, restore_many(entry.scope, {entry.pk: expected_version}, now=now, term=term))


def _only(entry: Entry, outcome: BulkOutcome) -> Entry:
    """The one entry of an outcome, as it is now. Raises EntryNotFound or VersionConflict where it was skipped."""
    raise_skipped(entry, outcome)
    return Entry.objects.select_related("scope").get(pk=entry.pk)


def raise_skipped(entry: Entry, outcome: BulkOutcome) -> None:
    reason = outcome.skipped.get(entry.pk)
    if reason is not None:
        raise EntryNotFound if reason == SkipReason.GONE else VersionConflict


def _terms(
    scope: Scope, entries: Sequence[Entry], now: datetime, term: timedelta | None
) -> dict[datetime | None, list[int]]:
    """Until when each is brought back."""
    if term is not None:
        return {now + term: [entry.pk for entry in entries]}
    policies = Policy.objects.of(scope.workspace_id)
    ends: defaultdict[datetime | None, list[int]] = defaultdict(list)
    for entry in entries:
        entry.scope = scope
        ends[policies.end_of_restored(entry, now)].append(entry.pk)
    return dict(ends)


def merge(scope: Scope, keeper_id: int, expected: Expected, *, now: datetime) -> BulkOutcome:
    """Archive entries that have become part of another, which names them as its sources.

    What they stood for counts for the keeper: the chats they came from, the messages they rest on, when they were
    stated last, and their importance (A3, A9).
    """
    locked = lock_scopes([scope])[scope.pk]
    outcome, entries = match_expected(locked, expected)
    keeper = Entry.objects.in_scope(locked).live().filter(pk=keeper_id).first()
    if keeper is None:
        return _skip_all(expected, SkipReason.NO_SUCCESSOR)
    _skip_unless_live(outcome, entries)
    merged = [entries[pk] for pk in outcome.applied if pk != keeper.pk]
    outcome.applied = [entry.pk for entry in merged]
    if merged:
        _inherit(keeper, merged, now)
        rows_of(locked, outcome.applied).update(archived_at=now, updated_at=now)
        _link(keeper, merged, LinkKind.MERGED_FROM, now)
        _settle(locked, [keeper.pk, *outcome.applied])
    return outcome


def supersede(scope: Scope, successor_id: int, expected: Expected, *, now: datetime) -> BulkOutcome:
    """Let an entry take the place of others, which no longer hold; they are kept, with a link and their dates."""
    locked = lock_scopes([scope])[scope.pk]
    outcome, entries = match_expected(locked, expected)
    successor = Entry.objects.in_scope(locked).live().filter(pk=successor_id).first()
    if successor is None:
        return _skip_all(expected, SkipReason.NO_SUCCESSOR)
    _skip_unless_live(outcome, entries)
    outcome.applied = [pk for pk in outcome.applied if pk != successor.pk]
    if outcome.applied:
        rows_of(locked, outcome.applied).update(superseded_by=successor, updated_at=now)
        _link(successor, [entries[pk] for pk in outcome.applied], LinkKind.SUPERSEDES, now)
        _settle(locked, outcome.applied)
    return outcome


def link_sources(scope: Scope, entry_id: int, sources: Iterable[int], *, now: datetime) -> None:
    """Say which entries another was made from that stay in use beside it."""
    kept = Entry.objects.in_scope(scope).filter(pk__in=list(sources)).exclude(pk=entry_id)
    link = {"workspace_id": scope.workspace_id, "to_entry_id": entry_id, "kind": LinkKind.SOURCE_OF, "created_at": now}
    links = [Link(from_entry=source, **link) for source in kept.order_by("pk").only("pk")]
    Link.objects.bulk_create(links, ignore_conflicts=True)


def match_expected(scope: Scope, expected: Expected) -> tuple[BulkOutcome, dict[int, Entry]]:
    """The entries that are still as the plan saw them, and the others with the reason."""
    entries = Entry.objects.in_scope(scope).select_for_update().in_bulk(list(expected))
    outcome = BulkOutcome()
    outcome.skip(expected.keys() - entries.keys(), SkipReason.GONE)
    for pk, entry in sorted(entries.items()):
        if expected[pk] in (None, entry.version):
            outcome.applied.append(pk)
        else:
            outcome.skipped[pk] = SkipReason.CHANGED
    return outcome, entries


def _skip_unless_live(outcome: BulkOutcome, entries: Mapping[int, Entry]) -> None:
    outcome.skip((pk for pk in outcome.applied if not entries[pk].is_live()), SkipReason.ALREADY)
    outcome.applied = [pk for pk in outcome.applied if pk not in outcome.skipped]


def _skip_all(expected: Expected, reason: SkipReason) -> BulkOutcome:
    return BulkOutcome(skipped=dict.fromkeys(expected, reason))


def rows_of(scope: Scope, entries: Sequence[int]) -> EntryQuerySet:
    return Entry.objects.in_scope(scope).filter(pk__in=entries)


def _inherit(keeper: Entry, merged: Sequence[Entry], now: datetime) -> None:
    everyone = [keeper, *merged]
    known = all(entry.chats for entry in everyone)  # of one that came from nobody knows where, no chat may be told
    keeper.chats = sorted({chat for entry in everyone for chat in entry.chats}) if known else []
    keeper.origins = list(dict.fromkeys(origin for entry in everyone for origin in entry.origins))
    keeper.importance = max(entry.importance for entry in everyone)
    keeper.stated_at = max(entry.stated_at for entry in everyone)
    keeper.updated_at = now
    keeper.save(update_fields=["chats", "origins", "importance", "stated_at", "updated_at"])


def _link(one: Entry, others: Sequence[Entry], kind: LinkKind, now: datetime) -> None:
    link = {"workspace_id": one.workspace_id, "from_entry": one, "kind": kind, "created_at": now}
    Link.objects.bulk_create((Link(to_entry=other, **link) for other in others), ignore_conflicts=True)


def _settle(scope: Scope, entries: Sequence[int]) -> None:
    search_rows.enqueue(entries)
    scope_statistics.raise_version(scope)
