"""Lark and Feishu, by the pages of open.feishu.cn that tests.support.fake_lark names."""

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from channels_app.models import (
    Answerer,
    Channel,
    Chat,
    Connection,
    ConnectionProblem,
    Contact,
    IncomingMessage,
    MessageKind,
    MessageState,
    OutgoingMessage,
    Receiving,
)
from channels_app.platforms import intake, network, platform_named
from channels_app.platforms.lark import api
from channels_app.platforms.lark.events import read
from channels_app.platforms.wire import Account, Incoming, KeyRefused, NotReadable, TryLater
from memories import secrets
from memories.models import Entry, Workspace
from tests.channels_app.platforms.conftest import work_through
from tests.memories.llm.fake_server import FakeModel
from tests.support.fake_lark import APP, BOT, KEY, SECRET, TOKEN, FakeLark, encrypted, fake_lark, refusal, signed, words
from tests.support.pulling import Pulling, until

ANN, BOB, GROUP = "ou_ann", "ou_bob", "oc_walkers"
ACCOUNT = Account({"app_id": APP, "app_secret": SECRET}, name="Mem", id="ou_bot")


@pytest.fixture
def server(settings: Any) -> Iterator[FakeLark]:
    with fake_lark() as fake:
        settings.FEISHU_API_URL = fake.url
        yield fake
        network.close()


@pytest.fixture
def lark(workspace: Workspace, server: FakeLark) -> Connection:
    channel = Channel.objects.create(workspace=workspace, platform="lark", account=APP)
    row = Connection.objects.create(
        workspace=workspace,
        channel=channel,
        options={"app_id": APP, "bot_name": BOT["app_name"], "bot_id": BOT["open_id"]},
        receiving=Receiving.WEBHOOK,
        answerer=Answerer.MODEL,
        noticed_entry=0,
    )
    keep_secrets(row, app_secret=SECRET, verification_token=TOKEN, encrypt_key=KEY)
    return row


def keep_secrets(row: Connection, **values: str) -> None:
    for name, value in values.items():
        secrets.keep(row.secret_name(name), value, workspace=row.workspace)


def call(row: Connection, raw: bytes, headers: dict[str, str] | None = None) -> Any:
    path = f"/channels/lark/{row.uid}"
    return Client().post(path, raw, content_type="application/json", headers=headers or {})


def report(row: Connection, *events: dict[str, Any]) -> None:
    """Lark calls with events, signed and encrypted."""
    for event in events:
        raw = encrypted(event)
        assert call(row, raw, signed(raw)).status_code == 200


# calls


def test_an_event_is_stored_once_whatever_is_redelivered(lark: Connection, server: FakeLark) -> None:
    event = server.write(ANN, "hello")
    again = {**event, "header": {**event["header"], "event_id": "another"}}  # as the vendor's own client expects it
    report(lark, event, event, again)
    row = IncomingMessage.objects.get()
    assert (row.body["text"], row.peer, row.chat.key, row.chat.is_group) == ("hello", ANN, f"oc_{ANN}", False)


def test_the_address_is_verified_with_and_without_a_signature(lark: Connection) -> None:
    raw = encrypted({"challenge": "c-1", "token": TOKEN, "type": "url_verification"})
    for headers in ({}, signed(raw)):
        assert call(lark, raw, headers).json() == {"challenge": "c-1"}
    other = encrypted({"challenge": "c-1", "token": "another", "type": "url_verification"})
    assert call(lark, other).status_code == 401


@pytest.mark.parametrize("headers", [{}, {"X-Lark-Signature": "0" * 64}, {"X-Lark-Signature": "é"}])
def test_an_event_without_its_signature_is_turned_away(
    lark: Connection, server: FakeLark, headers: dict[str, str]
) -> None:
    raw = encrypted(server.write(ANN, "hello"))
    assert call(lark, raw, headers).status_code == 401
    assert call(lark, raw, signed(raw) | headers).status_code == (401 if headers else 200)
    assert IncomingMessage.objects.count() == (0 if headers else 1)


