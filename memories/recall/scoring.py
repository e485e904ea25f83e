"""What a match is worth: importance and decay of facts, a little for what is fresh, and the floor (A7, C15, D4)."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from memories.choices import EntryType
from memories.conf import conf
from memories.kinds import decay
from memories.models import Entry
from memories.models.policy import Policies
from memories.recall.modes import BY_MATCH_ALONE, Mode, ParsedQuery, full_text_ranks
from memories.recall.query import Query
from memories.recall.quotas import Ranked
from memories.recall.ranking import Match
from memories.recall.self_questions import is_about_asker
from memories.recall.similarity import contrast, similarity
from memories.recall.speakers import OTHERS_FACTOR, Authorship, sender_of


def weigh(found: Sequence[Match], query: Query, parsed: ParsedQuery, policies: Policies, now: datetime) -> list[Ranked]:
    """Candidates with their entries, best first; what nothing but its rank speaks for is marked."""
    if query.mode == Mode.FTS:
        found = _by_full_text(found, parsed)
    scopes = {place.scope.pk: place.scope for place in query.places}
    recency = Recency(policies.weight("RECENCY"), conf.RECENCY_FADES.total_seconds() or 1.0)
    ranked = []
    for candidate, entry in found:
        entry.scope = scopes[candidate.scope_id]
        item = Ranked(candidate, entry, entry.scope.kind, 1.0, candidate.fused)
        item.sender = sender_of(entry, entry.scope, query.asker)
        if query.mode not in BY_MATCH_ALONE:
            _weigh(item, recency, now)
        if parsed.direction and candidate.cosine is not None:
            item.similarity = similarity(parsed.direction, candidate.cosine, query.message, entry.content)
            is_turn = entry.type == EntryType.CHAT_TURN
            near = candidate.cosine, candidate.typical
            item.contrast = contrast(parsed.direction, *near, entry.content, is_turn=is_turn)
        ranked.append(item)
    if holds_words_of_others(ranked) and about_asker(query, parsed):
        _prefer_own(ranked)
    _mark_below_floor(ranked, query, parsed, policies)
    _rank_by_retriever(ranked)
    return sorted(ranked, key=lambda item: (-item.score, -item.entry.pk))


def holds_words_of_others(items: Sequence[Ranked]) -> bool:
    """Whether anything of this was not said by the one who asks."""
    return any(not item.sender.may_be_asker for item in items)


def about_asker(query: Query, parsed: ParsedQuery) -> bool:
    """Whether the one who asks is asked about, and nobody else."""
    return is_about_asker(query.message, parsed.words.named, query.scopes, query.asker)


def _prefer_own(ranked: Sequence[Ranked]) -> None:
    for item in ranked:
        if item.sender.whose == Authorship.OTHER and item.score > 0:
            item.whose = OTHERS_FACTOR
            item.score *= item.whose


def _by_full_text(found: Sequence[Match], parsed: ParsedQuery) -> list[Match]:
    """The best by their full text of those that hold words of the question."""
    ranks = full_text_ranks({entry.pk: entry for _, entry in found}, parsed)
    matching = [
        (replace(item, keyword=ranks[item.entry_id], fused=ranks[item.entry_id]), entry)
        for item, entry in found
        if item.entry_id in ranks
    ]
    matching.sort(key=lambda match: (-match[0].fused, -match[0].entry_id))
    return matching[: conf.RECALL_CANDIDATES]


def _weigh(item: Ranked, recency: "Recency", now: datetime) -> None:
    item.decay = _relevance(item, now)
    item.recency = recency.of(item.entry, now)
    if item.score > 0:
        item.score *= item.decay * item.recency


def _relevance(item: Ranked, now: datetime) -> float:
    """Facts are weighed by their importance and by how long nobody used them (D4)."""
    entry = item.entry
    if entry.type != EntryType.FACT:
        return 1.0
    used_at = max(filter(None, [entry.stated_at, item.candidate.last_accessed]))
    return entry.importance * decay(entry.category, (now - used_at).total_seconds() / 86_400)


class Recency(NamedTuple):
    """A little more than 1 for what was just said, falling to 1 in weeks (C15)."""

    weight: float
    fading: float  # seconds

    def of(self, entry: Entry, now: datetime) -> float:
        age = max((now - entry.stated_at).total_seconds(), 0.0)
        return 1 + self.weight * math.exp(-age / self.fading)


def _mark_below_floor(ranked: Sequence[Ranked], query: Query, parsed: ParsedQuery, policies: Policies) -> None:
    floor = policies.weight("MIN_SIMILARITY")
    by_word = query.mode != Mode.VECTOR or parsed.direction is None  # keywords answer when vectors cannot (A12)
    for item in ranked:
        if not _is_near(item, floor, by_word=by_word):
            item.reason = "floor"


def _is_near(item: Ranked, floor: float, *, by_word: bool) -> bool:
    """Whether anything but its rank speaks for a candidate: a word, its speaker, its day, or its meaning."""
    found = item.candidate
    return (
        (by_word and found.keyword > 0)
        or found.named
        or found.date > 0
        or (item.similarity is not None and item.similarity >= floor)
    )


def _rank_by_retriever(ranked: Sequence[Ranked]) -> None:
    """The place of each candidate in each retriever that found it; equals share theirs."""
    for retriever in ("keyword", "vector"):
        values = {item.entry.pk: getattr(item.candidate, retriever) for item in ranked}
        scores = sorted((value for value in values.values() if value), reverse=True)
        places = {value: place for place, value in reversed(list(enumerate(scores, start=1)))}
        for item in ranked:
            if value := values[item.entry.pk]:
                item.ranks[retriever] = places[value]
