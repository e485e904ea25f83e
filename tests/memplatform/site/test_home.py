"""The home page: what needs somebody can be put off, and what it draws is of what they may see."""

import shutil
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_q.models import Failure, OrmQ

from channels_app.models import ReplayedRecord
from memories.choices import JobState
from memories.models import JobRun, RecallTrace
from memories.models.webhook import DeliveryProblem, DeliveryState, WebhookDelivery
from memories.staff.roles import Role
from memplatform.operations import rollups
from memplatform.operations.models import HourlyCount, RolledHour, Snooze
from memplatform.site.charts import Chart, Series
from tests.memories.admin.conftest import House, enter, make_user, replayed

pytestmark = pytest.mark.django_db


def home(client: Client, **asked: Any) -> Any:
    return client.get(reverse("admin:index"), asked)


def lines(client: Client) -> set[str]:
    return {item.key for item in home(client).context["items"]}


def do(client: Client, key: str, what: str) -> None:
    response = client.post(reverse("attention"), {"key": key, "do": what})
    assert response.status_code == 302 and response.headers["Location"] == "/admin/#attention"


def test_a_line_is_put_off_until_it_is_time_and_for_nobody_else(alice: Client, mine: House, owner: Client) -> None:
    assert "parked-calls" in lines(alice)
    do(alice, "parked-calls", "week")
    assert "parked-calls" not in lines(alice) and home(alice).context["put_off"] == 1
    assert "parked-calls" in lines(owner)
    until = Snooze.objects.get().until
    assert until and timedelta(days=6) < until - timezone.now() < timedelta(days=8)
    Snooze.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert "parked-calls" in lines(alice)


def test_a_dismissed_line_is_back_when_there_is_something_new(alice: Client, mine: House) -> None:
    do(alice, "parked-calls", "dismiss")
    assert "parked-calls" not in lines(alice)
    replayed(mine.workspace, "another", at=timezone.now())
    assert "parked-calls" in lines(alice)
    do(alice, "parked-calls", "dismiss")
    do(alice, "", "show")
    assert "parked-calls" in lines(alice) and not Snooze.objects.exists()


def test_what_failed_is_tried_again_by_those_who_may(mine: House, owner: Client) -> None:
    now = timezone.now()
    Failure.objects.create(id="f", name="f", func="memplatform.tasks.tick", started=now, stopped=now, success=False)
    failed = {"state": JobState.FAILED, "started_at": now, "finished_at": now, "local_date": now.date()}
    JobRun.objects.create(job="expire", workspace=mine.workspace, **failed)
    WebhookDelivery.objects.update(state=DeliveryState.FAILED)
    viewer = enter(make_user("viewer", workspace=mine.workspace, role=Role.VIEWER, is_staff=True))
    assert {"failed-tasks", "failed-jobs", "deliveries", "parked-calls"} <= lines(owner)  # to look tries nothing again
    for key in ("failed-jobs", "deliveries", "parked-calls"):
        item = next(item for item in home(viewer).context["items"] if item.key == key)
        assert item.retry is None
        do(viewer, key, "retry")
    assert not OrmQ.objects.exists() and WebhookDelivery.objects.get().state == DeliveryState.FAILED
    for key in ("failed-tasks", "failed-jobs", "deliveries"):
        do(owner, key, "retry")
    assert not Failure.objects.exists() and OrmQ.objects.count() == 2
    assert JobRun.objects.filter(job="expire", state=JobState.QUEUED).count() == 1
    assert WebhookDelivery.objects.get().state == DeliveryState.WAITING
    assert not {"failed-tasks", "failed-jobs", "deliveries"} & lines(owner)


def test_what_a_webhook_would_have_told_of_something_gone_needs_nobody(mine: House, owner: Client) -> None:
    WebhookDelivery.objects.update(state=DeliveryState.FAILED, error=DeliveryProblem.GONE)
    assert "deliveries" not in lines(owner)


def test_a_full_disk_is_named_with_its_folder_and_what_is_left(
    alice: Client, mine: House, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEMORY_FILES_ROOT = str(tmp_path)
    left = {tmp_path: 7_900_000}
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=left.get(folder, 10**12)))
    page = alice.get(reverse("admin:index"), headers={"Accept-Language": "en"}).content.decode()
    assert page.count("The disk is full") == 1 and f"{tmp_path} has 7 MB left." in page
    left.clear()
    assert "The disk is full" not in alice.get(reverse("admin:index")).content.decode()


def test_a_day_is_drawn_from_what_was_counted_and_what_is_open(alice: Client, mine: House, theirs: House) -> None:
    now = timezone.now()
    RecallTrace.objects.all().delete()
    yesterday = rollups.start_of_hour(now - timedelta(days=1))
    for workspace in (mine.workspace, theirs.workspace):
        for channel, found in (("telegram", 5), ("lark", 2)):
            HourlyCount.objects.create(hour=yesterday, workspace=workspace, channel=channel, found=found)
        RecallTrace.objects.create(
            workspace=workspace, scopes=[], scope_keys=["telegram:direct_u1"], message="?", served=[],
            evidence={"verdict": "found"}, timings={"total": 20}, created_at=now,
        )  # fmt: skip
    RolledHour.objects.create(hour=rollups.start_of_hour(now) - rollups.HOUR, taken_at=now)
    recalls = home(alice).context["charts"][0]
    assert list(recalls.series[0].values)[-2:] == [7, 1] and len(recalls.days) == 7
    page = home(alice, channel="telegram", days=30, of=mine.workspace.pk)
    recalls = page.context["charts"][0]
    assert list(recalls.series[0].values)[-2:] == [5, 1] and len(recalls.days) == 30
    series = home(alice, of=theirs.workspace.pk).context["charts"][0].series[0]
    assert sum(value or 0 for value in series.values) == 8  # hers, and not that one
    words = page.content.decode()
    assert "<svg" in words and "As a table" in words and "https://" not in words


def test_a_chart_says_the_same_as_its_table() -> None:
    days = [timezone.now().date() - timedelta(days=ago) for ago in (1, 0)]
    chart = Chart("c", days, [Series("a", "mp-c1", [3.0, 0.0]), Series("<b>", "mp-c2", [9.0, None])])
    assert chart.top == 20 and chart.scale == ["20", "10"]
    assert chart.table[1][1] == ["3", "9"] and chart.table[0][1] == ["0", "—"]
    assert chart.svg.count("<path") == 3 and "&lt;b&gt; 9" in chart.svg  # the grid, and two bars of one day
    lines = Chart("l", days, [Series("a", "mp-c1", [None, 4.0])], is_stacked=False)
    assert lines.svg.count("mp-line-of") == 1 and Chart("e", days, [Series("a", "mp-c1", [0.0, 0.0])]).is_empty


def test_a_parked_call_is_tried_again_or_given_up_by_operators(alice: Client, mine: House) -> None:
    record = ReplayedRecord.objects.get()
    retry, discard = (
        reverse(f"admin:channels_app_replayedrecord_{verb}", args=[record.pk]) for verb in ("retry", "discard")
    )
    page = alice.post(retry, {"confirmed": "yes"}, follow=True)
    record.refresh_from_db()
    assert record.outcome == "parked" and "could not be" in page.content.decode()  # its body is no whole call
    alice.post(discard, {"confirmed": "yes"})
    record.refresh_from_db()
    assert (record.outcome, record.body) == ("discarded", None) and "parked-calls" not in lines(alice)
