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
from memories.index.contextual import sparse_literal
from memories.language import text
from memories.recall.query import SearchScope
from memories.recall.retrievers import PastQuestion, RecalledEvent, limit_events
from memories.recall.similarity import similarity
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
_RETAINED = (
    "(i.event_id = ANY(%(longer)s::bigint[]) OR (i.event_id <> ALL(%(shorter)s::bigint[])"
    " AND i.at > CASE WHEN here.is_group THEN %(chat_since)s::timestamptz ELSE %(user_since)s::timestamptz END))"
)
_COLUMNS = "e.id, here.uid AS session, e.conversation, e.kind, e.sender_id, e.content, e.at, here.scope_id"
_JOINS = "JOIN sessions_app_sessionevent e ON e.id = best.event_id JOIN here ON here.id = best.session_id"

#: Exact over all rows, with one number a row: its parts are told of the best alone. They are doubles, for decimals,
#: which literals are, take longer to add up than vectors to compare.
_BEST = """
SELECT {columns}, round({covered}::numeric, 3)::float8, {near}, {then}, {cosine} FROM (
    SELECT i.event_id, i.session_id,
        (1 - %(alpha)s::float8) * {covered} + %(alpha)s::float8 * coalesce({near}, %(centroid_similarity)s::float8)
        {boost} AS fused
    {rows} ORDER BY fused DESC, i.event_id DESC LIMIT %(limit)s
) best JOIN sessions_app_eventindex i ON i.event_id = best.event_id {joins}
WHERE {covered} > 0 OR {near} IS NOT NULL ORDER BY fused DESC, e.id DESC
"""
_LATEST = """
SELECT {columns}, 0::float8, NULL::float8, true, NULL::float8 FROM (
    SELECT i.event_id, i.session_id {rows} ORDER BY {core} i.at DESC, i.event_id DESC LIMIT %(limit)s
) best {joins} ORDER BY e.at DESC, e.id DESC
"""
_COVERED = "least(greatest(-(i.keywords <#> %(keywords)s::sparsevec), 0), 1)"
_BOOST = "+ CASE WHEN {then} THEN %(date_boost)s::float8 ELSE 0 END"
#: Inner products: the question is moved and no longer of length 1. A vector of other dimensions waits to be made anew.
_HAS_VECTOR = "CASE WHEN i.model_id = %(model)s AND vector_dims(i.embedding) = %(dimension)s THEN"
_NEAR = f"{_HAS_VECTOR} (-(i.embedding <#> %(centred)s::halfvec) - %(offset)s::float8) / %(span)s::float8 END"
_COSINE = f"{_HAS_VECTOR} -(i.embedding <#> %(vector)s::halfvec) END"


@dataclass(frozen=True)
class _Message:
    """A message, in the order of _COLUMNS and of what each statement adds."""

    pk: int
    session: UUID
    conversation: int
    kind: str
    sender_id: str
    content: str
    at: datetime
    scope_id: int
    covered: float  # share of the question's words
    near: float | None  # on the ranking's scale; None: not compared
    on_named_days: bool  # said on the days that are named
    cosine: float | None
    cap: float = math.inf  # of its score, where something else comes before it

    @property
    def path(self) -> str:
        """As Session.origin names it."""
        return f"{self.place}/event-{self.pk}"

    @property
    def place(self) -> str:
        """As Session.place_of names its conversation."""
        return f"session_events/{self.session}/{self.conversation}"


def session_events(question: PastQuestion, places: Sequence[SearchScope], now: datetime) -> list[RecalledEvent]:
    """The messages that bear on a question about the past, best first. What is ambient was never said to the bot."""
    heard = [place for place in places if not _is_private_here(place)]
    if not heard:
        return []
    scopes = {place.scope.pk: place.scope.key for place in heard}
    known: dict[int, _Message] = {}
    for rows in _searches(question, _Log(question, heard, now)):
        known = {row.pk: row for row in rows} | known
        if any(row.path not in question.history_paths for row in rows):
            break
    best = sorted(known.values(), key=lambda row: (-_score(row, question), -row.at.timestamp()))
    return limit_events([_event(row, question, scopes[row.scope_id]) for row in best], question)


