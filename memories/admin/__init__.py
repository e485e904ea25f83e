"""The admin of what is remembered; importing it registers its pages."""

from memories.admin import (
    batches,
    bots,
    buffer,
    days,
    entries,
    policies,
    processes,
    receipts,
    scopes,
    spend,
    tenancy,
)

__all__ = [
    "batches",
    "bots",
    "buffer",
    "days",
    "entries",
    "policies",
    "processes",
    "receipts",
    "scopes",
    "spend",
    "tenancy",
]
