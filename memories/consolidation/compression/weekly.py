"""Facts become fewer: of every partition a model says what to keep, to merge and to drop (D6)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from memories import batches
from memories.batches import PlanRow
from memories.choices import BatchState, BatchVerb, EntryType
from memories.conf import conf
from memories.consolidation.compression import drafts, merge_policy, profile
from memories.consolidation.compression.facts import (
    Partition,
    as_data,
    chunks,
    decided_by_people,
    is_fixed,
    next_chunk,
    partitions,
)
from memories.consolidation.compression.proposals import Proposals, propose
from memories.exceptions import ScopeFrozen
from memories.llm import prompts
from memories.llm.run import Clock, ModelRun, Report
from memories.llm.schemas import CompressionOutput, Given
from memories.models import Batch, Entry, Scope, Workspace

JOB = "compress"
DOUBTS = "compress-doubts"
ACTOR = f"job:{JOB}"


@dataclass
class ScopePlan:
    """What is to become of the facts of one scope."""

    settled: set[int]
    answers: int = 0
    partitions: list[str] = field(default_factory=list)
    reached: dict[str, int] = field(default_factory=dict)  # of partitions that are not done: the next chunk
    steps: list[PlanRow] = field(default_factory=list)
    doubts: Proposals = field(default_factory=Proposals)
    counts: Counter[str] = field(default_factory=Counter)

    def merge(self, sources: Sequence[Entry], content: str) -> None:
        if why := merge_policy.merge_fault(sources, content):
            self.counts[f"not_merged_{why}"] += 1  # all of them are kept
        elif merge_policy.is_certain(sources, content):
            self.steps += drafts.merge_steps(sources, content, after=len(self.steps))
        else:
            self.doubts.merges.append((sources, content))

    def drop(self, fact: Entry, kept: Sequence[Entry], now: datetime) -> None:
        if merge_policy.is_over(fact, kept, now):
            self.steps.append(drafts.archive_step(fact))
        else:
            self.doubts.drops.append(fact)


def compress_facts(workspace_id: int, *, clock: Clock, run: str, report: Report | None = None) -> dict[str, int]:
    """Judge the facts of every scope, then refresh its profile; what became of how many.

    One batch a run and scope, planned only when all its questions are answered: a run that was killed finds a scope
    either as it was or with its batch, which it carries on with. `left` scopes had no time any more. `report` is told
    after every scope.
    """
    workspace = Workspace.objects.get(pk=workspace_id)
    asker = ModelRun(workspace, JOB, clock=clock, until=clock() + conf.COMPRESS_TIME)
    counts: Counter[str] = Counter(scopes=0, merged=0, dropped=0, held=0, left=0, planned=0)
    for scope in _scopes(workspace):
        if not asker.may_ask():
            counts["left"] += 1
            continue
        try:
            counts.update(_compress_scope(scope, asker, clock, run))
            counts.update(profile.refresh(scope, asker, clock, run))
            counts["scopes"] += 1
        except ScopeFrozen:
            counts["frozen"] += 1
        if report:
            report(dict(counts))
    counts.update(asker.counts)
    return dict(counts) | asker.why()


def count_facts(workspace_id: int) -> dict[str, int]:
    """What a run would ask about."""
    scopes = _scopes(Workspace.objects.get(pk=workspace_id))
    found = [len(one.facts) for scope in scopes for one in partitions(scope, conf.COMPRESS_LEAST)]
    return {"scopes": len(scopes), "partitions": len(found), "facts": sum(found)}


def _scopes(workspace: Workspace) -> list[Scope]:
    """Those with facts, where nobody forbids to write."""
    facts = Entry.objects.live().filter(workspace=workspace, type=EntryType.FACT)
    return list(Scope.objects.filter(pk__in=facts.order_by().values("scope_id"), frozen=False).order_by("pk"))


def _compress_scope(scope: Scope, asker: ModelRun, clock: Clock, run: str) -> dict[str, int]:
    begun = Batch.objects.filter(run=run, scope=scope).first()
    if begun is not None:
        return _apply(begun, clock())
    judged = ScopePlan(settled=decided_by_people(scope))
    for partition in partitions(scope, conf.COMPRESS_LEAST):
        if not _judge(partition, judged, asker, clock()):
            break
    if not judged.answers:
        return dict(judged.counts)
    plan = _plan(scope, judged, asker, clock(), run)
    return dict(judged.counts) | {"planned": 1} | _apply(plan, clock())


def _judge(partition: Partition, judged: ScopePlan, asker: ModelRun, now: datetime) -> bool:
    """Ask of one partition; whether the next may be asked of."""
    free = [fact for fact in partition.facts if not is_fixed(fact) and fact.pk not in judged.settled]
    parts, begin = list(chunks(free)), next_chunk(partition)
    for number, chunk in enumerate(parts[begin:] or parts, start=begin if begin < len(parts) else 0):
        named = {f"f{n}": fact for n, fact in enumerate(chunk, start=1)}
        data = {"project": partition.project, "topic": partition.topic, "facts": as_data(named)}
        question = prompts.prompt("compression", asker.workspace.language, data)
        answer = asker.ask(question, CompressionOutput, Given(frozenset(named)))
        if answer is None:
            judged.reached[partition.key] = number if asker.stopped else number + 1
            break
        judged.answers += 1
        _take(answer, named, partition, judged, now)
    else:
        judged.partitions.append(partition.key)
    return not asker.stopped


def _take(
    answer: CompressionOutput, named: dict[str, Entry], partition: Partition, judged: ScopePlan, now: datetime
) -> None:
    """What is not named is kept."""
    for one in answer.merge:
        judged.merge([named[pk] for pk in dict.fromkeys(one.ids)], one.content)
    dropped = {named[pk].pk for pk in answer.drop}
    kept = [fact for fact in partition.facts if fact.pk not in dropped]
    for pk in dict.fromkeys(answer.drop):
        judged.drop(named[pk], kept, now)


def _plan(scope: Scope, judged: ScopePlan, asker: ModelRun, now: datetime, run: str) -> Batch:
    """The plan, and beside it what nothing but the model speaks for, which waits for a person."""
    with transaction.atomic():
        batches.supersede_proposals(scope, JOB, actor=ACTOR, now=now)
        plan = batches.plan(scope, judged.steps, name=JOB, run=run, actor=ACTOR, now=now, judged=True)
        plan.cost = asker.take_cost() | {"judged": judged.partitions, "reached": judged.reached}
        plan.save(update_fields=["cost"])
        waiting = propose(scope, judged.doubts, name=DOUBTS, run=run, actor=ACTOR, now=now)
        judged.counts["reworded"] += waiting
    return plan


def _apply(plan: Batch, now: datetime) -> dict[str, int]:
    done = batches.apply_batch(plan, now=now)
    if done.state == BatchState.PROPOSED:
        return {"held": 1, "held_rows": sum(done.counts.values())}
    counts = done.counts if done.state == BatchState.APPLIED else {}
    return {"merged": counts.get(BatchVerb.MERGE, 0), "dropped": counts.get(BatchVerb.ARCHIVE, 0)}
