"""A bot that talks, and the clock it talks by."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from memories import llm
from memories.models import Workspace
from sessions_app.models import Session
from tests.conftest import NOW, TELEGRAM, Api, make_key
from tests.memories.llm.conftest import point_to
from tests.memories.llm.fake_server import FakeModel

LATER = NOW + timedelta(hours=49)


def clock(at: Any = NOW) -> dict[str, str]:
    return {"X-Memplatform-Now": at.isoformat()}


class Talk(Api):
    """A bot's side of conversations; `at` is when it speaks, NOW unless told otherwise."""

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return super().post(path, body, **(clock() | headers))

    def get(self, path: str, **asked: Any) -> Any:
        return self.request("GET", f"{path}?{urlencode(asked)}")

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        return super().request(method, path, body, **(clock() | headers))

    def say(
        self, user: str, assistant: str = "ok", *, at: Any = NOW, address: Any = None, **more: Any
    ) -> dict[str, Any]:
        turn = {"address": address or TELEGRAM, "user": user, "assistant": assistant, "at": at.isoformat(), **more}
        answer = self.post("turns", turn, **clock(at))
        assert answer.status_code == 201, answer.json()
        return dict(answer.json())

    def do(self, session: Session, what: str, body: Any = None, *, at: Any = NOW, status: int = 200) -> dict[str, Any]:
        answer = self.post(f"sessions/{session.uid}/{what}", body or {}, **clock(at))
        assert answer.status_code == status, answer.json()
        return dict(answer.json())

    def log(self, session: Session, *kinds_and_words: str, **more: Any) -> dict[str, Any]:
        """Append messages, each written `kind: words`."""
        events = [dict(zip(("kind", "content"), words.split(": ", 1), strict=True)) for words in kinds_and_words]
        return self.do(session, "events", {"events": events, **more}, status=201)

    def history(self, session: Session, *, at: Any = NOW, **asked: Any) -> list[tuple[str, str]]:
        path = f"sessions/{session.uid}/history?{urlencode(asked)}"
        answer = self.request("GET", path, **clock(at))
        assert answer.status_code == 200, answer.json()
        return [(message["role"], message["content"]) for message in answer.json()["messages"]]


@pytest.fixture(autouse=True)
def clock_of_calls(settings: Any) -> None:
    settings.TEST_CLOCK = True
    settings.MEMORY_SESSION_STALE_AFTER = timedelta(hours=48)


@pytest.fixture
def talk(workspace: Workspace) -> Talk:
    return Talk(make_key(workspace))


@pytest.fixture
def model(settings: Any, monkeypatch: Any) -> Iterator[FakeModel]:
    """A model that is configured, and answers what a test tells it."""
    monkeypatch.setattr(llm, "_BACKOFF", 0.005)
    with FakeModel() as fake:
        point_to(settings, fake.url)
        yield fake
