"""The facts of a scope as a model is shown them: by project and topic, similar ones beside each other."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memories.choices import BatchState, EntryType, Source
from memories.consolidation.corrections import NAMES
from memories.kinds import decay
from memories.models import Batch, Entry, Scope

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
    facts = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT, tier=tier)
    return list(facts.select_related("access").prefetch_related("slots").order_by("pk"))


def partitions(scope: Scope, least: int) -> list[Partition]:
    """Partitions with at least so many facts that changed since they were judged; the longest ago first."""
    by_key: defaultdict[tuple[str, str], list[Entry]] = defaultdict(list)
    for fact in live_facts(scope, tier=2):
        by_key[fact.project, fact.topic].append(fact)
    found = [Partition(*key, tuple(facts)) for key, facts in sorted(by_key.items()) if len(facts) >= least]
    judged, never = _judged_at(scope), datetime.min.replace(tzinfo=scope.created_at.tzinfo)
    changed = [one for one in found if any(fact.updated_at > judged.get(one.key, never) for fact in one.facts)]
    return sorted(changed, key=lambda one: judged.get(one.key, never))


def _judged_at(scope: Scope) -> dict[str, datetime]:
    """When each partition was judged last, by key; a proposal that is still open does not count."""
    judged: dict[str, datetime] = {}
    decided = Batch.objects.filter(scope=scope, name=NAMES[0]).exclude(state=BatchState.PROPOSED)
    for batch in decided.order_by("-created_at", "-pk")[:_BATCHES]:
        for key in batch.cost.get("judged", []):
            judged.setdefault(key, batch.created_at)
    return judged


def next_chunk(partition: Partition) -> int:
    """The number of the first chunk of a partition that the last run did not reach."""
    last = Batch.objects.filter(scope=partition.facts[0].scope_id, name=NAMES[0]).order_by("-created_at", "-pk").first()
    return int(last.cost.get("reached", {}).get(partition.key, 0)) if last else 0


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


def as_data(shown: dict[str, Entry], prefix: str = "") -> list[dict[str, Any]]:
    """Facts as data of a question: those whose short id begins with `prefix`."""
    return [
        {
            "id": pk,
            "content": fact.content,
            "category": fact.category,
            "importance": round(fact.importance, 2),
            "stated": fact.stated_at.date(),
        }
        for pk, fact in shown.items()
        if pk.startswith(prefix)
    ]
