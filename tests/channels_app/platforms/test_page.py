"""A bot is connected on a page of the admin: what is wrong is said there, and nothing of it is saved."""

import re
from typing import Any

import pytest
from django.test import Client

from channels_app.models import Connection, ConnectionProblem, IncomingMessage, MessageState, OutgoingMessage
from memories import secrets
from memories.models import Workspace
from tests.channels_app.platforms.conftest import arrive, work_through
from tests.memories.admin.conftest import enter, make_user
from tests.memories.llm.fake_server import FakeModel
from tests.support.fake_telegram import TOKEN, FakeTelegram

ADD = "/admin/channels_app/connection/add/"


@pytest.fixture
def owner(workspace: Workspace) -> Client:
    return enter(make_user("owner", is_staff=True, workspace=workspace))


def form(workspace: Workspace, **more: Any) -> dict[str, Any]:
    return {"workspace": workspace.pk, "option_token": TOKEN, "receiving": "pull", "answerer": "model",
            "callback_url": "", "instructions": "", "notices": "each", "has_commands": "on", "is_enabled": "on",
            "retires_leavers": "on", **more}  # fmt: skip


def connect(owner: Client, workspace: Workspace, **more: Any) -> Any:
    return owner.post(f"{ADD}?platform=telegram", form(workspace, **more), follow=True)


def test_from_the_choice_of_a_platform_to_the_page_that_shows_what_arrives(
    owner: Client,
    workspace: Workspace,
    bot_api: FakeTelegram,
    model: FakeModel,
    django_capture_on_commit_callbacks: Any,
) -> None:
    assert "?platform=telegram" in owner.get(ADD).content.decode()
    assert "@BotFather" in owner.get(f"{ADD}?platform=telegram").content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        page = connect(owner, workspace).content.decode()
    assert "Telegram knows it as mem_bot." in page and TOKEN not in page
    connection = Connection.objects.select_related("channel", "workspace").get()
    assert secrets.read(connection.secret_name("token"), workspace=workspace) == TOKEN
    assert ("deleteWebhook", {}) in bot_api.calls
    arrive(connection, bot_api.write(42, "hello"))
    work_through()
    status = owner.get(f"/admin/channels_app/connection/{connection.pk}/status/").content.decode()
    assert "hello" in status and "You wrote: hello" in status and "It arrived." in status
    assert status.index("→") < status.index("←")  # the newest first
    whole = owner.get(f"/admin/channels_app/connection/{connection.pk}/change/").content.decode()
    assert "You wrote: hello" in whole and "OutgoingMessage" not in whole


def test_a_key_the_platform_refuses_or_cannot_be_asked_about_is_not_saved(
    owner: Client, workspace: Workspace, bot_api: FakeTelegram, settings: Any
) -> None:
    bot_api.is_revoked = True
    assert "The platform refuses it." in connect(owner, workspace).content.decode()
    settings.TELEGRAM_API_URL = "http://127.0.0.1:9"
    assert "cannot be reached" in connect(owner, workspace).content.decode()
    assert not Connection.objects.exists()


def test_a_webhook_needs_a_public_address_and_is_set_at_the_platform_with_its_secret(
    owner: Client, workspace: Workspace, bot_api: FakeTelegram, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    assert "MEMPLATFORM_PUBLIC_URL" in connect(owner, workspace, receiving="webhook").content.decode()
    settings.PUBLIC_URL = "https://memory.example"
    with django_capture_on_commit_callbacks(execute=True):
        connect(owner, workspace, receiving="webhook")
    connection = Connection.objects.get()
    webhook = dict(bot_api.calls)["setWebhook"]
    assert webhook["url"] == f"https://memory.example/channels/telegram/{connection.uid}"
    assert webhook["secret_token"] == secrets.read(connection.secret_name("webhook_secret"), workspace=workspace)


def test_the_same_bot_is_connected_once_and_an_empty_key_keeps_the_one_there_is(
    owner: Client, workspace: Workspace, bot_api: FakeTelegram
) -> None:
    connect(owner, workspace)
    assert "connected already" in connect(owner, workspace).content.decode()
    connection = Connection.objects.get()
    Connection.objects.update(problem=ConnectionProblem.REFUSED)
    owner.post(f"/admin/channels_app/connection/{connection.pk}/change/", form(workspace, option_token=""))
    connection.refresh_from_db()
    assert not connection.problem
    assert secrets.read(connection.secret_name("token"), workspace=workspace) == TOKEN


def test_a_star_stands_beside_what_one_way_needs_as_beside_what_all_need(
    owner: Client, workspace: Workspace, bot_api: FakeTelegram
) -> None:
    def starred(page: str) -> set[str]:
        labels = re.findall(r'<label[^>]*for="id_(?:option_)?(\w+)"[^>]*>(.*?)</label>', page, re.DOTALL)
        return {name for name, text in labels if ">*<" in text}

    wecom = starred(owner.get(f"{ADD}?platform=wecom").content.decode())
    assert {"bot_id", "bot_secret", "token", "aes_key", "callback_url"} <= wecom
    assert not {"corp_id", "agent_id", "corp_secret", "name", "instructions"} & wecom
    connect(owner, workspace)  # its token is kept: to leave it empty is well
    connection = Connection.objects.get()
    changed = starred(owner.get(f"/admin/channels_app/connection/{connection.pk}/change/").content.decode())
    assert "callback_url" in changed and "token" not in changed


def test_what_failed_is_taken_up_again_and_a_test_message_goes_to_the_last_chat(
    owner: Client, workspace: Workspace, bot_api: FakeTelegram, model: FakeModel
) -> None:
    connect(owner, workspace)
    connection = Connection.objects.select_related("channel", "workspace").get()
    arrive(connection, bot_api.write(42, "hello"))
    work_through()
    IncomingMessage.objects.update(state=MessageState.FAILED)
    OutgoingMessage.objects.update(state=MessageState.FAILED)
    for kind in ("incomingmessage", "outgoingmessage"):
        row = {"incomingmessage": IncomingMessage, "outgoingmessage": OutgoingMessage}[kind].objects.get()
        owner.post(f"/admin/channels_app/{kind}/{row.pk}/again/", {"confirmed": "1"})
    owner.post(f"/admin/channels_app/connection/{connection.pk}/test/", {"confirmed": "1"})
    work_through()
    assert bot_api.texts()[-2:] != [] and any("test message" in text for text in bot_api.texts())
    assert bot_api.texts().count("You wrote: hello") == 3
