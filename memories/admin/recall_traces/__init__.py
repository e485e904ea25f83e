"""Recall traces: why the bot said that, candidate by candidate."""

from memories.admin.recall_traces.list import RecallTraceAdmin

__all__ = ["RecallTraceAdmin"]
