"""The list of sessions: found by the names of people, and told by when it was last spoken."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.models import Workspace
from tests.conftest import GROUP, TELEGRAM, Api

pytestmark = pytest.mark.django_db
SESSIONS = "admin:sessions_app_session_changelist"


def test_a_session_is_found_by_the_name_of_who_speaks_there(admin_client: Client, api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "I like tea", "assistant": "Noted.", "sender_name": "Yuki Tanaka"})
    group = {**GROUP, "peer": "u99"}
    api.post("turns", {"address": group, "user": "me too", "assistant": "Noted.", "sender_name": "阿明"})
    by_name = {
        name: [row.is_group for row in admin_client.get(reverse(SESSIONS), {"q": name}).context["cl"].result_list]
        for name in ("Yuki Tanaka", "tanaka", "阿明", "nobody")
    }
    assert by_name == {"Yuki Tanaka": [False], "tanaka": [False], "阿明": [True], "nobody": []}


def test_the_last_message_is_told_by_when_it_was_said(admin_client: Client, api: Api, workspace: Workspace) -> None:
    said_at = (timezone.now() - timedelta(days=40)).replace(microsecond=0)
    api.post("turns", {"address": TELEGRAM, "user": "I like tea", "assistant": "Noted.", "at": said_at.isoformat()})
    (row,) = admin_client.get(reverse(SESSIONS)).context["cl"].result_list
    assert row.newest_at == said_at
    today = timezone.localdate().isoformat()
    day = timezone.localdate(said_at).isoformat()
    ends = {when: {"last_at_from": when, "last_at_to": when} for when in (day, today)}
    shown = {
        when: len(admin_client.get(reverse(SESSIONS), asked).context["cl"].result_list) for when, asked in ends.items()
    }
    assert shown == {day: 1, today: 0}


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_page_of_a_session_says_when_it_was_last_spoken_as_the_list_does(
    admin_client: Client, api: Api, language: str
) -> None:
    said_at = (timezone.now() - timedelta(days=40)).replace(microsecond=0)
    api.post("turns", {"address": TELEGRAM, "user": "I like tea", "assistant": "Noted.", "at": said_at.isoformat()})
    admin_client.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    (row,) = admin_client.get(reverse(SESSIONS)).context["cl"].result_list
    page = admin_client.get(reverse("admin:sessions_app_session_change", args=[row.pk])).content.decode()
    assert timezone.localtime(said_at).strftime("%Y-%m-%d %H:%M") in page and said_at.isoformat(" ") not in page
