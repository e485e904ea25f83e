"""The one door: nothing but this package inserts or changes an Entry."""

from memories.entries.contradictions import MARKED_SQL as CONTRADICTED_SQL
from memories.entries.contradictions import SLOT as CONTRADICTED_BY
from memories.entries.contradictions import contradiction_of
from memories.entries.copies import (
    copies_of,
    copies_to_expire,
    copies_to_restore,
    expire_with_copies,
    is_own_statement,
    restore_with_copies,
)
from memories.entries.edits import Edit, revert, update, update_many
from memories.entries.fields import BULK_EDITABLE, FORM_FIELDS, read_columns
from memories.entries.locks import lock_scopes
from memories.entries.purge import purge
from memories.entries.rollback import needed_replacements, rollback
from memories.entries.transitions import (
    BulkOutcome,
    expire,
    expire_many,
    link_sources,
    merge,
    restore,
    restore_many,
    supersede,
)
from memories.entries.versions import PriorRow, changed_since, differences, rows_before
from memories.entries.write import TAKEN_OUT, WriteResult, remember, remember_many

__all__ = [
    "CONTRADICTED_BY",
    "CONTRADICTED_SQL",
    "BULK_EDITABLE",
    "FORM_FIELDS",
    "TAKEN_OUT",
    "PriorRow",
    "BulkOutcome",
    "Edit",
    "WriteResult",
    "is_own_statement",
    "rows_before",
    "restore_many",
    "update_many",
    "changed_since",
    "copies_to_restore",
    "contradiction_of",
    "copies_of",
    "differences",
    "update",
    "expire",
    "expire_with_copies",
    "copies_to_expire",
    "lock_scopes",
    "merge",
    "link_sources",
    "purge",
    "rollback",
    "read_columns",
    "remember",
    "remember_many",
    "restore",
    "restore_with_copies",
    "revert",
    "needed_replacements",
    "supersede",
    "expire_many",
]
