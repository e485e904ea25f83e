"""From a model's answer to what is stored: facts in the memory they belong to, and what is told of the day (D5).

What does not stand in the messages it is said to rest on is not believed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from memories.choices import EntryType, ScopeKind, Source
from memories.consolidation.extraction import extractive, verification
from memories.consolidation.extraction.contradictions import Contradiction, KnownFacts, without_corrected
from memories.consolidation.extraction.model import ExtractionQuestion
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages, find_owner
from memories.entries.daily_events import EventDraft
from memories.entries.draft import Draft
from memories.llm.schemas import ExtractionOutput, Fact

TIER = 2


@dataclass(frozen=True)
class Finding:
    """A fact on its way to the door, and the known facts it contradicts."""

    draft: Draft
    contradicts: list[Contradiction] = field(default_factory=list)


@dataclass
class ExtractionResult:
    """What is made of an extraction batch: events of days, facts, and what the model's part in it cost."""

    days: list[EventDraft] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    cost: dict[str, int | str] = field(default_factory=dict)


def build_result(
    answer: ExtractionOutput, question: ExtractionQuestion, scopes: Sequence[ScopeMessages], zone: ZoneInfo
) -> ExtractionResult:
    """The facts and events of an answer; facts no scope may hold, and facts nobody stated, are only counted."""
    counts: Counter[str] = Counter()
    named: dict[int, set[int]] = {}
    drafts = []
    for fact in answer.facts:
        messages = [question.messages[name] for name in dict.fromkeys(fact.messages)]
        owner = find_owner(scopes, {one.message.id for one in messages})
        if owner is None:
            counts["homeless"] += 1
        elif not verification.is_grounded(fact.content, messages, owner, question, zone):
            counts["unfounded"] += 1
        else:
            draft = _draft(fact, owner, messages)
            drafts.append(draft)
            named[id(draft)] = {question.facts[name].pk for name in fact.replaces if _is_of(owner, question)}
    kept = without_corrected(drafts)
    counts["corrected"] += len(drafts) - len(kept)
    known = KnownFacts(kept, {pk for pks in named.values() for pk in pks})
    findings = [Finding(draft, known.contradicted_by(draft, named[id(draft)])) for draft in kept]
    days = [day for scoped in scopes for day in _days(answer.summary, question, scoped, zone)]
    return ExtractionResult(days, findings, counts)


def _is_of(owner: ScopeMessages, question: ExtractionQuestion) -> bool:
    """Whether the known facts that were shown are of the same memory as a new one."""
    return question.whole is not None and question.whole.scope.pk == owner.scope.pk


def _draft(fact: Fact, owner: ScopeMessages, messages: Sequence[ScopedMessage]) -> Draft:
    ids = tuple(one.message.id for one in messages)
    return Draft(
        scope=owner.scope,
        type=EntryType.FACT,
        tier=TIER,
        content=fact.content,
        category=fact.category,
        project=fact.project,
        topic=fact.topic,
        importance=fact.importance,
        source=Source.EXTRACTION,
        at=max(one.message.at for one in messages),
        slots=_slots(owner, messages),
        chats=owner.chats(ids),
        origins=ids,
    )


def _slots(owner: ScopeMessages, messages: Sequence[ScopedMessage]) -> dict[str, str]:
    """Who said it, where others speak too; a person's own memory holds what they said anywhere, as one."""
    speakers = {(one.message.sender, one.speaker) for one in messages if not one.is_answer and one.speaker}
    if owner.scope.kind != ScopeKind.CHAT or len(speakers) != 1:
        return {}
    ((sender, speaker),) = speakers
    return {"speaker": speaker} | ({"sender_id": sender} if sender else {})


def _days(summary: str, question: ExtractionQuestion, scoped: ScopeMessages, zone: ZoneInfo) -> Iterator[EventDraft]:
    """The model's summary, where a memory may hold all it tells of and all of it was said on one day.

    Else, and where it tells of something else, the most telling sentences of each day.
    """
    shown = list(question.messages.values())
    ids = tuple(one.message.id for one in shown)
    dates = {one.message.at.astimezone(zone).date() for one in shown}
    is_told = bool(summary) and len(dates) == 1 and scoped.holds(ids)
    if is_told and verification.is_summary_grounded(summary, question, scoped, zone):
        yield EventDraft(
            scope=scoped.scope,
            local_date=dates.pop(),
            content=summary,
            chats=scoped.chats(ids),
            origins=ids,
        )
    else:
        yield from extractive.summarise_days(scoped, zone)
