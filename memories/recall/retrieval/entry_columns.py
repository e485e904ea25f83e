"""What a recall reads of the entries of the best, and the entry that makes; all else is read when it is asked for."""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models.base import ModelState

from memories.models import Entry
from memories.models.state import MARKS

_READ = {
    "id", "uid", "type", "subtype", "scope_id", "content", "origins", "fingerprint", "importance", "category",
    "created_at", "stated_at", "expires_at", "pinned", *MARKS.values(),
    "channel", "chat_id", "session_id", "sender_id", "speaker", "thread_id",
    "version", "echo", "verification", "path", "line_from", "heading", "source",
}  # fmt: skip
COLUMNS = [field.attname for field in Entry._meta.concrete_fields if field.column in _READ]  # in the order of a row


def entry_of(row: Sequence[Any]) -> Entry:
    """The entry of a row that begins with COLUMNS, as `Entry.from_db` makes it, in a quarter of the time."""
    entry = Entry.__new__(Entry)
    entry._state = ModelState()
    entry._state.adding, entry._state.db = False, connection.alias
    entry.__dict__.update(zip(COLUMNS, row, strict=False))
    return entry
