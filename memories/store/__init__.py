"""The one door: nothing but this package inserts or changes an Entry."""

from memories.store.changes import Edit, edit, expire, restore, revert
from memories.store.expiring import expire_many
from memories.store.intake import Remembered, remember, remember_many

__all__ = ["Edit", "Remembered", "edit", "expire", "expire_many", "remember", "remember_many", "restore", "revert"]
