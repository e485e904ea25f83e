"""What was said word for word, for questions about the past: the retriever of session events (C5, C6).

A group's events belong to the chat, a direct chat's to its user (C4). So a person's private messages are found where
that person is alone with the bot, and never in a group, not even in one that may hear everything: a message has no
category, and nobody can tell whether it is a password.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import connection

from memories.choices import ScopeKind
from memories.index.contextual import dense_literal, sparse_literal
from memories.language import text
from memories.recall.query import Place
from memories.recall.retrievers import PastQuestion, RecalledEvent, limit_events
from memories.recall.similarity import CentredQuery, similarity
from memories.recall.speakers import OTHERS_FACTOR
from sessions_app.choices import EventKind
from sessions_app.history import redaction
from sessions_app.history.retention import retention_of

KIND = "session_event"
#: Looked at before suppressed ones go, and those that are too far.
CANDIDATES = 40
#: Of a message that nothing but its meaning speaks for; «记住了» and «Noted.» are shorter.
LEAST_TOKENS = 3

#: The sessions of the scopes that are asked, by an index each.
_HERE = """
WITH here AS MATERIALIZED (
    SELECT s.id, s.uid, s.conversation, s.is_group,
        CASE WHEN s.is_group THEN s.chat_scope_id ELSE s.user_scope_id END AS scope_id
    FROM sessions_app_session s WHERE s.workspace_id = %(workspace)s AND (
        (NOT s.is_group AND s.user_scope_id = ANY(%(users)s::bigint[]))
        OR (s.is_group AND s.chat_scope_id = ANY(%(chats)s::bigint[])
            AND coalesce((s.rules ->> 'capture_group_memory')::boolean, true))
    )
)
"""
#: Their rows, without summaries: whose words they are made of, and whether people took those out, no longer shows.
_ROWS = "FROM here JOIN sessions_app_eventindex i ON i.session_id = here.id WHERE {conditions}"
#: Of those alone whose term is not over; of a person's messages and of a group's each its own.
_TOLD = (
    "(i.event_id = ANY(%(longer)s::bigint[]) OR (i.event_id <> ALL(%(shorter)s::bigint[])"
    " AND i.at > CASE WHEN here.is_group THEN %(chat_since)s::timestamptz ELSE %(user_since)s::timestamptz END))"
)
_SAID = "e.id, here.uid AS session, e.conversation, e.kind, e.sender_id, e.content, e.at, here.scope_id"
_JOINED = "JOIN sessions_app_sessionevent e ON e.id = best.event_id JOIN here ON here.id = best.session_id"

#: Exact over all rows, with one number a row: its parts are told of the best alone. They are doubles, for decimals,
#: which literals are, take longer to add up than vectors to compare.
_BEST = """
SELECT {said}, round({covered}::numeric, 3)::float8, {near}, {then}, {cosine} FROM (
    SELECT i.event_id, i.session_id,
        (1 - %(alpha)s::float8) * {covered} + %(alpha)s::float8 * coalesce({near}, %(of_average)s::float8) {boost}
        AS fused
    {rows} ORDER BY fused DESC, i.event_id DESC LIMIT %(limit)s
) best JOIN sessions_app_eventindex i ON i.event_id = best.event_id {joined}
WHERE {covered} > 0 OR {near} IS NOT NULL ORDER BY fused DESC, e.id DESC
"""
_LATEST = """
SELECT {said}, 0::float8, NULL::float8, true, NULL::float8 FROM (
    SELECT i.event_id, i.session_id {rows} ORDER BY {core} i.at DESC, i.event_id DESC LIMIT %(limit)s
) best {joined} ORDER BY e.at DESC, e.id DESC
"""
_COVERED = "least(greatest(-(i.keywords <#> %(keywords)s::sparsevec), 0), 1)"
_BOOST = "+ CASE WHEN {then} THEN %(date_boost)s::float8 ELSE 0 END"
#: Inner products: the question is moved and no longer of length 1. A vector of other dimensions waits to be made anew.
_HAS_VECTOR = "CASE WHEN i.model_id = %(model)s AND vector_dims(i.embedding) = %(dimension)s THEN"
_NEAR = f"{_HAS_VECTOR} (-(i.embedding <#> %(aimed)s::halfvec) - %(zero)s::float8) / %(span)s::float8 END"
_COSINE = f"{_HAS_VECTOR} -(i.embedding <#> %(asked)s::halfvec) END"


@dataclass(frozen=True)
class _Said:
    """A message, in the order of _SAID and of what each statement adds."""

    pk: int
    session: UUID
    conversation: int
    kind: str
    sender: str
    content: str
    at: datetime
    scope_id: int
    covered: float  # share of the telling words
    near: float | None  # on the ranking's scale; None: not compared
    is_then: bool  # said on the days that are named
    cosine: float | None
    most: float = math.inf  # of its score, where something else comes before it

    @property
    def path(self) -> str:
        """As Session.origin names it."""
        return f"{self.place}/event-{self.pk}"

    @property
    def place(self) -> str:
        """As Session.place_of names its conversation."""
        return f"session_events/{self.session}/{self.conversation}"


def session_events(asked: PastQuestion, places: Sequence[Place], now: datetime) -> list[RecalledEvent]:
    """The messages that bear on a question about the past, best first. What is ambient was never said to the bot."""
    heard = [place for place in places if not _is_private_here(place)]
    if not heard:
        return []
    scopes = {place.scope.pk: place.scope.key for place in heard}
    known: dict[int, _Said] = {}
    for rows in _looks(asked, _Log(asked, heard, now)):
        known = {row.pk: row for row in rows} | known
        if any(row.path not in asked.client_history for row in rows):
            break
    best = sorted(known.values(), key=lambda row: (-_score(row, asked), -row.at.timestamp()))
    return limit_events([_found(row, asked, scopes[row.scope_id]) for row in best], asked)


def _is_private_here(place: Place) -> bool:
    return place.ref.in_group and place.scope.kind == ScopeKind.USER


def _looks(asked: PastQuestion, log: "_Log") -> Iterator[list[_Said]]:
    """What was said of it, by words and meaning; else on the days that are named, whatever it was.

    Where it was spoken of on the days that are named, those days alone; else these and the best of other days.
    """
    if keywords := _keywords(asked.words):
        then = _near_enough(asked, log.best(keywords, then=True)) if asked.date_ranges else []
        if any(row.covered for row in then):
            yield then
        elsewhere = _near_enough(asked, log.best(keywords))
        yield _with_days(asked, elsewhere, then or log.latest()) if asked.date_ranges else elsewhere
    if asked.date_ranges:
        yield log.latest()
    elif not keywords:  # «last time»: the conversation before this one, if there is one
        yield log.latest(closed=True)
        yield log.latest()


def _with_days(asked: PastQuestion, elsewhere: Sequence[_Said], then: Sequence[_Said]) -> list[_Said]:
    """The best of other days, and before the others what was said on the days that are named."""
    if not (elsewhere and then):
        return [*elsewhere, *then]
    first, *others = sorted(elsewhere, key=lambda row: -_score(row, asked))
    least = min(_score(row, asked) for row in then)
    return [first, *then, *(replace(row, most=least) for row in others if row not in then)]


def _keywords(words: Sequence[str]) -> dict[int, float]:
    """The terms the words are found by; the words count alike, and add up to 1."""
    held = [terms for terms in map(text.terms_of_word, words) if terms]
    shares: dict[int, float] = {}
    for terms in held:
        for term in terms:
            shares[term] = shares.get(term, 0.0) + 1 / (len(held) * len(terms))
    return shares


def _near_enough(asked: PastQuestion, rows: Sequence[_Said]) -> list[_Said]:
    """What holds a word, or is near and more than «noted»: the shortest texts are near to whatever is asked."""
    return [
        row
        for row in rows
        if row.covered
        or ((_similarity(row, asked) or -1.0) >= asked.floor and text.count_tokens(row.content) >= LEAST_TOKENS)
    ]


def _similarity(row: _Said, asked: PastQuestion) -> float | None:
    if asked.direction is None or row.cosine is None:
        return None
    return similarity(asked.direction, row.cosine, asked.message, row.content)


def _score(row: _Said, asked: PastQuestion) -> float:
    """What another said counts less where somebody asks about themselves; what the bot said is no other's."""
    is_anothers = asked.about is not None and row.sender not in ("", asked.about)
    share = OTHERS_FACTOR if is_anothers else 1.0
    matched = asked.score(row.covered, row.near, is_then=row.is_then) if asked.words else 1.0
    return min(share * (matched + asked.exactly(row.at)), row.most)


