"""An app and a smart bot of WeCom remember. Pages of the vendor's documentation: tests/support/fake_tencent.py."""

import json
import re
import time
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from channels_app.models import (
    Answerer,
    Channel,
    Connection,
    ConnectionProblem,
    IncomingMessage,
    MessageState,
    NoticeMode,
    OutgoingMessage,
    Receiving,
)
from channels_app.platforms import intake, network, platform_named, wecom_connection, wire
from channels_app.platforms.wire import Account, Conflicting, KeyRefused, NotDeliverable, Outgoing, TryLater
from memories import secrets
from memories.models import Entry, Workspace
from tests.channels_app.platforms.conftest import work_through
from tests.memories.admin.conftest import enter, make_user
from tests.memories.llm.fake_server import FakeModel
from tests.support import fake_tencent as fake
from tests.support.fake_tencent import AES_KEY, APP_SECRET, TOKEN, FakeTencent, failed, fake_tencent
from tests.support.fake_wecom import BOT as BOT_ID
from tests.support.fake_wecom import SECRET as BOT_SECRET
from tests.support.fake_wecom import FakeWeCom, fake_wecom
from tests.support.pulling import Pulling, until

CORP, AGENT, ANN, BOB, GROUP = "wx5823bf96d3bd56c7", "218", "AnnLi", "BobWang", "wrkSFfCgAAgroup"
APP = Account({"corp_id": CORP, "agent_id": AGENT, "secret": APP_SECRET, "token": TOKEN, "aes_key": AES_KEY})
BOT = Account({"bot": "小记", "token": TOKEN, "aes_key": AES_KEY})


@pytest.fixture
def api(settings: Any) -> Iterator[FakeTencent]:
    wire.names.clear()
    with fake_tencent() as server:
        settings.WECOM_API_URL = server.url
        yield server


def make_connection(workspace: Workspace, account: Account) -> Connection:
    platform = platform_named("wecom")
    introduced = platform.introduce(account)
    hidden = {option.name for option in platform.options if option.is_secret}
    channel = Channel.objects.create(workspace=workspace, platform="wecom", account=introduced.account)
    shown = {name: value for name, value in account.options.items() if name not in hidden}
    row = Connection.objects.create(
        workspace=workspace,
        channel=channel,
        options={**shown, "bot_name": introduced.name},
        receiving=account.receiving or Receiving.WEBHOOK,
        answerer=Answerer.MODEL,
        notices=NoticeMode.OFF,
        noticed_entry=0,
    )
    for name in hidden & set(account.options):
        secrets.keep(row.secret_name(name), account[name], workspace=workspace)
    return row


@pytest.fixture
def app(workspace: Workspace, api: FakeTencent) -> Connection:
    return make_connection(workspace, APP)


@pytest.fixture
def bot(workspace: Workspace, api: FakeTencent) -> Connection:
    return make_connection(workspace, BOT)


def post(connection: Connection, plain: str, *, receiver: str = CORP, **more: Any) -> HttpResponse:
    """WeCom calls an app; what it is answered."""
    query, encrypted = fake.sealed(plain, receiver, **more)
    body = f"<xml><ToUserName>{CORP}</ToUserName><AgentID>{AGENT}</AgentID><Encrypt>{encrypted}</Encrypt></xml>"
    return Client().post(f"/channels/wecom/{connection.uid}?{query}", body, content_type="text/xml")  # type: ignore[return-value]


def post_to_bot(connection: Connection, plain: Any, *, receiver: str = "", **more: Any) -> HttpResponse:
    """WeCom calls a smart bot; what it is answered."""
    query, encrypted = fake.sealed(plain if isinstance(plain, str) else json.dumps(plain), receiver, **more)
    body = json.dumps({"encrypt": encrypted})
    return Client().post(f"/channels/wecom/{connection.uid}?{query}", body, content_type="application/json")  # type: ignore[return-value]


def to_bot(api: FakeTencent, user: str, text: str, *, group: str = "", **more: Any) -> dict[str, Any]:
    """A message to a smart bot."""
    number = next(fake._numbers)
    place = {"chatid": group, "chattype": "group"} if group else {"chattype": "single"}
    return {
        "msgid": f"CAIQ{number}=", "aibotid": "aib1", **place, "from": {"userid": user}, "msgtype": "text",
        "response_url": f"{api.url}/cgi-bin/aibot/response?response_code=code-{number}-{'x' * 250}",
        "text": {"content": f"@小记 {text}" if group else text}, **more,
    }  # fmt: skip


