"""An official account of WeChat remembers. Pages of the vendor's documentation: tests/support/fake_tencent.py."""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from channels_app.api import platforms as platforms_api
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
from channels_app.platforms import network, platform_named, tencent
from channels_app.platforms.wire import Account, KeyRefused, NotGenuine, Outgoing, TryLater
from memories import secrets
from memories.models import Entry, Workspace
from tests.channels_app.platforms.conftest import work_through
from tests.memories.admin.conftest import enter, make_user
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
    at = more.setdefault("at", time.time())
    query, encrypted = fake.sealed(body, receiver, **more)
    outside = f"<xml><ToUserName>gh_1</ToUserName><Encrypt><![CDATA[{encrypted}]]></Encrypt></xml>"
    return post(connection, outside, f"{query}&{fake.query(at=at)}&encrypt_type=aes".replace("nonce=263014780", "x=1"))


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
    network.close()
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


# An account that is not certified: it is answered in the call itself


class Calls:
    """WeChat's calls of an account that sends nothing by itself, on a clock of their own."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.ahead = 0.0  # seconds the clock is ahead
        self.thinking = 0.0  # seconds until what waits is worked on
        self.is_safe = False

    def now(self) -> datetime:
        return timezone.now() + timedelta(seconds=self.ahead)

    def sleep(self, seconds: float) -> None:
        self.ahead += seconds
        if self.ahead >= self.thinking:
            work_through(self.ahead + 1)

    def call(self, body: str) -> tuple[float, str]:
        """After how long a call is answered, and with what text."""
        began = self.ahead
        if not self.is_safe:
            query = fake.query(at=self.now().timestamp())
            content = post(self.connection, body, query).content
        else:
            content = post_sealed(self.connection, body, at=self.now().timestamp()).content
            if content != b"success":
                outside = tencent.read_xml(content)
                parts = (TOKEN, outside["TimeStamp"], outside["Nonce"], outside["Encrypt"])
                assert tencent.signature(*parts) == outside["MsgSignature"]
                content = tencent.decrypt(AES_KEY, outside["Encrypt"], APP_ID)
        took = self.ahead - began
        if content == b"success":
            return took, ""
        answer = tencent.read_xml(content)
        sent = tencent.read_xml(body.encode())
        assert (answer["ToUserName"], answer["FromUserName"]) == (sent["FromUserName"], sent["ToUserName"])
        assert answer["MsgType"] == "text" and len(answer["Content"].encode()) <= 2048
        return took, answer["Content"]

    def deliver(self, body: str) -> list[str]:
        """A message is delivered as often as WeChat does it; the texts it shows, or would show."""
        shown = []
        for _try in range(3):
            took, text = self.call(body)
            if took < 5:
                return [*shown, text]
            shown.append("cut")
        return shown


@pytest.fixture
def calls(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> Calls:
    Connection.objects.update(options={"app_id": APP_ID, "in_call": "on"})
    connection.refresh_from_db()
    calls = Calls(connection)
    monkeypatch.setattr(platforms_api, "time", SimpleNamespace(sleep=calls.sleep))
    monkeypatch.setattr(platforms_api, "timezone", SimpleNamespace(now=calls.now))
    return calls


@pytest.mark.parametrize("is_safe", [False, True])
def test_an_account_that_may_not_send_answers_in_the_call(
    calls: Calls, api: FakeTencent, model: FakeModel, workspace: Workspace, is_safe: bool
) -> None:
    if is_safe:
        secrets.keep(calls.connection.secret_name("aes_key"), AES_KEY, workspace=workspace)
        calls.is_safe = True
    assert calls.deliver(fake.message(ANN, "Remember that <my> cat is named Mochi & Co.")) == [
        "You wrote: Remember that <my> cat is named Mochi & Co."
    ]
    assert "Mochi" in calls.deliver(fake.message(ANN, "/memory"))[0]
    assert not api.sent and not api.calls
    assert set(OutgoingMessage.objects.values_list("state", flat=True)) == {MessageState.DONE}


def test_a_call_that_is_made_again_waits_for_the_same_answer(calls: Calls, model: FakeModel) -> None:
    calls.thinking = 7
    body = fake.message(ANN, "hello")
    assert calls.deliver(body) == ["cut", "You wrote: hello"]
    assert calls.call(body)[1] == "You wrote: hello"  # its answer was lost on the way
    assert len(model.requests) == 1 and IncomingMessage.objects.count() == 1


def test_an_answer_that_comes_too_late_is_handed_out_at_the_next_message_and_says_so(
    calls: Calls, model: FakeModel
) -> None:
    calls.thinking = 16
    assert calls.deliver(fake.message(ANN, "hello")) == ["cut", "cut", ""]
    work_through(20)
    calls.ahead = 60
    assert calls.deliver(fake.message(BOB, "good morning")) == ["You wrote: good morning"]
    assert calls.deliver(fake.message(ANN, "still there?")) == [
        "To what you wrote earlier:\nYou wrote: hello\nTo your message:\nYou wrote: still there?"
    ]
    assert calls.deliver(fake.message(ANN, "and now?")) == ["You wrote: and now?"]


def test_when_the_next_answer_is_late_as_well_the_earlier_one_is_handed_out(calls: Calls, model: FakeModel) -> None:
    calls.thinking = 16
    calls.deliver(fake.message(ANN, "你好"))
    work_through(20)
    calls.ahead, calls.thinking = 60, 100
    assert calls.deliver(fake.message(ANN, "还在吗？"))[-1] == "回复您之前写的：\nYou wrote: 你好"


def test_what_does_not_fit_is_handed_out_at_the_next_message(calls: Calls, model: FakeModel) -> None:
    text = "一二三四五六七八九十" * 120
    first = calls.deliver(fake.message(ANN, text))[0]
    assert first.startswith("You wrote: 一二三") and first.endswith("（还有更多：请再写一条消息。）")
    rest = calls.deliver(fake.message(ANN, "继续"))[0]
    assert rest.startswith("回复您之前写的：")


def test_messages_of_one_person_are_answered_in_order_and_each_once(calls: Calls, model: FakeModel) -> None:
    bodies = [fake.message(ANN, f"message {n}") for n in range(3)]
    calls.thinking = 1000
    for body in bodies:
        calls.call(body)
    calls.thinking = 0
    texts = [text for body in bodies for text in calls.deliver(body)]
    assert [model.requests[n].body["messages"][-1]["content"] for n in range(3)] == [f"message {n}" for n in range(3)]
    words = "\n".join(texts)
    assert [words.count(f"You wrote: message {n}") for n in range(3)] == [1, 1, 1]


def test_a_message_of_another_with_the_same_number_is_not_answered_what_the_first_was(
    calls: Calls, model: FakeModel
) -> None:
    calls.deliver(fake.message(ANN, "Remember that I have a cat named Mochi.", MsgId="77"))
    assert calls.deliver(fake.message(BOB, "hello", MsgId="77")) == [""]


def test_events_wait_for_nothing_and_forged_calls_neither(calls: Calls, model: FakeModel) -> None:
    assert calls.call(fake.message(ANN, kind="event", Event="subscribe")) == (0, "")
    assert post(calls.connection, fake.message(ANN, "hello"), fake.query(token="another")).status_code == 401
    assert calls.ahead == 0


def test_such_an_account_needs_no_secret_and_asks_the_api_nothing(api: FakeTencent) -> None:
    platform = platform_named("wechat")
    options = {"app_id": APP_ID, "token": TOKEN}
    assert platform.introduce(Account({**options, "in_call": "on"})).account == APP_ID
    with pytest.raises(KeyRefused):
        platform.introduce(Account(options))
    assert not api.calls


def test_the_switch_is_set_and_taken_back_on_the_page(api: FakeTencent, workspace: Workspace, settings: Any) -> None:
    settings.PUBLIC_URL = "https://memory.example.org"
    owner = enter(make_user("owner", is_staff=True, workspace=workspace))
    form = {"workspace": workspace.pk, "option_app_id": APP_ID, "option_token": TOKEN, "answerer": "model",
            "notices": "each", "is_enabled": "on", "receiving": "webhook"}  # fmt: skip
    owner.post("/admin/channels_app/connection/add/?platform=wechat", {**form, "option_in_call": "on"})
    connection = Connection.objects.get()
    assert connection.options["in_call"] == "on"
    page = f"/admin/channels_app/connection/{connection.pk}/change/"
    assert 'name="option_in_call"' in owner.get(page).content.decode()
    owner.post(page, {**form, "option_token": "", "option_app_secret": APP_SECRET})
    connection.refresh_from_db()
    assert connection.options["in_call"] == ""
