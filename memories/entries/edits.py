"""Changing the words, columns and slots of entries: update and revert; each change is in the history (F2)."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from memories.choices import Echo
from memories.entries import files, versions
from memories.entries.confidential import marks_of
from memories.entries.draft import Draft, check
from memories.entries.fields import COLUMN_SLOTS, DRAFTED, RESERVED_SLOTS, REVERTIBLE, SLOT_FIELD
from memories.entries.transitions import BulkOutcome, Expected, lock_entries, raise_skipped, rows_of
from memories.exceptions import InvalidDraft
from memories.index import scope_statistics, search_rows
from memories.index.indexed_text import indexed_text
from memories.language import text
from memories.models import Entry, Scope, Slot
from memories.models.change import acting


@dataclass(frozen=True, kw_only=True)
class Edit:
    """New values of columns and slots, by name; None removes a slot."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    slots: Mapping[str, str | None] = field(default_factory=dict)


def update_many(scope: Scope, columns: Mapping[str, Any], expected: Expected, *, now: datetime) -> BulkOutcome:
    """Give many entries the same values in columns that neither words nor slots follow from."""
    locked, outcome, _entries = lock_entries(scope, expected)
    if outcome.applied:
        rows_of(locked, outcome.applied).update(**columns, updated_at=now)
        scope_statistics.raise_version(locked)
    return outcome


def update(entry: Entry, edit: Edit, *, now: datetime, actor: str, expected_version: int | None = None) -> Entry:
    """Change an entry on behalf of a person or bot.

    Raises InvalidDraft, VersionConflict, ScopeFrozen or EntryNotFound; of a line of a file LineChanged.
    """
    with _locked(entry, actor, expected_version) as (stored, scope):
        _check_edit(stored, edit)
        before, columns = stored.content, dict(edit.columns)
        if "content" in columns and "category" not in columns:
            columns |= marks_of(stored, columns["content"])
        for name, value in columns.items():
            setattr(stored, name, value)
        for name in COLUMN_SLOTS:
            if name in edit.slots:
                setattr(stored, name, edit.slots[name] or "")
        _save(stored, scope, now, [*columns, *(set(edit.slots) & set(COLUMN_SLOTS))], edit.slots)
        files.reword_line(scope, stored, before)
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
            unknown = set(only) - set(REVERTIBLE) - {f"{SLOT_FIELD}{name}" for name in slots}
            if unknown:
                message = _("“%(name)s” is nothing a version brings back.")
                raise InvalidDraft(message % {"name": sorted(unknown)[0]}, field="only")
            columns = {name: value for name, value in columns.items() if name in only}
            slots = {name: value for name, value in slots.items() if f"{SLOT_FIELD}{name}" in only}
        before = stored.content
        for name, value in columns.items():
            setattr(stored, name, value)
        _save(stored, scope, now, list(columns), slots)
        files.reword_line(scope, stored, before)
    stored.refresh_from_db()
    return stored


@contextmanager
def _locked(entry: Entry, actor: str, expected_version: int | None) -> Iterator[tuple[Entry, Scope]]:
    """The entry as it is now and its scope, locked until the change is made, which raises the scope's version."""
    with acting(actor):
        scope, outcome, entries = lock_entries(entry.scope, {entry.pk: expected_version})
        raise_skipped(entry, outcome)
        stored = entries[entry.pk]
        stored.scope = scope
        yield stored, scope
        scope_statistics.raise_version(scope)


def _check_edit(stored: Entry, edit: Edit) -> None:
    """Raise InvalidDraft unless the edited entry passes the checks of a draft."""
    free = {slot.name: slot.value for slot in stored.slots.all()}
    slots = {name: getattr(stored, name) for name in COLUMN_SLOTS if getattr(stored, name)} | free
    changed = {name: value for name, value in {**slots, **edit.slots}.items() if value is not None}
    columns = {name: getattr(stored, name) for name in (*DRAFTED, "importance")}
    known = {name: value for name, value in edit.columns.items() if name in columns}
    check(Draft(scope=stored.scope, at=stored.created_at, slots=changed, **{**columns, **known}))


def _save(stored: Entry, scope: Scope, now: datetime, columns: list[str], slots: Mapping[str, str | None]) -> None:
    """Save columns, what is derived from them, and slots as one change; changed slots raise the version, too."""
    had = {slot.name: slot.value for slot in stored.slots.all()}
    free = {name: value or None for name, value in slots.items() if name not in (*COLUMN_SLOTS, *RESERVED_SLOTS)}
    differing = {name: value for name, value in free.items() if had.get(name) != value}
    if differing:
        stored.version += 1
        columns = [*columns, "version"]
    if "content" in columns:  # it is found by the new words when this returns
        words = indexed_text(stored.content, path=stored.path, heading=stored.heading)
        keywords = reword(stored, stored.content, text.terms(words))
        search_rows.write_keywords([keywords], {scope.pk: scope.index_length})
        columns = [*columns, "terms", "length", "fingerprint", "echo"]
    if not {"project", "content", "speaker"}.isdisjoint(columns):
        scope_statistics.learn_names(scope, [stored])
    stored.updated_at = now
    stored.save(update_fields=list(dict.fromkeys([*columns, "updated_at"])))
    search_rows.enqueue([stored.pk])
    write_slots(stored, differing)


def reword(entry: Entry, content: str, counts: Counter[int], echo: str | None = Echo.NONE) -> search_rows.KeywordRow:
    """Give an entry, not saved yet, other words and what is derived from them; `counts` are their terms.

    Text written by hand is no echo. Term counts of the scope are updated; the row of keywords is for the caller to
    write.
    """
    difference = Counter(dict.fromkeys(scope_statistics.counted_terms(entry), -1))
    entry.content, entry.fingerprint = content, text.fingerprint(content)
    entry.terms, entry.length, entry.echo = sorted(counts), counts.total(), echo
    difference.update(scope_statistics.counted_terms(entry))
    scope_statistics.count_terms(entry.workspace_id, {entry.scope_id: difference})
    return search_rows.keyword_rows([entry])[0]


def write_slots(entry: Entry, slots: Mapping[str, str | None]) -> None:
    """Set slots that are rows of their own; None removes one."""
    here = Slot.objects.filter(workspace_id=entry.workspace_id, entry=entry)
    here.filter(name__in=[name for name, value in slots.items() if value is None]).delete()
    for name, value in slots.items():
        if value is not None:
            Slot.objects.update_or_create(
                workspace_id=entry.workspace_id, entry=entry, name=name, defaults={"value": value}
            )
