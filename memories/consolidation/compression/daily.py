"""Days become facts: whatever was told of them up to yesterday and was not asked about yet (D6)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import QuerySet

from memories import batches
from memories.batches import PlanRow
from memories.batches.steps import CreateStep
from memories.choices import Category, EntryType, ScopeKind, Source
from memories.conf import conf
from memories.entries import daily_events
from memories.entries.draft import Draft
from memories.exceptions import ScopeFrozen
from memories.language import names
from memories.language.text import count_tokens
from memories.llm import prompts
from memories.llm.run import Clock, ModelRun, Report
from memories.llm.schemas import MAX_FACTS, DayFact, DayFactsOutput, Given
from memories.models import DailyEvent, Entry, Scope, Workspace
from memories.verification import grounding

log = structlog.get_logger(__name__)
JOB = "compress-days"
ACTOR = f"job:{JOB}"
#: Of what is known already so much is shown, newest first, so that it is not said again.
_KNOWN = 60


def compress_days(workspace_id: int, *, clock: Clock, run: str, report: Report | None = None) -> dict[str, int]:
    """Ask of every scope's days what they leave behind; how many days became how many facts, and how many wait.

    `report` is told after every question. Without a model all of them wait, and nothing is lost. A run that was killed
    finds what it has not done yet.
    """
    workspace = Workspace.objects.get(pk=workspace_id)
    counts: Counter[str] = Counter(scopes=0, days=0, facts=0, waiting=0)
    asker = ModelRun(workspace, JOB, clock=clock, until=clock() + conf.COMPRESS_TIME)
    for scope in _scopes(workspace, clock()):
        if not asker.may_ask():
            break
        if scope.frozen:
            counts["frozen"] += 1
            continue
        counts["scopes"] += 1
        for part in list(_parts(list(days_to_compress(workspace, clock()).filter(scope=scope)))):
            counts.update(_compress(scope, part, asker, clock, run))
            if report:
                report(dict(counts))
    counts.update(asker.counts)
    counts["waiting"] = days_to_compress(workspace, clock()).count()
    return dict(counts) | asker.why()


def days_to_compress(workspace: Workspace, now: datetime) -> QuerySet[DailyEvent]:
    """Days of a workspace up to yesterday of which nobody has asked what they leave behind, oldest first."""
    yesterday = now.astimezone(workspace.zone()).date() - timedelta(days=1)
    events = DailyEvent.objects.in_use().filter(workspace=workspace, compressed_at__isnull=True)
    return events.filter(local_date__lte=yesterday).order_by("local_date", "pk")


def _scopes(workspace: Workspace, now: datetime) -> list[Scope]:
    return list(
        Scope.objects.filter(pk__in=days_to_compress(workspace, now).order_by().values("scope_id")).order_by("pk")
    )


def _parts(events: Sequence[DailyEvent]) -> Iterator[list[DailyEvent]]:
    """As many days as fit into one question."""
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


def _compress(scope: Scope, events: list[DailyEvent], asker: ModelRun, clock: Clock, run: str) -> dict[str, int]:
    """One question; an answer nobody could read is asked for again of half as many days."""
    unreadable = asker.counts["unreadable"]
    named = {f"d{n}": event for n, event in enumerate(events, start=1)}
    answer = asker.ask(_question(scope, asker.workspace, named), DayFactsOutput, Given(frozenset(named)))
    if answer is not None:
        return _store(scope, events, named, answer, clock(), run, asker)
    if asker.counts["unreadable"] == unreadable or len(events) == 1:
        return {}
    middle = len(events) // 2
    halves = (events[:middle], events[middle:])
    counts: Counter[str] = Counter()
    for half in halves:
        counts.update(_compress(scope, half, asker, clock, run))
    return dict(counts)


def _question(scope: Scope, workspace: Workspace, named: dict[str, DailyEvent]) -> prompts.Prompt:
    known = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT)
    data = {
        "known": list(known.order_by("-stated_at", "-pk").values_list("content", flat=True)[:_KNOWN]),
        "known_projects": scope.projects[:50],
        "days": [{"id": pk, "date": event.local_date, "said": event.content} for pk, event in named.items()],
    }
    categories = ", ".join(Category.values)
    return prompts.prompt("days", workspace.language, data, categories=categories, max_facts=MAX_FACTS)


def _store(
    scope: Scope,
    events: Sequence[DailyEvent],
    named: dict[str, DailyEvent],
    answer: DayFactsOutput,
    now: datetime,
    run: str,
    asker: ModelRun,
) -> dict[str, int]:
    """Facts and the mark that their days are done, in one transaction: never one without the other."""
    grounded = [fact for fact in answer.facts if not _invents(fact, scope, named)]
    steps = [_step(scope, fact, [named[pk] for pk in dict.fromkeys(fact.days)], now) for fact in grounded]
    counts = {"days": len(events), "facts": len(steps), "invented": len(answer.facts) - len(steps)}
    try:
        with transaction.atomic():
            if not daily_events.mark_compressed(events, now=now, actor=ACTOR):
                return {"changed": 1}  # somebody changed one of them meanwhile: asked again the next time
            if steps:
                plan = batches.plan(
                    scope, steps, name=JOB, run=batches.run_part(run, events[0].pk), actor=ACTOR, now=now, judged=True
                )
                plan.cost = asker.take_cost()
                plan.save(update_fields=["cost"])
                batches.apply_batch(plan, now=now)
    except ScopeFrozen:
        return {"frozen": 1}
    return counts


def _invents(fact: DayFact, scope: Scope, named: dict[str, DailyEvent]) -> bool:
    """Whether it says what none of its days does."""
    told = sorted((named[pk] for pk in dict.fromkeys(fact.days)), key=lambda event: event.local_date)
    lines = [one for event in told for one in _lines(event, scope)]
    also = {} if scope.kind == ScopeKind.CHAT else {_owner(scope): [*scope.speakers, *_also_called(scope)]}
    return grounding.fault(fact.content, lines, known=scope.projects, also_called=also) is not None


def _owner(scope: Scope) -> str:
    """Whose memory it is, by the first of their names; nobody's is a chat's."""
    return "" if scope.kind == ScopeKind.CHAT or not scope.speakers else scope.speakers[0]


def _also_called(scope: Scope) -> list[str]:
    own = {names.fold(speaker) for speaker in scope.speakers}
    return [a for a, name in scope.nicknames.items() if names.fold(name) in own or name.startswith(names.UNNAMED)]


def _lines(event: DailyEvent, scope: Scope) -> Iterator[grounding.SourceMessage]:
    """What was said that day, by whom; a person's own memory calls them by no name."""
    own = _owner(scope)
    for line in event.content.splitlines():
        label, _, said = line.partition(": ")
        is_named = label in (daily_events.ASSISTANT, *scope.speakers) and bool(said)
        speaker = label if is_named and label != daily_events.ASSISTANT else own
        is_answer = is_named and label == daily_events.ASSISTANT
        yield grounding.SourceMessage(said if is_named else line, speaker, event.local_date, is_answer, is_dated=True)


def _step(scope: Scope, fact: DayFact, events: Sequence[DailyEvent], now: datetime) -> PlanRow:
    known = all(event.chats for event in events)  # of one that came from nobody knows where, no chat may be told
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
        chats=tuple(dict.fromkeys(chat for event in events for chat in event.chats)) if known else (),
        origins=tuple(dict.fromkeys(origin for event in events for origin in event.origins)),
    )
    return PlanRow(step=CreateStep(draft=draft))
