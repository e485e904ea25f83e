"""What is asked, where it may look, and what the search makes of it: words, vector, date ranges, substrings (C5)."""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from django.db.models import QuerySet

from memories.choices import NeedMode
from memories.conf import conf
from memories.index.contextual import full_match
from memories.language import stopwords, text
from memories.language.references import Additions, RecentMessage
from memories.language.scripts import COMMON_CJK
from memories.models import Entry, Scope
from memories.models.policy import Policies
from memories.recall.question import frequencies
from memories.recall.question.client_history import ClientHistory
from memories.recall.question.people import people_named
from memories.recall.question.similarity import CentredQuery
from memories.recall.question.speakers import is_about_asker
from memories.recall.question.temporal import DateRange
from memories.tenancy.resolver import ScopeRef

if TYPE_CHECKING:
    from memories.recall.question.opening import Opening
    from memories.recall.replay.as_of import Past

MAX_SUBSTRINGS = 32  # of one question
ADDED_SHARE, RELATION_SHARE = 0.5, 0.3  # of the weight of a word, for one the message does not say
SHORTLIST = 100  # entries whose full text is read, those that hold the rarest words of the question

#: Chinese is cut into words; anything else stands as it is between spaces.
_RUN = re.compile(rf"[{COMMON_CJK}]+|[^\s{COMMON_CJK}]+")
#: What ends or opens a sentence belongs to no word, and «,» and the like never do.
_PUNCTUATION = re.compile('[,;!?，。！？、；：「」『』《》“”‘’（）【】…"`]+')
_BEFORE, _AFTER = "'([{<*", "'.:)]}>*"
_LETTER_OR_DIGIT = re.compile(r"[a-z\d]", re.IGNORECASE)
_STOPWORDS = stopwords.ENGLISH | stopwords.CHINESE


class Mode(StrEnum):
    """What a search goes by: meaning and words together, either of them, words as typed, or full text.

    All of them obey the same walls, quotas and filters.
    """

    HYBRID = "hybrid"
    VECTOR = "vector"
    KEYWORD = "keyword"
    FTS = "fts"


#: Nothing but the match decides the order, without boosts, decay or recency; of equal matches the newer comes first.
BY_MATCH_ALONE = frozenset({Mode.KEYWORD, Mode.FTS})


@dataclass(frozen=True)
class SearchScope:
    """A scope the caller may see, and what of it may be heard where it is asked for."""

    scope: Scope
    ref: ScopeRef


@dataclass(frozen=True, kw_only=True)
class Query:
    """A question to memory. Everything but the message narrows what may be served."""

    workspace_id: int
    places: Sequence[SearchScope]
    message: str
    limit: int  # 0: as many as the workspace's policy says
    mode: str = "hybrid"
    types: Sequence[str] | None = None
    filters: Mapping[str, str] = field(default_factory=dict)
    project: str | None = None
    topic: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    among: QuerySet[Entry] | None = None  # only entries of these; a door's own filter
    need: str = NeedMode.AUTO
    quotas: bool = True
    nearest: bool = False  # where nothing is near enough, what is nearest is served all the same
    token_budget: int = 1_000
    before_entry: int | None = None  # only entries older than this one (evaluation)
    session_key: str = ""
    scope_keys: Sequence[str] = ()  # of the scopes asked for, also of those not yet begun; empty: those of `places`
    bot_id: int | None = None
    language: str = "en"  # of the workspace, in which a text for a model says what a memory does not say itself
    asker: str = ""  # the sender id of the one who asks; empty: nobody knows
    explain: bool = False  # whoever asks wants to know what was excluded, too
    cache: bool = False  # an answer of a moment ago will do
    include_session_events: bool = False  # questions about the past are answered with what was said then as well
    always_events: bool = False  # and so is every other question: a search, not a message of a conversation
    client_history: ClientHistory | None = None  # messages the client has already: memories do not repeat them
    recent: Sequence[RecentMessage] = ()  # the messages just before, oldest first
    resolved: Additions = ()  # by words of the message what they mean, as the messages before tell
    relations: Additions = ()  # by «my sister» or Lena who that is, as the scopes know
    opening: "Opening | None" = None  # what was read for it already
    is_index_pending: bool = False  # files of these scopes are not indexed yet, and cannot be found
    adjusted: Callable[[Policies], Policies] | None = None  # asked by other policies than those of the workspace
    as_of: datetime | None = None  # asked of memory as it was then; None: as it is
    past: "Past | None" = None  # what is known today of that

    @property
    def asks_for_anything(self) -> bool:
        """Whether any memory will do, and not those of a kind or time that is named."""
        named = (self.types, self.filters, self.project, self.topic, self.since, self.until)
        return self.among is None and not any(named)

    @property
    def additions(self) -> Additions:
        """What is searched besides the message."""
        return (*self.resolved, *self.relations)

    @property
    def scopes(self) -> list[Scope]:
        return [place.scope for place in self.places]

    @property
    def scope_ids(self) -> list[int]:
        return [place.scope.pk for place in self.places]