def test_the_address_is_verified_by_an_echo_that_is_encrypted(app: Connection, bot: Connection) -> None:
    for connection, receiver in ((app, CORP), (bot, "")):
        query, encrypted = fake.sealed("1616140317555161061", receiver)
        address = f"/channels/wecom/{connection.uid}?{query}"
        answer = Client().get(f"{address}&{urlencode({'echostr': encrypted})}")
        assert (answer.status_code, answer.content) == (200, b"1616140317555161061")
        assert Client().get(f"{address}&echostr=other").status_code == 401


def test_an_app_is_known_by_its_company_and_number_and_a_bot_by_its_name(api: FakeTencent) -> None:
    platform = platform_named("wecom")
    assert platform.introduce(APP).account == f"{CORP}-{AGENT}" and platform.introduce(BOT).name == "小记"
    for wrong in ({"secret": "no"}, {"agent_id": "x"}, {"aes_key": "short"}, {"corp_id": ""}):
        with pytest.raises(KeyRefused):
            platform.introduce(Account({**APP.options, **wrong}))
    api.token_error = -1
    with pytest.raises(TryLater):
        platform.introduce(Account({**APP.options, "corp_id": "ww2"}))


def test_an_app_answers_and_remembers_who_wrote_by_name(app: Connection, api: FakeTencent, model: FakeModel) -> None:
    body = fake.message(ANN, "我三月搬到了杭州。", AgentID=AGENT)
    assert {(post(app, body).status_code, post(app, body).content) for _twice in range(2)} == {(200, b"")}
    work_through()
    expected = {"touser": ANN, "agentid": 218, "msgtype": "text", "text": {"content": "You wrote: 我三月搬到了杭州。"}}
    assert api.sent == [expected]
    entry = Entry.objects.get()
    assert (entry.sender_id, entry.speaker) == (ANN, f"Person {ANN}")
    assert OutgoingMessage.objects.get().message == "sent-1"


def test_an_export_is_a_file(app: Connection, api: FakeTencent, model: FakeModel) -> None:
    post(app, fake.message(ANN, "Remember that I have a cat named Mochi."))
    post(app, fake.message(ANN, "/export"))
    work_through()
    assert api.sent[-1]["file"] == {"media_id": "media-1"} and b"Mochi" in api.uploads[0]


def test_a_person_the_app_is_not_for_does_not_hold_up_the_next(
    app: Connection, api: FakeTencent, model: FakeModel
) -> None:
    api.failures = [{"errcode": 0, "errmsg": "ok", "invaliduser": ANN}, failed(81013, "user & party & tag all invalid")]
    for text in ("one", "two", "three"):
        post(app, fake.message(ANN, text))
    work_through()
    assert api.texts() == ["You wrote: three"]
    assert OutgoingMessage.objects.filter(state=MessageState.FAILED).count() == 2


@pytest.mark.parametrize(("code", "problem"), [(60020, ConnectionProblem.REFUSED), (301002, ConnectionProblem.REFUSED)])
def test_an_app_that_may_not_send_stops_the_connection(
    app: Connection, api: FakeTencent, model: FakeModel, code: int, problem: str
) -> None:
    api.failures = [failed(code, "not allow to access from your ip")]
    post(app, fake.message(ANN, "hello"))
    work_through()
    app.refresh_from_db()
    assert app.problem == problem


def test_a_bot_answers_in_the_group_it_is_named_in_by_the_address_of_that_message(
    bot: Connection, api: FakeTencent, model: FakeModel
) -> None:
    body = to_bot(api, ANN, "when is the walk?", group=GROUP)
    for _twice in range(2):
        assert post_to_bot(bot, body).content == b""
    work_through()
    assert api.sent == [{"msgtype": "markdown", "markdown": {"content": "You wrote: when is the walk?"}}]
    assert api.spent == {body["response_url"].partition("=")[2]}
    row = IncomingMessage.objects.get()
    assert (row.peer, row.chat.key, row.chat.is_group) == (ANN, GROUP, True)


