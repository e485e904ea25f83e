"""Jobs of every minute that fail are told to webhooks once, until they have ended well again."""

from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from django.utils import timezone
from django_q.models import Task

from memories.models import Webhook, WebhookDelivery, Workspace
from memories.webhooks.delivery import body_of
from memplatform import tasks
from memplatform.operations.jobs.queue import failing_jobs, kind_of

pytestmark = pytest.mark.django_db
FAILED = """no such person: ann : Traceback (most recent call last):
  File "/opt/worker.py", line 103, in worker
    res = f(*task["args"])
          ^^^^^^^^^^^^^^^^
django.db.utils.OperationalError: no such person: ann
and bob: gone
"""
numbers = count(1)


def ran(job: str, *, well: bool, at: datetime) -> None:
    number = f"{next(numbers):032}"
    result: Any = None if well else FAILED
    Task.objects.create(
        id=number, name=number, func="f", group=f"mem:{job}", started=at, stopped=at, success=well, result=result
    )


@pytest.fixture
def webhook(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Webhook:
    monkeypatch.setattr(tasks, "_parts", lambda _now: [])
    created_at = timezone.now() - timedelta(days=1)
    return Webhook.objects.create(
        workspace=workspace, url="https://example.org/", events=["job.failed"], created_at=created_at
    )


def test_a_streak_of_failures_is_told_once_and_the_next_one_again(webhook: Webhook) -> None:
    begun = timezone.now() - timedelta(minutes=30)
    ran("tick", well=True, at=begun)
    assert tasks.tell_condition() == {"told": 0}
    for minute in (1, 2, 3):
        ran("tick", well=False, at=begun + timedelta(minutes=minute))
    assert tasks.tell_condition() == {"told": 1}
    ran("tick", well=False, at=begun + timedelta(minutes=4))
    assert tasks.tell_condition() == {"told": 0}
    ran("tick", well=True, at=timezone.now())
    assert (tasks.tell_condition(), failing_jobs()) == ({"told": 0}, [])
    ran("tick", well=False, at=timezone.now())
    assert tasks.tell_condition() == {"told": 1}
    result = body_of(WebhookDelivery.objects.earliest("pk"), webhook, now=timezone.now())
    date = (begun + timedelta(minutes=3)).date().isoformat()
    assert result is not None and result["event"] == "job.failed"
    assert result["data"] == {
        "job": "tick",
        "local_date": date,
        "attempts": 3,
        "error": "django.db.utils.OperationalError",
    }


@pytest.mark.parametrize("result", [None, "words of ann", 'x\n  File "a"\n    code\nann said: no', {"a": 1}])
def test_of_what_is_no_traceback_no_word_is_told(result: object) -> None:
    assert kind_of(result) == "Exception"
