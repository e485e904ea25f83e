"""The fields of an entry, in one table: what writes, edits, reverts, rolls back and shows each of them.

A new field is one line here, beside its column in models.entry and its translation. A test holds the table to the
columns, to Draft, and to what the API and the admin's form take.
"""

from collections.abc import Mapping
from enum import Flag, auto
from typing import Any

from memories.models import Entry


class Use(Flag):
    """What is done with a field of an entry."""

    NONE = 0
    DRAFT = auto()  # a draft names it, and it is stored as it is
    FORM = auto()  # people and bots may change it
    BULK = auto()  # nothing follows from it: it may be changed in many entries by one statement
    REVERT = auto()  # reverting to a version gives it back
    UNDO = auto()  # undoing a batch gives it back
    SHOW = auto()  # its changes are shown in the history


_STATE = Use.UNDO | Use.SHOW
_TEXT = _STATE | Use.REVERT
_PLAIN = _TEXT | Use.BULK

FIELDS: Mapping[str, Use] = {
    "content": _TEXT | Use.DRAFT | Use.FORM,
    "category": _PLAIN | Use.DRAFT | Use.FORM,
    "project": _TEXT | Use.DRAFT | Use.FORM,
    "topic": _PLAIN | Use.DRAFT | Use.FORM,
    "names": _TEXT | Use.DRAFT | Use.FORM,
    "importance": _PLAIN | Use.FORM,
    "pinned": _PLAIN | Use.DRAFT | Use.FORM,
    "expires_at": _PLAIN | Use.DRAFT | Use.FORM,
    "review_at": _PLAIN | Use.FORM,
    "verification": _TEXT | Use.DRAFT,
    "suspect": _PLAIN,
    "verified_at": _PLAIN,
    "verified_by": _PLAIN,
    "origin": _TEXT | Use.DRAFT,
    "trust": _TEXT | Use.DRAFT,
    "subject": _TEXT | Use.DRAFT | Use.FORM,
    "type": _TEXT | Use.DRAFT,
    "subtype": _TEXT | Use.DRAFT,
    "tier": _TEXT | Use.DRAFT,
    "source": _TEXT | Use.DRAFT,
    "channel": _TEXT,
    "chat_id": _TEXT,
    "session_id": _TEXT,
    "sender_id": _TEXT,
    "speaker": _TEXT,
    "thread_id": _TEXT,
    "chats": _STATE,
    "origins": _STATE,
    "read_at": Use.UNDO,
    "created_at": _STATE,
    "stated_at": _STATE,
    "expired_at": _STATE,
    "archived_at": _STATE,
    "superseded_by": _STATE,
    "suppressed_at": _STATE,
    "quarantined_at": _STATE,
    "path": _STATE | Use.DRAFT,
    "line_from": Use.UNDO | Use.DRAFT,
    "line_to": Use.UNDO | Use.DRAFT,
    "heading": _STATE | Use.DRAFT,
    "echo": Use.UNDO,
    "terms": Use.UNDO,
    "length": Use.UNDO,
    "fingerprint": Use.UNDO,
    "id": Use.NONE,
    "uid": Use.NONE,
    "workspace": Use.NONE,
    "scope": Use.NONE,
    "version": Use.NONE,
    "updated_at": Use.NONE,
}


def fields_with(use: Use) -> tuple[str, ...]:
    """The fields something is done with, in the order of the table."""
    return tuple(name for name, uses in FIELDS.items() if use in uses)


DRAFTED = fields_with(Use.DRAFT)
FORM_FIELDS = fields_with(Use.FORM)
BULK_EDITABLE = frozenset(fields_with(Use.BULK))
REVERTIBLE = frozenset(fields_with(Use.REVERT))
#: Slots that are columns of Entry; every other name is a row of Slot (A2).
COLUMN_SLOTS = ("channel", "chat_id", "session_id", "sender_id", "speaker", "thread_id")
#: Slots that say what the entry itself already says.
RESERVED_SLOTS = ("type", "scope", "source")
#: How a field that is a slot is named.
SLOT_FIELD = "slots."

_COLUMNS = {column.name: column for column in Entry._meta.concrete_fields}


def read_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns by name, from JSON to what they hold."""
    return {name: _COLUMNS[name].to_python(value) for name, value in columns.items()}
