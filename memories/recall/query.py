"""What is asked of memory, and the search for it: what a recall has to know before it searches (A2).

The opening reads the scopes, the numbers of the workspace, the model its rows are of, how rare the words of the message
are, and whether the messages just now still wait for their vectors, in one statement.

Messages the client has already are a part of the question: a memory does not tell them again (C9). A memory repeats the
conversation when all the messages it rests on are there, or when its words stand in the user's messages there. What has
another source as well is served, for it says more than the conversation does.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache
from django.db import connection
from django.db.models import JSONField, QuerySet

from memories.choices import NeedMode, ScopeKind
from memories.conf import conf
from memories.index import scope_statistics
from memories.language import text
from memories.language.persons import Additions, RecentMessage
from memories.models import EmbeddingModel, Entry, Policy, Scope
from memories.models.policy import Policies
from memories.tenancy.resolver import ScopeRef


def sql_parts(name: str) -> dict[str, str]:
    """The parts of a file in sql/ by their names, without what is written about them."""
    whole = (Path(__file__).parent / "sql" / f"{name}.sql").read_text("utf-8")
    parts = re.findall(r"^-- part: (\w+)\n(.*?)(?=^-- part: |\Z)", whole, re.MULTILINE | re.DOTALL)
    return {part: re.sub(r"^--.*\n", "", sql, flags=re.MULTILINE).strip() for part, sql in parts}


def rows_of(statement: str, parameters: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a statement that is planned for the scopes it is asked of."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


#: Shorter texts stand in many a message by chance.
LEAST_TOKENS = 3

#: What is asked is not stated: «Do I live in Rome?» does not say that somebody lives in Rome.
_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|\.(?=\S))+[.!?。！？]*")
#: A secret stands in a memory alone: the message it came in is handed out without it.
#: A memory is created at the time of the first of its messages: a few rows of an index, however large the scope is.
_RESTING = """
SELECT e.id, e.origins FROM memories_entry e
WHERE NOT starts_with(e.subtype, 'secret:')
    AND e.scope_id = ANY(%(scopes)s::bigint[]) AND e.workspace_id = %(workspace)s
    AND e.created_at >= %(since)s AND e.origins <> '{}'
