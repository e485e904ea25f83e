"""Facts of a scope, what of a model's judgement of them may be applied, and the plan of it (D6).

A model is shown facts by project and topic, similar ones beside each other. Rules see to amounts, dates, codes, names,
persons and slots of a merge, whatever the language. Whether it says what its sources say, the second reading knows;
without it facts are made one only where one of them says it all. What is dropped, time or something newer speaks
against.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import combinations
from typing import Any

from django.db import transaction

from memories import batches, verification
from memories.batches import PlanRow
from memories.batches.steps import ArchiveStep, CreateStep, MergeStep, Successor, SupersedeStep
from memories.choices import Act, BatchState, EntryType, Reading, ScopeKind, Source, Verification, category_rule, decay
from memories.conf import conf
from memories.consolidation import proposals, reading
from memories.consolidation.proposals import NAMES
from memories.consolidation.reading import Claim, Sources
from memories.entries.draft import COLUMN_SLOTS, Draft
from memories.entries.evidence import inherited_trust
from memories.language import compare, likeness
from memories.language.compare import ConflictVerdict
from memories.language.likeness import Likeness
from memories.language.persons import People
from memories.models import Batch, DailyEvent, Entry, Scope, Workspace
from memories.models.policy import Policies
from memories.verification import Conversation, Message

#: Facts in one question: among more, similar ones are missed, and their ids alone fill the answer.
CHUNK = 80
#: The newest batches in which the partitions that were judged are looked up.
_BATCHES = 12
#: Sources of people: no machine rewords or archives such facts.
OF_PEOPLE = frozenset({Source.MANUAL, Source.MIGRATION})


@dataclass(frozen=True)
class Partition:
    """Facts of one project and topic."""

    project: str
    topic: str
    facts: tuple[Entry, ...]

    @property
    def key(self) -> str:
        return f"{self.project}\n{self.topic}"


def is_fixed(entry: Entry) -> bool:
    """Whether no machine may change it: pinned, written by people, or with a term of its own."""
    return entry.pinned or entry.source in OF_PEOPLE or entry.expires_at is not None


def live_facts(scope: Scope, tier: int) -> list[Entry]:
    facts = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT, tier=tier, suspect="")
    return list(facts.select_related("access").prefetch_related("slots").order_by("pk"))


def partitions(scope: Scope, least: int) -> list[Partition]:
    """Partitions with at least so many facts that changed since they were judged; the longest ago first."""
    by_key: defaultdict[tuple[str, str], list[Entry]] = defaultdict(list)
    for fact in live_facts(scope, tier=2):
        by_key[fact.project, fact.topic].append(fact)
    # when each was judged last; a proposal that is still open does not count
    judged: dict[str, datetime] = {}
    decided = Batch.objects.filter(scope=scope, name=NAMES[0]).exclude(state=BatchState.PROPOSED)
    for batch in decided.order_by("-created_at", "-pk")[:_BATCHES]:
        for key in batch.cost.get("judged", []):
            judged.setdefault(key, batch.created_at)
    never = datetime.min.replace(tzinfo=scope.created_at.tzinfo)
    large = [Partition(*key, tuple(facts)) for key, facts in sorted(by_key.items()) if len(facts) >= least]
    stale_parts = [part for part in large if any(fact.updated_at > judged.get(part.key, never) for fact in part.facts)]
    return sorted(stale_parts, key=lambda part: judged.get(part.key, never))


def chunks(facts: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Facts in questions of CHUNK, by the rarest term each shares with another, so that similar ones are together."""
    frequency = Counter(term for fact in facts for term in fact.terms)

    def place(fact: Entry) -> tuple[int, int, int]:
        shared = [(frequency[term], term) for term in fact.terms if frequency[term] > 1]
        return (*min(shared, default=(len(facts) + 1, 0)), fact.pk)

    ordered = sorted(facts, key=place)
    for start in range(0, len(ordered), CHUNK):
        yield ordered[start : start + CHUNK]


def relevance(entry: Entry, now: datetime) -> float:
    """The importance of a fact, decayed by the days since it was used (D4)."""
    access = getattr(entry, "access", None)
    used_at = max(filter(None, [entry.stated_at, access and access.last_accessed]))
    return entry.importance * decay(entry.category, (now - used_at).total_seconds() / 86_400)