def test_a_signature_is_of_its_own_body_key_and_time(lark: Connection, server: FakeLark) -> None:
    raw = encrypted(server.write(ANN, "hello"))
    other = encrypted(server.write(ANN, "forged"), "another-key")
    now = time.time()
    for body, headers in (
        (other, signed(raw)),
        (other, signed(other, "another-key")),
        (raw, signed(raw, at=now - timedelta(hours=9).total_seconds())),
        (raw, signed(raw, at=now + 900)),
        (raw, signed(raw) | {"X-Lark-Request-Timestamp": "soon"}),
    ):
        assert call(lark, body, headers).status_code == 401
    assert not IncomingMessage.objects.exists()


def test_where_there_is_a_key_nothing_is_taken_that_is_not_encrypted(lark: Connection, server: FakeLark) -> None:
    raw = json.dumps(server.write(ANN, "hello")).encode()
    assert call(lark, raw, signed(raw)).status_code == 401
    assert not IncomingMessage.objects.exists()


def test_without_a_key_the_token_the_app_and_the_age_are_what_counts(lark: Connection, server: FakeLark) -> None:
    keep_secrets(lark, encrypt_key="")
    event = server.write(ANN, "hello")
    old = str(int((time.time() - 9 * 3600) * 1000))
    for change in (
        {"token": "another"}, {"token": ""}, {"token": 7}, {"token": "\ud800"}, {"app_id": "cli_other"},
        {"create_time": old},
    ):  # fmt: skip
        forged = {**event, "header": {**event["header"], **change}}
        assert call(lark, json.dumps(forged).encode()).status_code == 401
    assert not IncomingMessage.objects.exists()
    assert call(lark, json.dumps(event).encode()).status_code == 200
    keep_secrets(lark, verification_token="")  # nothing it could be told by
    intake.forget_accounts()
    assert call(lark, json.dumps(server.write(ANN, "again")).encode()).status_code == 401
    assert IncomingMessage.objects.count() == 1


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b"[]", b'{"encrypt": 3}', b'{"encrypt": "a"}'])
def test_what_cannot_be_read_is_refused(lark: Connection, body: bytes) -> None:
    assert call(lark, body, signed(body)).status_code in (400, 401)
    assert not IncomingMessage.objects.exists()


@pytest.mark.parametrize(
    "change",
    [{"header": []}, {"event": None}, {"event": {"sender": 1, "message": {}}}, {"header": {"token": TOKEN}},
     {"event": {"sender": {}, "message": {"message_type": "text", "chat_type": "p2p", "content": "[" * 100_000}}}],
)  # fmt: skip
def test_an_event_of_another_shape_is_refused_where_it_is_genuine(
    lark: Connection, server: FakeLark, change: dict[str, Any]
) -> None:
    raw = encrypted({**server.write(ANN, "hello"), "token": TOKEN, **change})
    assert call(lark, raw, signed(raw)).status_code == 400
    assert not IncomingMessage.objects.exists()


def test_a_call_that_is_too_long_is_refused_before_it_is_read(lark: Connection) -> None:
    assert call(lark, b'{"encrypt": "' + b"a" * 10_000_000 + b'"}').status_code == 413


def test_an_event_nobody_needs_is_answered_so_that_it_does_not_come_again(lark: Connection, server: FakeLark) -> None:
    report(lark, server.event("im.chat.updated_v1", {"chat_id": GROUP}), {"uuid": "1", "token": TOKEN, "event": {}})
    assert not IncomingMessage.objects.exists()


# what is reported


def one(event: dict[str, Any]) -> Incoming:
    (message,) = read(event, ACCOUNT)
    return message


