"""The calls of clients as HTTP, and what is stored at the end, read back over the same API."""

import http.client
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from cluster.clients import Answer, Ask
from cluster.history import MEMORY, MESSAGE, Shown, Stored, What, marks_in, text_of

CONNECT_SECONDS, WRITE_SECONDS, READ_SECONDS = 1.0, 6.0, 3.0
_WORDS_ASKED = 4
Row = dict[str, Any]


@dataclass
class Api:
    """A bot of each workspace that keeps to one front, and goes to the next when that one does not answer."""

    fronts: list[tuple[str, int]]  # in the order they are asked
    keys: dict[str, str]  # by workspace
    scopes: dict[str, str] = field(default_factory=dict)  # key of a scope, by peer

    def send(self, ask: Ask) -> Answer:
        match ask.what:
            case What.TURN:
                body: Row = {"address": address(ask.peer), "user": text_of(ask.mark), "assistant": "Noted."}
                return self._write(ask, "POST", "turns", body)
            case What.RECALL:
                words = " ".join(text_of(ask.mark).split()[:_WORDS_ASKED])
                body = {"address": address(ask.peer), "message": f"What about {words}?", "need": "off"}
                body["include_session_events"] = False
                status, row, _wait = self.call(ask.workspace, "POST", "recall", body)
                views = [Shown(mark) for memory in row.get("memories", ()) for mark in marks_in(memory["content"])]
                return Answer(status, tuple(row.get("degraded", ())), tuple(views))
            case What.READ:
                status, row, _wait = self.call(ask.workspace, "GET", f"entries/{ask.entry}")
                views = [Shown(mark, row["state"] == "live") for mark in marks_in(row.get("content", ""))]
                return Answer(status, (), tuple(views))
            case What.CREATE:
                body = {"address": address(ask.peer), "content": text_of(ask.mark)}
                return self._write(ask, "POST", "entries", body)
            case What.EXPIRE:
                scope = self.scope_of(ask.workspace, ask.peer)
                body = {"scope": scope, "verb": "expire", "entries": [ask.entry], "reason": "the load takes it out"}
                return self._write(ask, "POST", "batches", body) if scope else Answer(None)
            case What.UNDO:
                return self._write(ask, "POST", f"batches/{ask.batch}/undo", {})
            case What.EDIT:
                return self._write(ask, "PATCH", f"entries/{ask.entry}", {"content": text_of(ask.mark)})
            case What.REVERT:
                body = {"version": ask.version, "only": ["content"]}
                return self._write(ask, "POST", f"entries/{ask.entry}/revert", body)
            case What.DELETE:
                return self._write(ask, "DELETE", f"entries/{ask.entry}")
            case What.RESTORE:
                return self._write(ask, "POST", f"entries/{ask.entry}/restore", {})

    def _write(self, ask: Ask, method: str, path: str, body: Row | None = None) -> Answer:
        status, row, wait = self.call(ask.workspace, method, path, body, ask.key)
        is_batch = ask.what in (What.EXPIRE, What.UNDO)
        return Answer(
            status,
            tuple(row.get("degraded", ())),
            entry="" if is_batch or ask.what is What.TURN else str(row.get("id", "")),
            version=int(row.get("version") or 0),
            batch=str(row.get("id", "")) if is_batch else "",
            seconds_to_wait=wait,
        )

    def call(
        self, workspace: str, method: str, path: str, body: Row | None = None, key: str = ""
    ) -> tuple[int | None, Row, float | None]:
        """Status, body and Retry-After; the status is None where no answer came."""
        headers = {"Authorization": f"Bearer {self.keys[workspace]}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        payload = None if body is None else json.dumps(body).encode()
        is_read = method == "GET" or path == "recall"
        connection = self._connected(READ_SECONDS if is_read else WRITE_SECONDS)
        if connection is None:
            return None, {}, None
        try:
            connection.request(method, f"/api/v1/{path}", payload, headers)
            answer = connection.getresponse()
            text = answer.read()
            wait = answer.getheader("Retry-After")
            return answer.status, _parsed(text), float(wait) if wait and wait.isdigit() else None
        except (OSError, http.client.HTTPException):
            self.fronts = [*self.fronts[1:], self.fronts[0]]
            return None, {}, None
        finally:
            connection.close()

    def _connected(self, seconds: float) -> http.client.HTTPConnection | None:
        """To the first front; to the next where that one refuses, since nothing was sent yet."""
        for _ in self.fronts:
            connection = http.client.HTTPConnection(*self.fronts[0], timeout=CONNECT_SECONDS)
            try:
                connection.connect()
            except OSError:
                self.fronts = [*self.fronts[1:], self.fronts[0]]
                continue
            connection.sock.settimeout(seconds)
            return connection
        return None

    def scope_of(self, workspace: str, peer: str) -> str:
        """The key of a person's scope; empty where nobody answers."""
        if peer not in self.scopes:
            status, row, _wait = self.call(workspace, "POST", "scopes/resolve", {"address": address(peer)})
            if status != 200:
                return ""
            self.scopes[peer] = (
                row["user_scope"]["key"] if isinstance(row.get("user_scope"), dict) else row["user_scope"]
            )
        return self.scopes[peer]

    def stored(self, peers: Iterable[tuple[str, str]]) -> Iterator[Stored]:
        """Every message and memory of these people, of each with their workspace. Raises OSError where none answers."""
        for workspace, peer in peers:
            scope = quote(self.scope_of(workspace, peer))
            for row in self._all(workspace, f"entries?limit=200&scope={scope}"):
                for mark in marks_in(row["content"]):
                    yield Stored(workspace, MEMORY, mark, row["id"], row["state"] == "live", row["version"])
            for session in self._all(workspace, f"sessions?limit=200&scope={scope}"):
                for row in self._all(workspace, f"sessions/{session['id']}/events?limit=200"):
                    for mark in marks_in(row["content"]) if row["kind"] == "user" else ():
                        yield Stored(workspace, MESSAGE, mark, f"{session['id']}/{row['position']}")

    def _all(self, workspace: str, path: str) -> Iterator[Row]:
        """Of every page of a list."""
        cursor = ""
        while True:
            status, row, _wait = self.call(workspace, "GET", f"{path}&cursor={quote(cursor)}" if cursor else path)
            if status == 404:  # nobody has written there
                return
            if status != 200:
                raise OSError(f"{path} answers {status}")
            yield from row.get("results") or row.get("events") or ()
            cursor = str(row.get("cursor") or "")
            if not cursor:
                return


def address(peer: str) -> Row:
    return {"platform": "telegram", "account": "load", "peer": peer, "chat": f"chat of {peer}"}


def _parsed(text: bytes) -> Row:
    try:
        row = json.loads(text)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}