def as_data(facts_by_id: dict[str, Entry], prefix: str = "") -> list[dict[str, Any]]:
    """Facts as data of a question: those whose short id begins with `prefix`."""
    return [
        {
            "id": pk,
            "content": fact.content,
            "category": fact.category,
            "importance": round(fact.importance, 2),
            "stated": fact.stated_at.date(),
        }
        for pk, fact in facts_by_id.items()
        if pk.startswith(prefix)
    ]


#: The most sources of one sentence.
_MOST_SOURCES = 12
#: The relevance below which a fact is over.
_FADED = 0.1
#: Slots of where a fact comes from do not matter to what it says, except the speaker.
_MEANINGFUL = ("speaker",)


class MergeFault(StrEnum):
    """Why facts are not made one."""

    DIFFER = "differ"  # one contradicts another
    PLACES = "places"  # they differ by a slot, or by who spoke
    LOST = "lost"  # the text leaves out an amount, a date, a code, a name or a person
    INVENTED = "invented"  # the text names something or somebody that none of them names
    UNVERIFIED = "unverified"  # nobody read it twice, or whoever did does not agree


def merge_fault(sources: Sequence[Entry], content: str) -> MergeFault | None:
    """Why these facts must not become this one; None where a reader may be asked."""
    if len(sources) > _MOST_SOURCES:
        return MergeFault.LOST
    if _are_apart(sources):
        return MergeFault.PLACES
    by_age = sorted(sources, key=lambda fact: (fact.stated_at, fact.pk))
    pairs = ((older.content, newer.content) for older, newer in combinations(by_age, 2))
    if any(compare.judge(*pair) is not ConflictVerdict.NONE for pair in pairs):
        return MergeFault.DIFFER
    if invents(sources, content):
        return MergeFault.INVENTED
    return MergeFault.LOST if any(loses(source, content, sources) for source in sources) else None


def invents(sources: Sequence[Entry], content: str) -> bool:
    """Whether a text names an amount, a date, a code, a name or a person that no source names."""
    # The sources as a conversation, each on the day it was stated
    scope = sources[0].scope
    messages = [Message(f"f{n}", fact.content, "", fact.stated_at.date()) for n, fact in enumerate(sources, start=1)]
    people = people_of(scope)
    if verification.invention(content, Conversation(messages, people, scope.speakers)) is not None:
        return True
    return not _persons([content], people) <= _persons([source.content for source in sources], people)


def loses(source: Entry, content: str, sources: Sequence[Entry]) -> bool:
    """Whether a text leaves out an amount, a date, a code, a name or a person of a source."""
    people = people_of(source.scope)
    becomes = Message("", content, "", max(fact.stated_at for fact in sources).date())
    if verification.invention(source.content, Conversation([becomes])) is not None:
        return True
    return not _persons([source.content], people) <= _persons([content], people)


def people_of(scope: Scope) -> People:
    """Those who may be spoken of in a scope: whose memory it is, and whom it knows."""
    is_personal = scope.kind != ScopeKind.CHAT
    own, others = (scope.speakers, []) if is_personal else ([], scope.speakers)
    return People.of(own, others, scope.nicknames)


def _persons(contents: Iterable[str], people: People) -> set[str]:
    return {key for content in contents for key in people.named(content, writes_of_user=True)}


def spokesman(sources: Sequence[Entry]) -> Entry | None:
    """The source that says all the others say, in nearly their words: it may stand for them though nobody read it."""

    def covers(fact: Entry, other: Entry) -> bool:
        content, begin = fact.content.casefold(), other.content.casefold().rstrip(" .。!！")
        return is_repeat(fact, other) or (
            likeness.contains(fact.content, other.content)
            and content.startswith(begin)
            and not any(map(likeness.is_telling, content[len(other.content) - 1 :].split()))
        )

    longest = sorted(sources, key=lambda fact: (-len(fact.content), -fact.stated_at.timestamp()))
    return next((fact for fact in longest if all(covers(fact, other) for other in sources if other is not fact)), None)


def is_repeat(fact: Entry, other: Entry) -> bool:
    """Whether two facts are one memory, by the rule for what is written."""
    verdict, _share = likeness.compare(other.content, fact.content, threshold=conf.DEDUPE_THRESHOLD)
    return verdict in (Likeness.SAME, Likeness.ALIKE)


def _are_apart(sources: Iterable[Entry]) -> bool:
    """Whether a slot has different values: a fact about one environment says nothing about another."""
    values: dict[str, set[str]] = {}
    for source in sources:
        for name, value in slots_of(source).items():
            values.setdefault(name, set()).add(value)
    slot_names = {name for name in values if name not in COLUMN_SLOTS or name in _MEANINGFUL}
    return any(len(values[name]) > 1 for name in slot_names)


