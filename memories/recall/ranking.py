"""Final scores and what is served: decay, recency, features, the floor, then quotas (A7, A8, C9, C15).

A feature is one entry of FEATURES and one weight in data/features.toml; a formula that takes from a score is negative
itself. They hold only where a question names a speaker and at least two people speak in the scope: where one voice
speaks, the same sum does harm. The owner's reranker, where there is one, decides the order and nothing else: who may
hear what, which words and which nearness are enough, quotas and the verdict are as they are without it.
"""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from memories.choices import SUMMARY_SUBTYPES, Echo, EntryType, ScopeKind, decay, unread_decay
from memories.conf import conf
from memories.index.search_rows import bm25_weights
from memories.language import text
from memories.language.quoting import is_turn, sides_of, substance_of, telling_sentences
from memories.language.word_lists import pattern
from memories.models import Entry, Evidence
from memories.models.entry import SECRET_SUBTYPE
from memories.models.policy import Policies
from memories.recall import people
from memories.recall.candidates import Candidate, Match, full_text_ranks
from memories.recall.eligibility import asks_for_secrets
from memories.recall.people import OTHERS_FACTOR, READ_TEXTS, Authorship, Sender, sender_of
from memories.recall.query import BY_MATCH_ALONE, ClientHistory, Mode, ParsedQuery, Query, Search, Serve, Words
from memories.recall.question import asks_what_was
from memories.recall.relevance import (
    STATEMENT,
    TURN,
    Asked,
    Memory,
    background_of,
    features,
    fold,
    nearness,
    words_asked,
    words_of,
)
from memories.recall.relevance import fitted_weights as fitted_relevance
from memories.recall.vector import is_cjk, similarity

#: Decided before quotas: too far from the question, in the messages the client has already, or said by another.
_DECIDED = ("floor", "unlikely", "history", "duplicate")
#: Where nothing is likely, what has so much of the relevance of the best is served, as a weak answer; in larger scopes,
#: where none is likely by itself, what has so much of its score.
NEAR_BEST, NEAR_BEST_SCORE = 0.65, 0.75
#: Entries with which a scope knows itself as well as the model's own texts know it.
YOUNG = 45
#: What relevance adds to the score in a scope of few entries, where it ranks better than words and meaning do; half of
#: it with FEW. With YOUNG, MemoryBank's scopes of 34 to 90 lose .13 of recall@5.
RELEVANCE_SHARE, FEW = 1.0, 15
#: What the vector of its own text adds to the score of a turn or a fact in a scope of many entries. Nothing to that of
#: a line of a conversation, whose neighbours answer with it, nor where features weigh it (decisions).
OWN_SHARE = 0.3


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
    relevance: float | None = None  # how likely it is to answer, 0–1; None: nothing to judge by
    signs: Mapping[str, float] = field(default_factory=dict)  # what the relevance is drawn from
    ranks: dict[str, int] = field(default_factory=dict)  # in each retriever that found it, among what was looked at
    in_context: bool = False
    sender: Sender = field(default_factory=Sender)
    reranked: Reranked | None = None  # the owner's reranker was asked about it
    place: int = 0  # among the candidates, once corrections have theirs
    knows_better_than: list["Ranked"] = field(default_factory=list)  # what it corrects, or others say of its author
    is_outdone: bool = False  # it is said of somebody whose own words bear on what is asked
    superseded_by: UUID | None = None  # the newer statement that corrects it
    features: dict[str, float] = field(default_factory=dict)  # what each added to the score
    evidence: Sequence[Evidence] = ()  # the words a model's fact rests on
    is_meant: bool = False  # a secret, to a question for one of its kind
    speaker_factor: float = 1.0  # less where somebody asks about themselves, and these are another's words


def best_first(items: Sequence[Ranked]) -> list[Ranked]:
    """In the order that was decided; before that in the reranker's, then by score, of equal ones the newer first."""

    def order(item: Ranked) -> tuple[Any, ...]:
        rank = item.reranked.rank_after if item.reranked else math.inf
        return item.place, rank, -item.score, _order_of_equals(item.entry)

    return sorted(items, key=order)


def _order_of_equals(entry: Entry) -> tuple[float, str, int, int]:
    """The order of entries with one score, as in the statement: the newer first; of one time, by where they stand."""
    return -entry.created_at.timestamp(), entry.path, entry.line_from or 0, -entry.pk


