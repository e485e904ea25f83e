"""The admin of memories: a module or package for each noun; importing it registers their pages."""

from memories.admin import (
    batches,
    bots,
    daily_events,
    entries,
    extraction_batches,
    files,
    grants,
    pinned_tests,
    policies,
    records,
    refused_facts,
    scopes,
    spend,
    webhooks,
    workspaces,
)

__all__ = [
    "batches",
    "bots",
    "daily_events",
    "entries",
    "extraction_batches",
    "files",
    "grants",
    "pinned_tests",
    "policies",
    "records",
    "refused_facts",
    "scopes",
    "spend",
    "webhooks",
    "workspaces",
]