@dataclass(frozen=True)
class Words:
    """The keyword side of a query: each term's share of a full match, and which speakers of the scopes are named.

    `idf` tells how rare the terms are, `unheard` adds up what those would weigh that nobody ever said here.
    """

    shares: dict[int, float]
    named: list[tuple[int, str]]  # scope and speaker
    idf: dict[int, float] = field(default_factory=dict)
    unheard: float = 0.0
    name_forms: frozenset[str] = frozenset()  # every name of those speakers, folded
    name_terms: frozenset[int] = frozenset()

    def coverage(self, terms: Mapping[int, int]) -> float:
        """The share of the question that is in these terms, 0–1; what nobody ever said counts as the rarest."""
        total = sum(self.idf.values()) + self.unheard
        return sum(self.idf.get(term, 0.0) for term in set(terms)) / total if total else 0.0


@dataclass(frozen=True)
class ParsedQuery:
    """What the search makes of a query."""

    words: Words
    vector: CentredQuery | None = None  # None: by words alone
    date_ranges: Sequence[DateRange] = field(default_factory=list)
    substrings: Sequence[str] = ()  # looked for as they stand
    terms: Sequence[int] = ()  # one of them has to be an entry's own word
    limit: int | None = None  # how many are looked at; None: as configured
    about_asker: bool = False  # the one who asks is asked about, and nobody else
    features: Mapping[str, float] = field(default_factory=dict)  # weights of those the candidates are ranked by
    newest_to: datetime | None = None  # the newest at this time come first, whatever they say

    def by_time(self, now: datetime) -> "ParsedQuery":
        """The same for the newest of what is known: neither by its words nor by its meaning."""
        return ParsedQuery(Words({}, []), about_asker=self.about_asker, newest_to=now)


def searched_part(message: str) -> str:
    """What of a message is searched: all of it, or of a long one its beginning and its end, where people ask."""
    limit = conf.RECALL_MESSAGE_CHARS
    return message if len(message) <= limit else f"{message[: limit // 2]}\n{message[-(limit // 2) :]}"


def words_of(query: Query) -> Words:
    """Terms weighed by how rare they are in the scopes; names of speakers stand aside and boost what they said."""
    people = people_named(query.message, query.scopes)
    terms = set(text.terms(query.message)) - people.name_terms
    total = sum(scope.entry_count for scope in query.scopes)
    added = _added_terms(query)
    idf = _idf(query.scopes, sorted(terms | people.alias_terms | added.keys()), total)
    idf = {term: weight * added.get(term, 1.0) for term, weight in idf.items()}
    full = full_match(sum(sorted(idf.values(), reverse=True)[: conf.FULL_TERMS]))
    shares = {term: weight / full for term, weight in idf.items()}
    unheard = len(terms - idf.keys()) * _rarity(0, total)
    return Words(shares, people.named, idf, unheard, people.forms, people.name_terms)


def _added_terms(query: Query) -> dict[int, float]:
    """What the terms count for that the message does not say; «my sister» and Lena are one, and count half each."""
    added = {term: ADDED_SHARE for _said, meant in query.resolved for term in text.terms(" ".join(meant))}
    added = {term: share for term, share in added.items() if term not in text.terms(query.message)}
    return added | {
        term: RELATION_SHARE for said, meant in query.relations for term in text.terms(" ".join([said, *meant]))
    }


def parse_for_match(query: Query, words: Words) -> ParsedQuery:
    """What a search by matches alone looks for: names are words like others there."""
    message = query.message
    about_asker = is_about_asker(message, [], query.scopes, query.asker)
    if query.mode == Mode.KEYWORD:
        return ParsedQuery(replace(words, named=[]), substrings=typed_words(message), about_asker=about_asker)
    terms = list(text.terms(message))
    rarest = max(words.shares.values(), default=1 / max(len(terms), 1))
    shares = {term: words.shares.get(term, rarest) for term in terms}
    return ParsedQuery(
        replace(words, shares=shares, named=[]),
        substrings=text.telling_characters(message),
        terms=terms,
        limit=SHORTLIST,
        about_asker=about_asker,
    )


def typed_words(message: str) -> list[str]:
    """The words of a message as somebody typed them, folded, signs and all: C++, a_b, 100%, 10.0.0.1, #42.

    Stopwords count only where there is nothing else.
    """
    folded = unicodedata.normalize("NFKC", message).casefold().replace("’", "'")
    words = [word for run in _RUN.findall(_PUNCTUATION.sub(" ", folded)) for word in _words_of_run(run)]
    content = [word for word in words if word not in _STOPWORDS]
    return list(dict.fromkeys(content or words))[:MAX_SUBSTRINGS]


def _words_of_run(run: str) -> list[str]:
    if re.match(f"[{COMMON_CJK}]", run):
        return text.words(run)
    word = run.lstrip(_BEFORE).rstrip(_AFTER).removesuffix("'s")
    if _LETTER_OR_DIGIT.search(word) is None and not any(map(str.isalnum, word)):
        return [run] if run in ("_", "%", "+", "#", "@", "&", "$") else []
    return [word]


def _idf(scopes: Sequence[Scope], terms: Sequence[int], total: int) -> dict[int, float]:
    """How rare each term is among `total` entries; terms that do not occur there say nothing and are left out."""
    known = frequencies.read(scopes, terms)
    rare = {}
    for term in terms:
        entries = min(sum(known[scope.pk, term] for scope in scopes), total)
        if entries > 0:
            rare[term] = _rarity(entries, total)
    return rare


def _rarity(entries: int, total: int) -> float:
    return math.log(1 + (total - entries + 0.5) / (entries + 0.5))