"""


@dataclass(frozen=True)
class ClientHistory:
    """Messages that go to a model word for word: their paths, the time of the first, and the texts of users."""

    paths: frozenset[str]
    since: datetime
    user_texts: tuple[str, ...] = ()

    def entries(self, workspace_id: int, scopes: Iterable[int]) -> set[int]:
        """The entries of these scopes that rest on nothing else."""
        rows = rows_of(_RESTING, {"scopes": list(scopes), "workspace": workspace_id, "since": self.since})
        return {entry for entry, origins in rows if self.paths.issuperset(origins)}

    def contains(self, content: str) -> bool:
        """Whether a text stands word for word in what a user stated there."""
        if text.count_tokens(content) < LEAST_TOKENS:
            return False
        stated_words, stated_characters, marks = self._stated
        if not marks.issuperset(text.marks(content)):
            return False
        words = text.normalise(content)
        return f" {words} " in stated_words if words.isascii() else words.replace(" ", "") in stated_characters

    @cached_property
    def _stated(self) -> tuple[str, str, set[str]]:
        """What users stated there and did not ask: its words, the same without gaps, and its marks."""
        sentences = (sentence for message in self.user_texts for sentence in _SENTENCE.findall(message))
        statements = [sentence for sentence in sentences if not text.is_question(sentence.strip(), by=text.ANY)]
        words = "\n".join(f" {text.normalise(statement)} " for statement in statements)
        return words, words.replace(" ", ""), {mark for statement in statements for mark in text.marks(statement)}


if TYPE_CHECKING:
    from memories.recall.eligibility import Past
    from memories.recall.question import DateRange
    from memories.recall.vector import CentredQuery

#: A message of longer ago waits for its vector for more than a moment.
RECENTLY = timedelta(seconds=10)


class Mode(StrEnum):
    """What a search goes by: meaning and words together, either of them, words as typed, or full text.

    All of them obey the same walls, quotas and filters.
    """

    HYBRID = "hybrid"
    VECTOR = "vector"
    KEYWORD = "keyword"
    FTS = "fts"


class Serve(StrEnum):
    """How sure a memory has to be to be served: for a prompt, which is paid for, or for a program that chooses."""

    LIKELY = "likely"
    WIDE = "wide"


class ServeSource(StrEnum):
    """Who said how sure a memory has to be: the call, the channel of the bot, or by default its kind."""

    CALL = "call"
    CHANNEL = "channel"
    DEFAULT = "default"


def serve_of(rule: str) -> str | float | None:
    """What a rule of a channel says is served; None: nothing."""
    if not rule:
        return None
    return Serve(rule) if rule in tuple(Serve) else float(rule)


def rule_of(serve: str | float | None) -> str:
    """The rule of a channel that says this is served, as it is stored."""
    return "" if serve is None else serve if isinstance(serve, str) else f"{serve:.4f}".rstrip("0").rstrip(".")


def choose_serve(call: str | float | None, *, rule: str = "", default: Serve = Serve.WIDE) -> dict[str, Any]:
    """The fields of a query for what is served: by the call, else by the channel's rule, else the default."""
    if call is not None:
        return {"serve": call, "serve_source": ServeSource.CALL}
    if (own := serve_of(rule)) is not None:
        return {"serve": own, "serve_source": ServeSource.CHANNEL}
    return {"serve": default, "serve_source": ServeSource.DEFAULT}


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
    serve: str | float = Serve.WIDE  # what is likely to help, all that may, or from which relevance on
    serve_source: str = ServeSource.DEFAULT  # who said so
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
    include_session_events: bool = False  # questions about the past are answered with the messages of then as well
    always_events: bool = False  # and so is every other question: a search, not a message of a conversation
    client_history: ClientHistory | None = None  # messages the client has already: memories do not repeat them
    recent: Sequence[RecentMessage] = ()  # the messages just before, oldest first
    resolved: Additions = ()  # by words of the message what they mean, as the messages before tell
    relations: Additions = ()  # by «my sister» or Lena who that is, as the scopes know
    opening: "Opening | None" = None  # what was read for it already
    is_index_pending: bool = False  # files of these scopes are not indexed yet, and cannot be found
    adjusted: Callable[[Policies], Policies] | None = None  # asked by other policies than those of the workspace
    as_of: datetime | None = None  # asked of memory as it was then; None: as it is
    past: "Past | None" = None  # what memory holds today of that

    @property
    def scope_lines(self) -> dict[int, float]:
        """The least relevance of scopes that have their own, where what is likely is asked for."""
        if self.serve != Serve.LIKELY:
            return {}
        lines = {place.scope.pk: place.scope.relevance_likely for place in self.places}
        return {scope: line for scope, line in lines.items() if line is not None}

    @property
    def in_group(self) -> bool:
        """Whether several people hear what is served of any of its scopes."""
        return any(place.ref.in_group or place.scope.kind == ScopeKind.CHAT for place in self.places)

    @property
    def asks_for_anything(self) -> bool:
        """Whether any memory will do, and not those of a kind or time that is named."""
        conditions = (self.types, self.filters, self.project, self.topic, self.since, self.until)
        return self.among is None and not any(conditions)

    @property
    def additions(self) -> Additions:
        """What is searched besides the message."""
        return (*self.resolved, *self.relations)

    @property
    def scopes(self) -> list[Scope]:
        return [place.scope for place in self.places]

    @property
    def entry_count(self) -> int:
        """How many memories its scopes hold."""
        return sum(scope.entry_count for scope in self.scopes)

    @property
    def scope_ids(self) -> list[int]:
        return [place.scope.pk for place in self.places]


@dataclass(frozen=True)
class Words:
    """The keyword side of a query: each term's share of a full match, and which speakers of the scopes are named.

    `idf` tells how rare the terms are, `unheard` adds up what those would weigh that no memory here has.
    """

    shares: dict[int, float]
    named: list[tuple[int, str]]  # scope and speaker
    idf: dict[int, float] = field(default_factory=dict)
    unheard: float = 0.0
    name_forms: frozenset[str] = frozenset()  # every name of those speakers, folded
    name_terms: frozenset[int] = frozenset()

    def coverage(self, terms: Mapping[int, int]) -> float:
        """The share of the question that is in these terms, 0–1; what no memory has counts as the rarest."""
        total = sum(self.idf.values()) + self.unheard
        return sum(self.idf.get(term, 0.0) for term in set(terms)) / total if total else 0.0


