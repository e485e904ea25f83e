"""Shortening a conversation without losing what matters: flush, summary, closing summary."""
