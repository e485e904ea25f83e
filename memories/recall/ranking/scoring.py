"""Final scores and what is served: decay, recency and the floor, then quotas by type and scope (A7, A8, C9, C15)."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from memories.choices import SUMMARY_SUBTYPES, Echo, EntryType, ScopeKind
from memories.conf import conf
from memories.kinds import decay
from memories.language.turns import is_turn, substance_of
from memories.models import Entry, Evidence
from memories.models.entry import SECRET_SUBTYPE
from memories.models.policy import Policies
from memories.recall.question.client_history import ClientHistory
from memories.recall.question.query import BY_MATCH_ALONE, Mode, ParsedQuery, Query
from memories.recall.question.similarity import contrast, similarity
from memories.recall.question.speakers import OTHERS_FACTOR, Authorship, Sender, sender_of
from memories.recall.ranking import features
from memories.recall.retrieval.filters import asks_for_secrets
from memories.recall.retrieval.full_text import full_text_ranks
from memories.recall.retrieval.statement import Candidate, Match

#: Decided before quotas: too far from the question, or said by the messages the client has already.
_DECIDED = ("floor", "history")


class Reranked(NamedTuple):
    """A candidate's place before the reranker and after it, among those it was asked about, and its score."""

    rank_before: int
    rank_after: int
    score: float


@dataclass
class Ranked:
    """A candidate with its entry, its final score and what became of it (see explanation.REASONS)."""

    candidate: Candidate
    entry: Entry
    scope_kind: str
    decay: float
    score: float
    reason: str = "limit"  # until something else is decided, others were better
    similarity: float | None = None  # 0: as near as anything here, 1: as near as clear answers get
    recency: float = 1.0
    contrast: float | None = None  # how much nearer than the questions people ask
    ranks: dict[str, int] = field(default_factory=dict)  # in each retriever that found it, among what was looked at
    in_context: bool = False
    sender: Sender = field(default_factory=Sender)
    reranked: Reranked | None = None  # the owner's reranker was asked about it
    place: int = 0  # among the candidates, once corrections have theirs
    superseded_by: UUID | None = None  # the newer statement that corrects it
    features: dict[str, float] = field(default_factory=dict)  # what each added to the score
    evidence: Sequence[Evidence] = ()  # the words a model's fact rests on
    is_meant: bool = False  # a secret, to a question for one of its kind
    speaker_factor: float = 1.0  # less where somebody asks about themselves, and this is what another said


def best_first(items: Sequence[Ranked]) -> list[Ranked]:
    """In the order that was decided; before that in the reranker's, then by score, of equal ones the newer first."""
    return sorted(items, key=lambda item: (item.place, _rank_after(item), -item.score, _order_of_equals(item.entry)))


def _order_of_equals(entry: Entry) -> tuple[float, str, int, int]:
    """The order of entries with one score, as in the statement: the newer first; of one time, by where they stand."""
    return -entry.created_at.timestamp(), entry.path, entry.line_from or 0, -entry.pk


def _rank_after(item: Ranked) -> float:
    return item.reranked.rank_after if item.reranked else math.inf


def score(
    matches: Sequence[Match], query: Query, parsed: ParsedQuery, weights: Mapping[str, float], now: datetime
) -> list[Ranked]:
    """Candidates with their final scores, best first; what nothing but its rank speaks for is marked «floor»."""
    if query.mode == Mode.FTS:
        matches = _by_full_text(matches, parsed)
    scopes = {scope.pk: scope for scope in query.scopes}
    asks_for_secret = asks_for_secrets(query)
    senders: dict[tuple[int, str, str], Sender] = {}  # few speak in many candidates
    ranked = []
    for candidate, entry in matches:
        entry.scope = scopes[candidate.scope_id]
        item = Ranked(candidate, entry, entry.scope.kind, 1.0, candidate.fused)
        item.is_meant = asks_for_secret and entry.subtype.startswith(SECRET_SUBTYPE)
        speaker = candidate.scope_id, entry.sender_id, entry.speaker
        if speaker not in senders:
            senders[speaker] = sender_of(entry, entry.scope, query.asker)
        item.sender = senders[speaker]
        if query.mode not in BY_MATCH_ALONE:
            _apply_time(item, weights["recency"], now)
        if parsed.vector and candidate.cosine is not None:
            of_turn = is_turn(entry.type, entry.content)
            item.similarity = similarity(parsed.vector, candidate.cosine, query.message, entry.content)
            item.contrast = contrast(parsed.vector, candidate.cosine, candidate.typical, entry.content, is_turn=of_turn)
        ranked.append(item)
    if parsed.features:
        _add_features(ranked, query.message, parsed)
    if parsed.about_asker and has_words_of_others(ranked):
        for item in ranked:
            if item.sender.authorship == Authorship.OTHER and item.score > 0:
                item.speaker_factor = OTHERS_FACTOR
                item.score *= item.speaker_factor
    by_word = query.mode != Mode.VECTOR or parsed.vector is None  # keywords answer when vectors cannot (A12)
    for item in ranked:
        if not _is_near(item, weights["floor"], by_word=by_word):
            item.reason = "floor"
    _rank_by_retriever(ranked)
    return best_first(ranked)