@pytest.mark.parametrize(
    ("kind", "content", "text"),
    [
        ("text", {"text": "plain"}, "plain"),
        ("image", {"image_key": "img_1"}, "[photo]"),
        ("file", {"file_key": "f", "file_name": "plan.pdf"}, "[file] plan.pdf"),
        ("audio", {"file_key": "f", "duration": 2000}, "[voice message]"),
        ("media", {"file_key": "f", "file_name": "walk.mp4"}, "[video] walk.mp4"),
        ("location", {"name": "West Lake", "longitude": "1", "latitude": "2"}, "[location] West Lake"),
        ("sticker", {"file_key": "f"}, "[sticker]"),
        ("of the future", {"x": 1}, "[message]"),
        (
            "post",
            {
                "title": "Sunday",
                "content": [
                    [{"tag": "text", "text": "a walk, "}, {"tag": "a", "href": "http://x", "text": "here"}],
                    [{"tag": "img", "image_key": "i"}, {"tag": "at", "user_id": "@_user_1", "user_name": "Mem"}],
                ],
            },
            "Sunday\na walk, here\n[photo]",
        ),
        ("post", {"zh_cn": {"title": "", "content": [[{"tag": "text", "text": "周日"}]]}}, "周日"),
    ],
)
def test_what_is_no_text_stands_as_a_placeholder_with_its_caption(
    server: FakeLark, kind: str, content: Any, text: str
) -> None:
    mentions = [{"key": "@_user_1", "id": {"open_id": "ou_bot"}, "name": "Mem"}]
    assert one(server.send(kind, content, ANN, mentions=mentions)).text == text


def test_a_post_without_words_is_nothing_and_is_acknowledged(server: FakeLark) -> None:
    assert read(server.send("post", {}, ANN), ACCOUNT) == []


def test_mentions_are_names_and_that_of_the_bot_is_taken_out(server: FakeLark) -> None:
    mentions = [
        {"key": "@_user_1", "id": {"open_id": "ou_bot"}, "name": "Mem"},
        {"key": "@_user_2", "id": {"open_id": BOB}, "name": "Bob"},
    ]
    text = "@_user_1 ask @_user_2 and @_user_10, @_all"
    message = one(server.send("text", {"text": text}, ANN, group=GROUP, mentions=mentions))
    assert (message.text, message.is_for_bot) == ("ask @Bob and @_user_10, @all", True)
    assert not one(server.write(ANN, "hello", group=GROUP)).is_for_bot
    assert one(server.write(ANN, "hello")).is_for_bot


def test_replies_and_threads_keep_what_they_answer(server: FakeLark) -> None:
    message = one(server.write(ANN, "yes", group=GROUP, root_id="om_a", parent_id="om_b", thread_id="omt_c"))
    assert (message.reply_to, message.thread) == ("om_b", "omt_c")


def test_other_bots_and_the_system_are_nobody(server: FakeLark) -> None:
    event = server.write(ANN, "beep", group=GROUP)
    event["event"]["sender"]["sender_type"] = "app"
    assert read(event, ACCOUNT) == read(server.send("system", {"template": "joined"}, ANN), ACCOUNT) == []


def test_members_who_join_and_leave_come_with_their_names(server: FakeLark) -> None:
    kinds = {"added": MessageKind.JOINED, "deleted": MessageKind.LEFT, "withdrawn": MessageKind.LEFT}
    for change, kind in kinds.items():
        message = one(server.member(change, BOB, GROUP))
        assert (message.kind, message.peer, message.name, message.title) == (kind, BOB, f"User {BOB}", "Walkers")


def test_times_far_away_are_not_readable(server: FakeLark) -> None:
    with pytest.raises(NotReadable):
        read(server.write(ANN, "hello", create_time="9" * 40), ACCOUNT)


# whole turns


def test_what_is_told_in_one_message_is_known_when_the_next_is_answered(
    lark: Connection, server: FakeLark, model: FakeModel
) -> None:
    server.names[ANN] = "Ann"
    report(lark, server.write(ANN, "I moved to Hangzhou in March."))
    work_through()
    assert server.texts(f"oc_{ANN}") == ["You wrote: I moved to Hangzhou in March."]
    entry = Entry.objects.get()
    assert (entry.sender_id, entry.speaker, Contact.objects.get().name) == (ANN, "Ann", "Ann")
    report(lark, server.write(ANN, "/reset"), server.write(ANN, "In which month did I move, and to where?"))
    work_through()
    assert "Hangzhou" in model.requests[-1].body["messages"][0]["content"]


