"""Batches: what waits for a decision, what was changed together, by whom and why."""

from memories.admin.batches.list import BatchAdmin

__all__ = ["BatchAdmin"]
