"""What happens in a workspace reaches its webhooks: signed, in order, once by its id, and never without end."""

import itertools
import random
import re
from collections import defaultdict
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django_q.models import OrmQ
from standardwebhooks.webhooks import Webhook as StandardWebhook

from memories import entries, webhooks
from memories.lifecycle import maintenance
from memories.models import Change, Entry, Scope, Webhook, WebhookDelivery, Workspace
from memories.models.webhook import DeliveryState
from memories.tasks import DeliverSoon, deliver_at_once
from tests import ROOT
from tests.conftest import NOW, make_draft, make_scope
from tests.memories.webhooks.conftest import Got, Receiver, deliver, make_webhook

pytestmark = pytest.mark.django_db
QUARTER, HOUR, DAY = timedelta(minutes=15), timedelta(hours=1), timedelta(days=1)


def remember(scope: Scope, content: str, **more: Any) -> Entry:
    return entries.remember(make_draft(scope, content, **more), now=timezone.now(), actor="bot:b").entry


def edit(entry: Entry, **columns: Any) -> None:
    entries.update(entry, entries.Edit(columns=columns), now=timezone.now(), actor="user:ann")


def waiting() -> int:
    return WebhookDelivery.objects.waiting().count()


def test_it_works(scope: Scope, workspace: Workspace, receiver: Receiver) -> None:
    _webhook, secret = make_webhook(workspace, receiver.url)
    entry = remember(scope, "the port is 8080")
    edit(entry, content="the port is 9090")
    entries.expire(entry, now=timezone.now(), actor="user:ann", suppress=True)
    assert deliver() == {"sent": 3}
    assert receiver.events == ["memory.created", "memory.updated", "memory.expired"]
    created, _updated, expired = (StandardWebhook(secret).verify(item.raw, item.headers) for item in receiver.got)
    assert created["data"]["id"] == str(entry.uid)
    assert (created["actor"], created["data"]["scope"], created["data"]["version"]) == ("bot:b", scope.key, 1)
    assert (expired["actor"], expired["data"]["version"], expired["data"]["state"]) == ("user:ann", 3, "expired")
    assert receiver.connections == 1
    assert deliver() == {}


def snippet() -> dict[str, Any]:
    """The function the how-to page gives to receivers."""
    page = (ROOT / "docs" / "howto" / "webhooks.md").read_text()
    result = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert result
    names: dict[str, Any] = {}
    exec(result.group(1), names)  # noqa: S102
    return names


def test_the_snippet_of_the_page_takes_what_is_genuine_and_nothing_else(
    scope: Scope, workspace: Workspace, receiver: Receiver
) -> None:
    _webhook, secret = make_webhook(workspace, receiver.url)
    remember(scope, "the port is 8080")
    deliver()
    (got,) = receiver.got
    verify = snippet()["is_genuine"]
    assert verify(secret, got.headers, got.raw)
    assert not verify(secret, got.headers, got.raw.replace(b"created", b"updated"))
    assert not verify(secret, {**got.headers, "webhook-id": "another"}, got.raw)
    old = {**got.headers, "webhook-timestamp": str(int(got.headers["webhook-timestamp"]) - 600)}
    assert not verify(secret, old, got.raw)
    assert not verify(make_webhook(workspace, receiver.url)[1], got.headers, got.raw)


def test_a_receiver_that_was_down_gets_all_once_and_in_order(
    scope: Scope, workspace: Workspace, receiver: Receiver
) -> None:
    webhook, _secret = make_webhook(workspace, "http://127.0.0.1:9/")
    first = remember(scope, "the port is 8080")
    remember(scope, "a bicycle stands in the hall")
    edit(first, importance=0.9)
    assert webhooks.count_due(now=timezone.now()) == {"deliveries": 2}  # of each memory the first
    assert deliver() == {"came_back": 1}
    assert deliver() == {}  # it rests
    Webhook.objects.update(url=receiver.url)
    assert deliver(later=HOUR) == {"sent": 3}
    assert [(item.event, item.body["data"]["version"]) for item in receiver.got] == [
        ("memory.created", 1), ("memory.created", 1), ("memory.updated", 2),
    ]  # fmt: skip
    assert len({item.headers["webhook-id"] for item in receiver.got}) == 3
    webhook.refresh_from_db()
    assert webhook.failures == 0


