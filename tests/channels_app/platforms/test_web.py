"""A chat page of this server: who may open it, what is written there, and what of memory it shows."""

import json
from typing import Any

import pytest
from django.test import Client

from channels_app.models import (
    Answerer,
    Channel,
    Connection,
    IncomingMessage,
    NoticeMode,
    OutgoingMessage,
    Receiving,
)
from memories.models import Entry, Workspace
from memories.staff.roles import Role
from tests.channels_app.platforms.conftest import work_through
from tests.memories.admin.conftest import enter, make_user
from tests.memories.llm.fake_server import FakeModel

ADD = "/admin/channels_app/connection/add/?platform=web"


def make_page(workspace: Workspace, is_open: str = "", **columns: Any) -> Connection:
    channel = Channel.objects.create(workspace=workspace, platform="web", account="ada")
    options = {"title": "Ada", "bot_name": "Ada", "is_open": is_open}
    defaults = {"receiving": Receiving.WEBHOOK, "answerer": Answerer.MODEL, "notices": NoticeMode.EACH}
    return Connection.objects.create(
        workspace=workspace, channel=channel, options=options, noticed_entry=0, **{**defaults, **columns}
    )


@pytest.fixture
def chat_page(workspace: Workspace) -> Connection:
    """A page for who operates the workspace."""
    return make_page(workspace)


@pytest.fixture
def open_page(workspace: Workspace) -> Connection:
    """A page for anybody who has its address."""
    return make_page(workspace, "on")


@pytest.fixture
def ann(workspace: Workspace) -> Client:
    """Somebody who operates the workspace."""
    return enter(make_user("ann", is_staff=True, workspace=workspace, role=Role.OPERATOR))


def at(connection: Connection, name: str = "") -> str:
    return f"/chat/{connection.uid}/{name}"


def write(who: Client, connection: Connection, text: Any, key: str = "", **more: Any) -> Any:
    body = {"id": key or f"m{IncomingMessage.objects.count()}", "text": text}
    return who.post(at(connection, "write"), json.dumps(body), content_type="application/json", **more)


def press(who: Client, connection: Connection, target: str) -> Any:
    body = {"id": f"p{IncomingMessage.objects.count()}", "target": target}
    return who.post(at(connection, "press"), json.dumps(body), content_type="application/json")


def shown(who: Client, connection: Connection) -> dict[str, Any]:
    answer: dict[str, Any] = who.get(at(connection, "messages")).json()
    return answer


def texts(who: Client, connection: Connection) -> list[str]:
    return [message["text"] for message in shown(who, connection)["messages"]]


def visitor(connection: Connection) -> Client:
    """Somebody who has opened the page."""
    client = Client()
    assert client.get(at(connection)).status_code == 200
    return client


def test_what_is_written_is_answered_saved_shown_and_taken_back(
    ann: Client, chat_page: Connection, model: FakeModel
) -> None:
    assert "You write as ann." in ann.get(at(chat_page)).content.decode()
    assert write(ann, chat_page, "Remember that I moved to Hangzhou in March.").status_code == 202
    assert shown(ann, chat_page)["is_waiting"]
    work_through()
    body = shown(ann, chat_page)
    assert [message["is_mine"] for message in body["messages"]] == [True, False, False] and not body["is_waiting"]
    assert body["messages"][1]["text"] == "You wrote: Remember that I moved to Hangzhou in March."
    notice = body["messages"][2]
    assert "Saved:" in notice["text"] and notice["buttons"][0]["label"] == "Undo"
    [saved] = body["saved"]
    assert "Hangzhou" in saved["words"][0] and saved["target"] == notice["buttons"][0]["target"]

    write(ann, chat_page, "/reset")  # what stands in the conversation is not served beside it
    work_through()
    write(ann, chat_page, "When did I move to Hangzhou?")
    work_through()
    assert any("Hangzhou" in words for words in shown(ann, chat_page)["used"])
    write(ann, chat_page, "/why")
    work_through()
    assert "Hangzhou" in texts(ann, chat_page)[-1]

    assert press(ann, chat_page, saved["target"]).status_code == 202
    work_through()
    assert shown(ann, chat_page)["saved"][0]["is_undone"]
    assert texts(ann, chat_page)[-1] == "Undone: it is no longer remembered."


