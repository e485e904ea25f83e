"""The calls of mem0, as events: its library (`Memory`, `AsyncMemory`) and its clients of the hosted service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memplatform_shadow.events import (
    IDS,
    Added,
    Answered,
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

_KNOWN_OF_ADD = {*IDS, "messages", "metadata", "infer", "timestamp", "expiration_date", "filters", "options"}
_HOSTED_SEARCH, _HOSTED_PAGE = 10, 100  # what the hosted service hands out, unless it is told
#: They change nothing of what is remembered.
_HARMLESS = {"async_mode", "output_format", "version", "llm"}


class Mem0:
    """What mem0 was told and asked, read of each call that writes or reads."""

    def add(self, call: Answered) -> Event:
        given = _given(call.arguments)
        results = _results(call.answer)
        facts = [_fact(one) for one in results if one.get("id") and _text(one)]
        untold = not facts and (results or not _has_results(call.answer))
        ends = given.get("expiration_date")
        unanswered = [name for name, value in given.items() if value is not None and name not in _KNOWN_OF_ADD]
        return Added(
            whose=_whose(given),
            facts=None if untold else facts,
            messages=_messages(given.get("messages")),
            infer=given.get("infer") is not False,
            metadata=given.get("metadata") or None,
            timestamp=given.get("timestamp"),
            expiration_date=None if ends is None else str(ends)[:10],
            left_out=sorted(set(unanswered) - _HARMLESS),
        )

    def search(self, call: Answered) -> Event:
        given = _given(call.arguments)
        limit = _limit(given, call, ("top_k", "limit")) or _HOSTED_SEARCH
        return Asked(str(given["query"]), _filters(given), _hits(call.answer), limit)

    def get_all(self, call: Answered) -> Event:
        given = _given(call.arguments)
        limit = _limit(given, call, ("page_size", "top_k", "limit")) or _HOSTED_PAGE
        return Asked(None, _filters(given), _hits(call.answer), limit)

    def get(self, call: Answered) -> Event:
        return Seen([_hit(call.answer)] if isinstance(call.answer, Mapping) and call.answer.get("id") else [])

    def update(self, call: Answered) -> Event:
        return _changed(_given(call.arguments))

    def delete(self, call: Answered) -> Event:
        return Deleted(str(call.arguments["memory_id"]))

    def delete_all(self, call: Answered) -> Event:
        return DeletedAll(_filters(_given(call.arguments)))

    def delete_users(self, call: Answered) -> Event:
        whose = _whose(_given(call.arguments))
        return DeletedAll(whose, everything=not whose)

    def reset(self, call: Answered) -> Event:
        return DeletedAll({}, everything=True)

    def batch_update(self, call: Answered) -> Iterator[Event]:
        for one in call.arguments["memories"]:
            yield _changed(one)

    def batch_delete(self, call: Answered) -> Iterator[Event]:
        for one in call.arguments["memories"]:
            yield Deleted(str(one["memory_id"]))


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, those of typed options among them."""
    options = arguments.get("options")
    typed = options.model_dump(exclude_unset=True) if options is not None else {}
    return {**typed, **{name: value for name, value in arguments.items() if name != "options"}}


def _limit(given: Mapping[str, Any], call: Answered, names: tuple[str, ...]) -> int | None:
    """How many were asked for: as it was said, else what the library takes by itself."""
    values = [given.get(name) for name in names] + [call.defaults.get(name) for name in names]
    return next((number for number in values if isinstance(number, int)), None)


def _whose(given: Mapping[str, Any]) -> Whose:
    """The ids, as mem0 reads them: of any type, without spaces around."""
    inner = given.get("filters")
    named = {**(inner if isinstance(inner, Mapping) else {}), **{n: given[n] for n in IDS if given.get(n) is not None}}
    return {name: str(named[name]).strip() for name in IDS if named.get(name) is not None}


def _filters(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The filter; ids that older versions take beside it belong to it."""
    ids = {name: str(given[name]) for name in IDS if given.get(name) is not None}
    inner = given.get("filters") or {}
    return {**ids, **inner} if isinstance(inner, Mapping) else {"AND": [ids, *inner]}


def _messages(given: Any) -> list[Mapping[str, Any]]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    several = [given] if isinstance(given, Mapping) else list(given)
    return [{"role": one.get("role"), "content": one.get("content")} for one in several]


def _changed(given: Mapping[str, Any]) -> Changed:
    text = given.get("text") if given.get("text") is not None else given.get("data")
    changes = {"text": text, "metadata": given.get("metadata")}
    kept = {name: value for name, value in changes.items() if value is not None}
    ends = given.get("expiration_date")
    if isinstance(ends, str) or hasattr(ends, "isoformat") or ("expiration_date" in given and ends is None):
        kept["expiration_date"] = None if ends is None else str(ends)[:10]
    return Changed(str(given["memory_id"]), kept)


def _has_results(answer: Any) -> bool:
    return isinstance(answer, list) or (isinstance(answer, Mapping) and "results" in answer)


def _results(answer: Any) -> list[Mapping[str, Any]]:
    rows = answer.get("results") if isinstance(answer, Mapping) else answer
    return [one for one in rows or [] if isinstance(one, Mapping)]


def _text(result: Mapping[str, Any]) -> str:
    data = result.get("data")
    return str(result.get("memory") or (data.get("memory") if isinstance(data, Mapping) else data) or "")


def _fact(result: Mapping[str, Any]) -> Fact:
    return Fact(str(result["id"]), _text(result), str(result.get("event") or "ADD").upper())


def _hits(answer: Any) -> list[Hit]:
    return [_hit(one) for one in _results(answer) if one.get("id")]


def _hit(result: Mapping[str, Any]) -> Hit:
    whose = {name: str(result[name]) for name in IDS if result.get(name)}
    return Hit(str(result["id"]), _text(result), result.get("score"), whose)
