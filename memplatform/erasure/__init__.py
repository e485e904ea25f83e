"""Erasing a person for good, wherever the platform keeps something of them, and proving it (F7)."""
