"""Conversations in the admin."""

from sessions_app.admin.sessions import SessionAdmin

__all__ = ["SessionAdmin"]
