"""The one door: nothing but this package inserts or changes an Entry."""

from memories.store.intake import Remembered, remember, remember_many

__all__ = ["Remembered", "remember", "remember_many"]
