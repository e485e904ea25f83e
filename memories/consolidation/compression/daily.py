"""The nightly run: facts from the events of days up to yesterday (D6)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from memories import batches
from memories.batches import PlanRow
from memories.batches.steps import CreateStep
from memories.choices import BatchVerb, Category, ChangeState, EntryType, Outcome, Source, Verification
from memories.conf import conf
from memories.consolidation import reading, refusals, trust
from memories.consolidation.compression.day_facts import DayCandidate, DayChecker
from memories.consolidation.compression.drafts import chats_of, origins_of
from memories.consolidation.statements import Objection
from memories.entries import daily_events
from memories.entries.draft import Draft
from memories.exceptions import ScopeFrozen
from memories.language.text import count_tokens
from memories.llm import prompts
from memories.llm.run import Clock, ModelRun, Report
from memories.llm.schemas import MAX_FACTS, DayFact, DayFactsOutput, Given
from memories.models import BatchChange, DailyEvent, Entry, Scope, Workspace

JOB = "compress-days"
ACTOR = f"job:{JOB}"
#: The newest facts that are shown, so that they are not repeated.
_KNOWN = 60


def compress_days(workspace_id: int, *, clock: Clock, run: str, report: Report | None = None) -> dict[str, int]:
    """Ask for the facts of every scope's days; counts of days, facts and days that still wait.

    Without a model all of them wait. A run that is started again goes on with the days that are left. `report` gets the
    counts after every question.
    """
    workspace = Workspace.objects.get(pk=workspace_id)
    counts: Counter[str] = Counter(scopes=0, days=0, facts=0, waiting=0)
    model = ModelRun(workspace, JOB, clock=clock, until=clock() + conf.COMPRESS_TIME)
    waiting = days_to_compress(workspace, clock()).order_by().values("scope_id")
    for scope in list(Scope.objects.filter(pk__in=waiting).order_by("pk")):
        if not model.may_ask():
            break
        if scope.frozen:
            counts["frozen"] += 1
            continue
        counts["scopes"] += 1
        for part in list(_parts(list(days_to_compress(workspace, clock()).filter(scope=scope)))):
            counts.update(_compress(scope, part, model, clock, run))
            if report:
                report(dict(counts))
    counts.update(model.counts)
    counts["waiting"] = days_to_compress(workspace, clock()).count()
    return dict(counts) | model.why()


def days_to_compress(workspace: Workspace, now: datetime) -> QuerySet[DailyEvent]:
    """The days of a workspace up to yesterday whose facts were not asked for, oldest first."""
    yesterday = now.astimezone(workspace.zone()).date() - timedelta(days=1)
    events = DailyEvent.objects.in_use().filter(workspace=workspace, compressed_at__isnull=True)
    return events.filter(local_date__lte=yesterday).order_by("local_date", "pk")


def _parts(events: Sequence[DailyEvent]) -> Iterator[list[DailyEvent]]:
    """Days in questions of at most TOKEN_CAP tokens and MAX_FACTS days, at least one each."""
    part: list[DailyEvent] = []
    tokens = 0
    for event in events:
        size = count_tokens(event.content)
        if part and (tokens + size > conf.TOKEN_CAP or len(part) >= MAX_FACTS):
            yield part
            part, tokens = [], 0
        part.append(event)
        tokens += size
    if part:
        yield part


@dataclass
class _Found:
    """What an answer came to, read a second time; the notes of the days are marked with it, or none of it is kept."""

    shown: dict[str, DailyEvent]
    candidates: list[DayCandidate]
    counts: Counter[str] = field(default_factory=Counter)
    cost: dict[str, Any] = field(default_factory=dict)

    @property
    def kept(self) -> list[DayCandidate]:
        return [one for one in self.candidates if one.refusal is None]


def _compress(scope: Scope, events: list[DailyEvent], model: ModelRun, clock: Clock, run: str) -> dict[str, int]:
    """One question; after an answer that cannot be used, one for each half of the days."""
    unreadable = model.counts["unreadable"]
    shown = {f"d{n}": event for n, event in enumerate(events, start=1)}
    checker = DayChecker(scope, shown)
    objection: Objection[DayFact] = Objection(lambda fact: checker.candidate(fact).objection, "facts")
    given = Given(frozenset(shown))
    known = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT)
    data = {
        "known": list(known.order_by("-stated_at", "-pk").values_list("content", flat=True)[:_KNOWN]),
        "known_projects": scope.projects[:50],
        "days": [{"id": pk, "date": event.local_date, "said": event.content} for pk, event in shown.items()],
    }
    categories = ", ".join(Category.values)
    answer = model.ask(
        prompts.prompt("days", model.workspace.language, data, categories=categories, max_facts=MAX_FACTS),
        DayFactsOutput,
        given,
        judge=objection,
        in_part="facts",
    )
    if answer is not None:
        found = _read(objection.statements(answer), checker, model, clock())
        return _store(scope, found, clock(), run, model)
    counts: Counter[str] = Counter()
    if model.counts["unreadable"] > unreadable and len(events) > 1:
        middle = len(events) // 2
        for half in (events[:middle], events[middle:]):
            counts.update(_compress(scope, half, model, clock, run))
    return dict(counts)


def _read(facts: Sequence[DayFact], checker: DayChecker, model: ModelRun, now: datetime) -> _Found:
    """The facts of an answer, those nothing is wrong with read a second time, outside any transaction."""
    candidates = [checker.candidate(fact) for fact in facts]
    checked = [one for one in candidates if one.refusal is None]
    found = _Found(dict(checker.shown), candidates)
    result = reading.read([one.claim() for one in checked], checker.sources(), model.workspace, now=now)
    is_trusted = trust.is_trusted(model.workspace.pk, model.model, now=now)
    for n, one in enumerate(checked):
        one.judge(result.of(n))
        if not is_trusted:  # what is refused stays refused
            one.verification = Verification.QUOTED
            found.counts["untrusted"] += one.refusal is None
    found.cost = result.cost
    found.counts.update(result.counts)
    return found


def _store(scope: Scope, found: _Found, now: datetime, run: str, model: ModelRun) -> dict[str, int]:
    """Store the facts of some days and mark these as compressed, in one transaction."""
    events = list(found.shown.values())
    steps = [_step(scope, one, now) for one in found.kept]
    refused = [told for one in found.candidates if (told := one.refused(scope))]
    part = batches.run_part(run, events[0].pk)
    repeated = 0
    try:
        with transaction.atomic():
            plan = batches.plan(scope, steps, name=JOB, run=part, actor=ACTOR, now=now, judged=True) if steps else None
            if not daily_events.mark_compressed(events, now=now, actor=ACTOR, batch=plan.pk if plan else None):
                transaction.set_rollback(True)
                return {"changed": 1}  # somebody changed one of them meanwhile: asked again the next time
            refusals.record(refused, workspace_id=scope.workspace_id, model=model.model, purpose=JOB, run=part, now=now)
            if plan:
                plan.cost = model.take_cost() | found.cost
                plan.save(update_fields=["cost"])
                batches.apply_batch(plan, now=now)
                repeats = BatchChange.objects.filter(batch=plan, verb=BatchVerb.CREATE, state=ChangeState.APPLIED)
                repeated = repeats.filter(note__in=(Outcome.MERGED, Outcome.SKIPPED)).count()
    except ScopeFrozen:
        return {"frozen": 1}
    verified = sum(one.verification == Verification.VERIFIED for one in found.kept)
    counts = {"days": len(events), "facts": len(steps) - repeated, "repeated": repeated}
    return dict(found.counts) | counts | {"verified": verified, "refused": len(refused)}


def _step(scope: Scope, one: DayCandidate, now: datetime) -> PlanRow:
    fact = one.fact
    draft = Draft(
        scope=scope,
        type=EntryType.FACT,
        tier=2,
        content=fact.content,
        source=Source.COMPRESSION,
        at=min(max(event.created_at for event in one.events), now),
        category=fact.category,
        project=fact.project,
        topic=fact.topic,
        importance=fact.importance,
        chats=chats_of(one.events),
        origins=origins_of(one.events),
        verification=one.verification,
        evidence=tuple(one.evidence()),
    )
    return PlanRow(step=CreateStep(draft=draft))