def slots_of(entry: Entry) -> dict[str, str]:
    """All slots of a fact by name, those in columns included."""
    in_columns = {name: getattr(entry, name) for name in COLUMN_SLOTS if getattr(entry, name)}
    return in_columns | {slot.name: slot.value for slot in entry.slots.all()}


def has_faded(fact: Entry, now: datetime) -> bool:
    """Whether time itself speaks for dropping a fact."""
    return category_rule(fact.category).passes == 1 or relevance(fact, now) < _FADED


def may_act(fact: Entry, policies: Policies) -> bool:
    """Whether a fact may take the place of others, or be made one with them.

    A quoted one waits for a reader, and what its source may not do is a policy (A20).
    """
    return fact.verification != Verification.QUOTED and policies.may(fact.trust, Act.SUPERSEDE)


def rivals_of(fact: Entry, others: Iterable[Entry], policies: Policies) -> list[Entry]:
    """The facts, two at most, that may take the place of another: stated later, of the same place, nearest in words."""
    own = set(fact.terms)
    newer = [
        other
        for other in others
        if other.pk != fact.pk
        and may_act(other, policies)
        and other.stated_at >= fact.stated_at
        and own.intersection(other.terms)
        and not _are_apart([other, fact])
    ]
    certain = [other for other in newer if outdates(other, fact)]
    return certain or sorted(newer, key=lambda other: -len(own.intersection(other.terms)))[:2]


def outdates(newer: Entry, fact: Entry) -> bool:
    """Whether the words of a fact alone show that it corrects, or repeats, another that was stated before it."""
    return compare.judge(fact.content, newer.content) is not ConflictVerdict.NONE or is_repeat(newer, fact)


_LONG = 3_650.0  # days after which categories that last and those that decay differ


def merge_draft(sources: Sequence[Entry], content: str, verification: str = Verification.NONE) -> Draft:
    """One fact in place of several: as old as the first, as important as the most important, for chats of all.

    Its category is that of a secret source, else the one that lasts longest, of the most important source. It has all
    slots of the sources; of those in columns, the ones on which all sources agree.
    """
    lasting = max(sources, key=lambda fact: (decay(fact.category, _LONG), fact.importance))
    each = [slots_of(source) for source in sources]
    slots = {name: value for slots in each for name, value in slots.items()}
    common = {name for name, value in slots.items() if all(others.get(name) == value for others in each)}
    return replace(
        _draft_of(sources, content, verification),
        tier=2,
        project=sources[0].project,
        topic=sources[0].topic,
        category=secret_among(sources) or lasting.category,
        slots={name: value for name, value in slots.items() if name in common or name not in COLUMN_SLOTS},
    )


def line_draft(sources: Sequence[Entry], content: str, category: str, verification: str = Verification.NONE) -> Draft:
    """One line of a profile; it is a secret if one of its sources is."""
    draft = _draft_of(sources, content, verification)
    category = secret_among(sources) or category
    return replace(draft, tier=1, project="_global", topic="_profile", category=category)


def _draft_of(sources: Sequence[Entry], content: str, verification: str) -> Draft:
    subjects = {source.subject for source in sources}
    return Draft(
        scope=sources[0].scope,
        type=EntryType.FACT,
        content=content,
        source=Source.COMPRESSION,
        at=min(source.created_at for source in sources),
        importance=max(source.importance for source in sources),
        chats=chats_of(sources),
        origins=origins_of(sources),
        subject=subjects.pop() if len(subjects) == 1 else "",  # whom or what all of them are about
        verification=verification,
        **inherited_trust(sources),
    )


def chats_of(sources: Sequence[Entry] | Sequence[DailyEvent]) -> tuple[str, ...]:
    """The chats of all sources; none where one has none, as then nobody knows where it comes from."""
    chats = tuple(dict.fromkeys(chat for source in sources for chat in source.chats))
    return chats if all(source.chats for source in sources) else ()


def origins_of(sources: Sequence[Entry] | Sequence[DailyEvent]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(origin for source in sources for origin in source.origins))


def secret_among(sources: Sequence[Entry]) -> str:
    """The category of the first source that is a secret; empty when none is."""
    return next((source.category for source in sources if category_rule(source.category).is_secret), "")


