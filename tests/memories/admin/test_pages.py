"""The other pages: bots and keys, people, policies, channels, conversations, traces, batches."""

import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from channels_app.models import Channel
from memories.conf import conf
from memories.models import Bot, BotKey, PinnedTest, RecallTrace, Scope, Workspace
from memories.staff.models import Member
from tests.conftest import TELEGRAM, Api
from tests.memories.admin.conftest import House, dismiss_all, make_user

KEY = {"confirmed": "yes", "label": "production", "permissions": ["read"], "scope_patterns": "telegram:*\n\n wechat:*"}
pytestmark = pytest.mark.django_db


def test_a_key_is_shown_once_and_works(alice: Client, mine: House) -> None:
    address = reverse("admin:memories_bot_issue_key", args=[mine.bot.pk])
    assert alice.get(address).status_code == 200
    assert BotKey.objects.count() == 1  # asking made none
    answer = alice.post(address, KEY | {"expires": "30"})
    token = answer.context["token"]
    assert token in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    key = BotKey.objects.latest("id")
    assert (key.permissions, key.scope_patterns) == (["read"], ["telegram:*", "wechat:*"])
    assert key.expires_at is not None
    assert key.expires_at - timezone.now() < timedelta(days=31)
    assert Api(token).get("entries").status_code == 200
    for page in (reverse("admin:memories_bot_change", args=[mine.bot.pk]), reverse("admin:memories_botkey_changelist")):
        shown = alice.get(page).content.decode()
        assert key.prefix in shown
        assert token not in shown
        assert key.digest not in shown
    assert not LogEntry.objects.filter(change_message__contains=token).exists()


@pytest.mark.parametrize("missing", ["label", "permissions"])
def test_a_key_says_what_it_is_for(missing: str, alice: Client, mine: House) -> None:
    answer = {name: value for name, value in KEY.items() if name != missing}
    alice.post(reverse("admin:memories_bot_issue_key", args=[mine.bot.pk]), answer)
    assert BotKey.objects.count() == 1


def test_a_revoked_key_is_refused_from_then_on(alice: Client, mine: House) -> None:
    token = alice.post(reverse("admin:memories_bot_issue_key", args=[mine.bot.pk]), KEY).context["token"]
    address = reverse("admin:memories_botkey_revoke", args=[BotKey.objects.latest("id").pk])
    assert "cannot be brought back" in alice.get(address).content.decode()
    assert Api(token).get("entries").status_code == 200
    assert alice.post(address, {"confirmed": "yes"}).status_code == 302
    assert Api(token).get("entries").status_code == 401


def test_a_bot_is_disabled_and_enabled(alice: Client, mine: House) -> None:
    token = alice.post(reverse("admin:memories_bot_issue_key", args=[mine.bot.pk]), KEY).context["token"]
    switch = reverse("admin:memories_bot_enable_or_disable", args=[mine.bot.pk])
    for status in (401, 200):
        alice.get(switch)
        assert alice.post(switch, {"confirmed": "yes"}).status_code == 302
        assert Api(token).get("entries").status_code == status


def test_only_owners_admit_people(alice: Client, owner: Client, mine: House) -> None:
    ben = make_user("ben", is_staff=True)
    wanted = {"workspace": mine.workspace.pk, "user": ben.pk, "role": "viewer"}
    assert alice.post(reverse("admin:memories_member_add"), wanted).status_code == 403
    assert owner.post(reverse("admin:memories_member_add"), wanted).status_code == 302
    member = Member.objects.get(user=ben)
    dismiss = reverse("admin:memories_member_delete", args=[member.pk])
    assert alice.post(dismiss, {"post": "yes"}).status_code == 302
    assert not Member.objects.filter(user=ben).exists()