def test_a_long_answer_of_a_bot_is_one_message_since_it_has_but_one(
    bot: Connection, api: FakeTencent, model: FakeModel
) -> None:
    model.otherwise = lambda _asked: "一" * 4000
    post_to_bot(bot, to_bot(api, ANN, "tell me all"))
    work_through()
    assert api.texts() == ["一" * 4000]


def test_what_is_for_one_person_alone_never_stands_in_the_group(
    bot: Connection, api: FakeTencent, model: FakeModel
) -> None:
    post_to_bot(bot, to_bot(api, ANN, "Remember that I have a cat named Mochi."))
    post_to_bot(bot, to_bot(api, ANN, "/memory", group=GROUP))
    post_to_bot(bot, to_bot(api, ANN, "/export", group=GROUP))
    work_through()
    assert len(api.texts()) == 3 and all("direct chat first" in text for text in api.texts()[1:])
    post_to_bot(bot, to_bot(api, ANN, "/memory"))
    work_through()
    assert "Mochi" in api.texts()[-1]


@pytest.mark.parametrize(
    "address", ["", "http://127.0.0.1:9/cgi-bin/aibot/response?response_code=1", "{url}/cgi-bin/x"]
)
def test_a_bot_calls_no_address_but_wecoms_own(
    bot: Connection, api: FakeTencent, model: FakeModel, address: str
) -> None:
    post_to_bot(bot, to_bot(api, ANN, "hello", response_url=address.format(url=api.url)))
    work_through()
    assert OutgoingMessage.objects.get().error == "no address to answer to" and not api.sent


def test_an_address_that_was_used_or_is_too_old_is_given_up(
    bot: Connection, api: FakeTencent, model: FakeModel
) -> None:
    body = to_bot(api, ANN, "hello")
    api.spent = {body["response_url"].partition("=")[2]}
    post_to_bot(bot, body)
    work_through()
    assert OutgoingMessage.objects.get().state == MessageState.FAILED


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("image", {"url": "https://a/b"}, "[photo]"),
        ("file", {"url": "https://a/b"}, "[file]"),
        ("voice", {"content": "明天见"}, "[voice message] 明天见"),
        ("mixed", {"msg_item": [{"msgtype": "text", "text": {"content": "a cat"}}, {"msgtype": "image", "image": {}}]},
         "a cat [photo]"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_a_word(
    bot: Connection, api: FakeTencent, kind: str, content: dict[str, Any], words: str
) -> None:
    post_to_bot(bot, {**to_bot(api, ANN, ""), "msgtype": kind, kind: content})
    assert IncomingMessage.objects.get().body["text"] == words


@pytest.mark.parametrize("kind", ["event", "stream"])
def test_what_nobody_wrote_is_nothing(bot: Connection, api: FakeTencent, kind: str) -> None:
    assert post_to_bot(bot, {**to_bot(api, ANN, ""), "msgtype": kind}).status_code == 200
    assert not IncomingMessage.objects.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [("@小记 hello", "hello"), ("hello @小记", "hello"), ("@Else hello", "hello"), ("hello", "hello")],
)
def test_the_mention_of_the_bot_is_taken_out(bot: Connection, api: FakeTencent, text: str, words: str) -> None:
    post_to_bot(bot, {**to_bot(api, ANN, "", group=GROUP), "text": {"content": text}})
    assert IncomingMessage.objects.get().body["text"] == words


def test_a_call_that_is_not_wecoms_is_turned_away_and_nothing_is_stored(
    app: Connection, bot: Connection, api: FakeTencent
) -> None:
    for call, connection, body in (
        (post, app, fake.message(ANN, "hello")),
        (post_to_bot, bot, json.dumps(to_bot(api, ANN, "hello"))),
    ):
        for wrong in (
            {"receiver": "ww0"}, {"token": "another"}, {"key": "A" * 43}, {"at": time.time() - 301},
            {"at": time.time() + 400},
        ):  # fmt: skip
            assert call(connection, body, **wrong).status_code == 401  # type: ignore[operator]
    assert not IncomingMessage.objects.exists()


