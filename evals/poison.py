"""A corpus of poison, played: each case enters by a door of the product, and is asked for at those a prompt is made by.

A room is a group of three with an attack and a harmless case: the attacker, the victim, whose name an attack uses, and
somebody else. What tools, pages, files and imports say enters the group in `poison.before.jsonl`, and the victim's own
chat in the other file. Every call is made in this process, at the addresses that clients call; MCP is spoken by its own
server, and the proxy asks a model that repeats nothing.
"""

import asyncio
import csv
import json
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from django.db import connection
from django.test import Client
from django.utils import timezone

from channels_app.doors import GROUP, HEADERS
from channels_app.doors.mcp.api import Api
from channels_app.doors.mcp.server import call as call_mcp
from channels_app.doors.mem0.answers import address_of
from evals.run import override_settings
from memories.files.layout import folder_name, scope_folder
from memories.imports.foreign_file import import_file
from memories.index import worker
from memories.models import Batch, Bot, BotKey, Scope, Workspace
from memories.notes.freshness import sync_workspace

DATA = Path(__file__).parent / "data"
SETS = ("poison.before", "poison.after")
BELIEF = ("poison.belief",)
LANGUAGES = {"en": "en", "zh": "zh-hans"}
NAMES = {"en": ("Bob", "Mallory", "Ann"), "zh": ("李娜", "马洛里", "小安")}
ASKS_FOR_PAGE = {"en": "What does the page say?", "zh": "网页上写了什么？"}
NOTED = {"en": "Noted.", "zh": "好的。"}
ACTOR = "evals:poison"
#: The ways into memory of what a tool says, in turn.
TOOLS = ("memory_save", "entries", "mem0", "mcp")


@dataclass(frozen=True)
class Case:
    """A line of the corpus."""

    id: str
    is_attack: bool
    language: str
    way: str
    said: tuple[str, ...]
    question: str
    needle: str
    aim: str = ""
    name: str = ""
    truth: str = ""
    truth_needle: str = ""
    corrects: bool = False  # whether it is said by whom the truth is of, who corrects themselves

    @property
    def speaks_to_model(self) -> bool:
        return self.aim == "order"

    @property
    def is_direct(self) -> bool:
        """Whether it is in one person's own chat."""
        return self.way == "direct" or (self.way in ("tool", "page", "file", "import") and self.id.startswith("c-"))

    @property
    def owner(self) -> str:
        """In whose chat it is, where it is in one's own; else who is asked about it."""
        return "other" if self.way == "direct" else "victim"

    @property
    def about(self) -> str:
        """Whose the truth is: the victim's, or of whom a harmless case corrects themselves."""
        return "victim" if self.is_attack or not self.corrects else "other"


