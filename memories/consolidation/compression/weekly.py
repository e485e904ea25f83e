"""The weekly run: of every partition of facts a model says which to keep, to merge and to drop (D6)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memories import batches, llm
from memories.batches import branch as branches
from memories.batches.steps import MergeStep
from memories.choices import BatchState, BatchVerb, EntryType, Verification
from memories.conf import conf
from memories.consolidation import proposals
from memories.consolidation.compression import merging, profile
from memories.consolidation.compression.merging import (
    DropOffer,
    MergeOffer,
    Partition,
    ScopePlan,
    as_data,
    chunks,
    is_fixed,
    partitions,
)
from memories.consolidation.proposals import decided_by_people
from memories.exceptions import ScopeFrozen
from memories.llm import prompts
from memories.llm.run import Clock, ModelRun, Report
from memories.llm.schemas import CompressionOutput, Given
from memories.models import Batch, Entry, Policy, Scope, Workspace

JOB = "compress"


@dataclass
class FactsPlan(ScopePlan):
    """The plan for the facts of a scope, and the partitions that were judged."""

    settled: set[int] = field(default_factory=set)  # facts on which people have decided
    answers: int = 0
    judged: list[str] = field(default_factory=list)
    reached: dict[str, int] = field(default_factory=dict)  # the next chunk of partitions that are not done

    def offer(self, sources: Sequence[Entry], content: str) -> MergeOffer | None:
        """A merge a reader may be asked about; None, and counted, where rules forbid it: all of them are kept."""
        if fault := merging.merge_fault(sources, content):
            self.counts[f"not_merged_{fault}"] += 1
            return None
        return MergeOffer(sources, content)

    def merge(self, offer: MergeOffer) -> None:
        """Plan a merge that was read; another only where one of the facts says it all, in that one's words."""
        if offer.is_verified:
            content, verification = offer.content, Verification.VERIFIED
        elif speaker := merging.spokesman(offer.sources):
            content, verification = speaker.content, Verification(speaker.verification)
        else:
            self.counts[f"not_merged_{merging.MergeFault.UNVERIFIED}"] += 1
            return
        draft = merging.merge_draft(offer.sources, content, verification)
        self.steps.append(merging.create_step(draft, offer.sources))
        position = len(self.steps)
        self.steps += [merging.replace_step(MergeStep, source, position) for source in offer.sources]


def compress_facts(workspace_id: int, *, clock: Clock, run: str, report: Report | None = None) -> dict[str, int]:
    """Judge the facts of every scope, then refresh its profile; counts of what became of them.

    One batch a run and scope, planned when all its questions are answered: a run that is started again after it was
    killed finds a scope as it was, or applies its batch. What another run was killed at is finished first. `left`
    counts scopes for which there was no time. `report` gets the counts after every scope.
    """
    workspace = Workspace.objects.get(pk=workspace_id)
    begun = clock()
    batches.resume(now=begun, workspace_id=workspace_id, names=(JOB, profile.JOB))
    model = ModelRun(workspace, JOB, clock=clock, until=begun + conf.COMPRESS_TIME)
    counts: Counter[str] = Counter(scopes=0, merged=0, dropped=0, held=0, left=0, planned=0)
    if not model.stopped and not proposals.is_trusted(workspace_id, llm.model_name(), now=clock()):
        model.stopped = "untrusted"
    for scope in _scopes(workspace):
        if not model.may_ask():
            counts["left"] += 1
            continue
        try:
            counts.update(_compress_scope(scope, model, clock, run))
            counts.update(profile.refresh(scope, model, clock, run))
            counts["scopes"] += 1
        except ScopeFrozen:
            counts["frozen"] += 1
        if report:
            report(dict(counts))
    counts.update(model.counts)
    return dict(counts) | model.why()


def count_facts(workspace_id: int) -> dict[str, int]:
    """How many scopes, partitions and facts a run would ask about."""
    scopes = _scopes(Workspace.objects.get(pk=workspace_id))
    sizes = [len(partition.facts) for scope in scopes for partition in partitions(scope, conf.COMPRESS_LEAST)]
    return {"scopes": len(scopes), "partitions": len(sizes), "facts": sum(sizes)}


def _scopes(workspace: Workspace) -> list[Scope]:
    """Scopes that have facts and are not frozen."""
    facts = Entry.objects.live().filter(workspace=workspace, type=EntryType.FACT)
    return list(Scope.objects.filter(pk__in=facts.order_by().values("scope_id"), frozen=False).order_by("pk"))