def test_a_time_zone_exists(alice: Client, mine: House) -> None:
    address = reverse("admin:memories_workspace_change", args=[mine.workspace.pk])
    form = {"name": "Home", "language": "zh-hans", "members-TOTAL_FORMS": 0, "members-INITIAL_FORMS": 0}
    assert "There is no such time zone" in alice.post(address, form | {"time_zone": "Mars/Olympus"}).content.decode()
    assert alice.post(address, form | {"time_zone": "Asia/Shanghai"}).status_code == 302
    assert Workspace.objects.get(pk=mine.workspace.pk).time_zone == "Asia/Shanghai"
    assert "Asia/Shanghai" in alice.get(reverse("admin:index")).content.decode()  # and pages tell the time by it


def test_policies_show_what_holds_and_where_it_differs(alice: Client, mine: House) -> None:
    kinds = alice.get(reverse("admin:memories_policy_changelist")).context["kinds"]
    shown = {
        cell.number.full_label: (cell.label, cell.number.default_label)
        for *_names, rows in kinds
        for row in rows
        for cell in row
    }
    assert shown["Time to live: Chat turn · of a person"] == ("30 days", "30 days")
    assert shown["Time to live: Fact · of a person"] == ("never ends", "never ends")
    assert shown["Weights of the ranking: Meaning against words"] == ("0.4", f"{conf.ALPHA:g}")


def test_a_frozen_scope_takes_nothing_in(alice: Client, mine: House) -> None:
    address = reverse("admin:memories_scope_change", args=[mine.scope.pk])
    assert alice.post(address, {"label": "Mei", "frozen": "on"}).status_code == 302
    scope = Scope.objects.get(pk=mine.scope.pk)
    assert (scope.label, scope.frozen, scope.entry_count) == ("Mei", True, mine.scope.entry_count)
    token = alice.post(reverse("admin:memories_bot_issue_key", args=[mine.bot.pk]), KEY | {"permissions": ["write"]})
    address = {**TELEGRAM, "account": mine.word, "peer": f"peer-{mine.word}"}
    result = Api(token.context["token"]).post("turns", {"address": address, "user": "hello there", "assistant": "hi"})
    assert result.json()["errors"][0]["code"] == "scope_frozen"


def test_the_rules_of_a_channel_are_changed_by_name(alice: Client, mine: House) -> None:
    channel = Channel.objects.get(workspace=mine.workspace)
    address = reverse("admin:channels_app_channel_change", args=[channel.pk])
    form = {"label": "shop", "dm_scope": "per-peer", "session_mode": "stable", "session_prefix": "", "need": "auto"}
    form |= {"group_sessions": "shared", "group_prefix": "group_", "path_mode": "hooks_only", "transcripts": "unknown"}
    form |= {"capture_group_memory": "unknown", "group_user_recall": "none"}
    assert alice.post(address, form | {"group_prefix": "direct_"}).status_code == 200
    assert alice.post(address, form).status_code == 302
    channel.refresh_from_db()
    assert (channel.dm_scope, channel.group_user_recall, channel.capture_group_memory) == ("per-peer", "none", None)
    page = alice.get(reverse("admin:channels_app_channel_history", args=[channel.pk])).content.decode()
    for words in ("user:alice", "One per person", "<del>channel-marmalade</del>", "<ins>shop</ins>", "Added"):
        assert words in page


def test_a_session_reads_as_a_conversation(alice: Client, mine: House) -> None:
    shown = alice.get(reverse("admin:sessions_app_session_change", args=[mine.session.pk])).content.decode()
    assert shown.index("I like marmalade with tea") < shown.index("My neighbour planted")


@pytest.mark.parametrize(("language", "name"), [("en", "Sessions"), ("zh-hans", "会话")])
def test_where_one_is_names_nothing_twice(language: str, name: str, alice: Client, mine: House) -> None:
    alice.cookies["django_language"] = language
    shown = alice.get(reverse("admin:sessions_app_session_change", args=[mine.session.pk])).content.decode()
    path = shown[: shown.index("chevron_right")]
    assert path.count(f">{name}</a>") + path.count(f"{name}\n    </a>") <= 1
    between = shown[shown.index("chevron_right") : shown.index("chevron_right") + 600]
    assert name not in between and str(mine.session) in between