@pytest.mark.parametrize(
    "plain",
    ["", "{", "[]", "[" * 100_000, "{}", '{"msgtype": "text", "msgid": 1, "from": {"userid": "a"}}',
     '{"msgtype": "text", "msgid": "1", "from": "a", "text": {"content": "a"}}',
     '{"msgtype": "text", "msgid": "1", "from": {"userid": "a"}, "text": "a"}',
     '{"msgtype": "text", "msgid": "1", "from": {"userid": "a"}, "chattype": "group", "text": {"content": "a"}}',
     '{"msgtype": "mixed", "msgid": "1", "from": {"userid": "a"}, "mixed": {"msg_item": ["a"]}}'],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_and_nothing_is_stored(bot: Connection, plain: str) -> None:
    assert post_to_bot(bot, plain).status_code == 400
    assert not IncomingMessage.objects.exists()


@pytest.mark.parametrize(
    "body", ["", "{", "<xml>", "<!DOCTYPE x [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><xml>&f;</xml>"]
)
def test_what_is_no_document_is_refused(app: Connection, bot: Connection, body: str) -> None:
    for connection in (app, bot):
        address = f"/channels/wecom/{connection.uid}?{fake.query()}"
        assert Client().post(address, body, content_type="text/xml").status_code == 400


def test_a_limit_of_calls_is_waited_for(api: FakeTencent) -> None:
    api.failures = [failed(45009, "api freq out of limit")]
    with pytest.raises(TryLater) as refusal:
        platform_named("wecom").send(Outgoing(chat=ANN, text="hello"), APP)
    assert refusal.value.seconds == 60.0


# The long connection of a smart bot

LONG = Account({"bot_id": BOT_ID, "bot_secret": BOT_SECRET, "bot": "小记"}, name="小记", receiving=Receiving.PULL)


@pytest.fixture
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeWeCom]:
    monkeypatch.setattr(network, "LOOK_SECONDS", 0.1)
    with fake_wecom() as fake_server:
        settings.WECOM_SOCKET_URL = fake_server.url
        yield fake_server


@pytest.fixture
def long_bot(workspace: Workspace, server: FakeWeCom) -> Connection:
    return make_connection(workspace, LONG)


@pytest.fixture
def pulling(server: FakeWeCom) -> Iterator[Pulling]:
    pulling = Pulling("wecom", LONG)
    until(lambda: pulling.keeps)
    yield pulling
    pulling.is_over = True
    pulling.thread.join(10)
    assert not pulling.thread.is_alive() and not wecom_connection._links


def take_in(connection: Connection, pulling: Pulling, messages: int) -> None:
    """So many messages came over the connection, and are worked on where it is open."""
    until(lambda: len(pulling.kept) == messages)
    intake.keep(connection, pulling.kept, now=timezone.now())
    work_through(pulled=[connection.pk])


def test_over_the_long_connection_a_bot_remembers_and_answers_one_alone_in_their_own_chat(
    long_bot: Connection, pulling: Pulling, server: FakeWeCom, model: FakeModel
) -> None:
    server.write(ANN, "Remember that I have a cat named Mochi.")
    server.write(ANN, "when is the walk?", group=GROUP)
    server.write(ANN, "/memory", group=GROUP)
    take_in(long_bot, pulling, 3)
    assert server.texts(GROUP) == ["You wrote: when is the walk?"]
    assert "Mochi" in server.texts(ANN)[-1]
    server.strangers = {BOB}
    server.write(BOB, "/memory", group=GROUP)
    take_in(long_bot, pulling, 4)
    assert "direct chat first" in server.texts(GROUP)[-1]


def test_what_is_sent_over_the_long_connection_waits_for_the_process_that_has_it(
    long_bot: Connection, pulling: Pulling, server: FakeWeCom, model: FakeModel
) -> None:
    server.write(ANN, "hello")
    until(lambda: pulling.kept)
    intake.keep(long_bot, pulling.kept, now=timezone.now())
    work_through()
    assert not server.sent and not model.requests
    work_through(pulled=[long_bot.pk])
    assert server.texts() == ["You wrote: hello"]


