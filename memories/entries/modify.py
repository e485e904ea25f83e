"""Changing what is there: edit, take out, bring back, revert; each stands in the history (F2, A15)."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from memories.entries import suppression, versions
from memories.entries.draft import COLUMN_SLOTS, RESERVED_SLOTS, Draft, check
from memories.entries.locks import lock_scopes
from memories.exceptions import EntryNotFound, InvalidDraft, VersionConflict
from memories.index import scope_statistics, search_rows
from memories.language import text
from memories.models import Entry, Policy, Scope, Slot
from memories.models.change import acting

#: Columns a person or bot may edit; what follows from them is computed here.
EDITABLE = (
    "content",
    "category",
    "project",
    "topic",
    "importance",
    "pinned",
    "expires_at",
    "review_at",
    "verified_at",
    "verified_by",
)
#: Columns that a revert brings back; liveness has its own verbs.
REVERTIBLE = (*EDITABLE, *COLUMN_SLOTS, "type", "subtype", "tier", "source")


#: Columns from which nothing follows: neither words to search for nor slots.
BULK_EDITABLE = frozenset(EDITABLE) - {"content", "project"}

#: How a field that is a slot is named.
SLOT_FIELD = "slots."

_COLUMNS = {column.name: column for column in Entry._meta.concrete_fields}


@dataclass(frozen=True, kw_only=True)
class Edit:
    """What is to change: columns by name, and slots by name (None takes the slot away)."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    slots: Mapping[str, str | None] = field(default_factory=dict)


