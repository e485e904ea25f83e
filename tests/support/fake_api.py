"""A vendor's API on this machine: a server that answers with what a function says."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.local_server import QuietHandler, local_server


@dataclass
class Asked:
    """A call as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]  # names in small letters
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The fields of a body of JSON or of a form."""
        kind = self.headers.get("content-type", "")
        if not kind.startswith("multipart/"):
            return json.loads(self.raw) if self.raw else {}
        form = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + self.raw)
        parts = {str(part.get_param("name", header="content-disposition")): part for part in form.get_payload()}
        return {name: part.get_payload(decode=True).decode() for name, part in parts.items()}


@dataclass
class Answered:
    """Status, body and headers of an answer."""

    body: dict[str, Any]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@contextmanager
def fake_api(answer: Callable[[Asked], Answered]) -> Iterator[str]:
    """The address of a server, until the block ends."""

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            at = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            answered = answer(Asked(self.command, at.path, dict(parse_qsl(at.query)), headers, self.raw_body()))
            headers = {"Content-Type": "application/json", **answered.headers}
            self.answer(answered.status, json.dumps(answered.body).encode(), **headers)

        do_GET = do_POST

    with local_server(Handler) as url:
        yield url
