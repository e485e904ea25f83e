"""Conversations in the admin, and the log of the recalls made for them."""

from sessions_app.admin.recalls import RecallTraceAdmin
from sessions_app.admin.sessions import SessionAdmin

__all__ = ["RecallTraceAdmin", "SessionAdmin"]