def _is_private_here(place: SearchScope) -> bool:
    return place.ref.in_group and place.scope.kind == ScopeKind.USER


def _searches(question: PastQuestion, log: "_Log") -> Iterator[list[_Message]]:
    """What was said of it, by words and meaning; else on the days that are named, whatever it was.

    Where it was spoken of on the days that are named, those days alone; else these and the best of other days.
    """
    if keywords := _keywords(question.words):
        then = _near_enough(question, log.best(keywords, then=True)) if question.date_ranges else []
        if any(row.covered for row in then):
            yield then
        elsewhere = _near_enough(question, log.best(keywords))
        yield _with_days(question, elsewhere, then or log.latest()) if question.date_ranges else elsewhere
    if question.date_ranges:
        yield log.latest()
    elif not keywords:  # «last time»: the conversation before this one, if there is one
        yield log.latest(closed=True)
        yield log.latest()


def _with_days(question: PastQuestion, elsewhere: Sequence[_Message], then: Sequence[_Message]) -> list[_Message]:
    """The best of other days, and before the others what was said on the days that are named."""
    if not (elsewhere and then):
        return [*elsewhere, *then]
    first, *others = sorted(elsewhere, key=lambda row: -_score(row, question))
    least = min(_score(row, question) for row in then)
    return [first, *then, *(replace(row, cap=least) for row in others if row not in then)]


def _keywords(words: Sequence[str]) -> dict[int, float]:
    """The terms the words are found by; the words count alike, and add up to 1."""
    held = [terms for terms in map(text.terms_of_word, words) if terms]
    shares: dict[int, float] = {}
    for terms in held:
        for term in terms:
            shares[term] = shares.get(term, 0.0) + 1 / (len(held) * len(terms))
    return shares


def _near_enough(question: PastQuestion, rows: Sequence[_Message]) -> list[_Message]:
    """What holds a word, or is near and more than «noted»: the shortest texts are near to whatever is asked."""
    return [
        row
        for row in rows
        if row.covered
        or ((_similarity(row, question) or -1.0) >= question.floor and text.count_tokens(row.content) >= LEAST_TOKENS)
    ]


def _similarity(row: _Message, question: PastQuestion) -> float | None:
    if question.vector is None or row.cosine is None:
        return None
    return similarity(question.vector, row.cosine, question.message, row.content)


def _score(row: _Message, question: PastQuestion) -> float:
    """What another said counts less where somebody asks about themselves; what the bot said is no other's."""
    is_anothers = question.asker is not None and row.sender_id not in ("", question.asker)
    share = OTHERS_FACTOR if is_anothers else 1.0
    matched = question.score(row.covered, row.near, on_named_days=row.on_named_days) if question.words else 1.0
    return min(share * (matched + question.core_boost(row.at)), row.cap)


def _event(row: _Message, question: PastQuestion, scope: str) -> RecalledEvent:
    return RecalledEvent(
        kind=KIND,
        path=row.path,
        scope=scope,
        role=row.kind,
        sender_id=row.sender_id,
        content=row.content,
        at=row.at,
        covered=row.covered if question.words else 1.0,
        score=_score(row, question),
        similarity=_similarity(row, question),
    )


