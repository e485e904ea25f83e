"""A body nobody reads to its end: the answer arrives all the same, and the connection stays."""

import json
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from memories.models import Workspace
from memplatform.http import wsgi
from tests.conftest import TELEGRAM, make_key
from tests.system.web.conftest import serving

MB = 1_000_000
TURN = {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."}


class Wire:
    """One connection, and whether it is still the one it began as."""

    def __init__(self, address: str, key: str) -> None:
        where = urlsplit(address)
        self.connection = HTTPConnection(str(where.hostname), where.port, timeout=30)
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self.wait()
        self.begun_as = self.connection.sock

    def wait(self) -> None:
        end = time.monotonic() + 40
        while True:
            try:
                self.connection.request("GET", "/livez")
                self.connection.getresponse().read()
            except OSError:
                self.connection.close()
                assert time.monotonic() < end, "it does not answer"
                time.sleep(0.1)
            else:
                return

    def is_kept(self) -> bool:
        return self.connection.sock is self.begun_as

    def post(self, body: Any, **headers: str) -> tuple[int, Any]:
        chunked = not isinstance(body, bytes)
        self.connection.request("POST", "/api/v1/turns", body, {**self.headers, **headers}, encode_chunked=chunked)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.fixture
def web(transactional_db: None, tmp_path: Path) -> Iterator[str]:
    (tmp_path / "metrics").mkdir()
    with serving(tmp_path) as address:
        yield address


def chunks(size: int) -> Iterator[bytes]:
    for _ in range(0, size, MB // 10):
        yield b"x" * (MB // 10)


def test_every_answer_to_a_large_body_arrives_and_the_connection_stays(web: str, workspace: Workspace) -> None:
    wire = Wire(web, make_key(workspace))
    for size in (1_100_000, 2 * MB, 5 * MB, 20 * MB, 50 * MB):
        for headers in ({}, {"Expect": "100-continue"}):
            status, answer = wire.post(b"x" * size, **headers)
            assert (status, answer["errors"][0]["code"]) == (413, "too_large"), size
        status, answer = wire.post(chunks(size), **{"Transfer-Encoding": "chunked"})
        assert (status, answer["errors"][0]["code"]) == (411, "length_required"), size
    for _ in range(9):
        assert wire.post(b"x" * 5 * MB)[0] == 413
    for size, status in ((300_000, 415), (900_000, 415), (5 * MB, 413)):  # too large is said first
        assert wire.post(b"x" * size, **{"Content-Type": "text/plain"})[0] == status
    assert wire.post(json.dumps(TURN).encode())[0] == 201
    assert wire.is_kept()
    wire.connection.close()


class Stream:
    """A request's body of which only a part ever arrives, or which has no end."""

    def __init__(self, size: int, seconds: float = 0.0) -> None:
        self.left, self.seconds = size, seconds

    def read(self, size: int = -1) -> bytes:
        if not self.left:
            time.sleep(self.seconds)
        data = b"x" * min(size, self.left)
        self.left -= len(data)
        return data

    readline = read


def answered(stream: Stream, status: str = "413 Too Large", **environ: str) -> dict[str, str]:
    """The headers of an answer for which nothing of the body was read."""
    closed: list[bool] = []
    head: dict[str, str] = {}

    class Answer(list[bytes]):
        def close(self) -> None:
            closed.append(True)

    def application(_environ: Any, start: Any) -> Answer:
        start(status, [("Content-Length", "2")])
        return Answer([b"no"])

    def start(_status: str, headers: list[tuple[str, str]], *_error: Any) -> Any:
        assert closed or status[0:3] not in wsgi.REFUSED, (
            "what the request holds is given back before the caller is waited for"
        )
        head.update(headers)

    assert b"".join(wsgi.UnreadBodies(application)({"wsgi.input": stream, **environ}, start)) == b"no"
    return head


def test_what_is_longer_than_all_bounds_closes_the_connection_at_once() -> None:
    stream = Stream(wsgi.MOST_BYTES + 1)
    assert answered(stream, CONTENT_LENGTH=str(stream.left))["Connection"] == "close"
    assert stream.left == wsgi.MOST_BYTES + 1


def test_chunks_without_end_are_read_to_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wsgi, "MOST_BYTES", 1_000_000)
    stream = Stream(100 * MB)
    assert answered(stream, HTTP_TRANSFER_ENCODING="chunked")["Connection"] == "close"
    assert stream.left > 98 * MB


def test_who_stops_sending_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wsgi, "SOON_SECONDS", 0.1)
    monkeypatch.setattr(wsgi, "MOST_SECONDS", 0.2)
    begun = time.monotonic()
    assert answered(Stream(1_000, seconds=5.0), CONTENT_LENGTH="2000")["Connection"] == "close"
    assert time.monotonic() - begun < 2


def test_a_body_that_was_sent_whole_keeps_the_connection() -> None:
    assert "Connection" not in answered(Stream(3 * MB), CONTENT_LENGTH=str(3 * MB))


def test_nobody_waits_for_a_caller_without_a_key() -> None:
    stream = Stream(3 * MB)
    assert "Connection" not in answered(stream, "401 Unauthorized", CONTENT_LENGTH=str(3 * MB))
    assert stream.left == 3 * MB
