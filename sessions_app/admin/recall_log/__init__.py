"""Recall traces as a log: who asked what, what was served, what was made of it, and the page of one of them."""

from sessions_app.admin.recall_log.list import RecallTraceAdmin

__all__ = ["RecallTraceAdmin"]
