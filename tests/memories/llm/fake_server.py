"""A model endpoint that does as it is told: for tests, and for measuring without a model.

It speaks POST /v1/chat/completions on the loopback. Answers are scripted, in order; after them it goes on with
`otherwise`, which answers plausibly from the data it is shown unless told otherwise. By hand:
`python -m tests.memories.llm.fake_server 9000`.
"""

import json
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from memories.language.text import count_tokens, spoken_sentences
from tests.memories.llm.plausible import plausible as plausible  # noqa: PLC0414 (for those who script a model)

FORMS = ("json_schema", "json_object", "text")
#: Numbers, and words with a capital that begin no sentence.
_NAMES = re.compile(r"(?<=[a-z,] )[A-Z]\w+|\d+")


@dataclass(frozen=True)
class Asked:
    """One request as it came over the wire."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def form(self) -> str:
        return str(self.body.get("response_format", {}).get("type", "text"))

    @property
    def texts(self) -> list[str]:
        return [message["content"] for message in self.body["messages"]]

    @property
    def data(self) -> Any:
        """What stands between the marks of the second message."""
        result = re.search(r"<data>\n(.*)\n</data>", "".join(self.texts[1:2]), re.DOTALL)
        return json.loads(result.group(1)) if result else None

    @property
    def is_reading(self) -> bool:
        """Whether it asks for a second reading of claims."""
        return isinstance(self.data, dict) and "claims" in self.data

    @property
    def tokens(self) -> int:
        return sum(map(count_tokens, self.texts))


@dataclass(frozen=True)
class Reply:
    """One answer: a text of the model, or a body of the server's as it is."""

    content: Any = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    seconds: float = 0.0
    drip: float = 0.0  # seconds between two bytes
    usage: dict[str, Any] | None = None
    has_usage: bool = True
    finish_reason: str = "stop"


Script = Reply | Callable[[Asked], "Reply | Any"]


class FakeModel:
    """The server; a `with` block is its life."""

    def __init__(self, *script: Any, otherwise: Any = None, port: int = 0) -> None:
        self.script = list(script)
        self.otherwise = otherwise or plausible
        #: Reads claims a second time; the script is for everything else.
        self.reader: Callable[[Asked], Any] = self.honest
        self.verdicts: dict[str, str] = {}  # of statements, where it is not «entailed» for those that were offered
        self.offered: set[str] = set()  # every text of an answer
        self.requests: list[Asked] = []
        self.readings: list[Asked] = []
        self.seconds = 0.0  # each answer takes so long
        self.error_rate = 0.0  # of the answers are 500
        self.refused_forms: set[str] = set()
        self.refused_options: set[str] = set()
        self.asked_at_once = 0
        self.most_at_once = 0
        self.tokens = 0
        self._chance = random.Random(7)
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def calls(self) -> int:
        return len(self.requests)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: Any, _at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, asked: Asked) -> Reply:
        """What the next caller gets."""
        is_reading = asked.is_reading
        with self._lock:
            (self.readings if is_reading else self.requests).append(asked)
            self.asked_at_once += 1
            self.most_at_once = max(self.most_at_once, self.asked_at_once)
            fails = self._chance.random() < self.error_rate
            refusal = self._refusal(asked) or (Reply(status=500) if fails else None)
            content = refusal or (self.reader if is_reading else self.script.pop(0) if self.script else self.otherwise)
        content = content(asked) if callable(content) else content
        if not is_reading:
            self.offered.update(_texts(_facts_of(asked.data)))
        self.offered.update(_texts(content))
        reply = content if isinstance(content, Reply) else Reply(content)
        time.sleep(reply.seconds or self.seconds)
        return reply

    def honest(self, asked: Asked) -> Any:
        """A reader that knows what is true: what was offered, and names no number or name that is in no source.

        `verdicts` overrules it. Decoys were never offered.
        """
        offered_before = set(self.offered)  # others are answered meanwhile
        offered = offered_before.union(*map(spoken_sentences, offered_before))
        result = json.dumps(asked.data["sources"], ensure_ascii=False).casefold()

        def verdict(statement: str) -> str:
            is_told = all(name.casefold() in result for name in _NAMES.findall(statement))
            return self.verdicts.get(statement, "entailed" if statement in offered and is_told else "not_stated")

        return verdicts(asked, verdict)

    def answered(self, tokens: int) -> None:
        with self._lock:
            self.asked_at_once -= 1
            self.tokens += tokens

    def _refusal(self, request: Asked) -> Reply | None:
        if request.form in self.refused_forms:
            return _error(400, f"'response_format.type' {request.form} is not supported")
        for option in self.refused_options & set(request.body):
            hint = " Use 'max_completion_tokens' instead." if option == "max_tokens" else ""
            return _error(400, f"Unsupported parameter: '{option}' is not supported with this model.{hint}")
        return None


def verdicts(asked: Asked, of: Callable[[str], str]) -> dict[str, Any]:
    """The answer of a reader, by the statement of each claim."""
    return {"verdicts": [{"id": claim["id"], "verdict": of(claim["statement"])} for claim in asked.data["claims"]]}


def credulous(asked: Asked) -> dict[str, Any]:
    """A reader that believes everything, decoys too."""
    return verdicts(asked, lambda _statement: "entailed")


def _texts(answer: Any) -> Iterable[str]:
    """Every text within an answer."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, dict | list):
        for part in answer.values() if isinstance(answer, dict) else answer:
            yield from _texts(part)


def _facts_of(data: Any) -> list[Any]:
    """The facts and lines a model is asked to tidy."""
    return [data.get("facts", []), data.get("profile", [])] if isinstance(data, dict) else []


def _error(status: int, message: str) -> Reply:
    return Reply(status=status, body=json.dumps({"error": {"message": message}}).encode())


class _Handler(BaseHTTPRequestHandler):
    fake: FakeModel
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = Asked(self.path, dict(self.headers.items()), json.loads(body))
        reply = self.fake.answer(asked)
        sent, tokens = _written(asked, reply)
        self.fake.answered(tokens)
        try:
            self.send_response_only(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            for part in _parts(sent, reply.drip):
                self.wfile.write(part)
        except OSError:  # whoever asked has gone
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody listens."""


def _parts(sent: bytes, drip: float) -> Iterable[bytes]:
    if not drip:
        yield sent
        return
    for byte in sent:
        time.sleep(drip)
        yield bytes([byte])


def _written(request: Asked, reply: Reply) -> tuple[bytes, int]:
    """The body, and the tokens it tells of."""
    if reply.body is not None or reply.status != 200:
        return reply.body or b'{"error": {"message": "no"}}', 0
    content = reply.content if isinstance(reply.content, str | None) else json.dumps(reply.content, ensure_ascii=False)
    usage = reply.usage or {"prompt_tokens": request.tokens, "completion_tokens": count_tokens(content or "")}
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": reply.finish_reason}
    answer: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 0, "model": request.body["model"]}
    answer |= {"choices": [choice]} | ({"usage": usage} if reply.has_usage else {})
    return json.dumps(answer).encode(), sum(value for value in usage.values() if isinstance(value, int))


if __name__ == "__main__":
    with FakeModel(port=int(sys.argv[1])) as fake:
        print(fake.url, flush=True)
        threading.Event().wait()
