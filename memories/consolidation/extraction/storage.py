"""Storing what an extraction batch came to: days, and for each scope a batch that can be looked at and taken back (F3).

Everything stands inside the transaction that takes the extraction batch out of the buffer.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from memories import batches, entries
from memories.batches import PlanRow
from memories.batches.steps import CreateStep, EventStep, Successor, SupersedeStep
from memories.choices import BatchState, BatchVerb, ChangeState, HoldReason
from memories.conf import conf
from memories.consolidation import corrections, statements
from memories.consolidation.extraction.findings import Contradiction, ExtractionResult, Finding
from memories.entries.daily_events import EventDraft
from memories.models import Batch, BatchChange, Entry, Scope

NAME, ACTOR = "extract", "job:extract"
_COUNTED = {"events": BatchVerb.TELL, "replaced": BatchVerb.SUPERSEDE}


def store(result: ExtractionResult, *, workspace_id: int, run: str, now: datetime) -> dict[str, int]:
    """Store it all, or raise what forbids it; how much there was of what."""
    counts = Counter(result.counts)
    model = str(result.cost.get("model", ""))
    statements.record_refused(result.refused, workspace_id=workspace_id, model=model, purpose=NAME, run=run, now=now)
    found = [*(finding.draft.scope for finding in result.findings), *(day.scope for day in result.days)]
    scopes = {scope.pk: scope for scope in found}
    cost = result.cost
    for pk, scope in sorted(scopes.items()):  # in one order, so that no two workers wait for each other
        findings = [finding for finding in result.findings if finding.draft.scope.pk == pk]
        counts.update(_store(scope, findings, [day for day in result.days if day.scope.pk == pk], run, now, cost))
        cost = {"model": model} if model else {}  # what was spent is told once, whose words they are everywhere
    return dict(counts)


def _store(
    scope: Scope,
    findings: Sequence[Finding],
    days: Sequence[EventDraft],
    run: str,
    now: datetime,
    cost: dict[str, Any],
) -> dict[str, int]:
    certain, doubtful = _decide(scope, findings)
    plan = _plan(scope, _steps(findings, certain, days), run, now)
    if plan.held_because:  # what it would replace waits for a person; what is new does not wait with it
        certain, doubtful = [], certain + doubtful
        plan = _plan(scope, _steps(findings, certain, days), run, now)
    Batch.objects.filter(pk=plan.pk).update(cost=cost)
    model = cost.get("model", "")
    batches.apply_batch(plan, now=now)
    rows = BatchChange.objects.filter(batch=plan, state=ChangeState.APPLIED)
    facts = dict(rows.filter(verb=BatchVerb.CREATE).values_list("position", "entry_id"))
    counted = {name: rows.filter(verb=verb).count() for name, verb in _COUNTED.items()}
    lines = _contradict_lines(scope, doubtful, facts, now)
    proposed = _propose(scope, [pair for pair in doubtful if pair[1].fact.pk not in lines], facts, run, model, now)
    if certain or lines:
        proposed += corrections.propose_outdated(scope, run=run, model=model, now=now)
    return {"facts": len(facts), **counted, "proposed": proposed}


def _contradict_lines(scope: Scope, pairs: Sequence["_Pair"], facts: dict[int, int], now: datetime) -> set[int]:
    """Have the lines of the profile handed out no more that a reader says are untrue now; these lines."""
    new = Entry.objects.in_scope(scope).live().in_bulk(facts.values())
    found = {one.fact.pk: new[facts[n]] for n, one in pairs if one.outdates_line and facts.get(n) in new}
    lines = Entry.objects.in_scope(scope).live().select_related("scope").filter(pk__in=found)
    return {line.pk for line in lines if entries.contradict(line, found[line.pk], now=now, actor=ACTOR)}


def _plan(scope: Scope, steps: Iterable[PlanRow], run: str, now: datetime) -> Batch:
    """The plan, which is taken back when the safety limit holds it."""
    with transaction.atomic():
        plan = batches.plan(scope, steps, name=NAME, run=run, actor=ACTOR, now=now, judged=True)
        transaction.set_rollback(bool(plan.held_because))
    return plan


_Pair = tuple[int, Contradiction]  # the position of the new fact, and the known one it contradicts


def _decide(scope: Scope, findings: Sequence[Finding]) -> tuple[list[_Pair], list[_Pair]]:
    """What is replaced at once, and what a person decides: all of it, when one conversation would replace many.

    What people decided against is neither.
    """
    verified = [(n, finding) for n, finding in enumerate(findings, start=1) if finding.is_verified]
    found = [(n, finding, one) for n, finding in verified for one in finding.contradicts if one.is_likely]
    overruled = batches.OverruledReplacements(scope, {one.fact.pk for _n, _finding, one in found})
    pairs = [
        (n, one)
        for n, finding, one in found
        if one.is_newer or not overruled.forbid(one.fact.pk, finding.draft.content)
    ]
    certain = list({one.fact.pk: (n, one) for n, one in pairs if one.is_certain}.values())
    if len(certain) > conf.SAFETY_LIMIT_ROWS:
        return [], pairs
    taken = {one.fact.pk for _n, one in certain}
    return certain, [(n, one) for n, one in pairs if one.fact.pk not in taken]


def _steps(findings: Sequence[Finding], certain: Sequence[_Pair], days: Sequence[EventDraft]) -> Iterator[PlanRow]:
    for finding in findings:
        yield PlanRow(step=CreateStep(draft=finding.draft))
    for n, one in certain:
        yield _supersede_step(one.fact.pk, one.fact.version, Successor(position=n))
    for day in days:
        yield PlanRow(step=EventStep.of(day))


def _supersede_step(entry: int, version: int, into: Successor) -> PlanRow:
    return PlanRow(step=SupersedeStep(into=into), entry_id=entry, version=version)


def _propose(
    scope: Scope, doubtful: Sequence[_Pair], facts: dict[int, int], run: str, model: str, now: datetime
) -> int:
    """Leave to a person what may take the place of what; how many memories that would take out of use."""
    steps = list(_proposals(scope, doubtful, facts))
    if steps:
        plan = batches.plan(scope, steps, name=NAME, run=f"{run}:doubts", actor=ACTOR, now=now, judged=True)
        Batch.objects.filter(pk=plan.pk).update(cost={"model": model} if model else {})
        batches.require_approval(plan, HoldReason.CONTRADICTED, rows=len(steps))
    return len(steps)


def _proposals(scope: Scope, doubtful: Sequence[_Pair], facts: dict[int, int]) -> Iterator[PlanRow]:
    waiting = BatchChange.objects.filter(
        workspace_id=scope.workspace_id, batch__scope=scope, batch__state=BatchState.PROPOSED
    )
    asked = set(waiting.filter(verb=BatchVerb.SUPERSEDE).values_list("entry_id", flat=True))
    versions = dict(Entry.objects.in_scope(scope).filter(pk__in=facts.values()).values_list("pk", "version"))
    overruled = batches.OverruledReplacements(scope, {facts[n] for n, one in doubtful if one.is_newer and n in facts})
    for n, one in doubtful:
        new = facts.get(n)
        if new is None or new == one.fact.pk:  # it was not stored, or said what was known in other words
            continue
        outdated, version, holds = one.fact.pk, one.fact.version, new
        if one.is_newer:
            outdated, version, holds = new, versions[new], one.fact.pk
            if overruled.forbid(outdated, one.fact.content):
                continue
        if outdated not in asked:
            asked.add(outdated)
            yield _supersede_step(outdated, version, Successor(entry=holds))
