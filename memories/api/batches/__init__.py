"""Calls about batches."""