def _add_features(ranked: Sequence[Ranked], message: str, parsed: ParsedQuery) -> None:
    question = features.Question.of(message, parsed)
    for item in ranked:
        row = features.Row(item.candidate, item.entry, item.entry.scope.index_length)
        item.features = features.contributions(row, question, parsed.features)
        item.score += sum(item.features.values())


def has_words_of_others(items: Sequence[Ranked]) -> bool:
    """Whether anything of this was not said by the one who asks."""
    return any(not item.sender.may_be_asker for item in items)


def _by_full_text(matches: Sequence[Match], parsed: ParsedQuery) -> list[Match]:
    """The best by their full text of those that hold words of the question."""
    ranks = full_text_ranks({entry.pk: entry for _, entry in matches}, parsed)
    matching = [
        (replace(item, keyword=ranks[item.entry_id], fused=ranks[item.entry_id]), entry)
        for item, entry in matches
        if item.entry_id in ranks
    ]
    matching.sort(key=lambda match: (-match[0].fused, _order_of_equals(match[1])))
    return matching[: conf.RECALL_CANDIDATES]


def _apply_time(item: Ranked, recency: float, now: datetime) -> None:
    """Facts decay since somebody last used them (D4); what was just said counts a little more for weeks (C15)."""
    entry = item.entry
    if entry.type == EntryType.FACT:
        used_at = max(filter(None, [entry.stated_at, item.candidate.last_accessed]))
        item.decay = entry.importance * decay(entry.category, (now - used_at).total_seconds() / 86_400)
    age = max((now - entry.stated_at).total_seconds(), 0.0)
    item.recency = 1 + recency * math.exp(-age / (conf.RECENCY_FADES.total_seconds() or 1.0))
    if item.score > 0:
        item.score *= item.decay * item.recency