def test_what_comes_due_while_it_is_looked_for_is_not_left_to_the_next_run(
    scope: Scope, workspace: Workspace, receiver: Receiver
) -> None:
    make_webhook(workspace, receiver.url)
    receiver.statuses = [500, 204]
    remember(scope, "the port is 8080")
    begin, looks = timezone.now(), itertools.count()
    # a slow machine: what came back is due after a quarter of a second, between two of its looks at the clock
    assert webhooks.deliver_due(lambda: begin + next(looks) * timedelta(seconds=0.07)) == {"came_back": 1, "sent": 1}


def test_what_a_receiver_does_not_take_holds_up_only_the_same_memory(
    scope: Scope, workspace: Workspace, receiver: Receiver
) -> None:
    make_webhook(workspace, receiver.url)
    receiver.statuses = [500, 204, 204, 204]
    first = remember(scope, "the port is 8080")
    edit(first, importance=0.9)
    remember(scope, "a bicycle stands in the hall")
    assert deliver() == {"came_back": 1, "sent": 3}  # what comes back is waited for, as it is due so soon
    results = [(item.body["data"]["id"] == str(first.uid), item.event) for item in receiver.got]
    assert results == [
        (True, "memory.created"), (False, "memory.created"), (True, "memory.created"), (True, "memory.updated"),
    ]  # fmt: skip
    assert receiver.got[0].headers["webhook-id"] == receiver.got[2].headers["webhook-id"]


@pytest.mark.parametrize("refused", [6, 20])
def test_what_a_receiver_never_takes_holds_up_no_other_memory_however_many_there_are(
    scope: Scope, workspace: Workspace, receiver: Receiver, refused: int
) -> None:
    webhook, _secret = make_webhook(workspace, receiver.url)
    nasty = {str(remember(scope, f"bicycle number {n} stands in the hall").uid) for n in range(refused)}
    receiver.answer = lambda got: 500 if got.body["data"]["id"] in nasty else 204
    deliver()
    webhook.refresh_from_db()
    assert webhook.failures  # it rests
    for hour, content in enumerate(("the port is 8080", "我家的猫叫米饭"), start=1):
        remember(scope, content)
        runs = [deliver(later=hour * HOUR + n * QUARTER) for n in range(4)]
        assert sum(run.get("sent", 0) for run in runs) == 1, runs
    assert waiting() == refused  # and none of them is lost


def test_a_receiver_that_never_recovers_is_given_up_after_a_day_until_somebody_sends_again(
    scope: Scope, workspace: Workspace, receiver: Receiver
) -> None:
    make_webhook(workspace, "http://127.0.0.1:9/")
    remember(scope, "the port is 8080")
    remember(scope, "a bicycle stands in the hall")
    deliver()
    assert waiting() == 2
    assert deliver(later=DAY + HOUR) == {"came_back": 1, "given_up": 2}
    assert set(WebhookDelivery.objects.values_list("state", "error")) == {("failed", "connection")}
    Webhook.objects.update(url=receiver.url)
    assert webhooks.send_again(WebhookDelivery.objects.all(), now=timezone.now()) == 2
    assert deliver() == {"sent": 2}


@pytest.mark.thorough
def test_a_receiver_that_drips_its_answer_has_no_more_than_its_time(
    scope: Scope, workspace: Workspace, stranger: Workspace, receiver: Receiver
) -> None:
    make_webhook(workspace, receiver.url)
    receiver.statuses = [0]
    remember(scope, "the port is 8080")
    began = timezone.now()
    assert deliver() == {"came_back": 1}
    assert timezone.now() - began < timedelta(seconds=1.5)
    assert WebhookDelivery.objects.get().error == "timeout"
    make_webhook(stranger, receiver.url)  # meanwhile the others are served
    remember(make_scope(stranger), "tea")
    assert deliver() == {"sent": 1}


def test_a_redirect_is_not_followed(scope: Scope, workspace: Workspace, receiver: Receiver) -> None:
    make_webhook(workspace, receiver.url)
    receiver.statuses = [302] * 40
    remember(scope, "the port is 8080")
    assert set(deliver()) == {"came_back"}
    delivery = WebhookDelivery.objects.get()
    assert (delivery.state, delivery.status, delivery.error) == (DeliveryState.WAITING, 302, "answer")
    assert delivery.attempts == len(receiver.got)