def test_in_a_group_the_question_is_replied_to_and_what_is_private_goes_to_its_person(
    lark: Connection, server: FakeLark, model: FakeModel
) -> None:
    report(lark, server.write(BOB, "the walk is on Sunday", group=GROUP))
    question = server.write(ANN, "@bot when is the walk?", group=GROUP, thread_id="omt_1")
    report(lark, question, server.write(ANN, "@bot /memory", group=GROUP))
    work_through()
    reply, private = server.sent
    assert (reply["to"], words(reply)) == (question["event"]["message"]["message_id"], "You wrote: when is the walk?")
    assert reply["reply_in_thread"] is True
    assert (private["to"], private["id_type"]) == (ANN, "open_id")


def test_a_reply_to_what_the_bot_wrote_is_for_the_bot_without_naming_it(
    lark: Connection, server: FakeLark, model: FakeModel
) -> None:
    first = server.write(ANN, "@bot when is the walk?", group=GROUP)
    report(lark, first)
    work_through()
    (answer,) = server.sent
    other = first["event"]["message"]["message_id"]
    report(lark, server.write(BOB, "and where?", group=GROUP, parent_id=answer["message_id"]))
    report(lark, server.write(BOB, "I know that", group=GROUP, parent_id=other))
    work_through()
    assert server.texts() == ["You wrote: when is the walk?", "You wrote: and where?"]


def test_a_message_that_is_taken_back_is_out_of_memory(lark: Connection, server: FakeLark, model: FakeModel) -> None:
    event = server.write(ANN, "I live in Lisbon.")
    report(lark, event)
    work_through()
    report(lark, server.recall(event))
    work_through()
    assert not any(entry.is_live() for entry in Entry.objects.all())


def test_a_chat_is_a_group_from_when_that_is_reported(lark: Connection, server: FakeLark) -> None:
    event = server.write(ANN, "hello", group=GROUP)
    report(lark, server.recall(event))
    assert not Chat.objects.get().is_group
    report(lark, event)
    assert Chat.objects.get().is_group


def test_what_was_kept_is_undone_with_a_button(lark: Connection, server: FakeLark, model: FakeModel) -> None:
    report(lark, server.write(ANN, "Remember that my sister is called Ida."))
    work_through()
    card = next(row for row in server.sent if row["msg_type"] == "interactive")
    assert "Ida" in words(card)
    report(lark, server.press(ANN, card))
    work_through()
    assert server.texts()[-1] == "Undone: it is no longer remembered."


def test_an_export_is_a_file(lark: Connection, server: FakeLark, model: FakeModel) -> None:
    report(lark, server.write(ANN, "I live in Porto."), server.write(ANN, "/export"))
    work_through()
    (file,) = server.files.values()
    assert file["file_type"] == "stream" and "Porto" in file["file"]
    assert server.sent[-1]["msg_type"] == "file"


def test_the_words_of_a_model_call_nobody(lark: Connection, server: FakeLark, model: FakeModel) -> None:
    model.otherwise = lambda _asked: 'All: <at user_id="all"></at> <AT id=1> <attic>'
    report(lark, server.write(ANN, "whom do you call?"))
    work_through()
    assert server.texts()[0].replace("\u200b", "") == 'All: <at user_id="all"></at> <AT id=1> <attic>'
    assert not any(f"<{tag}" in server.texts()[0].lower() for tag in ("at ", "/at>"))


# failures


def test_an_answer_whose_sending_was_not_noted_is_not_there_twice(
    lark: Connection, server: FakeLark, model: FakeModel
) -> None:
    report(lark, server.write(ANN, "hello"))
    work_through()
    OutgoingMessage.objects.update(state=MessageState.WAITING, message="", sent_at=None)  # killed before its commit
    work_through()
    assert server.texts() == ["You wrote: hello"]
    assert OutgoingMessage.objects.get().message == server.sent[0]["message_id"]