def test_nothing_new_is_answered_with_204(ann: Client, chat_page: Connection, model: FakeModel) -> None:
    write(ann, chat_page, "hello")
    work_through()
    version = shown(ann, chat_page)["version"]
    assert ann.get(at(chat_page, f"messages?version={version}")).status_code == 204
    write(ann, chat_page, "and again")
    assert ann.get(at(chat_page, f"messages?version={version}")).status_code == 200


def test_a_message_that_is_sent_twice_is_taken_in_once(ann: Client, chat_page: Connection) -> None:
    for _again in range(2):
        assert write(ann, chat_page, "hello", key="one").status_code == 202
    assert IncomingMessage.objects.count() == 1


def test_memory_is_exported_as_a_file_of_the_page(ann: Client, chat_page: Connection, model: FakeModel) -> None:
    write(ann, chat_page, "Remember that my cat is called Miso.")
    write(ann, chat_page, "/export")
    work_through()
    file = next(message for message in shown(ann, chat_page)["messages"] if message.get("file_name"))
    assert file["file_name"] == "memory.md" and "Miso" in file["text"]


def test_only_who_operates_the_workspace_opens_the_page(chat_page: Connection, workspace: Workspace) -> None:
    nobody = Client().get(at(chat_page))
    assert nobody.status_code == 302 and nobody["Location"].startswith("/admin/login/?next=/chat/")
    other = enter(make_user("bob", is_staff=True, workspace=Workspace.objects.create(name="Elsewhere")))
    reader = enter(make_user("reader", is_staff=True, workspace=workspace, role=Role.VIEWER))
    for who in (other, reader):
        assert who.get(at(chat_page)).status_code == 404
    for who in (Client(), other, reader):
        assert who.get(at(chat_page, "messages")).status_code == 403
        assert write(who, chat_page, "hello").status_code == 403 and press(who, chat_page, "undo:x").status_code == 403
    assert not IncomingMessage.objects.exists()


def test_each_visitor_of_an_open_page_is_a_person_of_their_own(open_page: Connection, model: FakeModel) -> None:
    one, two = visitor(open_page), visitor(open_page)
    write(one, open_page, "Remember that my cat is called Miso.")
    work_through()
    write(two, open_page, "What is my cat called?")
    write(two, open_page, "/memory")
    work_through()
    assert "Miso" in " ".join(texts(one, open_page)) and "Miso" not in json.dumps(shown(two, open_page))
    target = shown(one, open_page)["saved"][0]["target"]
    press(two, open_page, target)
    work_through()
    assert texts(two, open_page)[-1] == "There is nothing to undo."
    assert not shown(one, open_page)["saved"][0]["is_undone"]
    assert len(set(Entry.objects.values_list("scope__key", flat=True))) >= 2


def test_the_cookie_of_a_visitor_is_signed_and_holds_for_its_page_alone(open_page: Connection) -> None:
    who = visitor(open_page)
    cookie = who.cookies["memplatform_visitor"]
    assert cookie["httponly"] and cookie["samesite"] == "Lax" and cookie["path"] == at(open_page)
    forged = Client()
    forged.cookies["memplatform_visitor"] = "a" * 32 + ":1abcde:" + "b" * 43
    assert forged.get(at(open_page, "messages")).status_code == 403
    other = make_page(Workspace.objects.create(name="Elsewhere"), "on")
    assert who.get(at(other, "messages")).status_code == 403


