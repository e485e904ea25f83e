"""What is asked: the message, where it may look, and what the search makes of it."""

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memories.choices import NeedMode
from memories.conf import conf
from memories.index import scope_statistics
from memories.index.contextual import full_match
from memories.language import text
from memories.models import Scope
from memories.recall.client_history import ClientHistory
from memories.recall.people import people_named
from memories.tenancy.resolver import ScopeRef

SCOPES_CACHED = 512


@dataclass(frozen=True)
class Place:
    """A scope the caller may see, and what of it may be heard where it is asked for."""

    scope: Scope
    ref: ScopeRef


@dataclass(frozen=True, kw_only=True)
class Query:
    """A question to memory. Everything but the message narrows what may be served."""

    workspace_id: int
    places: Sequence[Place]
    message: str
    limit: int
    mode: str = "hybrid"
    types: Sequence[str] | None = None
    filters: Mapping[str, str] = field(default_factory=dict)
    project: str | None = None
    topic: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    need: str = NeedMode.AUTO
    quotas: bool = True
    token_budget: int = 1_000
    before_entry: int | None = None  # only entries older than this one (evaluation)
    session_key: str = ""
    scope_keys: Sequence[str] = ()  # of the scopes asked for, also of those not yet begun; empty: those of `places`
    bot_id: int | None = None
    asker: str = ""  # the sender id of the one who asks; empty: nobody knows
    explain: bool = False  # whoever asks wants to know what was left out, too
    cache: bool = False  # an answer of a moment ago will do
    include_session_events: bool = False  # questions about the past are answered with what was said then as well
    client_history: ClientHistory | None = (
        None  # messages that are handed out beside the answer, and not told again in it
    )

    @property
    def asks_for_anything(self) -> bool:
        """Whether any memory will do, and not those of a kind or time that is named."""
        narrowed = (self.types, self.filters, self.project, self.topic, self.since, self.until)
        return not any(narrowed)

    @property
    def scopes(self) -> list[Scope]:
        return [place.scope for place in self.places]


@dataclass(frozen=True)
class Words:
    """The keyword side of a query: each term's share of a full match, and who of the scopes' speakers is named.

    `idf` tells how rare the terms are, `unheard` adds up what those would weigh that nobody ever said here.
    """

    shares: dict[int, float]
    named: list[tuple[int, str]]  # in which scope, and who
    idf: dict[int, float] = field(default_factory=dict)
    unheard: float = 0.0

    def covered_by(self, said: Iterable[int]) -> float:
        """The share of the question that is in these terms, 0–1; what nobody ever said counts as the rarest."""
        total = sum(self.idf.values()) + self.unheard
        return sum(self.idf.get(term, 0.0) for term in set(said)) / total if total else 0.0


def words_of(query: Query) -> Words:
    """Terms weighed by how rare they are in the scopes; names of speakers stand aside and boost what they said."""
    who = people_named(query.message, query.scopes)
    terms = set(text.terms(query.message)) - who.aside
    idf = _idf(query.scopes, sorted(terms | who.also))
    full = full_match(sum(sorted(idf.values(), reverse=True)[: conf.FULL_TERMS]))
    shares = {term: weight / full for term, weight in idf.items()}
    return Words(shares, who.named, idf, len(terms - idf.keys()) * _rarity(0, _size(query.scopes)))


def _idf(scopes: Sequence[Scope], terms: Sequence[int]) -> dict[int, float]:
    """How rare each term is in the scopes; terms that do not occur there say nothing and are left out."""
    total = _size(scopes)
    known = _frequencies.of(scopes, terms)
    rare = {}
    for term in terms:
        entries = min(sum(known[scope.pk, term] for scope in scopes), total)
        if entries > 0:
            rare[term] = _rarity(entries, total)
    return rare


def _rarity(entries: int, total: int) -> float:
    return math.log(1 + (total - entries + 0.5) / (entries + 0.5))


def _size(scopes: Iterable[Scope]) -> int:
    return sum(scope.entry_count for scope in scopes)


class _Frequencies:
    """Document frequencies this process has read, kept as long as their scope has not changed."""

    def __init__(self) -> None:
        self._scopes: OrderedDict[int, tuple[int, dict[int, int]]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, scopes: Sequence[Scope], terms: Sequence[int]) -> dict[tuple[int, int], int]:
        with self._lock:
            known = {scope.pk: self._known(scope) for scope in scopes}
        unknown = {term for term in terms for counts in known.values() if term not in counts}
        if unknown:
            read = scope_statistics.frequencies(known, unknown)
            for scope_id, counts in known.items():
                counts.update({term: read.get((scope_id, term), 0) for term in unknown})
        return {(scope_id, term): counts.get(term, 0) for scope_id, counts in known.items() for term in terms}

    def _known(self, scope: Scope) -> dict[int, int]:
        version, counts = self._scopes.get(scope.pk, (-1, {}))
        if version != scope.version:
            counts = {}
        self._scopes[scope.pk] = (scope.version, counts)
        self._scopes.move_to_end(scope.pk)
        if len(self._scopes) > SCOPES_CACHED:
            self._scopes.popitem(last=False)
        return counts


_frequencies = _Frequencies()