@dataclass(frozen=True)
class ParsedQuery:
    """What the search makes of a query."""

    words: Words
    vector: "CentredQuery | None" = None  # None: by words alone
    date_ranges: "Sequence[DateRange]" = field(default_factory=list)
    substrings: Sequence[str] = ()  # looked for as they stand
    terms: Sequence[int] = ()  # one of them has to be an entry's own word
    limit: int | None = None  # how many are looked at; None: as configured
    about_asker: bool = False  # the one who asks is asked about, and nobody else
    features: Mapping[str, float] = field(default_factory=dict)  # weights of those the candidates are ranked by
    is_remark: bool = False  # it asks nothing: what bears on it hardly shares a word with it
    asks_of_days: bool = False  # days are named, and something is asked of them besides what there was
    names_unknown: bool = False  # it names somebody or something, and none of that was ever named here
    newest_to: datetime | None = None  # the newest at this time come first, whatever they say

    @property
    def by_meaning_alone(self) -> bool:
        """Whether neither a day nor the newest is asked for."""
        return not self.date_ranges and self.newest_to is None

    def by_time(self, now: datetime) -> "ParsedQuery":
        """The same for the newest memories: neither by its words nor by its meaning."""
        return ParsedQuery(Words({}, []), about_asker=self.about_asker, newest_to=now)


def searched_part(message: str) -> str:
    """What of a message is searched: all of it, or of a long one its beginning and its end, where people ask."""
    limit = conf.RECALL_MESSAGE_CHARS
    return message if len(message) <= limit else f"{message[: limit // 2]}\n{message[-(limit // 2) :]}"


SCOPES_CACHED = 512
#: What meaning counts for in a remark, beside its words: those mislead (docs/decisions.md).
REMARK_ALPHA = 0.9

_frequencies: LRUCache[int, tuple[int, dict[int, int]]] = LRUCache(SCOPES_CACHED)
_lock = Lock()


def term_frequencies(scopes: Sequence[Scope], terms: Sequence[int]) -> dict[tuple[int, int], int]:
    """How many entries hold each of these terms, by scope and term."""
    with _lock:
        by_scope = {scope.pk: _frequencies_of(scope) for scope in scopes}
    unknown = {term for term in terms for counts in by_scope.values() if term not in counts}
    if unknown:
        frequencies = scope_statistics.frequencies(by_scope, unknown)
        for scope_id, counts in by_scope.items():
            counts.update({term: frequencies.get((scope_id, term), 0) for term in unknown})
    return {(scope_id, term): counts.get(term, 0) for scope_id, counts in by_scope.items() for term in terms}


def _frequencies_of(scope: Scope) -> dict[int, int]:
    version, counts = _frequencies.get(scope.pk, (-1, {}))
    if version != scope.version:
        counts = {}
    _frequencies[scope.pk] = (scope.version, counts)
    return counts


_SCOPE_COLUMNS = [field.attname for field in Scope._meta.concrete_fields]
_SCOPE_JSON = {field.attname for field in Scope._meta.concrete_fields if isinstance(field, JSONField)}
_MODEL_COLUMNS = [field.attname for field in EmbeddingModel._meta.concrete_fields]
_POLICY_COLUMNS = ("kind", "entry_type", "scope_kind", "name", "value", "version")
_OPENING = sql_parts("opening")["opening"].format(
    policy_columns=", ".join(f"p.{column}" for column in _POLICY_COLUMNS),
    model_columns=", ".join(f"m.{column}" for column in _MODEL_COLUMNS),
    scope_columns=", ".join(f"s.{column}" for column in _SCOPE_COLUMNS),
)


@dataclass(frozen=True)
class Opening:
    """The scopes a recall looks in, by key, as far as they exist, and what it goes by there."""

    scopes: dict[str, Scope]
    policies: Policies
    model: EmbeddingModel | None  # all rows of the workspace are embedded by, as far as they are
    may_be_pending: bool  # the messages just now may have no vector of that model yet

    @property
    def most_recalls(self) -> int:
        """How many memories a recall serves that does not say how many."""
        return int(self.policies.weight("MAX_RECALLS"))