def _is_near(item: Ranked, floor: float, *, by_word: bool) -> bool:
    """Whether anything but its rank speaks for a candidate: a word, its kind, its speaker, its day, or its meaning."""
    found = item.candidate
    return (
        (by_word and found.keyword > 0)
        or item.is_meant
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


def mark_repeated(ranked: Sequence[Ranked], history: ClientHistory | None, repeated: Collection[int]) -> list[Ranked]:
    """The candidates the client's messages say already, marked «history»; `repeated` are entries known to be such."""
    if history is None:
        return []
    marked = [
        item
        for item in ranked
        if item.reason != "floor" and (item.entry.pk in repeated or history.contains(item.entry.content))
    ]
    for item in marked:
        item.reason = "history"
    return marked


def serve(ranked: Sequence[Ranked], policies: Policies, *, limit: int, quotas: bool) -> list[Ranked]:
    """At most `limit` of these, best first; marks on each what became of it.

    The user's copy of a turn and the chat's are one memory, at the place of the better one. The user's is served; when
    its quota is full, the chat's may be, within the quota of the chat. What only tells again turns that are all served
    gives up its place.
    """
    left = _without_repeats([item for item in ranked if item.reason not in _DECIDED])
    while True:
        for item in left:
            item.reason = "limit"
        pool = _Duplicates(left)
        chosen = _within_quotas(pool, policies, limit) if quotas else pool.without_copies()[:limit]
        redundant = _redundant_summaries(chosen)
        if not redundant:
            break
        left = [item for item in left if item.entry.pk not in redundant]
    for item in chosen:
        item.reason = "served"
    for item in pool.copies_of(chosen):
        item.reason = "duplicate"
    kept = {item.entry.pk for item in left}
    for item in ranked:
        if item.reason not in _DECIDED and item.entry.pk not in kept:
            item.reason = "duplicate"
    return best_first(chosen)


def _without_repeats(items: Sequence[Ranked]) -> list[Ranked]:
    """Of turns of one kind in which the same was told beside an unanswered question, the best alone."""
    if all(item.entry.echo != Echo.ANSWER for item in items):
        return list(items)
    told: set[tuple[int, str, str]] = set()
    kept = []
    for item in items:
        entry = item.entry
        key = (entry.scope_id, entry.type, substance_of(entry.content, entry.echo))
        if entry.echo != Echo.ANSWER or key not in told:
            kept.append(item)
            told.add(key)
    return kept


def _redundant_summaries(chosen: Sequence[Ranked]) -> set[int]:
    """What tells again turns of a conversation, each of which is chosen itself.

    To take it out moves others up, and none out: the turns are chosen without it as well.
    """
    turns = {origin for item in chosen if is_turn(item.entry.type, item.entry.content) for origin in item.entry.origins}
    summaries = [item.entry for item in chosen if item.entry.subtype in SUMMARY_SUBTYPES and item.entry.origins]
    return {entry.pk for entry in summaries if turns.issuperset(entry.origins)}


class _Duplicates:
    """Candidates in their order, and which of them say the same in the user's scope and in the chat's."""

    def __init__(self, items: Sequence[Ranked]) -> None:
        self._places: dict[str, int] = {}
        for place, item in enumerate(items):
            self._places.setdefault(item.entry.fingerprint, place)
        self.users = self.in_order([item for item in items if item.scope_kind == ScopeKind.USER])
        self.chats = [item for item in items if item.scope_kind == ScopeKind.CHAT]

    def in_order(self, items: Sequence[Ranked]) -> list[Ranked]:
        return sorted(items, key=lambda item: self._places[item.entry.fingerprint])

    def without_copies(self) -> list[Ranked]:
        own = _fingerprints(self.users)
        return self.in_order([*self.users, *(item for item in self.chats if item.entry.fingerprint not in own)])

    def copies_of(self, chosen: Sequence[Ranked]) -> list[Ranked]:
        """What was left out and is served from the other scope."""
        served = {(item.entry.fingerprint, item.scope_kind) for item in chosen}
        other = {ScopeKind.USER: ScopeKind.CHAT, ScopeKind.CHAT: ScopeKind.USER}
        return [
            item
            for item in (*self.users, *self.chats)
            if item.reason != "served" and (item.entry.fingerprint, other[ScopeKind(item.scope_kind)]) in served
        ]


def _within_quotas(pool: _Duplicates, policies: Policies, limit: int) -> list[Ranked]:
    """The best of each kind up to its quota, then the best of the rest, never more of the chat than its quota."""
    of_user, rest = _split_by_quota(pool.users, policies)
    own = _fingerprints(of_user)
    of_chat, _over = _split_by_quota([item for item in pool.chats if item.entry.fingerprint not in own], policies)
    chosen = pool.in_order([*of_user, *of_chat])[:limit]
    from_chat = _fingerprints([item for item in chosen if item.scope_kind == ScopeKind.CHAT])
    fill = [item for item in rest if item.entry.fingerprint not in from_chat]
    return chosen + fill[: limit - len(chosen)]


def _split_by_quota(items: Sequence[Ranked], policies: Policies) -> tuple[list[Ranked], list[Ranked]]:
    """Those within the quota of their kind, and those over it."""
    count: Counter[tuple[str, str]] = Counter()
    within: list[Ranked] = []
    over: list[Ranked] = []
    for item in items:
        kind = (item.entry.type, item.scope_kind)
        quota = policies.quota(*kind)
        if quota is not None and count[kind] >= quota:
            item.reason = "quota"
            over.append(item)
        else:
            count[kind] += 1
            within.append(item)
    return within, over


def _fingerprints(items: Sequence[Ranked]) -> set[str]:
    return {item.entry.fingerprint for item in items}
