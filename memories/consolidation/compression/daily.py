"""The nightly run: facts from the events of days up to yesterday (D6)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from memories import batches
from memories.batches import PlanRow
from memories.batches.steps import CreateStep
from memories.choices import Category, EntryType, ScopeKind, Source
from memories.conf import conf
from memories.consolidation.compression.drafts import chats_of, origins_of
from memories.entries import daily_events
from memories.entries.draft import Draft
from memories.exceptions import ScopeFrozen
from memories.language import names, relations
from memories.language.text import count_tokens
from memories.llm import prompts
from memories.llm.run import Clock, ModelRun, Report
from memories.llm.schemas import MAX_FACTS, DayFact, DayFactsOutput, Given
from memories.models import DailyEvent, Entry, Scope, Workspace
from memories.verification import grounding

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


def _compress(scope: Scope, events: list[DailyEvent], model: ModelRun, clock: Clock, run: str) -> dict[str, int]:
    """One question; after an answer that cannot be used, one for each half of the days."""
    unreadable = model.counts["unreadable"]
    shown = {f"d{n}": event for n, event in enumerate(events, start=1)}
    answer = model.ask(_question(scope, model.workspace, shown), DayFactsOutput, Given(frozenset(shown)))
    if answer is not None:
        return _store(scope, shown, answer, clock(), run, model)
    counts: Counter[str] = Counter()
    if model.counts["unreadable"] > unreadable and len(events) > 1:
        middle = len(events) // 2
        for half in (events[:middle], events[middle:]):
            counts.update(_compress(scope, half, model, clock, run))
    return dict(counts)


def _question(scope: Scope, workspace: Workspace, shown: dict[str, DailyEvent]) -> prompts.Prompt:
    known = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT)
    data = {
        "known": list(known.order_by("-stated_at", "-pk").values_list("content", flat=True)[:_KNOWN]),
        "known_projects": scope.projects[:50],
        "days": [{"id": pk, "date": event.local_date, "said": event.content} for pk, event in shown.items()],
    }
    categories = ", ".join(Category.values)
    return prompts.prompt("days", workspace.language, data, categories=categories, max_facts=MAX_FACTS)


def _store(
    scope: Scope, shown: dict[str, DailyEvent], answer: DayFactsOutput, now: datetime, run: str, model: ModelRun
) -> dict[str, int]:
    """Store the facts of some days and mark these as compressed, in one transaction."""
    events = list(shown.values())
    resting = [(fact, [shown[pk] for pk in dict.fromkeys(fact.days)]) for fact in answer.facts]
    steps = [_step(scope, fact, days, now) for fact, days in resting if _is_grounded(fact, days, scope)]
    try:
        with transaction.atomic():
            if not daily_events.mark_compressed(events, now=now, actor=ACTOR):
                return {"changed": 1}  # somebody changed one of them meanwhile: asked again the next time
            if steps:
                part = batches.run_part(run, events[0].pk)
                plan = batches.plan(scope, steps, name=JOB, run=part, actor=ACTOR, now=now, judged=True)
                plan.cost = model.take_cost()
                plan.save(update_fields=["cost"])
                batches.apply_batch(plan, now=now)
    except ScopeFrozen:
        return {"frozen": 1}
    return {"days": len(events), "facts": len(steps), "invented": len(answer.facts) - len(steps)}


def _is_grounded(fact: DayFact, days: Sequence[DailyEvent], scope: Scope) -> bool:
    """Whether the days a fact rests on support it; a person's own memory is about the person, by any of their names."""
    is_personal = scope.kind != ScopeKind.CHAT
    owner = scope.speakers[0] if is_personal and scope.speakers else ""
    messages = [
        message
        for event in sorted(days, key=lambda event: event.local_date)
        for message in _messages(event, scope, owner)
    ]
    also = {owner: [*scope.speakers, *_nicknames(scope)]} if is_personal else {}
    return grounding.fault(fact.content, messages, known=scope.projects, also_called=also) is None


def _nicknames(scope: Scope) -> list[str]:
    """The learnt nicknames of the speakers of a scope, and of somebody unnamed."""
    own = {names.fold(speaker) for speaker in scope.speakers}
    learnt = relations.without_relations(scope.nicknames)
    return [a for a, name in learnt.items() if names.fold(name) in own or name.startswith(names.UNNAMED)]


def _messages(event: DailyEvent, scope: Scope, owner: str) -> Iterator[grounding.SourceMessage]:
    """The lines of a day's event as messages with their speakers; a line without one is the owner's."""
    for line in event.content.splitlines():
        label, _, content = line.partition(": ")
        is_labelled = label in (daily_events.ASSISTANT, *scope.speakers) and bool(content)
        is_answer = is_labelled and label == daily_events.ASSISTANT
        speaker = label if is_labelled and not is_answer else owner
        yield grounding.SourceMessage(
            content if is_labelled else line, speaker, event.local_date, is_answer, is_dated=True
        )


def _step(scope: Scope, fact: DayFact, events: Sequence[DailyEvent], now: datetime) -> PlanRow:
    draft = Draft(
        scope=scope,
        type=EntryType.FACT,
        tier=2,
        content=fact.content,
        source=Source.COMPRESSION,
        at=min(max(event.created_at for event in events), now),
        category=fact.category,
        project=fact.project,
        topic=fact.topic,
        importance=fact.importance,
        chats=chats_of(events),
        origins=origins_of(events),
    )
    return PlanRow(step=CreateStep(draft=draft))
