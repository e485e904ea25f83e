"""The nightly run: facts from the events of days up to yesterday, each checked by the words of its day (D6)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from memories import batches, verification
from memories.batches import PlanRow
from memories.batches.steps import CreateStep
from memories.choices import (
    BatchVerb,
    Category,
    ChangeState,
    EntryType,
    Origin,
    Outcome,
    ScopeKind,
    Source,
    Verification,
)
from memories.conf import conf
from memories.consolidation import proposals, reading, statements
from memories.consolidation.compression.merging import chats_of, origins_of
from memories.consolidation.reading import Sources
from memories.consolidation.statements import Objection, Refused, Statement, conversation_of
from memories.entries import daily_events
from memories.entries.daily_events import ASSISTANT
from memories.entries.draft import Draft, QuotedWords
from memories.entries.evidence import of_day, words_of
from memories.exceptions import ScopeFrozen
from memories.language import names, persons
from memories.language.text import count_tokens
from memories.llm import prompts
from memories.llm.run import Clock, ModelRun, Report
from memories.llm.schemas import MAX_FACTS, DayFact, DayFactsOutput, Given
from memories.models import BatchChange, DailyEvent, Entry, Scope, Workspace
from memories.verification import Conversation, Message


@dataclass(frozen=True)
class _Line:
    """A line of a day's note as a message, and where it begins in the note."""

    message: Message
    begins: int


@dataclass(kw_only=True)
class DayCandidate(Statement):
    """A fact a model draws from days, on its way to a memory or to the list of what was refused."""

    fact: DayFact
    events: Sequence[DailyEvent]  # it rests on
    subject: str = ""  # whom or what it is about, where that is not the one who said it
    places: Sequence[tuple[DailyEvent, int]]  # of each quote: its day, and where its line begins there

    def draft(self, scope: Scope, now: datetime) -> Draft:
        """The fact as it is stored, its quotes with the note of the day they stand in."""
        evidence = tuple(
            QuotedWords(
                origin=of_day(event),
                start=begins + quote.span.start,
                end=begins + quote.span.end,
                quote=quote.text,
                at=event.created_at,
                speaker=quote.message.speaker,
            )
            for (event, begins), quote in zip(self.places, self.quotes, strict=True)
        )
        are_answers = [quote.message.is_answer for quote in self.quotes]
        words = words_of(
            scope.kind,
            spoken=not all(are_answers),
            answered=any(are_answers),
            is_about_self=not self.subject and len({quote.message.speaker for quote in self.quotes}) == 1,
        )
        if any(event.source == Source.MIGRATION for event in self.events):  # nobody knows whose words these are
            words["trust"] = Origin.lowest([words["trust"], Origin.IMPORT])
        return Draft(
            scope=scope,
            type=EntryType.FACT,
            tier=2,
            content=self.fact.content,
            source=Source.COMPRESSION,
            at=min(max(event.created_at for event in self.events), now),
            category=self.fact.category,
            project=self.fact.project,
            topic=self.fact.topic,
            importance=self.fact.importance,
            chats=chats_of(self.events),
            origins=origins_of(self.events),
            subject=self.subject,
            verification=self.verification,
            **words,
            evidence=evidence,
        )

    def refused(self, scope: Scope) -> Refused | None:
        """What is noted of it where it was refused."""
        if self.refusal is None:
            return None
        return Refused(
            scope=scope,
            content=self.fact.content,
            reason=self.refusal,
            quote=" … ".join(quoted.text for quoted in self.fact.quote),
            origins=tuple(dict.fromkeys(origin for event in self.events for origin in event.origins)),
        )


@dataclass(frozen=True)
class DayChecker:
    """Checks facts against the notes of the days a model was shown, by the ids it names them by."""

    scope: Scope
    shown: Mapping[str, DailyEvent]

    def candidate(self, fact: DayFact) -> DayCandidate:
        """The fact with its quotes where they stand, and the first thing that is wrong with it.

        A quote stands in a line of its day's note, else in the note as a whole; where one stands in none, none counts.
        """
        quotes, places = [], []
        for quoted in fact.quote:
            event, lines = self.shown[quoted.day], self._lines[quoted.day]
            whole = _Line(Message(quoted.day, event.content, lines[0].message.speaker, event.local_date), 0)
            for line in (*lines, whole):
                if located := verification.locate([(line.message, quoted.text)]):
                    quotes += located
                    places += [(event, line.begins)] * len(located)
                    break
            else:
                quotes, places = [], []
                break
        candidate = DayCandidate(
            fact.content,
            quotes,
            fact=fact,
            events=[self.shown[pk] for pk in dict.fromkeys(quoted.day for quoted in fact.quote)],
            subject=self.conversation.people.other_than_speaker(fact.subject),
            places=places,
        )
        candidate.take_fault(verification.fault(fact.content, fact.subject, candidate.quotes, self.conversation))
        return candidate

    @cached_property
    def conversation(self) -> Conversation:
        """The notes as a conversation; a person's own memory is about the person, by any of their names."""
        nicknames = persons.without_relations(self.scope.nicknames)
        own = {names.fold(speaker) for speaker in self.scope.speakers}
        also = {a for a, name in nicknames.items() if names.fold(name) in own or name.startswith(names.UNNAMED)}
        authors = dict.fromkeys([*self.scope.speakers, *sorted(also)], "") if self.scope.kind != ScopeKind.CHAT else {}
        return conversation_of([line.message for lines in self._lines.values() for line in lines], authors, self.scope)

    @cached_property
    def _lines(self) -> dict[str, list[_Line]]:
        """The lines of each day's note as messages with their speakers; a line without one is the owner's."""
        owner = self.scope.speakers[0] if self.scope.kind != ScopeKind.CHAT and self.scope.speakers else ""
        lines: dict[str, list[_Line]] = {}
        for pk, event in self.shown.items():
            begins, lines[pk] = 0, []
            for line in event.content.splitlines(keepends=True):
                label, _, content = line.partition(": ")
                is_labelled = label in (ASSISTANT, *self.scope.speakers) and bool(content)
                is_answer = is_labelled and label == ASSISTANT
                words = content if is_labelled else line
                speaker = label if is_labelled and not is_answer else owner
                message = Message(pk, words.rstrip("\r\n"), speaker, event.local_date, is_answer)
                lines[pk].append(_Line(message, begins + len(line) - len(words)))
                begins += len(line)
        return lines


