"""Quarantine: what rests on a source is taken out of every answer at once, looked through, and let back or expired."""