@pytest.mark.parametrize(
    "failure",
    [
        refusal(230020, "This operation triggers the frequency limit."),
        refusal(11232, "create message trigger rate limit"),
        refusal(99991400, "request trigger frequency limit", 429, x_ogw_ratelimit_reset="5"),
        refusal(230049, "The message is being sent."),
        refusal(1, "", 503),
    ],
)
def test_a_server_that_is_busy_gets_the_answer_later_once(
    lark: Connection, server: FakeLark, model: FakeModel, failure: Any
) -> None:
    server.failures = [failure]
    report(lark, server.write(ANN, "hello"))
    work_through()
    assert OutgoingMessage.objects.get().state == MessageState.WAITING
    work_through(seconds=10)
    assert server.texts() == ["You wrote: hello"] and len(model.requests) == 1


@pytest.mark.parametrize("code", [230002, 230013, 230053, 230011, 230029])
def test_a_chat_that_cannot_be_written_to_is_no_reason_to_stop(
    lark: Connection, server: FakeLark, model: FakeModel, code: int
) -> None:
    server.failures = [refusal(code, "The bot can not be outside the group.")]
    report(lark, server.write(ANN, "hello"), server.write(BOB, "good morning"))
    work_through()
    assert server.texts() == ["You wrote: good morning"]
    assert OutgoingMessage.objects.get(state=MessageState.FAILED).error.startswith(str(code))


def test_a_token_that_ran_out_is_renewed_and_a_secret_that_is_revoked_stops_the_connection(
    lark: Connection, server: FakeLark, model: FakeModel
) -> None:
    report(lark, server.write(ANN, "hello"))
    work_through()
    server.tokens = 7  # what is at hand is no longer taken
    report(lark, server.write(ANN, "good morning"))
    work_through()
    assert server.texts() == ["You wrote: hello", "You wrote: good morning"] and server.tokens == 8
    server.tokens, server.is_revoked = 9, True
    report(lark, server.write(ANN, "still there?"))
    work_through()
    lark.refresh_from_db()
    assert lark.problem == ConnectionProblem.REFUSED


def test_a_token_is_of_its_secret_alone(server: FakeLark) -> None:
    lark = platform_named("lark")
    assert lark.introduce(ACCOUNT).account == APP and lark.introduce(ACCOUNT).id == "ou_bot"
    with pytest.raises(KeyRefused):
        lark.introduce(Account({"app_id": APP, "app_secret": "somebody else's"}))


def test_the_server_is_the_one_that_is_named(settings: Any) -> None:
    servers = {name: api.server_of(Account({"server": name})) for name in ("", "feishu.cn", "larksuite.com", "Lark")}
    servers["https"] = api.server_of(Account({"server": "https://open.larksuite.com"}))
    feishu, lark = settings.FEISHU_API_URL, settings.LARK_API_URL
    assert list(servers.values()) == [feishu, feishu, lark, lark, lark]


# the long connection


@pytest.mark.thorough
def test_over_the_long_connection_an_event_is_stored_then_acknowledged_and_a_loss_is_noticed(server: FakeLark) -> None:
    pulling = Pulling("lark", ACCOUNT)
    until(lambda: pulling.keeps and server.connections)
    server.deliver(server.write(ANN, "hello"))
    server.deliver(server.event("im.chat.updated_v1", {}))
    until(lambda: len(server.acknowledged) == 2)
    assert [message.text for message in pulling.kept] == ["hello"]
    assert [answer["code"] for answer in server.acknowledged] == [200, 200]
    server.connections[-1].close()
    pulling.thread.join(10)
    assert isinstance(pulling.failure, TryLater)


@pytest.mark.thorough
def test_a_secret_that_is_refused_ends_the_long_connection(server: FakeLark) -> None:
    pulling = Pulling("lark", Account({"app_id": APP, "app_secret": "wrong"}))
    pulling.thread.join(60)
    assert isinstance(pulling.failure, KeyRefused)
