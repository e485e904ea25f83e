"""An official account of WeChat remembers. Pages of the vendor's documentation: tests/support/fake_tencent.py."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

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
from channels_app.platforms import platform_named, tencent
from channels_app.platforms.wire import Account, KeyRefused, NotGenuine, Outgoing, TryLater
from memories import secrets
from memories.models import Entry, Workspace
from tests.channels_app.platforms.conftest import work_through
from tests.memories.llm.fake_server import FakeModel
from tests.support import fake_tencent as fake
from tests.support.fake_tencent import AES_KEY, APP_ID, APP_SECRET, TOKEN, FakeTencent, failed, fake_tencent

ANN, BOB = "oANN_-1", "oBOB_-2"
ACCOUNT = Account({"app_id": APP_ID, "app_secret": APP_SECRET, "token": TOKEN})


@pytest.fixture
def api(settings: Any) -> Iterator[FakeTencent]:
    with fake_tencent() as server:
        settings.WECHAT_API_URL = server.url
        yield server


@pytest.fixture
def connection(workspace: Workspace, api: FakeTencent) -> Connection:
    channel = Channel.objects.create(workspace=workspace, platform="wechat", account=APP_ID)
    row = Connection.objects.create(
        workspace=workspace,
        channel=channel,
        options={"app_id": APP_ID},
        receiving=Receiving.WEBHOOK,
        answerer=Answerer.MODEL,
        notices=NoticeMode.OFF,
        noticed_entry=0,
    )
    secrets.keep(row.secret_name("app_secret"), APP_SECRET, workspace=workspace)
    secrets.keep(row.secret_name("token"), TOKEN, workspace=workspace)
    return row


@pytest.fixture
def safe(connection: Connection, workspace: Workspace) -> Connection:
    """A connection in the safe mode, in which all is encrypted."""
    secrets.keep(connection.secret_name("aes_key"), AES_KEY, workspace=workspace)
    return connection


def post(connection: Connection, body: str | bytes, query: str = "") -> HttpResponse:
    """WeChat calls; what it is answered."""
    address = f"/channels/wechat/{connection.uid}?{query or fake.query()}"
    return Client().post(address, body, content_type="text/xml")  # type: ignore[return-value]


def post_sealed(connection: Connection, body: str, receiver: str = APP_ID, **more: Any) -> HttpResponse:
    """The same, encrypted."""
    query, encrypted = fake.sealed(body, receiver, **more)
    outside = f"<xml><ToUserName>gh_1</ToUserName><Encrypt><![CDATA[{encrypted}]]></Encrypt></xml>"
    return post(connection, outside, f"{query}&{fake.query()}&encrypt_type=aes".replace("nonce=263014780", "x=1"))


def test_the_address_is_verified_by_an_echo(connection: Connection) -> None:
    address = f"/channels/wechat/{connection.uid}"
    answer = Client().get(f"{address}?{fake.query(echostr='5928374650')}")
    assert (answer.status_code, answer.content) == (200, b"5928374650")
    assert Client().get(f"{address}?{fake.query(echostr='1', token='another')}").status_code == 401


def test_an_account_is_known_by_its_app_and_wrong_keys_are_refused_at_once(api: FakeTencent) -> None:
    platform = platform_named("wechat")
    assert platform.introduce(ACCOUNT).account == APP_ID
    for wrong in ({"app_secret": "no"}, {"aes_key": "short"}, {"aes_key": "é" * 43}):
        with pytest.raises(KeyRefused):
            platform.introduce(Account({**ACCOUNT.options, **wrong}))
    tencent.close()
    api.token_error = 40164  # this address is not among those that may call
    with pytest.raises(KeyRefused):
        platform.introduce(ACCOUNT)


def test_what_was_written_in_one_message_is_known_when_the_next_is_answered(
    connection: Connection, api: FakeTencent, model: FakeModel
) -> None:
    body = fake.message(ANN, "我三月搬到了杭州。")
    answers = [post(connection, body) for _thrice in range(3)]
    assert {(answer.status_code, answer.content) for answer in answers} == {(200, b"success")}
    work_through()
    assert api.sent == [{"touser": ANN, "msgtype": "text", "text": {"content": "You wrote: 我三月搬到了杭州。"}}]
    entry = Entry.objects.get()
    assert (entry.channel, entry.sender_id) == ("wechat", ANN) and "杭州" in entry.content
    post(connection, fake.message(ANN, "/reset"))
    post(connection, fake.message(ANN, "我什么时候搬到了哪里？"))
    work_through()
    assert "杭州" in model.requests[-1].body["messages"][0]["content"]
    assert [path for path, _query, _body in api.calls].count("/cgi-bin/stable_token") == 1


def test_in_the_safe_mode_only_what_is_encrypted_for_this_account_is_taken(safe: Connection) -> None:
    body = fake.message(ANN, "hello")
    assert post(safe, body).status_code == 401
    assert post_sealed(safe, body, receiver="wx0000000000000000").status_code == 401
    assert post_sealed(safe, body, token="another").status_code == 401  # noqa: S106
    assert post_sealed(safe, body, key="A" * 43).status_code == 401
    assert post_sealed(safe, body, at=time.time() - 301).status_code == 401
    assert not IncomingMessage.objects.exists()
    assert post_sealed(safe, body).content == b"success"
    assert IncomingMessage.objects.get().body["text"] == "hello"


def test_the_example_of_the_vendor_is_read() -> None:
    """developer.work.weixin.qq.com/document/path/90468, with its token, key and signature."""
    echo = "P9nAzCzyDtyTWESHep1vC5X9xho/qYX3Zpb4yKa9SKld1DsH3Iyt3tP3zNdtp+4RPcs8TgAE7OaBO+FZXvnaqQ=="
    assert tencent.signature(TOKEN, "1409659589", "263014780", echo) == "5c45ff5e21c57e6ad56bac8758b79b1d9ac89fd3"
    assert tencent.decrypt(AES_KEY, echo, APP_ID) == b"1616140317555161061"


@pytest.mark.parametrize("encrypted", ["", "!", "AAAA", "A" * 44, "é", "A" * 86 + "=="])
def test_what_is_not_encrypted_under_the_key_is_not_genuine(encrypted: str) -> None:
    with pytest.raises(NotGenuine):
        tencent.decrypt(AES_KEY, encrypted, "")


@pytest.mark.parametrize(
    ("kind", "more", "words"),
    [
        ("image", {"PicUrl": "http://a/b", "MediaId": "1"}, "[photo]"),
        ("voice", {"MediaId": "1", "Recognition": "明天见"}, "[voice message] 明天见"),
        ("video", {"MediaId": "1"}, "[video]"),
        ("location", {"Location_X": "1", "Label": "杭州西湖"}, "[location] 杭州西湖"),
        (
            "link",
            {"Title": "A page", "Description": "of mine", "Url": "https://a.b"},
            "[link] A page of mine https://a.b",
        ),
        ("event", {"Event": "CLICK", "EventKey": "/memory"}, "/memory"),
    ],
)
def test_what_is_no_text_is_a_word_with_what_is_written_of_it(
    connection: Connection, kind: str, more: dict[str, str], words: str
) -> None:
    post(connection, fake.message(ANN, kind=kind, **more))
    assert IncomingMessage.objects.get().body["text"] == words


@pytest.mark.parametrize("event", ["subscribe", "unsubscribe", "CLICK", "LOCATION"])
def test_events_that_nobody_wrote_are_nothing(connection: Connection, event: str) -> None:
    assert post(connection, fake.message(ANN, kind="event", Event=event)).status_code == 200
    assert not IncomingMessage.objects.exists()


def test_a_token_that_expired_is_fetched_anew_and_nothing_is_sent_twice(
    connection: Connection, api: FakeTencent, model: FakeModel
) -> None:
    platform_named("wechat").introduce(ACCOUNT)
    api.tokens += 1  # another program fetched one
    post(connection, fake.message(ANN, "hello"))
    work_through()
    assert api.texts() == ["You wrote: hello"]
    assert [body["force_refresh"] for path, _query, body in api.calls if path.endswith("stable_token")] == [False, True]


@pytest.mark.parametrize("code", [40003, 45002, 45015, 45047, 50002, 99999])
def test_a_message_that_will_never_arrive_does_not_hold_up_the_next(
    connection: Connection, api: FakeTencent, model: FakeModel, code: int
) -> None:
    api.failures = [failed(code, "no")]
    post(connection, fake.message(ANN, "hello"))
    post(connection, fake.message(ANN, "again"))
    work_through()
    assert api.texts() == ["You wrote: again"]
    assert OutgoingMessage.objects.get(state=MessageState.FAILED).error == f"{code} no"


@pytest.mark.parametrize(("code", "seconds"), [(-1, None), (45009, 3600.0), (45011, 60.0)])
def test_a_limit_that_passes_is_waited_for(api: FakeTencent, code: int, seconds: float | None) -> None:
    api.failures = [failed(code, "system busy")]
    with pytest.raises(TryLater) as refusal:
        platform_named("wechat").send(Outgoing(chat=ANN, text="hello"), ACCOUNT)
    assert refusal.value.seconds == seconds


def test_an_account_that_may_not_send_stops_the_connection(
    connection: Connection, api: FakeTencent, model: FakeModel
) -> None:
    api.failures = [failed(48001, "api unauthorized")]
    post(connection, fake.message(ANN, "hello"))
    work_through()
    connection.refresh_from_db()
    assert connection.problem == ConnectionProblem.REFUSED


def test_no_answer_at_all_is_tried_again_and_the_token_is_in_no_words(settings: Any, api: FakeTencent) -> None:
    platform_named("wechat").introduce(ACCOUNT)
    settings.WECHAT_API_URL = "http://127.0.0.1:9"
    with pytest.raises(TryLater) as refusal:
        platform_named("wechat").send(Outgoing(chat=ANN, text="hello"), ACCOUNT)
    assert str(refusal.value) == "ConnectError" and refusal.value.__suppress_context__


def test_a_call_that_is_not_wechats_is_turned_away_and_nothing_is_stored(connection: Connection) -> None:
    body = fake.message(ANN, "hello")
    for query in (
        fake.query(token="another"), fake.query(at=time.time() - 301), fake.query(at=time.time() + 400),  # noqa: S106
        "x=1", fake.query().replace("signature=", "signature=0"), "signature=%C3%A9&timestamp=1&nonce=%ED%A0%80",
        fake.query(at=10**15),
    ):  # fmt: skip
        assert post(connection, body, query).status_code == 401
    assert not IncomingMessage.objects.exists()


_BOMB = "<!DOCTYPE x [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9)
)


@pytest.mark.parametrize(
    "body",
    ["", "{", "<xml>", b"\xff\xfe", "<xml/>", f"{_BOMB}]><xml><Content>&j;</Content></xml>", "<a>" * 300_000,
     "<!DOCTYPE x [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><xml><Content>&f;</Content></xml>",
     '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd"><xml/>', "<?xml version='1.0' encoding='x'?><xml/>",
     "<xml><MsgType>text</MsgType><FromUserName>a</FromUserName><CreateTime>x</CreateTime></xml>",
     "<xml><MsgType>text</MsgType><FromUserName>a</FromUserName><CreateTime>1</CreateTime><Content>a</Content></xml>"],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_and_nothing_is_stored(connection: Connection, body: str | bytes) -> None:
    assert post(connection, body).status_code == 400
    assert not IncomingMessage.objects.exists()


def test_a_document_as_deep_as_a_call_may_be_breaks_nothing(connection: Connection) -> None:
    assert post(connection, "<a>" * 140_000 + "</a>" * 140_000).status_code == 400


def test_a_call_that_is_too_long_is_refused(connection: Connection) -> None:
    assert post(connection, fake.message(ANN, "a" * 10_000_000)).status_code == 413
    assert not IncomingMessage.objects.exists()
