"""What people say in the tests of the buffer, and looking at what became of it."""

from datetime import datetime, timedelta
from typing import Any

from memories.consolidation import extraction
from memories.models import DailyEvent, ExtractionBatch, Workspace
from tests.conftest import NOW, TELEGRAM, Api

QUIET = timedelta(minutes=3)


def say(
    api: Api,
    user: str,
    assistant: str = "",
    *,
    at: datetime = NOW,
    said_at: str | None = None,
    address: Any = TELEGRAM,
    key: str = "",
    slots: dict[str, str] | None = None,
) -> Any:
    """A turn that arrives at that moment."""
    body = {"address": address, "user": user, "assistant": assistant, "slots": slots or {}, "at": said_at}
    headers = {"X-Memplatform-Now": at.isoformat()} | ({"Idempotency-Key": key} if key else {})
    answer = api.post("turns", body, **headers)
    assert answer.status_code in (200, 201), answer.json()
    return answer


def extract(at: datetime = NOW + QUIET, workspace: Workspace | None = None) -> dict[str, int]:
    """One run of the job at that moment."""
    return extraction.extract_ready(lambda: at, workspace_id=workspace.pk if workspace else None)


def events_by_scope() -> dict[str, list[str]]:
    """What is told of days, by scope."""
    data: dict[str, list[str]] = {}
    for event in DailyEvent.objects.select_related("scope").order_by("scope__key", "local_date", "pk"):
        data.setdefault(event.scope.key, []).append(event.content)
    return data


def held() -> list[list[str]]:
    """What waits in the buffer: the texts of each extraction batch, in order."""
    return [
        [message["content"] for turn in batch.turns.order_by("said_at", "pk") for message in turn.messages]
        for batch in ExtractionBatch.objects.order_by("pk")
    ]
