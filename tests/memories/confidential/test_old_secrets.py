"""Secrets that were stored before anybody looked for them."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from channels_app.models import Channel
from memories import batches
from memories.lifecycle import old_entries
from memories.models import Batch, Entry, Scope, Workspace
from sessions_app.models import Session, SessionEvent
from tests.conftest import GROUP, NOW, TELEGRAM, Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored_before(api: Api, workspace: Workspace, settings: Any) -> None:
    """Turns of a time when they were stored as they were said."""
    settings.MEMORY_SECRETS = "off"
    for text in ("My card PIN is 471126.", "The movers come on Tuesday.", "我的银行卡密码是 998877"):
        answer = api.post("turns", {"address": TELEGRAM, "user": text, "assistant": "Noted."})
        assert answer.status_code == 201
    Scope.objects.update(secrets_version=0)
    Session.objects.update(rules={})
    settings.MEMORY_SECRETS = "keep"


def find() -> dict[str, int]:
    return old_entries.find_old_secrets(now=NOW, seconds=60)


def recall(api: Api, message: str, address: dict[str, Any] = TELEGRAM) -> str:
    return str(api.post("recall", {"address": address, "message": message}).json())


@pytest.mark.usefixtures("stored_before")
def test_what_was_stored_before_is_found_once_in_a_batch_that_can_be_undone(api: Api) -> None:
    assert "471126" in recall(api, "what did I tell you about my card?")
    assert find() == {"scopes": 1, "entries": 3, "secrets": 2}
    assert Entry.objects.filter(category="credential", subtype="secret:code").count() == 1
    assert "471126" not in recall(api, "what did I tell you about my card?")
    assert "471126" in recall(api, "what is my card PIN?")
    assert find() == {"scopes": 0, "entries": 0, "secrets": 0}
    batch = Batch.objects.get(name="find-secrets")
    undo = batches.plan_undo(batch, actor="user:a", now=NOW)
    batches.apply_batch(undo, now=NOW)
    assert not Entry.objects.filter(category="credential").exists()


@pytest.mark.usefixtures("stored_before")
def test_a_run_that_was_killed_goes_on_with_its_plan(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    apply = batches.apply_batch
    monkeypatch.setattr(batches, "apply_batch", lambda batch, now: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        find()
    monkeypatch.setattr(batches, "apply_batch", apply)
    assert find() == {"scopes": 1, "entries": 3, "secrets": 2}
    assert Entry.objects.filter(category="credential").count() == 2 and Batch.objects.count() == 1


@pytest.mark.usefixtures("stored_before")
def test_a_frozen_scope_waits(api: Api) -> None:
    Scope.objects.update(frozen=True)
    assert find() == {"scopes": 0, "entries": 0, "secrets": 0} and old_entries.count_waiting() == {
        "scopes": 0,
        "entries": 0,
    }
    Scope.objects.update(frozen=False)
    assert old_entries.count_waiting() == {"scopes": 1, "entries": 3}
    assert find()["secrets"] == 2


@pytest.mark.usefixtures("stored_before")
def test_where_secrets_are_stored_as_they_are_said_nothing_is_looked_for(settings: Any) -> None:
    settings.MEMORY_SECRETS = "off"
    assert find() == {"scopes": 0, "entries": 0, "secrets": 0}


def test_a_scope_that_begins_now_is_looked_at_when_it_is_written(api: Api) -> None:
    api.post("turns", {"address": GROUP, "user": "hello everybody", "assistant": "hi"})
    assert old_entries.count_waiting() == {"scopes": 0, "entries": 0}


@pytest.mark.usefixtures("stored_before")
def test_old_messages_are_handed_out_and_shown_without_what_was_found_in_them(api: Api, admin_client: Client) -> None:
    session = Session.objects.get()
    path = f"sessions/{session.uid}/history"
    assert "471126" in api.get(path).content.decode()
    find()
    page = reverse("admin:sessions_app_session_change", args=[session.pk])
    context = api.post("context", {"address": TELEGRAM, "message": "when do the movers come?"})
    for shown in (api.get(path), context, admin_client.get(page)):
        body = shown.content.decode()
        assert "Tuesday" in body and "[secret]" in body
        assert "471126" not in body and "998877" not in body
    assert SessionEvent.objects.filter(content__contains="471126").count() == 1, "its words stay stored"


@pytest.mark.usefixtures("stored_before")
@pytest.mark.parametrize("content", ["My card PIN is 471126.", "My card PIN is [secret]."])
def test_a_client_may_remember_an_old_message_with_its_secret_or_without(api: Api, content: str) -> None:
    find()
    session = Session.objects.get()
    body = {"history": [{"role": "user", "content": content}, {"role": "assistant", "content": "Noted."}], "events": []}
    answer = api.post(f"sessions/{session.uid}/events", body)
    assert answer.status_code == 201, answer.json()


def test_what_a_bot_repeated_is_found_too(api: Api, settings: Any) -> None:
    settings.MEMORY_SECRETS = "off"
    api.post("turns", {"address": TELEGRAM, "user": "My card PIN is 471126.", "assistant": "471126, noted."})
    settings.MEMORY_SECRETS = "keep"
    Session.objects.update(rules={})
    Scope.objects.update(secrets_version=0)
    find()
    assert [event.handed_out().content for event in SessionEvent.objects.order_by("position")] == [
        "My card PIN is [secret].",
        "[secret], noted.",
    ]


def test_a_channel_that_stores_them_as_they_are_said_shows_them_so(api: Api, workspace: Workspace) -> None:
    Channel.objects.update_or_create(
        workspace=workspace, platform="telegram", account="mybot", defaults={"secrets": "off"}
    )
    api.post("turns", {"address": TELEGRAM, "user": "My card PIN is 471126.", "assistant": "Noted."})
    Scope.objects.update(secrets_version=0)
    find()
    assert "471126" in api.get(f"sessions/{Session.objects.get().uid}/history").content.decode()
