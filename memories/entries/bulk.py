"""What a batch does to many entries of a scope at once: take out, bring back, merge, supersede, change (F3).

Every function stands inside the caller's transaction, is given entries with the version each had when the plan was
made, and says of each that it left alone why.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from memories.choices import LeftBecause, LinkKind
from memories.entries import suppression
from memories.entries.locks import lock_scopes
from memories.index import scope_statistics, search_rows
from memories.models import Entry, Link, Policy, Scope

Expected = Mapping[int, int | None]  # entry → the version it must have; None: whichever it has


@dataclass
class Done:
    """What became of the entries of one call."""

    done: list[int] = field(default_factory=list)
    left: dict[int, LeftBecause] = field(default_factory=dict)
    details: dict[int, str] = field(default_factory=dict)  # of some that were left

    def leave(self, entries: Iterable[int], reason: LeftBecause) -> None:
        self.left.update(dict.fromkeys(entries, reason))

    def leave_each(self, told: Mapping[int, tuple[LeftBecause, str]]) -> None:
        self.left.update({pk: reason for pk, (reason, _detail) in told.items()})
        self.details.update({pk: detail for pk, (_reason, detail) in told.items()})


def take_out(
    scope: Scope,
    expected: Expected,
    *,
    now: datetime,
    actor: str,
    column: Literal["expired_at", "archived_at"] = "expired_at",
    suppress: bool = False,
) -> Done:
    """Take live entries out of use, softly. What people take out stays out: then no machine writes it again (A15)."""
    held = lock_scopes([scope])[scope.pk]
    done, entries = as_planned(held, expected)
    _keep_live(done, entries)
    if done.done:
        _rows(held, done.done).update(**{column: now}, updated_at=now)
        if suppress:
            suppression.suppress_many(held, [entries[pk] for pk in done.done], now=now, actor=actor)
        search_rows.mark_neighbours_stale(done.done)
        scope_statistics.touch(held)
    return done


def bring_back(scope: Scope, expected: Expected, *, now: datetime, term: timedelta | None) -> Done:
    """Bring entries back into use, for `term` from now, or for as long as their policy says from now on."""
    held = lock_scopes([scope])[scope.pk]
    done, entries = as_planned(held, expected)
    if done.done:
        for expires_at, ids in _terms(held, [entries[pk] for pk in done.done], now, term).items():
            _rows(held, ids).update(
                expired_at=None,
                archived_at=None,
                suppressed_at=None,
                superseded_by=None,
                expires_at=expires_at,
                updated_at=now,
            )
        suppression.release_many(held, [entries[pk] for pk in done.done], now=now)
        _settle(held, done.done)
    return done


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


def merge_into(scope: Scope, keeper_id: int, expected: Expected, *, now: datetime) -> Done:
    """Archive entries that have become part of another, which names them as its sources.

    What they stood for counts for the keeper: the chats they came from, the messages they rest on, when they were
    stated last, and their importance (A3, A9).
    """
    held = lock_scopes([scope])[scope.pk]
    done, entries = as_planned(held, expected)
    keeper = Entry.objects.in_scope(held).live().filter(pk=keeper_id).first()
    if keeper is None:
        return _all_left(expected, LeftBecause.NO_SUCCESSOR)
    _keep_live(done, entries)
    merged = [entries[pk] for pk in done.done if pk != keeper.pk]
    done.done = [entry.pk for entry in merged]
    if merged:
        _inherit(keeper, merged, now)
        _rows(held, done.done).update(archived_at=now, updated_at=now)
        _link(keeper, merged, LinkKind.MERGED_FROM, now)
        _settle(held, [keeper.pk, *done.done])
    return done


def supersede(scope: Scope, successor_id: int, expected: Expected, *, now: datetime) -> Done:
    """Let an entry take the place of others, which no longer hold; they are kept, with a link and their dates."""
    held = lock_scopes([scope])[scope.pk]
    done, entries = as_planned(held, expected)
    successor = Entry.objects.in_scope(held).live().filter(pk=successor_id).first()
    if successor is None:
        return _all_left(expected, LeftBecause.NO_SUCCESSOR)
    _keep_live(done, entries)
    done.done = [pk for pk in done.done if pk != successor.pk]
    if done.done:
        _rows(held, done.done).update(superseded_by=successor, updated_at=now)
        _link(successor, [entries[pk] for pk in done.done], LinkKind.SUPERSEDES, now)
        _settle(held, done.done)
    return done


def name_sources(scope: Scope, entry_id: int, sources: Iterable[int], *, now: datetime) -> None:
    """Say which entries another was made from that stay in use beside it."""
    kept = Entry.objects.in_scope(scope).filter(pk__in=list(sources)).exclude(pk=entry_id)
    Link.objects.bulk_create(
        (
            Link(
                workspace_id=scope.workspace_id,
                from_entry=source,
                to_entry_id=entry_id,
                kind=LinkKind.SOURCE_OF,
                created_at=now,
            )
            for source in kept.order_by("pk").only("pk")
        ),
        ignore_conflicts=True,
    )


def change_alike(scope: Scope, columns: Mapping[str, Any], expected: Expected, *, now: datetime) -> Done:
    """Give many entries the same values in columns that neither words nor slots follow from."""
    held = lock_scopes([scope])[scope.pk]
    done, _entries = as_planned(held, expected)
    if done.done:
        _rows(held, done.done).update(**columns, updated_at=now)
        scope_statistics.touch(held)
    return done


def as_planned(scope: Scope, expected: Expected) -> tuple[Done, dict[int, Entry]]:
    """The entries that are still as the plan saw them, and the others with the reason."""
    entries = Entry.objects.in_scope(scope).select_for_update().in_bulk(list(expected))
    done = Done()
    done.leave(expected.keys() - entries.keys(), LeftBecause.GONE)
    for pk, entry in sorted(entries.items()):
        if expected[pk] in (None, entry.version):
            done.done.append(pk)
        else:
            done.left[pk] = LeftBecause.CHANGED
    return done, entries


def _keep_live(done: Done, entries: Mapping[int, Entry]) -> None:
    done.leave((pk for pk in done.done if not entries[pk].is_live()), LeftBecause.ALREADY)
    done.done = [pk for pk in done.done if pk not in done.left]


def _all_left(expected: Expected, reason: LeftBecause) -> Done:
    return Done(left=dict.fromkeys(expected, reason))


def _rows(scope: Scope, entries: Sequence[int]) -> Any:
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
    Link.objects.bulk_create(
        (
            Link(workspace_id=one.workspace_id, from_entry=one, to_entry=other, kind=kind, created_at=now)
            for other in others
        ),
        ignore_conflicts=True,
    )


def _settle(scope: Scope, entries: Sequence[int]) -> None:
    search_rows.mark_stale(entries)
    scope_statistics.touch(scope)
