"""Webhooks by mem0's client: its events, its bodies, for keys with that right."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from standardwebhooks.webhooks import Webhook as StandardWebhook

from memories import webhooks
from memories.models import Webhook, Workspace
from tests.channels_app.doors.mem0.test_memories import add
from tests.conftest import make_key
from tests.memories.webhooks.conftest import Receiver, make_webhook, receiver  # noqa: F401 (a fixture)

pytestmark = pytest.mark.django_db
ADDRESS = "https://receiver.example/mem0"
ALL = ["memory_add", "memory_update", "memory_delete"]


def test_a_webhook_receives_what_mem0_would_send(mem0: Any, receiver: Receiver) -> None:  # noqa: F811
    made = mem0.create_webhook(receiver.url, "Memory Logger", "1", ALL)
    assert (made["name"], made["event_types"], made["is_active"]) == ("Memory Logger", ALL, True)
    uid = add(mem0, "I like tea", user_id="alice")
    webhooks.deliver_due(timezone.now)
    mem0.update(uid, text="I like green tea")
    webhooks.deliver_due(timezone.now)
    mem0.delete(uid)
    webhooks.deliver_due(timezone.now)
    secret = StandardWebhook(made["secret"])
    assert [secret.verify(got.raw, got.headers) for got in receiver.got] == [
        {"event_details": {"id": uid, "data": {"memory": "I like tea"}, "event": "ADD"}},
        {"event_details": {"id": uid, "data": {"memory": "I like green tea"}, "event": "UPDATE"}},
        {"event_details": {"id": uid, "data": {}, "event": "DELETE"}},
    ]


def test_it_is_listed_changed_and_switched_off(mem0: Any, package: Any, workspace: Workspace) -> None:
    make_webhook(workspace, ADDRESS)  # of our own format: not this client's
    made = mem0.create_webhook(ADDRESS, "x", "1", ["memory:add"])
    secret = made.pop("secret")
    assert secret.startswith("whsec_") and mem0.get_webhooks("1") == [made]
    changed = mem0.update_webhook(made["webhook_id"], name="y", event_types=["memory_delete"])
    assert changed.pop("message")  # which the JavaScript client's users read
    assert changed == made | {"name": "y", "event_types": ["memory_delete"]}
    assert mem0.delete_webhook(made["webhook_id"])["message"]
    assert mem0.get_webhooks("1") == []
    assert Webhook.objects.get(uid=made["webhook_id"]).is_enabled is False
    for webhook_id in (made["webhook_id"], "wh_123", 1):
        with pytest.raises(package.exceptions.MemoryNotFoundError):
            mem0.update_webhook(webhook_id, name="z")


def test_a_key_without_the_right_is_told_so(client: Callable[[str], Any], package: Any, workspace: Workspace) -> None:
    mem0 = client(make_key(workspace, permissions=["read", "write", "admin"]))
    calls: list[Callable[[], Any]] = [
        lambda: mem0.get_webhooks("1"),
        lambda: mem0.create_webhook(ADDRESS, "x", "1", ["memory_add"]),
        lambda: mem0.update_webhook(1, name="x"),
        lambda: mem0.delete_webhook(1),
    ]
    for call in calls:
        with pytest.raises(package.exceptions.AuthenticationError, match="webhooks"):
            call()
    assert not Webhook.objects.exists()


def test_what_cannot_be_sent_is_refused_in_words(mem0: Any, package: Any) -> None:
    for url, events, text in (("http://example.org", ALL, "url"), (ADDRESS, ["memory_sing"], "event_types")):
        with pytest.raises(package.exceptions.ValidationError, match=text):
            mem0.create_webhook(url, "x", "1", events)
