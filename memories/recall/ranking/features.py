"""Features of a candidate that a question about one of several speakers is ranked by, beside its retrievers (A7).

A feature is one entry of FEATURES and one weight in data/features.toml; a formula that takes from a score is negative
itself. They hold only where a question names a speaker and at least two people speak in the scope: where one voice
speaks, the same sum does harm.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

from memories.conf import conf
from memories.index.contextual import bm25_weights
from memories.language import stopwords, text
from memories.language.turns import sides_of
from memories.language.word_lists import pattern, word_set
from memories.models import Entry, Scope
from memories.models.policy import Policies
from memories.recall.question.query import ParsedQuery, Words
from memories.recall.retrieval.statement import Candidate

_WEIGHTS = Path(__file__).parent / "data" / "features.toml"
_ROLES = word_set("features", "roles")
_FIRST_PERSON = pattern("features", "first_person", re.IGNORECASE)
_TIME = pattern("features", "time_words", re.IGNORECASE)
_RANK_HALF = 60  # as in reciprocal rank fusion
READ_TEXTS = 2_048  # whose words a process keeps: those of one memory are read question after question


def speaks_of_one_of_several(words: Words, scopes: Sequence[Scope]) -> bool:
    """Whether a question names somebody who speaks in a scope beside others; roles (user, AI) are no people."""
    named = {scope for scope, _ in words.named}
    return any(scope.pk in named and len(people_of(scope)) > 1 for scope in scopes)


def people_of(scope: Scope) -> list[str]:
    """Who speaks in a scope, without the bot and other roles."""
    return [name for name in scope.speakers if name.casefold() not in _ROLES]


@dataclass(frozen=True)
class Question:
    """What the features read of a question."""

    words: Words
    pairs: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, message: str, parsed: ParsedQuery) -> "Question":
        return cls(parsed.words, _pairs(message))


class Statement:
    """What a person says in a text, of a turn their side alone, each thing read of it once."""

    def __init__(self, content: str) -> None:
        sides = sides_of(content)
        self.said = sides[0] if sides else content

    @cached_property
    def counts(self) -> Counter[int]:
        return text.terms(self.said)

    @cached_property
    def length(self) -> int:
        return self.counts.total()

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        return _pairs(self.said)

    @cached_property
    def is_asking(self) -> bool:
        return self.said.rstrip().endswith(("?", "？"))

    @cached_property
    def has_first_person(self) -> bool:
        return _FIRST_PERSON.search(self.said) is not None

    @cached_property
    def has_time_words(self) -> bool:
        return _TIME.search(self.said) is not None


@lru_cache(maxsize=READ_TEXTS)
def _statement(content: str) -> Statement:
    return Statement(content)


@dataclass(frozen=True)
class Row:
    """What the features read of a candidate."""

    candidate: Candidate
    entry: Entry
    average: float  # length of the scope's entries, in terms

    @cached_property
    def statement(self) -> Statement:
        return _statement(self.entry.content)


def _words_of_others(row: Row, question: Question) -> float:
    if row.candidate.named:
        return 0.0
    counts, shares = row.statement.counts, question.words.shares
    shared = Counter({term: counts[term] for term in shares if term in counts})
    own = bm25_weights(shared, row.statement.length, row.average)
    return -2 * sum(shares[term] * weight for term, weight in own.items())


def _own_vector(row: Row, question: Question) -> float:
    near = row.candidate.own_vector
    return 0.0 if near is None or row.statement.is_asking else near


def _answers_previous(row: Row, question: Question) -> float:
    asked = _asked_last(row.candidate.previous) if row.candidate.previous else None
    return question.words.coverage(asked) if asked else 0.0


def _word_pairs(row: Row, question: Question) -> float:
    return len(question.pairs & row.statement.pairs) / len(question.pairs) if question.pairs else 0.0


def _vector_rank(row: Row, question: Question) -> float:
    rank = row.candidate.vector_rank
    return 0.0 if rank is None else _RANK_HALF / (_RANK_HALF + rank - 1)


#: A feature by its name: what it is of a candidate for a question, mostly 0 to 1.
FEATURES: Mapping[str, Callable[[Row, Question], float]] = {
    "first_person": lambda row, _: float(row.statement.has_first_person),
    "time_words": lambda row, _: float(row.statement.has_time_words),
    "own_vector": _own_vector,  # without its neighbours
    "words_of_others": _words_of_others,  # the question's words, said by somebody who is not named
    "answers_previous": _answers_previous,  # the line before asks for it
    "mentions_speaker": lambda row, question: -float(not question.words.name_terms.isdisjoint(row.statement.counts)),
    "word_pairs": _word_pairs,  # pairs of words in the order of the question
    "vector_rank": _vector_rank,
}


def contributions(row: Row, question: Question, weights: Mapping[str, float]) -> dict[str, float]:
    """What each feature adds to the score of a candidate; those that add nothing are left out."""
    added = {name: weight * FEATURES[name](row, question) for name, weight in weights.items() if weight}
    return {name: value for name, value in added.items() if value}


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
    """The terms of a text that ends with a question, of a turn of what the bot said last."""
    last = (sides_of(content) or (content,))[-1].rstrip()
    return text.terms(last) if last.endswith(("?", "？")) else None


def _pairs(content: str) -> frozenset[tuple[str, str]]:
    """Adjacent words, by their stems, English stopwords left out."""
    bare = (word.replace("’", "'").removesuffix("'s") for word in text.words(content))
    return frozenset(pairwise(text.stem(word) for word in bare if word not in stopwords.ENGLISH))