@dataclass(frozen=True)
class _Log:
    """What was said in the scopes that are asked, but for what people took out."""

    question: PastQuestion
    places: Sequence[SearchScope]
    now: datetime

    def best(self, keywords: dict[int, float], *, then: bool = False) -> list[_Message]:
        """By words and meaning; of the days that are named alone, or of all."""
        on_days, days = self._on_days()
        vector = self.question.vector
        near = {"near": _NEAR, "cosine": _COSINE} if vector else dict.fromkeys(("near", "cosine"), "NULL::float8")
        parts = {**near, "covered": _COVERED, "boost": _BOOST if days else "", "then": on_days or "false"}
        weights = {"alpha": self.question.alpha, "date_boost": self.question.date_boost}
        pointed = vector.sql_parameters() if vector else {"centroid_similarity": 0.0}
        parameters = days | pointed | weights | {"keywords": sparse_literal(keywords)}
        return self._read(_BEST, parts, parameters, [on_days] if then else [])

    def latest(self, *, closed: bool = False) -> list[_Message]:
        """The newest of the days that are named, or of all; or only of conversations that are closed."""
        then, days = self._on_days()
        core, cores = self._in_core()
        return self._read(
            _LATEST, {"core": core}, days | cores, [then, "i.conversation < here.conversation" if closed else ""]
        )

    def _on_days(self) -> tuple[str, dict[str, Any]]:
        """Whether a row is of the days that are named, in SQL; nothing when none are."""
        moments = dict(enumerate(self.question.date_ranges))
        each = [f"(i.at >= %(from{n})s AND i.at < %(to{n})s)" for n in moments]
        begins = {f"from{n}": moment.start for n, moment in moments.items()}
        ends = {f"to{n}": moment.end for n, moment in moments.items()}
        return f"({' OR '.join(each)})" if each else "", begins | ends

    def _in_core(self) -> tuple[str, dict[str, Any]]:
        """What is meant most of the days that are named, first."""
        cores = [moment.core for moment in self.question.date_ranges if moment.core]
        each = [f"(i.at >= %(core{n}_0)s AND i.at < %(core{n}_1)s)" for n, _ in enumerate(cores)]
        ends = {f"core{n}_{end}": core[end] for n, core in enumerate(cores) for end in (0, 1)}
        return f"({' OR '.join(each)}) DESC," if each else "", ends

    def _read(
        self, statement: str, parts: dict[str, str], parameters: dict[str, Any], where: Sequence[str] = ()
    ) -> list[_Message]:
        question = self.question
        between = ["i.at >= %(since)s" if question.since else "", "i.at < %(until)s" if question.until else ""]
        conditions = " AND ".join(filter(None, ["i.kind <> %(summary)s", _RETAINED, *between, *where]))
        statement = _HERE + statement
        for name, part in {
            "columns": _COLUMNS,
            "joins": _JOINS,
            "rows": _ROWS,
            **parts,
            "conditions": conditions,
        }.items():
            statement = statement.replace(f"{{{name}}}", part)
        parameters = parameters | {
            "workspace": question.workspace_id,
            "users": self._scopes(ScopeKind.USER),
            "chats": self._scopes(ScopeKind.CHAT),
            "summary": EventKind.SUMMARY.value,
            "since": question.since,
            "until": question.until,
            **self._terms,
            "limit": CANDIDATES + len(question.history_paths),
        }
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            rows = [_Message(*row) for row in cursor.fetchall()]
        return redaction.redact(rows, redaction.redacted_in(question.workspace_id, {row.place for row in rows}))

    @cached_property
    def _terms(self) -> dict[str, Any]:
        """Which messages are still told, in SQL."""
        question, ends = self.question, {}
        for kind in (ScopeKind.USER, ScopeKind.CHAT):
            ends[kind] = retention_of(question.workspace_id, self._scopes(kind), kind, question.policies, self.now)
        return {
            "longer": list(ends[ScopeKind.USER].longer | ends[ScopeKind.CHAT].longer),
            "shorter": list(ends[ScopeKind.USER].shorter | ends[ScopeKind.CHAT].shorter),
            "user_since": ends[ScopeKind.USER].since or "-infinity",
            "chat_since": ends[ScopeKind.CHAT].since or "-infinity",
        }

    def _scopes(self, kind: ScopeKind) -> list[int]:
        return [place.scope.pk for place in self.places if place.scope.kind == kind]
