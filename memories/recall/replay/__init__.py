"""Recalls asked again: of memory as it was, or by other policies."""
