"""Writing down what a recall did, before it is answered (F5)."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction

from memories.conf import conf
from memories.models import RecallTrace
from memories.recall.query import Query
from memories.recall.retrievers import RecalledEvent

if TYPE_CHECKING:
    from memories.recall import Recall


@dataclass(frozen=True)
class TracedEvent:
    """Something that was said, as a trace keeps it: where it is to be read, and why it was told."""

    path: str
    score: float
    memory: str | None = None  # the id of a served memory that rests on it
    words: float | None = None  # share of the telling words it holds
    similarity: float | None = None
    version: int | None = None  # of the event of a day; a message never changes


def write(query: Query, result: "Recall", now: datetime) -> RecallTrace:
    """The trace of a recall. It does not wait for the disk: a crash may lose the last ones, never a memory."""
    trace = RecallTrace(
        workspace_id=query.workspace_id,
        bot_id=query.bot_id,
        scopes=[scope.pk for scope in query.scopes],
        scope_keys=list(query.scope_keys) or [scope.key for scope in query.scopes],
        session_key=query.session_key,
        message=query.message,
        query=_asked(query),
        rule=result.need.rule,
        served=[item.entry.pk for item in result.served],
        versions=[item.entry.version for item in result.served],
        evidence=_told(result),
        candidates=result.explained,
        degraded=result.degraded,
        timings=result.timings,
        tokens=result.tokens,
        created_at=now,
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
        trace.save(force_insert=True)
    return trace


def is_sampled() -> bool:
    """Whether the candidates of the next recall are kept."""
    return conf.TRACE_SAMPLE >= 1 or secrets.randbelow(10_000) < conf.TRACE_SAMPLE * 10_000


def _asked(query: Query) -> dict[str, Any]:
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
        "need": query.need,
        "quotas": query.quotas,
        "token_budget": query.token_budget,
        "include_session_events": None if query.include_session_events else False,
        "heard": _heard(query),
        "asker": query.asker or None,
    }
    return {name: value for name, value in asked.items() if value not in (None, {}, [])}


def _heard(query: Query) -> dict[str, str | None]:
    """By scope, of whose memories only a part may be heard in the group: the chat it has to come from; None: any."""
    return {str(place.scope.pk): place.ref.only_chat for place in query.places if place.ref.in_group}


def _told(result: "Recall") -> dict[str, Any]:
    """The verdict with its signs, and the days that were understood, each with the words that named them."""
    if not result.need.retrieve:
        return {}
    told = result.evidence.told()
    if result.cached_from is not None:
        told |= {"cached_from": str(result.cached_from)}
    if result.events:  # of the retriever that found them, with their scores and the memories that rest on them
        told |= {"events": [_event(event) for event in result.events]}
    days = [[moment.start.isoformat(), moment.end.isoformat(), moment.words] for moment in result.date_ranges]
    return told | {"days": days}


def _event(event: RecalledEvent) -> list[Any]:
    """As `events_of` reads it."""
    similarity = None if event.similarity is None else round(event.similarity, 4)
    return [event.path, round(event.score, 4), event.memory, round(event.covered, 4), similarity, event.version]


def events_of(trace: RecallTrace) -> list[TracedEvent]:
    """What a recall found of the past, best first; traces of before know neither words nor similarity."""
    return [TracedEvent(*row) for row in trace.evidence.get("events", [])]
