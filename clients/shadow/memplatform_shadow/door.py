"""The calls the mirror makes: those of mem0's client, which the bot will make itself once it has moved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memplatform_client.call import Call
from memplatform_client.client import Client
from memplatform_client.errors import NotFound

from memplatform_shadow.events import IDS, Hit

_MEM0, USER = "/api/mem0", "user_id"
_PAGE, _MOST_PAGES, _MOST_HITS, _MOST_FOUND = 200, 5, 100, 50
_CONDITIONS = {*IDS, "AND", "OR", "NOT", "metadata", "created_at", "updated_at", "timestamp", "categories", "keywords"}
_CONDITIONS |= {"memory_ids"}
_NOT_MIRRORED = ("actor_id", "role", "hash", "attributed_to")


class NotComparable(Exception):
    """A question that cannot be asked here; its text is a code."""


class Door(Client):
    """memplatform, by the calls of mem0's client; and its own for what a memory was made of."""

    def _request(self, call: Call[Any]) -> dict[str, Any]:
        request = super()._request(call)
        if call.path.startswith(_MEM0):
            scheme, _, key = request["headers"]["Authorization"].partition(" ")
            request["headers"]["Authorization"] = f"Token {key}"
        return request

    def is_open(self) -> bool:
        """Whether the platform answers calls of mem0's client."""
        try:
            self.send(Call[Any]("GET", f"{_MEM0}/v1/ping/"))
        except NotFound:
            return False
        return True

    def add(self, body: Mapping[str, Any], once: str) -> list[dict[str, Any]]:
        """Each memory that was made or strengthened: id, memory and event."""
        answer = self.send(Call[Any]("POST", f"{_MEM0}/v3/memories/add/", body=body, once=once))
        return list(answer["results"])

    def change(self, uid: str, changes: Mapping[str, Any], once: str) -> None:
        self.send(Call[Any]("PUT", f"{_MEM0}/v1/memories/{{uid}}/", places={"uid": uid}, body=changes, once=once))

    def delete(self, uid: str, once: str) -> None:
        self.send(Call[Any]("DELETE", f"{_MEM0}/v1/memories/{{uid}}/", places={"uid": uid}, once=once))

    def delete_all(self, filters: Mapping[str, Any], once: str) -> None:
        """All of a filter; where no user is named, those of users with it, as mem0 does."""
        tree = translated(filters)
        if USER not in str(tree):
            tree = {"OR": [tree, {"AND": [{USER: "*"}, tree]}]}
        query = {"filters": json.dumps(tree)}
        self.send(Call[Any]("DELETE", f"{_MEM0}/v1/memories/", query=query, once=once))

    def search(self, query: str, filters: Mapping[str, Any], limit: int) -> list[Hit]:
        body = {"query": query, "filters": translated(filters), "top_k": max(1, min(limit, _MOST_HITS))}
        return _hits(self.send(Call[Any]("POST", f"{_MEM0}/v3/memories/search/", body=body)))

    def all(self, filters: Mapping[str, Any]) -> list[Hit]:
        """All memories of a filter, a thousand at most."""
        found: list[Hit] = []
        for page in range(1, _MOST_PAGES + 1):
            query = {"page": page, "page_size": _PAGE}
            body = {"filters": translated(filters)}
            answer = self.send(Call[Any]("POST", f"{_MEM0}/v3/memories/", query=query, body=body))
            found += _hits(answer)
            if answer["next"] is None:
                break
        return found

    def in_use(self, uids: Iterable[str], whose: Mapping[str, str]) -> set[str]:
        """Those of the memories that are in use."""
        wanted = {"AND": [dict(whose), {"memory_ids": list(uids)}]}
        return {hit.id for hit in self.all(wanted)}

    def find(self, whose: Mapping[str, str], texts: Sequence[str]) -> dict[str, str]:
        """Of these texts, those that stand here word for word, each with the id of one memory that says it."""
        any_of = [{"keywords": {"contains": text.strip()}} for text in texts[:_MOST_FOUND]]
        here = {hit.text.strip(): hit.id for hit in self.all({"AND": [dict(whose), {"OR": any_of}]})} if any_of else {}
        return {text: here[text.strip()] for text in texts if text.strip() in here}

    def made_of(self, uid: str) -> list[str]:
        """What a memory was made of, or took the place of."""
        try:
            entry = self.read_entry(uid)
        except NotFound:
            return []
        return [one["id"] for one in entry["sources"]]


def translated(filters: Mapping[str, Any]) -> dict[str, Any]:
    """A filter of mem0's library as its client sends it: a name that is none of its fields is one of metadata."""
    tree: dict[str, Any] = {}
    for name, value in filters.items():
        if name in _NOT_MIRRORED:
            raise NotComparable(f"filter:{name}")
        if name in ("AND", "OR", "NOT"):
            parts: Sequence[Any] = value if isinstance(value, list) else [value]
            tree[name] = [translated(part) for part in parts]
        elif name in _CONDITIONS:
            tree[name] = str(value) if name in IDS and isinstance(value, int) else value
        else:
            tree.setdefault("metadata", {})[name] = value
    return tree


def _hits(answer: Mapping[str, Any]) -> list[Hit]:
    return [Hit(one["id"], one["memory"], one.get("score")) for one in answer["results"]]
