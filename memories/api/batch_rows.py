"""Batches and their rows as clients see them."""

from typing import Any

from memories import batches
from memories.api.scopes import reached
from memories.batches import Description
from memories.choices import BatchVerb
from memories.entries import history
from memories.models import Batch
from memories.tenancy.access import Caller


def batch_json(one: Batch) -> dict[str, Any]:
    """A batch as clients see it."""
    return {
        "id": str(one.uid),
        "scope": one.scope.key if one.scope else None,
        "name": one.name,
        "run": one.run,
        "by": one.actor,
        "reason": one.reason,
        "state": one.state,
        "held_because": [
            {
                "code": held["code"],
                "figures": {name: value for name, value in held.items() if name != "code"},
                "text": text,
            }
            for held, text in zip(one.held_because, batches.approval_reasons(one), strict=True)
        ],
        "decided_by": one.decided_by,
        "counts": one.counts,
        "cost": one.cost,
        "undoes": str(one.undoes.uid) if one.undoes else None,
        "created_at": one.created_at,
        "applied_at": one.applied_at,
        "closed_at": one.closed_at,
    }


def row_json(row: Description, caller: Caller | None = None) -> dict[str, Any]:
    """One row of a batch as the holder of a key sees it, or as the operator at the terminal does."""
    change = row.change
    is_written = change.verb in (BatchVerb.CREATE, BatchVerb.CHANGE, BatchVerb.TELL)
    return {
        "position": change.position,
        "verb": change.verb,
        "entry": str(change.entry.uid) if change.entry else None,
        "event": str(change.event.uid) if change.event else None,
        "expected_version": change.expected_version,
        "state": change.state,
        "note": row.note[0] if row.note else None,
        "note_details": {"text": row.note[1], "batches": batches.blocking_batches(change)} if row.note else None,
        "draft": _draft(change.draft, caller) if is_written else None,
        "content": row.before,
        "diff": _diff(row),
        "changes": [{"column": name, "old": old, "new": new} for name, (old, new) in row.columns.items()],
        "slots": [{"name": name, "old": old, "new": new} for name, (old, new) in row.slots.items()],
        "into": str(row.into.uid) if row.into else None,
        "into_position": row.into_position,
        "sources": [str(source.uid) for source in row.sources],
    }


def _draft(draft: dict[str, Any], caller: Caller | None) -> dict[str, Any]:
    return draft | {"chats": reached(caller, draft["chats"])} if caller and draft.get("chats") else draft


def _diff(row: Description) -> list[tuple[str, str]] | None:
    """How the words change; of what is made of others, against what these said."""
    before = row.before
    if before is None:
        before = "\n".join(source.content for source in row.sources)
    return None if row.after is None else history.worded(before, row.after)