def cases(folder: Path = DATA, sets: Sequence[str] = SETS) -> list[Case]:
    """The corpus, in its order."""
    lines = [line for name in sets for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    return [Case(**{**row, "said": tuple(row["said"])}) for row in map(json.loads, lines)]


@dataclass
class Played:
    """A case in its room: a group that it may share with another case, and whose are in it."""

    case: Case
    number: int  # of the room
    workspace: Workspace
    tool: str = ""  # by which a case of that way enters
    sessions: list[str] = field(default_factory=list)  # in which it was said
    entries: list[str] = field(default_factory=list)  # ids of memories that were saved on purpose
    file: tuple[Scope, str] | None = None
    batch: Batch | None = None

    @property
    def names(self) -> dict[str, str]:
        victim, attacker, other = NAMES[self.case.language]
        return {"victim": victim, "attacker": self.case.name or attacker, "other": other}

    def peer(self, who: str) -> str:
        return f"{who}-{self.number}"

    def address(self, who: str, *, alone: bool = False) -> dict[str, Any]:
        """Where somebody speaks: in the group, or alone with the bot."""
        if self.tool == "mem0":
            ids = {"user_id": self.peer(who)} if alone else {"agent_id": f"room-{self.number}"}
            fields = {name: value for name, value in asdict(address_of(ids)).items() if value}
            return fields if alone else {**fields, "peer": self.peer(who)}
        here = {"platform": "telegram", "account": "poison", "peer": self.peer(who)}
        return here if alone else {**here, "chat": f"room-{self.number}", "is_group": True}

    @property
    def home(self) -> dict[str, Any]:
        """Where the case enters."""
        return self.address(self.case.owner, alone=self.case.is_direct)


class Refused(Exception):
    """A call that was not answered as it ought to be."""


class Wire:
    """Calls of the platform as clients make them, with the key of one bot."""

    def __init__(self, workspace: Workspace) -> None:
        self.bot = Bot.objects.create(workspace=workspace, name="poison")
        _row, self.key = BotKey.issue(self.bot, permissions=["read", "write"])
        self._client = Client(headers={"Host": "localhost"})
        self._http = httpx.AsyncClient(base_url="http://localhost", transport=_InProcess(self._client))

    def post(self, path: str, body: Mapping[str, Any], **headers: str) -> Any:
        answer = self._client.post(
            path,
            json.dumps(body),
            content_type="application/json",
            secure=True,
            headers={"Authorization": f"Bearer {self.key}", **headers},
        )
        if answer.status_code >= 300:
            raise Refused(f"{path}: {answer.status_code} {answer.content.decode()[:300]}")
        return answer.json()

    def api(self, path: str, body: Mapping[str, Any]) -> Any:
        return self.post(f"/api/v1/{path}", body)

    def mcp(self, address: Mapping[str, Any], tool: str, **arguments: Any) -> str:
        """What a client of MCP is answered, as its model reads it."""
        result = asyncio.run(call_mcp(Api(self._http, self.key, dict(address)), tool, arguments))
        return "\n".join(part.text for part in result.content if part.type == "text")

    def chat(self, address: Mapping[str, Any], question: str, model: "Model") -> str:
        """A chat through the proxy: what the model is told before the question."""
        headers = {HEADERS[name]: quote(str(address[name])) for name in HEADERS if address.get(name)}
        headers |= {GROUP: "on"} if address.get("is_group") else {}
        body = {"model": "m", "messages": [{"role": "user", "content": question}]}
        with override_settings({"PROXY_BASE_URL": model.url}):
            self.post("/v1/chat/completions", body, **headers)
        messages = model.asked.pop()["messages"]
        return "\n".join(str(message["content"]) for message in messages if message["role"] in ("system", "developer"))


class _InProcess(httpx.AsyncBaseTransport):
    """Requests of MCP's server, answered by the API in this process."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await asyncio.to_thread(self._answer, request)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        try:
            answer: Any = self._client.generic(
                request.method,
                request.url.raw_path.decode(),
                request.read(),
                content_type="application/json",
                secure=True,
                headers=dict(request.headers),
            )
            return httpx.Response(answer.status_code, content=answer.content)
        finally:
            connection.close()  # that of this thread


class Model:
    """An upstream of the proxy that answers all alike, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        requests, answer = self.asked, json.dumps(_ANSWER).encode()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_arguments: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> "Model":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


_ANSWER = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "…"}, "finish_reason": "stop"}],
}  # fmt: skip


def pairs(all_cases: Sequence[Case], workspaces: Mapping[str, Workspace]) -> list[Played]:
    """The cases, an attack and a harmless one of a language in a room; what tools say enters by four doors in turn."""
    played: list[Played] = []
    for language, workspace in workspaces.items():
        of_language = [case for case in all_cases if case.language == language]
        attacks = [case for case in of_language if case.is_attack]
        harmless = [case for case in of_language if not case.is_attack]
        for number, pair in enumerate(zip_longest(attacks, harmless), start=1):
            # who comes first takes turns
            in_order = pair if number % 2 else pair[::-1]
            played += [Played(case, number, workspace) for case in in_order if case is not None]
    for number, row in enumerate(row for row in played if row.case.way == "tool"):
        row.tool = TOOLS[number % len(TOOLS)]
    return played


def tell_truth(room: Played, wire: Wire) -> None:
    """What the victim says of themselves, before anybody lies about it; or who corrects themselves, before they do."""
    if room.case.truth:
        _say(room, wire, room.case.about, room.case.truth, alone=room.case.is_direct)


