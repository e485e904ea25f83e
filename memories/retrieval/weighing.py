"""What a match is worth: importance and decay of facts, a little for what is fresh, and the floor (A7, C15, D4)."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memories.choices import EntryType
from memories.conf import conf
from memories.decay import decay
from memories.models import Entry
from memories.models.policy import Policies
from memories.retrieval.modes import BY_MATCH_ALONE, Mode, Sought, full_text_ranks
from memories.retrieval.nearness import similarity
from memories.retrieval.query import Query
from memories.retrieval.quotas import Ranked
from memories.retrieval.statement import Candidate

#: Of fifty candidates only these columns are read.
_READ = (
    "uid", "type", "subtype", "scope_id", "content", "origins", "fingerprint", "importance", "category",
    "created_at", "stated_at", "expires_at", "pinned", "expired_at", "archived_at", "superseded_by_id", "suppressed_at",
    "access__last_accessed",
)  # fmt: skip


def weigh(found: Sequence[Candidate], query: Query, sought: Sought, policies: Policies, now: datetime) -> list[Ranked]:
    """Candidates with their entries, best first; what nothing but its rank speaks for is marked."""
    entries = Entry.objects.select_related("access").only(*_READ).in_bulk([candidate.entry_id for candidate in found])
    found = [candidate for candidate in found if candidate.entry_id in entries]  # others were purged meanwhile
    if query.mode == Mode.FTS:
        found = _by_full_text(found, entries, sought)
    scopes = {place.scope.pk: place.scope for place in query.places}
    ranked = []
    for candidate in found:
        entry = entries[candidate.entry_id]
        entry.scope = scopes[candidate.scope_id]
        item = Ranked(candidate, entry, entry.scope.kind, 1.0, candidate.fused)
        if query.mode not in BY_MATCH_ALONE:
            _weigh(item, policies, now)
        if sought.direction and candidate.cosine is not None:
            item.similarity = similarity(sought.direction, candidate.cosine, query.message, entry.content)
        ranked.append(item)
    _mark_far(ranked, query, sought, policies)
    _number(ranked)
    return sorted(ranked, key=lambda item: (-item.score, -item.entry.pk))


def _by_full_text(found: Sequence[Candidate], entries: dict[int, Entry], sought: Sought) -> list[Candidate]:
    """The best by their full text of those that hold words of the question."""
    ranks = full_text_ranks(entries, sought)
    matching = [
        replace(item, keyword=ranks[item.entry_id], fused=ranks[item.entry_id])
        for item in found
        if item.entry_id in ranks
    ]
    matching.sort(key=lambda item: (-item.fused, -item.entry_id))
    return matching[: conf.RECALL_CANDIDATES]


def _weigh(item: Ranked, policies: Policies, now: datetime) -> None:
    item.decay = _relevance(item.entry, now)
    item.recency = _recency(item.entry, policies, now)
    if item.score > 0:
        item.score *= item.decay * item.recency


def _relevance(entry: Entry, now: datetime) -> float:
    """Facts are weighed by their importance and by how long nobody used them (D4)."""
    if entry.type != EntryType.FACT:
        return 1.0
    access = getattr(entry, "access", None)
    used_at = max(filter(None, [entry.stated_at, access and access.last_accessed]))
    return entry.importance * decay(entry.category, (now - used_at).total_seconds() / 86_400)


def _recency(entry: Entry, policies: Policies, now: datetime) -> float:
    """A little more than 1 for what was just said, falling to 1 in weeks (C15)."""
    age = max((now - entry.stated_at).total_seconds(), 0.0)
    fading = conf.RECENCY_FADES.total_seconds() or 1.0
    return 1 + policies.weight("RECENCY") * math.exp(-age / fading)


def _mark_far(ranked: Sequence[Ranked], query: Query, sought: Sought, policies: Policies) -> None:
    floor = policies.weight("MIN_SIMILARITY")
    by_word = query.mode != Mode.VECTOR or sought.direction is None  # keywords answer when vectors cannot (A12)
    for item in ranked:
        if not _is_near(item, floor, by_word=by_word):
            item.fate = "floor"


def _is_near(item: Ranked, floor: float, *, by_word: bool) -> bool:
    """Whether anything but its rank speaks for a candidate: a word, its speaker, its day, or its meaning."""
    found = item.candidate
    return (
        (by_word and found.keyword > 0)
        or found.named
        or found.date > 0
        or (item.similarity is not None and item.similarity >= floor)
    )


def _number(ranked: Sequence[Ranked]) -> None:
    """The place of each candidate in each leg that found it; equals share theirs."""
    for leg in ("keyword", "vector"):
        values = {item.entry.pk: getattr(item.candidate, leg) for item in ranked}
        scores = sorted((value for value in values.values() if value), reverse=True)
        places = {value: place for place, value in reversed(list(enumerate(scores, start=1)))}
        for item in ranked:
            if value := values[item.entry.pk]:
                item.ranks[leg] = places[value]
