"""What is known of channels and sessions without the database, and for how long."""

import os
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from channels_app import cards, tasks
from channels_app.models import Channel, PathComparison, ReplayedRecord
from memories.models import Bot, BotKey, Workspace
from memories.models.ids import uuid7
from memories.offline import NotCached, store
from sessions_app.models import Session
from tests.channels_app.doors.files.conftest import turn
from tests.conftest import TELEGRAM, Api, make_key
from tests.support.outage import database_away

pytestmark = pytest.mark.django_db


def test_the_rules_of_a_channel_hold_without_the_database(bot: Api, workspace: Workspace) -> None:
    bot.request("PUT", "channels/telegram/mybot", '{"dm_scope": "per-account-channel-peer"}')
    cards.forget_channels(workspace.pk)
    bot.post("turns", turn("so that the rule is known"))
    with database_away():
        bot.post("turns", turn("under the rule"))
    assert (store.root().parent / "files").exists()
    folders = [path.name for path in (store.root().parent / "files").glob("*/memory/scopes/*")]
    assert folders == ["telegram+mybot+direct_u42"]


def test_a_changed_rule_is_known_from_the_next_call_on(
    bot: Api, workspace: Workspace, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        bot.request("PUT", "channels/telegram/mybot", '{"path_mode": "legacy_only"}')
    with pytest.raises(NotCached):
        cards.cached_channels(workspace.pk, now=timezone.now())
    bot.post("recall", {"address": TELEGRAM, "message": "what is known of me?"})
    bot.post("turns", turn("answered by the files"))
    Channel.objects.update(path_mode="hooks_only")
    bot.post("recall", {"address": TELEGRAM, "message": "what is known of me?"})
    assert [channel.path_mode for channel in cards.cached_channels(workspace.pk, now=timezone.now())] == ["hooks_only"]


def test_without_rules_of_the_last_day_nothing_is_guessed(bot: Api, workspace: Workspace) -> None:
    later = timezone.now() + cards.KEPT_FOR + timedelta(minutes=1)
    with pytest.raises(NotCached):
        cards.cached_channels(workspace.pk, now=later)
    with pytest.raises(NotCached):
        cards.cached_session(workspace.pk, str(Session.objects.get().uid), {}, now=later)
    cards.forget_channels(workspace.pk)
    with database_away():
        assert bot.post("turns", turn("under which rules?")).status_code == 503


def test_two_sessions_under_one_key_are_told_apart_by_their_place(bot: Api, workspace: Workspace) -> None:
    session = Session.objects.get()
    result = cards.cached_session(workspace.pk, session.key, {}, now=timezone.now())
    assert result.uid == str(session.uid) and result.channel == ("telegram", "mybot")
    with pytest.raises(NotCached):
        cards.cached_session(workspace.pk, session.key, {"account": "another"}, now=timezone.now())


def test_what_nobody_used_for_a_day_is_removed(bot: Api, workspace: Workspace) -> None:
    token = make_key(workspace, name="revoked")
    assert Api(token).get("sessions").status_code == 200
    BotKey.objects.filter(digest=BotKey.digest_of(token)).update(revoked_at=timezone.now())
    assert tasks.count_keys() == {"keys": 1, "cards": 0}
    old = (timezone.now() - timedelta(hours=25)).timestamp()
    cards_there = [*store.root().glob("sessions/*/*"), *store.root().glob("channels/*")]
    for path in cards_there:
        os.utime(path, (old, old))
    counted = tasks.count_keys()
    assert counted == {"keys": 1, "cards": len(cards_there)} and len(cards_there) == 3
    assert tasks.forget_keys() == counted
    assert tasks.forget_keys() == {"keys": 0, "cards": 0}
    assert store.admit_key(token, timezone.now()) is None


def test_a_key_that_is_revoked_or_whose_bot_is_disabled_in_the_admin_is_forgotten_at_once(
    workspace: Workspace, admin_client: Any, django_capture_on_commit_callbacks: Any
) -> None:
    tokens = {name: make_key(workspace, name=name) for name in ("one", "two", "three")}
    for token in tokens.values():
        assert Api(token).get("sessions").status_code == 200
    key = BotKey.objects.get(bot__name="one")
    disabled = Bot.objects.get(name="two")
    pages = [("memories_botkey_revoke", key.pk), ("memories_bot_enable_or_disable", disabled.pk)]
    with django_capture_on_commit_callbacks(execute=True):
        for page, pk in pages:
            answer = admin_client.post(reverse(f"admin:{page}", args=[pk]), {"confirmed": "yes"})
            assert answer.status_code == 302, answer.content
    results = [name for name, token in tokens.items() if store.admit_key(token, timezone.now())]
    assert results == ["three"]


def test_records_of_replays_and_comparisons_are_kept_for_a_month(workspace: Workspace) -> None:
    now = timezone.now()
    for age in (1, 40):
        at = now - timedelta(days=age)
        PathComparison.objects.create(workspace=workspace, platform="cli", created_at=at)
        for outcome in ("applied", "known", "parked"):
            ReplayedRecord.objects.create(
                uid=uuid7(), workspace=workspace, platform="cli", kind="turn", outcome=outcome, accepted_at=at,
                replayed_at=at,
            )  # fmt: skip
    assert tasks.count_outdated() == {"comparisons": 1, "calls": 2}
    assert tasks.clean_records() == {"comparisons": 1, "calls": 2}
    assert sorted(ReplayedRecord.objects.values_list("outcome", flat=True)) == ["applied", "known", "parked", "parked"]