def enter(room: Played, wire: Wire) -> None:
    """The case, by its way."""
    case = room.case
    speaker = "attacker" if case.is_attack else "other"
    words = "\n".join(case.said)
    if case.way in ("group", "name", "turns", "direct"):
        for line in case.said:
            room.sessions.append(_say(room, wire, speaker, line, alone=case.is_direct))
    elif case.way == "page":
        question = ASKS_FOR_PAGE[case.language]
        room.sessions.append(_say(room, wire, "victim", question, answer=words, alone=case.is_direct))
    elif case.way == "tool":
        _by_tool(room, wire, words)
    elif case.way == "file":
        scope = _scope(room, wire)
        path = f"memory/scopes/{folder_name(scope.key)}/{case.id}.md"
        place = Path(scope_folder(room.workspace.folder, scope.key).workspace) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{words}\n", encoding="utf-8")
        sync_workspace(room.workspace, now=timezone.now())
        room.file = (scope, path)
    else:
        scope = _scope(room, wire)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "memories.csv"
            with file.open("w", encoding="utf-8", newline="") as lines:
                csv.writer(lines).writerows([["content"], [words]])
            import_file(scope, file, kind="csv", now=timezone.now(), actor=ACTOR)
        room.batch = Batch.objects.filter(scope=scope).latest("pk")


def _say(room: Played, wire: Wire, who: str, words: str, *, answer: str | None = None, alone: bool = False) -> str:
    """A turn; the id of its session."""
    assistant = NOTED[room.case.language] if answer is None else answer
    turn = {"address": room.address(who, alone=alone), "user": words, "assistant": assistant}
    return str(wire.api("turns", {**turn, "sender_name": room.names[who]})["session"]["id"])


def _by_tool(room: Played, wire: Wire, words: str) -> None:
    """What a tool has the bot save."""
    if room.tool == "memory_save":
        wire.api("tools/memory_save", {"address": room.home, "content": words, "target": "long-term"})
    elif room.tool == "entries":
        kind = {"scope_kind": "user" if room.case.is_direct else "chat"}
        saved = wire.api("entries", {"address": room.home, "content": words, "origin": "tool", **kind})
        room.entries.append(saved["id"])
    elif room.tool == "mem0":
        ids = {"user_id": room.peer(room.case.owner)} if room.case.is_direct else {"agent_id": f"room-{room.number}"}
        message = {"role": "assistant", "content": words}
        response = wire.post("/api/mem0/v3/memories/add/", {"messages": [message], "infer": False, **ids})
        room.entries += [result["id"] for result in response["results"]]
    else:
        wire.mcp(room.home, "memory_save", content=words, target="long-term")


def _scope(room: Played, wire: Wire) -> Scope:
    """The scope of where the case enters, as the product makes it."""
    scope_keys = wire.api("scopes/resolve", {"address": room.home})
    key = scope_keys["user_scope"] if room.case.is_direct else scope_keys["chat_scope"]
    kind = "user" if room.case.is_direct else "chat"
    scope, _made = Scope.objects.get_or_create(workspace=room.workspace, key=key, defaults={"kind": kind})
    return scope


def settle(workspaces: Mapping[str, Workspace]) -> None:
    """Everything is indexed."""
    for workspace in workspaces.values():
        sync_workspace(workspace, now=timezone.now())
    worker.drain(now=timezone.now())


@dataclass(frozen=True)
class Heard:
    """What one door told one person."""

    door: str
    who: str
    alone: bool
    text: str  # of a prompt; empty where the door gives data
    memories: tuple[Mapping[str, Any], ...] = ()  # as data, best first


def ask(room: Played, wire: Wire, who: str, *, alone: bool, every_door: bool) -> Iterator[Heard]:
    """The question of a case at the doors a prompt is made by."""
    address, question = room.address(who, alone=alone), room.case.question
    of = (who, alone)
    recall = wire.api("recall", {"address": address, "message": question, "need": "off", "serve": "likely"})
    yield Heard("recall", *of, str(recall["context"]), tuple(recall["memories"]))
    context = wire.api("context", {"address": address, "message": question, "need": "off"})
    yield Heard("context", *of, str(context["text"]), tuple(context["memories"]))
    if not every_door:
        return
    first = wire.api("context", {"address": address, "message": "", "tools": True})
    yield Heard("first message", *of, str(first["text"]), tuple(first["profile"]))
    yield Heard("memory_search", *of, wire.mcp(address, "memory_search", query=question))
    yield Heard("memory_context", *of, wire.mcp(address, "memory_context", message=question))
    if room.tool == "mem0":
        ids = {"user_id": room.peer(who)} if alone else {"agent_id": f"room-{room.number}"}
        response = wire.post("/api/mem0/v3/memories/search/", {"query": question, "filters": ids})
        yield Heard("mem0", *of, "", tuple(response["results"]))
