"""The trace of a recall: written before it is answered, read again, and asked again later (F5)."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models import Field, JSONField

from memories.choices import ScopeKind
from memories.conf import conf
from memories.language import text
from memories.models import Entry, RecallTrace, Scope
from memories.recall.question.query import Query, SearchScope, searched_part
from memories.recall.ranking.scoring import Ranked
from memories.recall.retrieval.retrievers import RecalledEvent
from memories.tenancy.resolver import ScopeRef

if TYPE_CHECKING:
    from memories.recall import Recall


_FIELDS = [field for field in RecallTrace._meta.concrete_fields if not field.primary_key]
#: One statement, and a transaction of its own where it is in none.
_INSERT = f"""
WITH quick AS (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO memories_recalltrace ({", ".join(field.attname for field in _FIELDS)})
SELECT {", ".join(["%s"] * len(_FIELDS))} FROM quick RETURNING id
"""  # noqa: S608 (names of ours)


@dataclass(frozen=True)
class TracedEvent:
    """Something that was said, as a trace keeps it: where it is to be read, and why it was told."""

    path: str
    score: float
    memory: str | None = None  # the id of a served memory that rests on it
    words: float | None = None  # share of the question's words it holds
    similarity: float | None = None
    version: int | None = None  # of the event of a day; a message never changes


@dataclass(frozen=True)
class RankChange:
    """One memory, and its place among the served then and now; None: it is not among them."""

    entry_id: int
    before: int | None
    now: int | None

    @property
    def change(self) -> str:
        """«came», «went», «up», «down» or «stayed»."""
        if self.before is None:
            return "came"
        if self.now is None:
            return "went"
        return "stayed" if self.now == self.before else "up" if self.now < self.before else "down"


def write(query: Query, result: "Recall", now: datetime) -> RecallTrace:
    """The trace of a recall. It does not wait for the disk: a crash may lose the last ones, never a memory."""
    trace = RecallTrace(
        workspace_id=query.workspace_id,
        bot_id=query.bot_id,
        scopes=query.scope_ids,
        scope_keys=list(query.scope_keys) or [scope.key for scope in query.scopes],
        session_key=query.session_key,
        message=query.message,
        terms=question_terms(query.message),
        asker=query.asker,
        query=asked_json(query),
        rule=result.need.rule,
        served=[item.entry.pk for item in result.served],
        versions=[item.entry.version for item in result.served],
        evidence=_answerability_json(result),
        candidates=result.explained,
        degraded=result.degraded,
        timings=result.timings,
        tokens=result.tokens,
        created_at=now,
    )
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [_column(field, getattr(trace, field.attname)) for field in _FIELDS])
        (trace.pk,) = cursor.fetchone()
    trace._state.adding = False
    return trace


def _column(field: Field[Any, Any], value: Any) -> Any:
    """A value as the driver takes it: all but JSON as it is."""
    is_json = isinstance(field, JSONField) and value is not None
    return connection.ops.adapt_json_value(value, None) if is_json else value


def question_terms(message: str) -> list[int]:
    """What a trace is found by: the index terms of what is searched of a message, and its Chinese characters."""
    said = searched_part(message)
    return sorted({*text.terms(said), *map(text.dimension_of, text.characters(said))})


def is_sampled() -> bool:
    """Whether the candidates of the next recall are kept."""
    return conf.TRACE_SAMPLE >= 1 or secrets.randbelow(10_000) < conf.TRACE_SAMPLE * 10_000


def events_of(trace: RecallTrace) -> list[TracedEvent]:
    """What a recall found of the past, best first; traces of before know neither words nor similarity."""
    return [TracedEvent(*row) for row in trace.evidence.get("events", [])]


def asked_json(query: Query) -> dict[str, Any]:
    """What was asked besides the message; nothing that was left at its default."""
    asked = {
        "limit": query.limit,
        "mode": query.mode,
        "types": query.types and list(query.types),
        "filters": dict(query.filters),
        "project": query.project,
        "topic": query.topic,
        "since": query.since and query.since.isoformat(),
        "until": query.until and query.until.isoformat(),
        "narrowed": query.among is not None or None,
        "need": query.need,
        "quotas": query.quotas,
        "nearest": query.nearest or None,
        "token_budget": query.token_budget,
        "include_session_events": None if query.include_session_events else False,
        "always_events": query.always_events or None,
        # by scope, of whose memories only a part may be heard in the group: the chat it has to come from; None: any
        "heard": {str(place.scope.pk): place.ref.only_chat for place in query.places if place.ref.in_group},
        "asker": query.asker or None,
        "as_of": query.as_of and query.as_of.isoformat(),
        "resolved": {said: list(meant) for said, meant in query.resolved},
        # not whom they mean: that is a memory's word, which may be taken out
        "relations": [said for said, _meant in query.relations],
    }
    return {name: value for name, value in asked.items() if value not in (None, {}, [])}


def _answerability_json(result: "Recall") -> dict[str, Any]:
    """The verdict with its signs, and the days that were understood, each with the words that named them."""
    if not result.need.retrieve:
        return {}
    row = result.answerability.as_json()
    if result.cached_from is not None:
        row |= {"cached_from": str(result.cached_from)}
    if result.events:  # of the retriever that found them, with their scores and the memories that rest on them
        row |= {"events": [_event_row(event) for event in result.events]}
    return row | {"days": [[day.start.isoformat(), day.end.isoformat(), day.words] for day in result.date_ranges]}


def _event_row(event: RecalledEvent) -> list[Any]:
    """The fields of a TracedEvent."""
    similarity = None if event.similarity is None else round(event.similarity, 4)
    return [event.path, round(event.score, 4), event.memory, round(event.covered, 4), similarity, event.version]


# -- asking again


def query_of(trace: RecallTrace) -> Query:
    """What a trace says was asked, under the same walls; scopes that are gone are not asked again."""
    return query_from(
        trace.query,
        served=trace.served,
        workspace_id=trace.workspace_id,
        places=_places(trace),
        message=trace.message,
        session_key=trace.session_key,
        scope_keys=trace.scope_keys,
        bot_id=trace.bot_id,
        asker=trace.query.get("asker", ""),
        explain=True,
    )


def query_from(asked: Mapping[str, Any], *, served: Sequence[int], **given: Any) -> Query:
    """The query of what `asked_json` kept, asked of memory as it is; `given` are the fields that are not kept there."""
    return Query(
        limit=asked["limit"],
        mode=asked.get("mode", "hybrid"),
        types=asked.get("types"),
        filters=asked.get("filters", {}),
        project=asked.get("project"),
        topic=asked.get("topic"),
        since=moment_from(asked.get("since")),
        until=moment_from(asked.get("until")),
        # a door's filter is not kept: of what it named, that which was served is asked for again
        among=Entry.objects.filter(pk__in=served) if asked.get("narrowed") else None,
        need=asked["need"],
        quotas=asked["quotas"],
        nearest=asked.get("nearest", False),
        token_budget=asked.get("token_budget", 1_000),
        include_session_events=asked.get("include_session_events", True),
        always_events=asked.get("always_events", False),
        resolved=tuple((said, tuple(meant)) for said, meant in asked.get("resolved", {}).items()),
        **given,
    )


def rank_changes(trace: RecallTrace, served: Sequence[Ranked]) -> list[RankChange]:
    """What is served now in its order, then what no longer is."""
    before = {entry: place for place, entry in enumerate(trace.served, start=1)}
    now = {item.entry.pk: place for place, item in enumerate(served, start=1)}
    return [RankChange(entry, before.get(entry), now.get(entry)) for entry in dict.fromkeys([*now, *before])]


def _places(trace: RecallTrace) -> list[SearchScope]:
    scopes = Scope.objects.in_workspace(trace.workspace_id).in_bulk(trace.scopes)
    known = [scopes[pk] for pk in trace.scopes if pk in scopes]
    chat = next((scope.key for scope in known if scope.kind == ScopeKind.CHAT), None)
    return [SearchScope(scope, _ref(scope, trace, chat)) for scope in known]


def _ref(scope: Scope, trace: RecallTrace, chat: str | None) -> ScopeRef:
    """What of a scope was heard; of traces that do not tell, what a group hears by default."""
    heard = trace.query.get("heard")
    if heard is None:
        only_chat = chat if scope.kind == ScopeKind.USER else None
        return ScopeRef(key=scope.key, kind=scope.kind, only_chat=only_chat, in_group=chat is not None)
    guarded = str(scope.pk) in heard
    return ScopeRef(key=scope.key, kind=scope.kind, only_chat=heard.get(str(scope.pk)), in_group=guarded)


def moment_from(iso: str | None) -> datetime | None:
    """A moment that `asked_json` kept."""
    return datetime.fromisoformat(iso) if iso else None