def score(matches: Sequence[Match], search: Search) -> list[Ranked]:
    """Candidates with their final scores, best first; what nothing but its rank speaks for is marked «floor»."""
    query, parsed, weights = search.query, search.parsed, search.weights
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
            _apply_time(item, weights["recency"], search.now)
        if parsed.vector and candidate.cosine is not None:
            item.similarity = similarity(parsed.vector, candidate.cosine, query.message, entry.content)
        ranked.append(item)
    if parsed.features:
        question = Question(parsed.words, _pairs(query.message))
        for item in ranked:
            row = Row(item.candidate, _statement_of(item.entry.content), item.entry.scope.index_length)
            parts = {name: weight * FEATURES[name](row, question) for name, weight in parsed.features.items() if weight}
            item.features = {name: value for name, value in parts.items() if value}
            item.score += sum(item.features.values())
    if parsed.about_asker and people.has_words_of_others(ranked):
        for item in ranked:
            if item.sender.authorship == Authorship.OTHER and item.score > 0:
                item.speaker_factor = OTHERS_FACTOR
                item.score *= item.speaker_factor
    if query.mode not in BY_MATCH_ALONE:
        _mark_drawn_out(ranked)
    entries = told_count(query, ranked)
    if query.mode not in BY_MATCH_ALONE:
        add_relevance([item for item in ranked if item.reason != "duplicate"], search, entries)
        for item in ranked if parsed.by_meaning_alone else ():
            if item.similarity is not None:  # of words alone it knows no more than the score does
                item.score += added_by_meaning(item, youth_of(entries, FEW), parsed)
    by_word = query.mode != Mode.VECTOR or parsed.vector is None  # keywords answer when vectors cannot (A12)
    for item in (one for one in ranked if one.reason != "duplicate"):
        if not _is_near(item, weights["floor"], weights["relevance_wide"], by_word=by_word, is_young=entries < YOUNG):
            item.reason = "floor"
    _rank_by_retriever(ranked)
    return best_first(ranked)


def told_count(query: Query, ranked: Sequence[Ranked]) -> int:
    """How many entries the scopes hold that tell something of their own: of what was looked at, copies count once."""
    own = len({item.entry.fingerprint for item in ranked if item.reason != "duplicate"})
    return max(query.entry_count - (len(ranked) - own), 1)


def _mark_drawn_out(ranked: Sequence[Ranked]) -> None:
    """Mark turns that facts drawn from them tell whole, in their words; the one fact of a turn stands as near as that.

    Both would be served otherwise, and neither stand out.
    """
    facts = {
        (origin, _bare(item.entry.content)): item
        for item in ranked
        if item.entry.type == EntryType.FACT
        for origin in item.entry.origins
    }
    for item in ranked if facts else ():
        entry = item.entry
        if entry.echo == Echo.ANSWER and (sides := sides_of(entry.content)):
            sentences = [_bare(sentence) for sentence in telling_sentences(sides[0])]
            drawn = [
                [facts[key] for origin in entry.origins if (key := (origin, sentence)) in facts]
                for sentence in sentences
            ]
            if drawn and all(drawn):
                item.reason = "duplicate"
                by_pk = {fact.entry.pk: fact for of_sentence in drawn for fact in of_sentence}
                if len(by_pk) == 1:
                    (fact,) = by_pk.values()
                    fact.score = max(fact.score, item.score)


def _bare(sentence: str) -> str:
    return " ".join(sentence.casefold().split()).strip(" .。!！;；,，")


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
    """Facts decay since somebody last used them (D4); the newest counts a little more for weeks (C15)."""
    entry = item.entry
    if entry.type == EntryType.FACT:
        used_at = max(filter(None, [entry.stated_at, item.candidate.last_accessed]))
        item.decay = entry.importance * decay(entry.category, (now - used_at).total_seconds() / 86_400)
    age = max((now - entry.stated_at).total_seconds(), 0.0)
    if entry.type == EntryType.CHAT_TURN and entry.read_at is None:
        item.decay = unread_decay(age / 86_400)
    item.recency = 1 + recency * math.exp(-age / (conf.RECENCY_FADES.total_seconds() or 1.0))
    if item.score > 0:
        item.score *= item.decay * item.recency


def youth_of(entries: int, half: int = YOUNG) -> float:
    """How far a scope of so many entries is judged by the model's texts and not by its own, 1 to 0."""
    return 1 / (1 + (entries / half) ** 4)


