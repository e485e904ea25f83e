"""The facts of a scope as a model is shown them: by project and topic, those that are alike beside each other."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from memories.choices import BatchState, ChangeState, EntryType, SkipReason, Source
from memories.kinds import decay
from memories.models import Batch, BatchChange, Entry, Scope

#: Facts in one question: more bury what is alike, and their ids alone fill the answer.
CHUNK = 80
#: A batch tells which partitions it judged; so many of the newest are looked through.
_BATCHES = 12
#: The batches of the weekly run: of facts, of the profile, and what is in doubt of each.
NAMES = ("compress", "profile", "compress-doubts", "profile-doubts")
#: What people wrote, or brought with them, no machine rewords or takes out.
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

    def changed_after(self, moment: datetime | None) -> bool:
        return moment is None or any(fact.updated_at > moment for fact in self.facts)


def is_fixed(entry: Entry) -> bool:
    """Whether no machine may touch it: pinned, written by people, or given a term by them."""
    return entry.pinned or entry.source in OF_PEOPLE or entry.expires_at is not None


def live_facts(scope: Scope, tier: int) -> list[Entry]:
    facts = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT, tier=tier)
    return list(facts.select_related("access").prefetch_related("slots").order_by("pk"))


def partitions(scope: Scope, least: int) -> list[Partition]:
    """Those with at least so many facts, and changed since they were judged last; the longest ago first."""
    by_key: defaultdict[tuple[str, str], list[Entry]] = defaultdict(list)
    for fact in live_facts(scope, tier=2):
        by_key[fact.project, fact.topic].append(fact)
    found = [Partition(*key, tuple(facts)) for key, facts in sorted(by_key.items()) if len(facts) >= least]
    judged = _judged_at(scope)
    changed = [one for one in found if one.changed_after(judged.get(one.key))]
    never = datetime.min.replace(tzinfo=scope.created_at.tzinfo)
    return sorted(changed, key=lambda one: judged.get(one.key, never))


def _judged_at(scope: Scope) -> dict[str, datetime]:
    judged: dict[str, datetime] = {}
    decided = Batch.objects.filter(scope=scope, name=NAMES[0]).exclude(state=BatchState.PROPOSED)  # held: asked again
    for batch in decided.order_by("-created_at", "-pk")[:_BATCHES]:
        for key in batch.cost.get("judged", []):
            judged.setdefault(key, batch.created_at)
    return judged


def next_chunk(partition: Partition) -> int:
    """The chunk of a large partition the last run did not come to."""
    last = Batch.objects.filter(scope=partition.facts[0].scope_id, name=NAMES[0]).order_by("-created_at", "-pk").first()
    return int(last.cost.get("reached", {}).get(partition.key, 0)) if last else 0


def decided_by_people(scope: Scope) -> set[int]:
    """Facts of which people took back, refused or struck out what a run made of them: none decides on them again."""
    taken_back = Q(state=ChangeState.UNDONE) | Q(state=ChangeState.LEFT, note=SkipReason.REMOVED)
    refused = Q(batch__state=BatchState.REFUSED) & ~Q(batch__decided_by__startswith="job:")
    rows = BatchChange.objects.filter(taken_back | refused, batch__scope=scope, batch__name__in=NAMES)
    return {pk for pk in rows.values_list("entry_id", flat=True) if pk is not None}


def proposed_in(scope: Scope, name: str) -> set[int]:
    """Facts that wait in an open proposal."""
    rows = BatchChange.objects.filter(batch__scope=scope, batch__name=name, batch__state=BatchState.PROPOSED)
    return {pk for pk in rows.values_list("entry_id", flat=True) if pk is not None}


def chunks(facts: Sequence[Entry]) -> Iterator[list[Entry]]:
    """As many as fit into one question; by the rarest word each shares with another, so that what is alike meets."""
    heard = Counter(term for fact in facts for term in fact.terms)

    def place(fact: Entry) -> tuple[int, int, int]:
        shared = [(heard[term], term) for term in fact.terms if heard[term] > 1]
        return (*min(shared, default=(len(facts) + 1, 0)), fact.pk)

    ordered = sorted(facts, key=place)
    for start in range(0, len(ordered), CHUNK):
        yield ordered[start : start + CHUNK]


def relevance(entry: Entry, now: datetime) -> float:
    """What a fact is worth, by its importance and how long nobody used it (D4)."""
    access = getattr(entry, "access", None)
    used_at = max(filter(None, [entry.stated_at, access and access.last_accessed]))
    return entry.importance * decay(entry.category, (now - used_at).total_seconds() / 86_400)


def as_data(named: dict[str, Entry]) -> list[dict[str, Any]]:
    """Facts as data of a question."""
    return [
        {
            "id": pk,
            "content": fact.content,
            "category": fact.category,
            "importance": round(fact.importance, 2),
            "stated": fact.stated_at.date(),
        }
        for pk, fact in named.items()
    ]
