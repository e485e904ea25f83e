"""Webhooks over the API: who may subscribe, what is shown once, and that what arrives is genuine."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django_q.models import OrmQ
from standardwebhooks.webhooks import Webhook as StandardWebhook

from memories import entries, secrets
from memories.audit.models import AuditRecord
from memories.models import IdempotencyKey, Webhook, WebhookDelivery, Workspace
from tests.conftest import Api, make_draft, make_key, make_scope
from tests.memories.webhooks.conftest import Receiver, deliver, make_webhook

pytestmark = pytest.mark.django_db
ADDRESS = "https://receiver.example/hooks?token=shh"
WEBHOOKS = "webhooks"


class Owner(Api):
    """A bot that changes and switches off."""

    def patch(self, path: str, body: Any) -> Any:
        return self.request("PATCH", path, json.dumps(body))

    def delete(self, path: str) -> Any:
        return self.request("DELETE", path)


@pytest.fixture
def owner(workspace: Workspace) -> Owner:
    """A bot whose key may subscribe, and read."""
    return Owner(make_key(workspace, permissions=["read", "webhooks"]))


def subscribe(api: Api, url: str = ADDRESS, **more: Any) -> Any:
    return api.post(WEBHOOKS, {"url": url, "events": ["memory.created"], **more})


def test_what_is_subscribed_arrives_signed_with_the_secret_of_the_answer(
    owner: Owner, workspace: Workspace, receiver: Receiver
) -> None:
    made = subscribe(owner, receiver.url, with_content=True, name="mirror").json()
    entry = entries.remember(
        make_draft(make_scope(workspace, "main"), "I like tea"), now=timezone.now(), actor="bot:a"
    ).entry
    assert deliver() == {"sent": 1}
    (got,) = receiver.got
    body = StandardWebhook(made["secret"]).verify(got.raw, got.headers)
    assert body["data"]["content"] == "I like tea"
    (delivery,) = owner.get(f"{WEBHOOKS}/{made['id']}/deliveries").json()["results"]
    assert (delivery["id"], delivery["subject"]) == (got.headers["webhook-id"], str(entry.uid))
    assert (delivery["event"], delivery["state"], delivery["status"]) == ("memory.created", "sent", 204)


def test_a_test_is_sent_under_the_id_of_the_answer_and_soon(
    owner: Owner, receiver: Receiver, django_capture_on_commit_callbacks: Any
) -> None:
    made = subscribe(owner, receiver.url).json()
    with django_capture_on_commit_callbacks(execute=True):
        answer = owner.post(f"{WEBHOOKS}/{made['id']}/test", {})
    assert (answer.status_code, answer.json()["state"]) == (202, "waiting")
    assert [row.task["func"] for row in OrmQ.objects.all()] == ["memories.tasks.deliver_webhooks"]
    deliver()
    assert [got.headers["webhook-id"] for got in receiver.got] == [answer.json()["id"]]
    assert owner.get(f"{WEBHOOKS}/deliveries/{answer.json()['id']}").json()["state"] == "sent"


def test_a_secret_is_shown_once_and_kept_nowhere_in_the_clear(owner: Owner, workspace: Workspace, caplog: Any) -> None:
    first = owner.post(WEBHOOKS, {"url": ADDRESS, "events": ["degraded"]}, **{"Idempotency-Key": "one"})
    secret = first.json()["secret"]
    again = owner.post(WEBHOOKS, {"url": ADDRESS, "events": ["degraded"]}, **{"Idempotency-Key": "one"})
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json() == first.json() | {"secret": None}
    webhook = Webhook.objects.get()
    assert secrets.read(webhook.secret_name, workspace=workspace) == secret
    renewed = owner.post(f"{WEBHOOKS}/{webhook.uid}/renew-secret", {}, **{"Idempotency-Key": "two"}).json()["secret"]
    assert renewed != secret and secrets.read(webhook.secret_name, workspace=workspace) == renewed
    listed = owner.get(WEBHOOKS).content + owner.get(f"{WEBHOOKS}/{webhook.uid}").content
    kept = [*IdempotencyKey.objects.values(), *AuditRecord.objects.values(), *Webhook.objects.values()]
    everywhere = listed.decode() + str(kept) + caplog.text
    assert secret not in everywhere and renewed not in everywhere
    assert "token=shh" not in str(list(AuditRecord.objects.values())) + caplog.text  # an address may be a secret


@pytest.mark.parametrize(
    ("permissions", "patterns", "missing"),
    [(["read", "write", "admin"], [], "“webhooks”"), (["read", "webhooks"], ["telegram:*"], "bound to some scopes")],
)
def test_a_key_without_the_right_is_refused_and_told_what_is_missing(
    workspace: Workspace, permissions: list[str], patterns: list[str], missing: str
) -> None:
    api = Api(make_key(workspace, permissions=permissions, scope_patterns=patterns))
    answer = subscribe(api)
    assert (answer.status_code, missing in answer.json()["errors"][0]["detail"]) == (403, True)
    assert not Webhook.objects.exists()


def test_words_are_sent_only_by_the_leave_of_a_key_that_may_read_them(workspace: Workspace, owner: Owner) -> None:
    blind = Owner(make_key(workspace, name="blind", permissions=["webhooks"]))
    answer = subscribe(blind, with_content=True)
    assert (answer.status_code, "“read”" in answer.json()["errors"][0]["detail"]) == (403, True)
    made = subscribe(owner, with_content=True).json()
    place = f"{WEBHOOKS}/{made['id']}"
    assert blind.patch(place, {"url": "https://thief.example/"}).status_code == 403
    assert Webhook.objects.get().url == ADDRESS
    assert blind.delete(place).json()["is_enabled"] is False  # to send less, nobody has to read
    for change in ({"is_enabled": True}, {"url": "https://thief.example/"}):
        assert blind.patch(place, change).status_code == 403
    assert Webhook.objects.get().url == ADDRESS


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"url": "http://receiver.example/"}, "url"),
        ({"url": "https://me:pass@receiver.example/"}, "url"),
        ({"url": "file:///etc"}, "url"),
        ({"events": []}, "events"),
        ({"events": ["test"]}, "events.0"),
        ({"events": ["degraded"], "format": "mem0"}, "events"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_could_not_be_sent_is_refused_by_the_name_of_its_field(
    owner: Owner, wrong: dict[str, Any], field: str
) -> None:
    answer = owner.post(WEBHOOKS, {"url": ADDRESS, "events": ["memory.created"]} | wrong)
    assert (answer.status_code, [error["attr"] for error in answer.json()["errors"]]) == (400, [field])
    made = subscribe(owner).json()
    answer = owner.patch(f"{WEBHOOKS}/{made['id']}", wrong)
    assert (answer.status_code, [error["attr"] for error in answer.json()["errors"]]) == (400, [field])


def test_deleting_switches_off_and_what_was_sent_stays_listed(owner: Owner, receiver: Receiver) -> None:
    made = subscribe(owner, receiver.url).json()
    place = f"{WEBHOOKS}/{made['id']}"
    delivery = owner.post(f"{place}/test", {}).json()
    assert owner.delete(place).json()["is_enabled"] is False
    assert deliver() == {} and not receiver.got
    for send in (
        f"{place}/test",
        f"{place}/deliveries/send-again",
        f"{WEBHOOKS}/deliveries/{delivery['id']}/send-again",
    ):
        answer = owner.post(send, {})
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (409, "webhook_off")
    assert [one["id"] for one in owner.get(f"{place}/deliveries").json()["results"]] == [delivery["id"]]
    assert owner.get(f"{WEBHOOKS}?is_enabled=true").json()["results"] == []
    assert owner.patch(place, {"is_enabled": True}).json()["is_enabled"] is True
    assert deliver() == {"sent": 1}


def test_what_failed_is_sent_again_one_or_all(owner: Owner, workspace: Workspace, receiver: Receiver) -> None:
    webhook, _secret = make_webhook(workspace, receiver.url)
    place = f"{WEBHOOKS}/{webhook.uid}"
    ids = [owner.post(f"{place}/test", {}).json()["id"] for _ in range(3)]
    WebhookDelivery.objects.update(state="failed", error="timeout", attempts=9)
    (first, *_others) = owner.get(f"{place}/deliveries?state=failed&limit=1").json()["results"]
    assert (first["id"], first["problem"], first["problem_text"]) == (
        ids[-1], "timeout", "The receiver did not answer in time.",
    )  # fmt: skip
    again = owner.post(f"{WEBHOOKS}/deliveries/{ids[0]}/send-again", {})
    assert (again.status_code, again.json()["state"], again.json()["attempts"]) == (202, "waiting", 0)
    assert owner.post(f"{place}/deliveries/send-again", {}).json() == {"count": 2}
    deliver()
    assert [got.headers["webhook-id"] for got in receiver.got] == ids
    page = owner.get(f"{place}/deliveries?limit=2").json()
    rest = owner.get(page["next"].removeprefix("http://testserver/api/v1/")).json()
    assert [one["id"] for one in page["results"] + rest["results"]] == ids[::-1] and rest["next"] is None
    assert owner.get(f"{place}/deliveries?cursor=x").status_code == 400


def test_so_many_are_on_and_no_more(owner: Owner, settings: Any) -> None:
    settings.MEMORY_WEBHOOK_LIMIT = 2
    first, _second = subscribe(owner).json(), subscribe(owner)
    third = subscribe(owner)
    assert (third.status_code, third.json()["errors"][0]["code"]) == (409, "too_many_webhooks")
    assert subscribe(owner, is_enabled=False).status_code == 201
    place = f"{WEBHOOKS}/{first['id']}"
    assert owner.patch(place, {"name": "the first"}).status_code == 200  # it is on already
    owner.delete(place)
    assert subscribe(owner).status_code == 201
    assert owner.patch(place, {"is_enabled": True}).status_code == 409


def test_every_act_stands_in_the_audit_log(owner: Owner, workspace: Workspace) -> None:
    made = subscribe(owner).json()
    place = f"{WEBHOOKS}/{made['id']}"
    owner.patch(place, {"name": "alarms", "events": ["memory.created"]})
    delivery = owner.post(f"{place}/test", {}).json()
    owner.post(f"{WEBHOOKS}/deliveries/{delivery['id']}/send-again", {})
    owner.post(f"{place}/renew-secret", {})
    owner.delete(place)
    written = list(AuditRecord.objects.order_by("id"))
    assert {(one.actor, one.workspace_id, one.about) for one in written} == {
        ("bot:bot", workspace.pk, "receiver.example")
    }
    assert [(one.event, one.details.get("what"), one.details.get("fields")) for one in written] == [
        ("setting", "added", None),
        ("setting", "changed", ["name"]),
        ("setting", "tested", None),
        ("setting", "sent again", None),
        ("secret_made", None, None),
        ("setting", "changed", ["is_enabled"]),
    ]
    assert all(one.address.endswith(f"/webhook/{Webhook.objects.get().pk}/change/") for one in written)


def test_another_workspaces_webhook_is_not_found(owner: Owner, stranger: Workspace) -> None:
    webhook, _secret = make_webhook(stranger, ADDRESS)
    theirs = Api(make_key(stranger)).post(f"{WEBHOOKS}/{webhook.uid}/test", {}).json()
    calls: list[Callable[[], Any]] = [
        lambda: owner.get(f"{WEBHOOKS}/{webhook.uid}"),
        lambda: owner.patch(f"{WEBHOOKS}/{webhook.uid}", {"url": "https://mine.example/"}),
        lambda: owner.delete(f"{WEBHOOKS}/{webhook.uid}"),
        lambda: owner.post(f"{WEBHOOKS}/{webhook.uid}/renew-secret", {}),
        lambda: owner.get(f"{WEBHOOKS}/{webhook.uid}/deliveries"),
        lambda: owner.post(f"{WEBHOOKS}/{webhook.uid}/deliveries/send-again", {}),
        lambda: owner.get(f"{WEBHOOKS}/deliveries/{theirs['id']}"),
        lambda: owner.post(f"{WEBHOOKS}/deliveries/{theirs['id']}/send-again", {}),
    ]
    before = secrets.read(webhook.secret_name, workspace=stranger)
    assert [call().status_code for call in calls] == [404] * len(calls)
    assert owner.get(WEBHOOKS).json()["results"] == []
    webhook.refresh_from_db()
    assert (webhook.url, webhook.is_enabled) == (ADDRESS, True)
    assert secrets.read(webhook.secret_name, workspace=stranger) == before


def test_another_address_is_tried_at_once(owner: Owner, workspace: Workspace) -> None:
    webhook, _secret = make_webhook(workspace, ADDRESS, failures=3, retry_at=timezone.now() + timedelta(hours=1))
    place = f"{WEBHOOKS}/{webhook.uid}"
    assert owner.get(place).json()["rests_until"] is not None
    moved = owner.patch(place, {"url": "https://other.example/"}).json()
    assert (moved["url"], moved["failures"], moved["rests_until"]) == ("https://other.example/", 0, None)
