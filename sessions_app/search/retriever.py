"""The retriever of session events: messages word for word, for questions about the past (C5, C6).

A group's messages belong to the chat, a direct chat's to its user (C4). A person's private messages are never found in
a group, not even in one that may recall everything: a message has no category that says it is a password.
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
from memories.index.search_rows import sparse_literal
from memories.language import text
from memories.recall.events import PastQuestion, RecalledEvent, limit_events
from memories.recall.people import OTHERS_FACTOR
from memories.recall.query import SearchScope
from memories.recall.vector import similarity
from sessions_app.history import retention
from sessions_app.history.retention import retention_of
from sessions_app.models import SENDER_NAME, EventKind, conversation_path

KIND = "session_event"
#: Read before redacted ones are left out, and those that are too dissimilar.
CANDIDATES = 40
#: Of a message found by its meaning alone; «记住了» and «Noted.» are shorter.
LEAST_TOKENS = 3

#: The sessions of the searched scopes, by an index each.
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
#: Their rows, without summaries, which do not show whether a redacted message is among their sources.
_ROWS = "FROM here JOIN sessions_app_eventindex i ON i.session_id = here.id WHERE {conditions}"
#: Within the retention of a person's messages, and of a group's.
_RETAINED = (
    "(i.event_id = ANY(%(longer)s::bigint[]) OR (i.event_id <> ALL(%(shorter)s::bigint[])"
    " AND i.at > CASE WHEN here.is_group THEN %(chat_since)s::timestamptz ELSE %(user_since)s::timestamptz END))"
)
_COLUMNS = (
    "e.id, here.uid AS session, e.conversation, e.kind, e.sender_id,"
    f" coalesce(e.data->>'{SENDER_NAME}', ''), e.content, e.at, here.scope_id"
)
_JOINS = "JOIN sessions_app_sessionevent e ON e.id = best.event_id JOIN here ON here.id = best.session_id"

#: Exact over all rows, with one score a row; its parts are computed again for the best alone. They are doubles, since
#: decimals, which literals are, take longer to add up than vectors to compare.
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
#: Inner products, as the centred query is not of length 1. A vector of other dimensions waits to be made again.
_HAS_VECTOR = "CASE WHEN i.model_id = %(model)s AND vector_dims(i.embedding) = %(dimension)s THEN"
_NEAR = f"{_HAS_VECTOR} (-(i.embedding <#> %(centred)s::halfvec) - %(offset)s::float8) / %(span)s::float8 END"
_COSINE = f"{_HAS_VECTOR} -(i.embedding <#> %(vector)s::halfvec) END"


@dataclass(frozen=True)
class _EventRow:
    """A message, in the order of _COLUMNS and of what each statement adds."""

    pk: int
    session: UUID
    conversation: int
    kind: str
    sender_id: str
    sender_name: str  # at the time
    content: str
    at: datetime
    scope_id: int
    covered: float  # share of the question's words
    near: float | None  # on the ranking's scale; None: not compared
    on_named_days: bool
    cosine: float | None
    cap: float = math.inf  # of its score, where other rows come first

    @property
    def path(self) -> str:
        return f"{self.conversation_path}/event-{self.pk}"

    @property
    def conversation_path(self) -> str:
        return conversation_path(self.session, self.conversation)


def session_events(question: PastQuestion, places: Sequence[SearchScope], now: datetime) -> list[RecalledEvent]:
    """The messages that bear on a question about the past, best first; none that are ambient."""
    open_places = [place for place in places if not _is_private_here(place)]
    if not open_places:
        return []
    scopes = {place.scope.pk: place.scope.key for place in open_places}
    rows_by_id: dict[int, _EventRow] = {}
    for rows in _searches(question, _Log(question, open_places, now)):
        rows_by_id = {row.pk: row for row in rows} | rows_by_id
        if any(row.path not in question.history_paths for row in rows):
            break
    best = sorted(rows_by_id.values(), key=lambda row: (-_score(row, question), -row.at.timestamp()))
    events = [
        RecalledEvent(
            kind=KIND,
            path=row.path,
            scope=scopes[row.scope_id],
            role=row.kind,
            sender_id=row.sender_id,
            called=row.sender_name,
            content=row.content,
            at=row.at,
            covered=row.covered if question.words else 1.0,
            score=_score(row, question),
            similarity=_similarity(row, question),
        )
        for row in best
    ]
    return limit_events(events, question)


def _is_private_here(place: SearchScope) -> bool:
    """Whether it is asked in a group, of a memory that is somebody's own; a test takes this wall away."""
    return place.ref.in_group and place.scope.kind == ScopeKind.USER


def _searches(question: PastQuestion, log: "_Log") -> Iterator[list[_EventRow]]:
    """Searches in order, until one finds what the client does not have.

    By words and meaning, on the named days alone where a message there has a word of the question; else on all days,
    beside the messages of the named days.
    """
    # The terms the words are found by; the words count alike, and add up to 1
    terms_of_words = [terms for terms in map(text.terms_of_word, question.words) if terms]
    keywords: dict[int, float] = {}
    for terms in terms_of_words:
        for term in terms:
            keywords[term] = keywords.get(term, 0.0) + 1 / (len(terms_of_words) * len(terms))
    if keywords:
        then = _relevant(question, log.best(keywords, on_named_days=True)) if question.date_ranges else []
        if any(row.covered for row in then):
            yield then
        anytime = _relevant(question, log.best(keywords))
        if question.date_ranges and (then := then or log.latest()) and anytime:
            # The best row of all days, the rows of the named days, and after these the others
            first, *others = sorted(anytime, key=lambda row: -_score(row, question))
            least = min(_score(row, question) for row in then)
            yield [first, *then, *(replace(row, cap=least) for row in others if row not in then)]
        else:
            yield [*anytime, *then]
    if question.date_ranges:
        yield log.latest()
    elif not keywords:  # «last time»: the conversation before this one, if there is one
        yield log.latest(closed=True)
        yield log.latest()