def test_a_trace_tells_what_was_served_and_what_was_left_out(alice: Client, mine: House) -> None:
    response = alice.get(reverse("admin:memories_recalltrace_change", args=[mine.trace.pk]))
    lines = response.context["lines"]
    assert [line.entry_id for line in lines if line.is_served] == mine.trace.served
    assert all(line.score is not None for line in lines)
    assert reverse("admin:memories_entry_change", args=[mine.entry.pk]) in response.content.decode()


@pytest.mark.parametrize(("answer", "count"), [("found", 0), ("weak", 1), ("none", 0), ("degraded", 0), ("", 1)])
def test_traces_are_filtered_by_their_answer(answer: str, count: int, alice: Client, mine: House) -> None:
    RecallTrace.objects.update(evidence={"verdict": "weak"})
    found = alice.get(reverse("admin:memories_recalltrace_changelist"), {"answer": answer}).context["cl"].result_list
    assert len(found) == count


def test_a_batch_lists_its_changes_with_their_reason(alice: Client, mine: House) -> None:
    batch = mine.workspace.batches.get()
    shown = alice.get(reverse("admin:memories_batch_change", args=[batch.pk])).content.decode()
    assert "because marmalade" in shown
    assert "planted a marmalade tree" in shown


def test_the_palette_finds_memories_by_their_words(alice: Client, mine: House) -> None:
    shown = alice.get(reverse("admin:search"), {"s": "neighbour", "extended": 1}).content.decode()
    assert "planted a marmalade tree" in shown
    dismiss_all(mine.workspace)
    later = alice.get(reverse("admin:search"), {"s": "neighbour", "extended": 1}).content.decode()
    assert "planted a marmalade tree" not in later  # nothing is remembered of what one could see before


def test_a_list_says_how_long_ago_and_the_exact_time_to_whoever_points_at_it(alice: Client, mine: House) -> None:
    Bot.objects.filter(pk=mine.bot.pk).update(created_at=timezone.now() - timedelta(hours=2, minutes=5))
    alice.cookies["memplatform_zone"] = "Asia/Shanghai"
    page = alice.get(reverse("admin:memories_bot_changelist")).content.decode().replace("\xa0", " ")
    assert re.search(r'<time datetime="[^"]+" title="[^"]+ Asia/Shanghai">2 hours ago</time>', page)
    key = mine.bot.keys.get()
    BotKey.objects.filter(pk=key.pk).update(expires_at=timezone.now() + timedelta(days=3, minutes=1))
    page = alice.get(reverse("admin:memories_botkey_changelist"), {"o": "-7"}).content.decode().replace("\xa0", " ")
    assert ">in 3 days</time>" in page


def test_a_picker_finds_a_memory_by_who_speaks_there_and_names_them(alice: Client, mine: House, theirs: House) -> None:
    for house in (mine, theirs):
        Scope.objects.filter(pk=house.scope.pk).update(speakers=["Priya"], sender_names={"u": "Priya"})
    query = {"app_label": "memories", "model_name": "entry", "field_name": "scope", "term": "priya"}
    results = alice.get(reverse("admin:autocomplete"), query).json()["results"]
    assert results == [{"id": str(mine.scope.pk), "text": f"Priya · {mine.scope.key}"}]


def test_an_empty_list_says_what_to_do_and_one_that_was_narrowed_how_to_see_all(owner: Client, mine: House) -> None:
    PinnedTest.objects.all().delete()
    page = owner.get(reverse("admin:memories_pinnedtest_changelist")).content.decode()
    assert "save it as a pinned test" in page and f'class="mp-key-button" href="{reverse("connect_bot")}"' in page
    narrowed = owner.get(reverse("admin:sessions_app_session_changelist"), {"q": "nobody"}).content.decode()
    assert "Nothing is like this." in narrowed and "save it as" not in narrowed
