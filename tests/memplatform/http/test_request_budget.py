"""A call that computes too long ends with a clear answer, and keeps nothing."""

from typing import Any

import pytest
from django.test import Client

from memories.models import Entry
from sessions_app.models import SessionEvent
from tests.conftest import TELEGRAM, Api

pytestmark = pytest.mark.django_db
TURN = {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."}


def test_a_call_over_its_time_is_answered_503_and_keeps_nothing(api: Api, settings: Any) -> None:
    settings.REQUEST_SECONDS = -1
    answer = api.post("turns", TURN)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (503, "too_slow")
    assert answer.headers["Retry-After"] == "5"
    assert not Entry.objects.exists() and not SessionEvent.objects.exists()


def test_the_next_call_is_answered_as_ever(api: Api, settings: Any) -> None:
    settings.REQUEST_SECONDS = -1
    assert api.post("recall", {"address": TELEGRAM, "message": "where do I live?"}).status_code == 503
    settings.REQUEST_SECONDS = 10
    assert api.post("turns", TURN).status_code == 201


def test_what_is_no_call_of_the_api_has_no_such_limit(settings: Any) -> None:
    settings.REQUEST_SECONDS = -1
    assert Client().get("/admin/login/").status_code == 200
    assert Client().get("/livez").status_code == 200
