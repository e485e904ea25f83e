"""Batches, undo and the fuse (F3, F4)."""
