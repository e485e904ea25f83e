"""Bulk actions of people and bots on chosen entries: expire, archive, restore, merge, edit; a batch a scope (F3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import uuid4

from django.utils.translation import gettext as _

from memories import batches
from memories.batches.descriptions import ATTRIBUTES
from memories.batches.steps import (
    ArchiveStep,
    CreateStep,
    EditStep,
    ExpireStep,
    MergeStep,
    PlannedStep,
    PlanRow,
    RestoreStep,
    Successor,
)
from memories.choices import BatchVerb, Category
from memories.entries import draft as drafts
from memories.entries.draft import UnscopedDraft
from memories.exceptions import InvalidDraft, PlatformError
from memories.language.confidential import mask
from memories.models import Batch, BatchChange, Entry, Scope

#: Entries at once: a request that changes more takes longer than people wait.
MOST = 500


@dataclass(frozen=True, kw_only=True)
class BulkAction:
    """One step for chosen entries; for a merge also the entry that stays and its new content, if any."""

    step: PlannedStep
    into: Entry | None = None
    content: str | None = None

    def rows(self, entries: Sequence[Entry]) -> list[PlanRow]:
        """The rows of the plan. Raises InvalidDraft when nothing is left to merge or the content cannot be stored."""
        into = self.into
        if into is None:
            return [PlanRow.of(entry, self.step) for entry in entries]
        merged = [PlanRow.of(entry, self.step) for entry in entries if entry.pk != into.pk]
        if not merged:
            raise InvalidDraft(_("There is nothing to merge into it."), field="entries")
        if self.content is None or self.content == into.content:
            return merged
        drafts.check_content(self.content)
        return [PlanRow.of(into, EditStep(columns={"content": self.content})), *merged]


class _MaskSecrets(BulkAction):
    """What is recognised as a secret, each entry's own."""

    def rows(self, entries: Sequence[Entry]) -> list[PlanRow]:
        return [
            PlanRow.of(
                entry, EditStep(columns={"content": masked, "category": Category.CREDENTIAL.value, "subtype": ""})
            )
            for entry in entries
            if (masked := mask(entry.content)) != entry.content
        ]


#: Take entries out of use; no machine writes them again.
EXPIRE = BulkAction(step=ExpireStep(suppress=True))
#: The same, also of entries that are out of use already: what rests on their messages goes with them.
SUPPRESS = BulkAction(step=ExpireStep(suppress=True, only_live=False))
#: Take entries out of use; stated again, they are written again.
CLEAR = BulkAction(step=ExpireStep(suppress=False))
#: Take entries out of use; machines may write them again.
ARCHIVE = BulkAction(step=ArchiveStep())
#: Take the secrets out of entries, which stay credentials: their history still holds them.
MASK_SECRETS = _MaskSecrets(step=EditStep())
#: Say of entries that what was recognised in them is no secret.
KEEP_AS_NO_SECRET = BulkAction(step=EditStep(columns={"category": "", "subtype": ""}))
#: Say of entries that they speak of the world, whatever was recognised in them.
KEEP_AS_HARMLESS = BulkAction(step=EditStep(columns={"suspect": ""}))


def restore(term: timedelta | None = None) -> BulkAction:
    """Bring entries back into use, for `term` from now, or for as long as their policy says."""
    return BulkAction(step=RestoreStep.lasting(term))


def merge(into: Entry, content: str | None = None) -> BulkAction:
    """Merge entries into one of them."""
    return BulkAction(step=MergeStep(into=Successor(entry=into.pk)), into=into, content=content)


def edit(columns: Mapping[str, Any], slots: Mapping[str, str | None] | None = None) -> BulkAction:
    """Set the same values in ATTRIBUTES and in slots of all entries; their content stays."""
    attributes = {name: value for name, value in columns.items() if name in ATTRIBUTES}
    values = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in attributes.items()}
    return BulkAction(step=EditStep(columns=values, slots=dict(slots or {})))


