"""The records of an export: of which table each is, which columns it tells, and which of these refer to others.

A record refers to another by the id outsiders see. Nothing derived is told: no embeddings, search rows or counters of
words; and nothing of who calls: no keys, receipts or secrets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import DateTimeField, Field, Model
from django.utils.translation import gettext as _

from channels_app.models import Channel, Consent, Identity, Person
from memories.entries.exported import EXPORTED
from memories.models import (
    Change,
    DailyEvent,
    Entry,
    EntryAccess,
    Evidence,
    Link,
    Policy,
    Scope,
    Slot,
    Suppression,
    Workspace,
)
from sessions_app.models import Flush, Session, SessionEvent

FORMAT = 1
HEAD, END = "export", "end"
#: An entry out of use and its successor, which may stand further down than the entry.
SUCCESSOR = "successor"


class RecordRefused(Exception):
    """A record cannot be read; the message says why."""


@dataclass(frozen=True)
class Kind:
    """One kind of record."""

    model: type[Model]
    columns: tuple[str, ...]
    references: Mapping[str, str] = field(default_factory=dict)  # by column: the kind it refers to

    def told(self, row: Any) -> dict[str, Any]:
        """The columns of a row, as JSON."""
        return {name: as_json(getattr(row, name)) for name in self.columns}

    def read(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The columns a record tells, as Python values. Raises RecordRefused."""
        return {name: _value(self.model._meta.get_field(name), record, name) for name in self.columns}


_SOURCED = ("uid", "content", "source", "chats", "origins", "created_at", "updated_at", "expired_at", "version")
_RULES = (
    *("label", "dm_scope", "session_mode", "session_prefix", "group_sessions", "group_prefix", "need", "max_tokens"),
    *("capture_group_memory", "group_user_recall", "secrets", "path_mode", "transcripts"),
)
KINDS: Mapping[str, Kind] = {
    "workspace": Kind(Workspace, ("name", "language", "time_zone")),
    "policy": Kind(Policy, ("kind", "entry_type", "scope_kind", "name", "value", "reason", "version")),
    "channel": Kind(Channel, ("uid", "platform", "account", *_RULES, "version")),
    "person": Kind(Person, ("key", "name", "note", "united_at", "created_at", "version")),
    "scope": Kind(
        Scope,
        (
            *("uid", "key", "kind", "label", "frozen", "speakers", "projects", "nicknames", "sender_names"),
            *("secrets_version", "created_at"),
        ),
    ),
    "session": Kind(
        Session,
        (
            *("uid", "key", "platform", "account", "chat_id", "peer", "is_group", "conversation", "rules", "metadata"),
            *("tokens", "next_position", "cycle", "flushed_to", "compacted_to", "flush_asked_at"),
            *("compaction_asked_at", "started_at", "last_at", "version"),
        ),
        {"user_scope": "scope", "chat_scope": "scope"},
    ),
    "message": Kind(
        SessionEvent,
        ("conversation", "position", "kind", "sender_id", "content", "data", "tokens", "at"),
        {"session": "session"},
    ),
    "flush": Kind(
        Flush,
        (
            *("uid", "conversation", "cycle", "up_to", "actor", "no_reply", "goes_on_with", "goes_on_to", "model"),
            *("counts", "at"),
        ),
        {"session": "session"},
    ),
    "day": Kind(DailyEvent, (*_SOURCED, "local_date", "compressed_at"), {"scope": "scope"}),
    "entry": Kind(Entry, EXPORTED, {"scope": "scope", "superseded_by": "entry"}),
    SUCCESSOR: Kind(Entry, ("version", "archived_at"), {"entry": "entry", "by": "entry"}),
    "link": Kind(Link, ("kind", "created_at", "version"), {"from_entry": "entry", "to_entry": "entry"}),
    "suppression": Kind(
        Suppression,
        ("fingerprint", "wordings", "origins", "actor", "created_at", "version"),
        {"scope": "scope", "entry": "entry"},
    ),
}
#: What hangs on a person, in its own record.
IDENTITY = Kind(Identity, ("platform", "peer", "unused_key", "since", "version"))
CONSENT = Kind(Consent, ("subject", "is_given", "note", "actor", "at", "version"))
#: What hangs on an entry, in its own record.
SLOT = Kind(Slot, ("name", "value", "version"))
EVIDENCE = Kind(Evidence, ("origin", "start", "end", "quote", "speaker", "at", "read_at"))
CHANGE = Kind(Change, ("version", "op", "actor", "run", "at", "old"))
ACCESS = Kind(EntryAccess, ("access_count", "last_accessed", "repeat_count", "last_seen"))


def as_json(value: Any) -> Any:
    """A value of a column as JSON has it, to the microsecond."""
    match value:
        case datetime() | date():
            return value.isoformat()
        case UUID():
            return str(value)
        case _:
            return value


def reference(record: Mapping[str, Any], name: str) -> UUID | None:
    """The id by which a record refers to another; None: to none. Raises RecordRefused."""
    value = record.get(name)
    try:
        return None if value is None else UUID(value)
    except (ValueError, AttributeError, TypeError) as problem:
        raise RecordRefused(_("“%(name)s” is no id.") % {"name": name}) from problem


#: Columns that earlier exports do not tell, and what holds for these.
_NEWER: Mapping[str, Any] = {"reason": "", "secrets_version": 0}


def _value(column: "Field[Any, Any] | Any", record: Mapping[str, Any], name: str) -> Any:
    if name not in record:
        if name in _NEWER:
            return _NEWER[name]
        raise RecordRefused(_("“%(name)s” is missing.") % {"name": name})
    given = record[name]
    if given is None:
        if column.null:
            return None
        raise RecordRefused(_("“%(name)s” is empty.") % {"name": name})
    try:
        value = column.to_python(given)
        column.run_validators(value)
    except (ValidationError, ValueError, TypeError, AttributeError) as problem:
        why = " ".join(problem.messages) if isinstance(problem, ValidationError) else str(problem)
        raise RecordRefused(_("“%(name)s”: %(why)s") % {"name": name, "why": why}) from problem
    if column.choices and value not in ("", *(choice for choice, _label in column.flatchoices)):
        raise RecordRefused(_("“%(name)s”: “%(value)s” is not known.") % {"name": name, "value": value})
    if isinstance(column, DateTimeField) and value.tzinfo is None:
        raise RecordRefused(_("“%(name)s”: the time says no zone.") % {"name": name})
    return value
