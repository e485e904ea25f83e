"""What services and frameworks for memory answer when all of it is asked for.

LangGraph: items of its store, each a value under a namespace and a key. memobase: profiles and events of a user.
Hindsight: memory units of a bank, or the archive of one, a file a document. supermemory: entries, or documents.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from memories.imports.batch import LeftOut, LeftOutReason
from memories.imports.bundle import Bundle, FileItem, Member, Reader, fact, items, profile, slots_of, time_of


def _each(
    bundle: Bundle, lists: Iterable[tuple[str, ...]], *names: str
) -> Iterator[tuple[Member, int, dict[str, Any]]]:
    """The items of every list a file has, whichever of its names it bears; else those of its list, or of its lines."""
    for member in bundle.named(*names):
        beginning = member.beginning
        there = [paths for paths in lists if any(f'"{path.rpartition(".")[2]}"' in beginning for path in paths)]
        is_object = beginning.lstrip()[:1] == "{"
        for paths in there if is_object and there else [()]:
            for number, item in items(bundle, member, *paths):
                yield member, number, item


#: Where a value of a store holds the words of a memory.
_WORDS = ("content", "text", "memory", "data", "fact")


def read_langgraph(bundle: Bundle) -> Reader:
    """The items of a store, each a fact; whose it is the namespace says, or a part of it. Raises FileRefused."""
    for member, number, item in _each(bundle, [("items",)], "*.json*"):
        namespace = [str(part) for part in item.get("namespace") or ()]
        value = item.get("value") or {}
        try:
            at = time_of(item.get("updated_at") or item.get("updatedAt") or item.get("created_at"))
        except ValueError as problem:
            yield LeftOut(member.path, LeftOutReason.UNSTORABLE, number, str(problem))
            continue
        words, others = _words_of(value)
        yield FileItem(
            number=number,
            path=member.path,
            content=words,
            who="/".join(namespace),
            also=tuple(namespace),
            at=at,
            fields=fact(),
            slots=slots_of({"key": item.get("key"), **others}),
        )


def _words_of(value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The words of a value, and what else it holds; of one with no words of its own all it says."""
    for name in _WORDS:
        inner = value.get(name)
        others = {other: inner_value for other, inner_value in value.items() if other != name}
        if isinstance(inner, str) and inner.strip():
            return inner, others
        if isinstance(inner, dict):
            words, more = _words_of(inner)
            return words, others | more
    return "; ".join(f"{name.replace('_', ' ')}: {inner_value}" for name, inner_value in slots_of(value).items()), {}


def read_memobase(bundle: Bundle) -> Reader:
    """Profiles as lines of the profile, events as events of their days. Raises FileRefused."""
    lists = [("data.profiles", "profiles"), ("data.events", "events")]
    for member, number, item in _each(bundle, lists, "*.json*"):
        at = time_of(item.get("updated_at") or item.get("created_at"))
        where: dict[str, Any] = {"number": number, "path": member.path}
        event = item.get("event_data")
        if event is None:
            yield FileItem(content=_of_topic(item), at=at, fields=profile(), **where)
            continue
        changes = event.get("profile_delta") or ()
        tip = str(event.get("event_tip") or "").strip()
        tags = {str(tag.get("tag")): tag.get("value") for tag in event.get("event_tags") or ()}
        if tip and changes:
            yield LeftOut(member.path, LeftOutReason.NO_MEMORY, number, "profile_delta")
        content = tip or "\n".join(_of_topic(change) for change in changes)
        at = time_of(item.get("created_at"))
        message = str(item.get("id") or f"item {number}"), 1
        yield FileItem(content=content, at=at, is_turn=True, message=message, slots=slots_of(tags), **where)


def _of_topic(item: dict[str, Any]) -> str:
    """What a profile says, under its topics."""
    attributes, content = item.get("attributes") or {}, str(item.get("content") or "").strip()
    topics = [str(attributes.get(name) or "").replace("_", " ") for name in ("topic", "sub_topic")]
    return f"{', '.join(filter(None, topics))}: {content}" if content and any(topics) else content


def read_hindsight(bundle: Bundle) -> Reader:
    """Memory units that are valid, each a fact with its entities as names. Raises FileRefused."""
    names = ("documents/*.json", "*/documents/*.json", "observations.json", "memories*.json*")
    for member, number, item in _each(bundle, [("items", "results")], *names):
        facts = item.get("facts")
        if facts is not None and item.get("original_text"):
            yield LeftOut(member.path, LeftOutReason.NO_MEMORY, number, f"original_text: {item.get('id')}")
        for place, unit in [(number, item)] if facts is None else enumerate(facts, start=1):
            if unit.get("state") == "invalidated":
                yield LeftOut(member.path, LeftOutReason.ENDED, place, str(unit.get("invalidation_reason") or ""))
                continue
            at = unit.get("mentioned_at") or unit.get("occurred_start") or unit.get("date") or unit.get("event_date")
            entities = unit.get("entities") or ()
            every = entities.split(",") if isinstance(entities, str) else [str(entity) for entity in entities]
            names_in_it = tuple(dict.fromkeys(name.strip()[:100] for name in every if name.strip()))[:10]
            slots = {name: unit.get(name) for name in ("fact_type", "occurred_start", "occurred_end", "tags")}
            yield FileItem(
                number=place,
                path=member.path,
                content=str(unit.get("text") or ""),
                at=time_of(at),
                fields=fact() | {"heading": str(unit.get("context") or "")[:300], "names": names_in_it},
                slots=slots_of(slots) | slots_of(unit.get("metadata")),
            )


def read_supermemory(bundle: Bundle) -> Reader:
    """Entries that are the latest of theirs, and documents without entries, each a fact. Raises FileRefused."""
    lists = [("memoryEntries",), ("documents",), ("memories",)]
    for member, number, item in _each(bundle, lists, "*.json*"):
        entries = item.get("memoryEntries") or (item.get("memories") if "memory" not in item else None)
        if entries:
            yield LeftOut(member.path, LeftOutReason.NO_MEMORY, number, f"content: {item.get('title') or ''}")
        tags = item.get("containerTags") or [item.get("containerTag") or item.get("spaceContainerTag")]
        also = tuple(str(tag) for tag in tags if tag)
        for entry in entries or [item]:
            if entry.get("isForgotten") or entry.get("isLatest") is False:
                yield LeftOut(member.path, LeftOutReason.ENDED, number, str(entry.get("forgetReason") or ""))
                continue
            fields = profile() if entry.get("isStatic") else fact()
            ends = time_of(entry.get("forgetAfter"), is_end=True)
            fields |= {"heading": str(item.get("title") or "")[:300], "expires_at": ends}
            yield FileItem(
                number=number,
                path=member.path,
                content=str(entry.get("memory") or entry.get("content") or entry.get("summary") or ""),
                who="/".join(also),
                also=also,
                at=time_of(entry.get("updatedAt") or entry.get("createdAt")),
                fields=fields,
                slots=slots_of(entry.get("metadata")),
            )
