"""Entries: find them, see where they come from and who heard them, correct them, expire and restore them."""

from memories.admin.entries.page import EntryAdmin

__all__ = ["EntryAdmin"]
