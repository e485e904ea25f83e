"""Entries written anew in another scope of their workspace, and archived where they were."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from memories.batches.apply import apply_batch
from memories.batches.bulk_actions import BulkResult, archive, plan_for_each_scope
from memories.batches.planning import plan
from memories.batches.steps import CreateStep, PlanRow
from memories.choices import ChangeState
from memories.entries.draft import QuotedWords, UnscopedDraft
from memories.entries.evidence import evidence_of
from memories.entries.fields import COLUMN_SLOTS, DRAFTED
from memories.exceptions import PlatformError
from memories.models import Batch, Entry, Scope, Slot


def move(entries: Sequence[Entry], target: Scope, *, now: datetime, actor: str, reason: str) -> BulkResult:
    """Move entries in use to a scope of their workspace: a batch for what is written there, then one for each source.

    Only what was written there is archived where it was; killed between the two, it is in both. Entries of the target,
    out of use, of another workspace, or of files are left alone.
    """
    movable = [entry for entry in entries if _is_movable(entry, target)]
    result = BulkResult(skipped=len(entries) - len(movable))
    if not movable:
        return result
    try:
        written, kept = _write(movable, target, now=now, actor=actor, reason=reason)
    except PlatformError as refusal:
        result.refused.append((target, str(refusal)))
        return result
    archived = plan_for_each_scope(kept, archive(), now=now, actor=actor, reason=reason)
    result.batches, result.refused = [written, *archived.batches], archived.refused
    result.skipped += len(movable) - len(kept)
    for batch in archived.batches:
        done = sum(apply_batch(batch, now=now).counts.values())
        result.changed += done
    return result


def _is_movable(entry: Entry, target: Scope) -> bool:
    return (
        entry.is_live()
        and not entry.path
        and not entry.scope.frozen
        and entry.scope_id != target.pk
        and entry.workspace_id == target.workspace_id
    )


def _write(
    entries: Sequence[Entry], target: Scope, *, now: datetime, actor: str, reason: str
) -> tuple[Batch, list[Entry]]:
    """The batch that writes entries in a scope, and those of them that it wrote."""
    rows = [PlanRow(step=CreateStep(draft=draft)) for draft in drafts_of(entries, target)]
    batch = plan(target, rows, name="move", run=f"move:{uuid4()}", actor=actor, now=now, reason=reason)
    apply_batch(batch, now=now)
    applied = set(batch.changes.filter(state=ChangeState.APPLIED).values_list("position", flat=True))
    return batch, [entry for n, entry in enumerate(entries, start=1) if n in applied]


def drafts_of(entries: Sequence[Entry], target: Scope) -> list[UnscopedDraft]:
    """Entries as they are to be written anew in a scope of their workspace, with their slots and quoted words."""
    quotes = evidence_of([entry.pk for entry in entries], target.workspace_id)
    slots: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for slot in Slot.objects.filter(workspace_id=target.workspace_id, entry__in=entries):
        slots[slot.entry_id][slot.name] = slot.value
    return [_draft(entry, slots[entry.pk], [_words(row) for row in quotes.get(entry.pk, [])]) for entry in entries]


def _draft(entry: Entry, slots: dict[str, str], words: Sequence[QuotedWords]) -> UnscopedDraft:
    address = {name: getattr(entry, name) for name in COLUMN_SLOTS if getattr(entry, name)}
    return UnscopedDraft(
        at=entry.stated_at,
        importance=entry.importance,
        slots={**address, **slots},
        chats=tuple(entry.chats),
        origins=tuple(entry.origins),
        evidence=tuple(words),
        **{name: getattr(entry, name) for name in DRAFTED},
    )


def _words(row: object) -> QuotedWords:
    return QuotedWords(**{name: getattr(row, name) for name in ("origin", "start", "end", "quote", "at", "speaker")})
