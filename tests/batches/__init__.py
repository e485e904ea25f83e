"""Batches, undo and the safety limit (F3, F4)."""
