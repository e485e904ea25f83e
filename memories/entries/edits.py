"""Changing what entries say: update and revert; each change is in the history (F2)."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from memories.entries import versions
from memories.entries.draft import Draft, check
from memories.entries.fields import COLUMN_SLOTS, DRAFTED, RESERVED_SLOTS, REVERTIBLE, SLOT_FIELD
from memories.entries.locks import lock_scopes
from memories.entries.transitions import BulkOutcome, Expected, match_expected, raise_skipped, rows_of
from memories.exceptions import InvalidDraft
from memories.index import scope_statistics, search_rows
from memories.language import text
from memories.models import Entry, Scope, Slot
from memories.models.change import acting


@dataclass(frozen=True, kw_only=True)
class Edit:
    """What is to change: columns by name, and slots by name (None takes the slot away)."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    slots: Mapping[str, str | None] = field(default_factory=dict)


def update_many(scope: Scope, columns: Mapping[str, Any], expected: Expected, *, now: datetime) -> BulkOutcome:
    """Give many entries the same values in columns that neither words nor slots follow from."""
    locked = lock_scopes([scope])[scope.pk]
    outcome, _entries = match_expected(locked, expected)
    if outcome.applied:
        rows_of(locked, outcome.applied).update(**columns, updated_at=now)
        scope_statistics.raise_version(locked)
    return outcome


def update(entry: Entry, wanted: Edit, *, now: datetime, actor: str, expected_version: int | None = None) -> Entry:
    """Change an entry as a person or bot wants it.

    Raises InvalidDraft, VersionConflict, ScopeFrozen or EntryNotFound.
    """
    with _locked(entry, actor, expected_version) as (stored, scope):
        _check_edit(stored, wanted)
        for name, value in wanted.columns.items():
            setattr(stored, name, value)
        for name in COLUMN_SLOTS:
            if name in wanted.slots:
                setattr(stored, name, wanted.slots[name] or "")
        _write_with_slots(stored, scope, now, [*wanted.columns, *(set(wanted.slots) & set(COLUMN_SLOTS))], wanted.slots)
    stored.refresh_from_db(fields=["version"])
    return stored


def revert(
    entry: Entry,
    version: int,
    *,
    now: datetime,
    actor: str,
    only: Collection[str] | None = None,
    expected_version: int | None = None,
) -> Entry:
    """Give an entry's words, attributes and slots back the values they had in a version: all, or `only` these.

    A slot is named as `slots.env`. Raises VersionNotFound, or InvalidDraft for a field no version holds.
    """
    with _locked(entry, actor, expected_version) as (stored, scope):
        columns, slots = versions.columns_and_slots(stored, version)
        if only is not None:
            _check_fields(only, slots)
            columns = {name: value for name, value in columns.items() if name in only}
            slots = {name: value for name, value in slots.items() if f"{SLOT_FIELD}{name}" in only}
        for name, value in columns.items():
            setattr(stored, name, value)
        _write_with_slots(stored, scope, now, list(columns), slots)
    stored.refresh_from_db()
    return stored


def _check_fields(fields: Collection[str], slots: Mapping[str, Any]) -> None:
    unknown = set(fields) - set(REVERTIBLE) - {f"{SLOT_FIELD}{name}" for name in slots}
    if unknown:
        message = _("“%(name)s” is nothing a version brings back.")
        raise InvalidDraft(message % {"name": sorted(unknown)[0]}, field="only")


@contextmanager
def _locked(entry: Entry, actor: str, expected_version: int | None) -> Iterator[tuple[Entry, Scope]]:
    """The entry as it is now, with its scope locked against other writers until the change is made."""
    with acting(actor):
        scope = lock_scopes([entry.scope])[entry.scope_id]
        outcome, found = match_expected(scope, {entry.pk: expected_version})
        raise_skipped(entry, outcome)
        stored = found[entry.pk]
        stored.scope = scope
        yield stored, scope
        scope_statistics.raise_version(scope)


def _check_edit(stored: Entry, wanted: Edit) -> None:
    """Raise InvalidDraft unless the entry as it is wanted passes the checks of a draft."""
    free = {slot.name: slot.value for slot in stored.slots.all()}
    slots = {name: getattr(stored, name) for name in COLUMN_SLOTS if getattr(stored, name)} | free
    changed = {name: value for name, value in {**slots, **wanted.slots}.items() if value is not None}
    columns = {name: getattr(stored, name) for name in (*DRAFTED, "importance")}
    known = {name: value for name, value in wanted.columns.items() if name in columns}
    check(Draft(scope=stored.scope, at=stored.created_at, slots=changed, **{**columns, **known}))


def _write(stored: Entry, scope: Scope, now: datetime, columns: list[str]) -> None:
    """Save these columns and what follows from them; mark the search rows around it stale."""
    if "content" in columns:
        _reword(stored, scope)
        columns = [*columns, "terms", "length", "fingerprint"]
    if not {"project", "content", "speaker"}.isdisjoint(columns):
        scope_statistics.learn_names(scope, [stored])
    stored.updated_at = now
    stored.save(update_fields=list(dict.fromkeys([*columns, "updated_at"])))
    search_rows.enqueue([stored.pk])


def _reword(stored: Entry, scope: Scope) -> None:
    """Compute anew what search knows of the words, so that it is found by them when this returns."""
    before = Counter(dict.fromkeys(stored.terms, -1))
    counts = text.terms(stored.content)
    stored.terms, stored.length = sorted(counts), counts.total()
    stored.fingerprint = text.fingerprint(stored.content)
    before.update(dict.fromkeys(stored.terms, 1))
    scope_statistics.count_terms(stored.workspace_id, {stored.scope_id: before})
    search_rows.write_keywords(
        [(stored.pk, stored.workspace_id, stored.scope_id, counts)], {scope.pk: scope.index_length}
    )


def _write_with_slots(
    stored: Entry, scope: Scope, now: datetime, columns: list[str], slots: Mapping[str, str | None]
) -> None:
    """Save columns and slots as one change: whoever holds the version before it can tell that something is new."""
    had = {slot.name: slot.value for slot in stored.slots.all()}
    free = {name: value or None for name, value in slots.items() if name not in (*COLUMN_SLOTS, *RESERVED_SLOTS)}
    differing = {name: value for name, value in free.items() if had.get(name) != value}
    if differing:
        stored.version += 1
        columns = [*columns, "version"]
    _write(stored, scope, now, columns)
    _write_slots(stored, differing)


def _write_slots(stored: Entry, slots: Mapping[str, str | None]) -> None:
    gone = [name for name, value in slots.items() if value is None]
    Slot.objects.filter(workspace_id=stored.workspace_id, entry=stored, name__in=gone).delete()
    for name, value in slots.items():
        if value is not None:
            Slot.objects.update_or_create(
                workspace_id=stored.workspace_id, entry=stored, name=name, defaults={"value": value}
            )
