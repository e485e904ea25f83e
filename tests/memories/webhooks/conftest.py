"""A receiver that does as it is told, and a clock that can be put forward."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories import webhooks
from memories.models import Webhook, Workspace
from memories.models.outbox import WebhookEvent
from tests.support.local_server import QuietHandler, local_server

ALL = [event for event in WebhookEvent.values if event != WebhookEvent.TEST]


@dataclass(frozen=True)
class Got:
    """One delivery as it came over the wire."""

    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def event(self) -> str:
        return str(self.body["event"])


@dataclass
class Receiver:
    """Answers with `statuses` in order, then with what `answer` says; 0: only when `release` is set."""

    statuses: list[int] = field(default_factory=list)
    answer: Callable[[Got], int] = lambda _: 204
    got: list[Got] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)
    connections: int = 0
    url: str = ""

    @property
    def events(self) -> list[str]:
        return [item.event for item in self.got]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.MEMORY_WEBHOOK_PRIVATE_ADDRESSES = True  # it is on this machine
    settings.MEMORY_WEBHOOK_SECONDS = 0.3
    fake = Receiver()

    class Handler(QuietHandler):
        def setup(self) -> None:
            fake.connections += 1
            super().setup()

        def do_POST(self) -> None:
            raw = self.raw_body()
            fake.got.append(Got({name.lower(): value for name, value in self.headers.items()}, raw))
            status = fake.statuses.pop(0) if fake.statuses else fake.answer(fake.got[-1])
            if status == 0:
                self._drip()
                return
            self.answer(status, b"", Location="/elsewhere")

        def _drip(self) -> None:
            """A byte of a header at a time: no single one is late."""
            for byte in b"HTTP/1.1 200 OK\r\nX: " + b"y" * 1000:
                if fake.release.wait(0.05):
                    return
                self.wfile.write(bytes([byte]))

    with local_server(Handler) as url:
        fake.url = f"{url.replace('127.0.0.1', 'localhost')}/hooks?token=1"
        yield fake
        fake.release.set()


def make_webhook(workspace: Workspace, url: str, **more: Any) -> tuple[Webhook, str]:
    """A webhook for all events, and its secret."""
    defaults = {"events": ALL, "created_at": timezone.now() - timedelta(hours=1)}
    webhook = Webhook.objects.create(workspace=workspace, url=url, **{**defaults, **more})
    return webhook, webhooks.new_secret(webhook)


def deliver(*, later: timedelta = timedelta(0)) -> dict[str, int]:
    """One run of the job, at once or so much later."""

    def clock() -> datetime:
        return timezone.now() + later

    return webhooks.deliver_due(clock)
