"""On a running platform, an erased person is nowhere: at once, ten seconds later, and after a restart (F7).

She speaks through every door, is told of by a webhook, and waits in queues; her words and her id are looked for in
the whole database as text, in every file of the data folder but those the certificate does not reach, and in answers.
"""

import json
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from memplatform import postgres
from memplatform.postgres import place, programs
from tests.support import migrated, postgres_server
from tests.support.house import House, free_port, until
from tests.support.local_server import QuietHandler, local_server

CANARY, PEER, BEN = "qzcanary", "annqz7", "ben42"
SAID = "stood in the shed behind the house"
#: Each of these doors makes an identity of its own.
IDENTITIES = [f"mem0:{PEER}", f"telegram:{PEER}", f"web:{PEER}"]
KEPT = "the green bicycle of Ben has a bell"


def sentence_by(door: str) -> str:
    """A sentence of hers that only this door was given."""
    return f"my {CANARY}{door} {SAID}"


def address(peer: str, **more: Any) -> dict[str, Any]:
    return {"platform": "telegram", "account": "mybot", "peer": peer, "chat": f"chat-{peer}", **more}


GROUP = {"chat": "g1", "is_group": True}


@dataclass
class Outside:
    """A receiver of webhooks and a model, on loopback."""

    url: str = ""
    status: int = 204
    got: list[str] = field(default_factory=list)


@contextmanager
def outside() -> Iterator[Outside]:
    seen = Outside()
    answer = {"role": "assistant", "content": sentence_by("answer")}
    chat = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    chat["choices"] = [{"index": 0, "message": answer, "finish_reason": "stop"}]

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            raw = self.raw_body().decode()
            is_hook = self.path == "/hook"
            if is_hook and seen.status == 204:
                seen.got.append(raw)
            body = b"" if is_hook else json.dumps(chat).encode()
            self.answer(seen.status if is_hook else 200, body, Content_Type="application/json")

    with local_server(Handler) as url:
        seen.url = url
        yield seen


