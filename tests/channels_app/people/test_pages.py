"""The pages of people: the list of everybody, a person, and what is done there."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from channels_app.models import Channel, Consent
from memories import entries
from memories.audit.models import AuditEvent, AuditRecord
from memories.choices import EntryType, Source
from memories.models import Entry, Scope, Workspace
from tests.channels_app.people.conftest import ANN_LARK, ANN_TG, FROM_LARK, FROM_TG, identity, live_in, recalled, say
from tests.conftest import NOW, Api, make_draft
from tests.memories.admin.conftest import enter, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]


@pytest.fixture
def owner(workspace: Workspace) -> Client:
    return enter(make_user("owner", is_staff=True, is_superuser=True))


def page(name: str, workspace: Workspace, *peers: Any, **more: str) -> str:
    results = [("of", workspace.pk), *(("person", str(peer)) for peer in peers), *more.items()]
    return f"{reverse(f'admin:channels_app_person_{name}')}?{urlencode(results)}"


def test_an_operator_links_two_identities_after_seeing_what_it_does(
    office: Api, workspace: Workspace, owner: Client
) -> None:
    listed = owner.get(page("changelist", workspace)).content.decode()
    assert "telegram:u42" in listed and "lark:ou_9" in listed
    assert "lark:ou_9" in owner.get(page("link", workspace, ANN_TG, q="ou_")).content.decode()
    for key in ("direct_telegram%3au42", "direct_lark%3aou_9"):
        fact = {"type": EntryType.FACT, "source": Source.TOOL, "tier": 2}
        scope = Scope.objects.get(key=key)
        entries.remember(make_draft(scope, "Ann drinks green tea", **fact), now=NOW, actor="t")
    question = page("link", workspace, ANN_TG, ANN_LARK)
    preview = owner.get(question).context["preview"]
    assert (preview.entries, [channel.platform for channel in preview.united], preview.apart) == (
        5, ["lark", "telegram"], []
    )  # fmt: skip
    assert preview.same == 1
    data = {"confirmed": "yes", "name": "Ann Li", "reason": "she said so"}
    done = owner.post(question, data, follow=True).content.decode()
    assert "Ann Li" in done and "lark:ou_9" in done
    assert live_in("direct_lark%3aou_9") == set()
    shared = f"direct_{identity(ANN_TG).person.key}"
    assert Entry.objects.live().filter(scope__key=shared, content="Ann drinks green tea").count() == 1
    assert AuditRecord.objects.filter(details__what="linked").exists()
    say(office, FROM_LARK, "My flight to Oslo leaves at nine")
    leaving = owner.get(page("unlink", workspace, ANN_LARK)).context["preview"]
    assert (leaving.back, leaving.along, leaving.stays, leaving.is_last) == (2, 1, 3, False)
    owner.post(page("unlink", workspace, ANN_LARK), {"confirmed": "yes", "reason": "a mistake"})
    assert len(live_in("direct_lark%3aou_9")) == 3
    assert identity(ANN_LARK).person != identity(ANN_TG).person


def test_under_the_rule_of_a_new_platform_the_link_says_it_does_nothing_and_offers_the_rule(
    api: Api, workspace: Workspace, owner: Client
) -> None:
    say(api, FROM_TG, "My sister is called Lena")
    say(api, FROM_LARK, "The quarterly report is due on Friday")
    question = page("link", workspace, ANN_TG, ANN_LARK)
    shown = owner.get(question).content.decode()
    assert "no bot notices, unless you change their rule below" in shown
    assert shown.count("1 person and 1 memory would be left behind") == 2
    answer = {"confirmed": "yes", "name": "", "reason": "she said so"}
    done = owner.post(question, answer, follow=True).content.decode()
    assert "No channel keeps one memory a person, so no bot notices." in done
    assert say(api, FROM_TG, "I am learning to sail") == "telegram:direct_u42"
    owner.post(page("unlink", workspace, ANN_LARK), {"confirmed": "yes", "reason": "a mistake"})
    owner.post(page("unlink", workspace, ANN_TG), {"confirmed": "yes", "reason": "a mistake"})
    assert {scope.key for scope in Scope.objects.all()} == {"telegram:direct_u42", "lark:direct_ou_9"}
    channels = [str(channel.pk) for channel in Channel.objects.all()]
    owner.post(question, {**answer, "channels": channels})
    shared = f"direct_{identity(ANN_TG).person.key}"
    assert say(api, FROM_TG, "I bought a red bicycle") == say(api, FROM_LARK, "I sold my boat") == shared
    assert "bicycle" in recalled(api, FROM_LARK, "which bicycle did I buy?")
    history = owner.get(reverse("admin:channels_app_channel_history", args=[channels[0]])).content.decode()
    assert "user:owner" in history and "One per person" in history


def test_the_rule_of_another_workspace_cannot_be_chosen(api: Api, workspace: Workspace, owner: Client) -> None:
    say(api, FROM_TG, "My sister is called Lena")
    say(api, FROM_LARK, "The quarterly report is due on Friday")
    elsewhere = Workspace.objects.create(name="elsewhere")
    foreign = Channel.objects.create(workspace=elsewhere, platform="telegram", account="theirs")
    answer = {"confirmed": "yes", "name": "", "reason": "r", "channels": [str(foreign.pk)]}
    assert owner.post(page("link", workspace, ANN_TG, ANN_LARK), answer).status_code == 200
    foreign.refresh_from_db()
    assert foreign.dm_scope != "per-peer"


def test_a_page_costs_the_same_for_more_memories(office: Api, workspace: Workspace, owner: Client) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as sent:
            assert owner.get(page("page", workspace, ANN_TG)).status_code == 200
        return len(sent)

    few = cost()
    for n in range(8):
        say(office, FROM_TG, f"My locker number {n} is at the station of town {n}")
        say(office, {**FROM_TG, "chat": f"g{n}", "is_group": True}, f"I will be late for meeting number {n}")
    assert cost() <= few + 1 <= 32


def test_consents_are_added_and_never_overwritten(office: Api, workspace: Workspace, owner: Client) -> None:
    for text in ("given", "withdrawn"):
        owner.post(page("consent", workspace, ANN_TG), {"subject": "memory", "given": text, "note": "in the chat"})
    assert list(Consent.objects.order_by("pk").values_list("is_given", flat=True)) == [True, False]
    assert "withdrawn" in owner.get(page("page", workspace, ANN_TG)).content.decode()
    assert say(office, FROM_TG, "I like jazz") == "direct_telegram%3au42"  # noting something links nobody


def test_what_is_stored_of_a_person_is_exported_and_that_is_noted(
    office: Api, workspace: Workspace, owner: Client
) -> None:
    lines = [json.loads(line) for line in owner.post(page("export", workspace, ANN_TG)).content.splitlines()]
    assert lines[0] == {"record": "person"} | {name: lines[0][name] for name in lines[0] if name != "record"}
    assert lines[0]["peers"] == ["telegram:u42"]
    assert any("Mochi" in line.get("content", "") for line in lines)
    assert not any("quarterly" in line.get("content", "") for line in lines)
    assert AuditRecord.objects.filter(event=AuditEvent.EXPORTED).count() == 1


def test_a_second_person_in_one_memory_is_named_on_the_channels_page(
    office: Api, workspace: Workspace, owner: Client
) -> None:
    channel = Channel.objects.create(workspace=workspace, platform="wechat", account="shop", dm_scope="main")
    address = reverse("admin:channels_app_channel_change", args=[channel.pk])
    place = {"platform": "wechat", "account": "shop"}
    say(office, {**place, "peer": "w1"}, "I take the blue one")
    assert "share one memory" not in owner.get(address).content.decode()
    say(office, {**place, "peer": "w2"}, "I take the green one")
    assert "2 people share one memory on wechat" in owner.get(address).content.decode()