Data = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Verb:
    """What a client may have done to many entries at once, from the fields of its request."""

    build: Callable[[Data], BulkAction]
    takes: tuple[str, ...] = ()  # fields that belong to it alone
    lacks: Callable[[Data], dict[str, str]] = lambda data: {}  # what is missing, by field


#: In the order clients read them; `into` of a merge is the entry itself.
VERBS: Mapping[BatchVerb, Verb] = {
    BatchVerb.EXPIRE: Verb(build=lambda data: EXPIRE),
    BatchVerb.ARCHIVE: Verb(build=lambda data: ARCHIVE),
    BatchVerb.RESTORE: Verb(
        build=lambda data: restore(None if data.get("term_days") is None else timedelta(days=data["term_days"])),
        takes=("term_days",),
    ),
    BatchVerb.MERGE: Verb(
        build=lambda data: merge(data["into"], data.get("content")),
        takes=("into", "content"),
        lacks=lambda data: {} if "into" in data else {"into": _("Into which entry?")},
    ),
    BatchVerb.CHANGE: Verb(
        build=lambda data: edit(data.get("columns", {}), data.get("slots")),
        takes=("columns", "slots"),
        lacks=lambda data: (
            {} if data.get("columns") or data.get("slots") else {"columns": _("There is nothing to change.")}
        ),
    ),
}


def create(scope: Scope, draft: UnscopedDraft, *, now: datetime, actor: str, reason: str) -> BatchChange:
    """Write a memory in a batch of its own; the row, with the entry or why there is none.

    Raises ScopeFrozen or InvalidDraft.
    """
    drafts.check(draft.in_scope(scope))
    rows = [PlanRow(step=CreateStep(draft=draft))]
    run = f"operator:{uuid4()}"
    batch = batches.plan(scope, rows, name=BatchVerb.CREATE, run=run, actor=actor, now=now, reason=reason)
    batches.apply_batch(batch, now=now)
    return batch.changes.select_related("entry", "batch").get()


def propose(
    scope: Scope,
    entries: Sequence[Entry],
    action: BulkAction,
    *,
    now: datetime,
    actor: str,
    reason: str,
    run: str | None = None,
) -> Batch:
    """Plan an action for entries of one scope, without applying it. Raises ScopeFrozen or InvalidDraft."""
    rows, run = action.rows(entries), run or f"chosen:{uuid4()}"
    return batches.plan(scope, rows, name=action.step.verb, run=run, actor=actor, now=now, reason=reason)


@dataclass
class BulkResult:
    """What became of the chosen entries."""

    changed: int = 0
    skipped: int = 0  # they needed no change, or were changed meanwhile
    refused: list[tuple[Scope, str]] = field(default_factory=list)  # scopes left unchanged, with the reason
    batches: list[Batch] = field(default_factory=list)


def apply_action(entries: Sequence[Entry], action: BulkAction, *, now: datetime, actor: str, reason: str) -> BulkResult:
    """Apply an action in a batch for each scope; a scope that is frozen stays as it is."""
    result = plan_for_each_scope(entries, action, now=now, actor=actor, reason=reason)
    for plan in result.batches:
        planned = sum(plan.counts.values())
        try:
            applied_count = sum(batches.apply_batch(plan, now=now).counts.values())
        except PlatformError as refusal:  # frozen since: the batch is resumed when the scope thaws
            result.refused.append((plan.scope or entries[0].scope, str(refusal)))
        else:
            result.changed += applied_count
            result.skipped += planned - applied_count
    return result


def plan_for_each_scope(
    entries: Sequence[Entry], action: BulkAction, *, now: datetime, actor: str, reason: str
) -> BulkResult:
    """Plan an action in a batch for each scope, without applying it; a frozen scope is refused with the reason."""
    result, run = BulkResult(), f"operator:{uuid4()}"
    for scope, group in groupby(sorted(entries, key=lambda entry: entry.scope_id), key=lambda entry: entry.scope):
        try:
            result.batches.append(propose(scope, list(group), action, now=now, actor=actor, reason=reason, run=run))
        except PlatformError as refusal:
            result.refused.append((scope, str(refusal)))
    return result