def test_words_leave_only_where_they_are_asked_for_and_may_be_told(
    scope: Scope, workspace: Workspace, receiver: Receiver
) -> None:
    make_webhook(workspace, receiver.url, events=["memory.created"])
    make_webhook(workspace, receiver.url, events=["memory.created"], with_content=True)
    for content, more in (("tea", {}), ("the password is hunter2", {"category": "credential"}), ("old", {})):
        entry = remember(scope, content, **more)
        if content == "old":
            entries.expire(entry, now=timezone.now(), actor="user:ann", suppress=False)
    over = remember(scope, "its time is over")
    Entry.objects.filter(pk=over.pk).update(expires_at=timezone.now() - HOUR)
    gone = remember(scope, "a thing that was erased")
    Entry.objects.filter(pk=gone.pk).delete()
    deliver()
    assert [item.body["data"].get("content") for item in receiver.got] == [None] * 4 + ["tea", None, None, None]
    assert {delivery.error for delivery in WebhookDelivery.objects.filter(row_id=gone.pk)} == {"gone"}


def test_one_slow_queue_does_not_starve_another(
    scope: Scope, workspace: Workspace, stranger: Workspace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.webhooks.delivery.TURN_SECONDS", 0.0001)
    for owner, place in ((workspace, scope), (stranger, make_scope(stranger))):
        make_webhook(owner, receiver.url)
        for text in ("the port is 8080", "a bicycle stands in the hall", "我家的猫叫年糕"):
            remember(place, text)
    assert deliver() == {"sent": 6}
    owners = [item.body["workspace"] for item in receiver.got]
    assert owners[:4] == [str(workspace.uid), str(stranger.uid)] * 2


def test_what_was_just_made_is_delivered_within_seconds_to_who_answers(
    scope: Scope, workspace: Workspace, receiver: Receiver
) -> None:
    make_webhook(workspace, receiver.url)
    soon = DeliverSoon()
    soon(now=timezone.now())
    assert not OrmQ.objects.exists()
    remember(scope, "the port is 8080")
    for _twice in range(2):
        soon(now=timezone.now())
    assert [row.task["func"] for row in OrmQ.objects.all()] == ["memories.tasks.deliver_at_once"]
    Webhook.objects.update(retry_at=timezone.now() + HOUR)
    assert deliver_at_once() == {}
    Webhook.objects.update(retry_at=None)
    assert deliver_at_once() == {"sent": 1}


@pytest.mark.thorough
def test_a_receiver_that_fails_one_in_five_has_a_hundred_events_within_seconds_in_order(
    scope: Scope, workspace: Workspace, receiver: Receiver
) -> None:
    make_webhook(workspace, receiver.url)
    names = ("wren", "kite", "lark", "swan", "crow", "tern", "rook", "teal", "smew", "knot")
    rows = [remember(scope, f"the {name} is painted in a colour of its own") for name in names]
    for step in range(1, 10):
        for row in rows:
            edit(row, importance=step / 10)
    failures = one_in_five_fails([(str(row.uid), version) for row in rows for version in range(1, 11)], lot_of=5)
    taken: dict[str, list[int]] = defaultdict(list)

    def answer(got: Got) -> int:
        key = (got.body["data"]["id"], got.body["data"]["version"])
        failures[key] -= 1
        if failures[key] >= 0:
            return 500
        taken[key[0]].append(key[1])
        return 204

    receiver.answer = answer
    assert webhooks.deliver_due(timezone.now)["sent"] == 100 and waiting() == 0
    assert len(taken) == 10 and all(versions == list(range(1, 11)) for versions in taken.values())


def one_in_five_fails(keys: list[tuple[str, int]], *, lot_of: int) -> dict[tuple[str, int], int]:
    """How often each is refused before it is taken, where every fifth answer is a failure."""
    lot = random.Random(lot_of)
    return {key: next(n for n in itertools.count() if lot.random() >= 0.2) for key in keys}


def test_old_deliveries_are_removed(scope: Scope, workspace: Workspace) -> None:
    make_webhook(workspace, "https://example.org/")
    remember(scope, "the port is 8080")
    assert maintenance.clean_up(now=timezone.now() + DAY)["deliveries"] == 0
    assert maintenance.clean_up(now=timezone.now() + 31 * DAY)["deliveries"] == 1


def test_a_webhook_that_is_off_or_did_not_ask_is_told_nothing(scope: Scope, workspace: Workspace) -> None:
    make_webhook(workspace, "https://example.org/", is_enabled=False)
    make_webhook(workspace, "https://example.org/", events=["batch.held"])
    remember(scope, "the port is 8080")
    assert not WebhookDelivery.objects.exists()


def test_history_that_is_brought_in_is_not_told(scope: Scope, workspace: Workspace) -> None:
    make_webhook(workspace, "https://example.org/")
    Change.objects.create(
        workspace_id=workspace.pk, table_name="memories_entry", row_id=1, version=1, op="I", old={}, actor="x", at=NOW
    )
    assert not WebhookDelivery.objects.exists()
