"""The one door: nothing but this package inserts or changes an Entry."""

from memories.entries.before_batch import Before, before, changed_since
from memories.entries.bulk import Done, bring_back, change_alike, merge_into, name_sources, supersede, take_out
from memories.entries.contradictions import MARKED_SQL as CONTRADICTED_SQL
from memories.entries.contradictions import SLOT as CONTRADICTED_BY
from memories.entries.contradictions import contradiction_of
from memories.entries.copies import (
    are_own_words,
    coming_along,
    copies_of,
    expire_with_copies,
    going_along,
    restore_with_copies,
)
from memories.entries.locks import lock_scopes
from memories.entries.purge import purge
from memories.entries.rollback import put_back, standing_in_for
from memories.entries.update import PLAIN, Edit, differing, edit, expire, read_columns, restore, revert
from memories.entries.write import TAKEN_OUT, Remembered, remember, remember_many

__all__ = [
    "CONTRADICTED_BY",
    "CONTRADICTED_SQL",
    "PLAIN",
    "TAKEN_OUT",
    "Before",
    "Done",
    "Edit",
    "Remembered",
    "are_own_words",
    "before",
    "bring_back",
    "change_alike",
    "changed_since",
    "coming_along",
    "contradiction_of",
    "copies_of",
    "differing",
    "edit",
    "expire",
    "expire_with_copies",
    "going_along",
    "lock_scopes",
    "merge_into",
    "name_sources",
    "purge",
    "put_back",
    "read_columns",
    "remember",
    "remember_many",
    "restore",
    "restore_with_copies",
    "revert",
    "standing_in_for",
    "supersede",
    "take_out",
]