class Walk:
    """A platform on a data folder that outlives it, its bot and its operator."""

    def __init__(self, data: Path, outside: Outside) -> None:
        self.data, self.port, self.outside = data, free_port(), outside
        base_url = f"http://127.0.0.1:{self.port}/"
        self.bot = httpx.Client(base_url=base_url, timeout=30)
        self.operator = httpx.Client(base_url=base_url, timeout=30, follow_redirects=True)
        self.start()

    def start(self) -> None:
        self.house = House(
            self.data,
            self.port,
            MEMORY_EMBEDDERS="memories.embeddings.deterministic.Deterministic",
            MEMORY_TRANSCRIPTS="yes",
            MEMORY_PROXY_BASE_URL=f"{self.outside.url}/v1",
            MEMORY_WEBHOOK_PRIVATE_ADDRESSES="yes",
            MEMORY_CALLS_PER_MINUTE="1000000",
        ).greets()

    def restart(self) -> None:
        self.house.end(signal.SIGTERM)
        self.start()

    def call(self, path: str, body: Any = None, **headers: str) -> Any:
        """As the bot; a path without a body is read."""
        key = (self.data / "credentials" / "bot-key").read_text()
        sent_headers = {"Authorization": f"{'Token' if 'mem0' in path else 'Bearer'} {key}", **headers}
        answer = self.bot.request("GET" if body is None else "POST", path, json=body, headers=sent_headers)
        assert answer.status_code < 300, (path, answer.text)
        return answer.json()

    def page(self, path: str, **form: Any) -> httpx.Response:
        """A page of the operator's; with a form it is sent."""
        if form:
            form["csrfmiddlewaretoken"] = self.operator.cookies["csrftoken"]
            answer = self.operator.post(path, data=form, headers={"Referer": str(self.operator.base_url)})
        else:
            answer = self.operator.get(path)
        assert answer.status_code == 200, (path, answer.status_code)
        return answer

    def log_in(self) -> None:
        password = (self.data / "credentials" / "operator-password").read_text()
        self.page("/admin/login/")
        self.page("/admin/login/", username="operator", password=password)

    def tables(self) -> list[str]:
        """The tables in a dump of which a row tells of her; letters in any case."""
        where, result, table = place.locate(self.data), set(), ""
        words = ("-h", where.sockets, "-p", str(place.PORT), "-U", "postgres", "-d", "postgres")
        for line in programs.run(where, "pg_dump", "--data-only", *words).stdout.splitlines():
            table = line.split()[1].removeprefix("public.") if line.startswith("COPY ") else table
            result |= {table} if tells(line) else set()
        return sorted(result)

    def files(self) -> list[str]:
        """The files of the data folder that tell of her, in bytes or by name; the database is looked through as tables.

        Of logs, which the certificate does not reach, those that hold her words.
        """
        results = []
        for path in self.data.rglob("*"):
            name, content = str(path.relative_to(self.data)), path.read_bytes() if path.is_file() else b""
            text = content.decode(errors="replace").casefold()
            if not name.startswith("postgres") and (CANARY in text if name.startswith("logs") else tells(name + text)):
                results.append(name)
        return results

    def answers(self) -> list[str]:
        """The calls whose answers tell of her, whoever asks; what is kept of the questions is forgotten again."""
        last = self.house.ask("SELECT coalesce(max(id), 0) FROM memories_recalltrace")[0]
        results: list[tuple[str, Any]] = [(f"api/v1/{path}", None) for path in ("entries", "events", "sessions")]
        filters = {"filters": {"user_id": "*"}}
        question = f"what {SAID}?"
        for one in (address(PEER), address(BEN, **GROUP), {"platform": "web", "peer": PEER}):
            results += [(f"api/v1/{path}", {"address": one, "message": question}) for path in ("recall", "context")]
            results.append(("api/v1/tools/memory_search", {"address": one, "query": question}))
        results += [
            ("api/mem0/v3/memories/", filters),
            ("api/mem0/v3/memories/search/", {"query": question, **filters}),
        ]
        results.append(("api/mem0/v1/entities/", None))
        for one in self.call("api/v1/sessions")["results"]:
            results += [(f"api/v1/sessions/{one['id']}/{part}", None) for part in ("events", "history")]
        rows = [path for path, body in results if tells(json.dumps(self.call(path, body)))]
        self.house.ask("DELETE FROM memories_recalltrace WHERE id > %s RETURNING 1", last)
        return rows

    def traces(self) -> tuple[list[str], list[str], list[str]]:
        """Tables, files and answers that tell of her."""
        return self.tables(), self.files(), self.answers()


NOTHING: tuple[list[str], ...] = ([], [], [])


def tells(text: str) -> bool:
    return CANARY in text.casefold() or PEER in text.casefold()


@pytest.fixture
def walk() -> Iterator[Walk]:
    with TemporaryDirectory(prefix="erased") as top, outside() as seen:
        Path(top).chmod(0o755)
        data = Path(top).resolve() / "data"
        data.mkdir(mode=0o755)
        migrated.copy(migrated.cluster(postgres_server.DATA), data / "postgres")
        walk = Walk(data, seen)
        try:
            yield walk
        finally:
            walk.bot.close()
            walk.operator.close()
            walk.house.end(signal.SIGTERM)
            postgres.down(data)
            shutil.rmtree(place.locate(data).sockets, ignore_errors=True)


