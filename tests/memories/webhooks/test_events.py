"""What webhooks are told of, each where it happens: by whom, about what, once, and to nobody else."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from memories import batches, entries, webhooks
from memories.choices import BatchVerb, HoldReason, JobState
from memories.models import Entry, JobRun, Scope, WebhookDelivery, Workspace
from memplatform import tasks
from memplatform.operations.health import Condition
from memplatform.operations.jobs import runs
from tests.conftest import Api, make_draft
from tests.memories.batches.conftest import planned, step
from tests.memories.webhooks.conftest import Receiver, deliver, make_webhook

pytestmark = pytest.mark.django_db
ADDRESS = "https://receiver.example/"


def noted() -> list[tuple[str, int]]:
    return list(WebhookDelivery.objects.order_by("pk").values_list("event", "row_id"))


def remember(scope: Scope, content: str) -> Entry:
    return entries.remember(make_draft(scope, content), now=timezone.now(), actor="test").entry


def test_what_a_bot_saves_is_noted_behind_the_wall_of_the_web(
    api: Api, workspace: Workspace, stranger: Workspace
) -> None:
    mine, _secret = make_webhook(workspace, ADDRESS)
    make_webhook(stranger, ADDRESS)
    assert api.post("entries", {"scope": "main", "content": "tea"}).status_code == 201
    (delivery,) = WebhookDelivery.objects.all()
    assert (delivery.webhook, delivery.actor, delivery.details) == (mine, "bot:bot", {})


def test_what_was_not_committed_is_not_told(scope: Scope, workspace: Workspace) -> None:
    make_webhook(workspace, ADDRESS)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        remember(scope, "tea")
        assert noted()
        raise ZeroDivisionError
    assert noted() == []


def test_many_changes_by_one_statement_are_told_one_by_one(scope: Scope, workspace: Workspace) -> None:
    rows = [remember(scope, text) for text in ("tea", "a bicycle stands in the hall", "我家的猫叫年糕")]
    make_webhook(workspace, ADDRESS)
    Entry.objects.update(importance=0.9)
    Entry.objects.update(expired_at=timezone.now())
    Entry.objects.update(expired_at=None)
    Entry.objects.all().update(updated_at=timezone.now())  # which is no change of what is remembered
    pks = [row.pk for row in rows]
    results = ["memory.updated", "memory.expired", "memory.updated"]
    assert sorted(noted()) == sorted((event, pk) for event in results for pk in pks)


def test_a_date_of_review_is_told_when_it_comes_and_once(
    scope: Scope, workspace: Workspace, receiver: Receiver
) -> None:
    make_webhook(workspace, receiver.url, events=["review.due"])
    entry, tomorrow = remember(scope, "the lease of the shop"), timezone.now() + timedelta(days=1)
    entries.update(entry, entries.Edit(columns={"review_at": tomorrow}), now=timezone.now(), actor="user:ann")
    assert deliver() == {}
    later = timedelta(days=1, minutes=1)
    assert deliver(later=later) == {"reviews": 1, "sent": 1}
    assert deliver(later=later) == {}
    assert receiver.got[0].body["data"]["review_at"] == tomorrow.isoformat()
    again = tomorrow + timedelta(days=7)
    entries.update(entry, entries.Edit(columns={"review_at": again}), now=timezone.now(), actor="user:ann")
    assert deliver(later=later + timedelta(days=7)) == {"reviews": 1, "sent": 1}


def test_a_batch_that_waits_for_a_person_is_told(scope: Scope, workspace: Workspace, receiver: Receiver) -> None:
    make_webhook(workspace, receiver.url, events=["batch.held"])
    batch = planned(scope, [step(BatchVerb.EXPIRE, remember(scope, "tea"))])
    assert noted() == []
    batches.require_approval(batch, HoldReason.PURGE, purged=1)
    batches.require_approval(batch, HoldReason.CONTRADICTED, rows=1)
    assert deliver() == {"sent": 1}
    data = receiver.got[0].body["data"]
    assert (data["id"], data["scope"], data["held_because"]) == (str(batch.uid), scope.key, ["purge", "contradicted"])


def test_a_job_that_failed_is_told_without_the_words_of_its_error(workspace: Workspace, receiver: Receiver) -> None:
    make_webhook(workspace, receiver.url, events=["job.failed"])
    now = timezone.now()
    for is_dry in (True, False):
        run = JobRun.objects.create(
            job="expire", workspace=workspace, local_date=now.date(), started_at=now, asked=str(is_dry), is_dry=is_dry
        )
        run.error = "ValueError: the port is 8080"
        run.save()
        runs.fail(JobRun.objects.filter(pk=run.pk), now=now)
        assert JobRun.objects.get(pk=run.pk).state == JobState.FAILED
    assert deliver() == {"sent": 1}
    (item,) = receiver.got
    assert item.body["data"] | {"local_date": ""} == {
        "job": "expire", "local_date": "", "attempts": 1, "error": "ValueError",
    }  # fmt: skip
    assert b"8080" not in item.raw


def test_a_part_that_falls_silent_is_told_and_that_it_is_back(
    workspace: Workspace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_webhook(workspace, receiver.url, events=["degraded"])
    for condition in (Condition(), Condition(["embedder"], ["queue"]), Condition(["embedder"], ["queue"]), Condition()):
        monkeypatch.setattr("memplatform.tasks.health.examine", lambda now, condition=condition: condition)
        tasks.tell_condition()
    assert deliver() == {"sent": 2}
    assert [item.body["data"] for item in receiver.got] == [
        {"degraded": True, "parts": ["embedder", "queue"]},
        {"degraded": False, "parts": []},
    ]


def test_an_answer_held_back_is_no_condition_that_is_over_a_minute_later(
    workspace: Workspace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_webhook(workspace, receiver.url, events=["degraded"])
    for missing in ([], ["embedder"], ["embedder"], []):
        monkeypatch.setattr("memplatform.tasks.health.examine", lambda now, parts=missing: Condition(parts))
        tasks.tell_condition()
        webhooks.announce_leak(workspace.pk, now=timezone.now())
    deliver()
    assert [item.body["data"]["parts"] for item in receiver.got] == [
        ["canary"], ["embedder"], ["canary"], ["canary"], [], ["canary"],
    ]  # fmt: skip


def test_a_test_says_nothing_and_arrives(workspace: Workspace, receiver: Receiver) -> None:
    webhook, _secret = make_webhook(workspace, receiver.url, events=["degraded"])
    webhooks.announce_test(webhook, actor="user:ann", now=timezone.now())
    deliver()
    body: dict[str, Any] = receiver.got[0].body
    assert (body["event"], body["actor"], body["data"]) == ("test", "user:ann", {})
