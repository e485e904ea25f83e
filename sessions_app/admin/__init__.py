"""Conversations in the admin, and the log of the recalls made for them."""

from sessions_app.admin.recall_log import RecallTraceAdmin
from sessions_app.admin.sessions import SessionAdmin

__all__ = ["RecallTraceAdmin", "SessionAdmin"]