def read_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns by name, from JSON to what they hold."""
    return {name: _COLUMNS[name].to_python(value) for name, value in columns.items()}


def update(entry: Entry, wanted: Edit, *, now: datetime, actor: str, expected_version: int | None = None) -> Entry:
    """Change an entry as a person or bot wants it.

    Raises InvalidDraft, VersionConflict, ScopeFrozen or EntryNotFound.
    """
    with _held(entry, actor, expected_version) as (held, scope):
        _check_edit(held, wanted)
        for name, value in wanted.columns.items():
            setattr(held, name, value)
        for name in COLUMN_SLOTS:
            if name in wanted.slots:
                setattr(held, name, wanted.slots[name] or "")
        _write_with_slots(held, scope, now, [*wanted.columns, *(set(wanted.slots) & set(COLUMN_SLOTS))], wanted.slots)
    held.refresh_from_db(fields=["version"])
    return held


def expire(
    entry: Entry, *, now: datetime, actor: str, expected_version: int | None = None, suppress: bool = True
) -> Entry:
    """Take an entry out of use, softly. Taken out by a person or bot it stays out: no machine writes it again."""
    with _held(entry, actor, expected_version) as (held, scope):
        if held.expired_at is None:
            held.expired_at = now
            _write(held, scope, now, ["expired_at"])
        if suppress:
            suppression.suppress(held, now=now, actor=actor)
    held.refresh_from_db(fields=["version"])
    return held


def restore(
    entry: Entry,
    *,
    now: datetime,
    actor: str,
    term: timedelta | None = None,
    expected_version: int | None = None,
) -> Entry:
    """Bring an entry back into use, for `term` from now, or for as long as its policy says from now on."""
    with _held(entry, actor, expected_version) as (held, scope):
        held.expired_at = held.archived_at = held.suppressed_at = None
        held.superseded_by_id = None
        held.scope = scope
        policies = Policy.objects.of(scope.workspace_id)
        held.expires_at = policies.end_of_restored(held, now) if term is None else now + term
        _write(held, scope, now, ["expired_at", "archived_at", "suppressed_at", "superseded_by", "expires_at"])
        suppression.release(held, now)
    held.refresh_from_db(fields=["version"])
    return held


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
    with _held(entry, actor, expected_version) as (held, scope):
        columns, slots = _as_they_were(held, version)
        if only is not None:
            _check_fields(only, slots)
            columns = {name: value for name, value in columns.items() if name in only}
            slots = {name: value for name, value in slots.items() if f"{SLOT_FIELD}{name}" in only}
        for name, value in columns.items():
            setattr(held, name, value)
        _write_with_slots(held, scope, now, list(columns), slots)
    held.refresh_from_db()
    return held


def differences(entry: Entry, version: int) -> dict[str, tuple[Any, Any]]:
    """What is something else now than in a version, field by field: as it was, and as it is. Raises VersionNotFound."""
    columns, slots = _as_they_were(entry, version)
    has = {slot.name: slot.value for slot in entry.slots.all()}
    pairs = {name: (value, getattr(entry, name)) for name, value in columns.items()}
    pairs |= {f"{SLOT_FIELD}{name}": (value, has.get(name)) for name, value in slots.items()}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _as_they_were(entry: Entry, version: int) -> tuple[dict[str, Any], dict[str, str | None]]:
    """Columns changed since a version, and every slot, with their values then; None: there was no such slot."""
    was = versions.as_of_version(entry, version)
    columns = {name: _COLUMNS[name].to_python(value) for name, value in was.items() if name in REVERTIBLE}
    gone: dict[str, str | None] = dict.fromkeys(slot.name for slot in entry.slots.all())
    return columns, gone | versions.slots_as_of_version(entry, version)


def _check_fields(fields: Collection[str], slots: Mapping[str, Any]) -> None:
    unknown = set(fields) - set(REVERTIBLE) - {f"{SLOT_FIELD}{name}" for name in slots}
    if unknown:
        said = _("“%(name)s” is nothing a version brings back.")
        raise InvalidDraft(said % {"name": sorted(unknown)[0]}, field="only")


@contextmanager
def _held(entry: Entry, actor: str, expected_version: int | None) -> Iterator[tuple[Entry, Scope]]:
    """The entry as it is now, with its scope locked against other writers until the change is made."""
    with acting(actor):
        scope = lock_scopes([entry.scope])[entry.scope_id]
        held = Entry.objects.filter(pk=entry.pk, workspace_id=entry.workspace_id).first()
        if held is None:
            raise EntryNotFound
        if expected_version is not None and held.version != expected_version:
            raise VersionConflict
        held.scope = scope
        yield held, scope
        scope_statistics.touch(scope)


def _check_edit(held: Entry, wanted: Edit) -> None:
    """The same checks a draft goes through."""
    free = {slot.name: slot.value for slot in held.slots.all()}
    slots = {name: getattr(held, name) for name in COLUMN_SLOTS if getattr(held, name)} | free
    changed = {name: value for name, value in {**slots, **wanted.slots}.items() if value is not None}
    draft = Draft(
        scope=held.scope,
        type=held.type,
        content=held.content,
        source=held.source,
        at=held.created_at,
        tier=held.tier,
        category=held.category,
        project=held.project,
        topic=held.topic,
        importance=held.importance,
        slots=changed,
    )
    known = {name: value for name, value in wanted.columns.items() if name in Draft.__dataclass_fields__}
    check(replace(draft, **known))


def _write(held: Entry, scope: Scope, now: datetime, columns: list[str]) -> None:
    """Save these columns and what follows from them; mark the search rows around it stale."""
    if "content" in columns:
        _reword(held, scope)
        columns = [*columns, "terms", "length", "fingerprint"]
    if not {"project", "content", "speaker"}.isdisjoint(columns):
        scope_statistics.know(scope, [held])
    held.updated_at = now
    held.save(update_fields=list(dict.fromkeys([*columns, "updated_at"])))
    search_rows.mark_stale([held.pk])


def _reword(held: Entry, scope: Scope) -> None:
    """Compute anew what search knows of the words, so that it is found by them when this returns."""
    before = Counter(dict.fromkeys(held.terms, -1))
    counts = text.terms(held.content)
    held.terms, held.length = sorted(counts), counts.total()
    held.fingerprint = text.fingerprint(held.content)
    before.update(dict.fromkeys(held.terms, 1))
    scope_statistics.count_terms(held.workspace_id, {held.scope_id: before})
    search_rows.write_keywords([(held.pk, held.workspace_id, held.scope_id, counts)], {scope.pk: scope.index_length})


def _write_with_slots(
    held: Entry, scope: Scope, now: datetime, columns: list[str], slots: Mapping[str, str | None]
) -> None:
    """Save columns and slots as one change: whoever holds the version before it can tell that something is new."""
    had = {slot.name: slot.value for slot in held.slots.all()}
    free = {name: value or None for name, value in slots.items() if name not in (*COLUMN_SLOTS, *RESERVED_SLOTS)}
    differing = {name: value for name, value in free.items() if had.get(name) != value}
    if differing:
        held.version += 1
        columns = [*columns, "version"]
    _write(held, scope, now, columns)
    _write_slots(held, differing)


def _write_slots(held: Entry, slots: Mapping[str, str | None]) -> None:
    gone = [name for name, value in slots.items() if value is None]
    Slot.objects.filter(workspace_id=held.workspace_id, entry=held, name__in=gone).delete()
    for name, value in slots.items():
        if value is not None:
            Slot.objects.update_or_create(
                workspace_id=held.workspace_id, entry=held, name=name, defaults={"value": value}
            )
