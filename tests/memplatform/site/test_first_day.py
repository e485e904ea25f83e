"""The first day: five steps on the home page of whoever is new, ticked as they are done, and then gone."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from channels_app.models import Answerer, Channel, Connection, Receiving
from memories.models import BotKey, Entry, RecallTrace, Workspace
from memories.staff.roles import Role
from memplatform.operations.health import NEEDED
from memplatform.operations.models import Heartbeat, Snooze
from tests.memories.admin.conftest import House, enter, make_user

pytestmark = pytest.mark.django_db


def steps(client: Client) -> dict[str, Any]:
    page = client.get(reverse("admin:index"))
    return {step.title: step for step in page.context["first_day"]}


def done(client: Client) -> list[bool]:
    return [step.is_done for step in steps(client).values()]


def do(client: Client, what: str) -> str:
    response = client.post(reverse("first_day"), {"do": what})
    assert response.status_code == 302
    return str(response.headers["Location"])


def beat() -> None:
    for name in NEEDED:
        now = timezone.now()
        Heartbeat.objects.update_or_create(name=name, defaults={"pid": 1, "beat_at": now, "started_at": now})


def test_on_an_empty_platform_the_first_thing_to_do_is_to_connect_a_bot(workspace: Workspace) -> None:
    owner = enter(make_user("owner", workspace=workspace, is_staff=True))
    beat()
    assert done(owner) == [True, False, False, False, False]
    assert steps(owner)["Connect a bot"].address == reverse("connect_bot")
    assert steps(owner)["See it remembered"].do == ""  # there is nothing to be seen yet


def test_each_step_is_ticked_when_it_is_done_and_then_all_of_it_is_gone(owner: Client, mine: House) -> None:
    beat()
    BotKey.objects.update(last_used_at=timezone.now())
    assert done(owner) == [True, True, True, False, False]
    newest = Entry.objects.filter(workspace=mine.workspace).latest("pk")
    assert do(owner, "remembered") == reverse("admin:memories_entry_change", args=[newest.pk])
    assert done(owner) == [True, True, True, True, False]
    trace = RecallTrace.objects.filter(workspace=mine.workspace).latest("pk")
    assert do(owner, "why") == reverse("admin:memories_recalltrace_change", args=[trace.pk])
    assert steps(owner) == {} and "Your first day" not in owner.get(reverse("admin:index")).content.decode()


def test_a_chat_platform_that_wrote_is_a_bot_that_is_connected(mine: House, theirs: House) -> None:
    BotKey.objects.update(last_used_at=None)
    owner = enter(make_user("owner", workspace=mine.workspace, is_staff=True))
    for house, received in ((theirs, timezone.now()), (mine, None)):
        channel = Channel.objects.create(workspace=house.workspace, platform="telegram", account="mem_bot")
        Connection.objects.create(
            workspace=house.workspace, channel=channel, receiving=Receiving.PULL, answerer=Answerer.MODEL,
            noticed_entry=0, received_at=received,
        )  # fmt: skip
    assert not steps(owner)["Connect a bot"].is_done
    Connection.objects.filter(workspace=mine.workspace).update(received_at=timezone.now())
    assert steps(owner)["Connect a bot"].is_done


def test_who_knows_their_way_hides_it_for_themselves_alone(owner: Client, mine: House) -> None:
    other = enter(make_user("ben", workspace=mine.workspace, role=Role.VIEWER, is_staff=True))
    assert do(owner, "dismiss") == "/admin/#first-day"
    assert steps(owner) == {} and steps(other)
    owner.post(reverse("attention"), {"do": "show"})  # what was put off is shown again; this is not
    assert steps(owner) == {}
    assert do(owner, "nonsense") == "/admin/#first-day" and Snooze.objects.count() == 1


def test_an_account_that_is_no_longer_new_is_not_taught(owner: Client, mine: House) -> None:
    assert steps(owner)
    get_user_model().objects.update(date_joined=timezone.now() - timedelta(days=15))
    assert steps(owner) == {}


def test_who_may_give_no_keys_is_sent_to_an_owner(mine: House, theirs: House) -> None:
    viewer = enter(make_user("vi", workspace=mine.workspace, role=Role.VIEWER, is_staff=True))
    step = steps(viewer)["Connect a bot"]
    assert step.address == "" and "Ask an owner" in step.text
    assert steps(viewer)["Is it alive?"].address == ""
    trace = RecallTrace.objects.filter(workspace=mine.workspace).latest("pk")
    assert do(viewer, "why").endswith(f"/{trace.pk}/change/")  # of their own workspace, though a newer one is elsewhere