@dataclass(frozen=True)
class Search:
    """A run of a query: when and where it is asked, how long it may take, and what it goes by once it is opened."""

    query: Query
    now: datetime
    zone: tzinfo
    patience: float  # seconds the embedder may take before keywords answer alone
    is_sampled: bool  # whether the candidates are kept
    opening: Opening = Opening({}, Policies([]), None, may_be_pending=False)
    looks_back: bool = False  # a question about the past, which the retrievers of events are asked as well
    parsed: ParsedQuery = ParsedQuery(Words({}, []))  # once the words are looked up and the message is embedded

    @property
    def policies(self) -> Policies:
        """The numbers of the workspace."""
        return self.opening.policies

    @property
    def line(self) -> float:
        """The relevance below which nothing is served, 0–1."""
        if self.query.serve == Serve.LIKELY:
            return self.policies.weight("RELEVANCE_LIKELY")
        return self.policies.weight("RELEVANCE_WIDE") if self.query.serve == Serve.WIDE else float(self.query.serve)

    def line_in(self, scope_id: int) -> float:
        """The relevance below which nothing of a scope is served: where what is likely is asked for, its own one."""
        return self.query.scope_lines.get(scope_id, self.line)

    @property
    def weights(self) -> dict[str, float]:
        """What each retriever and boost counts for; a retriever that cannot run weighs nothing."""
        of_vectors = 1.0 if self.query.mode == Mode.VECTOR else self.policies.weight("ALPHA")
        if self.parsed.is_remark and of_vectors:  # an owner who wants words alone has them
            of_vectors = max(of_vectors, REMARK_ALPHA)
        return {
            "alpha": of_vectors if self.parsed.vector else 0.0,
            "boost": self.policies.weight("SPEAKER_BOOST"),
            "date_boost": 1.0 if self.parsed.newest_to else self.policies.weight("DATE_BOOST"),
            "recency": self.policies.weight("RECENCY"),
            "floor": self.policies.weight("MIN_SIMILARITY"),
            "relevance_wide": self.policies.weight("RELEVANCE_WIDE"),
            "relevance_line": self.line,
        }


def opening_of(query: Query, *, now: datetime) -> Opening:
    """What was read for a query already, or is read now."""
    keys = [scope.key for scope in query.scopes]
    return query.opening or read_opening(query.workspace_id, keys, message=query.message, now=now)


def read_opening(workspace_id: int, keys: Collection[str], *, message: str, now: datetime) -> Opening:
    """What a recall of these scopes goes by at this moment."""
    terms = list(text.terms(searched_part(message)))
    parameters: dict[str, Any] = {
        "workspace": workspace_id,
        "keys": list(keys),
        "terms": terms,
        "since": now - RECENTLY,
        "now": now,
    }
    rows = rows_of(_OPENING, parameters)
    scopes = {}
    for _policies, counts, _pending, *columns in rows:
        of_scope = dict(zip(_SCOPE_COLUMNS, columns[len(_MODEL_COLUMNS) :], strict=True))
        if of_scope["id"] is None:
            continue
        values = [json.loads(value) if name in _SCOPE_JSON else value for name, value in of_scope.items()]
        scope = Scope.from_db(connection.alias, _SCOPE_COLUMNS, values)
        scopes[scope.key] = scope
        with _lock:  # what is read of its terms beside it is kept; those that are not found do not occur
            frequencies = _frequencies_of(scope)
        frequencies.update(dict.fromkeys(terms, 0) | {int(term): n for term, n in json.loads(counts or "{}").items()})
    policies, _counts, _pending, *columns = rows[0]
    model = None
    if columns[0] is not None:
        model = EmbeddingModel.from_db(connection.alias, _MODEL_COLUMNS, columns[: len(_MODEL_COLUMNS)])
    numbers = [Policy(**dict(zip(_POLICY_COLUMNS, row, strict=True))) for row in json.loads(policies or "[]")]
    may_be_pending = model is None or any(pending for _, _, pending, *_ in rows)
    return Opening(scopes, Policies(numbers), model, may_be_pending)
