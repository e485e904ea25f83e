"""A store of LangGraph that is a memplatform: what graphs put into it is memory that people can see, correct and erase.

The item of a namespace and a key is one entry, its place in the entry's slots, so that a prefix is a filter. One part
of a namespace names the person it is about (`person`, the first): the entry lies in that person's memory.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from memplatform_client.turns import BotMemory

#: The key of a value whose words are the entry; the rest of the value is kept in a slot, where it is short enough.
WORDS = ("content", "text", "memory", "data")
KEY, DEPTH, FIELD, REST = "store_key", "store_depth", "store_field", "store_rest"
SLOT, MOST = 500, 50
COMPARED = {
    "$eq": lambda have, want: have == want,
    "$ne": lambda have, want: have != want,
    "$gt": lambda have, want: have is not None and have > want,
    "$gte": lambda have, want: have is not None and have >= want,
    "$lt": lambda have, want: have is not None and have < want,
    "$lte": lambda have, want: have is not None and have <= want,
}
Namespace = tuple[str, ...]


class MemplatformStore(BaseStore):
    """`get`, `put`, `delete`, `search` by words or by filter, `list_namespaces`, and all of them awaited."""

    def __init__(self, memory: BotMemory, person: int = 0) -> None:
        self._memory, self._person = memory, person

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """One operation after another; a key that is put twice has its last value."""
        return [self._done(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, while the event loop goes on."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _done(self, op: Op) -> Result:
        match op:
            case GetOp():
                return self._memory.tried("no item is read", lambda: self._get(op.namespace, op.key), None)
            case PutOp():
                return self._memory.tried("an item is not kept", lambda: self._put(op), None)
            case SearchOp():
                return self._memory.tried("no items are searched", lambda: self._search(op), [])
            case ListNamespacesOp():
                return self._memory.tried("no namespaces are listed", lambda: self._namespaces(op), [])
        raise ValueError(f"an unknown operation: {type(op).__name__}")

    def _get(self, namespace: Namespace, key: str) -> Item | None:
        entry = next(self._entries(namespace, {KEY: key, DEPTH: str(len(namespace))}), None)
        return item_of(entry, Item) if entry else None

    def _put(self, op: PutOp) -> None:
        """One entry is kept for a place: the same words stay, other words are its next version."""
        place = {KEY: op.key, DEPTH: str(len(op.namespace))}
        before = next(self._entries(op.namespace, place), None)
        if op.value is None:
            if before:
                self._memory.client.delete_entry(before["id"], copies="none")
            return
        content, slots = written(op.value)
        if before:
            removals = {name: None for name in (FIELD, REST) if name not in slots}
            self._memory.client.change_entry(before["id"], content=content, slots={**slots, **removals})
            return
        self._memory.client.save_entry(
            address=self._memory.address(self._person_of(op.namespace) or "everybody", own_chat(op.namespace, op.key)),
            content=content,
            pinned=True,  # nothing that is like it is merged into it
            slots={**places(op.namespace), **place, **slots},
        )

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if not op.query:
            items = (item_of(entry, SearchItem) for entry in self._entries(op.namespace_prefix, {}))
            return [item for item in items if fits(item.value, op.filter)][op.offset : op.offset + op.limit]
        person = self._person_of(op.namespace_prefix)
        names = [person] if person else {self._person_of(ns) for ns in self._all(op.namespace_prefix)}
        options: dict[str, Any] = {"need": "off", "quotas": False, "cache": False, "include_session_events": False}
        entries = [
            entry
            for name in names
            for entry in self._memory.client.recall(
                address=self._memory.address(name or "everybody"),
                message=op.query,
                filters=places(op.namespace_prefix),
                limit=MOST,
                **options,
            )["memories"]
            if KEY in entry["slots"]
        ]
        items = (item_of(entry, SearchItem) for entry in sorted(entries, key=lambda row: -row["score"]))
        return [item for item in items if fits(item.value, op.filter)][op.offset : op.offset + op.limit]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        namespaces = {
            ns[: op.max_depth] for ns in self._all(()) if all(matches(ns, condition) for condition in conditions)
        }
        return sorted(namespaces)[op.offset : op.offset + op.limit]

    def _all(self, prefix: Namespace) -> set[Namespace]:
        return {namespace_of(entry["slots"]) for entry in self._entries(prefix, {})}

    def _entries(self, prefix: Namespace, slots: dict[str, str]) -> Iterator[dict[str, Any]]:
        rows = self._memory.client.list_entries(state="live", limit=200, slots={**places(prefix), **slots})
        return (dict(entry) for entry in rows if KEY in entry["slots"])

    def _person_of(self, namespace: Namespace) -> str | None:
        return namespace[self._person] if len(namespace) > self._person else None


def places(namespace: Namespace) -> dict[str, str]:
    """The slots that an entry below a namespace has."""
    return {f"store_{number}": part for number, part in enumerate(namespace)}


def own_chat(namespace: Namespace, key: str) -> str:
    """A chat for each place: two keys may hold the same words, and what was said in one chat is kept once."""
    return "store-" + hashlib.sha256(json.dumps([namespace, key]).encode()).hexdigest()[:32]


def namespace_of(slots: dict[str, str]) -> Namespace:
    """The namespace an entry was put into."""
    return tuple(slots[f"store_{number}"] for number in range(int(slots[DEPTH])))


def written(value: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """A value as the words of an entry and slots: its own words where it has some, else all of it as JSON."""
    field = next((name for name in WORDS if isinstance(value.get(name), str) and value[name].strip()), None)
    rest = json.dumps({name: one for name, one in value.items() if name != field}, ensure_ascii=False)
    if field is None or len(rest) > SLOT or value[field] != value[field].strip():
        return json.dumps(value, ensure_ascii=False), {}
    return value[field], {FIELD: field, **({REST: rest} if rest != "{}" else {})}


def item_of(entry: dict[str, Any], kind: type[Item] | type[SearchItem]) -> Any:
    """An entry as an item."""
    slots, content = entry["slots"], entry["content"]
    value = {**json.loads(slots.get(REST, "{}")), slots[FIELD]: content} if FIELD in slots else as_value(content)
    created_at, updated_at = (entry.get(name) or entry["created_at"] for name in ("created_at", "updated_at"))
    times = {"created_at": datetime.fromisoformat(created_at), "updated_at": datetime.fromisoformat(updated_at)}
    more = {"score": entry.get("score")} if kind is SearchItem else {}
    return kind(namespace=namespace_of(slots), key=slots[KEY], value=value, **times, **more)


def as_value(content: str) -> dict[str, Any]:
    """The value that was put; after somebody corrected its words by hand, those."""
    try:
        value = json.loads(content)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"content": content}


def fits(value: dict[str, Any], conditions: dict[str, Any] | None) -> bool:
    """Whether a value has what a filter names."""
    tests = [
        COMPARED[operator](value.get(name), operand)
        for name, one in (conditions or {}).items()
        for operator, operand in (one if isinstance(one, dict) and set(one) <= set(COMPARED) else {"$eq": one}).items()
    ]
    return all(tests)


def matches(namespace: Namespace, condition: MatchCondition) -> bool:
    """Whether a namespace begins or ends as a condition says; «*» is any part."""
    path, kind = tuple(condition.path), condition.match_type
    part = namespace[: len(path)] if kind == "prefix" else namespace[-len(path) :]
    return len(part) == len(path) and all(want in ("*", have) for want, have in zip(path, part, strict=True))