def create_step(draft: Draft, sources: Sequence[Entry], *, naming: Sequence[Entry] = ()) -> PlanRow:
    """A step that creates a fact, unless a source is changed or suppressed by then."""
    resting = {source.pk: source.version for source in sources}
    step = CreateStep(draft=draft, rests_on=resting, sources=tuple(source.pk for source in naming))
    return PlanRow(step=step)


def replace_step(kind: type[MergeStep | SupersedeStep], entry: Entry, position: int) -> PlanRow:
    """A step that merges an entry into, or supersedes it by, what the step at a position creates."""
    return PlanRow.of(entry, kind(into=Successor(position=position)))


@dataclass
class Offer:
    """Something a model would do, as claims that are read."""

    verdicts: list[Reading] = field(default_factory=list, init=False)

    def claims(self) -> list[Claim]:
        raise NotImplementedError


@dataclass
class MergeOffer(Offer):
    """A text in the place of several facts."""

    sources: Sequence[Entry]
    content: str

    def claims(self) -> list[Claim]:
        """The text beside the facts, then each fact beside the text."""
        return [Claim(self.content, as_quotes(self.sources)), *kept_claims(self.sources, self.content)]

    @property
    def is_verified(self) -> bool:
        return bool(self.verdicts) and all(verdict is Reading.ENTAILED for verdict in self.verdicts)


@dataclass
class DropOffer(Offer):
    """A fact a model would drop, and newer ones that may be why."""

    fact: Entry
    rivals: Sequence[Entry] = ()

    def claims(self) -> list[Claim]:
        """The fact beside each of them, where their words alone do not show it."""
        return [] if self.is_outdated else [Claim(self.fact.content, as_quotes([rival])) for rival in self.rivals]

    @property
    def is_outdated(self) -> bool:
        """Whether words show it: with the model these are two signals."""
        return any(outdates(rival, self.fact) for rival in self.rivals)

    @property
    def is_supported(self) -> bool:
        """Whether a newer fact speaks for it besides the model."""
        return self.is_outdated or Reading.CONTRADICTED in self.verdicts


def as_quotes(facts: Sequence[Entry]) -> list[tuple[str, str]]:
    """Facts as the words a statement rests on."""
    return [(f"f{fact.pk}", fact.content) for fact in facts]


def kept_claims(facts: Sequence[Entry], content: str) -> list[Claim]:
    """For each fact the claim that a text still says it."""
    return [Claim(fact.content, [("new", content)]) for fact in facts]


def read_offers(
    offers: Sequence[Offer], facts: Sequence[Entry], scope: Scope, workspace: Workspace, *, now: datetime
) -> Counter[str]:
    """Have offers read, in one question; the counts of the reading, what it spent among them."""
    pairs = [(offer, claim) for offer in offers for claim in offer.claims()]
    texts_by_id: dict[str, dict[str, Any]] = {
        f"f{fact.pk}": {"on": fact.stated_at.date().isoformat(), "text": fact.content} for fact in facts
    }
    result = reading.read([claim for _offer, claim in pairs], Sources(texts_by_id, scope.speakers), workspace, now=now)
    for n, (offer, _claim) in enumerate(pairs):
        offer.verdicts.append(result.of(n))
    return Counter(result.counts) + Counter(reader_calls=result.calls, reader_tokens=result.tokens)


ACTOR = "job:compress"


@dataclass
class ScopePlan:
    """Steps to be applied, and corrections of what people wrote."""

    steps: list[PlanRow] = field(default_factory=list)
    doubts: list[proposals.Pair] = field(default_factory=list)  # what is outdated, and what holds
    counts: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)  # of the second reading

    def drop(self, offer: DropOffer, now: datetime) -> bool:
        """Archive a fact that the model drops, where time or a newer fact speaks for it as well; whether it is."""
        is_over = has_faded(offer.fact, now) or offer.is_supported
        if is_over:
            self.steps.append(PlanRow.of(offer.fact, ArchiveStep()))
        else:
            self.counts["not_dropped"] += 1
        return is_over

    def save(self, scope: Scope, name: str, *, run: str, cost: dict[str, Any], now: datetime) -> Batch:
        """Store the plan in place of open proposals of this name; its batch."""
        with transaction.atomic():
            batches.supersede_proposals(scope, name, actor=ACTOR, now=now)
            batch = batches.plan(scope, self.steps, name=name, run=run, actor=ACTOR, now=now, judged=True)
            batch.cost = cost | dict(self.read)
            batch.save(update_fields=["cost"])
            proposals.propose(scope, self.doubts, run=run, model=cost.get("model", ""), now=now)
        return batch
