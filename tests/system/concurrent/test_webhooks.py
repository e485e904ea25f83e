"""Webhooks subscribed to by many at once."""

from typing import Any

import pytest

from memories.models import Webhook, Workspace
from tests.conftest import Api, make_key
from tests.support.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_eight_who_subscribe_at_once_as_many_are_admitted_as_may_be_on(workspace: Workspace, settings: Any) -> None:
    settings.MEMORY_WEBHOOK_LIMIT = 3
    token = make_key(workspace)
    body = {"url": "https://receiver.example/", "events": ["degraded"]}
    answers = at_once(lambda n: Api(token).post("webhooks", body).status_code, 8)
    assert sorted(answers) == [201] * 3 + [409] * 5
    assert Webhook.objects.filter(is_enabled=True).count() == 3