def _relevant(question: PastQuestion, rows: Sequence[_EventRow]) -> list[_EventRow]:
    """Rows with a word of the question, and similar ones; the shortest texts are similar to whatever is asked."""
    return [
        row
        for row in rows
        if row.covered
        or ((_similarity(row, question) or -1.0) >= question.floor and text.count_tokens(row.content) >= LEAST_TOKENS)
    ]


def _similarity(row: _EventRow, question: PastQuestion) -> float | None:
    if question.vector is None or row.cosine is None:
        return None
    return similarity(question.vector, row.cosine, question.message, row.content)


def _score(row: _EventRow, question: PastQuestion) -> float:
    """Messages of others count less where somebody asks about themselves; the bot's do not."""
    is_anothers = question.asker is not None and row.sender_id not in ("", question.asker)
    share = OTHERS_FACTOR if is_anothers else 1.0
    matched = question.score(row.covered, row.near, on_named_days=row.on_named_days) if question.words else 1.0
    return min(share * (matched + question.core_boost(row.at)), row.cap)


@dataclass(frozen=True)
class _Log:
    """The messages of the searched scopes, without redacted ones and those past their retention."""

    question: PastQuestion
    places: Sequence[SearchScope]
    now: datetime

    def best(self, keywords: dict[int, float], *, on_named_days: bool = False) -> list[_EventRow]:
        """The best rows by words and meaning; of the named days alone, or of all."""
        then, days = self._on_named_days()
        vector = self.question.vector
        near = {"near": _NEAR, "cosine": _COSINE} if vector else dict.fromkeys(("near", "cosine"), "NULL::float8")
        parts = {**near, "covered": _COVERED, "boost": _BOOST if days else "", "then": then or "false"}
        weights = {"alpha": self.question.alpha, "date_boost": self.question.date_boost}
        centred = vector.sql_parameters() if vector else {"centroid_similarity": 0.0}
        parameters = days | centred | weights | {"keywords": sparse_literal(keywords)}
        return self._read(_BEST, parts, parameters, [then] if on_named_days else [])

    def latest(self, *, closed: bool = False) -> list[_EventRow]:
        """The newest rows of the named days, or of all; or only of closed conversations."""
        then, days = self._on_named_days()
        core, cores = _within("core", [range_.core for range_ in self.question.date_ranges if range_.core])
        parts = {"core": f"{core} DESC," if core else ""}
        return self._read(_LATEST, parts, days | cores, [then, "i.conversation < here.conversation" if closed else ""])

    def _on_named_days(self) -> tuple[str, dict[str, Any]]:
        return _within("day", [(range_.start, range_.end) for range_ in self.question.date_ranges])

    def _read(
        self, statement: str, parts: dict[str, str], parameters: dict[str, Any], where: Sequence[str]
    ) -> list[_EventRow]:
        question = self.question
        between = ["i.at >= %(since)s" if question.since else "", "i.at < %(until)s" if question.until else ""]
        conditions = " AND ".join(filter(None, ["i.kind <> %(summary)s", _RETAINED, *between, *where]))
        parts = {"columns": _COLUMNS, "joins": _JOINS, "rows": _ROWS, **parts, "conditions": conditions}
        statement = _HERE + statement
        for name, part in parts.items():
            statement = statement.replace(f"{{{name}}}", part)
        parameters = parameters | {
            "workspace": question.workspace_id,
            "users": self._scopes(ScopeKind.USER),
            "chats": self._scopes(ScopeKind.CHAT),
            "summary": EventKind.SUMMARY.value,
            "since": question.since,
            "until": question.until,
            **self._retention,
            "limit": CANDIDATES + len(question.history_paths),
        }
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            rows = [_EventRow(*row) for row in cursor.fetchall()]
        conversations = {row.conversation_path for row in rows}
        return retention.redact(rows, retention.redacted_in(question.workspace_id, conversations))

    @cached_property
    def _retention(self) -> dict[str, Any]:
        """The parameters of _RETAINED."""
        workspace_id, policies = self.question.workspace_id, self.question.policies
        user, chat = (
            retention_of(workspace_id, self._scopes(kind), kind, policies, self.now)
            for kind in (ScopeKind.USER, ScopeKind.CHAT)
        )
        return {
            "longer": list(user.longer | chat.longer),
            "shorter": list(user.shorter | chat.shorter),
            "user_since": user.since or "-infinity",
            "chat_since": chat.since or "-infinity",
        }

    def _scopes(self, kind: ScopeKind) -> list[int]:
        return [place.scope.pk for place in self.places if place.scope.kind == kind]


def _within(name: str, ranges: Sequence[tuple[datetime, datetime]]) -> tuple[str, dict[str, Any]]:
    """Whether a row is within one of these time ranges, in SQL with its parameters; empty where there are none."""
    each = [f"(i.at >= %({name}{n}_start)s AND i.at < %({name}{n}_end)s)" for n in range(len(ranges))]
    starts = {f"{name}{n}_start": start for n, (start, _end) in enumerate(ranges)}
    ends = {f"{name}{n}_end": end for n, (_start, end) in enumerate(ranges)}
    return f"({' OR '.join(each)})" if each else "", starts | ends
