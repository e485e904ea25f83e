"""What people and bots do to chosen entries: take out, bring back, merge, change; a batch for each scope (F3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import uuid4

from django.utils.translation import gettext as _

from memories import batches
from memories.batches import Step
from memories.batches.descriptions import ATTRIBUTES
from memories.choices import BatchVerb
from memories.entries import draft
from memories.exceptions import InvalidDraft, PlatformError
from memories.models import Batch, Entry, Scope

#: Entries at once: a request that changes more takes longer than people wait.
MOST = 500


@dataclass(frozen=True, kw_only=True)
class BulkAction:
    """What is to become of entries; `into` is the one others are merged into, `content` what it is to say then."""

    verb: BatchVerb
    draft: Mapping[str, Any] = field(default_factory=dict)
    into: Entry | None = None
    content: str | None = None

    def steps(self, entries: Sequence[Entry]) -> list[Step]:
        """Raises InvalidDraft when nothing is left to merge, or what it is to say cannot be said."""
        into = self.into
        if into is None:
            return [_step(self.verb, entry, self.draft) for entry in entries]
        merged = [_step(self.verb, entry, {"into": {"entry": into.pk}}) for entry in entries if entry.pk != into.pk]
        if not merged:
            raise InvalidDraft(_("There is nothing to merge into it."), field="entries")
        if self.content is None or self.content == into.content:
            return merged
        draft.check_content(self.content)
        return [_step(BatchVerb.CHANGE, into, {"columns": {"content": self.content}}), *merged]


def _step(verb: BatchVerb, entry: Entry, draft: Mapping[str, Any]) -> Step:
    return Step(verb=verb, entry_id=entry.pk, version=entry.version, draft=draft)


def expiring() -> BulkAction:
    """Out of use, softly, and no machine writes it again."""
    return BulkAction(verb=BatchVerb.EXPIRE, draft={"suppress": True})


def archiving() -> BulkAction:
    """Out of use, softly; machines may write it again."""
    return BulkAction(verb=BatchVerb.ARCHIVE)


def restoring(term: timedelta | None) -> BulkAction:
    """In use again, for `term` from now or as long as their policy says from now on."""
    return BulkAction(verb=BatchVerb.RESTORE, draft={"term_seconds": None if term is None else term.total_seconds()})


def merging(into: Entry, content: str | None = None) -> BulkAction:
    """One entry stays, and names the others as its sources."""
    return BulkAction(verb=BatchVerb.MERGE, into=into, content=content)


def changing(columns: Mapping[str, Any], slots: Mapping[str, str | None] | None = None) -> BulkAction:
    """The same values for all of them, of ATTRIBUTES and of slots; words are each one's own."""
    known = {name: value for name, value in columns.items() if name in ATTRIBUTES}
    written = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in known.items()}
    return BulkAction(verb=BatchVerb.CHANGE, draft={"columns": written, "slots": dict(slots or {})})


def propose(
    scope: Scope, entries: Sequence[Entry], action: BulkAction, *, now: datetime, actor: str, reason: str
) -> Batch:
    """The plan alone, for entries of one scope. Raises ScopeFrozen or InvalidDraft."""
    return _plan(scope, action.steps(entries), action, f"chosen:{uuid4()}", now, actor, reason)


def _plan(
    scope: Scope, steps: Sequence[Step], action: BulkAction, run: str, now: datetime, actor: str, reason: str
) -> Batch:
    return batches.plan(scope, steps, name=action.verb, run=run, actor=actor, now=now, reason=reason)


@dataclass
class BulkResult:
    """What became of the chosen entries."""

    changed: int = 0
    skipped: int = 0  # were already as wanted, or changed meanwhile
    refused: list[tuple[Scope, str]] = field(default_factory=list)  # scopes in which nothing was changed, and why
    batches: list[Batch] = field(default_factory=list)


def expire_chosen(entries: Sequence[Entry], *, now: datetime, actor: str, reason: str) -> BulkResult:
    """Take entries out of use, softly; those that are out already are left alone."""
    return apply_action(entries, expiring(), now=now, actor=actor, reason=reason)


def restore_chosen(
    entries: Sequence[Entry], *, term: timedelta | None, now: datetime, actor: str, reason: str
) -> BulkResult:
    """Bring entries back into use."""
    return apply_action(entries, restoring(term), now=now, actor=actor, reason=reason)


def apply_action(entries: Sequence[Entry], action: BulkAction, *, now: datetime, actor: str, reason: str) -> BulkResult:
    """A batch for each scope, carried out; a scope that is frozen stays as it is."""
    result = plan_for_each_scope(entries, action, now=now, actor=actor, reason=reason)
    for plan in result.batches:
        planned = sum(plan.counts.values())
        try:
            done = sum(batches.apply_batch(plan, now=now).counts.values())
        except PlatformError as refusal:  # frozen a moment ago: it is gone on with when the scope thaws
            result.refused.append((plan.scope or entries[0].scope, str(refusal)))
        else:
            result.changed += done
            result.skipped += planned - done
    return result


def plan_for_each_scope(
    entries: Sequence[Entry], action: BulkAction, *, now: datetime, actor: str, reason: str
) -> BulkResult:
    """The plans alone; of a scope that is frozen the reason why there is none."""
    result, run = BulkResult(), f"operator:{uuid4()}"
    for scope, group in groupby(sorted(entries, key=lambda entry: entry.scope_id), key=lambda entry: entry.scope):
        try:
            result.batches.append(_plan(scope, action.steps(list(group)), action, run, now, actor, reason))
        except PlatformError as refusal:
            result.refused.append((scope, str(refusal)))
    return result
