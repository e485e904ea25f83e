"""Webhooks in the admin: a secret is shown once, a test is sent, what failed is sent again."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django_q.models import OrmQ

from memories import secrets
from memories.audit.models import AuditRecord
from memories.models import Webhook, WebhookDelivery
from tests.conftest import NOW
from tests.memories.admin.conftest import House
from tests.memories.webhooks.conftest import make_webhook

pytestmark = pytest.mark.django_db
ADDRESS = "https://receiver.example/hooks?token=shh"


def add(client: Client, house: House, url: str = ADDRESS, **more: Any) -> Any:
    columns = {"workspace": house.workspace.pk, "url": url, "events": ["memory.created"], "format": "memplatform"}
    columns["is_enabled"] = "on"
    return client.post(reverse("admin:memories_webhook_add"), columns | more)


def test_a_secret_is_shown_once_and_stored_encrypted(alice: Client, mine: House) -> None:
    answer = add(alice, mine)
    secret = answer.context["token"]
    assert secret in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    webhook = Webhook.objects.get(workspace=mine.workspace, url=ADDRESS)
    assert secrets.read(webhook.secret_name, workspace=mine.workspace) == secret
    page = reverse("admin:memories_webhook_change", args=[webhook.pk])
    assert secret not in alice.get(page).content.decode()
    renewed = alice.post(reverse("admin:memories_webhook_renew_secret", args=[webhook.pk]), {"confirmed": "yes"})
    assert renewed.context["token"] not in ("", secret)
    assert secrets.read(webhook.secret_name, workspace=mine.workspace) == renewed.context["token"]
    assert not [one for one in LogEntry.objects.all() if "token=shh" in str(vars(one))]  # an address may be a secret
    alice.post(page, {"url": ADDRESS, "events": ["degraded"], "format": "memplatform"})
    webhook.refresh_from_db()
    assert (webhook.events, webhook.is_enabled) == (["degraded"], False)


@pytest.mark.parametrize("url", ["http://receiver.example/", "https://me:pass@receiver.example/", "file:///etc", ""])
def test_an_address_that_would_not_be_reached_is_refused(alice: Client, mine: House, url: str) -> None:
    assert add(alice, mine, url).context["errors"]
    assert not Webhook.objects.filter(url=url).exists()


def test_no_more_are_on_than_allowed_and_mem0s_bodies_are_about_memories(
    alice: Client, mine: House, settings: Any
) -> None:
    before = mine.workspace.webhooks.filter(is_enabled=True).count()
    settings.MEMORY_WEBHOOK_LIMIT = before + 1
    misfit = add(alice, mine, events=["degraded"], format="mem0").context["errors"]
    assert "memory.created" in str(misfit)
    assert add(alice, mine).context["token"]
    assert "switch one off" in str(add(alice, mine, ADDRESS + "2").context["errors"])
    webhook = Webhook.objects.get(url=ADDRESS)
    page = reverse("admin:memories_webhook_change", args=[webhook.pk])
    kept = {"url": ADDRESS, "name": "alarms", "events": ["memory.created"], "format": "mem0", "is_enabled": "on"}
    alice.post(page, kept)  # it is on already
    webhook.refresh_from_db()
    assert (webhook.name, webhook.format, webhook.is_enabled) == ("alarms", "mem0", True)


def test_a_test_is_sent_and_what_failed_is_sent_again(alice: Client, mine: House) -> None:
    webhook, _secret = make_webhook(mine.workspace, ADDRESS)
    address = reverse("admin:memories_webhook_send_test", args=[webhook.pk])
    assert alice.get(address).status_code == 200
    assert not webhook.deliveries.exists()
    listed = alice.post(address, {"confirmed": "yes"}, follow=True)
    assert "receiver.example" in listed.content.decode()
    delivery = webhook.deliveries.get()
    assert (delivery.event, delivery.actor) == ("test", "user:alice")
    WebhookDelivery.objects.update(state="failed", error="timeout", attempts=9)
    page = alice.get(reverse("admin:memories_webhookdelivery_change", args=[delivery.pk])).content.decode()
    assert "did not answer in time" in page
    failed = WebhookDelivery.objects.create(
        workspace=mine.workspace, webhook=webhook, event="memory.created", row_id=mine.entry.pk, at=NOW, queued_at=NOW
    )
    page = alice.get(reverse("admin:memories_webhookdelivery_change", args=[failed.pk])).content.decode()
    assert reverse("admin:memories_entry_change", args=[mine.entry.pk]) in page
    chosen = {"action": "send_chosen_again", "_selected_action": [delivery.pk], "confirmed": "yes"}
    alice.post(reverse("admin:memories_webhookdelivery_changelist"), chosen)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.error, delivery.attempts) == ("waiting", "", 0)
    written = AuditRecord.objects.filter(about="receiver.example").order_by("id")
    assert [(one.actor, one.details["what"]) for one in written] == [
        ("user:alice", "tested"),
        ("user:alice", "sent again"),
    ]


def test_it_is_sent_at_once_not_at_the_next_minute(
    alice: Client, mine: House, django_capture_on_commit_callbacks: Any
) -> None:
    webhook, _secret = make_webhook(mine.workspace, ADDRESS)
    with django_capture_on_commit_callbacks(execute=True):
        alice.post(reverse("admin:memories_webhook_send_test", args=[webhook.pk]), {"confirmed": "yes"})
    assert [row.task["func"] for row in OrmQ.objects.all()] == ["memories.tasks.deliver_webhooks"]


def test_a_colleague_of_another_workspace_reaches_none_of_it(alice: Client, mine: House, theirs: House) -> None:
    webhook, _secret = make_webhook(theirs.workspace, ADDRESS)
    for page in ("renew_secret", "send_test"):
        address = reverse(f"admin:memories_webhook_{page}", args=[webhook.pk])
        assert alice.post(address, {"confirmed": "yes"}).status_code == 404
    assert add(alice, theirs).status_code == 200
    assert theirs.workspace.webhooks.filter(url=ADDRESS).count() == 1
    assert not webhook.deliveries.exists()
