"""Conversations: sessions and their events."""