JOB = "compress-days"
ACTOR = f"job:{JOB}"
#: The newest facts that are shown, so that they are not repeated.
_SHOWN_FACTS = 60


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
    events_by_id = {f"d{n}": event for n, event in enumerate(events, start=1)}
    checker = DayChecker(scope, events_by_id)
    objection: Objection[DayFact] = Objection(lambda fact: checker.candidate(fact).objection, "facts")
    given = Given(frozenset(events_by_id))
    facts = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT)
    data = {
        "known": list(facts.order_by("-stated_at", "-pk").values_list("content", flat=True)[:_SHOWN_FACTS]),
        "known_projects": scope.projects[:50],
        "days": [{"id": pk, "date": event.local_date, "said": event.content} for pk, event in events_by_id.items()],
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
        candidates = [checker.candidate(fact) for fact in objection.statements(answer)]
        counts, cost = _read_again(candidates, checker, model, clock())
        stored_counts = _store(scope, events, candidates, cost, clock(), run, model)
        return dict(counts) | stored_counts if "days" in stored_counts else stored_counts
    counts = Counter()
    if model.counts["unreadable"] > unreadable and len(events) > 1:
        middle = len(events) // 2
        for half in (events[:middle], events[middle:]):
            counts.update(_compress(scope, half, model, clock, run))
    return dict(counts)


def _read_again(
    candidates: Sequence[DayCandidate], checker: DayChecker, model: ModelRun, now: datetime
) -> tuple[Counter[str], dict[str, Any]]:
    """Have those nothing is wrong with read a second time, outside any transaction; the counts and the cost of that."""
    checked = [candidate for candidate in candidates if candidate.refusal is None]
    claims_of_them = [candidate.claim() for candidate in checked]
    days = {pk: {"on": event.local_date.isoformat(), "text": event.content} for pk, event in checker.shown.items()}
    result = reading.read(claims_of_them, Sources(days, checker.scope.speakers), model.workspace, now=now)
    counts: Counter[str] = Counter(result.counts)
    is_trusted = proposals.is_trusted(model.workspace.pk, model.model, now=now)
    for n, candidate in enumerate(checked):
        candidate.judge(result.of(n))
        if not is_trusted:  # what is refused stays refused
            candidate.verification = Verification.QUOTED
            counts["untrusted"] += candidate.refusal is None
    return counts, result.cost


def _store(
    scope: Scope,
    events: Sequence[DailyEvent],
    candidates: Sequence[DayCandidate],
    cost: dict[str, Any],
    now: datetime,
    run: str,
    model: ModelRun,
) -> dict[str, int]:
    """Store the facts of some days and mark these as compressed, in one transaction."""
    accepted_candidates = [candidate for candidate in candidates if candidate.refusal is None]
    steps = [PlanRow(step=CreateStep(draft=candidate.draft(scope, now))) for candidate in accepted_candidates]
    refused = [refusal for candidate in candidates if (refusal := candidate.refused(scope))]
    part = batches.run_part(run, events[0].pk)
    repeated = 0
    try:
        with transaction.atomic():
            plan = batches.plan(scope, steps, name=JOB, run=part, actor=ACTOR, now=now, judged=True) if steps else None
            if not daily_events.mark_compressed(events, now=now, actor=ACTOR, batch=plan.pk if plan else None):
                transaction.set_rollback(True)
                return {"changed": 1}  # somebody changed one of them meanwhile: asked again the next time
            statements.record_refused(
                refused, workspace_id=scope.workspace_id, model=model.model, purpose=JOB, run=part, now=now
            )
            if plan:
                plan.cost = model.take_cost() | cost
                plan.save(update_fields=["cost"])
                batches.apply_batch(plan, now=now)
                repeats = BatchChange.objects.filter(batch=plan, verb=BatchVerb.CREATE, state=ChangeState.APPLIED)
                repeated = repeats.filter(note__in=(Outcome.MERGED, Outcome.SKIPPED)).count()
    except ScopeFrozen:
        return {"frozen": 1}
    verified = sum(candidate.verification == Verification.VERIFIED for candidate in accepted_candidates)
    facts = {"facts": len(steps) - repeated, "repeated": repeated, "verified": verified, "refused": len(refused)}
    return {"days": len(events), **facts}
