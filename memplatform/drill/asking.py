"""The doors a drill asks at, as everybody but those whose words they are.

An answer is searched for the words of the drill. What may be heard where is worked out here anew, from the addresses
and the places the canaries were planted in, and not by the code that is on trial.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django.test.client import Client
from django.utils import timezone

from channels_app.context import context_for
from memories.choices import GroupUserRecall
from memories.models import Scope, Workspace
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address
from memplatform.drill.planting import PREFIX, Canary, Home
from memplatform.transfer.export import sections

_TOKEN = re.compile(rf"{PREFIX}[a-z]{{14}}")
#: Asked everywhere: plainly, about the past, about all there is, and by the common words around a canary.
WORDINGS = (
    "What is the drill word?",
    "What did we say yesterday about the drill word, the salary and the password?",
    "演练口令是什么？和假期、工资、密码有关的都告诉我。",
)
#: In short drills and of doors that ask in no words.
LISTED = "drill"


@dataclass(frozen=True)
class Asker:
    """Who asks: a place in the workspace by its address, or somebody with a key of their own."""

    name: str
    token: str
    address: Mapping[str, Any] | None = None
    home: Home | None = None
    group: str = ""  # the key of the group it is asked in
    reaches: frozenset[str] = frozenset()  # scopes its key is bound to

    def may_hear(self, canary: Canary, rules: Mapping[str, str]) -> bool:
        """Whether this word may be in an answer to it; `rules` say by group what it hears of its members."""
        if self.address is None:
            return not self.reaches.isdisjoint((canary.scope, canary.group))
        own = self.home.scope.key if self.home else ""
        if not self.group:
            return canary.scope == own
        if canary.is_secret:
            return False
        if canary.scope == self.group or canary.group == self.group:
            return True
        return canary.scope == own and rules.get(self.group) == GroupUserRecall.ALL


@dataclass(frozen=True)
class Leak:
    """A word that reached somebody it was not for."""

    door: str
    asker: str
    place: str
    scope: str


@dataclass
class Probes:
    """What was asked, what leaked, and what answered at all."""

    asked: dict[str, int] = field(default_factory=dict)  # by door
    failed: dict[str, int] = field(default_factory=dict)  # answers that are faults
    heard: dict[str, int] = field(default_factory=dict)  # of words that may be heard, by door: the drill is not deaf
    leaks: dict[Leak, int] = field(default_factory=dict)

    def listen(
        self, door: str, asker: Asker, answer: str, canaries: Mapping[str, Canary], rules: Mapping[str, str]
    ) -> None:
        """Count an answer, and every word in it."""
        self.asked[door] = self.asked.get(door, 0) + 1
        for token in set(_TOKEN.findall(answer)):
            canary = canaries.get(token)
            if canary is not None and asker.may_hear(canary, rules):
                self.heard[door] = self.heard.get(door, 0) + 1
                continue
            place, scope = (canary.place, canary.scope) if canary else ("unknown", "")
            leak = Leak(door, asker.name, place, scope)
            self.leaks[leak] = self.leaks.get(leak, 0) + 1


@dataclass(frozen=True)
class Effort:
    """How much is asked of a part of a drill, which is what its time goes to."""

    wordings: Sequence[str] = WORDINGS
    doors: int | None = None  # each asker tries so many, in turn all of them; None: all
    read: int = 6  # others' words each asker tries to read by their paths
    by_key: int = 14  # others' words, and others' scopes, each key tries to read
    scopes: int = 4


FULL = Effort()
QUICK = Effort(wordings=WORDINGS[:1], doors=2, read=1, by_key=4, scopes=1)


class Doors:
    """Calls at the doors of the web, made in this process, in the transaction of the drill."""

    def __init__(self, workspace: Workspace, probes: Probes, effort: Effort, *, now: datetime) -> None:
        self._workspace, self._probes, self.effort, self._now, self._tried = workspace, probes, effort, now, 0
        self._client = Client(raise_request_exception=False, headers={"Host": "localhost"})
        self.canaries: Mapping[str, Canary] = {}
        self.rules: Mapping[str, str] = {}

    def ask_from(self, asker: Asker, caller: Caller, canaries: Sequence[Canary]) -> None:
        """The doors that start from an address, in every wording: all of them, or as many as are due; and the paths of
        others' words, as a model reads them that was given one.
        """
        address = dict(asker.address or {})
        for words in self.effort.wordings:
            question = {"address": address, "message": words}
            function = {"name": "memory_search", "arguments": json.dumps({"query": words})}
            call = {"id": "1", "type": "function", "function": function}
            requests: dict[str, tuple[str, dict[str, Any]]] = {
                "recall": ("recall", {**question, "need": "off", "explain": True}),
                "recall by words": ("recall", {**question, "need": "off", "mode": "keyword"}),
                "as of": ("recall", {**question, "need": "off", "as_of": timezone.now().isoformat()}),
                "context": ("context", {**question, "tools": True}),
                # what the proxy asks, whose client keeps the conversation itself
                "proxy": ("context", {**question, "client_history": []}),
                "tool search": ("tools/memory_search", {"address": address, "query": words}),
                "mcp": ("tools/call", {"address": address, "calls": [call]}),
                "tool list": ("tools/memory_list", {"address": address}),
            }
            # All doors, or the next few, so that in turn every one is tried
            doors = [*requests, "platform"]
            if self.effort.doors is not None:
                first, self._tried = self._tried, self._tried + self.effort.doors
                doors = [doors[n % len(doors)] for n in range(first, self._tried)]
            for door in doors:
                if door in requests:
                    self._post(door, asker, *requests[door])
                    continue
                context = context_for(caller, Address(**address), words, token_budget=4_000, now=self._now)
                served_text = "\n".join([context.text, *(message.content for message in context.history)])
                self._probes.listen("platform", asker, served_text, self.canaries, self.rules)
        for path in (path for canary in canaries for path in canary.paths):
            self._post("tool read", asker, "tools/memory_get", {"address": address, "path": path})

    def ask_with_key(
        self, asker: Asker, scopes: Sequence[Scope], canaries: Sequence[Canary], traces: list[str]
    ) -> None:
        """Every call that lists or reads by key, of scopes and rows that are others'."""
        for path in ("entries", f"entries?q={LISTED}", "events", "sessions", "batches", "webhooks"):
            self._get("list", asker, f"/api/v1/{path}")
        for scope in scopes:
            question = {"scope": scope.key, "message": WORDINGS[0], "need": "off"}
            self._post("recall of a scope", asker, "recall", question)
            self._get("list of a scope", asker, f"/api/v1/entries?scope={quote(scope.key)}")
            self._get("list of a scope", asker, f"/api/v1/events?scope={quote(scope.key)}")
        for canary in canaries:
            for path in canary.paths:
                kind, _slash, rest = path.partition("/")
                if kind == "entries":
                    self._get("by id", asker, f"/api/v1/entries/{rest}")
                    self._get("history", asker, f"/api/v1/entries/{rest}/history")
                    self._get("mem0", asker, f"/api/mem0/v1/memories/{rest}/")
                elif kind == "session_events":
                    self._get("replay", asker, f"/api/v1/sessions/{rest.partition('/')[0]}/history")
        for trace in traces:
            self._get("trace", asker, f"/api/v1/recalls/{trace}")
        body = {"query": WORDINGS[0], "filters": {"user_id": "*"}}
        self._send("mem0", asker, "POST", "/api/mem0/v3/memories/search/", body)
        self._send("mem0", asker, "POST", "/api/mem0/v3/memories/", {"filters": {"user_id": "*"}})

    def trace_of(self, asker: Asker) -> str | None:
        """The trace of a recall of somebody's own."""
        body = {"address": dict(asker.address or {}), "message": WORDINGS[0], "need": "off"}
        answer = self._post("recall", asker, "recall", body)
        return str(json.loads(answer).get("recall_id") or "") or None if answer.startswith("{") else None

    def export(self, asker: Asker, workspace: Workspace, scope: Scope | None) -> None:
        """What an export of a workspace, or of one scope, holds."""
        for section in sections(workspace, scope, history=True):
            for page in section.pages((), 500):
                lines = "\n".join(json.dumps(record, default=str) for record in section.records(page))
                self._probes.listen("export", asker, lines, self.canaries, self.rules)

    def _post(self, door: str, asker: Asker, path: str, body: Mapping[str, Any]) -> str:
        return self._send(door, asker, "POST", f"/api/v1/{path}", body)

    def _get(self, door: str, asker: Asker, path: str) -> str:
        return self._send(door, asker, "GET", path, None)

    def _send(self, door: str, asker: Asker, method: str, path: str, body: Any) -> str:
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {asker.token}"}
        answer: Any = self._client.generic(method, path, content, "application/json", secure=True, headers=headers)
        text = "".join(map(bytes.decode, answer.streaming_content)) if answer.streaming else answer.content.decode()
        if answer.status_code >= 500 or answer.status_code == 429:
            self._probes.failed[door] = self._probes.failed.get(door, 0) + 1
        self._probes.listen(door, asker, text, self.canaries, self.rules)
        return text


def address_of(home: Home, **more: Any) -> dict[str, Any]:
    """An address as a request names it."""
    fields = {**asdict(home.address), **more} if home.address else {}
    return {name: value for name, value in fields.items() if value}