def _compress_scope(scope: Scope, model: ModelRun, clock: Clock, run: str) -> dict[str, int]:
    begun = Batch.objects.filter(run=run, scope=scope).first()
    if begun is not None:
        return _apply(begun, clock())
    plan = _judged(scope, model, clock)
    if not plan.answers:
        return dict(plan.counts)
    cost = model.take_cost() | {"judged": plan.judged, "reached": plan.reached}
    batch = plan.save(scope, JOB, run=run, cost=cost, now=clock())
    return dict(plan.counts + plan.read) | {"planned": 1} | _apply(batch, clock())


def propose_on(branch: Batch, *, model_name: str, clock: Clock) -> int:
    """Have the model `model_name` tidy the facts of a memory on a branch alone; the rows it proposes.

    What was asked of it stands as the cost of the branch. Raises BatchSettled where it was decided on meanwhile.
    """
    if branch.scope is None:
        raise AssertionError("a branch has a scope")
    model = ModelRun(branch.workspace, JOB, clock=clock, until=clock() + conf.COMPRESS_TIME, model_name=model_name)
    plan = _judged(branch.scope, model, clock)
    cost = {"model": model_name} | model.take_cost() | dict(plan.read)
    return branches.add_rows(branch, plan.steps, cost=cost | ({"stopped": model.stopped} if model.stopped else {}))


def _judged(scope: Scope, model: ModelRun, clock: Clock) -> FactsPlan:
    plan = FactsPlan(settled=decided_by_people(scope))
    for partition in partitions(scope, conf.COMPRESS_LEAST):
        if not _judge(partition, plan, model, clock):
            break
    return plan


def _judge(partition: Partition, plan: FactsPlan, model: ModelRun, clock: Clock) -> bool:
    """Ask about one partition; whether the model may be asked about the next.

    What is only quoted is not shown: it waits for a reader.
    """
    policies = Policy.objects.of(model.workspace.pk)
    may_change = (fact for fact in partition.facts if not is_fixed(fact) and merging.may_act(fact, policies))
    free = [fact for fact in may_change if fact.pk not in plan.settled]

    # from the first chunk on that the last run did not reach
    last = Batch.objects.filter(scope=partition.facts[0].scope_id, name=JOB).order_by("-created_at", "-pk").first()
    parts, begin = list(chunks(free)), int(last.cost.get("reached", {}).get(partition.key, 0)) if last else 0
    for number, chunk in enumerate(parts[begin:] or parts, start=begin if begin < len(parts) else 0):
        by_id = {f"f{n}": fact for n, fact in enumerate(chunk, start=1)}
        data = {"project": partition.project, "topic": partition.topic, "facts": as_data(by_id)}
        question = prompts.prompt("compression", model.workspace.language, data)
        answer = model.ask(question, CompressionOutput, Given(frozenset(by_id)))
        if answer is None:
            plan.reached[partition.key] = number if model.stopped else number + 1
            break
        plan.answers += 1
        # Plan what an answer says, once it was read a second time; facts it does not name are kept
        now = clock()
        offered = (plan.offer([by_id[pk] for pk in dict.fromkeys(merge.ids)], merge.content) for merge in answer.merge)
        merges = [offer for offer in offered if offer is not None]
        dropped = [by_id[pk] for pk in dict.fromkeys(answer.drop)]
        others = [fact for fact in partition.facts if fact not in dropped]
        fading = [DropOffer(fact) for fact in dropped if merging.has_faded(fact, now)]
        faded = {offer.fact.pk for offer in fading}
        drops = [DropOffer(fact, merging.rivals_of(fact, others, policies)) for fact in dropped if fact.pk not in faded]
        plan.read += merging.read_offers(
            [*merges, *drops], list(by_id.values()), partition.facts[0].scope, model.workspace, now=now
        )
        for offer in merges:
            plan.merge(offer)
        for drop in [*fading, *drops]:
            plan.drop(drop, now)
    else:
        plan.judged.append(partition.key)
    return not model.stopped


def _apply(batch: Batch, now: datetime) -> dict[str, int]:
    applied = batches.apply_batch(batch, now=now)
    if applied.state == BatchState.PROPOSED:
        return {"held": 1, "held_rows": sum(applied.counts.values())}
    counts = applied.counts if applied.state == BatchState.APPLIED else {}
    return {"merged": counts.get(BatchVerb.MERGE, 0), "dropped": counts.get(BatchVerb.ARCHIVE, 0)}
