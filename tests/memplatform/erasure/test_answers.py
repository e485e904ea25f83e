"""What the API and its tools answer about an erased person: every route that reads, with every row there was (F7)."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from channels_app.models import Channel, IncomingMessage
from memories.models import Batch, Entry, RecallTrace, Webhook
from memplatform.erasure import run
from sessions_app.models import Session, SessionEvent
from tests.conftest import NOW, Api, make_key
from tests.memories.api.routes import calls
from tests.memplatform.erasure.conftest import ANN, BEN, CANARY, LATER, PEER, Town, direct, drain_journal, group

pytestmark = pytest.mark.django_db
#: What stands in the address of a route, by what follows /api/v1/.
ROWS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "entries": lambda: [{"<uuid:uid>": uid} for uid in Entry.objects.values_list("uid", flat=True)],
    "recalls": lambda: [{"<uuid:uid>": uid} for uid in RecallTrace.objects.values_list("uid", flat=True)],
    "batches": lambda: [{"<uuid:uid>": uid} for uid in Batch.objects.values_list("uid", flat=True)],
    "sessions": lambda: [{"<str:key>": key} for key in Session.objects.values_list("key", flat=True)],
    "session_events": lambda: [
        {"<uuid:session>": event.session.uid, "<int:conversation>": event.conversation, "<int:event>": event.position}
        for event in SessionEvent.objects.select_related("session")
    ],
    "webhooks": lambda: [
        {"<uuid:uid>": uid, "<uuid:delivery>": uid} for uid in Webhook.objects.values_list("uid", flat=True)
    ],
    "messages": lambda: [{"<uuid:uid>": uid} for uid in IncomingMessage.objects.values_list("uid", flat=True)],
    "channels": lambda: [
        {"<str:platform>": channel.platform, "<path:account>": channel.account} for channel in Channel.objects.all()
    ],
}


def addresses() -> Iterator[str]:
    """Every address that is read, filled in with every row."""
    for route, method in sorted(calls()):
        if method != "GET" or not route.startswith("api/v1/") or "api/v1/export" in route:
            continue
        rows = ROWS[route.split("/")[2]]() if "<" in route else [{}]  # a new kind of row is entered above
        for row in rows:
            address = route.removeprefix("api/v1/")
            for part, value in row.items():
                address = address.replace(part, str(value))
            assert "<" not in address, route
            yield address


def tellers(api: Api, asked: set[str]) -> list[str]:
    """The calls whose answers tell of Ann; those of MCP's tools are among them, since MCP asks the API."""
    items = [item for item in sorted(asked) if _tells(api.get(item), item)]
    for place in (direct(PEER), group(PEER), group(BEN), direct(BEN)):
        question = {"address": place, "message": "what stood in the shed behind the house?"}
        search = {"address": place, "query": "what stood in the shed behind the house?"}
        bodies = {"recall": question, "context": question, "tools/memory_search": search}
        for path in ("MEMORY.md", f"memory/{NOW:%Y-%m-%d}.md", f"memory/scopes/telegram+direct_{PEER}/LONG_TERM.md"):
            bodies[f"tools/memory_get?{path}"] = {"address": place, "path": path}
        items += [name for name, body in bodies.items() if _tells(api.post(name.partition("?")[0], body), name)]
    return items


def _tells(answer: Any, question: str) -> bool:
    """Whether an answer names her; what was asked for may be said back."""
    assert answer.status_code < 500, answer.content
    body = answer.content.decode().replace(question.partition("?")[2] or question, "")
    return CANARY in body or PEER in body


@pytest.mark.thorough
def test_no_route_that_reads_and_no_tool_tells_of_an_erased_person(town: Town) -> None:
    drain_journal()
    api = Api(make_key(town.workspace, name="reader"))
    asked = set(addresses())
    before = tellers(api, asked)
    assert len(before) > 20 and any(name.startswith("tools/") for name in before), before
    run.order(town.workspace, [ANN], reason="request 17", actor="user:op", now=LATER)
    assert run.erase_waiting(now=LATER) == {"erased": 1, "failed": 0}
    assert tellers(api, asked | set(addresses())) == []