def speak_everywhere(walk: Walk) -> None:
    """Through every door there is; the receiver of webhooks stops in between, so that something waits for it."""
    events = ["memory.created", "memory.updated", "memory.expired"]
    hook = {"url": f"{walk.outside.url}/hook", "with_content": "on", "is_enabled": "on", "format": "memplatform"}
    walk.page("/admin/memories/webhook/add/", workspace="1", events=events, **hook)
    for place_ in ({}, GROUP):
        for peer, name, words in ((PEER, f"{CANARY} name", sentence_by("turn")), (BEN, "Ben", KEPT)):
            turn = {"address": address(peer, **place_), "user": words, "assistant": "Noted.", "sender_name": name}
            walk.call("api/v1/turns", turn, **{"Idempotency-Key": f"{peer}{len(place_)}"})
    hers = {"address": address(PEER)}
    walk.call("api/v1/tools/memory_save", {**hers, "content": sentence_by("save"), "target": "long-term"})
    saved = walk.call("api/v1/tools/memory_save", {**hers, "content": sentence_by("daily"), "target": "daily"})
    walk.call("api/v1/tools/memory_append", {**hers, "content": sentence_by("append"), "path": saved["path"]})
    walk.call("api/v1/entries", {"scope": f"telegram:direct_{PEER}", "content": sentence_by("entry")})
    walk.call(
        "api/mem0/v3/memories/add/", {"messages": [{"role": "user", "content": sentence_by("mem0")}], "user_id": PEER}
    )
    data = {"messages": [{"role": "user", "content": sentence_by("kept")}], "user_id": PEER, "infer": False}
    walk.call("api/mem0/v3/memories/add/", {**data, "agent_id": "waiter"})
    for who in ({}, {"X-Memplatform-Platform": "telegram", "X-Memplatform-Chat": f"chat-{PEER}"}):
        chat = {"model": "m", "user": PEER, "messages": [{"role": "user", "content": sentence_by("proxy")}]}
        walk.call("v1/chat/completions", chat, **who)
    session = walk.call("api/v1/sessions", hers)["id"]
    walk.call(f"api/v1/sessions/{session}/flush", {"version": 1, "continue": sentence_by("continue")})
    recall = walk.call("api/v1/recall", {"address": address(BEN, **GROUP), "message": "what has a bell?"})["recall_id"]
    walk.call(f"api/v1/recalls/{recall}/feedback", {"used": [], "note": sentence_by("note")})
    event = {"kind": "user", "content": sentence_by("event"), "sender": PEER}
    walk.call(f"api/v1/sessions/{session}/events", {"events": [event]}, **{"Idempotency-Key": "event"})
    until(lambda: any(sentence_by("turn") in item for item in walk.outside.got), 20)
    walk.outside.status = 500
    by_hand = (walk.data / "files" / "demo" / saved["path"]).with_name("by hand.md")
    by_hand.write_text(f"- {sentence_by('hand')}\n")
    # a channel whose calls wait in the journal
    walk.call(
        "api/v1/turns", {"address": address(PEER, account="slow"), "user": sentence_by("early"), "assistant": "Noted."}
    )
    walk.house.ask("UPDATE channels_app_channel SET path_mode = 'legacy_only' WHERE account = 'slow' RETURNING 1")
    walk.call(
        "api/v1/turns", {"address": address(PEER, account="slow"), "user": sentence_by("late"), "assistant": "Noted."}
    )
    walk.call(f"api/v1/sessions/{session}/compact", {})
    until(lambda: walk.house.ask("SELECT 1 FROM memories_entry WHERE content = %s", sentence_by("hand")), 20)


def test_an_erased_person_is_nowhere_at_once_ten_seconds_later_and_after_a_restart(walk: Walk) -> None:
    walk.log_in()
    speak_everywhere(walk)
    before = walk.traces()
    assert [len(item) > 9 for item in before] == [True] * 3, before
    page = f"/admin/memories/erasure/erase/?{urlencode({'person': IDENTITIES}, doseq=True)}"
    ordered = walk.page(page, confirmed="yes", reason="request 17", person=", ".join(IDENTITIES))
    until(lambda: 'http-equiv="refresh"' not in walk.page(str(ordered.url)).text, 30)
    number = ordered.url.path.split("/")[-3]
    certificate = walk.page(f"/admin/memories/erasure/{number}/certificate.json").json()
    assert certificate["verified"]["rows_still_tied_to_the_person"] == 0
    assert certificate["verified"]["same_words_found_in"] == {}
    assert {"logs", "backups"} < set(certificate["not_reached"])
    walk.outside.got, walk.outside.status = [], 204
    assert walk.traces() == NOTHING
    time.sleep(10)
    assert walk.traces() == NOTHING
    walk.restart()
    assert walk.traces() == NOTHING
    assert [item for item in walk.outside.got if tells(item)] == []
    served = walk.call("api/v1/recall", {"address": address(BEN), "message": "what has a bell?"})["memories"]
    assert KEPT in served[0]["content"]
