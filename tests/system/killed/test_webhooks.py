"""A delivery whose process is killed between sending and noting it: it comes again under its id, and the rest once."""

import os
from collections import Counter

import pytest
from django.utils import timezone

from memories import entries
from memories.models import Scope, WebhookDelivery, Workspace
from tests import ROOT
from tests.conftest import make_draft
from tests.memories.webhooks.conftest import Receiver, make_webhook
from tests.memories.webhooks.conftest import receiver as receiver
from tests.support.house import until
from tests.support.nursery import Process, start

pytestmark = pytest.mark.django_db(transaction=True)


def worker(later: int) -> Process:
    data = os.environ.get("MEMPLATFORM_DATA", str(ROOT / ".data" / "test"))
    return start(
        "tests.system.killed.webhook_worker",
        str(later),
        MEMORY_WEBHOOK_PRIVATE_ADDRESSES="yes",
        MEMPLATFORM_DATA=data,
    )


def line_of(process: Process) -> str:
    """All of it, to its end."""
    assert process.stdout is not None
    return process.stdout.read()


def test_killed_between_sending_and_noting_each_arrives_under_one_id(
    workspace: Workspace, scope: Scope, receiver: Receiver
) -> None:
    make_webhook(workspace, receiver.url)
    for text in ("tea", "a bicycle stands in the hall", "我家的猫叫年糕", "the port is 8080"):
        entries.remember(make_draft(scope, text), now=timezone.now(), actor="test")
    receiver.statuses = [204, 0]  # the second is taken, and its answer never ends
    with worker(0) as process:
        until(lambda: len(receiver.got) == 2, 30)
        process.kill()
    with worker(0) as too_early:  # the lease is another's
        assert line_of(too_early) == "{}\n"
    with worker(130) as last:
        assert line_of(last) == "{'sent': 3}\n"
    ids = [item.headers["webhook-id"] for item in receiver.got]
    assert len(ids) == 5 and ids[1] == ids[2]
    assert sorted(Counter(ids).values()) == [1, 1, 1, 2]
    assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {"sent"}