def _found(row: _Said, asked: PastQuestion, scope: str) -> RecalledEvent:
    return RecalledEvent(
        kind=KIND,
        path=row.path,
        scope=scope,
        role=row.kind,
        sender=row.sender,
        content=row.content,
        at=row.at,
        covered=row.covered if asked.words else 1.0,
        score=_score(row, asked),
        similarity=_similarity(row, asked),
    )


@dataclass(frozen=True)
class _Log:
    """What was said in the scopes that are asked, but for what people took out."""

    asked: PastQuestion
    heard: Sequence[Place]
    now: datetime

    def best(self, keywords: dict[int, float], *, then: bool = False) -> list[_Said]:
        """By words and meaning; of the days that are named alone, or of all."""
        on_days, days = self._on_days()
        near, pointed = _pointed(self.asked.direction)
        parts = {**near, "covered": _COVERED, "boost": _BOOST if days else "", "then": on_days or "false"}
        weights = {"alpha": self.asked.alpha, "date_boost": self.asked.date_boost}
        parameters = days | pointed | weights | {"keywords": sparse_literal(keywords)}
        return self._read(_BEST, parts, parameters, [on_days] if then else [])

    def latest(self, *, closed: bool = False) -> list[_Said]:
        """The newest of the days that are named, or of all; or only of conversations that are closed."""
        then, days = self._on_days()
        core, cores = self._in_core()
        return self._read(
            _LATEST, {"core": core}, days | cores, [then, "i.conversation < here.conversation" if closed else ""]
        )

    def _on_days(self) -> tuple[str, dict[str, Any]]:
        """Whether a row is of the days that are named, in SQL; nothing when none are."""
        moments = dict(enumerate(self.asked.date_ranges))
        each = [f"(i.at >= %(from{n})s AND i.at < %(to{n})s)" for n in moments]
        begins = {f"from{n}": moment.start for n, moment in moments.items()}
        ends = {f"to{n}": moment.end for n, moment in moments.items()}
        return f"({' OR '.join(each)})" if each else "", begins | ends

    def _in_core(self) -> tuple[str, dict[str, Any]]:
        """What is meant most of the days that are named, first."""
        cores = [moment.core for moment in self.asked.date_ranges if moment.core]
        each = [f"(i.at >= %(core{n}_0)s AND i.at < %(core{n}_1)s)" for n, _ in enumerate(cores)]
        ends = {f"core{n}_{end}": core[end] for n, core in enumerate(cores) for end in (0, 1)}
        return f"({' OR '.join(each)}) DESC," if each else "", ends

    def _read(
        self, statement: str, parts: dict[str, str], parameters: dict[str, Any], where: Sequence[str] = ()
    ) -> list[_Said]:
        asked = self.asked
        between = ["i.at >= %(since)s" if asked.since else "", "i.at < %(until)s" if asked.until else ""]
        conditions = " AND ".join(filter(None, ["i.kind <> %(summary)s", _TOLD, *between, *where]))
        statement = _HERE + statement
        for name, part in {"said": _SAID, "joined": _JOINED, "rows": _ROWS, **parts, "conditions": conditions}.items():
            statement = statement.replace(f"{{{name}}}", part)
        parameters = parameters | {
            "workspace": asked.workspace_id,
            "users": self._scopes(ScopeKind.USER),
            "chats": self._scopes(ScopeKind.CHAT),
            "summary": EventKind.SUMMARY.value,
            "since": asked.since,
            "until": asked.until,
            **self._terms,
            "limit": CANDIDATES + len(asked.client_history),
        }
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            rows = [_Said(*row) for row in cursor.fetchall()]
        return redaction.redact(rows, redaction.redacted_in(asked.workspace_id, {row.place for row in rows}))

    @cached_property
    def _terms(self) -> dict[str, Any]:
        """Which messages are still told, in SQL."""
        asked, ends = self.asked, {}
        for kind in (ScopeKind.USER, ScopeKind.CHAT):
            ends[kind] = retention_of(asked.workspace_id, self._scopes(kind), kind, asked.policies, self.now)
        return {
            "longer": list(ends[ScopeKind.USER].longer | ends[ScopeKind.CHAT].longer),
            "shorter": list(ends[ScopeKind.USER].shorter | ends[ScopeKind.CHAT].shorter),
            "user_since": ends[ScopeKind.USER].since or "-infinity",
            "chat_since": ends[ScopeKind.CHAT].since or "-infinity",
        }

    def _scopes(self, kind: ScopeKind) -> list[int]:
        return [place.scope.pk for place in self.heard if place.scope.kind == kind]


def _pointed(direction: CentredQuery | None) -> tuple[dict[str, str], dict[str, Any]]:
    """Nearness to the question, in SQL."""
    if direction is None:
        return {"near": "NULL::float8", "cosine": "NULL::float8"}, {"of_average": 0.0}
    return {"near": _NEAR, "cosine": _COSINE}, {
        "model": direction.model.pk,
        "dimension": direction.model.dimension,
        "asked": dense_literal(direction.asked),
        "aimed": dense_literal(direction.centred),
        "zero": direction.zero,
        "span": direction.span,
        "of_average": direction.centroid_similarity,
    }
