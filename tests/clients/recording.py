"""What clients send to the door of mem0, and the shape of what they are answered: recorded once, replayed in tests.

A recording is a list of requests. What an earlier answer gave a client (an id, an event) stands in a later request as
`{{3:results.0.id}}`: the answer to the third request, counted from zero, at that place.
"""

import http.client
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FOLDER = Path(__file__).parent / "recorded"
DOOR = "/api/mem0/"
#: Values shorter than this are no ids; they are left as they are.
_SHORTEST_ID = 20
#: Names the scripts make up anew in every run; one recording is as good as the next.
_CHANCE = re.compile(r"\b([a-z]+)-[0-9a-f]{8}\b")
_PLACE = re.compile(r"\{\{(\d+):([^}]*)\}\}")


def shape(value: Any) -> Any:
    """The kinds of what is in an answer: of a list, each kind of its items once."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in sorted(value.items())}
    if isinstance(value, list):
        kinds = {json.dumps(shape(one), sort_keys=True) for one in value}
        return [json.loads(kind) for kind in sorted(kinds)]
    if isinstance(value, bool) or value is None:
        return "bool" if value is not None else "null"
    return "text" if isinstance(value, str) else "number"


def fits(wanted: Any, given: Any) -> bool:
    """Whether a shape has all that another has; more names in it do no harm."""
    if isinstance(wanted, dict):
        return isinstance(given, dict) and all(name in given and fits(wanted[name], given[name]) for name in wanted)
    if isinstance(wanted, list):
        is_list = isinstance(given, list) and bool(given) >= bool(wanted)
        return is_list and all(any(fits(one, other) for one in wanted) for other in given)
    return bool(wanted == given)


def texts(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every text in an answer, and where it is."""
    if isinstance(value, str):
        yield place, value
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in parts:
        yield from texts(one, f"{place}.{name}".lstrip("."))


def filled(request: str, answers: Sequence[Any]) -> str:
    """A recorded request, with what this run's answers gave in its places."""
    return _PLACE.sub(lambda found: dict(texts(answers[int(found[1])]))[found[2]], request)


@dataclass
class Recording:
    """The requests of a client, and what they were answered."""

    key: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    _given: dict[str, str] = field(default_factory=dict)

    def take(self, method: str, path: str, shown: str, body: bytes, status: int, answer: bytes) -> None:
        """Add a request and its answer."""
        request = json.dumps([method, path.removeprefix(DOOR), json.loads(body or b"null")], ensure_ascii=False)
        request = request.replace(self.key, "the key")
        for value, place in self._given.items():
            request = request.replace(value, place)
        content = json.loads(answer or b"null")
        for place, value in texts(content):
            if len(value) >= _SHORTEST_ID and " " not in value and "/" not in value:
                self._given.setdefault(value, f"{{{{{len(self.requests)}:{place}}}}}")
        asked = dict(zip(("method", "path", "body"), json.loads(request), strict=True))
        self.requests.append({**asked, "shown": shown, "status": status, "shape": shape(content)})

    def write(self, name: str) -> None:
        """Keep it, a request a line."""
        FOLDER.mkdir(exist_ok=True)
        lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in self.requests)
        lines = _CHANCE.sub(r"\1-1", lines)
        (FOLDER / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


@contextmanager
def recorded(platform: str, recording: Recording) -> Iterator[str]:
    """An address that passes everything on to a platform, and records what goes to the door of mem0."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(urlsplit(platform).netloc, recording.take))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _handler(netloc: str, take: Callable[..., None]) -> type[BaseHTTPRequestHandler]:
    turn = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            shown = "X-API-Key" if "X-API-Key" in self.headers else self.headers.get("Authorization", "").split(" ")[0]
            with turn:  # one after another, so that the order is that of the answers
                upstream = http.client.HTTPConnection(netloc)
                headers = {name: value for name, value in self.headers.items() if name != "Accept-Encoding"}
                upstream.request(self.command, self.path, body, headers)
                answer = upstream.getresponse()
                content = answer.read()
                if self.path.startswith(DOOR):
                    take(self.command, self.path, shown, body, answer.status, content)
            self.send_response(answer.status)
            for name in ("Content-Type", "X-Memplatform-Ignored"):
                if answer.headers[name]:
                    self.send_header(name, answer.headers[name])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on

        def log_message(self, *args: Any) -> None:
            pass

    return Handler
