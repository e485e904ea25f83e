"""From a model's answer to what is stored: facts in the memory they belong to, and what is told of the day (D5).

What does not stand in the messages it is said to rest on is not believed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from memories.choices import EntryType, ScopeKind, Source
from memories.consolidation.extraction import extractive, verification
from memories.consolidation.extraction.contradictions import Contradiction, Known, without_corrected
from memories.consolidation.extraction.model import Question
from memories.consolidation.extraction.ownership import Said, Share, home_of
from memories.entries.daily_events import EventDraft
from memories.entries.draft import Draft
from memories.llm.schemas import Extraction, Fact

TIER = 2


@dataclass(frozen=True)
class Finding:
    """A fact on its way to the door, and the known facts it contradicts."""

    draft: Draft
    contradicts: list[Contradiction] = field(default_factory=list)


@dataclass
class Told:
    """What an extraction batch comes to."""

    days: list[EventDraft] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    cost: dict[str, int | str] = field(default_factory=dict)


def told_of(answer: Extraction, question: Question, shares: Sequence[Share], zone: ZoneInfo) -> Told:
    """What an answer comes to, with counts of the facts nobody could keep, and of those nobody had said."""
    counts: Counter[str] = Counter()
    named: dict[int, set[int]] = {}
    drafts = []
    for fact in answer.facts:
        said = [question.said[name] for name in dict.fromkeys(fact.messages)]
        home = home_of(shares, {one.message.id for one in said})
        if home is None:
            counts["homeless"] += 1
        elif not verification.is_founded(fact.content, said, home, question, zone):
            counts["unfounded"] += 1
        else:
            draft = _draft(fact, home, said)
            drafts.append(draft)
            named[id(draft)] = {question.facts[name].pk for name in fact.replaces if _is_of(home, question)}
    kept = without_corrected(drafts)
    counts["corrected"] += len(drafts) - len(kept)
    known = Known(kept, {pk for pks in named.values() for pk in pks})
    findings = [Finding(draft, known.contradicted_by(draft, named[id(draft)])) for draft in kept]
    days = [day for share in shares for day in _days(answer.summary, question, share, zone)]
    return Told(days, findings, counts)


def _is_of(home: Share, question: Question) -> bool:
    """Whether the known facts that were shown are of the same memory as a new one."""
    return question.whole is not None and question.whole.scope.pk == home.scope.pk


def _draft(fact: Fact, home: Share, said: Sequence[Said]) -> Draft:
    ids = tuple(one.message.id for one in said)
    return Draft(
        scope=home.scope,
        type=EntryType.FACT,
        tier=TIER,
        content=fact.content,
        category=fact.category,
        project=fact.project,
        topic=fact.topic,
        importance=fact.importance,
        source=Source.EXTRACTION,
        at=max(one.message.at for one in said),
        slots=_slots(home, said),
        chats=home.chats(ids),
        origins=ids,
    )


def _slots(home: Share, said: Sequence[Said]) -> dict[str, str]:
    """Who said it, where others speak too; a person's own memory holds what they said anywhere, as one."""
    speakers = {(one.message.sender, one.speaker) for one in said if not one.is_answer and one.speaker}
    if home.scope.kind != ScopeKind.CHAT or len(speakers) != 1:
        return {}
    ((sender, speaker),) = speakers
    return {"speaker": speaker} | ({"sender_id": sender} if sender else {})


def _days(summary: str, question: Question, share: Share, zone: ZoneInfo) -> Iterator[EventDraft]:
    """The model's summary, where a memory may hold all it tells of and all of it was said on one day.

    Else, and where it tells of something else, the most telling sentences of each day.
    """
    shown = list(question.said.values())
    ids = tuple(one.message.id for one in shown)
    dates = {one.message.at.astimezone(zone).date() for one in shown}
    is_told = bool(summary) and len(dates) == 1 and share.holds(ids)
    if is_told and verification.is_summary(summary, question, share, zone):
        yield EventDraft(
            scope=share.scope, local_date=dates.pop(), content=summary, chats=share.chats(ids), origins=ids
        )
    else:
        yield from extractive.days_of(share, zone)