def added_by_meaning(item: Ranked, youth: float, parsed: ParsedQuery) -> float:
    """What the model's own texts add to a score: with few entries the relevance, with many what their vectors tell."""
    bonus, signs = youth * RELEVANCE_SHARE * (item.relevance or 0.0), item.signs
    is_own = item.entry.type == EntryType.FACT or sides_of(item.entry.content)
    if parsed.features or not is_own or "answers" not in signs:
        return bonus
    if parsed.is_remark:
        return bonus + signs["answers"]
    return bonus + (1 - youth) * OWN_SHARE * float(nearness(signs["meaning"], signs["answers"], signs["relation"]))


def add_relevance(ranked: Sequence[Ranked], search: Search, entries: int) -> None:
    """How likely each candidate is to answer, and by which signs; those without a vector yet by their words alone.

    Of a model without a background there is no relevance: there the similarity decides as before.
    """
    query, vector = search.query, search.parsed.vector
    background = background_of(vector.model.name) if vector else None
    if vector and not background:
        return
    question = Asked(
        query.message,
        words_asked(query.message),
        np.array(vector.vector, np.float32) if vector else None,
        vector.is_cjk if vector else is_cjk(query.message),
        " ".join(names[0] for _, names in query.relations),
    )
    _judge(ranked, question, background, entries)
    own, claims = people.own_words_and_claims(ranked, search.parsed)
    if claims:  # what others say of somebody takes nothing from what they say themselves
        only, others = ({item.entry.pk for item in items} for items in (own, claims))
        _judge([item for item in ranked if item.entry.pk not in others], question, background, entries, only)


def _judge(ranked: Sequence[Ranked], query: Asked, background: Any, entries: int, only: Collection[int] = ()) -> None:
    """Set the relevance of these, or `only` of some, among all of them."""
    memories = [_memory_of(item) for item in ranked]
    has_vector = [background is not None and memory.vector is not None for memory in memories]
    for name, is_so in (("vectors", True), ("words", False)):
        places = [n for n, has in enumerate(has_vector) if has == is_so]
        if not places:
            continue
        among = memories if not is_so else [memories[n] for n in places]
        signs = features(query, among, background if is_so else None, entries=entries)
        relevance = fitted_relevance()[name].relevance(signs)
        for row, n in enumerate(places):
            row = row if is_so else n
            if not only or ranked[n].entry.pk in only:
                ranked[n].relevance, ranked[n].signs = float(relevance[row]), signs.of(row)


def _memory_of(item: Ranked) -> Memory:
    entry, embedding = item.entry, item.candidate.embedding
    # the dimension in two bytes, two unused, then the numbers
    vector = None if embedding is None else np.frombuffer(embedding, ">f2", offset=4).astype(np.float32)
    # of a turn whose answer tells nothing the person's side alone is embedded, which is a statement
    form = TURN if entry.echo != Echo.ANSWER and sides_of(entry.content) else STATEMENT
    names = frozenset(map(fold, entry.names))
    origins = frozenset(entry.origins)
    return Memory(entry.content, words_of(entry.content), vector, form, is_cjk(entry.content), names, origins)


