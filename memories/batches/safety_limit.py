"""The safety limit: a machine's judgement is not applied if it would retire too much, or touch what is pinned (F4)."""

from typing import Any

from memories.batches import retirements
from memories.choices import Held
from memories.conf import conf
from memories.models import Batch, BatchChange, Entry


def violations(batch: Batch, *, unreadable: str = "") -> list[dict[str, Any]]:
    """Why a batch may not be applied without a person; empty when nothing speaks against it."""
    found: list[dict[str, Any]] = []
    if unreadable:
        found.append({"code": Held.UNREADABLE, "problem": unreadable[:500]})
    changes = BatchChange.objects.filter(batch=batch)
    if pinned := changes.filter(entry__pinned=True).count():
        found.append({"code": Held.PINNED, "pinned": pinned})
    return found + _too_many(batch)


def approval_reasons(batch: Batch) -> list[str]:
    """The reasons in plain words, in the reader's language."""
    return [str(Held(reason["code"]).label) % reason for reason in batch.held_because]


def _too_many(batch: Batch) -> list[dict[str, Any]]:
    """Whether it retires too much of what the scope holds of these types: at once, or with what machines did lately."""
    kinds = retirements.retired_types(batch)
    retired = retirements.count_planned(batch) if kinds else 0
    if not retired:
        return []
    live = _live(batch, kinds)
    if _is_above(retired, live, conf.SAFETY_LIMIT_SHARE):
        return [{"code": Held.SHARE, "retired": retired, "live": live, "percent": round(conf.SAFETY_LIMIT_SHARE * 100)}]
    before = (
        retirements.count_recent(batch, kinds, batch.created_at - conf.SAFETY_LIMIT_WINDOW) if batch.is_summed else 0
    )
    if not before or not _is_above(retired + before, live + before, conf.SAFETY_LIMIT_WINDOW_SHARE):
        return []
    figures = {
        "retired": retired + before,
        "live": live + before,
        "percent": round(conf.SAFETY_LIMIT_WINDOW_SHARE * 100),
    }
    return [{"code": Held.DRAINED, **figures, "days": conf.SAFETY_LIMIT_WINDOW.days}]


def _is_above(retired: int, live: int, share: float) -> bool:
    return retired > conf.SAFETY_LIMIT_ROWS and retired > share * live


def _live(batch: Batch, kinds: list[str]) -> int:
    entries = Entry.objects.live().filter(scope=batch.scope, workspace_id=batch.workspace_id)
    return entries.filter(type__in=kinds).count()