def test_a_message_without_the_token_of_the_page_is_refused(workspace: Workspace, open_page: Connection) -> None:
    who = Client(enforce_csrf_checks=True)
    who.get(at(open_page))
    assert write(who, open_page, "hello").status_code == 403
    token = who.cookies["csrftoken"].value
    assert write(who, open_page, "hello", HTTP_X_CSRFTOKEN=token).status_code == 202


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ("no json", 400, ""), ("[]", 400, ""), ("[" * 50_000, 400, ""), ("x" * 64_001, 413, ""),
        ('{"id": "1"}', 400, "text"), ('{"id": "1", "text": " "}', 400, "text"),
        ('{"id": "1", "text": 5}', 400, "text"),
        ('{"text": "hello"}', 400, "id"), (json.dumps({"id": "1", "text": "x" * 8_001}), 400, "text"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_its_field(
    ann: Client, chat_page: Connection, body: str, status: int, field: str
) -> None:
    answer = ann.post(at(chat_page, "write"), body, content_type="application/json")
    assert (answer.status_code, answer.json()["field"]) == (status, field) and answer.json()["detail"]
    assert not IncomingMessage.objects.exists()


def test_so_many_messages_a_minute_of_one_person_and_of_all(open_page: Connection, settings: Any) -> None:
    settings.MEMORY_CHANNEL_PAGE_RATE, settings.MEMORY_CHANNEL_PAGE_RATE_ALL = 2, 3
    one, two = visitor(open_page), visitor(open_page)
    assert [write(one, open_page, "hello").status_code for _n in range(3)] == [202, 202, 429]
    answers = [write(two, open_page, "hello") for _n in range(2)]
    assert [answer.status_code for answer in answers] == [202, 429] and answers[1]["Retry-After"] == "10"


def test_a_connection_that_is_off_or_of_another_platform_has_no_page(ann: Client, chat_page: Connection) -> None:
    Connection.objects.update(is_enabled=False)
    assert ann.get(at(chat_page)).status_code == 404
    Connection.objects.update(is_enabled=True)
    Channel.objects.update(platform="slack")
    assert ann.get(at(chat_page)).status_code == 404
    assert Client().post(f"/channels/web/{chat_page.uid}", b"{}", content_type="application/json").status_code == 404


def test_nothing_is_taken_in_where_platforms_call(chat_page: Connection) -> None:
    assert Client().post(f"/channels/web/{chat_page.uid}", b"{}", content_type="application/json").status_code == 401


def test_the_page_speaks_the_language_of_its_reader_and_so_does_the_bot(
    ann: Client, chat_page: Connection, model: FakeModel
) -> None:
    ann.defaults["HTTP_ACCEPT_LANGUAGE"] = "zh-hans"
    page = ann.get(at(chat_page)).content.decode()
    assert 'lang="zh-hans"' in page and "发送" in page
    write(ann, chat_page, "/privacy")
    work_through()
    assert "记住" in OutgoingMessage.objects.get().body["text"]


def test_a_page_is_made_in_the_admin_without_a_public_address(workspace: Workspace) -> None:
    owner = enter(make_user("owner", is_staff=True, workspace=workspace))
    assert "platform=web" in owner.get(ADD.partition("?")[0]).content.decode()
    form = {"workspace": workspace.pk, "option_title": "Ask Ada", "answerer": "model", "callback_url": "",
            "instructions": "", "notices": "each", "has_commands": "on", "is_enabled": "on"}  # fmt: skip
    page = owner.post(ADD, form, follow=True).content.decode()
    connection = Connection.objects.select_related("channel").get()
    assert connection.channel.account == "ask-ada" and at(connection) in page
    assert connection.receiving == Receiving.WEBHOOK  # nothing is fetched for it
    assert "Ask Ada" in owner.get(at(connection)).content.decode()
    change = f"/admin/channels_app/connection/{connection.pk}/change/"
    assert Client().get(at(connection)).status_code == 302
    owner.post(change, {**form, "option_is_open": "on"})
    assert Client().get(at(connection)).status_code == 200