def _is_near(item: Ranked, floor: float, wide: float, *, by_word: bool, is_young: bool) -> bool:
    """Whether anything but its rank speaks for a candidate: a word, its kind, its speaker, its day, or its meaning."""
    candidate = item.candidate
    return (
        (by_word and candidate.keyword > 0)
        or item.is_meant
        or candidate.named
        or candidate.date > 0
        or (item.similarity is not None and item.similarity >= floor and not (is_young and item.relevance is not None))
        or (item.relevance is not None and item.relevance >= wide)
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


def mark_unlikely(ranked: Sequence[Ranked], search: Search) -> None:
    """Mark «unlikely» what does not reach the line, where only what is likely to help is wanted.

    Where nothing reaches it, the best is left. A secret of the kind that is asked for is meant whatever it says. So is,
    where nothing is found, a message of a day that is named; of today only where is asked what was: «I can't make it
    tonight, how do I tell the others?» asks for nothing of today. What knows better is served with what it knows
    better than.
    """
    query = search.query
    if query.serve == Serve.WIDE or query.mode in BY_MATCH_ALONE:
        return
    judged = [item for item in ranked if item.reason != "floor" and item.relevance is not None]
    best = max((item.relevance or 0.0 for item in judged), default=0.0)
    most = NEAR_BEST * best if query.serve == Serve.LIKELY else 1.0
    is_young = told_count(query, ranked) <= YOUNG
    by_score = math.inf if is_young else NEAR_BEST_SCORE * max((item.score for item in judged), default=0.0)
    today = search.now.astimezone(search.zone).replace(hour=0, minute=0, second=0, microsecond=0)
    until = search.now if asks_what_was(query.message) else today
    for item in judged:
        line = min(search.line_in(item.entry.scope_id), most)
        is_likely = (item.relevance or 0.0) >= line or item.score >= by_score
        is_of_day = item.candidate.date >= 1 and item.entry.created_at <= until and best < conf.RELEVANCE_FOUND
        if not (is_likely or item.is_meant or is_of_day):
            item.reason = "unlikely"
    for item in judged:
        if item.reason == "unlikely" and any(other.reason not in _DECIDED for other in item.knows_better_than):
            item.reason = "limit"


def mark_repeated(ranked: Sequence[Ranked], history: ClientHistory | None, repeated: Collection[int]) -> list[Ranked]:
    """The candidates the client's messages say already, marked «history»; `repeated` are surely such."""
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
    gives up its place: to take it out moves others up, and none out, for the turns are chosen without it as well.
    """
    # of turns of one kind that state the same beside an unanswered question, the best alone
    candidates: list[Ranked] = []
    answers: set[tuple[int, str, str]] = set()
    for item in (item for item in ranked if item.reason not in _DECIDED):
        entry = item.entry
        if entry.echo == Echo.ANSWER:
            answer = (entry.scope_id, entry.type, substance_of(entry.content, entry.echo))
            if answer in answers:
                continue
            answers.add(answer)
        candidates.append(item)

    while True:
        for item in candidates:
            item.reason = "limit"
        selection = _within_quotas(candidates, policies if quotas else None, limit)
        turns = [item.entry for item in selection if is_turn(item.entry.type, item.entry.content)]
        origins = {origin for turn in turns for origin in turn.origins}
        summaries = [item.entry for item in selection if item.entry.subtype in SUMMARY_SUBTYPES and item.entry.origins]
        redundant = {entry.pk for entry in summaries if origins.issuperset(entry.origins)}
        if not redundant:
            break
        candidates = [item for item in candidates if item.entry.pk not in redundant]
    for item in selection:
        item.reason = "served"
    served_keys = {(item.entry.fingerprint, item.scope_kind) for item in selection}
    kept_pks = {item.entry.pk for item in candidates}
    for item in ranked:
        if item.reason != "served" and item.reason not in _DECIDED:
            other = ScopeKind.CHAT if item.scope_kind == ScopeKind.USER else ScopeKind.USER
            if item.entry.pk not in kept_pks or (item.entry.fingerprint, other) in served_keys:
                item.reason = "duplicate"
    return best_first(selection)


def _within_quotas(items: Sequence[Ranked], policies: Policies | None, limit: int) -> list[Ranked]:
    """The best of each kind up to its quota, then the best of the rest, never more of the chat than its quota.

    What both scopes hold stands at the place of the better one. Without policies there are no quotas: each memory once.
    """
    places: dict[str, int] = {}
    for place, item in enumerate(items):
        places.setdefault(item.entry.fingerprint, place)

    def in_order(some: Sequence[Ranked]) -> list[Ranked]:
        return sorted(some, key=lambda item: places[item.entry.fingerprint])

    users = in_order([item for item in items if item.scope_kind == ScopeKind.USER])
    of_user, rest = _split_by_quota(users, policies)
    own = {item.entry.fingerprint for item in of_user}
    chats = [item for item in items if item.scope_kind == ScopeKind.CHAT and item.entry.fingerprint not in own]
    of_chat, _over = _split_by_quota(chats, policies)
    selection = in_order([*of_user, *of_chat])[:limit]
    from_chat = {item.entry.fingerprint for item in selection if item.scope_kind == ScopeKind.CHAT}
    fill = [item for item in rest if item.entry.fingerprint not in from_chat]
    return selection + fill[: limit - len(selection)]


def _split_by_quota(items: Sequence[Ranked], policies: Policies | None) -> tuple[list[Ranked], list[Ranked]]:
    """Those within the quota of their kind, and those over it."""
    count: Counter[tuple[str, str]] = Counter()
    within: list[Ranked] = []
    over: list[Ranked] = []
    for item in items:
        kind = (item.entry.type, item.scope_kind)
        quota = policies.quota(*kind) if policies is not None else None
        if quota is not None and count[kind] >= quota:
            item.reason = "quota"
            over.append(item)
        else:
            count[kind] += 1
            within.append(item)
    return within, over


_WEIGHTS = Path(__file__).parent / "data" / "features.toml"
_FIRST_PERSON = pattern("features", "first_person", re.IGNORECASE)
_TIME_WORDS = pattern("features", "time_words", re.IGNORECASE)
_RANK_HALF = 60  # as in reciprocal rank fusion


class Question(NamedTuple):
    """What the features read of a question."""

    words: Words
    pairs: frozenset[tuple[str, str]]


class Statement:
    """What a person says in a text, of a turn their side alone, each thing read of it once."""

    def __init__(self, content: str) -> None:
        sides = sides_of(content)
        self.own_words = sides[0] if sides else content

    @cached_property
    def counts(self) -> Counter[int]:
        return text.terms(self.own_words)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        return _pairs(self.own_words)

    @cached_property
    def is_asking(self) -> bool:
        return self.own_words.rstrip().endswith(("?", "？"))

    @cached_property
    def has_first_person(self) -> bool:
        return _FIRST_PERSON.search(self.own_words) is not None

    @cached_property
    def has_time_words(self) -> bool:
        return _TIME_WORDS.search(self.own_words) is not None


_statement_of = lru_cache(maxsize=READ_TEXTS)(Statement)


class Row(NamedTuple):
    """What the features read of a candidate."""

    candidate: Candidate
    statement: Statement
    average: float  # length of the scope's entries, in terms


def _words_of_others(row: Row, question: Question) -> float:
    if row.candidate.named:
        return 0.0
    counts, shares = row.statement.counts, question.words.shares
    shared = Counter({term: counts[term] for term in shares if term in counts})
    own = bm25_weights(shared, counts.total(), row.average)
    return -2 * sum(shares[term] * weight for term, weight in own.items())


def _answers_previous(row: Row, question: Question) -> float:
    last_question = _asked_last(row.candidate.previous) if row.candidate.previous else None
    return question.words.coverage(last_question) if last_question else 0.0


#: A feature by its name: what it is of a candidate for a question, mostly 0 to 1.
FEATURES: Mapping[str, Callable[[Row, Question], float]] = {
    "first_person": lambda row, _: float(row.statement.has_first_person),
    "time_words": lambda row, _: float(row.statement.has_time_words),
    "own_vector": lambda row, _: 0.0 if row.statement.is_asking else row.candidate.own_vector or 0.0,  # itself alone
    "words_of_others": _words_of_others,  # the question's words, of somebody who is not named
    "answers_previous": _answers_previous,  # the line before asks for it
    "mentions_speaker": lambda row, question: -float(not question.words.name_terms.isdisjoint(row.statement.counts)),
    "word_pairs": lambda row, question: len(question.pairs & row.statement.pairs) / (len(question.pairs) or 1),
    "vector_rank": lambda row, _: _RANK_HALF / (_RANK_HALF + (row.candidate.vector_rank or math.inf) - 1),
}


def feature_weights(policies: Policies) -> dict[str, float]:
    """The weight of each feature that is on: the policy's, or the one it was fitted to."""
    off = set(conf.FEATURES_OFF.replace(",", " ").split())
    return {name: policies.feature(name, fitted) for name, fitted in fitted_weights().items() if name not in off}


@cache
def fitted_weights() -> dict[str, float]:
    """The weights of data/features.toml."""
    return {name: float(weight) for name, weight in tomllib.loads(_WEIGHTS.read_text("utf-8")).items()}


@lru_cache(maxsize=READ_TEXTS)
def _asked_last(content: str) -> Counter[int] | None:
    """The terms of a text that ends with a question, of a turn that of the bot's last words."""
    last = (sides_of(content) or (content,))[-1].rstrip()
    return text.terms(last) if last.endswith(("?", "？")) else None


def _pairs(content: str) -> frozenset[tuple[str, str]]:
    """Adjacent words, by their stems, English stopwords left out."""
    words = text.bare_words(content)
    return frozenset(pairwise(text.stem(word) for word in words if word not in text.ENGLISH_STOPWORDS))
