"""The admin of what is remembered; importing it registers its pages."""

from memories.admin import (
    batches,
    bots,
    days,
    entries,
    extraction_batches,
    policies,
    processes,
    recall_traces,
    scopes,
    spend,
    tenancy,
)

__all__ = [
    "batches",
    "bots",
    "extraction_batches",
    "days",
    "entries",
    "policies",
    "processes",
    "recall_traces",
    "scopes",
    "spend",
    "tenancy",
]
