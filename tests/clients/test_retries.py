"""When a call is tried again, and for how long: without a platform, and without waiting."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from memplatform_client import NoAnswer, errors

ADDRESS = {"platform": "cli"}
BUSY = {"errors": [{"code": "session_busy", "detail": "Others are writing.", "attr": None}]}
REFUSED = {"errors": [{"code": "scope_frozen", "detail": "This scope is frozen.", "attr": "scope"}]}


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made; they take no time."""
    made: list[float] = []
    wait = asyncio.sleep

    async def sleep(seconds: float) -> None:
        made.append(seconds)
        await wait(0)

    monkeypatch.setattr(time, "sleep", made.append)
    monkeypatch.setattr("memplatform_client.client.asyncio.sleep", sleep)
    return made


@pytest.fixture
def scripted(connect: Any) -> Callable[..., tuple[Any, list[httpx.Request]]]:
    """A client whose platform answers by a script, the last of it for ever; and what it was asked."""

    def make(*script: Any, **kwargs: Any) -> tuple[Any, list[httpx.Request]]:
        results: list[httpx.Request] = []
        answers = itertools.chain(script, itertools.repeat(script[-1]))

        def answer(request: httpx.Request) -> httpx.Response:
            results.append(request)
            result = next(answers)
            if isinstance(result, Exception):
                raise result
            code, headers, body = result
            sent = {"content": body} if isinstance(body, bytes) else {"json": body}
            return httpx.Response(code, headers=headers, **sent)

        return connect("mp_key", transport=httpx.MockTransport(answer), **kwargs), results

    return make


def test_a_write_is_sent_again_under_the_same_key_and_word_for_word(scripted: Any, pauses: list[float]) -> None:
    lost, away = httpx.ReadTimeout("too long"), (503, {}, {})
    memory, asked = scripted(lost, away, (409, {"Retry-After": "1"}, BUSY), (201, {}, {"entries": []}))
    assert memory.take_turn(address=ADDRESS, user="hello") == {"entries": []}
    assert len({(item.headers["Idempotency-Key"], item.content) for item in asked}) == 1
    assert [item.headers["Authorization"] for item in asked] == ["Bearer mp_key"] * 4
    assert 0.25 <= pauses[0] <= 0.5 <= pauses[1] <= 1 <= pauses[2] <= 1.4


def test_the_platform_says_when_and_is_asked_no_sooner(scripted: Any, pauses: list[float]) -> None:
    memory, _asked = scripted((429, {"Retry-After": "17"}, {}), (200, {}, {}))
    memory.recall(scope="main", message="hello")
    assert 17 <= pauses[0] < 18
    memory, _asked = scripted((503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, {}), (200, {}, {}))
    memory.recall(scope="main", message="hello")
    assert 0 < pauses[1] < 1


def test_nobody_waits_for_longer_than_a_minute(scripted: Any, pauses: list[float]) -> None:
    memory, asked = scripted((429, {"Retry-After": "3600"}, {}))
    with pytest.raises(errors.Throttled):
        memory.recall(scope="main", message="hello")
    assert (len(asked), pauses) == (1, [])


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (409, REFUSED, errors.ScopeFrozen),
        (400, {}, errors.Invalid),
        (500, {}, errors.Unavailable),
        (302, {}, errors.ApiError),
    ],
)
def test_what_will_not_change_is_not_tried_again(
    scripted: Any, pauses: list[float], status: int, body: Any, kind: type[errors.ApiError]
) -> None:
    memory, asked = scripted((status, {}, body))
    with pytest.raises(kind) as refusal:
        memory.take_turn(address=ADDRESS, user="hello")
    assert (type(refusal.value), len(asked), pauses) == (kind, 1, [])


def test_pauses_grow_and_end(scripted: Any, pauses: list[float]) -> None:
    memory, asked = scripted(httpx.ConnectError("refused"), retries=6)
    with pytest.raises(NoAnswer, match=r"POST /api/v1/recall: ConnectError"):
        memory.recall(scope="main", message="hello")
    assert len(asked) == 7
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, [0.5, 1, 2, 4, 8, 8], strict=True))
    memory, asked = scripted((502, {}, {}), retries=0)
    with pytest.raises(errors.Unavailable):
        memory.recall(scope="main", message="hello")
    assert len(asked) == 1


def test_a_key_of_your_own_is_the_one_that_is_sent(scripted: Any) -> None:
    memory, asked = scripted((201, {}, {}))
    memory.take_turn(address=ADDRESS, user="hello", idempotency_key="update 17")
    assert asked[0].headers["Idempotency-Key"] == "update 17"


def test_an_answer_that_is_no_json_is_an_error_of_the_platform(scripted: Any, connect: Any) -> None:
    page = httpx.MockTransport(lambda request: httpx.Response(200, html="<p>Please log in.</p>"))
    with pytest.raises(errors.ApiError, match="unreadable"):
        connect("mp_key", transport=page).recall(scope="main", message="hello")


def test_an_export_is_read_to_its_last_line_or_is_an_error(scripted: Any, pauses: list[float]) -> None:
    lines = '{"record":"entry","content":"one\u2028two"}\n{"record":"end","counts":{}}\n'.encode()
    memory, asked = scripted((503, {}, {}), (200, {}, lines))
    assert [row["record"] for row in memory.export(scope="main")] == ["entry", "end"]
    assert [item.url.query for item in asked] == [b"scope=main"] * 2
    for cut in (b"", lines[:20], lines[:-1], lines.split(b"\n")[0] + b"\n"):
        memory, _asked = scripted((200, {}, cut))
        with pytest.raises(NoAnswer, match="broke off"):
            list(memory.export())
    memory, _asked = scripted((403, {}, {"errors": [{"code": "permission_denied", "detail": "No.", "attr": None}]}))
    with pytest.raises(errors.NotAllowed):
        list(memory.export())


class _HangsUp(BaseHTTPRequestHandler):
    """A platform that keeps a connection for a moment, as each does for its own time, and then hangs up."""

    protocol_version = "HTTP/1.1"
    timeout = 0.05
    hung_up = threading.Semaphore(0)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def finish(self) -> None:
        super().finish()
        self.request.close()
        self.hung_up.release()

    def log_message(self, *_: Any) -> None:
        return


def test_a_client_connects_anew_when_its_idle_connection_was_closed(connect: Any) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _HangsUp)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        memory = connect("mp_key", f"http://127.0.0.1:{server.server_port}", retries=0)
        for _ in range(2):
            assert memory.recall(scope="main", message="hello") == {}
            assert _HangsUp.hung_up.acquire(timeout=10)
    finally:
        server.shutdown()
        server.server_close()