def test_a_long_text_goes_in_parts_and_what_is_refused_is_given_up_or_waits(
    pulling: Pulling, server: FakeWeCom
) -> None:
    platform = platform_named("wecom")
    text = "\n".join(["一" * 100] * 100)
    platform.send(Outgoing(chat=ANN, text=text), LONG)
    assert len(server.sent) == 2 and "".join(server.texts()) == text
    assert all(len(part.encode()) <= 20_480 for part in server.texts())
    server.failures = [(45009, "freq"), (86001, "no such chat")]
    with pytest.raises(TryLater):
        platform.send(Outgoing(chat=ANN, text="hello"), LONG)
    with pytest.raises(NotDeliverable):
        platform.send(Outgoing(chat=ANN, text="hello"), LONG)


def test_without_a_connection_a_message_waits(server: FakeWeCom) -> None:
    with pytest.raises(TryLater):
        platform_named("wecom").send(Outgoing(chat=ANN, text="hello"), LONG)


def test_what_cannot_be_read_or_is_another_bots_is_not_kept(pulling: Pulling, server: FakeWeCom) -> None:
    server.connections[-1].send("[")
    server.connections[-1].send('{"cmd": "aibot_msg_callback", "headers": 1, "body": [1]}')
    server.write(ANN, "hello", aibotid="another")
    server.write(ANN, "hello", msgid="")
    server.deliver("aibot_event_callback", {"event": {"eventtype": "enter_chat"}})
    server.write(ANN, "good morning")
    until(lambda: pulling.kept)
    assert [message.text for message in pulling.kept] == ["good morning"]


def test_another_program_that_opens_the_connection_is_named(pulling: Pulling, server: FakeWeCom) -> None:
    other = Pulling("wecom", LONG)
    pulling.thread.join(10)
    assert isinstance(pulling.failure, Conflicting)
    other.is_over = True
    other.thread.join(10)


def test_a_connection_that_gives_no_sign_of_life_is_opened_again(
    server: FakeWeCom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wecom_connection, "BEAT_SECONDS", 0.1)
    pulling = Pulling("wecom", LONG)
    until(lambda: server.beats > 5)
    assert pulling.failure is None
    server.is_silent = True
    pulling.thread.join(10)
    assert isinstance(pulling.failure, TryLater)


def test_a_secret_that_is_refused_says_so(server: FakeWeCom) -> None:
    wrong = Account({**LONG.options, "bot_secret": "wrong"}, receiving=Receiving.PULL)
    with pytest.raises(KeyRefused) as refusal:
        platform_named("wecom").introduce(wrong)
    assert refusal.value.option == "bot_secret"


def test_a_connection_that_is_saved_as_it_is_keeps_its_socket(
    long_bot: Connection, pulling: Pulling, server: FakeWeCom, workspace: Workspace
) -> None:
    owner, before = enter(make_user("owner", is_staff=True, workspace=workspace)), len(server.connections)
    page = f"/admin/channels_app/connection/{long_bot.pk}/change/"
    form = {"option_bot_id": BOT_ID, "option_bot": "小记", "receiving": "pull", "answerer": "model", "notices": "daily",
            "is_enabled": "on"}  # fmt: skip
    assert owner.post(page, form).status_code == 302
    long_bot.refresh_from_db()
    assert (long_bot.notices, long_bot.options["bot_name"]) == (NoticeMode.DAILY, "小记")
    assert len(server.connections) == before and pulling.thread.is_alive()
    assert "refuses" in owner.post(page, {**form, "option_bot_secret": "wrong"}).content.decode()
    assert owner.post(page, {**form, "option_bot_secret": BOT_SECRET}).status_code == 302
    assert len(server.connections) == before + 1, "another secret is tried"


def test_of_an_app_nothing_is_asked_where_a_bot_is_reached_over_the_long_connection(
    server: FakeWeCom, workspace: Workspace
) -> None:
    owner = enter(make_user("owner", is_staff=True, workspace=workspace))
    page = unescape(owner.get("/admin/channels_app/connection/add/?platform=wecom").content.decode())
    shown = re.findall(r"x-show=\"receiving === '(\w+)'\".*?name=\"(\w+)\"", page, re.DOTALL)
    of_calls = ["token", "aes_key", "corp_id", "agent_id", "secret"]
    assert {name for mode, name in shown if mode == "webhook"} == {f"option_{name}" for name in of_calls}
    assert {name for mode, name in shown if mode == "pull"} == {"option_bot_id", "option_bot_secret"}
