"""Storing what an extraction batch came to: days, and for each scope a batch that can be looked at and taken back (F3).

Everything stands inside the transaction that takes the extraction batch out of the buffer.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from memories import batches, entries
from memories.batches import PlanRow
from memories.batches.steps import CreateStep, EventStep, Successor, SupersedeStep
from memories.choices import Act, BatchState, BatchVerb, ChangeState, HoldReason
from memories.conf import conf
from memories.consolidation import proposals, statements
from memories.consolidation.extraction.findings import Contradiction, ExtractionResult, Finding
from memories.entries.daily_events import EventDraft
from memories.entries.evidence import settled
from memories.models import Batch, BatchChange, DailyEvent, Entry, Policy, Scope
from memories.offline import replicas

NAME, ACTOR = "extract", "job:extract"
_COUNTED = {"events": BatchVerb.TELL, "replaced": BatchVerb.SUPERSEDE}


def store(result: ExtractionResult, *, workspace_id: int, run: str, now: datetime) -> dict[str, int]:
    """Store it all, or raise what forbids it; how much there was of what."""
    counts = Counter(result.counts)
    model = str(result.cost.get("model", ""))
    statements.record_refused(result.refused, workspace_id=workspace_id, model=model, purpose=NAME, run=run, now=now)
    # Those whose messages no event of a day rests on yet: what is read once more is not described again
    described = DailyEvent.objects.filter(scope__in={day.scope.pk for day in result.days}, expired_at__isnull=True)
    described = described.filter(origins__overlap=sorted({origin for day in result.days for origin in day.origins}))
    origins: defaultdict[int, set[str]] = defaultdict(set)
    for scope_id, of_event in described.values_list("scope_id", "origins"):
        origins[scope_id].update(of_event)
    days = [day for day in result.days if origins[day.scope.pk].isdisjoint(day.origins)]
    scopes = {finding.draft.scope.pk: finding.draft.scope for finding in result.findings}
    scopes |= {day.scope.pk: day.scope for day in days}
    cost = result.cost
    for pk, scope in sorted(scopes.items()):  # in one order, so that no two workers wait for each other
        findings = [finding for finding in result.findings if finding.draft.scope.pk == pk]
        counts.update(_store(scope, findings, [day for day in days if day.scope.pk == pk], run, now, cost))
        cost = {"model": model} if model else {}  # what was spent is counted once, the model is named everywhere
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
    # lines of the profile that a reader says are untrue now are handed out no more
    new = Entry.objects.in_scope(scope).live().in_bulk(facts.values())
    outdated_by = {pair.fact.pk: new[facts[n]] for n, pair in doubtful if pair.outdates_line and facts.get(n) in new}
    profile = Entry.objects.in_scope(scope).live().select_related("scope").filter(pk__in=outdated_by)
    lines = {line.pk for line in profile if entries.contradict(line, outdated_by[line.pk], now=now, actor=ACTOR)}
    if lines:
        replicas.note_write_after_commit(scope.workspace_id)
    remaining_doubts = [(n, pair) for n, pair in doubtful if pair.fact.pk not in lines]
    proposed = _propose(scope, remaining_doubts, facts, run, model, now)
    if certain or lines:
        proposed += proposals.propose_outdated(scope, run=run, model=model, now=now)
    return {"facts": len(facts), **counted, "proposed": proposed}


def _plan(scope: Scope, steps: Iterable[PlanRow], run: str, now: datetime) -> Batch:
    """The plan, which is taken back when the safety limit holds it."""
    with transaction.atomic():
        plan = batches.plan(scope, steps, name=NAME, run=run, actor=ACTOR, now=now, judged=True)
        transaction.set_rollback(bool(plan.held_because))
    return plan


_Pair = tuple[int, Contradiction]  # the position of the new fact, and the stored one it contradicts


def _decide(scope: Scope, findings: Sequence[Finding]) -> tuple[list[_Pair], list[_Pair]]:
    """What is replaced at once, and what a person decides: all of it, when one conversation would replace many.

    What a source may not replace waits for a person (A20). What people decided against is neither.
    """
    likely = [
        (n, finding, pair)
        for n, finding in enumerate(findings, start=1)
        if finding.is_verified
        for pair in finding.contradicts
        if pair.is_likely
    ]
    overruled = batches.OverruledReplacements(scope, {pair.fact.pk for _n, _finding, pair in likely})
    pairs = [
        (n, pair)
        for n, finding, pair in likely
        if pair.is_newer or not overruled.forbid(pair.fact.pk, finding.draft.content)
    ]
    policies = Policy.objects.of(scope.workspace_id)
    trusts = {n: settled(finding.draft).trust for n, finding in enumerate(findings, start=1)}
    trusted = {n for n, trust in trusts.items() if policies.may(trust, Act.SUPERSEDE)}
    certain = list({pair.fact.pk: (n, pair) for n, pair in pairs if pair.is_certain and n in trusted}.values())
    if len(certain) > conf.SAFETY_LIMIT_ROWS:
        return [], pairs
    replaced = {pair.fact.pk for _n, pair in certain}
    return certain, [(n, pair) for n, pair in pairs if pair.fact.pk not in replaced]


def _steps(findings: Sequence[Finding], certain: Sequence[_Pair], days: Sequence[EventDraft]) -> Iterator[PlanRow]:
    for finding in findings:
        yield PlanRow(step=CreateStep(draft=finding.draft))
    for n, pair in certain:
        step = SupersedeStep(into=Successor(position=n))
        yield PlanRow(step=step, entry_id=pair.fact.pk, version=pair.fact.version)
    for day in days:
        yield PlanRow(step=EventStep.of(day))


def _propose(
    scope: Scope, doubtful: Sequence[_Pair], facts: dict[int, int], run: str, model: str, now: datetime
) -> int:
    """Leave to a person what may take the place of what; how many memories that would take out of use."""
    waiting = BatchChange.objects.filter(
        workspace_id=scope.workspace_id, batch__scope=scope, batch__state=BatchState.PROPOSED
    )
    proposed_pks = set(waiting.filter(verb=BatchVerb.SUPERSEDE).values_list("entry_id", flat=True))
    versions = dict(Entry.objects.in_scope(scope).filter(pk__in=facts.values()).values_list("pk", "version"))
    newer = {facts[n] for n, pair in doubtful if pair.is_newer and n in facts}
    overruled = batches.OverruledReplacements(scope, newer)
    steps = []
    for n, pair in doubtful:
        new = facts.get(n)
        if new is None or new == pair.fact.pk:  # it was not stored, or says what is stored in other words
            continue
        outdated, version, holds = pair.fact.pk, pair.fact.version, new
        if pair.is_newer:
            outdated, version, holds = new, versions[new], pair.fact.pk
            if overruled.forbid(outdated, pair.fact.content):
                continue
        if outdated not in proposed_pks:
            proposed_pks.add(outdated)
            step = SupersedeStep(into=Successor(entry=holds))
            steps.append(PlanRow(step=step, entry_id=outdated, version=version))
    if steps:
        plan = batches.plan(scope, steps, name=NAME, run=f"{run}:doubts", actor=ACTOR, now=now, judged=True)
        Batch.objects.filter(pk=plan.pk).update(cost={"model": model} if model else {})
        batches.require_approval(plan, HoldReason.CONTRADICTED, rows=len(steps))
    return len(steps)
