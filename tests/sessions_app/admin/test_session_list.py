"""The list of sessions: found by the names of people, and told by when it was last spoken."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from channels_app.people.linking import person_for
from channels_app.people.peers import Peer
from memories.models import Workspace
from memories.models.change import acting
from tests.conftest import GROUP, TELEGRAM, Api
from tests.memories.admin.conftest import enter, make_user

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


def test_sessions_are_found_by_the_name_operators_gave_and_by_every_name_people_came_with(
    admin_client: Client, api: Api, workspace: Workspace, stranger: Workspace
) -> None:
    wang = {"address": {**TELEGRAM, "peer": "u7", "chat": "u7"}, "assistant": "好"}
    in_group = {"address": {**GROUP, "peer": "u7"}, "assistant": "好"}
    for name in ("Ann", "Boss"):
        api.post("turns", {**wang, "user": f"我叫 {name}", "sender_name": name})
    api.post("turns", {**in_group, "user": "没有名字"})
    api.post("turns", {"address": {**GROUP, "chat": "g2", "peer": "u8"}, "user": "hi", "assistant": "hi"})
    lark = {"platform": "lark", "account": "", "peer": "u7", "chat": "u7"}  # somebody else of the same id
    api.post("turns", {"address": lark, "user": "hi", "assistant": "hi"})
    with acting("user:op"):
        person = person_for(workspace.pk, Peer("telegram", "u7"))
        person.name = "王梅"
        person.save()

    def found(client: Client, words: str) -> list[tuple[str, bool]]:
        rows = client.get(reverse(SESSIONS), {"q": words}).context["cl"].result_list
        return sorted((row.platform, row.is_group) for row in rows)

    both = [("telegram", False), ("telegram", True)]
    assert {name: found(admin_client, name) for name in ("王梅", "Ann", "boss", "王芳")} == {
        "王梅": both, "Ann": both, "boss": both, "王芳": [],
    }  # fmt: skip
    elsewhere = enter(make_user("bob", workspace=stranger, is_staff=True))
    assert found(elsewhere, "王梅") == []


def test_a_search_for_a_name_asks_no_more_of_many_people(admin_client: Client, api: Api) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            admin_client.get(reverse(SESSIONS), {"q": "Kim"})
        return len(queries)

    asked()
    counts = []
    for n in range(6):
        group = {**GROUP, "chat": f"g{n}", "peer": f"u{n}"}
        api.post("turns", {"address": group, "user": "hello", "assistant": "hi", "sender_name": f"Kim {n}"})
        counts.append(asked())
    assert counts[-1] <= counts[1]


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
