"""From what a store was told and asked to the work that follows of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from memplatform_shadow.events import (
    Added,
    Asked,
    Changed,
    Deleted,
    DeletedAll,
    Event,
    Fact,
    Hit,
    Seen,
    Whose,
)

FACTS, MESSAGES = "facts", "messages"
_MOST_MESSAGES = 100  # in one call
Body = dict[str, Any]


def work_of(event: Event, mode: str, at: float) -> Iterator[Body]:
    """What is to be mirrored or compared, in order; `at` is when it happened, in seconds since 1970."""
    match event:
        case Added():
            yield from _added(event, mode, at)
        case Changed():
            yield {"kind": "write", "op": "change", "there": [event.id], "changes": dict(event.changes)}
        case Deleted():
            yield {"kind": "write", "op": "delete", "there": [event.id]}
        case DeletedAll():
            about = {"filters": dict(event.filters), "everything": event.everything}
            yield {"kind": "write", "op": "delete_all", "there": [], **about}
        case Asked():
            asked = {"query": event.query, "filters": dict(event.filters), "limit": event.limit}
            yield {"kind": "read", **asked, "hits": packed(event.hits)}
        case Seen():
            yield {"kind": "seen", "hits": packed(event.hits)}


def _added(event: Added, mode: str, at: float) -> Iterator[Body]:
    about = {"left_out": list(event.left_out)} if event.left_out else {}
    if mode == MESSAGES or event.facts is None:
        yield from _as_messages(event, at, about | ({"untold": True} if event.facts is None else {}))
        return
    for fact in event.facts:
        yield _of_fact(fact, event, at) | about
    if not event.facts:
        yield {"kind": "write", "op": "nothing", "there": [], "whose": dict(event.whose), **about}


def _of_fact(fact: Fact, event: Added, at: float) -> Body:
    whose = dict(event.whose)
    if fact.event == "ADD":
        spoken = [{"role": "user", "content": fact.text}]
        return {**_add([fact.id], whose, _add_body(event, spoken, at, infer=False)), "text": fact.text}
    body = {"kind": "write", "there": [fact.id], "whose": whose}
    if fact.event == "UPDATE":
        return {**body, "op": "change", "changes": {"text": fact.text}}
    return {**body, "op": "delete" if fact.event == "DELETE" else "nothing"}


def _as_messages(event: Added, at: float, about: Body) -> Iterator[Body]:
    there = [fact.id for fact in event.facts or () if fact.event == "ADD"]
    for begin in range(0, len(event.messages), _MOST_MESSAGES):
        some = [dict(one) for one in event.messages[begin : begin + _MOST_MESSAGES]]
        yield _add(there, dict(event.whose), _add_body(event, some, at, infer=event.infer)) | about


def _add(there: list[str], whose: Whose, body: Body) -> Body:
    return {"kind": "write", "op": "add", "there": there, "whose": whose, "body": {**whose, **body}}


def _add_body(event: Added, messages: list[Body], at: float, *, infer: bool) -> Body:
    """With the time it happened, which is another than that of its arrival after an outage."""
    body: Body = {"messages": messages, "infer": infer, "timestamp": event.timestamp or round(at, 3)}
    body |= {"metadata": dict(event.metadata)} if event.metadata else {}
    return body | ({"expiration_date": event.expiration_date} if event.expiration_date else {})


def packed(hits: Iterable[Hit]) -> list[list[Any]]:
    """Hits as they are kept."""
    return [[hit.id, hit.text, hit.score, dict(hit.whose)] for hit in hits]


def unpacked(rows: Iterable[list[Any]]) -> list[Hit]:
    return [Hit(*row) for row in rows]
